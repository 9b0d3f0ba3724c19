"""Which generations groups were in, by what clients were told, and what went back behind that."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checkers.folds.groups.group_runs import NEVER, GroupRun, commit_of
from checkers.folds.history.operations import end_of
from checkers.folds.history.sweeps import falls
from framework.history.pairing import Operation


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer shows that a group was in a generation (-1: it shows nothing). `due`: it must be no
    older than what was shown before; what is told late is not asked for that. `witness`: the
    operation itself, where `operation` begins with an earlier one."""

    operation: Operation
    generation: int
    due: int
    what: str
    witness: Operation

    @property
    def commits(self) -> bool:
        return self.operation.f == "commit"


def _shown(run: GroupRun) -> Mapping[str, Sequence[Shown]]:
    """By group."""
    found: dict[str, list[Shown]] = defaultdict(list)
    for each in run.memberships:
        number, due = each.generation, NEVER if each.late else each.generation
        what = f"{each.member} had joined"
        found[each.group].append(Shown(each.since, number, due, what, each.operation))
    for commit in (*run.commits, *run.refused):
        number = commit.generation if commit.taken else -1
        if commit.generation >= 0 and (commit.taken or commit.operation.failed):
            asked, due = commit.operation, commit.generation
            found[commit.place[0]].append(Shown(asked, number, due, "a commit was taken", asked))
    return found


def lasting(run: GroupRun) -> GroupRun:
    """Without who joined a group before anything was surely committed in it, for good: until then a
    system may forget it while nobody is in it, and number its generations anew."""
    deleted = {each.place for each in run.forgets}
    since: dict[str, int] = {}
    for commit in run.commits:
        group, end = commit.place[0], commit.operation.end
        if commit.operation.ok and end is not None and commit.place not in deleted:
            since[group] = min(since.get(group, end), end)
    return replace(
        run,
        memberships=[
            each
            for each in run.memberships
            if each.group in since and end_of(each.operation) > since[each.group]
        ],
    )


def invoked_late(run: GroupRun) -> Iterator[tuple[str, Shown, Shown]]:
    """Group, what showed a newer generation, and what was invoked afterwards in an older one."""
    for group, shown in _shown(run).items():
        for before, after in falls(
            shown, worth=lambda each: each.generation, due=lambda each: each.due
        ):
            yield group, before, after


def old_commits(run: GroupRun, operations: Iterable[Operation]) -> int:
    """Commits that clients tried in a generation after somebody had joined a newer one, whatever
    came of them."""
    return sum(
        any(
            join.group == commit.place[0]
            and 0 <= commit.generation < join.generation
            and join.operation.precedes(commit.operation)
            for join in run.memberships
        )
        for commit in (commit_of(each) for each in operations if each.f == "commit")
    )
