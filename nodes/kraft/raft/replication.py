"""Replication by Fetch (KIP-595): followers ask from their log's end on, leaders answer."""

from dataclasses import replace
from typing import Final

from nodes.kraft.ids import NO_OFFSET, LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.barrier import start_round
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NO_SNAPSHOT,
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
    Transition,
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


def on_fetch(transition: Transition, token: Token, fetch: Fetch) -> None:
    """Rules 7-10."""
    error = _fetch_error(transition.state, fetch)
    if error != NONE:
        transition.emit(Answer(token, _reply(transition.state, error)))
        return
    log = transition.state.log
    if needs_snapshot(log, fetch.offset, fetch.last_epoch):
        transition.emit(Answer(token, replace(_reply(transition.state), snapshot_id=log.snapshot)))
        return
    epoch, end = log.end_of_epoch(fetch.last_epoch)
    if epoch != fetch.last_epoch or end < fetch.offset:
        transition.emit(Answer(token, replace(_reply(transition.state), diverging=(epoch, end))))
        return
    _note_progress(transition, fetch)
    advance(transition)
    _answer_or_park(transition, token, fetch)


def needs_snapshot(log: LogIndex, offset: Offset, last_epoch: LeaderEpoch) -> bool:
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
        high_watermark=state.high_watermark if error == NONE else NO_OFFSET,
        log_start=state.log.start_offset,
    )


def _leader(transition: Transition) -> Leader:
    assert isinstance(transition.state.role, Leader)
    return transition.state.role


def _note_progress(transition: Transition, fetch: Fetch) -> None:
    """Rule 9: a valid fetch says that the voter has everything below its offset on disk."""
    role, now, log_end = _leader(transition), transition.now_ms, transition.state.log.end_offset
    voter = fetch.replica_id in role.progress
    before = (role.progress if voter else role.observers).get(fetch.replica_id)
    caught_up = before.caught_up_ms if before else None
    if fetch.offset >= log_end:
        caught_up = now
    elif before and before.fetched_ms is not None and fetch.offset >= before.log_end:
        caught_up = before.fetched_ms
    after = Progress(fetch.offset, now, now, log_end, caught_up)
    if voter:
        transition.set(role=replace(role, progress=role.progress.set(fetch.replica_id, after)))
    else:
        transition.set(role=_with_observer(role, fetch.replica_id, after))


def _with_observer(role: Leader, replica_id: ReplicaId, progress: Progress) -> Leader:
    observers, sent = role.observers.set(replica_id, progress), role.sent_watermarks
    if len(observers) > MAX_OBSERVERS:
        silent = min(observers, key=lambda each: observers[each].contact_ms)
        observers = observers.delete(silent)
        sent = sent.delete(silent) if silent in sent else sent
    return replace(role, observers=observers, sent_watermarks=sent)


def note_contact(transition: Transition, replica_id: ReplicaId) -> None:
    """A voter that fetches a snapshot follows this leader, though it has no records to show."""
    role = _leader(transition)
    if replica_id in role.progress:
        progress = replace(role.progress[replica_id], contact_ms=transition.now_ms)
        transition.set(role=replace(role, progress=role.progress.set(replica_id, progress)))


def advance(transition: Transition) -> None:
    """Rule 13: the high watermark is what a majority has, once that includes a record of this
    epoch. Parked fetches take the news to the replicas at once."""
    state, role = transition.state, _leader(transition)
    committed = majority_offset(state, role)
    if committed <= max(state.high_watermark, role.start_offset):
        return
    transition.set(high_watermark=committed)
    transition.emit(Advanced(committed))
    if not role.claimed:
        transition.set(role=replace(role, claimed=True))
        transition.emit(Claimed(state.epoch, committed))
        start_round(transition)
    _answer_parked(transition)


def majority_offset(state: RaftState, role: Leader) -> Offset:
    """The largest offset below which a majority of voters has everything on disk."""
    offsets = [state.log.flushed, *(progress.offset for progress in role.progress.values())]
    return sorted(offsets, reverse=True)[state.config.majority - 1]


