"""The leader of a partition: appends, its followers' progress, the high watermark, where the log
begins, the ISR.

KIP-107 (DeleteRecords), KIP-497 (AlterPartition), KIP-841 and KIP-903 (broker epochs of joining
members); Kafka's `Partition`. While a proposal is with the controller, the high watermark needs the
maximal ISR, old and proposed members together: whichever set the controller chose, all of it has
what is below.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kio.schema.errors import ErrorCode

from nodes.kraft.ids import LOG_START, BrokerEpoch, BrokerId, LeaderEpoch, Offset
from nodes.kraft.partition import epochs, producers
from nodes.kraft.partition.batches import placed
from nodes.kraft.partition.state import (
    UNKNOWN,
    Absent,
    Deleting,
    Leading,
    PartitionState,
    Progress,
    Proposal,
    ReplicaConfig,
    Waiting,
)
from nodes.kraft.partition.steps import (
    ALL,
    Answer,
    Append,
    Deleted,
    DeleteRecords,
    Effect,
    Fetched,
    IsrAnswered,
    Produce,
    Propose,
    SaveStart,
    Tick,
)

_REVOKED: Final = (ErrorCode.ineligible_replica, ErrorCode.operation_not_attempted)
"""Answers after which the ISR is as it was. After any other refusal the metadata knows more
than we do, and until it is here what we proposed may be the ISR."""


# --- produce ------------------------------------------------------------------------------


def produce(
    state: PartitionState, event: Produce, now_ms: int
) -> tuple[PartitionState, list[Effect]]:
    """Append a producer's batch, or say why not."""
    role = state.role
    if not isinstance(role, Leading):
        return state, [Answer(event.token, ErrorCode.not_leader_or_follower)]
    if event.acks == ALL and len(role.isr) < event.min_isr:
        return state, [Answer(event.token, ErrorCode.not_enough_replicas)]
    verdict = producers.check(state.log.producers, event.batch)
    if verdict.code != ErrorCode.none:
        return state, [Answer(event.token, verdict.code)]
    effects: list[Effect] = []
    if verdict.written is not None:
        base_offset, end_offset = verdict.written.base_offset, verdict.written.end_offset
    else:
        batch = placed(event.batch, state.log.end_offset, role.leader_epoch)
        role = _had_all(role, state.log.end_offset, now_ms)
        state = replace(state, log=state.log.append(batch), role=role)
        effects.append(Append(batch, leader=True))
        base_offset, end_offset = batch.base_offset, batch.end_offset
    if event.acks != ALL:
        effects.append(Answer(event.token, ErrorCode.none, base_offset, appended=True))
    else:
        waits = Waiting(event.token, base_offset, end_offset, event.min_isr, event.deadline_ms)
        state = replace(state, role=replace(role, waiting=(*role.waiting, waits)))
    state, advanced = advance(state)
    return state, effects + advanced


def _had_all(role: Leading, end_offset: Offset, now_ms: int) -> Leading:
    """Before the log grows: who had all of it was caught up until now, however long ago that
    was asked for last."""
    for replica, progress in role.followers.items():
        if progress.end_offset == end_offset:
            caught_up = replace(progress, caught_up_ms=now_ms)
            role = replace(role, followers=role.followers.set(replica, caught_up))
    return role


def advance(state: PartitionState) -> tuple[PartitionState, list[Effect]]:
    """Raise the high watermark to what the maximal ISR has, and answer whom it reaches, or whom
    the log's beginning does."""
    role = state.role
    assert isinstance(role, Leading)
    reached = state.log.end_offset
    for replica in role.maximal_isr:
        progress = role.followers.get(replica)
        if progress is not None:  # the leader itself is none of its followers
            reached = min(reached, progress.end_offset)
    if reached > state.high_watermark:
        state = replace(state, high_watermark=reached)
    effects: list[Effect] = []
    if role.waiting:
        state, effects = _reached(state, role)
    if role.deleting:
        state, deleted = _begun(state)
        effects += deleted
    return state, effects


def _reached(state: PartitionState, role: Leading) -> tuple[PartitionState, list[Effect]]:
    """Answers to produces below the high watermark."""
    high_watermark, members = state.high_watermark, len(role.maximal_isr)
    effects: list[Effect] = []
    left = []
    for each in role.waiting:
        if each.end_offset > high_watermark:
            left.append(each)
            continue
        few = members < each.min_isr
        code = ErrorCode.not_enough_replicas_after_append if few else ErrorCode.none
        effects.append(Answer(each.token, code, each.base_offset, appended=True))
    if effects:
        state = replace(state, role=replace(role, waiting=tuple(left)))
    return state, effects


# --- where the log begins -----------------------------------------------------------------


