"""The group coordinator's core: requests to records and answers. Pure; see `steps.py`.

One state is one partition of `__consumer_offsets`, while this broker leads it. It begins with
`replay` of what the partition holds, and `activate`. A group's generations and offsets are
changed when the log says that they are committed, in the log's order.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group import membership, rebalance
from nodes.kraft.group.config import GroupConfig
from nodes.kraft.group.state import (
    Deletion,
    Forgetting,
    Group,
    Member,
    Offset,
    OffsetsDeletion,
    Phase,
    SaveAssignment,
    SaveEmpty,
    SaveOffsets,
    SaveReturn,
    State,
    Token,
    TopicPartition,
    answer_code,
)
from nodes.kraft.group.steps import (
    Acknowledged,
    Answer,
    Beat,
    Change,
    Commit,
    Delete,
    DeleteOffsets,
    Effect,
    GroupChange,
    Input,
    Join,
    Joined,
    Leave,
    OffsetChange,
    OffsetsDeleted,
    RequestReceived,
    Resign,
    SavedGroup,
    Sync,
    Synced,
    Tick,
    TopicsGone,
    Written,
)
from nodes.kraft.group.subscription import CONSUMER, subscribes
from nodes.kraft.group.transition import Transition

# --- from the log -------------------------------------------------------------------------


def initial(config: GroupConfig) -> State:
    """A coordinator of no groups."""
    return State(config)


def replay(state: State, changes: Iterable[tuple[int, Change]]) -> State:
    """The state after committed records, each with its offset, in the log's order."""
    for log_offset, change in changes:
        state = _replay(state, log_offset, change)
    return state


def _replay(state: State, log_offset: int, change: Change) -> State:
    transition = Transition(state, 0)
    group = state.groups.get(change.group_id) or Group(group_id=change.group_id)
    match change:
        case OffsetChange(_, topic, partition, Offset() as offset):
            kept = replace(offset, log_offset=log_offset)
            group = replace(group, offsets=group.offsets.set((topic, partition), kept))
        case OffsetChange(_, topic, partition) if (topic, partition) in group.offsets:
            group = replace(group, offsets=group.offsets.delete((topic, partition)))
        case GroupChange(group_id, SavedGroup() as saved):
            group = replace(_restored(group_id, saved), offsets=group.offsets)
        case GroupChange(group_id):
            group = Group(group_id=group_id, offsets=group.offsets)
    transition.put(group)
    return transition.state


def _restored(group_id: str, saved: SavedGroup) -> Group:
    members = {
        each.member_id: Member(
            member_id=each.member_id,
            instance_id=each.instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            session_ms=each.session_ms,
            rebalance_ms=each.rebalance_ms,
            protocols=((saved.protocol or "", each.subscription),),
            assignment=each.assignment,
        )
        for each in saved.members
    }
    return Group(
        group_id=group_id,
        phase=Phase.STABLE if members else Phase.EMPTY,
        generation=saved.generation,
        protocol_type=saved.protocol_type or None,
        protocol=saved.protocol,
        leader=saved.leader,
        members=Map(members),
    )


def activate(state: State, now_ms: int) -> State:
    """The state of a coordinator that begins now: members get a full session to be heard in."""
    groups = state.groups
    for group in state.groups.values():
        for member in group.members.values():
            group = rebalance.with_member(group, rebalance.alive(member, now_ms))
        groups = groups.set(group.group_id, group)
    return replace(state, groups=groups)


# --- steps --------------------------------------------------------------------------------


def step(state: State, event: Input, now_ms: int) -> tuple[State, list[Effect]]:
    """The state after `event`, and what to do, in order."""
    if isinstance(event, Resign):
        return State(state.config, next_write=state.next_write), _abandon(state)
    transition = Transition(state, now_ms)
    match event:
        case RequestReceived(token, request):
            _ask(transition, token, request)
        case Written(number, error, offset):
            _written(transition, number, error, offset)
        case TopicsGone(topics):
            _forget_topics(transition, topics)
        case Tick():
            for group_id in sorted(state.groups):
                _pass_time(transition, transition.state.groups[group_id])
        case _ as never:
            assert_never(never)
    return transition.state, transition.effects


def _ask(transition: Transition, token: Token, request: object) -> None:
    match request:
        case Join():
            membership.join(transition, token, request)
        case Sync():
            membership.sync(transition, token, request)
        case Beat():
            membership.beat(transition, token, request)
        case Leave():
            membership.leave(transition, token, request)
        case Commit():
            _commit(transition, token, request)
        case Delete(group_id=group_id):
            _delete(transition, token, group_id)
        case DeleteOffsets():
            _delete_offsets(transition, token, request)