def _answer_or_park(transition: Transition, token: Token, fetch: Fetch) -> None:
    state, role = transition.state, _leader(transition)
    sent = role.sent_watermarks.get(fetch.replica_id, -1)
    news = fetch.offset < state.log.end_offset or sent < state.high_watermark
    if news or fetch.max_wait_ms == 0:
        _answer_fetch(transition, token, fetch)
        return
    # One of the same replica may be parked already. It stays: were it answered, two processes of
    # one id would drive each other out as fast as they can ask.
    wait_ms = min(fetch.max_wait_ms, state.config.request_timeout_ms)
    parked = Parked(token, fetch, _reply(state), transition.now_ms + wait_ms)
    transition.set(role=replace(role, parked=(*role.parked, parked)))


def _answer_fetch(transition: Transition, token: Token, fetch: Fetch) -> None:
    state, role = transition.state, _leader(transition)
    sent = role.sent_watermarks.set(fetch.replica_id, state.high_watermark)
    transition.set(role=replace(role, sent_watermarks=sent))
    reply, end = _reply(state), state.log.end_offset
    if fetch.offset < end:
        transition.emit(AnswerFetch(token, fetch, reply, end))
    else:
        transition.emit(Answer(token, reply))


def _answer_parked(transition: Transition) -> None:
    role = _leader(transition)
    transition.set(role=replace(role, parked=()))
    for parked in role.parked:
        _answer_fetch(transition, parked.token, parked.request)


def on_propose(transition: Transition, propose: Propose) -> None:
    """Append for the state machine of the leader, which may act from `Claimed` on."""
    state = transition.state
    led = isinstance(state.role, Leader) and state.role.claimed and state.epoch == propose.epoch
    if led and propose.records:
        batch = Batch(state.log.end_offset, state.epoch, propose.records)
        transition.set(log=state.log.append(batch))
        transition.emit(Append(batch))
        _answer_parked(transition)


def on_leader_timers(transition: Transition) -> None:
    """Expired fetches, and rule 15: a leader that no majority fetches from resigns."""
    role = transition.state.role
    if not isinstance(role, Leader):
        return
    if transition.now_ms >= quorum_deadline(transition.state, role):
        resign(transition, "no majority of the voters fetches")
        return
    expired = [parked for parked in role.parked if transition.now_ms >= parked.deadline_ms]
    if expired:
        left = tuple(parked for parked in role.parked if parked not in expired)
        transition.set(role=replace(role, parked=left))
        for parked in expired:
            transition.emit(Answer(parked.token, parked.reply))


def quorum_deadline(state: RaftState, role: Leader) -> int:
    """When the leader has lost its majority, unless fetches come."""
    others_needed = state.config.majority - 1
    if others_needed == 0:
        return NEVER
    latest = sorted((progress.contact_ms for progress in role.progress.values()), reverse=True)
    return latest[others_needed - 1] + state.config.check_quorum_ms


# --- the follower -------------------------------------------------------------------------


def on_fetch_reply(
    transition: Transition, peer: ReplicaId, request: Fetch, reply: FetchReply
) -> None:
    """Rules 11 and 12. `reply` is of the current epoch, and answers the outstanding fetch."""
    state = transition.state
    answered = (
        reply.error == NONE
        and peer == state.leader_id
        and isinstance(state.role, Follower)
        and (request.epoch, request.offset, request.last_epoch)
        == (state.epoch, state.log.end_offset, state.log.last_epoch)
    )
    if not answered:
        on_failed_fetch(transition, peer)
    elif reply.diverging is not None:
        extend(transition)
        _truncate(transition, *reply.diverging)
    elif reply.snapshot_id is not None:
        extend(transition)
        _begin_download(transition, reply.snapshot_id)
    elif _append_all(transition, reply.batches):
        extend(transition)
        _follow_high_watermark(transition, reply.high_watermark)
    else:
        back_off(transition, peer, Fetch)


