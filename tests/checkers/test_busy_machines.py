"""Rules with a time limit count the time that the machine gave: what takes long while it has none
to give is nobody's fault, what is wrong at any time is, and so is what took long beside."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from judging import silent
from planted_endings import clean
from planted_runs import MS, Story
from test_contract import CLOSE_NS, HERE_ALONE, case, with_own_clocks
from test_convergence import node_stays_behind

from checkers.convergence import convergence
from framework.verdict import Verdict

EXCUSED: Mapping[str, set[str]] = {
    "controlled-shutdown-safety": {
        "3.0 s before any record fenced it",
        "4 of 4 produces to t/0 failed while b1 (broker 4) left, all for 3.3 s",
        "clients that nobody answers",
        "5 of 6 produces to t/0 failed",
    },
    "convergence": {
        "node stays behind",
        "broker of a workload that leaves is not the end",
        "broker out of service",
        "cluster that did not settle",
        "cluster that did not settle and tells nothing",
        "topic cannot be read in the end",
        "topic of nodes that tell nothing cannot be read",
        "topic is in no brokers metadata",
        "partition cannot be read in the end",
        "partition without a leader though a broker of its isr works",
    },
    "fenced-serve-nothing": {
        "by the log",
    },
    "lease-exclusion": {
        "b3 had been gone for 15 s, and broker 6 was not fenced",
        "b3 had been gone for 15 s, and broker 6 still led 22222222-2222-2222-2222-222222222222/0",
    },
    "observed-cluster": {
        "a live broker is not listed in the end",
        "a live broker is in one kind of list alone",
        "a dead broker is in one kind of list",
        "a dead broker leads by metadata",
        "a node knows no leader for long",
        "a controller is left out in the end",
        "controllers are left out for long",
        "no controller is active for long",
        "a live broker is not listed for long",
        "a live broker is not listed after a run without faults",
        "a broker does not tell of itself from the first on",
        "a dead broker is listed for long",
        "a dead broker is listed for longer than the system says",
        "a node that lives is silent in the end",
        "a node tells nothing of itself",
        "a node has one excuse and another",
        "a node is silent for a while",
        "a node is silent whatever it is asked",
        "a node is silent each time that another one starts",
        "a node that the plan does not have is silent in peace",
        "two nodes are silent together",
        "a broker that is never started again is listed",
        "a stopped broker is listed for long",
        "a broker that is cut off is listed for long",
        "a leader that is cut off goes on",
        "a leader that tells of its log goes on",
        "a leader that is asked of brokers too goes on",
        "a leader goes on for as long as it takes to fence",
        "a replica stays out of sync",
        "one replica stays out of sync while another comes back",
        "a partition has no leader though one is in sync",
        "a node answers nothing but errors",
        "a node is silent under a long fault of another",
        "a node is silent between its own faults",
        "a node is silent under faults of another and between them",
        "a node knows no leader in every short peace",
    },
    "partition-data": {
        "8: unanswered",
        "8: unanswered, wherever it seeks",
        "8: unanswered to the last",
    },
    "process-health": {
        "b1's data loop stood still for 1500 ms",
        "b1's data loop stood still for 3000 ms",
        "a pause that a disk tells of",
        "a pause that a disk tells of, of another node than the paused one",
        "b2 fell silent",
        "silence of all",
        "silence within a life",
        "silence between pauses",
        "silence before a kill",
        "silence before a bounce",
        "c2's data loop stood still for 4000 ms",
        "stall beside a paused node",
        "b2's data loop stood still for 2000 ms",
        "silence of two",
        "start beside stalls",
        "silence from a kill to the next",
        "b1 was killed and started again 12 s before the end, and did not boot",
    },
    "zombie-fencing": {
        "serves after its lease by its own events",
        "serves absence after its lease",
        "serves one of several topics after its lease",
        "serves though cut off and leaves that out",
        "serves though no controller hears of it",
    },
}
"""Violations of checkers that have limits, that are none on a machine without time; all others of
theirs are some at any time. Of availability all of them."""

EXCUSED = {**EXCUSED, "availability": set(case("availability").planted)}


def took(story: Any, *spans: tuple[int, int, int]) -> Any:
    """The same story on a machine of which the harness measured that it took so much."""
    story.plan = {**story.plan, "machine": {"cores": 2, "took": [list(each) for each in spans]}}
    return story


@pytest.mark.parametrize("name", sorted(EXCUSED))
def test_a_machine_without_time_excuses_what_takes_long_and_nothing_else(name: str) -> None:
    it = case(name)
    excused = {
        violation
        for violation, (_, story) in it.planted.items()
        if it.judge(took(story(), (-1_000_000, 10_000_000, 10_780_000))).verdict is not it.verdict
    }
    assert excused == EXCUSED[name]


@pytest.mark.parametrize("name", sorted(EXCUSED))
def test_what_a_machine_took_long_before_excuses_nothing(name: str) -> None:
    it = case(name)
    for violation in EXCUSED[name]:
        _, story = it.planted[violation]
        assert it.judge(took(story(), (-1_000_000, -600_000, 392_000))).verdict is it.verdict, (
            violation
        )


@pytest.mark.parametrize("name", sorted(EXCUSED))
def test_a_machine_without_time_makes_no_clean_run_wrong(name: str) -> None:
    it = case(name)
    result = it.judge(took(it.clean, (-1_000_000, 10_000_000, 10_780_000)))
    assert result.verdict is Verdict.VALID, (result.note, result.findings)


@pytest.mark.parametrize("name", ["convergence", "process-health"])
def test_a_machine_excuses_no_nodes_that_are_elsewhere(name: str) -> None:
    it = case(name)
    for violation in {*EXCUSED[name]} - HERE_ALONE:
        _, story = it.planted[violation]
        elsewhere = with_own_clocks(story(), CLOSE_NS)
        result = it.judge(took(elsewhere, (-1_000_000, 10_000_000, 10_780_000)))
        assert result.verdict is it.verdict, violation


@pytest.mark.parametrize("took_ms", [0, 900, 1100])
def test_a_node_may_be_behind_by_seconds_that_it_was_given(took_ms: int) -> None:
    """3 s before the end something was committed that one has not; 2 s are allowed."""
    story = clean(lagging="b1", quiet_ms=3000)
    node_stays_behind(story)
    outcome = convergence(took(story, (100, 3_100, took_ms)).run_events())
    accused = [each for each in outcome.findings if "b1 had come to" in each.message]
    assert bool(accused) == (took_ms < 1000)


def test_what_could_be_read_on_a_machine_without_time_was_read() -> None:
    outcome = convergence(took(clean(), (-1_000_000, 10_000_000, 10_780_000)).run_events())
    assert outcome.verdict is Verdict.VALID
    assert outcome.clauses == convergence(clean().run_events()).clauses


def unsettled(reported: bool) -> Story:
    """After a minute."""
    story = clean() if reported else silent(clean())
    story.plan = {**story.plan, "recovery_s": 15}
    at = next(at for at, each in enumerate(story.nemesis) if each.f == "settle")
    begin = story.nemesis[at]
    end = replace(begin, time_ns=60_000 * MS, value={"settled": False, "missing": "c2"})
    story.nemesis[at : at + 1] = [replace(begin, type="invoke", value=None), end]
    return story


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize("took_ms", [0, 40_000, 50_000])
def test_a_cluster_that_does_not_settle_was_given_time(took_ms: int, reported: bool) -> None:
    """A minute, of which 15 s are enough; with less it is not known whether it would have, nor
    what else it would have come to."""
    story = unsettled(reported)
    if reported:
        node_stays_behind(story)
    outcome = convergence(took(story, (0, 60_000, took_ms)).run_events())
    accused = any("did not settle: c2" in each.message for each in outcome.findings)
    assert accused == (took_ms < 45_000)
    if not accused:
        assert outcome.verdict is Verdict.UNKNOWN
        assert outcome.note.endswith("the machine gave it too little time to")


@pytest.mark.parametrize(("took_ms", "accused"), [(29_000, True), (31_000, False)])
def test_a_cluster_that_recovers_slowly_is_given_half_of_the_time(
    took_ms: int, accused: bool
) -> None:
    """It says that it needs a minute, and so long the harness waited."""
    story = unsettled(reported=False)
    story.plan = {**story.plan, "recovery_s": 60}
    outcome = convergence(took(story, (0, 60_000, took_ms)).run_events())
    assert (outcome.verdict is Verdict.INVALID) == accused, outcome.note


@pytest.mark.parametrize(("begin_ms", "accused"), [(20_000, True), (50_000, False)])
def test_what_a_machine_upset_at_last_had_no_time_to_settle_again(
    begin_ms: int, accused: bool
) -> None:
    """For 3 s it gave nothing: that is long ago, or just before the minute was over."""
    spans = (begin_ms, begin_ms + 3_000, 3_000)
    outcome = convergence(took(unsettled(reported=False), spans).run_events())
    assert (outcome.verdict is Verdict.INVALID) == accused, outcome.note


def starved(story: Any, *nodes: str) -> Any:
    """The same story on a machine that had time for all but these nodes."""
    spans = [[-1_000_000, 10_000_000, 10_780_000]]
    waited = {node: spans if node in nodes else [] for node in story.plan["nodes"]}
    story.plan = {**story.plan, "machine": {"cores": 2, "took": [], "nodes": waited}}
    return story


@pytest.mark.parametrize(
    ("name", "violation", "node"),
    [
        ("fenced-serve-nothing", "by the log", "b1"),
        ("observed-cluster", "a node is silent for a while", "b1"),
        ("observed-cluster", "a leader that is cut off goes on", "c2"),
        ("process-health", "b1's data loop stood still for 1500 ms", "b1"),
        ("process-health", "b2 fell silent", "b2"),
        ("process-health", "c2's data loop stood still for 4000 ms", "c2"),
        (
            "process-health",
            "b1 was killed and started again 12 s before the end, and did not boot",
            "b1",
        ),
        ("zombie-fencing", "serves after its lease by its own events", "b1"),
    ],
)
def test_a_node_that_was_given_nothing_is_excused_and_no_other(
    name: str, violation: str, node: str
) -> None:
    it, (_, story) = case(name), case(name).planted[violation]
    others = story().plan["nodes"].keys() - {node}
    assert it.judge(starved(story(), node)).verdict is not it.verdict
    assert it.judge(starved(story(), *others)).verdict is it.verdict


@pytest.mark.parametrize("name", sorted(EXCUSED))
def test_a_node_that_was_given_nothing_makes_no_clean_run_wrong(name: str) -> None:
    it = case(name)
    for node in it.clean.plan["nodes"]:
        result = it.judge(starved(it.clean, node))
        assert result.verdict is Verdict.VALID, (node, result.note, result.findings)


def test_what_others_say_of_a_starved_broker_in_the_end_is_not_held_against_them() -> None:
    """It lost its lease, and is listed by nobody."""
    it = case("observed-cluster")
    _, story = it.planted["a live broker is not listed in the end"]
    assert it.judge(starved(story())).verdict is it.verdict
    assert it.judge(starved(story(), "b2")).verdict is not it.verdict
