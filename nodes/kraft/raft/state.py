"""The state of a replica: what it holds on disk, its role, and what it waits for.

Role names as in KIP-595. Times are milliseconds of the caller's monotonic clock.
"""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from immutables import Map

from nodes.kraft.ids import LOG_START, NO_ELECTION, LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import NO_LEADER, Fetch, FetchReply, Request, SnapshotId
from nodes.kraft.raft.steps import Effect, Token

NEVER: Final = 2**62
NO_VOTE: Final = ReplicaId(-1)


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The part that has to survive a restart (the file `quorum-state`); -1 is none."""

    epoch: LeaderEpoch = NO_ELECTION
    leader_id: ReplicaId = NO_LEADER
    voted_id: ReplicaId = NO_VOTE


@dataclass(frozen=True, slots=True)
class Unattached:
    """No leader to follow. A voter campaigns at `deadline_ms`; an observer, whose deadline
    never comes, asks the voters in turn."""

    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Download:
    """A snapshot under way from the leader; its bytes below `position` are here."""

    snapshot_id: SnapshotId
    position: int = 0


@dataclass(frozen=True, slots=True)
class Follower:
    """Fetches from the leader; a voter campaigns at `deadline_ms`, which each successful fetch
    defers. `ended`: the leader has resigned, so that nothing defers it any more. `fetched`: it
    has answered a fetch in this epoch. `download`: what is fetched instead of records."""

    deadline_ms: int
    ended: bool = False
    fetched: bool = False
    download: Download | None = None


@dataclass(frozen=True, slots=True)
class Prospective:
    """Asks in its epoch, until `deadline_ms`, whether it would win an election (KIP-996).
    Nothing of it survives a restart. `retries` as in `Candidate`."""

    deadline_ms: int
    granted: frozenset[ReplicaId]
    rejected: frozenset[ReplicaId] = frozenset()
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """Asks for votes until `deadline_ms`. `backing_off`: the election is lost, and the next
    begins at `deadline_ms`. `retries` counts the elections lost in a row."""

    deadline_ms: int
    granted: frozenset[ReplicaId]
    rejected: frozenset[ReplicaId] = frozenset()
    retries: int = 0
    backing_off: bool = False


@dataclass(frozen=True, slots=True)
class Resigned:
    """Led this epoch and gave it up: tells the voters so until `deadline_ms`, then campaigns."""

    deadline_ms: int
    successors: tuple[ReplicaId, ...]
    acknowledged: frozenset[ReplicaId] = frozenset()


@dataclass(frozen=True, slots=True)
class Progress:
    """What a replica has, by its last valid fetch: everything below `offset`, durably if it is
    a voter. `contact_ms`: when it last asked for records or a snapshot, or else the election.
    `fetched_ms`: when that last valid fetch came, None before the first; `log_end`: where the
    leader's log ended then. `caught_up_ms`: the last moment at which the replica is known to
    have had all of the log; None: never yet."""

    offset: Offset
    contact_ms: int
    fetched_ms: int | None = None
    log_end: Offset = LOG_START
    caught_up_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """A fetch that waits at the log's end. `reply` answers it if nothing new has come by
    `deadline_ms` (KAFKA-15100: as computed when it was parked)."""

    token: Token
    request: Fetch
    reply: FetchReply
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Read barriers. Tokens in `open` are answered once a majority has acknowledged a
    BeginQuorumEpoch of `round`; those in `waiting` join the round after it. `sent`: the round
    in which the outstanding one to a peer left. `acked`: the last round that a peer answered."""

    round: int = 0
    open: tuple[Token, ...] = ()
    waiting: tuple[Token, ...] = ()
    sent: Map[ReplicaId, int] = field(default_factory=Map)
    acked: Map[ReplicaId, int] = field(default_factory=Map)


@dataclass(frozen=True, slots=True)
class Leader:
    """Leads the epoch that starts at `start_offset`. `claimed`: a record of it is committed.
    `sent_watermarks`: the high watermark that each replica was last sent. `begin_due_ms`:
    when the next BeginQuorumEpoch to a voter is due. `progress` is that of the other voters,
    `observers` that of the rest."""

    start_offset: Offset
    progress: Map[ReplicaId, Progress]
    begin_due_ms: Map[ReplicaId, int]
    claimed: bool = False
    observers: Map[ReplicaId, Progress] = field(default_factory=Map)
    sent_watermarks: Map[ReplicaId, Offset] = field(default_factory=Map)
    parked: tuple[Parked, ...] = ()
    barrier: Barrier = field(default_factory=Barrier)


Role: TypeAlias = Unattached | Follower | Prospective | Candidate | Leader | Resigned


@dataclass(frozen=True, slots=True)
class Link:
    """Requests of one kind to one peer: the outstanding one, and when the next may leave."""

    outstanding: Request | None = None
    not_before_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftState:
    """Everything the core knows. `truncations` counts them; `flushing`: a `Flush` is under way;
    `draws` counts the random numbers drawn; `asked_in_turn` is an observer's place in its round
    of the voters; `stopping`: the process is about to end."""

    config: RaftConfig
    epoch: LeaderEpoch
    leader_id: ReplicaId
    voted_id: ReplicaId
    role: Role
    log: LogIndex
    high_watermark: Offset = LOG_START
    truncations: int = 0
    flushing: bool = False
    draws: int = 0
    asked_in_turn: int = 0
    stopping: bool = False
    links: Map[tuple[ReplicaId, type[Request]], Link] = field(default_factory=Map)

    @property
    def role_name(self) -> str:
        """As in docs/operating.md."""
        if not self.config.is_voter:
            return "observer"
        return type(self.role).__name__.lower()


class Transition:
    """One step in the making: the state so far and the effects so far. It lives no longer than
    a call of `step`, which is pure to its caller."""

    __slots__ = ("effects", "now_ms", "state")

    def __init__(self, state: RaftState, now_ms: int) -> None:
        self.state = state
        self.now_ms = now_ms
        self.effects: list[Effect] = []

    def set(self, **changes: Any) -> None:
        """Fields of the state."""
        self.state = replace(self.state, **changes)

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def draw(self, below: int) -> int:
        """A random number in [0, below), a function of the seed and of how many came before."""
        number, state = draw(self.state, below)
        self.state = state
        return number


def draw(state: RaftState, below: int) -> tuple[int, RaftState]:
    """The next random number in [0, below), and the state that has drawn it."""
    config = state.config
    text = f"{config.seed}/{config.node_id}/{state.draws}".encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    return number % max(1, below), replace(state, draws=state.draws + 1)