def delete_records(
    state: PartitionState, event: DeleteRecords
) -> tuple[PartitionState, list[Effect]]:
    """Let the log begin later, or say why not. It is answered when all that are in sync have it on
    disk: whoever leads next begins there."""
    role = state.role
    if not isinstance(role, Leading):
        return state, [Deleted(event.token, ErrorCode.not_leader_or_follower)]
    offset = state.high_watermark if event.before == UNKNOWN else event.before
    if not LOG_START <= offset <= state.high_watermark:
        return state, [Deleted(event.token, ErrorCode.offset_out_of_range)]
    effects: list[Effect] = []
    if offset > state.log.start_offset:
        state = replace(state, log=state.log.begin_at(offset))
        effects.append(SaveStart(offset))
    waits = Deleting(event.token, offset, event.deadline_ms)
    state = replace(state, role=replace(role, deleting=(*role.deleting, waits)))
    state, answers = advance(state)
    return state, effects + answers


def low_watermark(state: PartitionState) -> Offset:
    """Where the log begins on all of the maximal ISR, by what is on their disks."""
    role, lowest = state.role, state.saved_start
    assert isinstance(role, Leading)
    for replica in role.maximal_isr:
        progress = role.followers.get(replica)
        if progress is not None:
            lowest = min(lowest, progress.start_offset)
    return lowest


def _begun(state: PartitionState) -> tuple[PartitionState, list[Effect]]:
    """Answers to those whom the low watermark has reached."""
    role, lowest = state.role, low_watermark(state)
    assert isinstance(role, Leading)
    left = tuple(each for each in role.deleting if each.offset > lowest)
    answers: list[Effect] = [
        Deleted(each.token, ErrorCode.none, lowest)
        for each in role.deleting
        if each.offset <= lowest
    ]
    return replace(state, role=replace(role, deleting=left)), answers


# --- followers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """A fetch: refused with `code`; or `diverging` (epoch, end offset) tells the follower where
    its log went another way; or neither, and it may read."""

    code: ErrorCode = ErrorCode.none
    diverging: tuple[LeaderEpoch, Offset] | None = None


VALID: Final = Judged()


def check_epoch(state: PartitionState, leader_epoch: LeaderEpoch) -> ErrorCode:
    """Whether a request that names `leader_epoch` (-1: none) is for the leader of now."""
    role = state.role
    if not isinstance(role, Leading):
        return ErrorCode.not_leader_or_follower
    if leader_epoch == UNKNOWN or leader_epoch == role.leader_epoch:
        return ErrorCode.none
    older = leader_epoch < role.leader_epoch
    return ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch


def judge(
    state: PartitionState, leader_epoch: LeaderEpoch, offset: Offset, last_epoch: LeaderEpoch
) -> Judged:
    """Whether a fetch from `offset` by one whose last record is of `last_epoch` (-1: it does
    not say) continues this log (KIP-595; the same for data since Fetch v12)."""
    code = check_epoch(state, leader_epoch)
    if code != ErrorCode.none:
        return Judged(code)
    log = state.log
    if last_epoch >= 0:
        epoch, end = epochs.end_offset_for(log.epochs, last_epoch, log.end_offset)
        if epoch != last_epoch or end < offset:
            return Judged(diverging=(epoch, end))
    if not log.start_offset <= offset <= log.end_offset:
        return Judged(ErrorCode.offset_out_of_range)
    return VALID


def judge_anywhere(state: PartitionState, offset: Offset) -> Judged:
    """Whether a replica, whoever leads, can be read at `offset`: for those who compare replicas."""
    if isinstance(state.role, Absent):
        return Judged(ErrorCode.not_leader_or_follower)
    if not state.log.start_offset <= offset <= state.log.end_offset:
        return Judged(ErrorCode.offset_out_of_range)
    return VALID


def check_replica(state: PartitionState, event: Fetched) -> ErrorCode:
    """Whether a follower's fetch counts: one of a process that has a successor does not."""
    role = state.role
    if not isinstance(role, Leading) or event.replica_id not in role.followers:
        return ErrorCode.not_leader_or_follower
    known = max(role.followers[event.replica_id].broker_epoch, event.registered)
    return ErrorCode.stale_broker_epoch if event.broker_epoch < known else ErrorCode.none


