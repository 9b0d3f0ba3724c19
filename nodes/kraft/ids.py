"""Numbers that must not be taken for each other. Each is an int at run time. A broker's id has
Kafka's own type, which checks that it fits."""

from typing import Final, NewType

from kio.schema.types import BrokerId

__all__ = [
    "LOG_START",
    "NO_ELECTION",
    "NO_EPOCH",
    "NO_OFFSET",
    "BrokerEpoch",
    "BrokerId",
    "LeaderEpoch",
    "Offset",
    "PartitionEpoch",
    "PartitionIndex",
    "ReplicaId",
]

PartitionIndex = NewType("PartitionIndex", int)
"""Of a topic: from 0 on."""

BrokerEpoch = NewType("BrokerEpoch", int)
"""Of one registration of a broker: the offset of its record (KIP-380)."""

NO_EPOCH: Final = BrokerEpoch(-1)
"""Of a broker that is not registered, or not known to be."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Of a log, the quorum's or a partition's: rises when its leader changes."""

NO_ELECTION: Final = LeaderEpoch(0)
"""Before the quorum's first one."""

PartitionEpoch = NewType("PartitionEpoch", int)
"""Of a partition: rises with every change of it (KIP-497)."""

Offset = NewType("Offset", int)
"""Of a record in a log, or of the place behind it: from 0 on."""

LOG_START: Final = Offset(0)
"""Of a log that nothing was dropped from."""

NO_OFFSET: Final = Offset(-1)
"""None is known."""

ReplicaId = NewType("ReplicaId", int)
"""Of a replica of the quorum's log, voter or observer: the id of a controller or of a broker."""
