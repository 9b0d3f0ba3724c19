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
    vote,
    with_member,
)
from nodes.kraft.group.state import Group, Member, Phase, SaveAssignment, SaveReturn, Token
from nodes.kraft.group.steps import (
    Acknowledged,
    Beat,
    Commit,
    GroupChange,
    Join,
    Joined,
    Leave,
    Left,
    Sync,
    Synced,
)
from nodes.kraft.group.transition import Transition

# --- JoinGroup ----------------------------------------------------------------------------


def join(transition: Transition, token: Token, request: Join) -> None:
    """A member comes, or comes back; it is answered when the rebalance is over."""
    config = transition.state.config
    group = transition.state.groups.get(request.group_id)
    error = ErrorCode.none
    if not request.group_id:
        error = ErrorCode.invalid_group_id
    elif not config.min_session_ms <= request.session_ms <= config.max_session_ms:
        error = ErrorCode.invalid_session_timeout
    elif group is None and request.member_id:
        error = ErrorCode.unknown_member_id
    elif not _fits(group, request):
        error = ErrorCode.inconsistent_group_protocol
    elif group is not None and not request.member_id and _full(transition, group, request):
        error = ErrorCode.group_max_size_reached
    if error != ErrorCode.none:
        transition.answer(token, Joined(error=error, member_id=request.member_id))
        return
    group = group or Group(group_id=request.group_id)
    if request.instance_id is not None:
        _join_static(transition, token, group, request)
    elif not request.member_id and request.id_first:
        invited = group.invited.set(request.fresh_id, transition.now_ms + request.session_ms)
        transition.put(replace(group, invited=invited))
        result = Joined(error=ErrorCode.member_id_required, member_id=request.fresh_id)
        transition.answer(token, result)
    elif not request.member_id:
        _add(transition, token, group, request, request.fresh_id)
    elif request.member_id in group.invited:
        group = replace(group, invited=group.invited.delete(request.member_id))
        _add(transition, token, group, request, request.member_id)
    elif request.member_id in group.members:
        _rejoin(transition, token, group, request, group.members[request.member_id])
    else:
        transition.answer(
            token, Joined(error=ErrorCode.unknown_member_id, member_id=request.member_id)
        )


def _fits(group: Group | None, request: Join) -> bool:
    """Whether there is a way to assign that all members know, this one among them."""
    if not request.protocol_type or not request.protocols:
        return False
    if group is None or not group.members:
        return True
    known = {name for name, _ in request.protocols}
    for member in group.members.values():
        if member.member_id != request.member_id:
            known &= {name for name, _ in member.protocols}
    return request.protocol_type == group.protocol_type and bool(known)


def _full(transition: Transition, group: Group, request: Join) -> bool:
    """Ids that were given out count, else a client could collect them without end."""
    if request.instance_id is not None and group.static(request.instance_id) is not None:
        return False  # it takes a place that is there
    return len(group.members) + len(group.invited) >= transition.state.config.max_size


def _join_static(transition: Transition, token: Token, group: Group, request: Join) -> None:
    """A member with an instance id keeps its place over restarts: the newest process of the
    instance has it, and the one before is fenced (KIP-345)."""
    assert request.instance_id is not None
    present = group.static(request.instance_id)
    if present is None and not request.member_id:
        _add(transition, token, group, request, request.fresh_id)
    elif present is None:
        transition.answer(
            token, Joined(error=ErrorCode.unknown_member_id, member_id=request.member_id)
        )
    elif not request.member_id:
        _return(transition, token, group, request, present)
    elif present.member_id != request.member_id:
        transition.answer(
            token, Joined(error=ErrorCode.fenced_instance_id, member_id=request.member_id)
        )
    else:
        _rejoin(transition, token, group, request, present)


