"""Faults that are called otherwise than the nemesis whose package they are in."""

from planted_runs import Story, assert_valid

from checkers.faults_bit import faults_bit
from framework.verdict import Verdict


def story_of(*faults: str) -> Story:
    """One injection, of a partition."""
    story = Story()
    story.plan = {"nemeses": ["chaos"], "faults": list(faults)}
    story.inject(1)
    return story


def test_the_faults_count_and_not_the_packages_name() -> None:
    assert_valid(faults_bit(story_of("partition").run_events()))


def test_each_fault_of_a_package_has_to_bite() -> None:
    outcome = faults_bit(story_of("partition", "drought").run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "never seen to bite: drought" in outcome.note
