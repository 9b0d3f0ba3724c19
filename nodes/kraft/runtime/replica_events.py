"""What a replica writes into the event log of votes and fetches that it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nodes.kraft.ids import ReplicaId
from nodes.kraft.raft import messages
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.state import Leader, QuorumState, RaftState


def emit_role(emit: Callable[..., None], before: RaftState, after: RaftState) -> None:
    """`role`, where role, epoch or known leader changed."""
    was = (before.role_name, before.epoch, before.leader_id)
    if was != (after.role_name, after.epoch, after.leader_id):
        emit("role", role=after.role_name, epoch=after.epoch, leader_id=after.leader_id)


def emit_answer(
    emit: Callable[..., None],
    state: RaftState,
    request: messages.Request,
    reply: messages.Reply,
) -> None:
    """`vote` of a Vote, though not of a PreVote, which binds nobody; `fetch_in` of a fetch that
    a leader answers with anything but records, or that there are none."""
    match request, reply:
        case messages.Vote(pre=False), messages.VoteReply():
            _vote(emit, state.log, request, reply)
        case messages.Fetch(), messages.FetchReply() if isinstance(state.role, Leader):
            _fetch(emit, request, reply)


def _vote(
    emit: Callable[..., None], log: LogIndex, asked: messages.Vote, reply: messages.VoteReply
) -> None:
    emit(
        "vote",
        epoch=asked.candidate_epoch,
        candidate_id=asked.candidate_id,
        granted=reply.granted,
        candidate_last=[asked.last_epoch, asked.last_offset],
        own_last=[log.last_epoch, log.end_offset],
        error=reply.error,
    )


def _fetch(emit: Callable[..., None], asked: messages.Fetch, reply: messages.FetchReply) -> None:
    if reply.error:
        kind = "error"
    elif reply.diverging is not None:
        kind = "diverging"
    elif reply.snapshot_id is not None:
        kind = "snapshot"
    else:
        return
    emit(
        "fetch_in",
        peer=asked.replica_id,
        epoch=asked.epoch,
        offset=asked.offset,
        last_epoch=asked.last_epoch,
        answer=kind,
        error=reply.error,
    )


def boot_fields(
    log: LogIndex, saved: QuorumState | None, voters: tuple[ReplicaId, ...]
) -> Mapping[str, object]:
    """What recovery found, for the boot event."""
    return {
        "quorum": None
        if saved is None
        else {"epoch": saved.epoch, "leader_id": saved.leader_id, "voted_id": saved.voted_id},
        "log_start": log.start_offset,
        "log_end": log.end_offset,
        "last_epoch": log.last_epoch,
        "voters": list(voters),
    }
