"""All metadata records, field by field, as Kafka's message definitions have them
(`common/metadata/*.json` in the jar kafka-metadata; 3.3 to 4.2), which a test holds them against.

A field: name, type, first version that has it, and, where it is a tagged one, its tag and default.
A type ends in `?` where the field may be null, and begins with `[]` where it is an array. Of fields
it is an array of entities, or one `Entity`. Control records (`common/message/*.json` in the jar
kafka-clients) begin with their version.
"""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Field:
    """`tag` None: an ordinary field, in its place."""

    name: str
    type: "str | tuple[Field, ...] | Entity"
    since: int = 0
    tag: int | None = None
    default: Any = None


@dataclass(frozen=True, slots=True)
class Entity:
    """One, in the place of a field."""

    fields: tuple[Field, ...]


_END_POINT: Final = (
    Field("name", "string"),
    Field("host", "string"),
    Field("port", "uint16"),
    Field("security_protocol", "int16"),
)
_FEATURE: Final = (
    Field("name", "string"),
    Field("min_supported_version", "int16"),
    Field("max_supported_version", "int16"),
)
_RULE: Final = (
    Field("id", "uuid"),
    Field("resource_type", "int8"),
    Field("resource_name", "string"),
    Field("pattern_type", "int8"),
    Field("principal", "string"),
    Field("host", "string"),
    Field("operation", "int8"),
    Field("permission_type", "int8"),
)
_VOTER: Final = (Field("voter_id", "int32"), Field("voter_directory_id", "uuid", 1))

_LISTENER: Final = (Field("name", "string"), Field("host", "string"), Field("port", "uint16"))
_RANGE: Final = (
    Field("min_supported_version", "int16"),
    Field("max_supported_version", "int16"),
)
_VERSION: Final = Field("version", "int16")

CONTROL: Final[dict[int, tuple[str, tuple[Field, ...], int]]] = {
    2: (
        "LeaderChange",
        (
            _VERSION,
            Field("leader_id", "int32"),
            Field("voters", _VOTER),
            Field("granting_voters", _VOTER),
        ),
        1,
    ),
    3: ("SnapshotHeader", (_VERSION, Field("last_contained_log_timestamp", "int64")), 0),
    4: ("SnapshotFooter", (_VERSION,), 0),
    5: ("KRaftVersion", (_VERSION, Field("k_raft_version", "int16")), 0),
    6: (
        "KRaftVoters",
        (
            _VERSION,
            Field(
                "voters",
                (
                    Field("voter_id", "int32"),
                    Field("voter_directory_id", "uuid"),
                    Field("endpoints", _LISTENER),
                    Field("k_raft_version_feature", Entity(_RANGE)),
                ),
            ),
        ),
        0,
    ),
}
"""By the type in a control record's key: as DumpLogSegments calls it, its fields, and the newest
version of it that is known."""

