"""A story as the engine judges it: by a rule, and by the floors of its checker's clauses."""

from typing import TypeVar

from planted_runs import Story

from framework.checking.run_checks import RunChecker
from framework.testing.judging import clause_of, judged
from framework.verdict import Verdict

__all__ = ["assert_unknown", "clause_of", "judged", "silent"]
AnyStory = TypeVar("AnyStory", bound=Story)


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
