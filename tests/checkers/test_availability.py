"""Availability (D.21)."""

from dataclasses import replace

import pytest
from contract import Plants
from planted_runs import Story, assert_valid

from checkers.availability import availability
from framework.plugins.checker import CLIENTS, LEDGER
from framework.verdict import Verdict


def busy(ok_after: bool = True, *, seconds: int = 40) -> Story:
    """A create a second: before a fault of 5 s, in it, and long after it."""
    story = Story()
    for _ in range(5):
        tick(story, True)
    story.inject(lasts_ms=0)
    begin = story.now_ns
    for _ in range(5):
        tick(story, False)
    story.faults = [replace(story.faults[0], injected_ns=begin, healed_ns=story.now_ns)]
    story.event("c2", "elected", epoch=2, start_offset=0, votes=[])
    for _ in range(seconds):
        tick(story, ok_after)
    return story


def tick(story: Story, ok: bool) -> None:
    story.wait(998)
    if ok:
        story.create("t")
    else:
        story.op("create", "t", {}, type="info", error="REQUEST_TIMED_OUT")


def test_clean_availability_has_figures() -> None:
    outcome = availability(busy().run_events())
    assert_valid(outcome)
    figures = outcome.figures
    assert (figures["create.ok"], figures["create.info"], figures["create.fail"]) == (45, 5, 0)
    assert figures["create.p50_ms"] == figures["create.p99_ms"] == 1.0
    assert figures["ok_rate_in_faults"] == 0
    assert figures["ok_rate_outside_faults"] == 1
    assert figures["fault.1.first_write_after_s"] == pytest.approx(1.0, abs=0.01)
    assert figures["fault.1.lasted_s"] == pytest.approx(5, abs=0.01)
    assert figures["elections"] == 1


PLANTED = Plants(busy)


@PLANTED.violation("nothing succeeded within 30 s", "injection 1", on=lambda: busy(ok_after=False))
def nothing_succeeds_after_a_heal(story: Story) -> None:
    """As it is."""


def test_no_operations_are_nothing_seen() -> None:
    outcome = availability(replace(busy().run_events(), operations=()))
    assert (outcome.verdict, outcome.seen) == (Verdict.UNKNOWN, 0)
    assert outcome.note == "nothing to check was seen"


def test_too_little_time_after_a_heal_is_no_judgement() -> None:
    assert_valid(availability(busy(ok_after=False, seconds=10).run_events()))


def test_next_fault_soon_after_a_heal_is_no_judgement() -> None:
    story = busy(ok_after=False)
    healed = story.faults[0].healed_ns or 0
    story.inject(2, injected_ns=healed + 10**9, healed_ns=None, healed=None)
    assert_valid(availability(story.run_events()))


def test_function_that_never_succeeds_is_unknown() -> None:
    story = busy()
    story.op("delete", "t", type="fail", error="UNKNOWN_TOPIC_OR_PARTITION")
    outcome = availability(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "no delete" in outcome.note


@pytest.mark.parametrize("deed", ["start", "restart", "drain", "bounce", "replace"])
def test_deeds_that_are_not_done_in_time_are_no_unavailability(deed: str) -> None:
    story = busy()
    story.op(deed, "broker-301", type="info", error="TIMED_OUT")
    assert_valid(availability(story.run_events()))


def test_refused_zombies_are_no_unavailability() -> None:
    story = busy()
    story.heartbeat(4, 3, zombie="replay", type="fail", error="STALE_BROKER_EPOCH")
    assert_valid(availability(story.run_events()))


def test_no_operations_are_unknown() -> None:
    assert availability(Story().run_events()).verdict is Verdict.UNKNOWN


def test_silence_after_a_heal_is_proved_by_clients_and_the_ledger() -> None:
    (found,) = availability(busy(ok_after=False).run_events()).findings
    assert found.contracts == (CLIENTS, LEDGER)
