"""Replication by Fetch (KIP-595): followers ask from their log's end on, leaders answer."""

from dataclasses import replace
from typing import Final

from nodes.kraft.raft.barrier import start_round
from nodes.kraft.raft.log_index import NO_SNAPSHOT, LogIndex
from nodes.kraft.raft.messages import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
    Batch,
    Fetch,
    FetchReply,
    FetchSnapshot,
    SnapshotId,
)
from nodes.kraft.raft.sending import back_off
from nodes.kraft.raft.state import (
    NEVER,
    Download,
    Follower,
    Leader,
    Parked,
    Progress,
    RaftState,
    Turn,
    Unattached,
)
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerFetch,
    Append,
    Claimed,
    Fatal,
    Flush,
    Flushed,
    Propose,
    Token,
    Truncate,
)
from nodes.kraft.raft.transitions import extend, resign

MAX_OBSERVERS: Final = 1000
"""How many observers a leader knows of; of more, those that asked last."""

# --- the leader ---------------------------------------------------------------------------


def on_fetch(turn: Turn, token: Token, fetch: Fetch) -> None:
    """Rules 7-10."""
    error = _fetch_error(turn.state, fetch)
    if error != NONE:
        turn.emit(Answer(token, _reply(turn.state, error)))
        return
    log = turn.state.log
    if needs_snapshot(log, fetch.offset, fetch.last_epoch):
        turn.emit(Answer(token, replace(_reply(turn.state), snapshot_id=log.snapshot)))
        return
    epoch, end = log.end_of_epoch(fetch.last_epoch)
    if epoch != fetch.last_epoch or end < fetch.offset:
        turn.emit(Answer(token, replace(_reply(turn.state), diverging=(epoch, end))))
        return
    _note_progress(turn, fetch)
    advance(turn)
    _answer_or_park(turn, token, fetch)


def needs_snapshot(log: LogIndex, offset: int, last_epoch: int) -> bool:
    """Rule 8: whether a log that ends at (`last_epoch`, `offset`) cannot be continued from this
    one, which begins with a snapshot."""
    snapshot = log.snapshot
    return snapshot != NO_SNAPSHOT and (
        offset < snapshot.end_offset
        or (offset == snapshot.end_offset and last_epoch != snapshot.epoch)
        or last_epoch < snapshot.epoch
    )


def _fetch_error(state: RaftState, fetch: Fetch) -> int:
    numbers = (fetch.max_wait_ms, fetch.offset, fetch.epoch, fetch.last_epoch)
    if min(numbers) < 0 or fetch.last_epoch > fetch.epoch:
        return INVALID_REQUEST
    return asked_error(state, fetch)


def asked_error(state: RaftState, request: Fetch | FetchSnapshot) -> int:
    """Rule 7: why this replica gives nothing of its log for `request`; `NONE` if it does."""
    if request.replica_id < 0 or request.replica_id == state.config.node_id:
        return INVALID_REQUEST
    if state.stopping:
        return BROKER_NOT_AVAILABLE
    if request.epoch < state.epoch:
        return FENCED_LEADER_EPOCH
    if request.epoch > state.epoch:
        return UNKNOWN_LEADER_EPOCH
    return NONE if isinstance(state.role, Leader) else NOT_LEADER_OR_FOLLOWER


def _reply(state: RaftState, error: int = NONE) -> FetchReply:
    return FetchReply(
        error=error,
        leader_id=state.leader_id,
        leader_epoch=state.epoch,
        high_watermark=state.high_watermark if error == NONE else -1,
        log_start=state.log.start_offset,
    )


def _leader(turn: Turn) -> Leader:
    assert isinstance(turn.state.role, Leader)
    return turn.state.role


def _note_progress(turn: Turn, fetch: Fetch) -> None:
    """Rule 9: a valid fetch says that the voter has everything below its offset on disk."""
    role, now, log_end = _leader(turn), turn.now_ms, turn.state.log.end_offset
    voter = fetch.replica_id in role.progress
    before = (role.progress if voter else role.observers).get(fetch.replica_id)
    caught_up = before.caught_up_ms if before else None
    if fetch.offset >= log_end:
        caught_up = now
    elif before and before.fetched_ms is not None and fetch.offset >= before.log_end:
        caught_up = before.fetched_ms
    after = Progress(fetch.offset, now, now, log_end, caught_up)
    if voter:
        turn.set(role=replace(role, progress=role.progress.set(fetch.replica_id, after)))
    else:
        turn.set(role=_with_observer(role, fetch.replica_id, after))


