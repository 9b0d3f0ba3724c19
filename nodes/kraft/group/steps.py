"""Inputs and effects of the group coordinator: `step(state, event, now_ms)` in `core.py`.

What a client asks is here in one form for all versions: `asked.py` and `api.py` translate.
Whatever the log has to keep is answered when the log says that it is committed, so a coordinator
that was deposed without knowing it acknowledges nothing.
"""

from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Offset, Protocols, Token, TopicPartition

ResultT = TypeVar("ResultT", bound="Result")

# --- what clients ask ---------------------------------------------------------------------


class Ask(Generic[ResultT]):
    """`ResultT`: what is told whoever asks this."""

    __slots__ = ()
    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Ask["Joined"]):
    """`fresh_id`: an id that nobody has, for a newcomer. `id_first`: a newcomer is sent away
    to come back with its id, lest retries make ghosts (KIP-394). `may_skip`: a leader can be told
    not to assign (KIP-814)."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocol_type: str
    protocols: Protocols
    fresh_id: str
    id_first: bool
    may_skip: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync(Ask["Synced"]):
    """`assignments`: member id to its part, from the leader. `protocol*` None: not told."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    assignments: Map[str, bytes]
    protocol_type: str | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat(Ask["Acknowledged"]):
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave(Ask["Left"]):
    """`members`: (member id, instance id) of each that leaves."""

    group_id: str
    members: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Ask["Acknowledged"]):
    """Generation -1: from somebody who is in no group."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    offsets: Map[TopicPartition, Offset]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Ask["Acknowledged"]):
    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOffsets(Ask["OffsetsDeleted"]):
    group_id: str
    offsets: frozenset[TopicPartition]


Request: TypeAlias = Join | Sync | Beat | Leave | Commit | Delete | DeleteOffsets

# --- what they are told -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """`members`: (member id, instance id, metadata) of all, for the leader alone.
    `skip_assignment`: the generation has its assignment, whoever leads now."""

    error: ErrorCode = ErrorCode.none
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    member_id: str = ""
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    error: ErrorCode = ErrorCode.none
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class Left:
    """One code for each member of the request, in its order; `error`: for all of it."""

    codes: tuple[ErrorCode, ...] = ()
    error: ErrorCode = ErrorCode.none


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The answer to Beat, Commit and Delete."""

    error: ErrorCode = ErrorCode.none


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """The answer to DeleteOffsets. `kept`: topics that members subscribe to, whose offsets stay."""

    error: ErrorCode = ErrorCode.none
    kept: frozenset[str] = frozenset()


Result: TypeAlias = Joined | Synced | Left | Acknowledged | OffsetsDeleted

# --- inputs -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestReceived:
    token: Token
    request: Request


@dataclass(frozen=True, slots=True)
class Written:
    """The end of `Append(write)`: committed at `offset`, or why not. An error says nothing of
    whether it may be committed later."""

    write: int
    error: ErrorCode
    offset: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The partition is no longer ours: all that wait are told NOT_COORDINATOR (16)."""


@dataclass(frozen=True, slots=True)
class TopicsGone:
    """These topics were deleted: their offsets say nothing of later topics of the name."""

    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed. Due at `deadline_ms(state)`."""


Input: TypeAlias = RequestReceived | Written | Resign | TopicsGone | Tick

# --- effects ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A group's position in one partition; None: forgotten."""

    group_id: str
    topic: str
    partition: int
    offset: Offset | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedMember:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_ms: int
    session_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedGroup:
    """A generation of a group, as the log keeps it."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[SavedMember, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A group's generation; None: there is no such group."""

    group_id: str
    saved: SavedGroup | None


Change: TypeAlias = OffsetChange | GroupChange


@dataclass(frozen=True, slots=True)
class Append:
    """Write the changes to the partition as one batch, then say `Written(write, ...)`."""

    write: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    token: Token
    result: Result


Effect: TypeAlias = Append | Answer
