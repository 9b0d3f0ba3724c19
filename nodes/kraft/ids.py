"""Numbers that must not be taken for each other. Each is an int at run time. A broker's id has
Kafka's own type, which checks that it fits."""

from typing import Final, NewType

from kio.schema.types import BrokerId

__all__ = [
    "NO_EPOCH",
    "BrokerEpoch",
    "BrokerId",
    "LeaderEpoch",
    "PartitionEpoch",
    "PartitionIndex",
]

PartitionIndex = NewType("PartitionIndex", int)
"""Of a topic: from 0 on."""

BrokerEpoch = NewType("BrokerEpoch", int)
"""Of one registration of a broker: the offset of its record (KIP-380)."""

NO_EPOCH: Final = BrokerEpoch(-1)
"""Of a broker that is not registered, or not known to be."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Of a partition: rises when its leader changes."""

PartitionEpoch = NewType("PartitionEpoch", int)
"""Of a partition: rises with every change of it (KIP-497)."""
