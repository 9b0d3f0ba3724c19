"""What coordinators call members: the id by which a member commits, is heard, and is fenced."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from checkers.folds.groups.group_runs import Membership
from checkers.folds.history.group_values import joined

Told: TypeAlias = tuple[str, Membership]
"""An id, and whom it was told to."""


def told_ids(memberships: Iterable[Membership]) -> Sequence[Told]:
    """Of groups in which several members were told one."""
    by_group: dict[str, list[Told]] = defaultdict(list)
    for each in memberships:
        name = joined(each.operation).get("id")
        if name:
            by_group[each.group].append((name, each))
    return [
        told
        for own in by_group.values()
        if len({each.member for _, each in own}) > 1
        for told in own
    ]


def ids_of_two(told: Iterable[Told]) -> Iterator[tuple[str, Membership, Membership]]:
    """An id, whom it was told to first, and who else was told it."""
    first: dict[tuple[str, str], Membership] = {}
    for name, each in told:
        before = first.setdefault((each.group, name), each)
        if before.member != each.member:
            yield name, before, each
