"""A flood of data requests delays no control request, and unsettles no cluster. Three nodes, each
controller and broker, are asked for some seconds while brokers are flooded, and then while not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median
from typing import Any

import pytest
from contract import Plants
from hypothesis import example, given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged
from planted_runs import PLAN, Story

import checkers.isolation as parts
from checkers.folds.history.peace import FOREVER_NS, Stretch
from checkers.isolation import (
    MEDIAN_OF,
    Disturbed,
    Isolation,
    IsolationOptions,
    Pair,
    Times,
    isolation,
)
from framework.evidence.machine import Machine
from framework.evidence.quorum import SnapshotWritten
from framework.history.event import CompletionType, observer_of
from framework.history.pairing import Operation
from framework.plugins.outcomes import CLIENT_TIMED_OUT, CONNECTION_FAILED, CONNECTION_LOST
from framework.verdict import Verdict
from tests.cases import cases

RECOVERY_S = 3.0
FLOOD_MS, DATA_MS, CONTROL_MS = 4000.0, 300.0, 8.0
ROUND_MS = 500.0
NAMES = ("n1", "n2", "n3")
NODES: Mapping[str, Any] = {
    name: {
        "ids": {"controller": number, "broker": number},
        "votes": True,
        "roles": ["controller", "broker"],
    }
    for number, name in enumerate(NAMES, 1)
}
CHECKER = Isolation()


@dataclass
class Flooded(Story):
    """What is asked takes `control_ms`, or what `slow` says for a node or a kind of request."""

    HOME = "n1"
    control_ms: float = CONTROL_MS
    slow: dict[str, float] = field(default_factory=dict)
    lists: str = "describe-cluster"
    leader: int = 1
    epoch: int = 1
    listed: set[int] = field(default_factory=lambda: {1, 2, 3})

    def __post_init__(self) -> None:
        self.plan = {**PLAN, "nodes": dict(NODES), "recovery_s": RECOVERY_S}

    # --- what nodes are asked

    def timed(self, node: str, f: str, ms: float, result: Any, error: str | None = None) -> None:
        """By the node's observer, and answered so much later."""
        asked = self.invoke(f, None, node=node)
        self.wait(ms)
        done = self.complete(asked, "ok" if error is None else "fail", result, error)
        self.operations.remove(done)
        self.observations.append(replace(done, process=observer_of(node)))

    def control(self, node: str, f: str) -> None:
        view = {"leader": self.leader, "leader_epoch": self.epoch, "high_watermark": 9}
        ms = self.slow.get(node, self.slow.get(f, self.control_ms))
        if ms == inf:
            self.timed(node, f, 1000, None, CLIENT_TIMED_OUT)
        else:
            self.timed(node, f, ms, view)

    def brokers(self, node: str) -> None:
        reported = [{"id": number, "host": "h", "port": 9092} for number in sorted(self.listed)]
        self.timed(node, self.lists, self.slow.get(self.lists, 5), {"brokers": reported})

    def round(self, node: str) -> None:
        self.control(node, "describe-node")
        self.control(node, "describe-quorum")
        self.brokers(node)

    def rounds(self, ms: float = FLOOD_MS, least: int = 1) -> None:
        """For so long, or a moment more; so many at least."""
        end_ns = self.now_ns + ms * 1e6
        while self.now_ns < end_ns or least > 0:
            for node in NAMES:
                self.round(node)
            self.wait(ROUND_MS)
            least -= 1

    # --- floods

    def begin_flood(self) -> Operation:
        asked = self.invoke("flood", None, {"connections": 300, "seconds": FLOOD_MS / 1000})
        self.wait(600)
        return asked

    def end_flood(self, asked: Operation, data_ms: Any = DATA_MS, **reported: Any) -> Operation:
        """`data_ms`: of all nodes, or by node."""
        begun_ms = asked.invoked_ns / 1e6 + 600  # type: ignore[operator]
        by_node = data_ms if isinstance(data_ms, dict) else dict.fromkeys(NAMES, data_ms)
        result = {
            **asked.value,
            "after_ms": 600.0,
            "lasted_ms": self.now_ns / 1e6 - begun_ms,
            "late_p99_ms": 3.0,
            "late_max_ms": 20.0,
            "nodes": [flooded_node(node, ms) for node, ms in by_node.items()],
            **reported,
        }
        return self.complete(asked, "ok", result)

    def flood(self, data_ms: Any = DATA_MS, **reported: Any) -> Operation:
        """With rounds beside it."""
        asked = self.begin_flood()
        self.rounds(least=MEDIAN_OF)
        return self.end_flood(asked, data_ms, **reported)

    def quiet(self, ms: float = 7000) -> None:
        self.rounds(ms)

    def turns(self, count: int = 2, **flood: Any) -> None:
        """Floods, and then none."""
        for _ in range(count):
            self.flood(**flood)
            self.quiet()

    def elect(self, leader: int = 2) -> None:
        self.leader, self.epoch = leader, self.epoch + 1

    def unsettled_flood(self, election: bool = True) -> None:
        """After half of it there is another leader, or a broker is fenced until it is over."""
        asked = self.begin_flood()
        self.rounds(FLOOD_MS / 2)
        self.unsettle(election)
        self.rounds(FLOOD_MS / 2)
        self.end_flood(asked)
        self.listed |= {3}

    def unsettle(self, election: bool) -> None:
        """Another leader, or one broker fewer."""
        if election:
            self.elect(leader=1 + self.leader % 3)
        else:
            self.listed -= {3}

    def unsettled_turns(self, election: bool = True) -> None:
        """Two of them, the floods unsettled."""
        for _ in range(2):
            self.unsettled_flood(election)
            self.quiet()


