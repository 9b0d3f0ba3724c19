"""Evidence of what nodes did: a frozen dataclass a kind.

`Evidence` has what all kinds have. The metadata log's records, in neutral words, are in `changes`;
the Arrow schema of each kind follows from its fields (`schemas`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import ClassVar, Final, Literal, TypeAlias

from framework.evidence.ids import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ReplicaId,
)
from framework.history.event import Json, Recorded

Source: TypeAlias = Literal["client", "harness", "disk", "event"]
"""Who says so, the most trusted first."""
DISK: Final = "disk"
HARNESS: Final = "harness"
BrokerState: TypeAlias = Literal["starting", "active", "fenced", "leaving", "unknown"]
"""It was not in service yet; it is; it is no more, for want of a lease; it was let go, and ends;
nobody can tell. After KIP-631, whose words for them are a system's own."""
Role: TypeAlias = Literal[
    "unattached", "follower", "prospective", "candidate", "leader", "resigned", "observer"
]
"""KIP-595's roles of a replica, with KIP-996's prospective."""

CAPABILITY: Final = "evidence:"
ON_DISK: Final = "disk:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that is known of a node.

    node: its name in the plan, or that of a process that a workload started.
    incarnation: which process of it, as any text; empty where that cannot be told.
    seq: its place among what is known of this incarnation, in the order in which it happened.
    at_ns: when, on the harness's clock, ns since the run began; within_ns: by how much that may be
        off (0: the clocks are one; `clocks.UNKNOWN_NS`: only the order is known).
    ref: file and position, relative to the run's folder: what a person opens.
    """

    kind: ClassVar[str] = ""
    family: ClassVar[str] = ""
    """Of kinds that a system leaves all or none of: their common name among capabilities."""
    node: str
    incarnation: str = ""
    seq: int = 0
    at_ns: int = 0
    within_ns: int = 0
    source: Source = "event"
    ref: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        """Its place in the order in which rules are shown evidence."""
        return self.node, self.incarnation, self.seq

    def as_json(self) -> dict[str, Json]:
        """As findings show it: `type` is the kind."""
        return {
            "time_ns": self.at_ns,
            "node": self.node,
            "incarnation": self.incarnation,
            "seq": self.seq,
            "type": self.kind,
            **{name: _plain(getattr(self, name)) for name in own_fields(type(self))},
            "ref": self.ref,
        }


COMMON: Final = tuple(field.name for field in fields(Evidence))
"""The fields that every kind has, in the order of its table's columns."""


