"""Numbers that must not be taken for each other. Each is an int at run time."""

from typing import NewType

BrokerEpoch = NewType("BrokerEpoch", int)
"""Of one registration of a broker: the offset of its record (KIP-380)."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Of a partition: rises when its leader changes."""

PartitionEpoch = NewType("PartitionEpoch", int)
"""Of a partition: rises with every change of it (KIP-497)."""
