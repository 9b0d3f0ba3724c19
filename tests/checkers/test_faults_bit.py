"""Whether faults bit."""

from collections.abc import Callable
from typing import Any

import pytest
from contract import Plants
from judging import judged
from planted_runs import Story, assert_valid

from checkers.faults_bit import FaultsBit, faults_bit
from framework.verdict import Verdict


def clean() -> Story:
    story = Story()
    story.inject(1)
    story.inject(2)
    return story


def test_faults_that_bit_and_healed_are_accepted() -> None:
    outcome = faults_bit(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {"injections": 2, "bit": 2, "healed": 2, "bit.partition": 2}


def test_one_injection_shows_nothing() -> None:
    """It was looked at before, in it and after it: that is one sighting of each."""
    story = Story()
    story.inject(1)
    result = judged(FaultsBit(), story)
    assert result.verdict is Verdict.UNKNOWN
    assert {each.name: (each.compared, each.floor) for each in result.clauses} == dict.fromkeys(
        ("probed-before", "bit", "over"), (1, 2)
    )


@pytest.mark.parametrize(("bit", "compared"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)])
def test_bites_count_that_are_owed_and_the_others_once_these_are_there(
    bit: int, compared: int
) -> None:
    """Of four injections, two; and of another kind, all of one."""
    story = Story()
    for number in range(4):
        story.inject(number, effective=number < bit)
    story.inject(4, fault="kill")
    assert (faults_bit(story.run_events()).clauses or {})["bit"] == (compared + 1, 3)


def test_bites_of_one_kind_do_not_make_up_for_another() -> None:
    story = Story()
    for number in range(4):
        story.inject(number)
    story.inject(4, fault="kill", effective=False)
    assert (faults_bit(story.run_events()).clauses or {})["bit"] == (2, 3)


@pytest.mark.parametrize("plan", [{}, {"nemeses": []}, {"nemeses": ["none"]}])
def test_run_without_faults_is_accepted(plan: dict[str, Any]) -> None:
    story = Story()
    story.plan = plan
    outcome = faults_bit(story.run_events())
    assert_valid(outcome)
    assert (outcome.seen, outcome.note) == (1, "no faults asked")


def test_injections_that_nobody_asked_for_are_looked_at() -> None:
    story = Story()
    story.plan = {"nemeses": []}
    story.inject(effective=False)
    outcome = faults_bit(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "none was seen to bite" in outcome.note


def test_the_plan_names_faults_that_a_nemesis_has_under_another_name() -> None:
    story = Story()
    story.plan = {"nemeses": ["trouble"], "faults": ["partition", "none"]}
    story.inject()
    assert_valid(faults_bit(story.run_events()))
    story.plan["faults"] = ["partition", "kill"]
    assert faults_bit(story.run_events()).note == "never seen to bite: kill"


def test_faults_asked_and_none_injected_is_unknown() -> None:
    outcome = faults_bit(Story().run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.note == "faults were asked for (partition), and none was injected"


def test_where_none_bit_each_is_named_once() -> None:
    outcome = faults_bit(injected(effective=False)().run_events())
    assert outcome.note == (
        "faults were injected, and none was seen to bite; "
        "not seen to bite: partition halves (injection 1)"
    )


def injected(**more: Any) -> Callable[[], Story]:
    def story() -> Story:
        reported = Story()
        reported.inject(**more)
        return reported

    return story


PLANTED = Plants(clean, Verdict.UNKNOWN)
"""It says what the other verdicts are worth, and accuses nobody."""
HELD_BEFORE = {"entries": [{"step": "probed-before", "probe": {"bites": True}}]}


@PLANTED.violation("none was seen to bite", on=injected(effective=False))
@PLANTED.violation("none was seen to bite", on=injected(effective=None), name="it cannot be told")
@PLANTED.violation("none was seen to bite", on=injected(**HELD_BEFORE), name="it held before")
@PLANTED.violation("not seen to be healed", on=injected(healed=False), name="it goes on")
@PLANTED.violation(
    "not seen to be healed", on=injected(healed=None, healed_ns=None), name="it never ended"
)
@PLANTED.violation("not looked at before: partition", on=injected(entries=[]), name="no look")
@PLANTED.violation(
    "not looked at before: partition",
    on=injected(entries=[{"step": "probed-before", "probe": {"bites": None}}]),
    name="a look that failed",
)
@PLANTED.violation(
    "not looked at before: partition",
    on=injected(entries=[{"step": "probed-before", "probe": {"bites": "perhaps"}}]),
    name="a look that cannot be read",
)
@PLANTED.violation(
    "not looked at before: partition",
    on=injected(entries=[{"step": "probed-before", "probe": None}]),
    name="a look that nothing came of",
)
def it_did_not_bite(story: Story) -> None:
    """As it is."""


@PLANTED.violation(
    "partition was seen to bite 1 times in 3 injections, 2 are asked for", on=injected()
)
def few_of_them_bit(story: Story) -> None:
    story.inject(2, effective=False)
    story.inject(3, effective=False)


@PLANTED.violation("kill was seen to bite 1 times in 3 injections, 2 are asked for")
def few_of_a_kind_bit_and_all_of_another(story: Story) -> None:
    """Together most of them did."""
    for number in (2, 3, 4):
        story.inject(number)
    for number in (5, 6, 7):
        story.inject(number, fault="kill", effective=number == 5)


@PLANTED.violation("not looked at before: partition halves (injection 3)")
def one_of_many_was_not_looked_at_before(story: Story) -> None:
    story.inject(2)
    story.inject(3, entries=[])


def test_some_dull_injections_among_sharp_ones_are_named() -> None:
    story = Story()
    story.plan = {"nemeses": ["partition"]}
    story.inject(1)
    story.inject(2, effective=False)
    story.inject(3)
    outcome = faults_bit(story.run_events())
    assert_valid(outcome)
    assert "injection 2" in outcome.note
    assert outcome.clauses == {"probed-before": (3, 3), "bit": (2, 2), "over": (3, 3)}


def test_the_look_before_is_found_among_what_else_the_ledger_says() -> None:
    steps: list[dict[str, Any]] = [{"step": "chosen"}, {"step": "probed-before"}]
    steps[1]["probe"] = {"bites": False}
    assert_valid(faults_bit(injected(entries=steps)().run_events()))


def test_a_kind_that_never_bit_is_unknown_whatever_the_others_did() -> None:
    story = Story()
    story.plan = {"nemeses": ["partition", "kill"]}
    story.inject(1)
    outcome = faults_bit(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.note == "never seen to bite: kill"