def _return(
    transition: Transition, token: Token, group: Group, request: Join, before: Member
) -> None:
    """A static member comes back: it has the place, the part and the leadership that it had. Where
    a generation is complete and its way to assign stays, that goes on, as soon as the log has the
    member's new id (Kafka's GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin)."""
    transition.answer(before.join_token, Joined(error=ErrorCode.fenced_instance_id))
    transition.answer(before.sync_token, Synced(error=ErrorCode.fenced_instance_id))
    led = group.leader
    member = replace(
        _member(transition, token, request, request.fresh_id), assignment=before.assignment
    )
    group = replace(
        with_member(replace(group, members=group.members.delete(before.member_id)), member),
        leader=member.member_id if led == before.member_id else led,
    )
    if group.phase is Phase.PREPARING:
        complete_if_all_joined(transition, group)
    elif group.phase is Phase.STABLE and vote(group.in_order()) == group.protocol:
        leader = (group.leader if request.may_skip else led) or ""
        transition.append(
            SaveReturn(group.group_id, member.member_id, token, leader),
            (GroupChange(group.group_id, saved(group)),),
        )
        transition.put(group)
    else:
        # The leader's assignment, if it is on its way, is for the former id.
        prepare(transition, group)


def return_saved(transition: Transition, write: SaveReturn, error: ErrorCode) -> None:
    """The log has the id of a static member that came back, or refused it: tell the member, unless
    a rebalance, or a later process of the instance, has done so. Who is refused comes again."""
    group = transition.state.groups.get(write.group_id)
    member = None if group is None else group.members.get(write.member_id)
    if group is None or member is None or member.join_token != write.token:
        return
    if group.phase is not Phase.STABLE:
        return  # the rebalance that began meanwhile answers
    transition.put(with_member(group, alive(replace(member, join_token=None), transition.now_ms)))
    if error != ErrorCode.none:
        transition.answer(write.token, Joined(error=error))
        return
    result = joined_result(group, write.member_id)
    leads = write.leader == write.member_id
    transition.answer(
        write.token,
        replace(
            result,
            leader=write.leader,
            members=result.members if leads else (),
            skip_assignment=leads,
        ),
    )


def _member(transition: Transition, token: Token, request: Join, member_id: str) -> Member:
    """Whoever asks to join, with its request waiting."""
    return Member(
        member_id=member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        session_ms=request.session_ms,
        rebalance_ms=request.rebalance_ms,
        protocols=request.protocols,
        session_end_ms=transition.now_ms + request.session_ms,
        join_token=token,
    )


def _add(transition: Transition, token: Token, group: Group, request: Join, member_id: str) -> None:
    member = _member(transition, token, request, member_id)
    if not group.members:
        group = replace(group, protocol_type=request.protocol_type)
    group = with_member(group, member)
    if group.phase is Phase.PREPARING:
        complete_if_all_joined(transition, group)
    else:
        prepare(transition, group)


def _rejoin(
    transition: Transition, token: Token, group: Group, request: Join, member: Member
) -> None:
    same = member.protocols == request.protocols
    settled = group.phase is Phase.COMPLETING or (
        group.phase is Phase.STABLE and group.leader != member.member_id
    )
    if settled and same:
        # It did not hear the answer to its last join.
        transition.put(with_member(group, alive(member, transition.now_ms)))
        transition.answer(token, joined_result(group, member.member_id))
        return
    transition.answer(member.join_token, Joined(error=ErrorCode.rebalance_in_progress))
    member = replace(
        alive(member, transition.now_ms),
        protocols=request.protocols,
        session_ms=request.session_ms,
        rebalance_ms=request.rebalance_ms,
        join_token=token,
    )
    group = with_member(group, member)
    if group.phase is Phase.PREPARING:
        complete_if_all_joined(transition, group)
    else:
        prepare(transition, group)


# --- SyncGroup ----------------------------------------------------------------------------


