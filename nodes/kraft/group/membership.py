"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of one group (Kafka's group protocol)."""

from dataclasses import replace

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group.rebalance import (
    IN_PROGRESS,
    after_removal,
    alive,
    complete_if_all_joined,
    joined_result,
    prepare,
    remove,
    saved,
    with_member,
)
from nodes.kraft.group.state import Group, Member, Phase, SaveAssignment, Token
from nodes.kraft.group.steps import (
    Beat,
    Commit,
    GroupChange,
    Join,
    Joined,
    Leave,
    Left,
    Sync,
    Synced,
    Told,
)
from nodes.kraft.group.turn import Turn

# --- JoinGroup ----------------------------------------------------------------------------


def join(turn: Turn, token: Token, ask: Join) -> None:
    """A member comes, or comes back; it is answered when the rebalance is over."""
    config = turn.state.config
    group = turn.state.groups.get(ask.group_id)
    error = ErrorCode.none
    if not ask.group_id:
        error = ErrorCode.invalid_group_id
    elif not config.min_session_ms <= ask.session_ms <= config.max_session_ms:
        error = ErrorCode.invalid_session_timeout
    elif group is None and ask.member_id:
        error = ErrorCode.unknown_member_id
    elif not _fits(group, ask):
        error = ErrorCode.inconsistent_group_protocol
    elif group is not None and not ask.member_id and _full(turn, group, ask):
        error = ErrorCode.group_max_size_reached
    if error != ErrorCode.none:
        turn.answer(token, Joined(error=error, member_id=ask.member_id))
        return
    group = group or Group(group_id=ask.group_id)
    if ask.instance_id is not None:
        _join_static(turn, token, group, ask)
    elif not ask.member_id and ask.id_first:
        invited = group.invited.set(ask.fresh_id, turn.now_ms + ask.session_ms)
        turn.put(replace(group, invited=invited))
        result = Joined(error=ErrorCode.member_id_required, member_id=ask.fresh_id)
        turn.answer(token, result)
    elif not ask.member_id:
        _add(turn, token, group, ask, ask.fresh_id)
    elif ask.member_id in group.invited:
        group = replace(group, invited=group.invited.delete(ask.member_id))
        _add(turn, token, group, ask, ask.member_id)
    elif ask.member_id in group.members:
        _rejoin(turn, token, group, ask, group.members[ask.member_id])
    else:
        turn.answer(token, Joined(error=ErrorCode.unknown_member_id, member_id=ask.member_id))


def _fits(group: Group | None, ask: Join) -> bool:
    """Whether there is a way to assign that all members know, this one among them."""
    if not ask.protocol_type or not ask.protocols:
        return False
    if group is None or not group.members:
        return True
    known = {name for name, _ in ask.protocols}
    for member in group.members.values():
        if member.member_id != ask.member_id:
            known &= {name for name, _ in member.protocols}
    return ask.protocol_type == group.protocol_type and bool(known)


def _full(turn: Turn, group: Group, ask: Join) -> bool:
    """Ids that were given out count, else a client could collect them without end."""
    if ask.instance_id is not None and group.static(ask.instance_id) is not None:
        return False  # it takes a place that is there
    return len(group.members) + len(group.invited) >= turn.state.config.max_size


def _join_static(turn: Turn, token: Token, group: Group, ask: Join) -> None:
    """A member with an instance id keeps its place over restarts: the newest process of the
    instance has it, and the one before is fenced (KIP-345)."""
    assert ask.instance_id is not None
    present = group.static(ask.instance_id)
    if present is None and not ask.member_id:
        _add(turn, token, group, ask, ask.fresh_id)
    elif present is None:
        turn.answer(token, Joined(error=ErrorCode.unknown_member_id, member_id=ask.member_id))
    elif not ask.member_id:
        turn.answer(present.join_token, Joined(error=ErrorCode.fenced_instance_id))
        turn.answer(present.sync_token, Synced(error=ErrorCode.fenced_instance_id))
        group = replace(group, members=group.members.delete(present.member_id))
        _add(turn, token, group, ask, ask.fresh_id)
    elif present.member_id != ask.member_id:
        turn.answer(token, Joined(error=ErrorCode.fenced_instance_id, member_id=ask.member_id))
    else:
        _rejoin(turn, token, group, ask, present)


def _add(turn: Turn, token: Token, group: Group, ask: Join, member_id: str) -> None:
    member = Member(
        member_id=member_id,
        instance_id=ask.instance_id,
        client_id=ask.client_id,
        client_host=ask.client_host,
        session_ms=ask.session_ms,
        rebalance_ms=ask.rebalance_ms,
        protocols=ask.protocols,
        session_end_ms=turn.now_ms + ask.session_ms,
        join_token=token,
    )
    if not group.members:
        group = replace(group, protocol_type=ask.protocol_type)
    group = with_member(group, member)
    if group.phase is Phase.PREPARING:
        complete_if_all_joined(turn, group)
    else:
        prepare(turn, group)


def _rejoin(turn: Turn, token: Token, group: Group, ask: Join, member: Member) -> None:
    same = member.protocols == ask.protocols
    settled = group.phase is Phase.COMPLETING or (
        group.phase is Phase.STABLE and group.leader != member.member_id
    )
    if settled and same:
        # It did not hear the answer to its last join.
        turn.put(with_member(group, alive(member, turn.now_ms)))
        turn.answer(token, joined_result(group, member.member_id))
        return
    turn.answer(member.join_token, Joined(error=ErrorCode.rebalance_in_progress))
    member = replace(
        alive(member, turn.now_ms),
        protocols=ask.protocols,
        session_ms=ask.session_ms,
        rebalance_ms=ask.rebalance_ms,
        join_token=token,
    )
    group = with_member(group, member)
    if group.phase is Phase.PREPARING:
        complete_if_all_joined(turn, group)
    else:
        prepare(turn, group)