def _with_observer(role: Leader, replica_id: int, progress: Progress) -> Leader:
    observers, told = role.observers.set(replica_id, progress), role.told
    if len(observers) > MAX_OBSERVERS:
        silent = min(observers, key=lambda each: observers[each].contact_ms)
        observers = observers.delete(silent)
        told = told.delete(silent) if silent in told else told
    return replace(role, observers=observers, told=told)


def note_contact(turn: Turn, replica_id: int) -> None:
    """A voter that fetches a snapshot follows this leader, though it has no records to show."""
    role = _leader(turn)
    if replica_id in role.progress:
        progress = replace(role.progress[replica_id], contact_ms=turn.now_ms)
        turn.set(role=replace(role, progress=role.progress.set(replica_id, progress)))


def advance(turn: Turn) -> None:
    """Rule 13: the high watermark is what a majority has, once that includes a record of this
    epoch. Parked fetches take the news to the replicas at once."""
    state, role = turn.state, _leader(turn)
    committed = majority_offset(state, role)
    if committed <= max(state.high_watermark, role.start_offset):
        return
    turn.set(high_watermark=committed)
    turn.emit(Advanced(committed))
    if not role.claimed:
        turn.set(role=replace(role, claimed=True))
        turn.emit(Claimed(state.epoch, committed))
        start_round(turn)
    _answer_parked(turn)


def majority_offset(state: RaftState, role: Leader) -> int:
    """The largest offset below which a majority of voters has everything on disk."""
    offsets = [state.log.flushed, *(progress.offset for progress in role.progress.values())]
    return sorted(offsets, reverse=True)[state.config.majority - 1]


def _answer_or_park(turn: Turn, token: Token, fetch: Fetch) -> None:
    state, role = turn.state, _leader(turn)
    told = role.told.get(fetch.replica_id, -1)
    news = fetch.offset < state.log.end_offset or told < state.high_watermark
    if news or fetch.max_wait_ms == 0:
        _answer_fetch(turn, token, fetch)
        return
    # One of the same replica may be parked already. It stays: were it answered, two processes of
    # one id would drive each other out as fast as they can ask.
    wait_ms = min(fetch.max_wait_ms, state.config.request_timeout_ms)
    parked = Parked(token, fetch, _reply(state), turn.now_ms + wait_ms)
    turn.set(role=replace(role, parked=(*role.parked, parked)))


def _answer_fetch(turn: Turn, token: Token, fetch: Fetch) -> None:
    state, role = turn.state, _leader(turn)
    told = role.told.set(fetch.replica_id, state.high_watermark)
    turn.set(role=replace(role, told=told))
    reply, end = _reply(state), state.log.end_offset
    if fetch.offset < end:
        turn.emit(AnswerFetch(token, fetch, reply, end))
    else:
        turn.emit(Answer(token, reply))


def _answer_parked(turn: Turn) -> None:
    role = _leader(turn)
    turn.set(role=replace(role, parked=()))
    for parked in role.parked:
        _answer_fetch(turn, parked.token, parked.request)


def on_propose(turn: Turn, propose: Propose) -> None:
    """Append for the state machine of the leader, which may act from `Claimed` on."""
    state = turn.state
    led = isinstance(state.role, Leader) and state.role.claimed and state.epoch == propose.epoch
    if led and propose.records:
        batch = Batch(state.log.end_offset, state.epoch, propose.records)
        turn.set(log=state.log.append(batch))
        turn.emit(Append(batch))
        _answer_parked(turn)


def on_leader_timers(turn: Turn) -> None:
    """Expired fetches, and rule 15: a leader that no majority fetches from resigns."""
    role = turn.state.role
    if not isinstance(role, Leader):
        return
    if turn.now_ms >= quorum_deadline(turn.state, role):
        resign(turn, "no majority of the voters fetches")
        return
    expired = [parked for parked in role.parked if turn.now_ms >= parked.deadline_ms]
    if expired:
        left = tuple(parked for parked in role.parked if parked not in expired)
        turn.set(role=replace(role, parked=left))
        for parked in expired:
            turn.emit(Answer(parked.token, parked.reply))


def quorum_deadline(state: RaftState, role: Leader) -> int:
    """When the leader has lost its majority, unless fetches come."""
    others_needed = state.config.majority - 1
    if others_needed == 0:
        return NEVER
    latest = sorted((progress.contact_ms for progress in role.progress.values()), reverse=True)
    return latest[others_needed - 1] + state.config.check_quorum_ms


# --- the follower -------------------------------------------------------------------------


