"""What operations ask for and are answered, by kind: the members of their values, in types. Those
on partitions' logs are in `log_values`, those on groups in `group_values`.

They are dicts with types, and not objects that are made of dicts, because a history may be
anybody's: a member is looked at when a rule asks for it, so that a history that lacks what a rule
does not need is judged all the same, and one that lacks what it needs fails as it ever did. mypy
sees a member that no such value has, and a number taken for another.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict, cast

from framework.evidence.ids import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ReplicaId,
)
from framework.history.pairing import Operation

# --- requests with generations ------------------------------------------------------------


class Conditional(TypedDict):
    """`zombie`: why the request must be refused; `stale`: some number in it is known to be over."""

    zombie: NotRequired[str | None]
    stale: NotRequired[bool]


# --- partitions and topics ----------------------------------------------------------------


class AlterIsr(Conditional):
    """A leader's wish for another ISR. `isr_epochs`: the broker epochs of its members."""

    topic_id: str
    partition: int
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: Sequence[BrokerId]
    isr_epochs: NotRequired[Sequence[BrokerEpoch] | None]


class IsrState(TypedDict):
    """What an accepted change is answered with."""

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: Sequence[BrokerId]
    partition_epoch: PartitionEpoch
    replicas: NotRequired[Sequence[BrokerId]]


class PartitionShown(TypedDict):
    """A partition in a read of a topic. Caches do not know its version. `eligible`: who may lead
    once the ISR is empty (KIP-966), where the system has that."""

    partition: int
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: Sequence[BrokerId]
    partition_epoch: NotRequired[PartitionEpoch]
    replicas: NotRequired[Sequence[BrokerId]]
    eligible: NotRequired[Sequence[BrokerId]]


class CreateTopic(TypedDict, total=False):
    """By numbers, or by `assignment`."""

    partitions: int
    replication: int
    assignment: Sequence[Sequence[BrokerId]] | None
    configs: Sequence[tuple[str, str]] | None


class Reassign(TypedDict):
    """None: what is under way is to be cancelled."""

    replicas: Sequence[BrokerId] | None


class UnderWay(TypedDict):
    """A partition, `<topic>/<number>`, whose replicas are being changed."""

    key: str
    replicas: Sequence[BrokerId]
    adding: Sequence[BrokerId]
    removing: Sequence[BrokerId]


class TopicAnswer(TypedDict, total=False):
    """Of a create, a dry run of one, a delete, or a read of one topic, as far as each tells."""

    topic_id: str
    exists: bool
    partitions: Sequence[PartitionShown]
    num_partitions: int | None
    replication_factor: int | None
    configs: Sequence[tuple[str, str]]


class NamedTopic(TopicAnswer):
    """A topic among all."""

    name: str


# --- brokers ------------------------------------------------------------------------------


class Heartbeat(Conditional):
    """Of a broker that a client plays. `broker_epoch`: -1 where it registers."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    target: NotRequired[str]
    incarnation: NotRequired[str | None]
    lease_start_ms: NotRequired[int]


class HeartbeatAnswer(TypedDict, total=False):
    """`next_state`: what the broker is to be from now on. Its lease is on its own clock."""

    broker_epoch: BrokerEpoch
    next_state: str
    lease_end_ms: int


class Drained(TypedDict, total=False):
    """A broker's process that was asked to leave. `granted` None: it did not tell."""

    broker_id: BrokerId
    granted: bool | None


class BrokerAddress(TypedDict):
    id: BrokerId
    host: str
    port: int


class ClusterView(TypedDict):
    """What somebody tells of the cluster. `others`: some topics were left out."""

    brokers: Sequence[BrokerAddress]
    topics: NotRequired[Sequence[NamedTopic] | None]
    others: NotRequired[bool]


class ControllersView(TypedDict):
    """What a controller tells of the controllers. `active`: -1, it knows none."""

    controllers: Sequence[BrokerAddress]
    active: ReplicaId


# --- the quorum ---------------------------------------------------------------------------


class QuorumView(TypedDict):
    """`voters`: how far each one's log reaches, as the leader knows; only leaders tell."""

    leader: ReplicaId
    leader_epoch: LeaderEpoch
    high_watermark: Offset
    voters: NotRequired[Sequence[tuple[ReplicaId, Offset]] | None]


class ListenerAddress(TypedDict):
    host: str
    port: int


class Voter(TypedDict):
    """`addresses`: where others find it, where that is told."""

    id: ReplicaId
    directory: str
    addresses: NotRequired[Sequence[ListenerAddress]]


class VotersView(TypedDict):
    """Who votes, as a leader tells. `log_end`: of its own log; None: it does not say."""

    leader: ReplicaId
    leader_epoch: LeaderEpoch
    high_watermark: Offset
    log_end: Offset | None
    voters: Sequence[Voter]
    observers: Sequence[ReplicaId]


class LogPart(TypedDict):
    """Committed records of the metadata log, from `begin` on. `diverging`: from where the log that
    was given before is none of this leader's."""

    leader_epoch: LeaderEpoch
    high_watermark: NotRequired[Offset]
    begin: Offset
    epochs: Sequence[LeaderEpoch]
    crcs: Sequence[int]
    diverging: NotRequired[Offset | None]


