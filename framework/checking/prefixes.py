"""What can be said of a run by the beginning of its history.

Checkers that can (`live`) judge a run that goes on: what they call broken then stays broken,
whatever comes later. An operation that has not returned by then is pending, as it is.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa

from framework.checking.run_checks import RunCheck, RunChecker, judged_run
from framework.checking.runs import HISTORY, ledger_of, read_run
from framework.evidence.run_events import WHOLE_RUN
from framework.history.ranges import Range
from framework.history.reader import read_ranges
from framework.plugins import registry
from framework.plugins.checker import Clause, JudgesRuns, RunData, RunTables

BUDGET_S: Final = 1.0
"""Of the search of a key. What is not decided by then is for the check at the end."""


class JudgesPrefixes(JudgesRuns, Protocol):
    """What a checker has that is no `RunChecker` and can judge a run that goes on: what there is so
    far of some keys, without evidence of nodes."""

    name: str
    clauses: Sequence[Clause]
    live: Sequence[Clause]
    """Those of its clauses that, once broken, no later event mends, nor the end of an operation
    that is pending."""
    fs: Collection[str]
    """Of the operations that it judges, by their keys, each key by itself."""


LiveCheckers: TypeAlias = Mapping[str, RunChecker | JudgesPrefixes]
"""By name."""


def live_checkers(names: Iterable[str]) -> LiveCheckers:
    """Of these checkers those that can judge a run that goes on."""
    found: dict[str, RunChecker | JudgesPrefixes] = {}
    for name in sorted(names):
        checker: Any = registry.load("checkers", name)
        if getattr(checker, "live", ()):
            found[name] = checker
    return found


def rule_so_far(checker: RunChecker) -> RunCheck:
    """By which it judges a run that goes on."""
    return checker.check_run if checker.so_far is None else checker.so_far.check


def prefix(run: str, folder: Path, end: int) -> RunTables:
    """A run as far as the first `end` bytes of its history. Raises `UsageError`."""
    info = read_run(folder).info
    history = read_ranges([Range(str(folder / HISTORY), 0, 0, 0, end)])
    return RunTables(
        run=run,
        plan=info.plan,
        operations=history.operations,
        observations=history.observations,
        nemesis=history.nemesis,
        faults=ledger_of(info),
        evidence={},
    )


def judged_prefix(run: RunData, checkers: LiveCheckers) -> Iterator[pa.Table]:
    """`OUTCOME_ARROW` of all of them. One that fails says nothing."""
    rules = {n: rule_so_far(each) for n, each in checkers.items() if isinstance(each, RunChecker)}
    if rules:
        yield from judged_run(run, rules, WHOLE_RUN)
    for each in checkers.values():
        if not isinstance(each, RunChecker):
            with suppress(Exception):  # the check at the end says so
                yield each.judge_run(run, BUDGET_S)