def fetched(
    state: PartitionState, event: Fetched, now_ms: int
) -> tuple[PartitionState, list[Effect]]:
    """Note a follower's progress. It may move the high watermark, or join the ISR."""
    role = state.role
    if not isinstance(role, Leading) or check_replica(state, event) != ErrorCode.none:
        return state, []
    end = state.log.end_offset
    before = role.followers[event.replica_id]
    caught_up_ms = before.caught_up_ms
    if event.offset >= end:
        caught_up_ms = now_ms
    elif event.offset >= before.leader_end and before.end_offset != UNKNOWN:
        caught_up_ms = max(caught_up_ms, before.fetched_ms)
    progress = Progress(
        event.offset, caught_up_ms, now_ms, end, event.broker_epoch, event.start_offset
    )
    role = replace(role, followers=role.followers.set(event.replica_id, progress))
    state, effects = advance(replace(state, role=role))
    state, proposed = _expand(state, {event.replica_id: event.registered} if event.active else {})
    return state, effects + proposed


def _expand(
    state: PartitionState, active: Mapping[int, int]
) -> tuple[PartitionState, list[Effect]]:
    """Propose the followers that have come up to the high watermark, in this epoch, begin where
    this log begins, and are the processes that are registered and `active` (broker to epoch)."""
    role = state.role
    assert isinstance(role, Leading)
    if role.pending is not None:
        return state, []
    joining = {
        replica: progress.broker_epoch
        for replica, progress in role.followers.items()
        if replica not in role.isr
        and progress.end_offset >= max(state.high_watermark, role.start_offset)
        and progress.start_offset >= state.log.start_offset
        and active.get(replica) == progress.broker_epoch
    }
    if not joining:
        return state, []
    isr = tuple(each for each in role.replicas if each in role.isr or each in joining)
    return _propose(state, isr, tuple(sorted(joining.items())))


def tick(
    config: ReplicaConfig, state: PartitionState, event: Tick, now_ms: int
) -> tuple[PartitionState, list[Effect]]:
    """Answer whom time ran out for; propose an ISR without those that lag, or with those that
    have come up."""
    role = state.role
    if not isinstance(role, Leading):
        return state, []
    effects: list[Effect] = [
        Answer(each.token, ErrorCode.request_timed_out, each.base_offset, appended=True)
        for each in role.waiting
        if each.deadline_ms <= now_ms
    ]
    effects += [
        Deleted(each.token, ErrorCode.request_timed_out, low_watermark(state))
        for each in role.deleting
        if each.deadline_ms <= now_ms
    ]
    if effects:
        left = tuple(each for each in role.waiting if each.deadline_ms > now_ms)
        deleting = tuple(each for each in role.deleting if each.deadline_ms > now_ms)
        role = replace(role, waiting=left, deleting=deleting)
        state = replace(state, role=role)
    gone = {
        replica
        for replica in role.isr
        if replica in role.followers and _lags(config, state, role.followers[replica], now_ms)
    }
    if role.pending is None and gone:
        isr = tuple(replica for replica in role.isr if replica not in gone)
        state, proposed = _propose(state, isr, ())
    else:
        state, proposed = _expand(state, event.active)
    return state, effects + proposed


def _lags(config: ReplicaConfig, state: PartitionState, progress: Progress, now_ms: int) -> bool:
    """Not at the end, and was not there for too long."""
    late = now_ms - progress.caught_up_ms > config.lag_max_ms
    return late and progress.end_offset != state.log.end_offset


def proposes(state: PartitionState) -> bool:
    """Whether an ISR is with the controller."""
    return isinstance(state.role, Leading) and state.role.pending is not None


def waited_for(state: PartitionState) -> bool:
    """Whether anybody waits for an answer."""
    role = state.role
    return isinstance(role, Leading) and bool(role.waiting or role.deleting)


def lagging(state: PartitionState) -> bool:
    """Whether a member of the ISR is not at the end."""
    role = state.role
    if not isinstance(role, Leading):
        return False
    end = state.log.end_offset
    return any(
        replica in role.followers and role.followers[replica].end_offset != end
        for replica in role.isr
    )


# --- the ISR ------------------------------------------------------------------------------


def _propose(
    state: PartitionState,
    isr: tuple[BrokerId, ...],
    joining: tuple[tuple[BrokerId, BrokerEpoch], ...],
) -> tuple[PartitionState, list[Effect]]:
    role = state.role
    assert isinstance(role, Leading)
    proposal = Proposal(isr, role.leader_epoch, role.partition_epoch, joining)
    return replace(state, role=replace(role, pending=proposal)), [Propose(proposal)]


def answered(state: PartitionState, event: IsrAnswered) -> tuple[PartitionState, list[Effect]]:
    """The controller decided. An answer to what is not pending any more says nothing."""
    role = state.role
    if not isinstance(role, Leading) or role.pending != event.proposal:
        return state, []
    if event.code == ErrorCode.none and event.partition_epoch > role.partition_epoch:
        role = replace(role, isr=event.isr, partition_epoch=event.partition_epoch, pending=None)
    elif event.code in _REVOKED:
        role = replace(role, pending=None)
    return advance(replace(state, role=role))