def flooded_node(node: str, ms: float | None, **reported: Any) -> dict[str, Any]:
    named = {"node": node, "connections": 300, "answered": 4000, "refused": 0}
    return {**named, "p50_ms": ms, "p99_ms": ms, **reported}


def begun() -> Flooded:
    story = Flooded()
    story.quiet()
    return story


def clean() -> Flooded:
    story = begun()
    story.turns()
    return story


PLANTED = Plants(clean)


# --- control requests


def in_line(story: Flooded, data_ms: Any = DATA_MS, **slow: float) -> Flooded:
    """What `slow` names waits so long beside floods, and not without."""
    for _ in range(2):
        story.slow = {name.replace("_", "-"): ms for name, ms in slow.items()}
        story.flood(data_ms)
        story.slow = {}
        story.quiet()
    return story


@PLANTED.violation("describe-node at n1 waits in line", "took 301.0 ms", "300.0 ms", on=begun)
def all_control_requests_wait_as_long_as_data_requests(story: Flooded) -> None:
    in_line(story, n1=300, n2=300, n3=300)


@PLANTED.violation("describe-node at n2 waits in line", on=begun)
def those_of_one_node_do(story: Flooded) -> None:
    """And not when a flood was asked for that did not take place."""
    story.complete(story.begin_flood(), "fail", error="CONNECTION_FAILED")
    story.quiet()
    in_line(story, n2=280)


@PLANTED.violation("describe-quorum at n3 waits in line", on=begun)
def one_kind_of_them_does(story: Flooded) -> None:
    in_line(story, describe_quorum=250)


@PLANTED.violation("describe-node at n1", "had no answer", on=begun)
def they_have_no_answer_in_time(story: Flooded) -> None:
    in_line(story, n1=inf)


def refused(story: Flooded, code: str, *, usual: str = "") -> Flooded:
    """At once, by n2, what it is asked of itself beside floods; by `usual` once without one."""
    story.turns()
    floods = [each for each in story.operations if each.f == "flood"]
    once = [bool(usual)]

    def refuses(each: Operation) -> Operation:
        beside = any(flood.began_ns < each.began_ns < flood.completed_ns for flood in floods)  # type: ignore[operator]
        quiet = once[0] and each.began_ns > floods[-1].completed_ns + 5e9  # type: ignore[operator]
        own = (beside and each.node == "n2") or (quiet and each.node == usual)
        if not own or each.f != "describe-node":
            return each
        once[0] &= beside
        return replace(each, type="fail", error=(code, ""), result=None)

    story.observations = [refuses(each) for each in story.observations]
    return story


@PLANTED.violation("describe-node at n2 waits in line", "it was refused at the median", on=begun)
def they_are_refused_at_once(story: Flooded) -> None:
    refused(story, "UNKNOWN_SERVER_ERROR")


@pytest.mark.parametrize("usual", ["n2", "n1"])
def test_what_is_refused_for_another_reason_waits_for_no_flood(usual: str) -> None:
    """Without one as well, or, as by who does not lead, by others at other times."""
    assert not judged(CHECKER, refused(begun(), "NOT_LEADER", usual=usual)).findings


def test_what_is_answered_beside_floods_alone_waits_for_none() -> None:
    story = begun()
    story.turns()
    floods = [each for each in story.operations if each.f == "flood"]

    def answered(each: Operation) -> Operation:
        beside = any(flood.began_ns < each.began_ns < flood.completed_ns for flood in floods)  # type: ignore[operator]
        if beside or each.f != "describe-node":
            return each
        return replace(each, type="fail", error=("NOT_LEADER", ""), result=None)

    story.observations = [answered(each) for each in story.observations]
    assert not judged(CHECKER, story).findings


@PLANTED.violation("describe-node at n1 waits in line", "it had no answer at the median", on=begun)
def all_but_one_have_no_answer_in_time(story: Flooded) -> None:
    in_line(story, n1=inf)
    own = [each for each in story.observations if (each.node, each.f) == ("n1", "describe-node")]
    vain = next(each for each in own if not each.ok)
    told = next(each for each in own if each.ok)
    answer = replace(vain, type="ok", error=None, result=told.result)
    story.observations = [answer if each is vain else each for each in story.observations]


@PLANTED.violation("describe-node at n2 waits in line", "took 6.0 ms", on=begun)
def what_a_fault_slows_is_no_measure(story: Flooded) -> None:
    """As of all the longer time without a flood."""
    story.control_ms = 5
    with story.fault(victims={"n1": {}}):
        story.control_ms = 290
        story.quiet(60_000)
    story.control_ms = 5
    in_line(story, n2=280)


@PLANTED.violation("heartbeat at n1 waits in line", on=Flooded)
def heartbeats_of_clients_do(story: Flooded) -> None:
    heartbeats(story, beside_ms=200)


def heartbeats(story: Flooded, beside_ms: float) -> None:
    """Each round has one, of a broker that a client plays."""

    def round(node: str) -> None:
        Flooded.round(story, node)
        if node == "n1":
            beat = story.invoke("heartbeat", "broker-9", None, node=node)
            story.wait(beside_ms if flooding[0] else 5)
            story.complete(beat, "ok", {})

    flooding = [False]
    story.round = round  # type: ignore[method-assign]
    story.quiet()
    for _ in range(2):
        flooding[0] = True
        story.flood()
        flooding[0] = False
        story.quiet()


