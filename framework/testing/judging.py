"""A story as the engine judges it: by a checker's rule, and by the floors of its clauses.

>>> judged(OneVote(), story).verdict
>>> clause_of(judged(OneVote(), story), "one-candidate").compared
"""

from collections.abc import Iterable
from dataclasses import dataclass

from framework.checking.clauses import ClauseResult
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.checking.run_checks import RunChecker
from framework.checking.stored import Runs
from framework.plugins.checker import EachRun, RunTables, SparkSession
from framework.testing.story import Story


def judged(checker: RunChecker, story: Story) -> CheckerResult:
    """What the engine makes of what the checker says of the story."""
    found = checker.check_run(story.run_events())
    parts = {"": found} if isinstance(found, Outcome) else found
    rows = [outcome_row("r", checker.name, key, outcome) for key, outcome in parts.items()]
    return checker_result(checker.name, checker.summary, rows, clauses=checker.clauses)


def clause_of(result: CheckerResult, name: str) -> ClauseResult:
    """What came of one clause."""
    (found,) = (each for each in result.clauses if each.name == name)
    return found


def each_run(spark: SparkSession, runs: Iterable[RunTables]) -> EachRun:
    """Runs in memory as `Tables.each`."""
    return Runs(spark, list(map(_Given, runs)))


@dataclass(frozen=True, slots=True)
class _Given:
    run: RunTables

    def open(self) -> RunTables:
        return self.run