RECORDS: Final[dict[int, tuple[str, tuple[Field, ...]]]] = {
    0: (
        "RegisterBrokerRecord",
        (
            Field("broker_id", "int32"),
            Field("is_migrating_zk_broker", "bool", 2),
            Field("incarnation_id", "uuid"),
            Field("broker_epoch", "int64"),
            Field("end_points", _END_POINT),
            Field("features", _FEATURE),
            Field("rack", "string?"),
            Field("fenced", "bool"),
            Field("in_controlled_shutdown", "bool", 1),
            Field("log_dirs", "[]uuid", 3, tag=0, default=()),
        ),
    ),
    1: (
        "UnregisterBrokerRecord",
        (Field("broker_id", "int32"), Field("broker_epoch", "int64")),
    ),
    2: ("TopicRecord", (Field("name", "string"), Field("topic_id", "uuid"))),
    3: (
        "PartitionRecord",
        (
            Field("partition_id", "int32"),
            Field("topic_id", "uuid"),
            Field("replicas", "[]int32"),
            Field("isr", "[]int32"),
            Field("removing_replicas", "[]int32"),
            Field("adding_replicas", "[]int32"),
            Field("leader", "int32"),
            Field("leader_epoch", "int32"),
            Field("partition_epoch", "int32"),
            Field("directories", "[]uuid", 1),
            Field("leader_recovery_state", "int8", tag=0, default=0),
            Field("eligible_leader_replicas", "[]int32?", 2, tag=1),
            Field("last_known_elr", "[]int32?", 2, tag=2),
        ),
    ),
    4: (
        "ConfigRecord",
        (
            Field("resource_type", "int8"),
            Field("resource_name", "string"),
            Field("name", "string"),
            Field("value", "string?"),
        ),
    ),
    5: (
        "PartitionChangeRecord",
        (
            Field("partition_id", "int32"),
            Field("topic_id", "uuid"),
            Field("isr", "[]int32?", tag=0),
            Field("leader", "int32", tag=1, default=-2),
            Field("replicas", "[]int32?", tag=2),
            Field("removing_replicas", "[]int32?", tag=3),
            Field("adding_replicas", "[]int32?", tag=4),
            Field("leader_recovery_state", "int8", tag=5, default=-1),
            Field("eligible_leader_replicas", "[]int32?", 2, tag=6),
            Field("last_known_elr", "[]int32?", 2, tag=7),
            Field("directories", "[]uuid?", 1, tag=8),
        ),
    ),
    7: ("FenceBrokerRecord", (Field("id", "int32"), Field("epoch", "int64"))),
    8: ("UnfenceBrokerRecord", (Field("id", "int32"), Field("epoch", "int64"))),
    9: ("RemoveTopicRecord", (Field("topic_id", "uuid"),)),
    10: (
        "DelegationTokenRecord",
        (
            Field("owner", "string"),
            Field("requester", "string"),
            Field("renewers", "[]string"),
            Field("issue_timestamp", "int64"),
            Field("max_timestamp", "int64"),
            Field("expiration_timestamp", "int64"),
            Field("token_id", "string"),
        ),
    ),
    11: (
        "UserScramCredentialRecord",
        (
            Field("name", "string"),
            Field("mechanism", "int8"),
            Field("salt", "bytes"),
            Field("stored_key", "bytes"),
            Field("server_key", "bytes"),
            Field("iterations", "int32"),
        ),
    ),
    12: ("FeatureLevelRecord", (Field("name", "string"), Field("feature_level", "int16"))),
    14: (
        "ClientQuotaRecord",
        (
            Field("entity", (Field("entity_type", "string"), Field("entity_name", "string?"))),
            Field("key", "string"),
            Field("value", "float64"),
            Field("remove", "bool"),
        ),
    ),
    15: (
        "ProducerIdsRecord",
        (
            Field("broker_id", "int32"),
            Field("broker_epoch", "int64"),
            Field("next_producer_id", "int64"),
        ),
    ),
    17: (
        "BrokerRegistrationChangeRecord",
        (
            Field("broker_id", "int32"),
            Field("broker_epoch", "int64"),
            Field("fenced", "int8", tag=0, default=0),
            Field("in_controlled_shutdown", "int8", 1, tag=1, default=0),
            Field("log_dirs", "[]uuid", 2, tag=2, default=()),
        ),
    ),
    18: ("AccessControlEntryRecord", _RULE),
    19: ("RemoveAccessControlEntryRecord", (Field("id", "uuid"),)),
    20: ("NoOpRecord", ()),
    21: ("ZkMigrationStateRecord", (Field("zk_migration_state", "int8"),)),
    22: (
        "RemoveUserScramCredentialRecord",
        (Field("name", "string"), Field("mechanism", "int8")),
    ),
    23: ("BeginTransactionRecord", (Field("name", "string?", tag=0),)),
    24: ("EndTransactionRecord", ()),
    25: ("AbortTransactionRecord", (Field("reason", "string?", tag=0),)),
    26: ("RemoveDelegationTokenRecord", (Field("token_id", "string"),)),
    27: (
        "RegisterControllerRecord",
        (
            Field("controller_id", "int32"),
            Field("incarnation_id", "uuid"),
            Field("zk_migration_ready", "bool"),
            Field("end_points", _END_POINT),
            Field("features", _FEATURE),
        ),
    ),
    28: ("ClearElrRecord", (Field("topic_name", "string"),)),
}
"""By number. What is not here is told as an `other-change` without content. Credentials are as 3.5
writes them, tokens as 3.6 does, and AccessControlRecord (6) is not here: earlier releases have
other forms of these, and write none."""
NEWEST: Final[dict[int, int]] = {0: 3, 3: 2, 5: 2, 17: 2}
"""The newest version of each that is known; of all others 0."""