def _abandon(state: State) -> list[Effect]:
    """Send everybody who waits to the next coordinator."""
    gone = ErrorCode.not_coordinator
    effects: list[Effect] = []
    for group_id in sorted(state.groups):
        for member in state.groups[group_id].in_order():
            if member.join_token is not None:
                effects.append(Answer(member.join_token, Joined(error=gone)))
            if member.sync_token is not None:
                effects.append(Answer(member.sync_token, Synced(error=gone)))
    for number in sorted(state.writes):
        write = state.writes[number]
        if isinstance(write, SaveOffsets | Deletion):
            effects.append(Answer(write.token, Acknowledged(gone)))
        elif isinstance(write, OffsetsDeletion):
            effects.append(Answer(write.token, OffsetsDeleted(gone)))
    return effects


# --- offsets ------------------------------------------------------------------------------


def _commit(transition: Transition, token: Token, request: Commit) -> None:
    """Offsets of a member, or, with generation -1, of whoever wants while no member is there."""
    group = transition.state.groups.get(request.group_id)
    error = commit_error(group, request)
    if error != ErrorCode.none or not request.offsets:
        transition.answer(token, Acknowledged(error))
        return
    if group is not None and request.member_id in group.members:
        member = rebalance.alive(group.members[request.member_id], transition.now_ms)
        transition.put(rebalance.with_member(group, member))
    changes = tuple(
        OffsetChange(request.group_id, topic, partition, request.offsets[topic, partition])
        for topic, partition in sorted(request.offsets)
    )
    transition.append(SaveOffsets(request.group_id, token, request.offsets), changes)


def commit_error(group: Group | None, request: Commit) -> ErrorCode:
    """Why a commit is refused."""
    if not request.group_id:
        return ErrorCode.invalid_group_id
    if request.generation < 0 and (group is None or group.phase is Phase.EMPTY):
        return ErrorCode.none
    if group is None:
        return ErrorCode.illegal_generation
    error = membership.membership_error(group, request)
    if error == ErrorCode.none and group.phase is Phase.COMPLETING:
        # It does not know yet what it reads in this generation.
        return ErrorCode.rebalance_in_progress
    return error


def _delete(transition: Transition, token: Token, group_id: str) -> None:
    group = transition.state.groups.get(group_id)
    if group is None:
        transition.answer(token, Acknowledged(ErrorCode.group_id_not_found))
    elif group.phase is not Phase.EMPTY or group.invited:
        transition.answer(token, Acknowledged(ErrorCode.non_empty_group))
    else:
        known = _known_offsets(transition.state, group)
        changes: list[Change] = [
            OffsetChange(group_id, topic, partition, None) for topic, partition in sorted(known)
        ]
        transition.append(Deletion(group_id, token), (*changes, GroupChange(group_id, None)))


def _known_offsets(state: State, group: Group) -> set[TopicPartition]:
    """What has an offset, or is to have one: that comes before the next write in the log."""
    known = set(group.offsets)
    for write in state.writes.values():
        if isinstance(write, SaveOffsets) and write.group_id == group.group_id:
            known |= set(write.offsets)
    return known


def _delete_offsets(transition: Transition, token: Token, request: DeleteOffsets) -> None:
    """Kafka's rule: of a group with members only offsets of topics that none of them subscribes to,
    and only where its members say what that is (KIP-496)."""
    group = transition.state.groups.get(request.group_id)
    if group is None:
        transition.answer(token, OffsetsDeleted(ErrorCode.group_id_not_found))
        return
    if group.members and group.protocol_type != CONSUMER:
        transition.answer(token, OffsetsDeleted(ErrorCode.non_empty_group))
        return
    kept = frozenset(topic for topic, _ in request.offsets if subscribes(group, topic))
    known = _known_offsets(transition.state, group)
    gone = frozenset(each for each in request.offsets & known if each[0] not in kept)
    if not gone:
        transition.answer(token, OffsetsDeleted(kept=kept))
        return
    changes = tuple(
        OffsetChange(group.group_id, topic, partition, None) for topic, partition in sorted(gone)
    )
    transition.append(OffsetsDeletion(group.group_id, token, gone, kept), changes)