def on_failed_fetch(transition: Transition, peer: ReplicaId) -> None:
    """Retry a little later; an observer without a leader asks the next voter."""
    back_off(transition, peer, Fetch)
    if isinstance(transition.state.role, Unattached) and not transition.state.config.is_voter:
        back_off(transition, _turn_to_next_voter(transition), Fetch)


def lose_contact(transition: Transition) -> None:
    """An observer's leader does not answer: ask the voters in turn who leads now."""
    if not transition.state.config.is_voter and isinstance(transition.state.role, Follower):
        transition.set(role=Unattached(NEVER))
        _turn_to_next_voter(transition)


def _turn_to_next_voter(transition: Transition) -> ReplicaId:
    """The next voter to ask: not the one that was lost, nor one that owes an answer, where
    there is another. If the leader is back, the others say so."""
    voters, links = transition.state.config.voters, transition.state.links
    asked = transition.state.asked_in_turn
    for ahead in range(1, len(voters) + 1):
        peer = voters[(asked + ahead) % len(voters)]
        link = links.get((peer, Fetch))
        if peer != transition.state.leader_id and (link is None or link.outstanding is None):
            break
    transition.set(asked_in_turn=(asked + ahead) % len(voters))
    return peer


def _begin_download(transition: Transition, snapshot_id: SnapshotId) -> None:
    """Rule 8: the leader's log does not reach back to the end of this one."""
    state = transition.state
    assert isinstance(state.role, Follower)
    if snapshot_id.end_offset <= state.high_watermark:
        leader = f"leader {state.leader_id} of epoch {state.epoch}"
        transition.emit(
            Fatal(f"{leader} has {snapshot_id} for a high watermark it should continue")
        )
        return
    transition.set(role=replace(state.role, download=Download(snapshot_id)))


def _truncate(transition: Transition, epoch: LeaderEpoch, end_offset: Offset) -> None:
    """Rule 11. Where this log lacks `epoch`, it is cut after the epoch before, and the next
    fetch compares that: `end_offset` may lie inside a batch of it, and batches die whole."""
    state = transition.state
    found, own_end = state.log.end_of_epoch(epoch)
    end = min(own_end, end_offset) if found == epoch else own_end
    if end < state.high_watermark or epoch < state.log.snapshot.epoch:
        leader = f"leader {state.leader_id} of epoch {state.epoch}"
        transition.emit(Fatal(f"{leader} diverges at {end}, below the high watermark"))
        return
    transition.set(log=state.log.truncate(end), truncations=state.truncations + 1)
    transition.emit(Truncate(end))


def _append_all(transition: Transition, batches: tuple[Batch, ...]) -> bool:
    """Append what the leader sent. False, and nothing appended, where it does not fit."""
    log, epoch = transition.state.log, transition.state.epoch
    try:
        for batch in batches:
            log = log.append(batch)
    except ValueError:
        return False
    if log.last_epoch > epoch or any(not batch.records for batch in batches):
        return False
    transition.set(log=log)
    for batch in batches:
        transition.emit(Append(batch))
    return True


def _follow_high_watermark(transition: Transition, high_watermark: Offset) -> None:
    """Never back (rule 12), and never beyond the own log's end."""
    state = transition.state
    committed = min(high_watermark, state.log.end_offset)
    if committed > state.high_watermark:
        transition.set(high_watermark=committed)
        transition.emit(Advanced(committed))


# --- both ---------------------------------------------------------------------------------


def on_flushed(transition: Transition, flushed: Flushed) -> None:
    state = transition.state
    transition.set(flushing=False)
    if flushed.truncations == state.truncations:
        transition.set(log=state.log.flush(flushed.end_offset))
        if isinstance(state.role, Leader):
            advance(transition)


def flush_due(transition: Transition) -> None:
    """Start a flush where a voter has records that are not durable; one at a time."""
    state = transition.state
    if state.config.is_voter and not state.flushing and state.log.flushed < state.log.end_offset:
        transition.set(flushing=True)
        transition.emit(Flush(state.log.end_offset, state.truncations))