# --- SyncGroup ----------------------------------------------------------------------------


def sync(turn: Turn, token: Token, ask: Sync) -> None:
    """A member asks for its part; the leader's request brings everybody's."""
    group = turn.state.groups.get(ask.group_id)
    error = membership_error(group, ask)
    if error == ErrorCode.none and group is not None:
        told = (ask.protocol_type, group.protocol_type), (ask.protocol, group.protocol)
        if any(each is not None and each != ours for each, ours in told):
            error = ErrorCode.inconsistent_group_protocol
        elif group.phase is Phase.PREPARING:
            error = ErrorCode.rebalance_in_progress
    if error != ErrorCode.none or group is None:
        turn.answer(token, Synced(error=error))
        return
    member = alive(group.members[ask.member_id], turn.now_ms)
    if group.phase is Phase.STABLE:
        turn.put(with_member(group, member))
        turn.answer(token, synced_result(group, member))
        return
    turn.answer(member.sync_token, IN_PROGRESS)
    group = with_member(group, replace(member, sync_token=token))
    if member.member_id == group.leader and group.saving is None:
        group = _save(turn, group, ask)
    turn.put(group)


def _save(turn: Turn, group: Group, ask: Sync) -> Group:
    """Send the generation with its assignment to the log."""
    assignments: Map[str, bytes] = Map(
        {member_id: ask.assignments.get(member_id, b"") for member_id in group.members}
    )
    assigned = group
    for member in group.in_order():
        assigned = with_member(assigned, replace(member, assignment=assignments[member.member_id]))
    number = turn.append(
        SaveAssignment(group.group_id, assignments),
        (GroupChange(group.group_id, saved(assigned)),),
    )
    return replace(group, saving=number)


def assignment_saved(turn: Turn, number: int, write: SaveAssignment, error: ErrorCode) -> None:
    """The log has the assignment, or refused it: tell the members that wait."""
    group = turn.state.groups.get(write.group_id)
    if group is None or group.saving != number:
        return  # another rebalance began meanwhile, and told them
    group = replace(group, saving=None)
    for member in group.in_order():
        if error == ErrorCode.none:
            member = replace(member, assignment=write.assignments[member.member_id])
            result = synced_result(group, member)
        else:
            result = Synced(error=error)
        if member.sync_token is not None:
            turn.answer(member.sync_token, result)
            member = alive(replace(member, sync_token=None), turn.now_ms)
        group = with_member(group, member)
    if error == ErrorCode.none:
        turn.put(replace(group, phase=Phase.STABLE, deadline_ms=None))
    else:
        prepare(turn, group)


def synced_result(group: Group, member: Member) -> Synced:
    return Synced(
        protocol_type=group.protocol_type, protocol=group.protocol, assignment=member.assignment
    )


# --- Heartbeat and LeaveGroup -------------------------------------------------------------


def membership_error(group: Group | None, ask: Sync | Beat | Commit) -> ErrorCode:
    """Whether the request comes from a member of the present generation."""
    if group is None:
        return ErrorCode.unknown_member_id
    if ask.instance_id is not None:
        present = group.static(ask.instance_id)
        if present is not None and present.member_id != ask.member_id:
            return ErrorCode.fenced_instance_id
    if ask.member_id not in group.members:
        return ErrorCode.unknown_member_id
    if ask.generation != group.generation:
        return ErrorCode.illegal_generation
    return ErrorCode.none


def beat(turn: Turn, token: Token, ask: Beat) -> None:
    """A member lives; it is told when it has to join again."""
    group = turn.state.groups.get(ask.group_id)
    error = membership_error(group, ask)
    if error == ErrorCode.none and group is not None:
        turn.put(with_member(group, alive(group.members[ask.member_id], turn.now_ms)))
        if group.phase is Phase.PREPARING:
            error = ErrorCode.rebalance_in_progress
    turn.answer(token, Told(error))


def leave(turn: Turn, token: Token, ask: Leave) -> None:
    """Members go, by their own will or an administrator's."""
    group = turn.state.groups.get(ask.group_id)
    if group is None:
        turn.answer(token, Left(tuple(ErrorCode.unknown_member_id for _ in ask.members)))
        return
    codes = []
    before = group
    for member_id, instance_id in ask.members:
        group, code = _leave(turn, group, member_id, instance_id)
        codes.append(code)
    turn.answer(token, Left(tuple(codes)))
    if group is not before:
        after_removal(turn, group)


def _leave(
    turn: Turn, group: Group, member_id: str, instance_id: str | None
) -> tuple[Group, ErrorCode]:
    if member_id in group.invited:
        return replace(group, invited=group.invited.delete(member_id)), ErrorCode.none
    member = group.members.get(member_id)
    if instance_id is not None:
        member = group.static(instance_id)
        if member is not None and member_id and member.member_id != member_id:
            return group, ErrorCode.fenced_instance_id
    if member is None:
        return group, ErrorCode.unknown_member_id
    return remove(turn, group, [member]), ErrorCode.none