def test_heartbeats_that_wait_for_nothing_are_in_order() -> None:
    story = Flooded()
    heartbeats(story, beside_ms=9)
    assert clause_of(judged(CHECKER, story), "undelayed").verdict is Verdict.VALID


def test_on_a_machine_that_is_slow_all_takes_longer() -> None:
    story = Flooded(control_ms=60)
    story.quiet(12_000)
    for _ in range(2):
        story.control_ms = 250
        story.flood(data_ms=1500)
        story.control_ms = 60
        story.quiet(12_000)
    assert clause_of(judged(CHECKER, story), "undelayed").verdict is Verdict.VALID


def test_what_takes_as_long_without_a_flood_waits_for_none() -> None:
    story = Flooded(control_ms=200)
    story.quiet(30_000)
    story.turns(4)
    assert clause_of(judged(CHECKER, story), "undelayed").verdict is not Verdict.INVALID


def test_a_few_bad_moments_are_no_median() -> None:
    story = begun()
    for _ in range(2):
        asked = story.begin_flood()
        story.rounds(2500)
        story.slow = dict.fromkeys(NAMES, 300.0)
        story.rounds(1)
        story.slow = {}
        story.rounds(2500)
        story.end_flood(asked)
        story.quiet()
    assert judged(CHECKER, story).verdict is Verdict.VALID


SHOWS_NOTHING: Mapping[str, Mapping[str, Any]] = {
    "requests that hardly wait are no flood": {"data_ms": 90.0},
    "nothing was answered": {"data_ms": None},
    "a harness that is late itself measures nothing": {"late_p99_ms": 80.0},
    "refusals are cheap": {"nodes": [flooded_node(node, DATA_MS, refused=200) for node in NAMES]},
    "no broker was flooded": {"nodes": []},
}


@pytest.mark.parametrize("reported", SHOWS_NOTHING.values(), ids=list(SHOWS_NOTHING))
def test_floods_that_show_nothing(reported: Mapping[str, Any]) -> None:
    story = begun()
    story.slow = {"describe-quorum": 310}
    story.turns(3, **reported)
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.UNKNOWN
    assert clause_of(result, "undelayed").compared == 0


@pytest.mark.parametrize(
    ("turns", "shows"),
    [
        ({"data_ms": 100.0}, True),
        ({"data_ms": 99.9}, False),
        ({"late_p99_ms": DATA_MS / 4}, True),
        ({"late_p99_ms": DATA_MS / 4 + 0.1}, False),
        ({"nodes": [flooded_node("n1", DATA_MS, refused=149)]}, True),
        ({"nodes": [flooded_node("n1", DATA_MS, refused=150)]}, False),
    ],
)
def test_where_a_flood_begins_to_show_something(turns: Mapping[str, Any], shows: bool) -> None:
    story = begun()
    story.turns(2, **turns)
    result = judged(CHECKER, story)
    assert bool(clause_of(result, "undelayed").compared) == shows
    assert clause_of(result, "no-election").compared == (2 if shows else 0)


def test_figures_are_of_the_slowest_and_of_all_floods_in_peace() -> None:
    story = in_line(begun(), data_ms=300.26, n1=inf, n2=142)
    with story.fault(victims={"n1": {}}):
        story.flood(data_ms=900)
    assert isolation(story.run_events()).figures == {
        "floods": 3,
        "floods_in_peace": 2,
        "data_request_ms": 300.3,
        "control_request_share": 0.4763,
    }


def test_a_bound_of_ones_own() -> None:
    story = begun()
    story.turns(data_ms=60.0)
    assert judged(CHECKER, story).verdict is Verdict.UNKNOWN
    assert judged(Isolation(IsolationOptions(busy=0.05)), story).verdict is Verdict.VALID
    assert judged(Isolation(IsolationOptions(busy=0.05, share=0.1)), story).verdict is (
        Verdict.VALID  # no more than without a flood
    )
    with pytest.raises(ValueError, match="share"):
        IsolationOptions(share=0)


@pytest.mark.parametrize("flooded", [("n1",), ("n1", "n2"), NAMES])
def test_each_node_has_to_be_flooded(flooded: Sequence[str]) -> None:
    """Else those that were not might as well have one queue for all."""
    story = begun()
    story.turns(data_ms=dict.fromkeys(flooded, DATA_MS))
    result = clause_of(judged(CHECKER, story), "undelayed")
    assert result.compared == len(flooded)
    assert result.verdict is (Verdict.VALID if flooded == NAMES else Verdict.UNKNOWN)


@pytest.mark.parametrize("quiet", [True, False])
def test_node_that_is_not_asked_beside_floods_or_without_one_is_not_known(quiet: bool) -> None:
    story = begun()
    story.turns()
    asked = [each for each in story.operations if each.f == "flood"]
    spans = [(each.began_ns, each.completed_ns or 0) for each in asked]
    story.observations = [
        each
        for each in story.observations
        if each.node != "n2"
        or quiet != any(since <= each.began_ns <= till for since, till in spans)
    ]
    assert_unknown(CHECKER, story, "undelayed")


@pytest.mark.parametrize("code", ["NO_CLIENT", None])
def test_what_the_harness_did_not_ask_or_was_never_answered_tells_nothing(code: str | None) -> None:
    story = in_vain(code)
    result = judged(CHECKER, story)
    assert not result.findings
    assert clause_of(result, "undelayed").verdict is Verdict.UNKNOWN


