"""Rebalances: members come together, one of them says who reads what, all are told.

PreparingRebalance waits until all known members have joined, or its time is over;
CompletingRebalance until the leader has brought the assignment and the log has it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Group, Member, Phase, SaveEmpty
from nodes.kraft.group.steps import (
    GroupChange,
    Joined,
    SavedGroup,
    SavedMember,
    Synced,
)
from nodes.kraft.group.transition import Transition

IN_PROGRESS = Synced(error=ErrorCode.rebalance_in_progress)


def with_member(group: Group, member: Member) -> Group:
    return replace(group, members=group.members.set(member.member_id, member))


def alive(member: Member, now_ms: int) -> Member:
    """The member, heard from just now."""
    return replace(member, session_end_ms=now_ms + member.session_ms)


def prepare(transition: Transition, group: Group) -> None:
    """Begin a rebalance, and complete it at once where nobody is missing."""
    for member in group.in_order():
        transition.answer(member.sync_token, IN_PROGRESS)
        if member.sync_token is not None:
            member = alive(replace(member, sync_token=None), transition.now_ms)
            group = with_member(group, member)
    gathering = group.phase is Phase.EMPTY
    wait_ms = transition.state.config.initial_delay_ms if gathering else _patience_ms(group)
    group = replace(
        group,
        phase=Phase.PREPARING,
        gathering=gathering,
        deadline_ms=transition.now_ms + wait_ms,
        saving=None,
    )
    complete_if_all_joined(transition, group)


def complete_if_all_joined(transition: Transition, group: Group) -> None:
    """Go on with a rebalance in preparation where nothing is left to wait for."""
    missing = any(member.join_token is None for member in group.members.values())
    if group.gathering or missing or (group.members and group.invited):
        transition.put(group)
    else:
        complete(transition, group)


def complete(transition: Transition, group: Group) -> None:
    """Make a new generation of those who joined. The others are out, but for static members,
    who may be restarting."""
    kept = [each for each in group.in_order() if each.join_token is not None or each.instance_id]
    joined = [each for each in kept if each.join_token is not None]
    if not kept:
        _become_empty(transition, group)
        return
    if not joined:
        transition.put(
            replace(group, deadline_ms=transition.now_ms + _patience_ms(group), gathering=False)
        )
        return
    leader = group.leader
    if leader not in {each.member_id for each in joined}:
        leader = joined[0].member_id
    fresh = [
        alive(replace(each, join_token=None, assignment=b""), transition.now_ms)
        if each.join_token is not None
        else replace(each, assignment=b"")
        for each in kept
    ]
    group = replace(
        group,
        phase=Phase.COMPLETING,
        generation=group.generation + 1,
        protocol=vote(kept),
        leader=leader,
        members=Map({each.member_id: each for each in fresh}),
        gathering=False,
    )
    group = replace(group, deadline_ms=transition.now_ms + _patience_ms(group))
    for member in joined:
        transition.answer(member.join_token, joined_result(group, member.member_id))
    transition.put(group)


def _become_empty(transition: Transition, group: Group) -> None:
    group = replace(
        group,
        phase=Phase.EMPTY,
        generation=group.generation + 1,
        protocol=None,
        leader=None,
        members=Map(),
        deadline_ms=None,
        gathering=False,
    )
    transition.append(SaveEmpty(), (GroupChange(group.group_id, saved(group)),))
    transition.put(group)


def _patience_ms(group: Group) -> int:
    return max((each.rebalance_ms for each in group.members.values()), default=0)


def vote(members: Iterable[Member]) -> str:
    """Of the protocols that all know, the one that most prefer."""
    members = tuple(members)
    known = set.intersection(*({name for name, _ in each.protocols} for each in members))
    votes = Counter(next(name for name, _ in each.protocols if name in known) for each in members)
    return max(sorted(votes), key=lambda name: votes[name])


def joined_result(group: Group, member_id: str) -> Joined:
    """What a member of the present generation is told when it joins."""
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    if member_id == group.leader:
        members = tuple(
            (each.member_id, each.instance_id, each.metadata(group.protocol))
            for each in group.in_order()
        )
    return Joined(
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or "",
        member_id=member_id,
        members=members,
    )


def remove(transition: Transition, group: Group, members: list[Member]) -> Group:
    """The group without the members, whose waiting requests are told that they are out."""
    for member in members:
        transition.answer(member.join_token, Joined(error=ErrorCode.unknown_member_id))
        transition.answer(member.sync_token, Synced(error=ErrorCode.unknown_member_id))
        group = replace(group, members=group.members.delete(member.member_id))
    return group


def after_removal(transition: Transition, group: Group) -> None:
    """Members left or died: rebalance, or go on with the rebalance that waited for them."""
    if group.phase is Phase.PREPARING:
        complete_if_all_joined(transition, group)
    elif group.phase is Phase.EMPTY:
        transition.put(group)
    else:
        prepare(transition, group)


def saved(group: Group) -> SavedGroup:
    """The group's generation as the log keeps it."""
    return SavedGroup(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        members=tuple(
            SavedMember(
                member_id=each.member_id,
                instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_ms=each.rebalance_ms,
                session_ms=each.session_ms,
                subscription=each.metadata(group.protocol),
                assignment=each.assignment,
            )
            for each in group.in_order()
        ),
    )
