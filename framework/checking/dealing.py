"""Dealing checkers out to passes that are about as long: by how many rows each looks at."""

from collections.abc import Iterable, Mapping, Sequence

from framework.checking.contracts import evidence_looked_at
from framework.checking.run_checks import RunCheck
from framework.checking.sealing import Counts
from framework.plugins.checker import Checker


def rows_looked_at(checker: Checker, there: Counts) -> int:
    """By the rule of a checker, of a run: operations, observations and evidence. 0 where it does
    not say what it looks at."""
    check = getattr(checker, "check_run", None)
    if not isinstance(check, RunCheck):
        return 0
    return (
        _operations(check, there)
        + (there.observations if check.observations else 0)
        + sum(evidence_looked_at(check, there).values())
    )


def _operations(check: RunCheck, there: Counts) -> int:
    if check.as_rows or check.fs is None:
        return there.rows
    return sum(there.operations.get(f, 0) for f in check.fs)


def dealt(names: Iterable[str], loads: Mapping[str, int], count: int) -> list[Sequence[str]]:
    """The names in so many shares, the heaviest first, each to whoever has least; shares that would
    have none are left out. Without loads, as many each."""
    shares: list[list[str]] = [[] for _ in range(count)]
    total = [0] * count
    for name in sorted(names, key=lambda name: (-loads.get(name, 0), name)):
        least = total.index(min(total))
        shares[least].append(name)
        total[least] += 1 + loads.get(name, 0)
    return [sorted(share) for share in shares if share]
