"""Availability (D.21)."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import availability_by_objects as by_objects
import numpy as np
import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import MS, PLAN, Story, assert_invalid, assert_valid
from random_operations import histories

from checkers.availability import (
    FLOOR,
    Availability,
    AvailabilityOptions,
    availability,
)
from checkers.folds.history.peace import FOREVER_NS, Stretch, owed
from checkers.folds.serving.asked import asked_of
from checkers.folds.serving.streaks import Judge
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.evidence.run_events import FaultRecord
from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from framework.plugins.checker import CLIENTS, LEDGER, Count
from framework.verdict import Verdict
from tests.cases import cases

S = 10**9
BOUND_S = 15
ROLES = {"c": "controller", "b": "broker"}
NODES = {
    name: {"roles": [ROLES[name[0]]], "votes": name[0] == "c"}
    for name in ("c1", "c2", "c3", "b1", "b2", "b3")
}


def reported() -> Story:
    """A run without a word of its nodes, of a system that says how soon it recovers."""
    return Story(plan={**PLAN, "nodes": NODES, "recovery_s": BOUND_S})


def ask(
    story: Story, seconds: float, works: Iterable[str] = (), fails: Iterable[str] = ()
) -> Story:
    """Four times a second an operation of each kind: those that work, and those that are in
    vain."""
    for _ in range(round(seconds * 4)):
        story.wait(240)
        for f in works:
            story.op(f, "t")
        for f in fails:
            story.op(f, "t", type="info", error="REQUEST_TIMED_OUT")
    return story


BOTH = ("create", "read")


def fault(story: Story, during: Callable[[], object], **more: Any) -> None:
    """A fault that holds meanwhile, of everybody unless it says whom."""
    begin_ns = story.now_ns
    during()
    number = len(story.faults) + 1
    story.inject(number, lasts_ms=0, **{"victims": dict.fromkeys(NODES), **more})
    story.faults[-1] = replace(
        story.faults[-1],
        injected_ns=begin_ns,
        healed_ns=more.get("healed_ns", story.now_ns),
        healed=more.get("healed", True),
    )


def peaceful(story: Story | None = None) -> Story:
    """Ten s of a run in which all works."""
    return ask(story or reported(), 10, works=BOTH)


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


def test_figures_of_what_operations_took_and_of_how_many_succeeded() -> None:
    """Reads that take 1 to 20 ms, and some that are not done; half of them while a fault holds."""
    story = reported()
    for ms in range(1, 21):
        if ms == 11:
            begin_ns = story.now_ns
        asked = story.invoke("read", "t")
        story.wait(ms - 1)
        story.complete(asked, "ok")
    story.op("read", "t", type="info")
    story.op("read", "t", type="fail", error="NO")
    story.heartbeat(4, 3, zombie="replay", type="fail", error="STALE_BROKER_EPOCH")
    story.inject(lasts_ms=0)
    story.faults = [replace(story.faults[0], injected_ns=begin_ns, healed_ns=story.now_ns)]
    for type in ("ok", "fail", "fail"):
        story.op("write", "t", type=type, error="NO")
    story.invoke("write", "t")
    figures = availability(story.run_events()).figures
    assert {name: figures[f"read.{name}"] for name in ("ok", "info", "fail")} == {
        "ok": 20,
        "info": 1,
        "fail": 1,
    }
    assert [figures[f"read.p{percent}_ms"] for percent in (50, 95, 99)] == [10, 19, 20]
    assert figures["write.p50_ms"] == figures["write.p99_ms"] == 1
    assert figures["ok_rate_in_faults"] == round(10 / 12, 4)
    assert figures["ok_rate_outside_faults"] == round(11 / 14, 4)


def test_percentiles_are_of_the_nearest_rank() -> None:
    story = reported()
    for ms in range(1, 201):
        asked = story.invoke("read", "t")
        story.wait(ms - 1)
        story.complete(asked, "ok")
    figures = availability(story.run_events()).figures
    assert [figures[f"read.p{percent}_ms"] for percent in (50, 95, 99)] == [100, 190, 198]


def test_fault_holds_from_its_injection_until_it_is_healed() -> None:
    """The moment at which it is healed is after it."""
    story = reported()
    begin_ns, end_ns = 10 * S, 11 * S + 234_567_890
    story.inject(lasts_ms=0)
    story.faults = [replace(story.faults[0], injected_ns=begin_ns, healed_ns=end_ns)]
    for at_ns in (begin_ns, end_ns):
        story.now_ns = at_ns - MS
        story.event("c2", "elected", epoch=2, start_offset=0, votes=[])
    story.now_ns = end_ns - 2 * MS
    story.op("create", "t")
    story.op("create", "t")
    figures = availability(story.run_events()).figures
    assert figures["fault.1.lasted_s"] == 1.235
    assert (figures["fault.1.elections"], figures["elections_in_faults"]) == (1, 1)
    assert "fault.1.first_write_during_s" not in figures
    assert figures["fault.1.first_write_after_s"] == 0.002


@pytest.mark.parametrize(
    ("lasts_ns", "stuck_s", "found"), [(15 * S, 15, True), (14_987_600_000, 14.988, False)]
)
def test_what_is_in_vain_for_as_long_as_the_bound_is_stuck(
    lasts_ns: int, stuck_s: float, found: bool
) -> None:
    story = peaceful()
    begin_ns = story.now_ns + MS  # where the first one begins
    for _ in range(2):
        story.op("create", "t", type="info")
    story.now_ns = begin_ns + lasts_ns - 2 * MS
    unsaid = story.op("create", "t", type="info")
    story.operations[-1] = replace(unsaid, node=None)
    outcome = availability(story.run_events())
    assert outcome.figures["create.stuck_s"] == pytest.approx(stuck_s, abs=1e-9)
    assert bool(outcome.findings) == found


def test_what_is_done_to_processes_has_to_be_seen_as_well() -> None:
    story = busy()
    assert clauses_of(story)["kinds"] == (4, 4)
    story.op("restart", "broker-301")
    assert clauses_of(story)["kinds"] == (6, 6)


def test_figures_of_a_fault_are_of_writes_that_began_in_it_and_behind_it() -> None:
    story = reported()
    begun = story.invoke("create", "t")
    story.wait(999)
    begin_ns = story.now_ns
    story.complete(begun)
    story.wait(500)
    for f in ("describe", "follow", "metadata"):
        story.op(f, "t")
    story.op("create", "t", type="fail", error="NO")
    story.op("create", "u")
    first_ns = story.now_ns
    story.op("create", "v")
    story.inject(lasts_ms=0)
    end_ns = story.now_ns
    story.faults = [replace(story.faults[0], injected_ns=begin_ns, healed_ns=end_ns)]
    for epoch in (2, 3):
        story.event("c2", "elected", epoch=epoch, start_offset=0, votes=[])
    story.now_ns = end_ns - MS
    story.op("create", "w")  # it begins at the very moment
    figures = availability(story.run_events()).figures
    assert figures["fault.1.first_write_during_s"] == round((first_ns - begin_ns) / 1e9, 3)
    assert figures["fault.1.first_write_after_s"] == 0.001
    assert (figures["fault.1.elections"], figures["elections"]) == (0, 2)
    assert figures["elections_in_faults"] == 0


@pytest.mark.parametrize("is_fault", [False, True])
def test_a_node_need_not_answer_while_a_fault_holds_another(is_fault: bool) -> None:
    """Of whom it may have to wait."""
    story = peaceful()

    def asked() -> None:
        for _ in range(70):
            story.wait(240)
            story.op("read", "t", node="b1")
            story.op("read", "t", type="fail", error="CLIENT_TIMED_OUT", node="b2")

    if is_fault:
        fault(story, asked, victims={"b3": {}})
    else:
        asked()
    found = [each.message for each in availability(story.run_events()).findings]
    assert any("b2 answered nobody" in each for each in found) != is_fault


@pytest.mark.parametrize("code", ["CLIENT_TIMED_OUT", "CONNECTION_FAILED", "CONNECTION_LOST"])
def test_codes_that_no_node_gives(code: str) -> None:
    story = peaceful()
    for _ in range(70):
        story.wait(240)
        story.op("read", "t", node="b1")
        story.op("read", "t", type="fail", error=code, node="b2")
    assert_invalid(availability(story.run_events()), "b2 answered nobody")


def clean() -> Story:
    """A run in which partitions are used, too, of more than one node."""
    story = busy()
    for number in range(20):
        story.wait(240)
        for node in ("b1", "b2"):
            value = {"value": f"{node}-{number}", "acks": "all", "producer": "p"}
            story.op("produce", "log-0/0", value, {"offset": number}, node=node)
            asked = {"consumer": node, "from": 0}
            story.op("fetch", "log-0/1", asked, {"records": [], "position": 0}, node=node)
    return story


PLANTED = Plants(clean)


@PLANTED.violation(
    "stuck since 6.0 s",
    "no operation succeeded",
    "30 s are enough",
    on=lambda: busy(ok_after=False),
)
def nothing_succeeds_after_a_heal(story: Story) -> None:
    """As it is."""


@PLANTED.violation("stuck since 10.", "no create succeeded", on=peaceful)
def creates_alone_time_out(story: Story) -> None:
    ask(story, 60, works=["read"], fails=["create"])


@PLANTED.violation("no create on demand succeeded", on=peaceful)
def topics_that_clients_look_for_are_never_made(story: Story) -> None:
    """Though those that they ask for are."""
    for _ in range(70):
        ask(story, 1, works=BOTH)
        value = {"on_demand": True}
        story.op("create", "wanted", value, type="info", error="CLIENT_TIMED_OUT")


@PLANTED.violation("stuck since 10.", "no operation succeeded", on=peaceful)
def nothing_is_answered_from_the_first_fault_on(story: Story) -> None:
    """Each gap is shorter than the bound."""
    for _ in range(4):
        fault(story, lambda: ask(story, 5, fails=BOTH))
        ask(story, 6, fails=BOTH)


@PLANTED.violation("no operation succeeded", on=peaceful)
def all_is_dead_in_every_short_gap_and_comes_back_in_the_end(story: Story) -> None:
    for _ in range(9):
        fault(story, lambda: ask(story, 5, fails=BOTH))
        ask(story, 4.5, fails=BOTH)
    ask(story, 4, works=BOTH)
    story.final()
    ask(story, 3, works=BOTH)


@PLANTED.violation("no produce with acks=all on log-0/1 succeeded", on=peaceful)
def one_partition_is_dead_while_controllers_are_paused_and_in_between(story: Story) -> None:
    for _ in range(3):
        fault(
            story,
            lambda: produced(story, 6, "log-0/1 all"),
            victims={"c3": {}},
            ends_processes=False,
            fault="pause",
        )
        produced(story, 3, "log-0/1 all")
    produced(story, 4)


@PLANTED.violation("no operation succeeded", on=peaceful)
def pause_of_one_broker_stops_all(story: Story) -> None:
    fault(story, lambda: ask(story, 20, fails=BOTH), victims={"b1": {}})
    ask(story, 1, works=BOTH)


@PLANTED.violation("no create succeeded", on=peaceful)
def cut_that_spares_a_majority_stops_creates(story: Story) -> None:
    """The ledger says so: all nodes are its victims, as each drops somebody's packets."""
    spared = [{"step": "planned", "spared": ["c1", "c2", "b1", "b2", "b3"]}]
    fault(story, lambda: ask(story, 20, works=["read"], fails=["create"]), entries=spared)
    ask(story, 1, works=BOTH)