def _written(transition: Transition, number: int, error: ErrorCode, log_offset: int) -> None:
    write = transition.state.writes.get(number)
    if write is None:
        return
    transition.state = replace(transition.state, writes=transition.state.writes.delete(number))
    code = ErrorCode.none if error == ErrorCode.none else answer_code(error)
    match write:
        case SaveAssignment():
            membership.assignment_saved(transition, number, write, code)
        case SaveReturn():
            membership.return_saved(transition, write, code)
        case SaveOffsets(group_id, token, offsets):
            if code == ErrorCode.none:
                _keep_offsets(transition, group_id, offsets, log_offset)
            transition.answer(token, Acknowledged(code))
        case Deletion(group_id, token):
            if code == ErrorCode.none:
                _forget(transition, group_id, log_offset)
            transition.answer(token, Acknowledged(code))
        case OffsetsDeletion(group_id, token, gone, kept):
            if code == ErrorCode.none:
                _drop_offsets(transition, group_id, log_offset, gone)
            transition.answer(token, OffsetsDeleted(code, kept))
        case Forgetting(group_id, topics):
            if code == ErrorCode.none:
                _forget(transition, group_id, log_offset, topics)
        case SaveEmpty():
            pass


def _keep_offsets(
    transition: Transition, group_id: str, offsets: Map[TopicPartition, Offset], log_offset: int
) -> None:
    group = transition.state.groups.get(group_id) or Group(group_id=group_id)
    kept = group.offsets
    for key, offset in offsets.items():
        if key not in kept or kept[key].log_offset <= log_offset:
            kept = kept.set(key, replace(offset, log_offset=log_offset))
    transition.put(replace(group, offsets=kept))


def _forget(
    transition: Transition, group_id: str, log_offset: int, topics: frozenset[str] | None = None
) -> None:
    """Drop the offsets below `log_offset`: those of some topics, or all, and then the group."""
    group = transition.state.groups.get(group_id)
    if group is None:
        return
    offsets: Map[TopicPartition, Offset] = Map(
        {
            key: each
            for key, each in group.offsets.items()
            if each.log_offset > log_offset or (topics is not None and key[0] not in topics)
        }
    )
    if topics is None and group.phase is Phase.EMPTY:
        group = Group(group_id=group_id, invited=group.invited)
    transition.put(replace(group, offsets=offsets))


def _drop_offsets(
    transition: Transition, group_id: str, log_offset: int, gone: frozenset[TopicPartition]
) -> None:
    """Drop these offsets, but for those that were committed after `log_offset`."""
    group = transition.state.groups.get(group_id)
    if group is not None:
        kept: Map[TopicPartition, Offset] = Map(
            {
                key: each
                for key, each in group.offsets.items()
                if key not in gone or each.log_offset > log_offset
            }
        )
        transition.put(replace(group, offsets=kept))


def topics_of(state: State) -> frozenset[str]:
    """The topics that have offsets here."""
    return frozenset(topic for group in state.groups.values() for topic, _ in group.offsets)


def _forget_topics(transition: Transition, topics: frozenset[str]) -> None:
    for group_id in sorted(transition.state.groups):
        group = transition.state.groups[group_id]
        changes = tuple(
            OffsetChange(group_id, topic, partition, None)
            for topic, partition in sorted(group.offsets)
            if topic in topics
        )
        if changes:
            transition.append(Forgetting(group_id, topics), changes)


# --- time ---------------------------------------------------------------------------------


def deadline_ms(state: State) -> int | None:
    """When the next `Tick` is due; None: nothing waits for time."""
    found: list[int] = []
    for group in state.groups.values():
        found.extend(group.invited.values())
        found.extend(each.session_end_ms for each in group.members.values() if not each.waits)
        if group.deadline_ms is not None:
            found.append(group.deadline_ms)
    return min(found, default=None)


def _pass_time(transition: Transition, group: Group) -> None:
    now_ms = transition.now_ms
    late = [member_id for member_id, end_ms in group.invited.items() if end_ms <= now_ms]
    dead = [each for each in group.in_order() if not each.waits and each.session_end_ms <= now_ms]
    if late or dead:
        for member_id in late:
            group = replace(group, invited=group.invited.delete(member_id))
        group = rebalance.remove(transition, group, dead)
        if dead or group.phase is Phase.PREPARING:
            rebalance.after_removal(transition, group)
        else:
            transition.put(group)
        group = transition.state.groups.get(group.group_id) or Group(group_id=group.group_id)
    if group.deadline_ms is None or group.deadline_ms > now_ms:
        return
    if group.phase is Phase.PREPARING:
        rebalance.complete(transition, group)
    elif group.saving is None:
        # The leader brought no assignment in time: go on without those who did not ask.
        silent = [each for each in group.in_order() if each.sync_token is None]
        rebalance.prepare(transition, rebalance.remove(transition, group, silent))
    else:
        transition.put(replace(group, deadline_ms=None))  # the log's answer ends this phase
