"""Which api keys each kind of listener serves, and in which versions."""

from typing import Final

CLIENT_APIS: Final[dict[int, tuple[int, int]]] = {
    0: (3, 10),  # Produce
    1: (4, 18),  # Fetch
    2: (1, 8),  # ListOffsets
    3: (0, 13),  # Metadata
    8: (2, 9),  # OffsetCommit
    9: (1, 8),  # OffsetFetch
    10: (0, 4),  # FindCoordinator
    11: (0, 9),  # JoinGroup
    12: (0, 4),  # Heartbeat
    13: (0, 5),  # LeaveGroup
    14: (0, 5),  # SyncGroup
    15: (0, 5),  # DescribeGroups
    16: (0, 5),  # ListGroups
    17: (0, 1),  # SaslHandshake
    18: (0, 4),  # ApiVersions
    19: (2, 7),  # CreateTopics
    20: (1, 6),  # DeleteTopics
    21: (0, 2),  # DeleteRecords
    22: (0, 4),  # InitProducerId
    23: (2, 4),  # OffsetForLeaderEpoch
    29: (1, 3),  # DescribeAcls
    30: (1, 3),  # CreateAcls
    31: (1, 3),  # DeleteAcls
    32: (1, 4),  # DescribeConfigs
    33: (0, 2),  # AlterConfigs
    35: (1, 4),  # DescribeLogDirs
    36: (0, 2),  # SaslAuthenticate
    37: (0, 3),  # CreatePartitions
    42: (0, 2),  # DeleteGroups
    43: (1, 2),  # ElectLeaders
    44: (0, 1),  # IncrementalAlterConfigs
    45: (0, 1),  # AlterPartitionReassignments
    46: (0, 0),  # ListPartitionReassignments
    47: (0, 0),  # OffsetDelete
    55: (0, 2),  # DescribeQuorum
    57: (0, 1),  # UpdateFeatures
    60: (0, 2),  # DescribeCluster
    61: (0, 0),  # DescribeProducers
    64: (0, 0),  # UnregisterBroker
    74: (0, 1),  # ListConfigResources
}
"""Api key -> lowest and highest version that clients are served in."""

ADVERTISED_APIS: Final[dict[int, tuple[int, int]]] = CLIENT_APIS | {10: (0, 0)}
"""The same, as ApiVersions tells it. From FindCoordinator 1 on clients can ask for the coordinator
of a transactional id: told of 0 alone, they refuse such an id themselves, at once, as something
that the cluster does not support. No error code says that to all of them."""

CONTROL_APIS: Final[dict[int, tuple[int, int]]] = {
    1: (17, 17),  # Fetch
    17: (0, 1),  # SaslHandshake
    18: (0, 4),  # ApiVersions
    36: (0, 2),  # SaslAuthenticate
    52: (1, 2),  # Vote
    53: (1, 1),  # BeginQuorumEpoch
    54: (1, 1),  # EndQuorumEpoch
    55: (0, 2),  # DescribeQuorum
    56: (3, 3),  # AlterPartition
    57: (0, 1),  # UpdateFeatures
    58: (0, 0),  # Envelope
    59: (1, 1),  # FetchSnapshot
    60: (1, 2),  # DescribeCluster
    64: (0, 0),  # UnregisterBroker
    67: (0, 0),  # AllocateProducerIds
}
"""The same on the control listener. Keys 50 and 51, which shipped Kafka gave to other messages,
and our own above 10000 are served there too, but never listed (A.7.11)."""
