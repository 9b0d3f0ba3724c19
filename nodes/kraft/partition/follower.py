"""A follower: appends what its leader sent, and cuts off what its leader never had.

KIP-101 and KIP-279: logs are compared by leader epochs, never by high watermarks.
"""

from dataclasses import replace

from nodes.kraft.ids import LOG_START, LeaderEpoch, Offset
from nodes.kraft.partition import epochs
from nodes.kraft.partition.state import Following, PartitionState, empty_log
from nodes.kraft.partition.steps import (
    Append,
    Diverged,
    Effect,
    OutOfRange,
    Replicated,
    Restart,
    SaveStart,
    Truncate,
)


def fetch_position(state: PartitionState) -> tuple[Offset, LeaderEpoch]:
    """(offset, epoch of the last record; -1 where the log is empty): where to go on."""
    return state.log.end_offset, epochs.last_epoch(state.log.epochs)


def _awaited(state: PartitionState, event: Replicated | Diverged | OutOfRange) -> bool:
    """Whether it answers the fetch that this replica would send now."""
    role = state.role
    follows = isinstance(role, Following) and role.leader_epoch == event.leader_epoch
    return follows and event.offset == state.log.end_offset


def replicated(state: PartitionState, event: Replicated) -> tuple[PartitionState, list[Effect]]:
    """Append what follows the end of the log; take over the leader's high watermark as far as
    the log goes, and where its log begins. An answer from another epoch, or to an older fetch,
    says nothing."""
    log = state.log
    if not _awaited(state, event):
        return state, []
    effects: list[Effect] = []
    for batch in event.batches:
        if batch.base_offset != log.end_offset or batch.epoch < epochs.last_epoch(log.epochs):
            break
        log = log.append(batch)
        effects.append(Append(batch, leader=False))
    high_watermark = max(state.high_watermark, min(event.high_watermark, log.end_offset))
    start_offset = min(event.start_offset, high_watermark)
    if start_offset > log.start_offset:
        log = log.begin_at(start_offset)
        effects.append(SaveStart(start_offset))
    return replace(state, log=log, high_watermark=high_watermark), effects


def diverged(state: PartitionState, event: Diverged) -> tuple[PartitionState, list[Effect]]:
    """Truncate to where both logs were the same at most. The high watermark goes with it only
    where a log lost what it had promised: then there is nothing to stand for it."""
    log = state.log
    if not _awaited(state, event):
        return state, []
    _, own_end = epochs.end_offset_for(log.epochs, event.epoch, log.end_offset)
    end_offset = max(LOG_START, min(own_end, event.end_offset))
    if end_offset < log.start_offset:
        return _restarted(state, end_offset)
    log = log.truncate(end_offset)
    high_watermark = min(state.high_watermark, end_offset)
    effects: list[Effect] = []
    if end_offset < state.log.end_offset:
        effects.append(Truncate(end_offset))
    return replace(state, log=log, high_watermark=high_watermark), effects


def out_of_range(state: PartitionState, event: OutOfRange) -> tuple[PartitionState, list[Effect]]:
    """Begin anew where the leader begins: it has nothing any more, or never had anything, of what
    would have to come next."""
    if not _awaited(state, event):
        return state, []
    return _restarted(state, event.start_offset)


def _restarted(state: PartitionState, start_offset: Offset) -> tuple[PartitionState, list[Effect]]:
    """Without anything, and going on there (Kafka's truncateFullyAndStartAt)."""
    state = replace(
        state,
        log=empty_log(start_offset),
        high_watermark=start_offset,
        saved_start=min(state.saved_start, start_offset),
    )
    return state, [Restart(start_offset), SaveStart(start_offset)]
