"""The core of a replica: `step(config, state, input, now_ms) -> (state, effects)`. Pure.

Leader and follower are in modules of their own; here is what becomes of a replica when the
metadata changes (KIP-497, KIP-101). A replica acts on newer states of its partition only: one
that it got from the controller's answer may be ahead of the image.
"""

from dataclasses import replace
from typing import TypeAlias

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.ids import NO_OFFSET, BrokerId, Offset
from nodes.kraft.metadata.image import Partition
from nodes.kraft.partition import epochs, follower, leader
from nodes.kraft.partition.state import (
    ABSENT,
    Absent,
    Following,
    Leading,
    PartitionState,
    Progress,
    ReplicaConfig,
)
from nodes.kraft.partition.steps import (
    Answer,
    Assigned,
    Deleted,
    DeleteRecords,
    Diverged,
    DropBelow,
    Effect,
    Fetched,
    Input,
    IsrAnswered,
    OutOfRange,
    Produce,
    Replicated,
    Reread,
    StartSaved,
    Tick,
)

Step: TypeAlias = tuple[PartitionState, list[Effect]]


def step(config: ReplicaConfig, state: PartitionState, event: Input, now_ms: int) -> Step:
    """The replica after `event`, and what to do, in order."""
    match event:
        case Assigned(partition):
            return _assign(config, state, partition, now_ms)
        case Produce():
            return leader.produce(state, event, now_ms)
        case DeleteRecords():
            return leader.delete_records(state, event)
        case Fetched():
            return leader.fetched(state, event, now_ms)
        case IsrAnswered():
            return leader.answered(state, event)
        case Tick():
            return leader.tick(config, state, event, now_ms)
        case Replicated():
            return follower.replicated(state, event)
        case Diverged():
            return follower.diverged(state, event)
        case OutOfRange():
            return follower.out_of_range(state, event)
        case StartSaved(start_offset):
            return _start_saved(state, start_offset)
        case Reread(producers):
            return replace(state, log=replace(state.log, producers=producers)), []


def _start_saved(state: PartitionState, start_offset: Offset) -> Step:
    """What is below is of no use any more. A log that began anew meanwhile may begin below it."""
    state = replace(state, saved_start=min(start_offset, state.log.start_offset))
    effects: list[Effect] = [DropBelow(state.saved_start)]
    if isinstance(state.role, Leading):
        state, answers = leader.advance(state)
        effects += answers
    return state, effects


def _assign(
    config: ReplicaConfig, state: PartitionState, partition: Partition | None, now_ms: int
) -> Step:
    role = state.role
    if partition is None or config.broker_id not in partition.replicas:
        return replace(state, role=ABSENT), _dismissed(state)
    if not isinstance(role, Absent):
        if partition.partition_epoch <= role.partition_epoch:
            return state, []
        if partition.leader_epoch == role.leader_epoch:
            return _update(config, state, partition)
    if partition.leader == config.broker_id:
        lead, effects = leader.advance(_lead(config, state, partition, now_ms))
        return lead, [*_dismissed(state), *effects]
    return _follow(state, partition), _dismissed(state)


def _update(config: ReplicaConfig, state: PartitionState, partition: Partition) -> Step:
    """Another ISR, or more replicas, under the same leader: what was proposed is decided."""
    role = state.role
    if isinstance(role, Leading):
        role = replace(
            role,
            partition_epoch=partition.partition_epoch,
            replicas=partition.replicas,
            isr=partition.isr,
            followers=_with_new(config, role.followers, partition),
            pending=None,
        )
        return leader.advance(replace(state, role=role))
    return _follow(state, partition), []


def _with_new(
    config: ReplicaConfig, followers: Map[BrokerId, Progress], partition: Partition
) -> Map[BrokerId, Progress]:
    """Replicas that were added have nothing yet. None is taken away in a leader epoch."""
    for replica in partition.replicas:
        if replica not in followers and replica != config.broker_id:
            followers = followers.set(replica, Progress(NO_OFFSET, -config.lag_max_ms))
    return followers


def _lead(
    config: ReplicaConfig, state: PartitionState, partition: Partition, now_ms: int
) -> PartitionState:
    """Members of the ISR count as caught up until they had time to show that they are not."""
    log = state.log
    followers = {
        replica: Progress(NO_OFFSET, now_ms if replica in partition.isr else -config.lag_max_ms)
        for replica in partition.replicas
        if replica != config.broker_id
    }
    role = Leading(
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        replicas=partition.replicas,
        isr=partition.isr,
        start_offset=log.end_offset,
        followers=Map(followers),
    )
    known = epochs.assigned(log.epochs, partition.leader_epoch, log.end_offset)
    return replace(state, log=replace(log, epochs=known), role=role)


def _follow(state: PartitionState, partition: Partition) -> PartitionState:
    """Epochs that wrote nothing here are forgotten: what comes next may be of an older one."""
    log = state.log
    known = epochs.truncated(log.epochs, log.end_offset)
    if known != log.epochs:
        log = replace(log, epochs=known)
    role = Following(
        partition.leader, partition.leader_epoch, partition.partition_epoch, partition.isr
    )
    return replace(state, log=log, role=role)


def _dismissed(state: PartitionState) -> list[Effect]:
    """A leader that leads no more tells those who wait at once (A.2.17a). What they sent is in
    the log, and may be truncated or committed yet."""
    if not isinstance(state.role, Leading):
        return []
    code = ErrorCode.not_leader_or_follower
    return [
        *(Answer(each.token, code, each.base_offset, appended=True) for each in state.role.waiting),
        *(Deleted(each.token, code) for each in state.role.deleting),
    ]