def on_fetch_reply(turn: Turn, peer: int, request: Fetch, reply: FetchReply) -> None:
    """Rules 11 and 12. `reply` is of the current epoch, and answers the outstanding fetch."""
    state = turn.state
    answered = (
        reply.error == NONE
        and peer == state.leader_id
        and isinstance(state.role, Follower)
        and (request.epoch, request.offset, request.last_epoch)
        == (state.epoch, state.log.end_offset, state.log.last_epoch)
    )
    if not answered:
        on_failed_fetch(turn, peer)
    elif reply.diverging is not None:
        extend(turn)
        _truncate(turn, *reply.diverging)
    elif reply.snapshot_id is not None:
        extend(turn)
        _begin_download(turn, reply.snapshot_id)
    elif _append_all(turn, reply.batches):
        extend(turn)
        _follow_high_watermark(turn, reply.high_watermark)
    else:
        back_off(turn, peer, Fetch)


def on_failed_fetch(turn: Turn, peer: int) -> None:
    """Retry a little later; an observer without a leader asks the next voter."""
    back_off(turn, peer, Fetch)
    if isinstance(turn.state.role, Unattached) and not turn.state.config.is_voter:
        back_off(turn, _turn_to_next_voter(turn), Fetch)


def lose_contact(turn: Turn) -> None:
    """An observer's leader does not answer: ask the voters in turn who leads now."""
    if not turn.state.config.is_voter and isinstance(turn.state.role, Follower):
        turn.set(role=Unattached(NEVER))
        _turn_to_next_voter(turn)


def _turn_to_next_voter(turn: Turn) -> int:
    """The next voter to ask: not the one that was lost, nor one that owes an answer, where
    there is another. If the leader is back, the others say so."""
    voters, links = turn.state.config.voters, turn.state.links
    asked = turn.state.asked_in_turn
    for ahead in range(1, len(voters) + 1):
        peer = voters[(asked + ahead) % len(voters)]
        link = links.get((peer, Fetch))
        if peer != turn.state.leader_id and (link is None or link.outstanding is None):
            break
    turn.set(asked_in_turn=(asked + ahead) % len(voters))
    return peer


def _begin_download(turn: Turn, snapshot_id: SnapshotId) -> None:
    """Rule 8: the leader's log does not reach back to the end of this one."""
    state = turn.state
    assert isinstance(state.role, Follower)
    if snapshot_id.end_offset <= state.high_watermark:
        leader = f"leader {state.leader_id} of epoch {state.epoch}"
        turn.emit(Fatal(f"{leader} has {snapshot_id} for a high watermark it should continue"))
        return
    turn.set(role=replace(state.role, download=Download(snapshot_id)))


def _truncate(turn: Turn, epoch: int, end_offset: int) -> None:
    """Rule 11. Where this log lacks `epoch`, it is cut after the epoch before, and the next
    fetch compares that: `end_offset` may lie inside a batch of it, and batches die whole."""
    state = turn.state
    found, own_end = state.log.end_of_epoch(epoch)
    end = min(own_end, end_offset) if found == epoch else own_end
    if end < state.high_watermark or epoch < state.log.snapshot.epoch:
        leader = f"leader {state.leader_id} of epoch {state.epoch}"
        turn.emit(Fatal(f"{leader} diverges at {end}, below the high watermark"))
        return
    turn.set(log=state.log.truncate(end), truncations=state.truncations + 1)
    turn.emit(Truncate(end))


def _append_all(turn: Turn, batches: tuple[Batch, ...]) -> bool:
    """Append what the leader sent. False, and nothing appended, where it does not fit."""
    log, epoch = turn.state.log, turn.state.epoch
    try:
        for batch in batches:
            log = log.append(batch)
    except ValueError:
        return False
    if log.last_epoch > epoch or any(not batch.records for batch in batches):
        return False
    turn.set(log=log)
    for batch in batches:
        turn.emit(Append(batch))
    return True


def _follow_high_watermark(turn: Turn, high_watermark: int) -> None:
    """Never back (rule 12), and never beyond the own log's end."""
    state = turn.state
    committed = min(high_watermark, state.log.end_offset)
    if committed > state.high_watermark:
        turn.set(high_watermark=committed)
        turn.emit(Advanced(committed))


# --- both ---------------------------------------------------------------------------------


def on_flushed(turn: Turn, flushed: Flushed) -> None:
    state = turn.state
    turn.set(flushing=False)
    if flushed.truncations == state.truncations:
        turn.set(log=state.log.flush(flushed.end_offset))
        if isinstance(state.role, Leader):
            advance(turn)


def flush_due(turn: Turn) -> None:
    """Start a flush where a voter has records that are not durable; one at a time."""
    state = turn.state
    if state.config.is_voter and not state.flushing and state.log.flushed < state.log.end_offset:
        turn.set(flushing=True)
        turn.emit(Flush(state.log.end_offset, state.truncations))
