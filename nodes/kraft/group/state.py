"""The state of a coordinator: the groups of one partition of `__consumer_offsets`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group.config import GroupConfig

Token: TypeAlias = int
TopicPartition: TypeAlias = tuple[str, int]
Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""(name, metadata) of each way to assign that a member knows, the one it prefers first."""


class Phase(Enum):
    """Kafka's states of a group, under the names that DescribeGroups tells."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """`session_end_ms`: when it counts as dead unless it is heard from, or waits for us.
    `join_token`, `sync_token`: its request that waits for the others. `instance_id`: set on
    static members (KIP-345)."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocols: Protocols
    session_end_ms: int = 0
    assignment: bytes = b""
    join_token: Token | None = None
    sync_token: Token | None = None

    @property
    def waits(self) -> bool:
        """Whether a request of it waits here: then its silence is our doing."""
        return self.join_token is not None or self.sync_token is not None

    def metadata(self, protocol: str | None) -> bytes:
        """What it said under that protocol; empty where it does not know it."""
        return dict(self.protocols).get(protocol or "", b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """A committed position. `log_offset`: of its record, later ones win."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int = -1
    log_offset: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group. `invited`: ids given to members that have not joined with them yet, and until
    when they may (KIP-394). `deadline_ms`: the end of the rebalance's present phase.
    `gathering`: a first rebalance, which waits that long in any case. `saving`: the write that
    makes the generation's assignment durable."""

    group_id: str
    phase: Phase = Phase.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: Map[str, Member] = field(default_factory=Map)
    invited: Map[str, int] = field(default_factory=Map)
    deadline_ms: int | None = None
    gathering: bool = False
    saving: int | None = None
    offsets: Map[TopicPartition, Offset] = field(default_factory=Map)

    def static(self, instance_id: str) -> Member | None:
        """The member of that instance id."""
        members = self.members.values()
        return next((each for each in members if each.instance_id == instance_id), None)

    def in_order(self) -> Iterable[Member]:
        """The members in a fixed order."""
        return (self.members[member_id] for member_id in sorted(self.members))

    @property
    def forgettable(self) -> bool:
        """Nothing is known of it but its name."""
        return not (self.members or self.invited or self.offsets or self.generation)


@dataclass(frozen=True, slots=True)
class SaveAssignment:
    """A write of a group with the assignment of its new generation."""

    group_id: str
    assignments: Map[str, bytes]


@dataclass(frozen=True, slots=True)
class SaveReturn:
    """A write of a stable group in which a static member has come back under a new id. `token`: its
    join. `leader`: whom it is told to be the leader: itself, but for clients that could not be told
    not to assign, which are told the id that the leader had before (KIP-814)."""

    group_id: str
    member_id: str
    token: Token
    leader: str


@dataclass(frozen=True, slots=True)
class SaveOffsets:
    """A write of offsets; `token` is told."""

    group_id: str
    token: Token
    offsets: Map[TopicPartition, Offset]


@dataclass(frozen=True, slots=True)
class SaveEmpty:
    """A write of a group that has become empty; nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A write that deletes a group; `token` is told."""

    group_id: str
    token: Token


@dataclass(frozen=True, slots=True)
class OffsetsDeletion:
    """A write that forgets some of a group's offsets; `token` is told, and of the `kept` topics."""

    group_id: str
    token: Token
    offsets: frozenset[TopicPartition]
    kept: frozenset[str]


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A write that forgets a group's offsets of some topics; nobody waits for it."""

    group_id: str
    topics: frozenset[str]


Write: TypeAlias = (
    SaveAssignment | SaveReturn | SaveOffsets | SaveEmpty | Deletion | OffsetsDeletion | Forgetting
)


@dataclass(frozen=True, slots=True)
class State:
    """`writes`: what was sent to the log and is not known to be committed, by number."""

    config: GroupConfig
    groups: Map[str, Group] = field(default_factory=Map)
    writes: Map[int, Write] = field(default_factory=Map)
    next_write: int = 0


def answer_code(error: ErrorCode) -> ErrorCode:
    """What a client is told where the log refused a write: what makes it look for the
    coordinator anew, or try again. Kafka's table."""
    if error in (ErrorCode.not_leader_or_follower, ErrorCode.kafka_storage_error):
        return ErrorCode.not_coordinator
    if error in (ErrorCode.message_too_large, ErrorCode.invalid_fetch_size):
        return ErrorCode.invalid_commit_offset_size
    if error == ErrorCode.unknown_server_error:
        return error  # it cannot be written, ever
    # Too few replicas, no answer from them in time, no such topic any more: perhaps later.
    return ErrorCode.coordinator_not_available