@PLANTED.violation("no operation succeeded", on=peaceful)
def processes_that_were_started_again_do_not_live(story: Story) -> None:
    """Kept from service by nothing but themselves; the probe finds them gone, as in the fault."""
    fault(story, lambda: ask(story, 2, fails=BOTH), fault="kill", healed=False)
    ask(story, 20, fails=BOTH)


@PLANTED.violation("no fetch on log-0/1 succeeded", on=peaceful)
def one_partition_is_not_served(story: Story) -> None:
    for _ in range(70):
        story.wait(240)
        story.op("fetch", "log-0/0")
        story.op("fetch", "log-0/1", type="fail", error="NOT_LEADER_OR_FOLLOWER")


def produced(story: Story, seconds: float, *vain: str, **how: str) -> Story:
    """Four times a second, on two partitions, a produce of each kind. `vain`: acks, or a partition
    and acks, of those that are not acknowledged; `how` they end."""
    for _ in range(round(seconds * 4)):
        story.wait(240)
        for key in ("log-0/0", "log-0/1"):
            for acks in ("all", "1", "0"):
                lost = acks in vain or f"{key} {acks}" in vain
                ends = {"type": "info", "error": "CLIENT_TIMED_OUT", **how} if lost else {}
                if acks == "0":
                    ends = {"type": "info", "error": "NO_ACKNOWLEDGEMENT"}
                story.op("produce", key, {"value": 1, "acks": acks}, node="b1", **ends)
    return story


@PLANTED.violation("no produce with acks=all succeeded", on=peaceful)
def nothing_is_acknowledged_by_all_and_all_by_one(story: Story) -> None:
    produced(produced(story, 1), 20, "all")
    produced(story, 1)


@PLANTED.violation("no produce with acks=1 succeeded", on=peaceful)
def nothing_is_ever_acknowledged_by_one(story: Story) -> None:
    produced(story, 20, "1")


@PLANTED.violation("no produce with acks=all on log-0/1 succeeded", on=peaceful)
def one_partition_acknowledges_nothing_by_all(story: Story) -> None:
    produced(story, 20, "log-0/1 all")
    produced(story, 1)


@PLANTED.violation("b2 answered nobody", on=peaceful)
def one_node_answers_nobody(story: Story) -> None:
    for _ in range(70):
        story.wait(240)
        story.op("read", "t", node="b1")
        story.op("read", "t", type="fail", error="CLIENT_TIMED_OUT", node="b2")


@PLANTED.violation("b1 answered nobody", on=peaceful)
def the_first_node_answers_nobody(story: Story) -> None:
    for _ in range(70):
        story.wait(240)
        story.op("read", "t", node="b2")
        story.op("read", "t", type="fail", error="CLIENT_TIMED_OUT", node="b1")


@PLANTED.violation("no operation succeeded", "without an answer", on=peaceful)
def clients_hang_for_ever(story: Story) -> None:
    for _ in range(3):
        story.invoke("read", "t")
    story.wait(20_000)
    story.invoke("read", "t")


@PLANTED.violation("no operation succeeded until 29.", on=peaceful)
def clients_hang_while_others_wait_for_long_and_are_answered(story: Story) -> None:
    """Nobody asks for anything any more when the last answer comes."""
    for _ in range(3):
        story.invoke("read", "t")
    long = story.invoke("create", "t")
    story.wait(20_000)
    story.complete(long)


@PLANTED.violation("no read succeeded", on=peaceful)
def nothing_can_be_read_in_the_end(story: Story) -> None:
    """Long after it said that it had settled. In the main phase it was a fault's doing."""
    fault(story, lambda: ask(story, 5, fails=BOTH))
    story.wait(14_000)
    story.final()
    ask(story, 3, works=["create"], fails=["read"])


@pytest.mark.parametrize(
    "planted", ["creates alone time out", "nothing is answered from the first fault on"]
)
def test_what_is_stuck_is_proved_without_a_word_of_the_nodes(planted: str) -> None:
    events = PLANTED[planted].story().run_events()
    events = replace(events, evidence=())
    (found,) = availability(events).findings
    assert found.contracts == (CLIENTS, LEDGER)


# --- what is no unavailability --------------------------------------------------------------