def in_vain(code: str | None, type: CompletionType = "fail") -> Flooded:
    """n1 answers no control request beside floods, and the others all."""
    story = begun()
    for _ in range(2):
        asked = story.begin_flood()
        for _ in range(10):
            for node in ("n2", "n3"):
                story.round(node)
            unanswered = story.invoke("describe-node", None, node="n1")
            story.wait(50)
            if code is not None:
                story.complete(unanswered, type, error=code)
                unanswered = story.operations[-1]
            story.operations.remove(unanswered)
            story.observations.append(replace(unanswered, process=observer_of("n1")))
        story.end_flood(asked)
        story.quiet()
    return story


@pytest.mark.parametrize("type", ["fail", "info"])
@pytest.mark.parametrize("code", [CONNECTION_FAILED, CONNECTION_LOST, CLIENT_TIMED_OUT])
def test_node_that_drops_control_requests_beside_floods(code: str, type: CompletionType) -> None:
    """However soon it does."""
    (found,) = judged(CHECKER, in_vain(code, type)).findings
    assert "describe-node at n1 waits in line" in found.message
    assert "had no answer at the median of 20" in found.message


def test_node_that_never_answers_waits_for_no_flood() -> None:
    story = clean()
    story.observations = [
        replace(each, type="fail", error=(CONNECTION_FAILED, "")) if each.node == "n1" else each
        for each in story.observations
    ]
    result = judged(CHECKER, story)
    assert not result.findings
    assert clause_of(result, "undelayed").verdict is Verdict.UNKNOWN


def test_a_node_that_never_answers_hides_no_other() -> None:
    story = in_line(begun(), n2=280)
    story.observations = [
        replace(each, type="fail", error=(CONNECTION_FAILED, "")) if each.node == "n1" else each
        for each in story.observations
    ]
    found = judged(CHECKER, story).findings
    assert found and all("at n2 waits in line" in each.message for each in found)


def test_what_is_asked_at_the_clients_listener_may_wait_in_line() -> None:
    assert judged(CHECKER, in_line(begun(), describe_cluster=300)).verdict is Verdict.VALID


def test_a_plan_that_names_no_nodes_is_not_one_without_such_nodes() -> None:
    story = clean()
    story.plan["nodes"] = {}
    found = clause_of(judged(CHECKER, story), "undelayed")
    assert found.verdict is Verdict.UNKNOWN and "by its plan" not in found.note


def test_a_flood_that_nothing_dates_shows_nothing() -> None:
    story = clean()
    timeless: dict[str, Any] = {"invoked_ns": None}
    story.operations = [replace(each, **timeless) for each in story.operations]
    assert isolation(story.run_events()).figures["floods"] == 0


def test_kinds_that_are_asked_seldom_are_judged_together() -> None:
    """Three and three of two kinds are enough for a median of six; three and one are not."""

    def asked(second: int) -> Any:
        story = Flooded()
        for beside in (False, True):
            flood = story.begin_flood() if beside else None
            for f, count in (("describe-node", 3), ("describe-quorum", second)):
                for _ in range(count):
                    story.timed("n1", f, 300 if beside else 5, {"leader": 1, "leader_epoch": 1})
            if flood is not None:
                story.end_flood(flood)
        return judged(CHECKER, story)

    (finding,) = asked(3).findings
    assert "a control request at n1 waits in line" in finding.message
    assert "at the median of 6" in finding.message
    assert not asked(1).findings


def test_those_that_waited_for_longest_are_shown() -> None:
    story = begun()
    asked = story.begin_flood()
    for ms in range(200, 212):
        story.timed("n1", "describe-node", ms, {"leader": 1, "leader_epoch": 1})
    flood = story.end_flood(asked)
    (found,) = judged(CHECKER, story).findings
    slowest = [each.index for each in story.observations[-10:]]
    assert list(found.operations) == [flood.index, *slowest]


def test_a_refusal_is_an_answer() -> None:
    story = begun()
    for _ in range(2):
        asked = story.begin_flood()
        for _ in range(10):
            story.timed("n1", "describe-node", 300, None, "NOT_LEADER_OR_FOLLOWER")
        story.end_flood(asked)
        story.quiet()
    assert clause_of(judged(CHECKER, story), "undelayed").verdict is Verdict.INVALID


def test_without_times_that_are_quiet_there_is_nothing_to_compare_with() -> None:
    story = Flooded()
    for _ in range(3):
        story.flood()
        story.rounds(1900)  # what a flood did may show so long after
    assert clause_of(judged(CHECKER, story), "undelayed").compared == 0


def test_after_a_flood_of_which_the_end_is_not_known_nothing_is_quiet() -> None:
    story = Flooded()
    story.begin_flood()
    story.quiet(30_000)
    story.turns()
    assert clause_of(judged(CHECKER, story), "undelayed").compared == 0


def test_a_flood_that_did_not_take_place() -> None:
    story = begun()
    for _ in range(2):
        story.complete(story.begin_flood(), "fail", error="CONNECTION_FAILED")
        story.quiet()
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.UNKNOWN and "a fault held" not in result.note
    assert set(result.figures.values()) == {0}
    assert clause_of(result, "no-election").verdict is Verdict.UNKNOWN


def test_controllers_that_are_no_brokers_have_no_data_requests() -> None:
    story = in_line(begun(), data_ms={"n2": DATA_MS, "n3": DATA_MS}, n1=300)
    story.plan["nodes"] = {
        name: {**node, "roles": [role]}
        for (name, node), role in zip(
            NODES.items(), ("controller", "broker", "broker"), strict=True
        )
    }
    result = judged(CHECKER, story)
    assert clause_of(result, "undelayed").verdict is None
    assert result.verdict is Verdict.VALID


