"""What the node does not do, and how clients are told: a section of the page of clients.

Each row is held by a test that asks a node (`tests/nodes/kraft/test_refusals.py`); an api of
Kafka's that the node does not list is in exactly one of them.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Refusal:
    """`told`: by the node. `said`: by clients, then. `unlisted`: keys of apis that are not in
    ApiVersions for that."""

    what: str
    told: str
    said: str = ""
    unlisted: frozenset[int] = frozenset()


UNLISTED: Final = "not in ApiVersions"
UNSUPPORTED: Final = (
    'Java\'s clients `UnsupportedVersionException`; franz-go "broker is too old", sarama "the '
    'version of API is not supported"; kafka-go, which asks all the same, that its connection was '
    "closed"
)
TRANSACTIONS: Final = Refusal(
    "transactions: a `transactional.id`",
    "FindCoordinator in version 0 alone, which has no room for one (1 to 4 are served all the "
    "same); UNSUPPORTED_VERSION to InitProducerId and Produce with one, and to FindCoordinator for "
    f"one; AddPartitionsToTxn and the rest are {UNLISTED}",
    "at `initTransactions`: confluent-kafka `_UNSUPPORTED_FEATURE`, fatal; kafka-python "
    "`UnsupportedVersionError`; Java's clients `UnsupportedVersionException`. franz-go (fatal), "
    "sarama and kafka-go: UNSUPPORTED_VERSION",
    unlisted=frozenset({24, 25, 26, 27, 28}),
)
BATCHES: Final = Refusal(
    "a batch with the transactional flag, or a control batch", "INVALID_RECORD"
)
GROUPS: Final = Refusal(
    "the new group protocol (KIP-848), share and streams groups",
    UNLISTED,
    "that the cluster does not support the protocol: `group.protocol=classic` works, which "
    "franz-go takes by itself",
    unlisted=frozenset({68, 69, *range(76, 80), *range(83, 93)}),
)
ADMINISTRATION: Final = Refusal(
    "quotas, SCRAM administration, delegation tokens, lists of transactions, replicas that move "
    "between directories, changes of who votes",
    UNLISTED,
    UNSUPPORTED,
    unlisted=frozenset({34, 38, 39, 40, 41, 48, 49, 50, 51, 65, 66, 80, 81, 82}),
)
SUBSTITUTED: Final = Refusal(
    "clients' metrics (KIP-714), descriptions of topics page by page (KIP-966)",
    UNLISTED,
    "nothing: they send none, and ask for Metadata",
    unlisted=frozenset({71, 72, 75}),
)
CONFIGURATIONS: Final = Refusal(
    "log compaction, retention, `compression.type`, LogAppendTime, unclean elections, throttles, "
    "`segment.ms`, flush intervals",
    "INVALID_CONFIG for any value but the default, of topics and of brokers, created with or "
    "altered: `retention.ms=5: this node does not carry it out; it can only be -1`",
    "`InvalidConfigurationException` with that message",
)
EFFECTIVE: Final = Refusal(
    "configurations that have effect: `max.message.bytes`, `min.insync.replicas`, `segment.bytes`",
    "as Kafka",
)
RESOURCES: Final = Refusal(
    "configurations of groups, of brokers' loggers and of clients' metrics",
    "INVALID_REQUEST: `resources of type 8 have no configurations here`",
    "`InvalidRequestException` with that message",
)
SESSIONS: Final = Refusal(
    "fetch sessions (KIP-227)",
    "session id 0: every fetch is a full one, as clients then send it",
    "nothing",
)
OFFSETS: Final = Refusal(
    "expiry of offsets and of empty groups; compaction of `__consumer_offsets`",
    "kept until the group or the topic is deleted; a coordinator reads all of it",
)
CLOSEST: Final = Refusal(
    "fetching from the closest replica (KIP-392), producers by a follower",
    "NOT_LEADER_OR_FOLLOWER, and no preferred replica: only leaders answer, but for those that "
    "compare replicas (replica id -2)",
    "nothing, for they ask the leader; `TransactionsCommand find-hanging` with that code",
)
REFUSALS: Final = (
    TRANSACTIONS,
    BATCHES,
    GROUPS,
    ADMINISTRATION,
    SUBSTITUTED,
    CONFIGURATIONS,
    EFFECTIVE,
    RESOURCES,
    SESSIONS,
    OFFSETS,
    CLOSEST,
)
HEAD: Final = """\
## What the node refuses, and how

What a broker does not do, clients are to say at once and rightly. Two rules make that so: an api
that is not served is not in ApiVersions, and clients then refuse the call themselves, as not
supported by the cluster; a topic configuration that is not carried out has one value, the one that
says what the node does instead, and anything else is refused with INVALID_CONFIG and a message that
names it. A test asks a node for what each row says (`tests/nodes/kraft/test_refusals.py`)."""


def section() -> str:
    """In Markdown."""
    rows = [("", "clients are told", "and say"), ("---",) * 3]
    rows += [(each.what, each.told, each.said) for each in REFUSALS]
    return "\n".join([HEAD, "", *(f"| {' | '.join(row)} |" for row in rows)])