def sync(transition: Transition, token: Token, request: Sync) -> None:
    """A member asks for its part; the leader's request brings everybody's."""
    group = transition.state.groups.get(request.group_id)
    error = membership_error(group, request)
    if error == ErrorCode.none and group is not None:
        reported = (request.protocol_type, group.protocol_type), (request.protocol, group.protocol)
        if any(each is not None and each != ours for each, ours in reported):
            error = ErrorCode.inconsistent_group_protocol
        elif group.phase is Phase.PREPARING:
            error = ErrorCode.rebalance_in_progress
    if error != ErrorCode.none or group is None:
        transition.answer(token, Synced(error=error))
        return
    member = alive(group.members[request.member_id], transition.now_ms)
    if group.phase is Phase.STABLE:
        transition.put(with_member(group, member))
        transition.answer(token, synced_result(group, member))
        return
    transition.answer(member.sync_token, IN_PROGRESS)
    group = with_member(group, replace(member, sync_token=token))
    if member.member_id == group.leader and group.saving is None:
        group = _save(transition, group, request)
    transition.put(group)


def _save(transition: Transition, group: Group, request: Sync) -> Group:
    """Send the generation with its assignment to the log."""
    assignments: Map[str, bytes] = Map(
        {member_id: request.assignments.get(member_id, b"") for member_id in group.members}
    )
    assigned = group
    for member in group.in_order():
        assigned = with_member(assigned, replace(member, assignment=assignments[member.member_id]))
    number = transition.append(
        SaveAssignment(group.group_id, assignments),
        (GroupChange(group.group_id, saved(assigned)),),
    )
    return replace(group, saving=number)


def assignment_saved(
    transition: Transition, number: int, write: SaveAssignment, error: ErrorCode
) -> None:
    """The log has the assignment, or refused it: tell the members that wait."""
    group = transition.state.groups.get(write.group_id)
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
            transition.answer(member.sync_token, result)
            member = alive(replace(member, sync_token=None), transition.now_ms)
        group = with_member(group, member)
    if error == ErrorCode.none:
        transition.put(replace(group, phase=Phase.STABLE, deadline_ms=None))
    else:
        prepare(transition, group)


def synced_result(group: Group, member: Member) -> Synced:
    return Synced(
        protocol_type=group.protocol_type, protocol=group.protocol, assignment=member.assignment
    )


# --- Heartbeat and LeaveGroup -------------------------------------------------------------


def membership_error(group: Group | None, request: Sync | Beat | Commit) -> ErrorCode:
    """Whether the request comes from a member of the present generation."""
    if group is None:
        return ErrorCode.unknown_member_id
    if request.instance_id is not None:
        present = group.static(request.instance_id)
        if present is None:
            return ErrorCode.unknown_member_id
        if present.member_id != request.member_id:
            return ErrorCode.fenced_instance_id
    if request.member_id not in group.members:
        return ErrorCode.unknown_member_id
    if request.generation != group.generation:
        return ErrorCode.illegal_generation
    return ErrorCode.none


def beat(transition: Transition, token: Token, request: Beat) -> None:
    """A member lives; it is told when it has to join again."""
    group = transition.state.groups.get(request.group_id)
    error = membership_error(group, request)
    if error == ErrorCode.none and group is not None:
        transition.put(
            with_member(group, alive(group.members[request.member_id], transition.now_ms))
        )
        if group.phase is Phase.PREPARING:
            error = ErrorCode.rebalance_in_progress
    transition.answer(token, Acknowledged(error))


def leave(transition: Transition, token: Token, request: Leave) -> None:
    """Members go, by their own will or an administrator's."""
    group = transition.state.groups.get(request.group_id)
    if group is None:
        transition.answer(token, Left(tuple(ErrorCode.unknown_member_id for _ in request.members)))
        return
    codes = []
    before = group
    for member_id, instance_id in request.members:
        group, code = _leave(transition, group, member_id, instance_id)
        codes.append(code)
    transition.answer(token, Left(tuple(codes)))
    if group is not before:
        after_removal(transition, group)


def _leave(
    transition: Transition, group: Group, member_id: str, instance_id: str | None
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
    return remove(transition, group, [member]), ErrorCode.none