def test_brokers_alone_are_asked_at_their_clients_listener() -> None:
    story = in_line(begun(), n2=300)
    story.plan["nodes"] = {**NODES, "n2": {**NODES["n2"], "roles": ["broker"]}}
    assert judged(CHECKER, story).verdict is Verdict.VALID
    assert clause_of(judged(CHECKER, story), "undelayed").verdict is Verdict.VALID


def test_under_faults_nothing_is_held_against_anybody() -> None:
    story = begun()
    for _ in range(3):
        with story.fault(victims={"n1": {}}):
            story.slow = dict.fromkeys(NAMES, 310.0)
            story.unsettled_flood()
            story.slow = {}
        story.quiet()
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.UNKNOWN and "a fault held during every flood" in result.note


TIMES = st.lists(st.integers(1, 600), min_size=6, max_size=30)


@settings(deadline=None, max_examples=cases(60))
@given(beside=TIMES, without=TIMES, slower=st.integers(1, 20))
@example(beside=[150] * 6, without=[1] * 6, slower=1)
@example(beside=[149] * 6, without=[1] * 6, slower=1)
@example(beside=[200] * 6, without=[50] * 6, slower=1)
@example(beside=[199] * 6, without=[50] * 6, slower=1)
def test_medians_decide_however_slow_the_machine(
    beside: Sequence[int], without: Sequence[int], slower: int
) -> None:
    story = Flooded()
    for ms in without:
        story.timed("n1", "describe-node", ms * slower - 1, {"leader": 1, "leader_epoch": 1})
    asked = story.begin_flood()
    for ms in beside:
        story.timed("n1", "describe-node", ms * slower - 1, {"leader": 1, "leader_epoch": 1})
    story.end_flood(asked, data_ms=DATA_MS * slower)
    waits = median(beside) >= DATA_MS / 2 and median(beside) >= 4 * median(without)
    found = clause_of(judged(CHECKER, story), "undelayed")
    assert (found.verdict is Verdict.INVALID) == waits


# --- elections, and brokers that are fenced


@PLANTED.violation("2 of 2 floods unsettled", "leader epoch 1, and then 2", on=begun)
def floods_cost_leaders_their_leadership(story: Flooded) -> None:
    story.unsettled_turns()


@PLANTED.violation("3 of 4 floods unsettled", "n1 told leader epoch", on=begun)
def most_floods_do(story: Flooded) -> None:
    for number in range(4):
        story.unsettled_flood() if number else story.flood()
        story.quiet(20_000)


@PLANTED.violation("2 of 2 floods unsettled", "n1 listed n3, and then no longer", on=begun)
def floods_have_a_broker_fenced(story: Flooded) -> None:
    story.unsettled_turns(election=False)


@PLANTED.violation("2 of 2 floods unsettled", "n1 listed n3, and then no longer", on=begun)
def floods_have_a_broker_fenced_by_what_is_said_of_topics(story: Flooded) -> None:
    story.lists = "describe-topics"
    story.unsettled_turns(election=False)


@PLANTED.violation("2 of 2 floods unsettled", "n1 listed n3, and then no longer", on=begun)
def floods_have_a_broker_fenced_when_they_are_just_over(story: Flooded) -> None:
    for _ in range(2):
        story.flood()
        story.listed -= {3}
        story.rounds(1000)
        story.listed |= {3}
        story.quiet()


@PLANTED.violation("2 of 2 floods unsettled", "leader epoch 1, and then 2", on=Flooded)
def floods_cost_leaderships_and_nobody_was_asked_without_one(story: Flooded) -> None:
    for _ in range(2):
        story.unsettled_flood()
        story.wait(5000)


BOTH = pytest.mark.parametrize("election", [True, False])


def named(election: bool) -> str:
    return "no-election" if election else "none-fenced"


@BOTH
def test_what_one_node_of_three_tells_shows_no_flood_that_unsettled_nothing(election: bool) -> None:
    """The others may be silent because they are busy with an election."""
    story = clean()
    floods = [each for each in story.operations if each.f == "flood"]
    story.observations = [
        each
        for each in story.observations
        if each.node == "n1"
        or not any(one.began_ns <= each.began_ns <= (one.completed_ns or 0) for one in floods)
    ]
    assert_unknown(CHECKER, story, named(election))
    assert clause_of(judged(CHECKER, clean()), named(election)).verdict is Verdict.VALID


@BOTH
def test_nodes_that_are_asked_in_vain_until_the_flood_is_over_tell_of_it_then(
    election: bool,
) -> None:
    story = begun()
    for _ in range(2):
        asked = story.begin_flood()
        for _ in range(4):
            for node in NAMES:
                story.timed(node, "describe-node", 300, None, CLIENT_TIMED_OUT)
                story.timed(node, "describe-cluster", 300, None, CLIENT_TIMED_OUT)
        story.unsettle(election)
        story.end_flood(asked)
        story.rounds(500)
        story.listed |= {3}
        story.quiet()
    (found,) = (each for each in judged(CHECKER, story).findings if "unsettled" in each.message)
    assert found.clause == named(election)


@BOTH
def test_one_flood_may_have_met_a_bad_moment(election: bool) -> None:
    story = begun()
    story.turns(2)
    story.unsettled_flood(election)
    story.quiet()
    reported = clause_of(judged(CHECKER, story), named(election))
    assert reported.verdict is Verdict.VALID and reported.compared == 2


