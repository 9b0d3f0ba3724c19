"""Convergence (D.13)."""

from dataclasses import replace

import pytest
from contract import Planted, Plants
from judging import assert_unknown, clause_of, judged, silent
from planted_endings import clean
from planted_runs import MS, Story, assert_invalid, assert_valid, shown

from checkers.convergence import Convergence, convergence
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
    assert_invalid(convergence(out_of_service(state).run_events()), f"broker b2 was {state}")


PLANTED["broker out of service"] = Planted(
    ("broker b2 was fenced",), lambda: out_of_service("fenced")
)


def out_of_service(state: str, before_ms: float = 4_000) -> Story:
    story = clean()
    stop_ns = next(each.time_ns for each in story.events if each.fields.get("after") == "SHUTDOWN")
    if state == "fenced":
        late = story.bstate("b2", "FENCED", "ACTIVE")
    else:
        late = story.boot("b2", (1, 1, -1), log_end=20, last_epoch=1)
    story.events[-1] = replace(late, time_ns=stop_ns - round(before_ms * MS))
    return story


def test_broker_that_lost_its_lease_in_the_last_moment_is_not_accused() -> None:
    assert_valid(convergence(out_of_service("fenced", before_ms=1_000).run_events()))


@PLANTED.violation("u could not be read", "NOT_CONTROLLER")
def topic_cannot_be_read_in_the_end(story: Story) -> None:
    story.op("describe", "u", type="fail", error="NOT_CONTROLLER")


@PLANTED.violation("t/0 could not be read", "NOBODY")
def partition_cannot_be_read_in_the_end(story: Story) -> None:
    for _ in range(3):
        story.op("fetch", "t/0", {"consumer": "final", "from": 0}, type="fail", error="NOBODY")


def test_read_that_nobody_answered_once_says_nothing() -> None:
    """The time for final reads was over, or the machine had none."""
    story = clean()
    story.op("describe", "u", type="info", error="CLIENT_TIMED_OUT")
    story.invoke("describe", "v")
    assert_valid(convergence(story.run_events()))
    story.op("describe", "u", type="info", error="CLIENT_TIMED_OUT")
    assert_invalid(convergence(story.run_events()), "u could not be read", "2 tries")


@pytest.mark.parametrize(
    ("left_out", "clause"),
    [(("state",), "one-state"), (("state", "hw"), "caught-up"), (("boot", "bstate"), "in-service")],
)
def test_node_that_leaves_events_out_is_unknown(left_out: tuple[str, ...], clause: str) -> None:
    story = clean()
    for offset, broker in enumerate((4, 5, 6)):
        story.apply("c1", offset, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=offset)
    assert judged(Convergence(), story).verdict is Verdict.VALID
    assert_unknown(Convergence(), silent(story, *left_out, node="b2"), clause)


def test_node_that_tells_states_of_its_own_offsets_only_is_unknown() -> None:
    story = silent(clean(), "state", node="b2")
    story.state("b2", 19)
    assert_unknown(Convergence(), story, "one-state")


def test_run_whose_brokers_are_all_played_had_no_partition_to_lead() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "describe"]
    story.heartbeat(101, 7)
    story.describe("t", shown(1, [101], leader=-1), shown(1, [101], leader=-1, partition=1))
    result = judged(Convergence(), story)
    assert result.verdict is Verdict.VALID, result.findings
    assert clause_of(result, "led").verdict is None


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
