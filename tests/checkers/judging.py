"""A story as the engine judges it: by a rule, and by the floors of its checker's clauses."""

from typing import TypeVar

from planted_runs import Story

from framework.checking.clauses import ClauseResult
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.checking.run_checks import RunChecker
from framework.verdict import Verdict

AnyStory = TypeVar("AnyStory", bound=Story)


def judged(checker: RunChecker, story: Story) -> CheckerResult:
    """What the engine makes of what the checker says of the story."""
    found = checker.check_run(story.run_events())
    parts = {"": found} if isinstance(found, Outcome) else found
    rows = [outcome_row("r", checker.name, key, outcome) for key, outcome in parts.items()]
    return checker_result(checker.name, "", rows, clauses=checker.clauses)


def clause_of(result: CheckerResult, name: str) -> ClauseResult:
    """What came of one clause."""
    (found,) = (each for each in result.clauses if each.name == name)
    return found


def silent(story: AnyStory, *types: str, node: str | None = None) -> AnyStory:
    """The same story, in which nodes - or this one - leave these events out; none: all."""
    story.events = [
        each
        for each in story.events
        if (types and each.type not in types) or (node is not None and each.node != node)
    ]
    return story


def assert_unknown(checker: RunChecker, story: Story, *clauses: str) -> None:
    """UNKNOWN, for these clauses had too little to compare."""
    result = judged(checker, story)
    assert result.verdict is Verdict.UNKNOWN, (result.note, result.findings)
    few = {each.name for each in result.clauses if each.verdict is Verdict.UNKNOWN}
    assert set(clauses) <= few, few