# --- processes ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Booted(Evidence):
    """A process began, and found this on its disk. Ids are None where it has no such role; saved_*
    are None where nothing was saved yet. key: what operations on it call it, beside its node's
    name."""

    kind: ClassVar[str] = "booted"
    replica_id: ReplicaId | None = None
    broker_id: BrokerId | None = None
    voters: tuple[ReplicaId, ...] = ()
    saved_epoch: LeaderEpoch | None = None
    saved_leader: ReplicaId | None = None
    saved_vote: ReplicaId | None = None
    log_start: Offset | None = None
    log_end: Offset | None = None
    last_epoch: LeaderEpoch | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited(Evidence):
    """A process ended, and said why. `fatal`: it gave up, nobody had asked it to end."""

    kind: ClassVar[str] = "exited"
    reason: str
    fatal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded(Evidence):
    """The harness saw that a node's process ended: the how manieth, from 1, of those that it
    started (None: not counted), and with which exit code, negative: minus the signal that ended it
    (None: nobody could tell)."""

    kind: ClassVar[str] = "process-ended"
    process: int | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(Evidence):
    """An exception that nothing handled."""

    kind: ClassVar[str] = "failed"
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled(Evidence):
    """A part of the process did not run for so long, up to `at_ns`; for `delayed_ns` of that at
    most the machine had no core for the process."""

    kind: ClassVar[str] = "stalled"
    part: str
    lasted_ns: int
    delayed_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked(Evidence):
    """The process was alive: it says so every `every_ns`; None: who knows how often."""

    kind: ClassVar[str] = "ticked"
    every_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised(Evidence):
    """By its settings the system keeps a promise that it need not keep in every run.

    exclusive-broker-ids: a process takes a broker id over only when the former one's lease ended.
    """

    kind: ClassVar[str] = "promised"
    promise: Literal["exclusive-broker-ids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A field of an entity for which a digest stands."""

    entity: str
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageForm(Evidence):
    """How the system's nodes make the digests of their metadata images, so that others can make
    them from the log.

    A digest is the sum, modulo 2^256, in 64 hexadecimal digits, of the SHA-256 of a line for each
    entity of the kinds in `covers`: the JSON array, without blanks and in ASCII, of the entity's
    kind and of its fields that `covers` names, in that order. A snapshot has a record for each of
    them. remembered, remembered_bytes: so many answers of requests at most, of so many bytes, are
    in the image; the newest one always is.
    """

    kind: ClassVar[str] = "image-form"
    covers: tuple[Covered, ...]
    remembered: int = 0
    remembered_bytes: int = 0


LogRule: TypeAlias = Literal[
    "moved-after-fencing",
    "moved-before-fencing",
    "fenced-before-registering",
    "moved-before-registering",
    "registering-renews-epoch",
    "process-keeps-epoch",
    "process-keeps-standing",
    "registering-fences",
    "epoch-is-offset",
    "shrinking-raises-leader-epoch",
    "eligible-leaders",
    "configured-after-creation",
    "replicas-change",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRule:
    """The rule holds while the log has this feature finalized at `since` or above, and below
    `below` (0: no end); feature empty: always."""

    rule: LogRule
    feature: str = ""
    since: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRules(Evidence):
    """What records of the system's metadata log keep to, where systems and their versions differ.
    A system that says nothing of it is held to what KIP-631 says.

    moved-after-fencing: the records that follow the one which fences a broker move what it leads;
    moved-before-fencing: those before it do, and take it out of ISRs that have others.
    fenced-before-registering: the former life of a broker that registers is fenced;
    moved-before-registering: it leads nothing, and is in no ISR that has others.
    registering-renews-epoch: each registration has a higher epoch; process-keeps-epoch: that of the
    same process has the same one. process-keeps-standing: it is fenced, or leaving, as before;
    registering-fences: any registration fences. epoch-is-offset: a new epoch is the offset where
    the records of its registration begin.
    shrinking-raises-leader-epoch: so does an ISR that loses a member under one leader.
    eligible-leaders: eligible leader replicas are kept (KIP-966), and an ISR may be empty.
    configured-after-creation: a topic is there before its configuration is. replicas-change: those
    of a partition may, but who comes is in sync later; else by the steps of KIP-455.
    """

    kind: ClassVar[str] = "log-rules"
    rules: tuple[HeldRule, ...]


# --- the quorum ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochSaved(Evidence):
    """A voter's epoch, leader and vote are durable; None: none."""

    kind: ClassVar[str] = "epoch-saved"
    epoch: LeaderEpoch
    leader: ReplicaId | None
    vote: ReplicaId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTaken(Evidence):
    """A replica's role, its epoch or the leader that it knows changed."""

    kind: ClassVar[str] = "role-taken"
    role: Role
    epoch: LeaderEpoch
    leader: ReplicaId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Voted(Evidence):
    """A voter answered a candidate. Logs are told as (epoch of the last record, end offset)."""

    kind: ClassVar[str] = "voted"
    epoch: LeaderEpoch
    candidate: ReplicaId
    granted: bool
    candidate_log: tuple[int, ...]
    own_log: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected(Evidence):
    """The node won an election, with the votes of these."""

    kind: ClassVar[str] = "elected"
    epoch: LeaderEpoch
    votes: tuple[ReplicaId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Evidence):
    """The node became the active controller of its epoch."""

    kind: ClassVar[str] = "claimed"
    epoch: LeaderEpoch
    end_offset: Offset


# --- the metadata log ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended(Evidence):
    """Records came into the node's log. `crcs`: one a record, of its value; `leading`: the node
    wrote them as leader of `epoch`; None: that cannot be told."""

    kind: ClassVar[str] = "appended"
    base_offset: Offset
    end_offset: Offset
    epoch: LeaderEpoch
    control: bool
    crcs: tuple[int, ...]
    leading: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed(Evidence):
    """The log is durable below `end_offset`."""

    kind: ClassVar[str] = "flushed"
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(Evidence):
    """The log was cut back to `end_offset`."""

    kind: ClassVar[str] = "truncated"
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBegan(Evidence):
    """The log begins at `offset`: a snapshot holds what was below. `dropped`: all of the log went
    with it, for a snapshot that came from another node."""

    kind: ClassVar[str] = "log-began"
    offset: Offset
    dropped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Evidence):
    """The node's high watermark rose to `offset`, in `epoch`, as leader or not."""

    kind: ClassVar[str] = "committed"
    offset: Offset
    epoch: LeaderEpoch
    leading: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDigest(Evidence):
    """The digest of the node's metadata image below `offset`."""

    kind: ClassVar[str] = "image-digest"
    offset: Offset
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageShown(Evidence):
    """The image below `offset`, with this digest, is what the node's clients see from now on."""

    kind: ClassVar[str] = "image-shown"
    offset: Offset
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOnDisk(Evidence):
    """The metadata log that lies on the node's disk, from its first offset to behind the last that
    can be read. `torn`: half a batch is behind that; `wrong`: what no log may have."""

    kind: ClassVar[str] = "log-on-disk"
    start_offset: Offset
    end_offset: Offset
    torn: bool
    wrong: tuple[str, ...]


# --- snapshots ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWritten(Evidence):
    """A snapshot of the state below `end_offset` is durable. `digest`: of the image in it."""

    kind: ClassVar[str] = "snapshot-written"
    end_offset: Offset
    epoch: LeaderEpoch
    digest: str
    bytes: int
    records: int | None
    high_watermark: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLoaded(Evidence):
    """A snapshot became the node's image. `fetched`: it came from another node."""

    kind: ClassVar[str] = "snapshot-loaded"
    end_offset: Offset
    epoch: LeaderEpoch
    digest: str
    fetched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One of those who vote: its id, and that of the directory that holds its log."""

    id: ReplicaId
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile(Evidence):
    """A snapshot that lies on the node's disk; `wrong`: what no snapshot may have; `digest`: of the
    image in it (None: it cannot be told); `voters`: who votes by it (None: it does not say)."""

    kind: ClassVar[str] = "snapshot-file"
    end_offset: Offset
    epoch: LeaderEpoch
    records: int
    wrong: tuple[str, ...]
    digest: str | None = None
    voters: tuple[Voter, ...] | None = None


# --- requests -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Evidence):
    """A controller decided on a request.

    request: its id within the incarnation; forwarded: the id that a retry of it has, too. api: what
    people call it; f: the operation of a history that asks for it, where one does. accepted: of a
    batch, at least in part; else `code` is the refusal's. as_of: the end of the log that the
    decision rests on; records: offsets that it appended, in `epoch`. broker_id, broker_epoch: who
    asked, where a broker did (epoch None: it has none yet), and `target` the state that it wants
    to be in. topics: those that it is about, empty where that is not told.
    """

    kind: ClassVar[str] = "decided"
    request: str
    forwarded: str | None = None
    api: str
    f: str | None
    accepted: bool
    code: str
    as_of: Offset
    records: tuple[Offset, ...]
    epoch: LeaderEpoch
    broker_id: BrokerId | None = None
    broker_epoch: BrokerEpoch | None = None
    target: BrokerState | None = None
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrDecided(Evidence):
    """What a controller decided on one partition of a request of a leader to change ISRs.

    broker_id, broker_epoch, leader_epoch, partition_epoch: what the request carried. accepted, with
    the refusal's code: None where that is not told. as_of, records, epoch: as of `Decided`; the
    records are the partition's own, or where that is not told all of the request.
    """

    kind: ClassVar[str] = "isr-decided"
    request: str
    api: str
    broker_id: BrokerId
    broker_epoch: BrokerEpoch | None
    topic_id: str
    partition: int
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    accepted: bool | None
    code: str | None
    as_of: Offset
    records: tuple[Offset, ...]
    epoch: LeaderEpoch

    @property
    def key(self) -> tuple[str, int]:
        return self.topic_id, self.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Evidence):
    """A controller's answer to a request left it, when the high watermark was that. `accepted`:
    there is a success in it."""

    kind: ClassVar[str] = "answered"
    request: str
    api: str
    f: str | None
    accepted: bool
    high_watermark: Offset
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Served(Evidence):
    """A broker answered a client: of a system that tells of this, each answer is told. `success`:
    it gave what only a broker that may serve gives; `state`: what it says that it was. `f`,
    `topic`: the operation of a history that asks for it."""

    kind: ClassVar[str] = "served"
    api: str
    f: str | None
    success: bool
    code: str
    state: BrokerState | None
    broker_epoch: BrokerEpoch | None
    topic: str | None


# --- brokers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStateChanged(Evidence):
    """A broker's own state. `lease_ended`: because its lease had."""

    kind: ClassVar[str] = "broker-state"
    before: BrokerState
    after: BrokerState
    broker_epoch: BrokerEpoch | None
    lease_ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted(Evidence):
    """A broker may act till `end_ns`. Both times are of the broker's clock, told as `at_ns` is:
    comparing them with what the same node did needs no other clock. rounded_ns: by how much the
    node's own reckoning may differ, as it keeps them in coarser units."""

    kind: ClassVar[str] = "lease-granted"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    start_ns: int
    end_ns: int
    rounded_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswered(Evidence):
    """A broker was answered: it had asked for `target` under `broker_epoch` (None: it had none),
    and is to be `next_state` under `answered_epoch`. `stale`: refused, as
    its epoch is another's."""

    kind: ClassVar[str] = "heartbeat-answered"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch | None
    target: BrokerState
    accepted: bool
    stale: bool
    next_state: BrokerState
    answered_epoch: BrokerEpoch | None


# --- partitions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRole(Evidence):
    """A broker's replica of a partition leads it, follows, or does neither."""

    kind: ClassVar[str] = "replica-role"
    topic: str
    topic_id: str
    partition: int
    role: Literal["leader", "follower", "none"]
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAppended(Evidence):
    """A batch came into a partition's log; `crc` is that of the batch. Of a batch without a
    producer id, that is None, and so is `leading` where it cannot be told."""

    kind: ClassVar[str] = "partition-appended"
    topic_id: str
    partition: int
    base_offset: Offset
    end_offset: Offset
    epoch: LeaderEpoch
    crc: int
    leading: bool | None
    producer_id: int | None
    base_sequence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTruncated(Evidence):
    """A partition's log was cut back to `end_offset`."""

    kind: ClassVar[str] = "partition-truncated"
    topic_id: str
    partition: int
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCommitted(Evidence):
    """A partition's high watermark rose to `offset` on its leader."""

    kind: ClassVar[str] = "partition-committed"
    topic_id: str
    partition: int
    offset: Offset
    leader_epoch: LeaderEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """A leader epoch, and the first offset that was written in it."""

    epoch: LeaderEpoch
    start_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLogOnDisk(Evidence):
    """A partition's log that lies on the node's disk, as `LogOnDisk`. `epochs`: what is written
    down of leader epochs beside it; None: nothing is, or it cannot be read."""

    kind: ClassVar[str] = "partition-log-on-disk"
    topic_id: str
    partition: int
    start_offset: Offset
    end_offset: Offset
    torn: bool
    wrong: tuple[str, ...]
    epochs: tuple[EpochStart, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsetSaved(Evidence):
    """An offset of a partition that is written down on the node's disk: its high watermark, where
    recovery begins after a crash (all below is flushed), or where its log begins."""

    kind: ClassVar[str] = "partition-offset-saved"
    topic_id: str
    partition: int
    what: Literal["high-watermark", "recovery-point", "log-start"]
    offset: Offset


# --- of kinds -----------------------------------------------------------------------------


_OWN: Final[dict[type, tuple[str, ...]]] = {}


def own_fields(kind: type[Evidence]) -> tuple[str, ...]:
    """The fields that are not those of all evidence, in order."""
    if kind not in _OWN:
        _OWN[kind] = tuple(field.name for field in fields(kind) if field.name not in COMMON)
    return _OWN[kind]


def same_fact(one: Evidence, other: Evidence) -> bool:
    """Whether both say the same thing, whoever says it, and when."""
    return type(one) is type(other) and _facts(one) == _facts(other)


def _facts(each: Evidence) -> object:
    kind = type(each)
    if kind not in _FACTS:
        names = own_fields(kind)
        _FACTS[kind] = attrgetter(*names) if names else lambda _: None
    return _FACTS[kind](each)


_FACTS: Final[dict[type, Callable[[Evidence], object]]] = {}


def described(evidence: Evidence) -> str:
    """What it says, for people."""
    said = {name: _plain(getattr(evidence, name)) for name in own_fields(type(evidence))}
    return f"{evidence.kind} {json.dumps(said)}"


def evidence_of(*kinds: type[Evidence]) -> frozenset[str]:
    """The capabilities of leaving evidence of these kinds."""
    return frozenset(CAPABILITY + (each.family or each.kind) for each in kinds)


def disk_of(*kinds: type[Evidence]) -> frozenset[str]:
    """The capabilities of leaving evidence of these kinds on disk."""
    return frozenset(ON_DISK + (each.family or each.kind) for each in kinds)


def either_of(*kinds: type[Evidence]) -> frozenset[str]:
    """Requirements that each of these kinds is told, or left on disk."""
    names = {each.family or each.kind for each in kinds}
    return frozenset(f"{CAPABILITY}{name}|{ON_DISK}{name}" for name in names)


def _plain(value: Recorded) -> Json:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    plain: Json = value
    return plain