def test_fault_that_leaves_no_majority_excuses_all() -> None:
    for spared in (["c1", "b1", "b2", "b3"], ["c1", "c2", "c3", "b1"], []):
        story = peaceful()
        fault(story, lambda story=story: ask(story, 60, fails=BOTH), entries=[{"spared": spared}])
        assert_valid(availability(ask(story, 5, works=BOTH).run_events()))


def test_half_of_four_is_no_majority() -> None:
    story = peaceful()
    nodes = {f"c{number}": {"roles": ["controller"], "votes": True} for number in (1, 2, 3, 4)}
    story.plan = {**story.plan, "nodes": nodes}
    fault(story, lambda: ask(story, 30, fails=BOTH), victims={"c1": {}, "c2": {}})
    assert_valid(availability(ask(story, 5, works=BOTH).run_events()))


def test_minorities_of_two_faults_at_once_are_a_majority() -> None:
    story = peaceful()

    def second() -> None:
        fault(story, lambda: ask(story, 30, fails=BOTH), victims={"c2": {}})

    fault(story, second, victims={"c1": {}})
    assert_valid(availability(ask(story, 5, works=BOTH).run_events()))


@pytest.mark.parametrize(("gaps", "stuck"), [(6, False), (7, True)])
def test_recovery_that_takes_all_of_every_short_gap_is_none_for_long(
    gaps: int, stuck: bool
) -> None:
    """A healthy system may need that long, and each time it is disturbed anew: half of it counts,
    14 s, or 16 s."""
    story = peaceful()
    for _ in range(gaps):
        fault(story, lambda: ask(story, 2, fails=BOTH))
        ask(story, BOUND_S / 3 - 0.3, fails=BOTH)
    found = availability(ask(story, 1, works=BOTH).run_events())
    assert (found.verdict is Verdict.INVALID) == stuck, found


def placed(*replicas: int, victim: str = "b2") -> Story:
    """A partition is in vain while a node is paused, and its replicas are told by then."""
    story = peaceful()
    ids = {"b1": 4, "b2": 5, "b3": 6}
    nodes = {name: {**node, "ids": {"broker": ids.get(name, 0)}} for name, node in NODES.items()}
    story.plan = {**story.plan, "nodes": nodes}
    state = {"partition": 1, "leader": 4, "leader_epoch": 1, "isr": [4]}
    topic = {"name": "log-0", "topic_id": "T", "partitions": [{**state, "replicas": [*replicas]}]}
    story.ask("b1", "describe-topics", {"brokers": [], "topics": [topic] if replicas else []})

    def asked() -> None:
        for _ in range(80):
            ask(story, 0.25, works=BOTH)
            story.op("produce", "log-0/0")
            story.op("produce", "log-0/1", type="info", error="CLIENT_TIMED_OUT")

    fault(story, asked, victims={victim: {}}, fault="pause")
    story.op("produce", "log-0/1")
    return story


@pytest.mark.parametrize(
    ("replicas", "victim", "stuck"),
    [
        ((4, 6), "b2", True),
        ((4, 5), "b2", False),
        ((), "b2", False),
        ((), "c3", True),
        ((4, 5, 6), "c3", True),
        ((4, 99), "c3", False),
    ],
)
def test_partitions_are_owed_under_faults_that_leave_all_of_their_replicas_alone(
    replicas: tuple[int, ...], victim: str, stuck: bool
) -> None:
    """Of one that nobody was shown every broker may have a replica; and of a broker that is no node
    of the plan nobody knows whether it was left alone."""
    found = availability(placed(*replicas, victim=victim).run_events())
    assert [each.clause for each in found.findings] == ["partitions"] * stuck


def test_where_partitions_are_moved_to_is_not_known() -> None:
    story = placed(4, 6)
    story.op("reassign", "log-0/1", {"replicas": [4, 5]})
    assert not availability(story.run_events()).findings


def test_too_few_voters_excuse_partitions_that_are_left_alone() -> None:
    story = placed(4, victim="b2")
    story.faults = [replace(story.faults[0], victims={"c1": {}, "c2": {}})]
    assert not availability(story.run_events()).findings