@BOTH
def test_what_happens_as_often_without_a_flood_none_did(election: bool) -> None:
    story = begun()
    for _ in range(2):
        story.unsettled_flood(election)
        story.quiet()
        story.unsettle(election)
        story.quiet(2000)
        story.listed |= {3}
        story.quiet(1000)
    reported = clause_of(judged(CHECKER, story), named(election))
    assert reported.verdict is Verdict.UNKNOWN and reported.compared == 0


@BOTH
def test_on_a_machine_without_time_for_the_harness_it_may_happen(election: bool) -> None:
    story = begun()
    story.unsettled_turns(election)
    late = [
        replace(each, result={**each.result, "late_max_ms": 400.0}) if each.f == "flood" else each
        for each in story.operations
    ]
    assert judged(CHECKER, story).verdict is Verdict.INVALID
    story.operations = late
    assert clause_of(judged(CHECKER, story), named(election)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("late_ms", "verdict"), [(249.0, Verdict.INVALID), (250.0, Verdict.UNKNOWN)]
)
def test_machine_that_had_no_time_for_a_quarter_of_a_second(
    late_ms: float, verdict: Verdict
) -> None:
    story = begun()
    for _ in range(2):
        story.unsettled_flood()
        story.quiet()
    story.operations = [
        replace(each, result={**each.result, "late_max_ms": late_ms}) if each.f == "flood" else each
        for each in story.operations
    ]
    assert clause_of(judged(CHECKER, story), "no-election").verdict is verdict


@pytest.mark.parametrize(("recovery_s", "verdict"), [(1, Verdict.INVALID), (0, None)])
def test_time_to_recover_is_the_systems(recovery_s: float, verdict: Verdict | None) -> None:
    """Two seconds after a fault; where the plan does not say, it is half a minute."""
    story = begun()
    story.plan["recovery_s"] = recovery_s
    for _ in range(2):
        with story.fault(victims={"n1": {}}):
            story.wait(1000)
        story.wait(2000)
        story.unsettled_flood()
        story.quiet()
    assert clause_of(judged(CHECKER, story), "no-election").verdict is verdict


@BOTH
def test_shortly_after_a_fault_it_may_happen(election: bool) -> None:
    story = begun()
    for _ in range(2):
        with story.fault(victims={"n1": {}}):
            story.wait(1000)
        story.unsettled_flood(election)
        story.quiet()
    assert clause_of(judged(CHECKER, story), named(election)).note == "no flood was in peace"
    story.turns(2)
    reported = clause_of(judged(CHECKER, story), named(election))
    assert reported.verdict is Verdict.VALID and reported.compared == 2


@BOTH
def test_a_fault_soon_after_the_flood_may_have_done_it(election: bool) -> None:
    story = begun()
    for _ in range(2):
        story.unsettled_flood(election)
        with story.fault(victims={"n1": {}}):
            story.wait(1000)
        story.quiet()
    assert clause_of(judged(CHECKER, story), named(election)).verdict is None


@BOTH
def test_floods_are_held_against_times_without_one_alone(election: bool) -> None:
    """Where floods take most of the time, what they did is no measure of what else happens."""
    story = begun()
    for _ in range(6):
        story.unsettled_flood(election)
        story.quiet(2500)
    assert clause_of(judged(CHECKER, story), named(election)).verdict is Verdict.INVALID


@BOTH
def test_what_faults_do_is_no_measure_of_what_else_happens(election: bool) -> None:
    story = begun()
    for _ in range(4):
        with story.fault(victims={"n1": {}}):
            story.elect()
            story.listed -= {3}
            story.quiet(2000)
            story.listed |= {3}
        story.quiet(4000)
    story.unsettled_turns(election)
    assert clause_of(judged(CHECKER, story), named(election)).verdict is Verdict.INVALID


def test_one_election_that_many_nodes_tell_of_is_one() -> None:
    """Once in a long time without a flood is not as often as beside floods."""
    story = begun()
    story.elect()
    story.quiet(60_000)
    story.unsettled_turns()
    assert clause_of(judged(CHECKER, story), "no-election").verdict is Verdict.INVALID


def wrote_a_snapshot(node: str, after_ms: float = 1000) -> Flooded:
    """The node that led before each election, or another, writes one some time after it, or before
    it."""
    story = begun()
    for _ in range(2):
        before = story.leader
        if after_ms < 0:
            wrote(story, f"n{before}")
            story.wait(-after_ms)
        story.unsettled_flood()
        if after_ms > 0:
            story.wait(after_ms)
            wrote(story, f"n{before}" if node == "leader" else node)
        story.quiet()
    return story


def wrote(story: Flooded, node: str) -> None:
    story.tell(
        SnapshotWritten,
        node,
        end_offset=9,
        epoch=story.epoch,
        digest="d",
        bytes=9,
        records=1,
        high_watermark=9,
    )


def test_a_leader_that_lets_go_for_its_snapshot_lost_nothing() -> None:
    assert judged(CHECKER, wrote_a_snapshot("leader")).verdict is Verdict.VALID


@pytest.mark.parametrize("after_ms", [9000, -1000])
def test_a_snapshot_at_another_time_excuses_no_leader(after_ms: float) -> None:
    assert judged(CHECKER, wrote_a_snapshot("leader", after_ms)).verdict is Verdict.INVALID