# --- floods -------------------------------------------------------------------------------


class NodeFlooded(TypedDict):
    node: str
    connections: int
    refused: int
    p50_ms: float | None


class Flood(TypedDict):
    """When it began after its operation, how long it lasted, how each node bore it, and how late
    the client itself was with other things."""

    after_ms: float
    lasted_ms: float
    nodes: Sequence[NodeFlooded]
    late_p99_ms: float
    late_max_ms: float


# --- settings and features ----------------------------------------------------------------


class Configure(TypedDict, total=False):
    """Settings that are given values, and settings that are taken away."""

    set: Sequence[tuple[str, str]] | None
    delete: Sequence[str] | None


class UpdateFeature(TypedDict):
    """`dry`: it is only asked whether that could be done."""

    level: int
    dry: NotRequired[bool | None]


class FeatureLevel(TypedDict):
    """Null: none is finalized."""

    name: str
    level: int | None


class Features(TypedDict):
    """As of which end of the metadata log, and what then."""

    epoch: int
    features: Sequence[FeatureLevel]


# --- what an answer reveals beside its value ----------------------------------------------


class Revealed(TypedDict, total=False):
    """`epoch`, `offset`: where in the metadata log it was read. `attempts`: how often a produce was
    sent. `sent_as`: of one that is idempotent, under which producer id, producer epoch and sequence
    number."""

    epoch: LeaderEpoch
    offset: Offset
    producer_id: int
    attempts: int
    sent_as: tuple[int, int, int]


# --- of operations ------------------------------------------------------------------------


def revealed(operation: Operation) -> Revealed:
    """Empty where there is nothing."""
    ext = cast("Revealed | None", operation.ext)
    return ext or {}


def conditional(operation: Operation) -> Conditional:
    value: Conditional = operation.value
    return value


def alter_isr(operation: Operation) -> AlterIsr:
    value: AlterIsr = operation.value
    return value


def key_of(asked: AlterIsr) -> tuple[str, int]:
    """The topic's id and the partition whose ISR is to change."""
    return str(asked["topic_id"]), int(asked["partition"])


def isr_of(change: Operation) -> set[BrokerId]:
    """The members that it asks for."""
    return set(alter_isr(change)["isr"])


def altered_isr(operation: Operation) -> IsrState:
    """Of one that was accepted."""
    result: IsrState = operation.result
    return result


def heartbeat(operation: Operation) -> Heartbeat:
    value: Heartbeat = operation.value
    return value


def heartbeat_answer(operation: Operation) -> HeartbeatAnswer:
    """Empty where there is none."""
    result: HeartbeatAnswer = operation.result or {}
    return result


def topic_answer(operation: Operation) -> TopicAnswer:
    """Empty where there is none, or it is that there is no such topic."""
    result: TopicAnswer = operation.result or {}
    return result


def partitions_shown(operation: Operation) -> Sequence[PartitionShown]:
    """By a read of a topic."""
    return topic_answer(operation).get("partitions") or ()


def drained(operation: Operation) -> Drained:
    """Empty where nothing was told."""
    result: Drained = operation.result or {}
    return result


def quorum_view(answer: Operation) -> QuorumView:
    result: QuorumView = answer.result
    return result


def voters_view(read: Operation) -> VotersView:
    result: VotersView = read.result
    return result


def asked_voter(change: Operation) -> Voter:
    """Who is to be added, or removed."""
    value: Voter = change.value
    return value


def log_ends(view: QuorumView) -> dict[ReplicaId, Offset]:
    """How far each voter's log reaches, where the leader tells."""
    return dict(view.get("voters") or ())


def cluster_view(answer: Operation) -> ClusterView:
    result: ClusterView = answer.result
    return result


def controllers_view(answer: Operation) -> ControllersView:
    result: ControllersView = answer.result
    return result


def flood_report(operation: Operation) -> Flood:
    """Of one that was answered."""
    result: Flood = operation.result
    return result


def log_part(answer: Operation) -> LogPart:
    result: LogPart = answer.result
    return result


def create_topic(operation: Operation) -> CreateTopic:
    value: CreateTopic = operation.value
    return value


def reassign_of(operation: Operation) -> Reassign:
    value: Reassign = operation.value
    return value


def reassignments_of(operation: Operation) -> Sequence[UnderWay]:
    """Of an answer."""
    result: Sequence[UnderWay] = operation.result or []
    return result


def changed_configs(operation: Operation) -> Sequence[tuple[str, str | None]]:
    """What a change of a configuration asks for; no value: the setting is taken away."""
    value: Configure = operation.value
    given = [(name, to) for name, to in value.get("set") or ()]
    return [*given, *((name, None) for name in value.get("delete") or ())]


def update_feature(operation: Operation) -> UpdateFeature:
    value: UpdateFeature = operation.value
    return value


def features(operation: Operation) -> Features:
    """Of a question for levels that was answered."""
    result: Features = operation.result
    return result
