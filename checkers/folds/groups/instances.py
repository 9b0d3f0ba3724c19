"""Static members of groups (KIP-345): processes of an instance, one after the other.

Kafka promises that a process which joins under an instance id takes the place of the one before it,
which is refused from then on, and that the group goes on as it was: its generation and everybody's
part, unless the session of the one before had ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

from checkers.folds.history.group_values import group_request, joined, told_its_id
from checkers.folds.history.operations import end_of
from framework.history.pairing import Operation

ACTS: Final = ("commit", "beat")
"""What a process of an instance does while it lives."""
MOVES: Final = ("join", "leave")
NS_PER_MS: Final = 1_000_000

Place: TypeAlias = tuple[str, str, str | None]
"""(group, instance, the node that answered; None: any)."""


def of_instances(operations: Iterable[Operation]) -> list[Operation]:
    """Those of groups of which a member has an instance id, in the order of their invocation."""
    found = [each for each in operations if each.f in (*ACTS, *MOVES) and _names_a_group(each)]
    groups = {_group(each) for each in found if _instance(each) is not None}
    return sorted((each for each in found if _group(each) in groups), key=lambda each: each.index)


def _names_a_group(operation: Operation) -> bool:
    return isinstance(operation.value, dict) and "group" in operation.value


def _group(operation: Operation) -> str:
    return str(group_request(operation)["group"])


def _instance(operation: Operation) -> str | None:
    return group_request(operation).get("instance")


def _let_in(operation: Operation) -> bool:
    """Whether it is a join of a process that was told its id."""
    return operation.f == "join" and told_its_id(operation)


# --- who is over --------------------------------------------------------------------------


def acts_of_the_fenced(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Commits and heartbeats of a process of an instance after another had joined: the join of
    that, and the act. A heartbeat asks nobody but the coordinator, which may be one that was
    deposed and does not know it: only the node that had let the other one in has to refuse it."""
    born: dict[tuple[str, str], Operation] = {}
    joins: dict[Place, list[Operation]] = defaultdict(list)
    for each in operations:
        instance = _instance(each)
        if instance is not None and _let_in(each):
            born[_group(each), joined(each)["id"]] = each
            joins[_group(each), instance, None].append(each)
            joins[_group(each), instance, each.node].append(each)
    followers = {place: _Followers.of(found) for place, found in joins.items()}
    for act in operations:
        own = born.get((_group(act), group_request(act).get("id", ""))) if act.f in ACTS else None
        instance = _instance(act)
        if own is None or instance is None or (act.f == "beat" and act.node is None):
            continue
        place = (_group(act), instance, act.node if act.f == "beat" else None)
        after = followers[place].first_after(own) if place in followers else None
        if after is not None and after.precedes(act):
            yield after, act


@dataclass(frozen=True, slots=True)
class _Followers:
    """Joins by index. `earliest`: of each and those after it, the one that ended first."""

    indices: Sequence[int]
    earliest: Sequence[Operation]

    @classmethod
    def of(cls, joins: Sequence[Operation]) -> _Followers:
        earliest = accumulate(reversed(joins), _sooner)
        return cls([each.index for each in joins], list(earliest)[::-1])

    def first_after(self, join: Operation) -> Operation | None:
        """Of those that were asked for after that had ended, the one that ended first."""
        at = bisect_right(self.indices, end_of(join))
        return self.earliest[at] if at < len(self.earliest) else None


def _sooner(one: Operation, other: Operation) -> Operation:
    return min(one, other, key=end_of)


# --- who comes back -----------------------------------------------------------------------


def timely_returns(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Joins of an instance that is alone in its group, each with the one after it, where that ended
    while the session of the process before ran, and nobody had come or gone between."""
    groups: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        groups[_group(each)].append(each)
    for own in groups.values():
        moves = [each for each in own if each.f in MOVES]
        if len({_instance(each) for each in moves}) == 1:
            yield from _returns(moves, [each for each in own if each.f in ACTS and each.ok])


def _returns(
    moves: Sequence[Operation], acts: Sequence[Operation]
) -> Iterator[tuple[Operation, Operation]]:
    heard: dict[str, list[int | None]] = defaultdict(list)
    for act in acts:
        heard[group_request(act).get("id", "")].append(act.invoked_ns)
    ended: float = -1
    for number, (before, after) in enumerate(pairwise(moves)):
        if _forced(before):
            return  # it may take effect whenever it likes
        alone = (
            ended < before.index
            and before.precedes(after)
            and all(after.precedes(each) for each in moves[number + 2 : number + 3])
        )
        ended = max(ended, end_of(before))
        if alone and _let_in(before) and _let_in(after):
            known = [before.invoked_ns, *heard[joined(before)["id"]]]
            if _in_time(before, after, [each for each in known if each is not None]):
                yield before, after


def _forced(move: Operation) -> bool:
    """Somebody removes whoever is the instance then, and was not answered."""
    return move.f == "leave" and move.type == "info" and "id" not in group_request(move)


def _in_time(before: Operation, after: Operation, heard_ns: Sequence[int]) -> bool:
    """Whether the session that `before` asked for still ran when `after` ended. It runs anew from
    whatever the coordinator hears, which is not before the process said it."""
    session_ms = group_request(before).get("session_ms")
    began = before.invoked_ns
    if session_ms is None or began is None or after.completed_ns is None:
        return False
    last_ns = max((each for each in heard_ns if each < after.began_ns), default=began)
    return after.completed_ns - last_ns < session_ms * NS_PER_MS