def test_the_snapshot_of_another_excuses_no_leader() -> None:
    assert judged(CHECKER, wrote_a_snapshot("n3")).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("starved", "verdict"), [(("n1", "n2"), Verdict.VALID), (("n3",), Verdict.INVALID)]
)
def test_a_leader_that_had_no_time_may_write_its_snapshot_late(
    starved: Sequence[str], verdict: Verdict
) -> None:
    """What another node waited for is no reason: n1 and n2 led before."""
    story = wrote_a_snapshot("leader", 9000)
    waited = {node: [[0, 1_000_000, 900_000]] for node in starved}
    story.plan = {**story.plan, "machine": {"cores": 2, "took": [], "nodes": waited}}
    assert judged(CHECKER, story).verdict is verdict


def test_who_led_before_is_known_or_nobody_lost_anything() -> None:
    """An answer that knows no leader is of an election that has begun."""
    story = begun()
    for _ in range(2):
        story.leader = -1
        asked = story.begin_flood()
        story.rounds(FLOOD_MS / 2)
        story.elect(leader=1)
        story.rounds(FLOOD_MS / 2)
        story.end_flood(asked)
        story.quiet()
    assert clause_of(judged(CHECKER, story), "no-election").verdict is Verdict.VALID


def test_where_nodes_do_not_tell_of_snapshots_no_leader_is_accused() -> None:
    story = begun()
    story.unsettled_turns()
    story.plan["capabilities"] = ["kafka-topics"]
    assert judged(CHECKER, story).verdict is Verdict.INVALID
    story.plan["capabilities"] = ["kafka-topics", "snapshots"]
    assert clause_of(judged(CHECKER, story), "no-election").verdict is None


def test_a_broker_that_is_not_of_the_plan_comes_and_goes() -> None:
    story = begun()
    for _ in range(2):
        story.listed |= {301}
        asked = story.begin_flood()
        story.rounds(2000)
        story.listed -= {301}
        story.rounds(2000)
        story.end_flood(asked)
        story.quiet()
    assert judged(CHECKER, story).verdict is Verdict.VALID


def test_a_broker_that_comes_is_none_that_goes() -> None:
    story = begun()
    for _ in range(2):
        story.listed -= {3}
        asked = story.begin_flood()
        story.rounds(2000)
        story.listed |= {3}
        story.rounds(2000)
        story.end_flood(asked)
        story.quiet()
    assert clause_of(judged(CHECKER, story), "none-fenced").verdict is Verdict.VALID


def test_what_nobody_was_asked_beside_a_flood_is_not_known() -> None:
    story = begun()
    for _ in range(3):
        asked = story.begin_flood()
        story.wait(FLOOD_MS)
        story.end_flood(asked)
        story.wait(2500)
        story.elect()
        story.quiet()
    result = judged(CHECKER, story)
    for name in ("undelayed", "no-election", "none-fenced"):
        assert clause_of(result, name).compared == 0


@pytest.mark.parametrize(("nodes", "compared"), [(1, 2), (2, 0)])
def test_most_of_the_plans_nodes_have_to_tell(nodes: int, compared: int) -> None:
    """The only one is; one of two is not."""
    story = clean()
    story.plan["nodes"] = dict(list(NODES.items())[:nodes])
    story.observations = [each for each in story.observations if each.node == "n1"]
    assert clause_of(judged(CHECKER, story), "no-election").compared == compared


# --- parts, by themselves: to the ns

MS = 1_000_000


def answer(begin_ms: float, end_ms: float, index: int = 0, **more: Any) -> Operation:
    given: dict[str, Any] = {"f": "describe-node", "node": "n1", "type": "ok", **more}
    times = {"invoked_ns": round(begin_ms * MS), "completed_ns": round(end_ms * MS)}
    return Operation(index=index, end=index + 1, **times, **given)


def told(begin_ms: float, end_ms: float, says: str = "", in_vain: bool = False) -> Pair:
    """Two answers at once, at both ends of a time."""
    index = round(begin_ms) * 4
    first, last = (
        answer(at_ms, at_ms, index + more) for more, at_ms in enumerate((begin_ms, end_ms))
    )
    return Pair(first, last, in_vain, says)


def flood_of(begin_ms: float, end_ms: float) -> parts.Flooded:
    return parts.Flooded(
        operation=answer(begin_ms, end_ms, round(begin_ms) * 4 + 2, f="flood"),
        begin_ns=round(begin_ms * MS),
        end_ns=round(end_ms * MS),
        waited_ms={"n1": DATA_MS},
        late_ms=0.0,
        latest_ms=0.0,
    )


ONE = flood_of(1000, 5000)
"""Which tells for 2 s more."""
ALWAYS = [Stretch(0, FOREVER_NS, True)]


def times_of(*floods: parts.Flooded, stretches: Sequence[Stretch] = ALWAYS) -> Times:
    return Times([each.operation for each in floods], stretches, Machine())


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "beside"),
    [(1000, 7000, True), (999, 7000, False), (1000, 7001, False)],
)
def test_what_is_told_beside_a_flood(begin_ms: float, end_ms: float, beside: bool) -> None:
    assert told(begin_ms, end_ms).is_beside(ONE) == beside


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "around"),
    [
        (0, 10_000, True),
        (0, 12_000, True),  # half of it
        (0, 12_001, False),
        (2000, 12_000, True),
        (2000, 16_001, False),
    ],
)
def test_who_was_asked_in_vain_most_of_a_flood_was_silent_for_it(
    begin_ms: float, end_ms: float, around: bool
) -> None:
    assert told(begin_ms, end_ms, in_vain=True).is_around(ONE) == around
    assert not told(begin_ms, end_ms).is_around(ONE), "it was not asked"