def test_one_success_ends_what_adds_up() -> None:
    story = peaceful()
    for _ in range(10):
        fault(story, lambda: ask(story, 2, fails=BOTH))
        ask(ask(story, 12, fails=BOTH), 0.25, works=BOTH)
    outcome = availability(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["create.stuck_s"] == pytest.approx(12, abs=0.5)


def test_rare_operation_that_meets_a_bad_moment_is_none() -> None:
    """Its last success is long past, for nobody asked."""
    story = ask(peaceful(), 100, works=["read"])
    assert_valid(availability(ask(story, 3, works=["read"], fails=["create"]).run_events()))


def test_two_tries_prove_nothing() -> None:
    story = peaceful()
    for _ in range(2):
        story.op("create", "t", type="info", error="REQUEST_TIMED_OUT")
        ask(story, 20, works=["read"])
    assert_valid(availability(story.run_events()))


def test_what_is_refused_for_what_is_there_was_answered() -> None:
    story = peaceful()
    for _ in range(80):
        ask(story, 0.25, works=["read"])
        story.op("create", "t", type="fail", error="EXISTS", ext={"asserts": "present"})
    assert_valid(availability(story.run_events()))


@pytest.mark.parametrize("asserts", ["stale", "out-of-range"])
def test_what_is_refused_for_who_asks_was_not_done(asserts: str) -> None:
    story = peaceful()
    story.op("alter-isr", "t/0")
    for _ in range(80):
        ask(story, 0.25, works=["read"])
        story.op("alter-isr", "t/0", type="fail", error="NO", ext={"asserts": asserts})
    assert_invalid(availability(story.run_events()), "no alter-isr succeeded")


def test_what_is_always_refused_is_not_stuck_but_shows_nothing() -> None:
    """Maybe the system cannot do it, and says so; or nobody may."""
    story = peaceful()
    for _ in range(80):
        ask(story, 0.25, works=["read"])
        story.op("delete", "t", type="fail", error="NOT_AUTHORIZED")
    outcome = availability(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "0 of 80 delete (10 at least)" in outcome.note


def test_partitions_and_nodes_are_owed_in_peace_alone() -> None:
    """A partition may have its only replica on the paused broker."""
    story = peaceful()

    def paused() -> None:
        for _ in range(70):
            ask(story, 0.25, works=BOTH)
            story.op("produce", "log-0/0")
            story.op("produce", "log-0/1", type="info", error="CLIENT_TIMED_OUT", node="b2")

    fault(story, paused, victims={"b2": {}}, fault="pause")
    story.op("produce", "log-0/1", node="b2")
    assert_valid(availability(story.run_events()))


def test_refusals_under_a_fault_may_be_right_unless_all_is_refused() -> None:
    """A topic with three replicas cannot be made while one of three brokers is away."""

    def refused(*works: str) -> Story:
        story = peaceful()

        def asked() -> None:
            for _ in range(70):
                ask(story, 0.25, works=works)
                story.op("create", "t", type="fail", error="INVALID_REPLICATION_FACTOR")

        fault(story, asked, victims={"b2": {}}, fault="kill")
        return ask(story, 1, works=BOTH)

    assert_valid(availability(refused("read").run_events()))
    assert_invalid(availability(refused().run_events()), "no operation succeeded")


def test_cut_whose_healing_did_not_take_still_excuses() -> None:
    story = peaceful()
    fault(story, lambda: ask(story, 2, fails=BOTH), healed=False)
    assert not availability(ask(story, 60, fails=BOTH).run_events()).findings


def test_fault_that_was_never_healed_excuses_to_the_end() -> None:
    story = peaceful()
    fault(story, lambda: ask(story, 60, fails=BOTH), healed_ns=None, healed=None)
    assert not availability(story.run_events()).findings


def test_refused_zombies_are_no_unavailability() -> None:
    story = busy()
    for _ in range(150):
        story.wait(240)
        story.heartbeat(4, 3, zombie="replay", type="fail", error="STALE_BROKER_EPOCH")
    assert_valid(availability(story.run_events()))


def test_systems_own_bound_goes_before_ours_and_an_option_before_both() -> None:
    story = peaceful()
    ask(story, 20, works=["read"], fails=["create"])
    assert_invalid(availability(story.run_events()), "15 s are enough")
    story.plan = {**story.plan, "recovery_s": 25}
    assert_valid(availability(story.run_events()))
    del story.plan["recovery_s"]
    assert_valid(availability(story.run_events()))
    assert_invalid(availability(ask(story, 12, fails=["create"]).run_events()), "30 s are enough")


def test_produces_that_nobody_answers_are_not_missed() -> None:
    """acks=0: neither as a kind, nor of a partition, nor of a node, which tells nothing by them."""
    story = produced(clean(), 20)
    assert_valid(availability(story.run_events()))
    before = clauses_of(story)
    for _ in range(80):
        story.wait(240)
        value = {"value": 1, "acks": "0"}
        lost = {"type": "info", "error": "NO_ACKNOWLEDGEMENT"}
        story.op("produce", "log-0/7", value, node="b3", **lost)
    assert clauses_of(story) == before
    assert judged(story).verdict is Verdict.VALID


def test_too_few_replicas_under_a_fault_refuse_what_asks_for_all() -> None:
    story = produced(peaceful(), 1)

    def refused() -> None:
        produced(story, 20, "all", type="fail", error="NOT_ENOUGH_REPLICAS")

    fault(story, refused, victims={"b2": {}}, fault="kill")
    assert_valid(availability(produced(story, 1).run_events()))


# --- floors -------------------------------------------------------------------------------


def judged(story: Story) -> CheckerResult:
    """As the engine has it."""
    found = Availability().check_run(story.run_events())
    assert isinstance(found, Outcome)
    row = outcome_row("r", "availability", "", found)
    return checker_result("availability", "", [row], clauses=Availability.clauses)


def clauses_of(story: Story) -> dict[str, tuple[int, int]]:
    return {each.name: (each.compared, each.floor) for each in judged(story).clauses}


def hushed(story: Story, *fails: str) -> Story:
    """A fault of two s, and three in which these never succeed again: too short to be stuck."""
    works = [f for f in BOTH if f not in fails]
    fault(story, lambda: ask(story, 2, works=works, fails=fails))
    return ask(story, 3, works=works, fails=fails)


@pytest.mark.parametrize(
    ("fails", "said"), [(["create"], "create, of which 20 were tried"), (BOTH, "all of 40 opera")]
)
def test_what_never_succeeds_again_after_the_first_fault_is_unknown(
    fails: list[str], said: str
) -> None:
    result = judged(hushed(peaceful(), *fails))
    assert result.verdict is Verdict.UNKNOWN
    assert f"never again after the first fault: {said}" in result.note
    assert {each.name: (each.compared, each.floor) for each in result.clauses}["kinds"] == (5, 6)


def test_one_success_after_the_first_fault_shows_enough() -> None:
    story = ask(hushed(peaceful(), *BOTH), 0.25, works=BOTH)
    assert availability(story.run_events()).verdict is Verdict.VALID
    story.op("create", "t")
    more = hushed(story, *BOTH)
    assert clauses_of(more)["kinds"] == (6, 6), "after the first one it did succeed"


@pytest.mark.parametrize(("later_ns", "notes"), [(0, 0), (1, 1)])
def test_what_is_asked_as_the_first_fault_begins_comes_after_it(later_ns: int, notes: int) -> None:
    """It is the last that succeeds."""
    story = peaceful()
    last = story.op("create", "t")
    assert last.invoked_ns is not None
    hushed(story, "create")
    story.faults = [replace(story.faults[0], injected_ns=last.invoked_ns + later_ns)]
    assert availability(story.run_events()).note.count("never again after the first") == notes


@pytest.mark.parametrize(("tries", "notes"), [(2, 0), (3, 1)])
def test_three_tries_after_the_first_fault_show_something(tries: int, notes: int) -> None:
    story = peaceful()
    fault(story, lambda: None)
    for _ in range(tries):
        story.op("create", "t", type="info", error="TIMED_OUT")
    outcome = availability(story.run_events())
    assert ("never again after the first fault: all of" in outcome.note) == notes


def test_two_tries_after_the_first_fault_show_nothing() -> None:
    story = peaceful()
    fault(story, lambda: ask(story, 0.5, works=["read"], fails=["create"]))
    assert_valid(availability(ask(story, 3, works=["read"]).run_events()))


def test_three_tries_of_a_kind_after_the_first_fault_show_something() -> None:
    story = peaceful()
    fault(story, lambda: None)
    ask(story, 0.75, works=["read"], fails=["create"])
    assert "fault: create, of which 3 were tried" in availability(story.run_events()).note


def test_partition_that_was_never_served_is_unknown() -> None:
    """Too soon to be stuck."""
    story = clean()
    for _ in range(3):
        story.op("fetch", "log-0/2", type="info", error="CLIENT_TIMED_OUT", node="b1")
    assert clauses_of(story)["partitions"] == (2, 3)
    assert judged(story).verdict is Verdict.UNKNOWN
    story.op("fetch", "log-0/2", node="b1")
    assert judged(story).verdict is Verdict.VALID


def test_acks_that_are_never_given_are_unknown_before_they_are_stuck() -> None:
    """Of all partitions, or of one."""
    story = produced(busy(), 5, "all")
    outcome = availability(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "0 of 40 produce with acks=all (10 at least)" in outcome.note
    story = produced(clean(), 5, "log-0/1 all")
    assert clauses_of(story)["partitions"] == (4, 5)
    assert judged(story).verdict is Verdict.UNKNOWN
    assert judged(produced(story, 0.25)).verdict is Verdict.VALID


def test_partitions_of_one_kind_of_use_are_told_apart() -> None:
    story = reported()
    for _ in range(40):
        story.wait(240)
        for key in ("log-0/0", "log-0/1", "log-0/2"):
            story.op("fetch", key)
    assert clauses_of(story)["partitions"] == (3, 3)


def test_what_was_in_vain_under_a_fault_asks_for_no_more_successes() -> None:
    story = ask(reported(), 1, works=BOTH)
    fault(story, lambda: ask(story, 20, works=["read"], fails=["create"]))
    ask(ask(story, 0.5, works=BOTH), 10, works=["read"])
    assert "too little succeeded" not in judged(story).note


def test_node_that_never_answered_is_unknown() -> None:
    story = clean()
    for _ in range(3):
        story.op("read", "t", type="info", error="CLIENT_TIMED_OUT", node="b3")
    assert clauses_of(story)["nodes"] == (3, 4)
    assert judged(story).verdict is Verdict.UNKNOWN
    story.op("read", "t", type="fail", error="NOT_LEADER", node="b3")
    assert clauses_of(story)["nodes"] == (4, 4)


def test_node_that_clients_asked_in_vain_and_that_answered_the_observer_is_not_silent() -> None:
    """They asked while it started, found another one, and asked no more."""
    story = clean()
    for _ in range(3):
        story.op("fetch", "log-0/1", type="fail", error="CONNECTION_FAILED", node="b3")
    story.ask("b3", "describe-node", type="fail", error="CONNECTION_FAILED")
    story.ask("b3", "describe-node", type="fail", error="NO_CLIENT")
    story.ask("b4", "describe-node", {})
    assert clauses_of(story)["nodes"] == (3, 4), "neither it nor another one that nobody asked"
    assert judged(story).verdict is Verdict.UNKNOWN
    story.ask("b3", "describe-node", {})
    assert clauses_of(story)["nodes"] == (4, 4)
    assert judged(story).verdict is Verdict.VALID, judged(story).note


@pytest.mark.parametrize("victims", [NODES, {"b3": {}}])
def test_what_was_tried_under_faults_alone_need_not_have_worked(victims: dict[str, Any]) -> None:
    """Also where most of the system was left alone."""
    story = clean()

    def asked() -> None:
        for _ in range(3):
            story.op("fetch", "log-0/2", type="info", error="CLIENT_TIMED_OUT", node="b3")

    fault(story, asked, victims=victims)
    found = clauses_of(story)
    assert (found["partitions"], found["nodes"]) == ((2, 2), (3, 3))


def test_a_fault_may_hold_from_the_begin_on() -> None:
    story = reported()

    def asked() -> None:
        for _ in range(3):
            story.op("fetch", "log-0/2", type="info", error="CLIENT_TIMED_OUT")

    fault(story, asked)
    assert availability(peaceful(story).run_events()).clauses["partitions"] == (0, 0)


def test_zombies_and_nodes_that_are_not_of_the_plan_are_not_missed() -> None:
    """Nor what is done to processes, which no node answers."""
    story = clean()
    for _ in range(3):
        story.op("produce", "log-0/9", {"zombie": "old"}, type="fail", error="FENCED")
        story.op("read", "t", type="info", error="CLIENT_TIMED_OUT", node="x9")
        story.op("restart", "broker-3", type="info", error="CLIENT_TIMED_OUT", node="b3")
    found = clauses_of(story)
    assert (found["partitions"], found["nodes"]) == ((2, 2), (3, 3))


def test_nodes_are_told_apart_by_the_plan_and_by_who_was_asked() -> None:
    story = clean()
    story.plan = {**story.plan, "nodes": {"b1": {}, "b2": {}}}
    assert clauses_of(story)["nodes"] == (2, 2)
    story.operations = [replace(each, node=None) for each in story.operations]
    told = availability(story.run_events()).clauses["nodes"]
    assert told == "clients do not say whom they ask"
    story = clean()
    story.plan = {**story.plan, "nodes": {"b1": {}}}
    told = availability(story.run_events()).clauses["nodes"]
    assert told == "no nodes that could be told apart"


def test_system_without_partitions_or_nodes_gives_no_occasion() -> None:
    story = busy()
    story.plan = {}
    result = judged(story)
    assert result.verdict is Verdict.VALID
    assert [each.verdict for each in result.clauses] == [Verdict.VALID, None, None]


def test_no_operations_are_nothing_seen() -> None:
    outcome = availability(replace(busy().run_events(), operations=()))
    assert (outcome.verdict, outcome.seen) == (Verdict.UNKNOWN, 0)
    assert outcome.note == "nothing to check was seen"


def test_function_that_never_succeeds_is_unknown() -> None:
    story = busy()
    story.op("delete", "t", type="fail", error="UNKNOWN_TOPIC_OR_PARTITION")
    outcome = availability(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "0 of 1 delete (1 at least)" in outcome.note
    assert clauses_of(story)["kinds"] == (5, 6)


def test_what_is_asked_for_in_the_end_alone_has_no_floor() -> None:
    story = busy()
    story.final()
    for _ in range(2):
        story.op("delete", "t", type="fail", error="NO")
    assert clauses_of(story)["kinds"] == (4, 4)


def test_what_succeeds_under_a_fault_counts_with_what_could() -> None:
    story = peaceful()
    fault(story, lambda: [story.op("write", "t") for _ in range(2)])
    ask(story, 0.25, works=(*BOTH, "write"))
    for tried, verdict in ((12, Verdict.VALID), (1, Verdict.UNKNOWN)):
        for _ in range(tried):
            story.op("write", "t", type="fail", error="NO")
        outcome = availability(story.run_events())
        assert outcome.verdict is verdict, outcome.note
    assert "3 of 16 write (4 at least)" in outcome.note


def refused_after_a_fault(*behind: str, late_s: float = 0) -> Outcome:
    """Two writes that work, a fault of all, and twenty that are refused; then what comes `behind`.
    All else works all the time."""
    story = peaceful(ask(reported(), 0.5, works=("write",)))
    fault(story, lambda: ask(story, 1, works=BOTH))
    story.wait(late_s * 1000)
    for kind in (*["refused"] * 20, *behind):
        story.wait(240)
        story.op("read", "t")
        story.op("write", "t", **({"type": "fail", "error": "NO"} if kind == "refused" else {}))
    ask(story, 1, works=BOTH)
    return availability(story.run_events())


def test_what_is_refused_before_its_kind_works_again_is_the_recovery_s() -> None:
    assert_valid(refused_after_a_fault("done"))


def test_what_is_refused_once_its_kind_works_again_asks_for_success() -> None:
    outcome = refused_after_a_fault("done", *["refused"] * 13)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "3 of 36 write (4 at least)" in outcome.note


def test_recovering_takes_no_longer_than_the_bound() -> None:
    assert "3 of 23 write (5 at least)" in refused_after_a_fault("done", late_s=BOUND_S).note


def test_a_kind_that_is_refused_from_a_fault_on_shows_nothing() -> None:
    assert "never again after the first fault: write" in refused_after_a_fault().note


@pytest.mark.parametrize(("tries", "enough"), [(1, True), (7, True), (8, False), (10, False)])
def test_what_is_rarely_asked_for_may_succeed_in_the_end(tries: int, enough: bool) -> None:
    """And once is enough where it was asked for fewer than eight times, as ever."""
    story = clean()
    for _ in range(tries):
        story.op("delete", "t", type="fail", error="NO")
    ask(story, 1, works=BOTH)
    story.final()
    story.op("delete", "t")
    outcome = availability(story.run_events())
    assert (outcome.verdict is Verdict.VALID) == enough, outcome.note


@pytest.mark.parametrize(("tries", "enough"), [(8, True), (9, False)])
def test_what_is_not_rarely_asked_for_is_to_succeed_before_the_end(
    tries: int, enough: bool
) -> None:
    story = clean()
    story.op("delete", "t")
    for _ in range(tries):
        story.op("delete", "t", type="fail", error="NO")
    story.final()
    story.op("delete", "t")
    outcome = availability(story.run_events())
    assert (outcome.verdict is Verdict.VALID) == enough, outcome.note


def test_what_rarely_works_under_faults_is_a_sign_all_the_same() -> None:
    story = clean()

    def asked(works: bool) -> None:
        for number in range(5):
            story.op("wait", "g", **({} if works and not number else {"type": "fail"}))

    fault(story, lambda: asked(True))
    bare = clean()
    fault(bare, lambda: None)
    outcome = availability(story.run_events())
    assert due(outcome) == due(availability(bare.run_events())) + 2


@pytest.mark.parametrize(
    ("in_faults", "in_peace", "missed"),
    [(1, 2, 0), (7, 2, 0), (1, 3, 1), (0, 1, 1), (0, 2, 1), (8, 2, 1), (10, 0, 1)],
)
def test_what_is_rarely_asked_for_and_meets_faults_need_not_have_worked(
    in_faults: int, in_peace: int, missed: int
) -> None:
    """Then it is no sign that is due, either."""
    story = clean()

    def asked(times: int) -> None:
        for _ in range(times):
            story.op("wait", "g", type="fail", error="NOT_ASSIGNED")

    asked(in_peace)
    fault(story, lambda: asked(in_faults))
    outcome = availability(story.run_events())
    note = f"0 of {in_faults + in_peace} wait (1 at least)"
    assert (note in outcome.note) == missed
    bare = clean()
    fault(bare, lambda: None)
    assert due(outcome) == due(availability(bare.run_events())) + 2 * missed


def test_members_that_wait_on_for_their_part_are_joining() -> None:
    """Most are told at once: that two had to ask on, in vain, shows nothing as long as members are
    told; that none is, shows."""
    story = clean()
    fault(story, lambda: None)
    for answer in ("ok", "fail"):
        for f in ("join", "assignment", "assignment"):
            worked = answer == "ok" and f == "join"
            story.op(f, "g", type="ok" if worked else "fail", error=None if worked else "NO_PART")
    assert "assignment" not in availability(story.run_events()).note
    vain = clean()
    fault(vain, lambda: None)
    for f in ("join", "assignment", "assignment"):
        vain.op(f, "g", type="fail", error="NO_PART")
    assert "never again after the first fault: join, of" in availability(vain.run_events()).note


def due(outcome: Outcome) -> int:
    """Signs that kinds work, so many as have to be seen."""
    count = outcome.clauses["kinds"]
    assert isinstance(count, tuple)
    return count[1]


@pytest.mark.parametrize(
    ("succeed", "asked", "enough"),
    [(10, 100, True), (9, 100, False), (5, 20, True), (4, 20, False), (1, 1, True), (1, 7, True)],
)
def test_kind_has_a_floor_of_its_own(succeed: int, asked: int, enough: bool) -> None:
    story = busy()
    for number in range(asked):
        works = number % (asked // succeed) == 0 and number < succeed * (asked // succeed)
        story.op("write", "t", **({} if works else {"type": "info", "error": "TIMED_OUT"}))
    outcome = availability(story.run_events())
    assert outcome.figures["write.ok"] == succeed
    assert (outcome.verdict is Verdict.VALID) == enough, outcome.note


@pytest.mark.parametrize(
    ("in_peace", "verdict"), [(0, Verdict.VALID), (2, Verdict.VALID), (20, Verdict.UNKNOWN)]
)
def test_what_fails_while_faults_hold_is_not_missed(in_peace: int, verdict: Verdict) -> None:
    """A kind that is in vain from the first fault on, of which a few were done before: faults that
    leave it no time are no fault of the system's."""
    story = peaceful()
    for _ in range(4):
        story.op("delete", "t")

    def tried(times: int) -> None:
        for _ in range(times):
            story.op("delete", "t", type="fail", error="NO")

    fault(story, lambda: (ask(story, 5, works=BOTH), tried(40)))
    ask(story, 1, works=BOTH)
    tried(in_peace)
    outcome = availability(story.run_events())
    assert outcome.verdict is verdict, outcome.note


def test_commits_of_former_members_are_not_missed() -> None:
    """8 of 16 that could be done; but of those that could not, there has to be one that could."""
    for done, verdict in ((8, Verdict.VALID), (1, Verdict.UNKNOWN), (0, Verdict.UNKNOWN)):
        story = peaceful()
        for number in range(64):
            if number % 4:
                story.op("commit", "g", type="fail", error="OLD", ext={"asserts": "stale"})
            else:
                story.op("commit", "g", type="fail", error="NO")
        for _ in range(done):
            story.op("commit", "g")
        outcome = availability(story.run_events())
        assert outcome.verdict is verdict, outcome.note


def test_run_in_which_hardly_anything_happened_is_unknown() -> None:
    """Each kind has a quarter of what was asked; all together are too few."""
    kinds = [f"f{number}" for number in range(9)]
    for rounds, verdict in ((7, Verdict.UNKNOWN), (FLOOR, Verdict.VALID)):
        story = reported()
        for _ in range(rounds):
            ask(story, 0.25, works=kinds)
        outcome = availability(story.run_events())
        assert outcome.verdict is verdict
        assert verdict is Verdict.VALID or "63 of all (90 at least)" in outcome.note


@pytest.mark.parametrize("act", ["start", "restart", "drain", "kill", "bounce", "replace"])
def test_acts_that_are_not_done_in_time_are_no_unavailability(act: str) -> None:
    story = busy()
    for _ in range(40):
        story.wait(1_000)
        story.op(act, "broker-301", type="info", error="TIMED_OUT")
    outcome = availability(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN, "yet one at least has to be seen"
    assert "0 of 40 that start and end processes" in outcome.note
    story.final()
    story.op(act, "broker-301")
    assert_valid(availability(story.run_events()))


def test_no_operations_are_unknown() -> None:
    assert availability(Story().run_events()).verdict is Verdict.UNKNOWN


# --- who is stuck, and who is not -----------------------------------------------------------


@pytest.mark.parametrize(("said", "enough"), [(0, 30), (-5, 30), ("soon", 30), (1, 1), (0.5, 0.5)])
def test_what_a_plan_says_of_recovery_counts_where_it_is_a_time(said: Any, enough: float) -> None:
    story = peaceful()
    story.plan = {**story.plan, "recovery_s": said}
    ask(story, 31, works=["read"], fails=["create"])
    assert_invalid(availability(story.run_events()), f", and {enough} s are enough")


def test_what_has_no_time_is_not_looked_at() -> None:
    """Nor faults of which nobody knows when they began."""
    story = busy()
    known = availability(story.run_events()).figures
    story.operations.append(replace(story.operations[0], invoked_ns=None))
    story.inject(2, injected_ns=None)
    assert availability(story.run_events()).figures == known
    story.operations.append(replace(story.operations[0], completed_ns=None))
    figures = availability(story.run_events()).figures
    assert figures["create.ok"] == known["create.ok"] + 1
    assert figures["create.p99_ms"] == known["create.p99_ms"]


def test_elections_in_one_of_two_faults() -> None:
    story = reported()
    fault(story, lambda: story.event("c2", "elected", epoch=2, start_offset=0, votes=[]))
    fault(story, lambda: story.wait(10))
    assert availability(story.run_events()).figures["elections_in_faults"] == 1


def test_how_long_a_kind_was_in_vain_is_told_before_it_proves_anything() -> None:
    story = ask(peaceful(), 3, works=["read"], fails=["create"])
    figures = availability(story.run_events()).figures
    assert figures["create.stuck_s"] == pytest.approx(2.7, abs=0.1)


def of_each(*each_round: Callable[[Story], object]) -> Story:
    """For 17 s all of these."""
    story = peaceful()
    for _ in range(70):
        story.wait(240)
        for act in each_round:
            act(story)
    return story


def test_only_partitions_are_judged_by_themselves() -> None:
    """And only where others of them work."""
    story = of_each(
        lambda one: one.op("read", "t"),
        lambda one: one.op("read", "u", type="info", error="REQUEST_TIMED_OUT"),
        lambda one: one.op("read", "u", type="fail", error="CONNECTION_LOST", node="x9"),
    )
    assert not availability(story.run_events()).findings
    story = of_each(
        lambda one: one.op("read", "t"),
        lambda one: one.op("fetch", "log-0/0", type="info", error="REQUEST_TIMED_OUT"),
    )
    (found,) = availability(story.run_events()).findings
    assert "no fetch succeeded" in found.message


def test_a_partition_that_takes_records_and_gives_none() -> None:
    story = of_each(
        lambda one: one.op("produce", "log-0/1"),
        lambda one: one.op("fetch", "log-0/0"),
        lambda one: one.op("fetch", "log-0/1", type="info", error="REQUEST_TIMED_OUT"),
    )
    assert_invalid(availability(story.run_events()), "no fetch on log-0/1 succeeded")


def test_a_node_that_lets_its_clients_wait_for_ever() -> None:
    story = of_each(
        lambda one: one.op("read", "t", node="b1"),
        lambda one: one.invoke("read", "t", node="b2"),
    )
    assert_invalid(availability(story.run_events()), "b2 answered nobody")


def test_a_kind_that_never_works_and_is_not_refused() -> None:
    story = of_each(
        lambda one: one.op("read", "t"),
        lambda one: one.op("delete", "t", type="info", error="REQUEST_TIMED_OUT"),
        lambda one: one.op("delete", "t", type="fail", error="NOT_AUTHORIZED"),
    )
    assert_invalid(availability(story.run_events()), "no delete succeeded")


def test_silence_is_no_refusal_that_a_fault_could_excuse() -> None:
    story = peaceful()

    def asked() -> None:
        for _ in range(70):
            ask(story, 0.25, works=["read"])
            story.op("create", "t", type="fail", error="CONNECTION_FAILED")

    fault(story, asked, victims={"b2": {}}, fault="kill")
    ask(story, 1, works=BOTH)
    assert_invalid(availability(story.run_events()), "no create succeeded")


# --- against brute force --------------------------------------------------------------------


@settings(max_examples=cases(300), deadline=None)
@given(st.integers(0, 2**32))
def test_longest_streak_agrees_with_brute_force(seed: int) -> None:
    draw = random.Random(seed)
    ends = sorted(draw.sample(range(1, 60), draw.choice([0, 2, 4, 6])))
    cuts = [0, *ends, FOREVER_NS]
    stretches = [
        Stretch(cuts[at], cuts[at + 1], draw.random() < 0.5)
        for at in range(0, len(cuts) - 1, draw.choice([1, 2]))
    ]
    operations = []
    for index in range(draw.randint(0, 25)):
        invoked = draw.randrange(60)
        completed = draw.choice([None, *[invoked + draw.randrange(8)] * 6])
        answered = completed is not None and draw.random() < 0.2
        operations.append(
            Operation(
                index=index,
                type="ok" if answered else "info",
                end=None if completed is None else 100 + index,
                invoked_ns=invoked,
                completed_ns=completed,
            )
        )
    last = Operation(index=99, type="ok", end=200, invoked_ns=70, completed_ns=70)
    asked = asked_of(OperationRows.of([*operations, last]), ())
    worst = Judge(bound_s=12 / S).worst(asked, np.arange(len(asked)), stretches, asked.ok)
    assert worst.owed_ns == brute_force(operations, stretches, least_ns=4, end_ns=70)


def brute_force(
    operations: Sequence[Operation], stretches: Sequence[Stretch], *, least_ns: int, end_ns: int
) -> int:
    """By the definition: between two moments at which something was answered, the longest time
    in vain in each stretch, or half of it where it is short."""

    def ended(each: Operation) -> int:
        return end_ns if each.completed_ns is None else each.completed_ns

    order = sorted(operations, key=ended)
    streaks: list[list[Operation]] = [[]]
    begins = [0]
    for each in order:
        if each.ok:
            streaks.append([])
            begins.append(ended(each))
        else:
            streaks[-1].append(each)
    totals = [0]
    for answered_ns, streak in zip(begins, streaks, strict=True):
        if not streak:
            continue
        since = max(answered_ns, streak[0].invoked_ns or 0)
        for upto in range(1, len(streak) + 1):
            total = 0
            for stretch in stretches:
                begin = max(stretch.begin_ns, since)
                within = [
                    ended(each) - begin
                    for each in streak[:upto]
                    if (each.invoked_ns or 0) >= begin
                    and stretch.begin_ns < ended(each) <= stretch.end_ns
                ]
                if within:
                    total += within[-1] if within[-1] >= least_ns else within[-1] // 2
            totals.append(total)
    return max(totals)


@settings(max_examples=cases(200), deadline=None)
@given(st.integers(0, 2**32))
def test_stretches_agree_with_brute_force(seed: int) -> None:
    """At each moment: no fault holds, or of those who vote and of each role most are left by all
    that do."""
    draw = random.Random(seed)
    faults = []
    for number in range(draw.randrange(5)):
        begin = draw.randrange(50)
        faults.append(
            FaultRecord(
                id=number,
                fault="f",
                injected_ns=begin,
                healed_ns=draw.choice([None, begin + draw.randrange(30)]),
                healed=draw.choice([None, True]),
                victims=dict.fromkeys(draw.sample(list(NODES), draw.randrange(4))),
            )
        )
    stretches = owed(faults, NODES)
    assert all(one.end_ns <= other.begin_ns for one, other in pairwise(stretches))
    for half in range(160):
        moment = half / 2 + 0.25
        held = [
            each
            for each in faults
            if (each.injected_ns or 0) < moment
            and moment < (FOREVER_NS if each.healed_ns is None else each.healed_ns)
        ]
        gone = {name for each in held for name in each.victims}
        most = all(sum(name[0] == kind for name in gone) < 2 for kind in ROLES)
        (inside,) = [each for each in stretches if each.begin_ns < moment < each.end_ns] or [None]
        assert (inside is not None) == (not held or most)
        assert inside is None or inside.calm == (not held)


def test_a_streak_is_shown_from_its_own_first_operation_on() -> None:
    """Not from those before it, which were in vain for a shorter time."""
    story = ask(peaceful(), 3, works=["read"], fails=["create"])
    story.op("create", "t")
    first = len(story.operations)
    ask(story, 20, fails=["create"])
    (found,) = availability(story.run_events()).findings
    assert list(found.operations) == [each.index for each in story.operations[first:][:10]]
    assert "80 were tried" in found.message


def test_what_is_owed_in_peace_alone_is_not_where_there_is_none() -> None:
    story = reported()
    fault(story, lambda: ask(story, 1, works=BOTH), victims={"b2": {}}, healed_ns=None, healed=None)
    story.faults[-1] = replace(story.faults[-1], injected_ns=0)
    for _ in range(70):
        story.wait(240)
        story.op("produce", "log-0/0", node="b1")
        story.op("produce", "log-0/1", type="info", error="CLIENT_TIMED_OUT", node="b2")
    assert not availability(story.run_events()).findings


# --- by columns ---------------------------------------------------------------------------


def told(outcome: Outcome) -> tuple[Any, ...]:
    """All of it, and in which order it comes."""
    figures = list(outcome.figures.items())
    kinds = [type(value) for _, value in figures]
    return (outcome, figures, kinds, [repr(each) for each in outcome.clauses.values()])


@settings(max_examples=cases(60), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 3, 1_000]))
def test_columns_show_what_objects_show(seed: int, rows: int) -> None:
    events = histories(random.Random(seed))
    columns = replace(events, operations=in_pieces(events.operations, rows))
    for options in (AvailabilityOptions(), AvailabilityOptions(recovery=20 / S)):
        found = told(by_objects.availability(events, options))
        assert told(availability(events, options)) == found
        assert told(availability(columns, options)) == found


def in_pieces(operations: Sequence[Operation], rows: int) -> OperationRows:
    (table,) = OperationRows.of(operations).columns() if operations else [OPERATIONS.empty_table()]
    return OperationRows.of_table(table, rows)


@pytest.mark.parametrize("name", [None, *PLANTED])
def test_columns_show_of_planted_stories_what_objects_show(name: str | None) -> None:
    events = (PLANTED[name].story() if name else clean()).run_events()
    found = told(by_objects.availability(events, AvailabilityOptions()))
    columns = replace(events, operations=in_pieces(events.operations, 7))
    assert told(availability(columns)) == found


def test_only_what_is_cited_becomes_an_object() -> None:
    """Of 10 that are shown of 120 that were tried, and of the last one."""
    story = ask(peaceful(), 60, works=["read"], fails=["create"])
    rows = Counted(OperationRows.of(story.operations).pieces)
    (found,) = availability(replace(story.run_events(), operations=rows)).findings
    assert len(found.operations) == 10 and len(rows.seen) == 11
    assert set(found.operations) < {story.operations[place].index for place in rows.seen}


class Counted(OperationRows):
    """It knows which became objects."""

    seen: list[int]

    def at(self, places: Iterable[int]) -> list[Operation]:
        object.__setattr__(self, "seen", list(places))
        return super().at(self.seen)

    def __iter__(self) -> Iterator[Operation]:
        raise AssertionError("all of them became objects")


# --- lies that none of the rules above sees -------------------------------------------------


def used(story: Story, seconds: float, *fails: str) -> Story:
    """Four times a second both kinds, a fetch, and produces, but of some partitions."""
    for _ in range(round(seconds * 4)):
        ask(story, 0.25, works=BOTH)
        story.op("fetch", "log-0/0", node="b2")
        for key in ("log-0/0", "log-0/2"):
            vain = {"type": "info", "error": "CLIENT_TIMED_OUT"}
            story.op("produce", key, **(vain if key in fails else {}))
    return story


def in_short_peace(rounds: int, *fails: str) -> Story:
    """Between faults of a second there are four of peace: too few to prove anything."""
    story = used(reported(), 5)
    for _ in range(rounds):
        fault(story, lambda: used(story, 1, *fails), victims={"c1": {}})
        used(story, 4, *fails)
    return story


@pytest.mark.parametrize(("rounds", "verdict"), [(3, Verdict.VALID), (5, Verdict.UNKNOWN)])
def test_partition_that_is_never_served_again_between_many_faults(
    rounds: int, verdict: Verdict
) -> None:
    """12 s in all are less than the bound, and may be bad luck; 20 s are not."""
    story = in_short_peace(rounds, "log-0/2")
    assert judged(story).verdict is verdict, judged(story).note
    if verdict is Verdict.UNKNOWN:
        assert clauses_of(story)["partitions"] == (2, 3)
    assert judged(used(story, 0.25)).verdict is Verdict.VALID, "it was, in the end"


def in_very_short_peace(rounds: int) -> Count:
    """Of partitions, where 2 s are enough: one is in vain in 0.6 s of peace at a time."""
    story = reported()
    for key in ("log-0/0", "log-0/2", "log-0/2"):
        story.op("produce", key)
    for _ in range(rounds):
        fault(story, lambda: story.wait(100), victims={"c1": {}})
        for _ in range(3):
            story.wait(195)
            story.op("produce", "log-0/0")
            story.op("produce", "log-0/2", type="info", error="CLIENT_TIMED_OUT")
    clauses = availability(story.run_events(), AvailabilityOptions(recovery=2)).clauses
    assert clauses is not None
    return clauses["partitions"]


@pytest.mark.parametrize(("rounds", "count"), [(2, (2, 2)), (3, (2, 2)), (4, (1, 2)), (5, (1, 2))])
def test_short_peace_adds_up_to_what_is_enough(rounds: int, count: Count) -> None:
    assert in_very_short_peace(rounds) == count


def test_partition_that_answers_all_that_it_is_not_there_was_never_served() -> None:
    story = used(clean(), 1)
    for _ in range(3):
        gone = {"type": "fail", "error": "NO", "ext": {"asserts": "absent"}}
        story.op("produce", "log-0/7", **gone)
    assert judged(story).verdict is Verdict.UNKNOWN
    story.op("produce", "log-0/7")
    assert judged(story).verdict is Verdict.VALID


def ending(*acts: Callable[[Story], object]) -> CheckerResult:
    """The final phase has three of each."""
    story = clean()
    story.final()
    for _ in range(3):
        for act in acts:
            act(story)
    return judged(story)


def test_partition_that_gives_nothing_in_the_end() -> None:
    def reads(key: str, **vain: Any) -> Callable[[Story], object]:
        return lambda story: story.op("fetch", key, **vain)

    vain = {"type": "info", "error": "CLIENT_TIMED_OUT"}
    result = ending(reads("log-0/0"), reads("log-0/1", **vain))
    assert result.verdict is Verdict.UNKNOWN and "partitions" in result.note
    result = ending(reads("log-0/0"), reads("log-0/1", **vain), reads("log-0/1"))
    assert result.verdict is Verdict.VALID, result.note


@pytest.mark.parametrize(
    ("fails", "says"), [(BOTH, "settled: all of 6 operations"), (["read"], "settled: read, of wh")]
)
def test_final_phase_in_which_nothing_succeeds(fails: list[str], says: str) -> None:
    """Too short to be stuck."""
    acts = [
        lambda story, f=f: story.op(f, "t", **({"type": "info"} if f in fails else {}))
        for f in BOTH
    ]
    result = ending(*acts)
    assert result.verdict is Verdict.UNKNOWN and says in result.note
    result = ending(*acts, lambda story: [story.op(f, "t") for f in BOTH])
    assert result.verdict is Verdict.VALID, result.note


@pytest.mark.parametrize(("more", "enough"), [({}, False), ({"type": "fail", "error": "NO"}, True)])
def test_kind_that_hardly_ever_works_in_peace(more: dict[str, str], enough: bool) -> None:
    """Of 220 that were not answered ten times as many as succeeded; a refusal may be right."""
    vain = {"type": "info", "error": "TIMED_OUT", **more}
    story = clean()
    for number in range(240):
        story.op("write", "t", **({} if number % 12 == 0 else vain))
    assert (judged(story).verdict is Verdict.VALID) == enough, judged(story).note
    assert enough or "20 of 240 write (22 at least)" in judged(story).note
    story.op("write", "t")
    story.op("write", "t")
    assert judged(story).verdict is Verdict.VALID


# --- nodes that are not yet back ----------------------------------------------------------

Act = Callable[[Story], object]


def killed(
    *behind: Act,
    kills: bool = True,
    victims: Sequence[str] = ("b1", "b2"),
    tries: int = 20,
    code: str = "CONNECTION_FAILED",
    late_s: float = 0,
) -> Outcome:
    """Two writes that work, a kill, and writes at `b1` that it does not take for some time; then
    what comes `behind`. All else works all the time."""
    story = peaceful()
    for _ in range(2):
        story.op("write", "t", node="b1")
    more = {"fault": "kill" if kills else "partition", "victims": dict.fromkeys(victims)}
    fault(story, lambda: ask(story, 1, works=BOTH), ends_processes=kills, **more)
    if behind[:1] == (heard_first,):
        story.op("read", "t", node="b1")
    story.wait(late_s * 1000)
    for _ in range(tries):
        story.wait(240)
        story.op("read", "t", node="b2")
        story.op("write", "t", type="fail", error=code, node="b1")
    for act in behind:
        act(story)
    ask(story, 1, works=BOTH)
    story.op("write", "t", node="b2")
    return availability(story.run_events())


def heard_first(story: Story) -> None:
    """The mark of a node that answers before the tries."""


def test_who_finds_no_connection_at_a_node_that_is_not_yet_back_asks_for_no_success() -> None:
    assert_valid(killed())


@pytest.mark.parametrize(
    "more",
    [
        {"kills": False},  # its process lived: it was to answer
        {"victims": ("b2",)},  # nobody killed it
        {"code": "CLIENT_TIMED_OUT"},  # it took the connection
        {"code": "CONNECTION_LOST"},
    ],
)
def test_who_asks_a_node_that_was_not_away_tries_in_earnest(more: dict[str, Any]) -> None:
    outcome = killed(**more)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "3 of 23 write (5 at least)" in outcome.note


def test_a_node_that_answered_is_back() -> None:
    """And takes no connection again: that is its own affair."""
    assert "3 of 23 write (5 at least)" in killed(heard_first).note


@pytest.mark.parametrize(("answers", "enough"), [({}, False), ({"code": "SILENT"}, True)])
def test_a_node_that_answered_the_observer_is_back(answers: dict[str, Any], enough: bool) -> None:
    story = peaceful()
    for _ in range(2):
        story.op("write", "t", node="b1")
    kill = {"fault": "kill", "victims": {"b1": None}, "ends_processes": True}
    fault(story, lambda: ask(story, 1, works=BOTH), **kill)
    seen = story.op("describe-cluster", None, node="b1")
    story.operations.pop()
    if answers:
        seen = replace(seen, type="fail", error=("CLIENT_TIMED_OUT", ""))
    story.observations = [seen]
    for _ in range(20):
        story.op("write", "t", type="fail", error="CONNECTION_FAILED", node="b1")
    story.op("write", "t", node="b2")
    assert (judged(story).verdict is Verdict.VALID) == enough, judged(story).note


def test_a_node_may_be_away_for_as_long_as_the_bound() -> None:
    """Tries of 13 s ask for nothing, but for those that come later than 15 s after it was started,
    though too few to show that it is silent."""
    assert_valid(killed(tries=55))
    assert "write" in killed(tries=55, late_s=10).note
    assert_invalid(killed(tries=80), "b1 answered nobody")


def test_a_system_that_refuses_all_that_it_hears_after_a_kill_shows_nothing() -> None:
    """What it says when it is back counts as ever."""

    def refuses(story: Story) -> None:
        for _ in range(13):
            story.op("write", "t", type="info", error="UNKNOWN_TOPIC", node="b1")

    assert "3 of 36 write (4 at least)" in killed(refuses).note
    assert_valid(killed(lambda story: story.op("write", "t"), refuses))
