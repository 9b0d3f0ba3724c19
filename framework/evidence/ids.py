"""Numbers of evidence that must not be taken for each other. Each is an int at run time, and in a
table. A system's own types are its own affair: its adapter says which number is which."""

from typing import NewType

BrokerId = NewType("BrokerId", int)
"""Of a broker, whichever process answers to it."""

ReplicaId = NewType("ReplicaId", int)
"""Of a member of the quorum, voter or observer."""

BrokerEpoch = NewType("BrokerEpoch", int)
"""Of one registration of a broker (KIP-380)."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Of a log's leader, the quorum's or a partition's: rises when it changes."""

PartitionEpoch = NewType("PartitionEpoch", int)
"""Of a partition's state: rises with every change of it (KIP-497)."""

Offset = NewType("Offset", int)
"""Of a record in a log, or of the place behind it: from 0 on."""