@pytest.mark.parametrize(
    ("spans", "count", "total"),
    [
        ([], 0, 0),
        ([(0, 5)], 1, 5),
        ([(0, 5), (5, 9)], 1, 9),
        ([(0, 5), (6, 9)], 2, 8),
        ([(0, 10), (2, 5), (6, 12)], 1, 12),
    ],
)
def test_spans_that_overlap_are_one(
    spans: Sequence[tuple[int, int]], count: int, total: int
) -> None:
    assert parts._merged(spans) == (count, total)


def test_a_flood_is_over_two_seconds_after_its_end() -> None:
    times, begin, till = times_of(ONE), 1000 * MS, 7_000_000_000
    assert times.quiet(0, begin - 1) and not times.quiet(0, begin)
    assert times.quiet(till + 1, FOREVER_NS) and not times.quiet(till, FOREVER_NS)


def test_a_time_is_calm_from_a_faults_end_to_the_next_ones_begin() -> None:
    times = times_of(stretches=[Stretch(5, 100, True), Stretch(100, 200, False)])
    assert times.calm(5, 100)
    assert not times.calm(4, 50) and not times.calm(5, 101) and not times.calm(120, 150)
    assert times.calm(15, 50, 10) and not times.calm(14, 50, 10), "time to recover"
    assert not times_of(stretches=[]).calm(0, 1)


def test_a_flood_is_under_way_when_it_says_so() -> None:
    story = Flooded()
    done = story.end_flood(story.begin_flood(), after_ms=600.0, lasted_ms=4000.0)
    (flood,) = parts._floods([done])
    assert flood.begin_ns == done.began_ns + 600 * MS
    assert flood.end_ns == flood.begin_ns + 4000 * MS


@pytest.mark.parametrize(("at_ns", "over"), [(9, False), (10, True), (20, True), (21, False)])
def test_a_snapshot_at_both_ends_of_its_time_is_one_of_that_time(at_ns: int, over: bool) -> None:
    story = Flooded()
    wrote(story, "n1")
    (written,) = story.run_events().of(SnapshotWritten)
    written = replace(written, at_ns=at_ns, within_ns=0)
    assert parts._handed_over(10, 20, [written]) == over


@pytest.mark.parametrize(
    ("between", "in_vain"),
    [((), False), ((CLIENT_TIMED_OUT,), True), (("NO_CLIENT",), False), (("NOT_LEADER",), False)],
)
def test_who_is_asked_in_vain_between_two_answers(between: Sequence[str], in_vain: bool) -> None:
    story = Flooded()
    asked = [answer(0, 1), *(answer(2, 3, type="fail", error=(code, "")) for code in between)]
    story.observations = [*asked, answer(4, 5, 4)]
    ((_, _, found),) = parts._reported_by_node(story.run_events(), parts.VIEWS)
    assert found == in_vain


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "watches"),
    [(1000, 2000, True), (5000, 6000, True), (5001, 6000, False), (0, 10_000, False)],
)
def test_who_watches_a_flood(begin_ms: float, end_ms: float, watches: bool) -> None:
    assert bool(parts._watchers(ONE, [told(begin_ms, end_ms)])) == watches


@pytest.mark.parametrize(("begin_ms", "count"), [(999.999, 0), (1000, 5), (5000, 5), (5000.001, 0)])
def test_five_that_are_asked_while_it_goes_on_are_enough(begin_ms: float, count: int) -> None:
    story = Flooded()
    story.observations = [
        *(answer(begin_ms, begin_ms + 1) for _ in range(5)),
        *(answer(20_000, 20_001) for _ in range(5)),
    ]
    found = parts._beside_floods(story.run_events(), [ONE], times_of(ONE), 100)
    assert sum(len(own) for own, _ in found.values()) == count


def disturbed(floods: Sequence[parts.Flooded], stretches: Sequence[Stretch] = ALWAYS) -> Disturbed:
    story = Flooded()
    story.plan["recovery_s"] = 0
    return Disturbed(story.run_events(), times_of(*floods, stretches=stretches), floods, 100)


@pytest.mark.parametrize(("quiet_ms", "found"), [(6000, 0), (6001, 1)])
def test_what_floods_do_twice_as_often_as_happens_without_one(quiet_ms: int, found: int) -> None:
    """Each takes 3 s, of which two follow it; both did, and without one it happened once."""
    floods = [flood_of(10_000 * number, 10_000 * number + 1000) for number in (1, 2)]
    pairs = [told(10_000, 11_000, "a"), told(20_000, 21_000, "b")]
    pairs.append(told(50_000, 50_000 + quiet_ms, "c"))
    _, findings = disturbed(floods).by(pairs, parts.NO_ELECTION, "controller")
    assert len(findings) == found


def test_the_first_of_what_floods_did_is_shown() -> None:
    begins = [10_000 * number for number in range(1, 12)]
    floods = [flood_of(at_ms, at_ms + 1000) for at_ms in begins]
    pairs = [told(at_ms, at_ms + 1000, f"at {at_ms}") for at_ms in begins]
    _, (found,) = disturbed(floods).by(pairs, parts.NO_ELECTION, "controller")
    assert found.message.endswith("; ".join(f"at {at_ms}" for at_ms in begins[:4]))
    assert len(set(found.operations)) == 3 * 10


def test_silence_around_a_flood_in_which_a_fault_held_is_not_the_floods() -> None:
    silent = told(0, 10_000, in_vain=True)
    assert disturbed([ONE])._beside(ONE, [silent]) == [silent]
    later = [Stretch(0, 8000 * MS, True), Stretch(9000 * MS, FOREVER_NS, True)]
    assert disturbed([ONE], later)._beside(ONE, [silent]) == []
