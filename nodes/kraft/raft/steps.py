"""Inputs and effects of the Raft core.

`step(state, event, now_ms)` (in `core.py`) returns the new state and effects. The caller carries
the effects out **in order**, and that order is the contract: what must be durable before a
message leaves stands before that message.
"""

from dataclasses import dataclass
from typing import TypeAlias

from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.messages import (
    Batch,
    Fetch,
    FetchReply,
    FetchSnapshot,
    FetchSnapshotReply,
    Reply,
    Request,
    SnapshotId,
)

Token: TypeAlias = int
"""Names a request that waits for its answer. The caller makes them, each once."""


# --- inputs -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed. Due at `deadline_ms(state)`; harmless at any time."""


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """A replica's request came in; answer it with `Answer(token, ...)`, once."""

    token: Token
    request: Request


@dataclass(frozen=True, slots=True)
class Replied:
    """The answer to our `Send`. None: it failed or timed out, its fate unknown."""

    peer: ReplicaId
    request: Request
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class Flushed:
    """The log is durable up to `end_offset` (answers a `Flush`). Ignored where the log has
    been truncated below it since (`truncations` tells: it counts as in the `Flush`)."""

    end_offset: Offset
    truncations: int


@dataclass(frozen=True, slots=True)
class Propose:
    """The state machine of the leader of `epoch` appends records, as one batch. Ignored when
    this replica does not lead `epoch` any more: `Renounced` has told it."""

    epoch: LeaderEpoch
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Confirm:
    """Ask for proof that this replica still led after this moment (a read barrier)."""

    token: Token


@dataclass(frozen=True, slots=True)
class Resign:
    """Give up leadership (before a snapshot, or an operator's wish)."""

    why: str = "asked to"


@dataclass(frozen=True, slots=True)
class ShutDown:
    """The process is about to end: give up leadership and answer no more fetches."""


@dataclass(frozen=True, slots=True)
class SnapshotWritten:
    """A snapshot of this replica's own is durable under its name."""

    snapshot_id: SnapshotId


Input: TypeAlias = (
    Tick
    | RequestReceived
    | Replied
    | Flushed
    | Propose
    | Confirm
    | Resign
    | ShutDown
    | SnapshotWritten
)


# --- effects ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SaveQuorumState:
    """Make durable (temp file, fsync, rename) before carrying out any later effect."""

    epoch: LeaderEpoch
    leader_id: ReplicaId
    voted_id: ReplicaId


@dataclass(frozen=True, slots=True)
class Append:
    """Write to the log; not durable yet."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Truncate:
    """Drop every record at `end_offset` and above; durable before any later effect."""

    end_offset: Offset


@dataclass(frozen=True, slots=True)
class Flush:
    """Start making the log durable; a `Flushed(end_offset, truncations)` follows when it is.
    Later effects need not wait."""

    end_offset: Offset
    truncations: int


@dataclass(frozen=True, slots=True)
class Send:
    """Send to a replica; a `Replied` follows, always, at latest after the request timeout."""

    peer: ReplicaId
    request: Request


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a request."""

    token: Token
    reply: Reply


@dataclass(frozen=True, slots=True)
class AnswerFetch:
    """Answer a fetch with `reply` and the batches from `request.offset` up to `limit`
    (exclusive; as many as the size limits allow), read from the log."""

    token: Token
    request: Fetch
    reply: FetchReply
    limit: Offset


@dataclass(frozen=True, slots=True)
class AnswerSnapshot:
    """Answer with a range of a snapshot: `snapshots.answer_range` makes `reply` complete."""

    token: Token
    request: FetchSnapshot
    reply: FetchSnapshotReply


@dataclass(frozen=True, slots=True)
class StoreChunk:
    """Keep `data`, which is what the snapshot has from `position` on; 0 begins anew."""

    snapshot_id: SnapshotId
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """All chunks are there. Verify the snapshot and make it durable under its name; then drop
    the whole log, which begins at the snapshot's end from now on. The state machine becomes
    what the snapshot holds. All of it counts as done for any later effect."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class TrimLog:
    """The log begins where this durable snapshot ends; what lies below may be dropped."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class Advanced:
    """The high watermark rose; records below it are committed."""

    high_watermark: Offset


@dataclass(frozen=True, slots=True)
class Elected:
    """This replica won the election of `epoch`, which starts at `start_offset`."""

    epoch: LeaderEpoch
    start_offset: Offset
    voters: tuple[ReplicaId, ...]


@dataclass(frozen=True, slots=True)
class Claimed:
    """This replica leads `epoch`, and has committed a record of it: the state machine may
    act, once it has applied everything below `end_offset` (= high watermark = log end)."""

    epoch: LeaderEpoch
    end_offset: Offset


@dataclass(frozen=True, slots=True)
class Renounced:
    """This replica leads `epoch` no longer."""

    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class GaveUp:
    """This replica gives up its leadership of `epoch` of its own will."""

    epoch: LeaderEpoch
    why: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Proof for `Confirm(token)`: this replica led `epoch` at some moment after it; records
    below `high_watermark` were committed. `epoch` None: it does not lead."""

    token: Token
    epoch: LeaderEpoch | None
    high_watermark: Offset


@dataclass(frozen=True, slots=True)
class Fatal:
    """An inconsistency that must not be resolved silently: log it and stop the process."""

    reason: str


Effect: TypeAlias = (
    SaveQuorumState
    | Append
    | Truncate
    | Flush
    | Send
    | Answer
    | AnswerFetch
    | AnswerSnapshot
    | StoreChunk
    | InstallSnapshot
    | TrimLog
    | Advanced
    | Elected
    | Claimed
    | Renounced
    | GaveUp
    | Confirmed
    | Fatal
)
