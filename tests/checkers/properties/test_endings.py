"""Convergence (D.13), availability (D.21), and whether faults bit."""

from dataclasses import replace
from typing import Any

import pytest
from planted_runs import NODES, Story, assert_invalid, assert_valid, shown

from checkers.availability import availability
from checkers.convergence import convergence
from checkers.faults_bit import faults_bit
from framework.verdict import Verdict

BROKERS = [node for node in NODES if node.startswith("b")]


def clean(*, lagging: str | None = None, quiet_ms: float = 5000) -> Story:
    """Faults, healed; all nodes come to offset 20; final reads; an orderly stop."""
    story = Story()
    for node in NODES:
        story.boot(node)
    for node in BROKERS:
        story.bstate(node, "ACTIVE")
    story.inject(lasts_ms=50)
    story.create("t")
    story.hw("c1", 20, 1)
    for node in NODES:
        if node != lagging:
            story.hw(node, 20, 1, role="observer" if node in BROKERS else "follower")
            story.state(node, 20)
    story.final()
    story.describe("t", shown(1, [4]))
    story.wait(quiet_ms)
    story.hw("c1", 21, 1)
    story.bstate("b3", "SHUTDOWN", "ACTIVE")
    story.state("c1", 22, "later")
    for node in NODES:
        story.event(node, "exit", reason="asked to")
    return story


def test_clean_ending_is_accepted() -> None:
    assert_valid(convergence(clean().run_events()))


def test_run_without_a_final_phase_is_unknown() -> None:
    story = Story()
    story.state("c1", 10)
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "final phase" in outcome.note


def test_fault_that_was_not_healed_is_unknown() -> None:
    story = clean(lagging="b1")
    story.injections = [replace(each, healed=None) for each in story.injections]
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "partition 1" in outcome.note


def test_node_without_events_is_unknown() -> None:
    story = clean()
    story.events = [event for event in story.events if event.node != "b2"]
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "b2" in outcome.note


def test_two_states_of_one_log() -> None:
    story = clean()
    story.state("b2", 20, "other")
    outcome = convergence(story.run_events())
    assert_invalid(outcome, "below offset 20", "b2 other")


def test_two_states_count_in_a_broken_run_too() -> None:
    story = Story()
    story.state("c1", 10, "one")
    story.state("c2", 10, "other")
    assert_invalid(convergence(story.run_events()), "below offset 10")


def test_node_stays_behind() -> None:
    story = clean(lagging="b1")
    story.events.insert(8, replace(story.state("b1", 10), time_ns=story.events[8].time_ns))
    story.events.pop()
    assert_invalid(convergence(story.run_events()), "b1 had come to offset 10", "20 committed")


def test_broker_of_a_workload_that_leaves_is_not_the_end() -> None:
    story = clean(lagging="b1")
    begin = story.events[0].time_ns
    final = next(mark.time_ns for mark in story.marks if mark.value == "final")
    for late, moment in (
        (story.state("b1", 10), begin),
        (story.bstate("g", "SHUTDOWN"), final + 1),
    ):
        story.events[story.events.index(late)] = replace(late, time_ns=moment)
    assert_invalid(convergence(story.run_events()), "b1 had come to offset 10", "5.0 s before")


def test_what_is_committed_in_the_last_moment_need_not_be_everywhere() -> None:
    story = clean(quiet_ms=0)
    assert_valid(convergence(story.run_events()))


def test_cluster_that_did_not_settle() -> None:
    story = clean()
    story.marks = [
        replace(each, value={"settled": False, "missing": "c2 did not answer"})
        if each.f == "settle" and each.type == "info"
        else each
        for each in story.marks
    ]
    assert_invalid(convergence(story.run_events()), "did not settle: c2 did not answer")


@pytest.mark.parametrize("state", ["FENCED", "INITIAL"])
def test_broker_is_not_active_at_the_end(state: str) -> None:
    story = clean()
    at = next(i for i, each in enumerate(story.events) if each.type == "exit")
    moment = story.events[at - 3].time_ns - 1
    if state == "FENCED":
        late = story.bstate("b2", "FENCED", "ACTIVE")
    else:
        late = story.boot("b2", (1, 1, -1), log_end=20, last_epoch=1)
    story.events[-1] = replace(late, time_ns=moment)
    assert_invalid(convergence(story.run_events()), f"broker b2 was {state}")


