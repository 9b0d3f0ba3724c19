"""Snapshots of the log (KIP-630): made here, handed out, fetched.

A snapshot stands for everything below its end, all of it committed. A leader whose log begins
behind a follower's end names its snapshot in the answer to the fetch; the follower then asks
for it piece by piece, one request at a time, and goes on from its end.
"""

from collections.abc import Callable
from dataclasses import replace

from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.log_index import restarted
from nodes.kraft.raft.messages import (
    INVALID_REQUEST,
    NONE,
    POSITION_OUT_OF_RANGE,
    SNAPSHOT_NOT_FOUND,
    FetchSnapshot,
    FetchSnapshotReply,
    SnapshotId,
)
from nodes.kraft.raft.replication import asked_error, note_contact
from nodes.kraft.raft.sending import back_off
from nodes.kraft.raft.state import Download, Follower, RaftState, Transition
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerSnapshot,
    Fatal,
    InstallSnapshot,
    StoreChunk,
    Token,
    TrimLog,
)
from nodes.kraft.raft.transitions import extend


def on_written(transition: Transition, snapshot_id: SnapshotId) -> None:
    """The log may begin at the snapshot's end, if it is of what is committed. A newer snapshot
    may have come from the leader meanwhile: then this one is of no use."""
    state = transition.state
    if snapshot_id.end_offset <= state.log.start_offset:
        return
    if snapshot_id.end_offset > state.high_watermark:
        transition.emit(Fatal(f"{snapshot_id} is above the high watermark {state.high_watermark}"))
    elif not state.log.holds(snapshot_id):
        transition.emit(Fatal(f"{snapshot_id} is not of this log"))
    else:
        transition.set(log=state.log.begin_at(snapshot_id))
        transition.emit(TrimLog(snapshot_id))


# --- the leader ---------------------------------------------------------------------------


def on_fetch_snapshot(transition: Transition, token: Token, fetch: FetchSnapshot) -> None:
    """Rule 7; which snapshots there are, and how long they are, the disk knows."""
    state = transition.state
    numbers = (fetch.epoch, fetch.position, fetch.max_bytes, *_pair(fetch.snapshot_id))
    error = INVALID_REQUEST if min(numbers) < 0 else asked_error(state, fetch)
    reply = FetchSnapshotReply(
        error=error,
        leader_id=state.leader_id,
        leader_epoch=state.epoch,
        snapshot_id=fetch.snapshot_id,
        position=fetch.position,
    )
    if error != NONE:
        transition.emit(Answer(token, reply))
        return
    note_contact(transition, fetch.replica_id)
    transition.emit(AnswerSnapshot(token, fetch, reply))


def _pair(snapshot_id: SnapshotId) -> tuple[Offset, LeaderEpoch]:
    return snapshot_id.end_offset, snapshot_id.epoch


def answer_range(
    request: FetchSnapshot,
    reply: FetchSnapshotReply,
    size: int | None,
    read: Callable[[int, int], bytes],
) -> FetchSnapshotReply:
    """`reply` with the bytes asked for. `size`: the snapshot's, None where there is no such
    snapshot; `read(position, max_bytes)` gives a piece of it."""
    if size is None:
        return replace(reply, error=SNAPSHOT_NOT_FOUND)
    if request.position >= size:
        return replace(reply, error=POSITION_OUT_OF_RANGE, size=size)
    return replace(reply, size=size, data=read(request.position, max(1, request.max_bytes)))


# --- the follower -------------------------------------------------------------------------


def on_snapshot_reply(
    transition: Transition, peer: ReplicaId, request: FetchSnapshot, reply: FetchSnapshotReply
) -> None:
    """The next piece. Whatever another leader sent before is begun anew: two snapshots of one
    id need not be the same bytes."""
    state = transition.state
    if not _expected(state, peer, request):
        return
    download = Download(request.snapshot_id, request.position)
    if reply.error in (SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE):
        _set_download(transition, None)  # the leader has a newer one: the next fetch tells
        back_off(transition, peer, FetchSnapshot)
    elif reply.error != NONE or not reply.data:
        back_off(transition, peer, FetchSnapshot)
    elif wrong := _mismatch(download, reply):
        transition.emit(Fatal(f"leader {peer} of epoch {state.epoch} sent {wrong}"))
    else:
        extend(transition)
        transition.emit(StoreChunk(download.snapshot_id, download.position, reply.data))
        after = download.position + len(reply.data)
        _set_download(transition, replace(download, position=after))
        if after == reply.size:
            _install(transition, download.snapshot_id)


def _expected(state: RaftState, peer: ReplicaId, request: FetchSnapshot) -> bool:
    """Whether an answer to `request` is the one that the download waits for."""
    wanted = Download(request.snapshot_id, request.position)
    return (
        isinstance(state.role, Follower)
        and state.role.download == wanted
        and peer == state.leader_id
        and request.epoch == state.epoch
    )


def _mismatch(download: Download, reply: FetchSnapshotReply) -> str:
    if reply.snapshot_id != download.snapshot_id:
        return f"{reply.snapshot_id} instead of {download.snapshot_id}"
    if reply.position != download.position:
        return f"position {reply.position} of {download}"
    if reply.position + len(reply.data) > reply.size:
        return f"more than the {reply.size} bytes of {download}"
    return ""


def _set_download(transition: Transition, download: Download | None) -> None:
    assert isinstance(transition.state.role, Follower)
    transition.set(role=replace(transition.state.role, download=download))


def _install(transition: Transition, snapshot_id: SnapshotId) -> None:
    """All of it is here. The log is dropped: whatever it held below the snapshot's end is in
    there, and above it is of an older epoch than the snapshot's last record, so uncommitted."""
    state = transition.state
    _set_download(transition, None)
    transition.set(
        log=restarted(snapshot_id),
        high_watermark=snapshot_id.end_offset,
        truncations=state.truncations + 1,
    )
    transition.emit(InstallSnapshot(snapshot_id))
    transition.emit(Advanced(snapshot_id.end_offset))
