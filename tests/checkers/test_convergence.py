"""Convergence (D.13)."""

from dataclasses import replace

import pytest
from contract import Plants
from planted_endings import clean
from planted_runs import Story, assert_invalid, assert_valid, shown

from checkers.convergence import convergence
from framework.verdict import Verdict


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
    story.faults = [replace(each, healed=None) for each in story.faults]
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "partition 1" in outcome.note


def test_node_without_events_is_unknown() -> None:
    story = clean()
    story.events = [event for event in story.events if event.node != "b2"]
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "b2" in outcome.note


PLANTED = Plants(clean)


@PLANTED.violation("below offset 20", "b2 other")
def two_states_of_one_log(story: Story) -> None:
    story.state("b2", 20, "other")


@PLANTED.violation("below offset 10", on=Story)
def two_states_count_in_a_broken_run_too(story: Story) -> None:
    story.state("c1", 10, "one")
    story.state("c2", 10, "other")


@PLANTED.violation("b1 had come to offset 10", "20 committed", on=lambda: clean(lagging="b1"))
def node_stays_behind(story: Story) -> None:
    story.events.insert(8, replace(story.state("b1", 10), time_ns=story.events[8].time_ns))
    story.events.pop()


@PLANTED.violation("b1 had come to offset 10", "5.0 s before", on=lambda: clean(lagging="b1"))
def broker_of_a_workload_that_leaves_is_not_the_end(story: Story) -> None:
    begin = story.events[0].time_ns
    final = next(mark.time_ns for mark in story.nemesis if mark.value == "final")
    for late, moment in (
        (story.state("b1", 10), begin),
        (story.bstate("g", "SHUTDOWN"), final + 1),
    ):
        story.events[story.events.index(late)] = replace(late, time_ns=moment)


def test_what_is_committed_in_the_last_moment_need_not_be_everywhere() -> None:
    story = clean(quiet_ms=0)
    assert_valid(convergence(story.run_events()))


@PLANTED.violation("did not settle: c2 did not answer")
def cluster_that_did_not_settle(story: Story) -> None:
    story.nemesis = [
        replace(each, value={"settled": False, "missing": "c2 did not answer"})
        if each.f == "settle" and each.type == "info"
        else each
        for each in story.nemesis
    ]


@pytest.mark.parametrize("state", ["fenced", "starting"])
def test_broker_is_not_active_at_the_end(state: str) -> None:
    story = clean()
    at = next(i for i, each in enumerate(story.events) if each.type == "exit")
    moment = story.events[at - 3].time_ns - 1
    if state == "fenced":
        late = story.bstate("b2", "FENCED", "ACTIVE")
    else:
        late = story.boot("b2", (1, 1, -1), log_end=20, last_epoch=1)
    story.events[-1] = replace(late, time_ns=moment)
    assert_invalid(convergence(story.run_events()), f"broker b2 was {state}")


@PLANTED.violation("u could not be read", "NOT_CONTROLLER")
def topic_cannot_be_read_in_the_end(story: Story) -> None:
    story.op("describe", "u", type="fail", error="NOT_CONTROLLER")


@PLANTED.violation("t/0 could not be read", "NOBODY")
def partition_cannot_be_read_in_the_end(story: Story) -> None:
    for _ in range(3):
        story.op("fetch", "t/0", {"consumer": "final", "from": 0}, type="fail", error="NOBODY")


def test_read_that_was_tried_again_is_a_read() -> None:
    story = clean()
    story.op("describe", "t", type="info", error="CLIENT_TIMED_OUT")
    assert_valid(convergence(story.run_events()))


@PLANTED.violation("t/0", "without a leader", "broker 4")
def partition_without_a_leader_though_a_broker_of_its_isr_works(story: Story) -> None:
    story.describe("t", shown(1, [4, 101], leader=-1))


def test_partition_of_brokers_that_are_gone_needs_no_leader() -> None:
    story = clean()
    story.describe("t", shown(1, [101, 102], leader=-1))
    assert_valid(convergence(story.run_events()))