def test_topic_cannot_be_read_in_the_end() -> None:
    story = clean()
    story.op("describe", "u", type="fail", error="NOT_CONTROLLER")
    assert_invalid(convergence(story.run_events()), "u could not be read", "NOT_CONTROLLER")


def test_partition_cannot_be_read_in_the_end() -> None:
    story = clean()
    for _ in range(3):
        story.op("fetch", "t/0", {"consumer": "final", "from": 0}, type="fail", error="NOBODY")
    assert_invalid(convergence(story.run_events()), "t/0 could not be read", "NOBODY")


def test_read_that_was_tried_again_is_a_read() -> None:
    story = clean()
    story.op("describe", "t", type="info", error="CLIENT_TIMED_OUT")
    assert_valid(convergence(story.run_events()))


def test_partition_without_a_leader_though_a_broker_of_its_isr_works() -> None:
    story = clean()
    story.describe("t", shown(1, [4, 101], leader=-1))
    assert_invalid(convergence(story.run_events()), "t/0", "without a leader", "broker 4")


def test_partition_of_brokers_that_are_gone_needs_no_leader() -> None:
    story = clean()
    story.describe("t", shown(1, [101, 102], leader=-1))
    assert_valid(convergence(story.run_events()))


# --- availability -------------------------------------------------------------------------


def busy(ok_after: bool = True, *, seconds: int = 40) -> Story:
    """A create a second: before a fault of 5 s, in it, and long after it."""
    story = Story()
    for _ in range(5):
        tick(story, True)
    story.inject(lasts_ms=0)
    begin = story.now_ns
    for _ in range(5):
        tick(story, False)
    story.injections = [replace(story.injections[0], injected_ns=begin, healed_ns=story.now_ns)]
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


def test_nothing_succeeds_after_a_heal() -> None:
    outcome = availability(busy(ok_after=False).run_events())
    assert_invalid(outcome, "nothing succeeded within 30 s", "injection 1")


def test_no_operations_are_nothing_seen() -> None:
    outcome = availability(replace(busy().run_events(), operations=()))
    assert (outcome.verdict, outcome.seen) == (Verdict.UNKNOWN, 0)
    assert outcome.note == "nothing to check was seen"


def test_too_little_time_after_a_heal_is_no_judgement() -> None:
    assert_valid(availability(busy(ok_after=False, seconds=10).run_events()))


def test_next_fault_soon_after_a_heal_is_no_judgement() -> None:
    story = busy(ok_after=False)
    healed = story.injections[0].healed_ns or 0
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


# --- faults -------------------------------------------------------------------------------


def test_faults_that_bit_and_healed_are_accepted() -> None:
    outcome = faults_bit(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {"injections": 1, "bit": 1, "healed": 1, "bit.partition": 1}


@pytest.mark.parametrize("nemeses", [[], ["none"]])
def test_run_without_faults_is_accepted(nemeses: list[str]) -> None:
    story = Story()
    story.plan = {"nemeses": nemeses}
    outcome = faults_bit(story.run_events())
    assert_valid(outcome)
    assert outcome.note == "no faults asked"


def test_faults_asked_and_none_injected_is_unknown() -> None:
    outcome = faults_bit(Story().run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "none was injected" in outcome.note


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ({"bit": False}, "none was seen to bite"),
        ({"bit": None}, "none was seen to bite"),
        (
            {"entries": [{"step": "probed-before", "probe": {"bites": True}}]},
            "none was seen to bite",
        ),
        ({"healed": False}, "not seen to be healed"),
        ({"healed": None, "healed_ns": None}, "not seen to be healed"),
    ],
)
def test_what_was_not_seen_is_unknown(more: dict[str, Any], note: str) -> None:
    story = Story()
    story.inject(**more)
    outcome = faults_bit(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert note in outcome.note


def test_some_dull_injections_among_sharp_ones_are_named() -> None:
    story = Story()
    story.plan = {"nemeses": ["partition"]}
    story.inject(1)
    story.inject(2, bit=False)
    outcome = faults_bit(story.run_events())
    assert_valid(outcome)
    assert "injection 2" in outcome.note


def test_a_kind_that_never_bit_is_unknown_whatever_the_others_did() -> None:
    story = Story()
    story.plan = {"nemeses": ["partition", "kill"]}
    story.inject(1)
    outcome = faults_bit(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "never seen to bite: kill" in outcome.note
