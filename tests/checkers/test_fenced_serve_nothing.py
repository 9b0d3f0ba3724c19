"""Brokers that are not active serve nobody (D.11)."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, silent
from planted_runs import MS, PLAN, TOPIC, Story, assert_invalid, assert_valid

from checkers.fenced_serve_nothing import (
    FencedServeNothing,
    Success,
    _by_own_word,
    _served,
    fenced_serve_nothing,
)
from framework.evidence.brokers import BrokerStateChanged
from framework.evidence.kinds import Evidence
from framework.evidence.requests import Served
from framework.evidence.run_events import Part, RunEvents, incarnations
from framework.verdict import Verdict
from tests.cases import cases

FOUND = {"topic_id": TOPIC, "partitions": []}


def clean() -> Story:
    """A broker is started, serves, is fenced, refuses, and serves again. It ends fenced. Another
    one serves beside it."""
    story = Story()
    story.boot("b2")
    story.lease("b2", 10_000)
    story.bstate("b2", "ACTIVE")
    story.serve("b2", broker_state="ACTIVE")
    story.op("metadata", "t", None, FOUND, node="b2")
    story.boot("b1")
    story.op("metadata", "t", type="fail", error="CONNECTION_LOST", node="b1")
    story.serve("b1", code=-1, broker_state="INITIAL")
    story.lease("b1", 1_000)
    story.bstate("b1", "ACTIVE")
    story.serve("b1", broker_state="ACTIVE")
    story.op("metadata", "t", None, FOUND, node="b1")
    story.bstate("b1", "FENCED", "ACTIVE")
    story.serve("b1", code=6, broker_state="FENCED")
    story.op("metadata", "t", type="fail", error="NOT_LEADER_OR_FOLLOWER", node="b1")
    story.lease("b1", 1_000)
    story.bstate("b1", "ACTIVE", "FENCED")
    story.serve("b1", broker_state="ACTIVE")
    story.wait(300)
    story.bstate("b1", "FENCED", "ACTIVE")
    story.wait(300)
    return story


def test_clean_run_is_accepted() -> None:
    """A.1.55, A.1.56"""
    assert_valid(fenced_serve_nothing(clean().run_events()))


def test_no_serves_are_unknown() -> None:
    story = Story()
    story.boot("b1")
    assert fenced_serve_nothing(story.run_events()).verdict is Verdict.UNKNOWN


def restarted(story: Story) -> None:
    story.boot("b1")
    story.serve("b1", broker_state="INITIAL")


def client(story: Story) -> None:
    story.op("fetch", "t/0", {"consumer": "c", "from": 0}, {"records": []}, node="b1")
    story.bstate("b1", "SHUTDOWN", "FENCED")


def before_first(story: Story) -> None:
    story.boot("b1")
    client(story)


def after_lease(story: Story) -> None:
    """The lease ended before the broker, which was paused, wrote down that it did."""
    story.boot("b1")
    story.lease("b1", 100)
    story.bstate("b1", "ACTIVE")
    story.wait(200)
    story.op("metadata", "t", None, FOUND, node="b1")
    story.event("b1", "bstate", before="ACTIVE", after="FENCED", why="lease expired")
    story.wait(10)
    story.event("b1", "exit", reason="terminated")


def began_later(story: Story) -> None:
    story.bstate("b1", "ACTIVE", "FENCED")
    story.bstate("b1", "FENCED", "ACTIVE")
    read = story.invoke("metadata", "t", node="b1")
    story.serve("b1", topic="t", broker_state="ACTIVE")
    story.complete(read, "ok", FOUND)


def fenced_in_the_log(story: Story, apart_ms: float = 14_000) -> Story:
    """Broker 4, which is b1, as c1 applies it; a client is answered long after."""
    story.apply("c1", 0, "FenceBrokerRecord", broker_id=4, broker_epoch=7)
    story.wait(apart_ms / 2)
    story.op("metadata", "t", None, FOUND, node="b1")
    story.wait(apart_ms / 2)
    story.apply("c1", 1, "UnfenceBrokerRecord", broker_id=4, broker_epoch=9)
    return story


def fenced_and_silent_of_it(story: Story) -> None:
    """By the log alone: it leaves out what it was and what it served."""
    long = [each for each in story.events if each.type == "lease" and each.node == "b2"]
    for each in long:
        each.fields["end_ns"] = each.fields["start_ns"] + 5_000 * MS  # type: ignore[index]
    silent(story, node="b1")
    fenced_in_the_log(story)


PLANTED = Plants.of(
    clean,
    {
        "by the log": ("was answered ok by b1, which was not active", fenced_and_silent_of_it),
        "by the transition": ("while it was fenced", lambda story: story.serve("b1")),
        "by its own word": (
            "was fenced by its own word",
            lambda story: story.serve("b1", broker_state="FENCED"),
        ),
        "before its first activation": ("was starting", restarted),
        "a client that began later": ("while it was fenced", began_later),
        "a client while fenced": ("was answered ok by b1, which was not active", client),
        "a client before the first activation": ("was answered ok by b1", before_first),
        "a client after the lease": ("was answered ok by b1", after_lease),
        "a controller": (
            "c1, which is no broker",
            lambda story: (story.boot("c1"), story.op("metadata", "t", None, FOUND, node="c1")),
        ),
    },
)


def test_threads_that_write_in_another_order_are_no_false_alarm() -> None:
    story = Story()
    story.boot("b1")
    story.serve("b1", broker_state="ACTIVE")
    story.bstate("b1", "ACTIVE")
    story.wait(300)
    story.bstate("b1", "FENCED", "ACTIVE")
    story.serve("b1", broker_state="ACTIVE")
    assert_valid(fenced_serve_nothing(story.run_events()))


def test_fetch_of_nothing_is_no_service() -> None:
    """An incremental fetch session has such requests; none of its answer's errors is theirs."""
    story = clean()
    story.serve("b1", "Fetch", broker_state="FENCED")
    assert_valid(fenced_serve_nothing(story.run_events()))
    story.serve("b1", "Fetch", broker_state="FENCED", topic_id=TOPIC)
    assert_invalid(fenced_serve_nothing(story.run_events()), "b1 served Fetch")


def test_process_that_stood_still_may_say_late_what_it_served() -> None:
    story = clean()
    story.bstate("b1", "ACTIVE", "FENCED")
    story.bstate("b1", "FENCED", "ACTIVE")
    story.wait(500)
    story.serve("b1", broker_state="ACTIVE")
    assert_invalid(fenced_serve_nothing(story.run_events()), "while it was fenced")
    story.event("b1", "stall", loop="data", ms=400, delayed_ms=400)
    assert_valid(fenced_serve_nothing(story.run_events()))


def test_answer_within_a_lease_of_a_fencing_is_no_violation() -> None:
    """An heir took its id over; until its lease ends it need not know."""
    story = silent(clean(), node="b1")
    assert_valid(fenced_serve_nothing(fenced_in_the_log(story, 9_000).run_events()))


@pytest.mark.parametrize(
    ("left_out", "clause"), [("serve", "own-word"), ("bstate", "clients-word")]
)
def test_broker_that_leaves_events_out_is_unknown(left_out: str, clause: str) -> None:
    story = silent(clean(), left_out, node="b2")
    if left_out == "bstate":
        story = silent(story, "serve", node="b2")
    assert_unknown(FencedServeNothing(), story, clause)


def test_a_client_that_does_not_say_whom_it_asked_is_not_counted() -> None:
    story = clean()
    counted = fenced_serve_nothing(story.run_events()).clauses["clients-word"]
    story.op("fetch", "t/0", {"from": 0}, {"records": []})
    story.operations[-1].node = None
    assert fenced_serve_nothing(story.run_events()).clauses["clients-word"] == counted


def test_operation_under_way_at_a_transition_may_have_been_served() -> None:
    story = clean()
    story.bstate("b1", "ACTIVE", "FENCED")
    read = story.invoke("metadata", "t", node="b1")
    story.bstate("b1", "FENCED", "ACTIVE")
    story.complete(read, "ok", FOUND)
    assert_valid(fenced_serve_nothing(story.run_events()))


def test_second_process_of_a_node_may_serve_while_the_first_is_fenced() -> None:
    story = clean()
    first = dict(story._lives)
    story.boot("b1")
    story.bstate("b1", "ACTIVE")
    story.wait(300)
    story.op("metadata", "t", None, FOUND, node="b1")
    story.wait(300)
    story._lives = first
    story.serve("b1", code=6, broker_state="FENCED")
    assert_valid(fenced_serve_nothing(story.run_events()))


def test_what_is_compared() -> None:
    """Of three successes two at nodes that tell when they were in service."""
    story = clean()
    story.boot("c1")
    story.bstate("b3", "FENCED")
    story.op("metadata", "t", None, FOUND, node="b3")
    story.op("metadata", "t", type="fail", error="CONNECTION_LOST", node="c1")
    outcome = fenced_serve_nothing(story.run_events())
    assert_valid(outcome)
    assert outcome.clauses == {"own-word": (2, 3), "clients-word": (2, 3)}
    assert outcome.figures == {"judged": 3}


@pytest.mark.parametrize("violation", ["a client while fenced", "by the transition"])
def test_parts_of_a_run_judge_each_node_once(violation: str) -> None:
    events = PLANTED[violation].story().run_events()
    whole = fenced_serve_nothing(events)
    parts = [fenced_serve_nothing(replace(events, part=Part(number, 5))) for number in range(5)]
    assert sum(each.figures["judged"] for each in parts) == whole.figures["judged"]
    assert [found for each in parts for found in each.findings] == whole.findings
    for clause, counted in whole.clauses.items():
        assert (
            tuple(map(sum, zip(*(each.clauses[clause] for each in parts), strict=True))) == counted
        )


def test_what_is_no_clients_is_answered_out_of_service() -> None:
    story = clean()
    story.op("heartbeat", "broker-4", {"broker_id": 4}, {}, node="b1")
    story.bstate("b1", "SHUTDOWN", "FENCED")
    assert_valid(fenced_serve_nothing(story.run_events()))


# --- own word -----------------------------------------------------------------------------


def accused(*steps: Callable[[Story], Any]) -> bool:
    """Of what b1 did after it was started."""
    story = Story()
    story.boot("b1")
    for step in steps:
        step(story)
    outcome = fenced_serve_nothing(story.run_events())
    assert all("b1 served" in each.message for each in outcome.findings)
    return bool(outcome.findings)


def goes(after: str, before: str = "INITIAL") -> Callable[[Story], Any]:
    return lambda story: story.bstate("b1", after, before)


def serves(reported: str = "ACTIVE") -> Callable[[Story], Any]:
    return lambda story: story.serve("b1", broker_state=reported)


def after(ms: float) -> Callable[[Story], Any]:
    """What follows is so long after what was."""
    return lambda story: story.wait(ms - 1)


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ([goes("ACTIVE"), after(600), serves()], False),
        ([goes("ACTIVE"), goes("FENCED"), after(250), serves()], False),
        ([goes("ACTIVE"), goes("FENCED"), after(251), serves()], True),
        ([goes("ACTIVE"), after(600), serves("FENCED")], True),
        ([after(600), serves(), after(250), goes("ACTIVE")], False),
        ([after(600), serves(), after(251), goes("ACTIVE")], True),
        ([after(600), serves("FENCED"), goes("ACTIVE")], True),
        ([after(600), serves(), goes("SHUTDOWN")], True),
    ],
)
def test_what_a_broker_says_of_itself(steps: list[Any], wrong: bool) -> None:
    assert accused(*steps) == wrong


# --- clients ------------------------------------------------------------------------------


def asks(story: Story, **more: Any) -> Story:
    story.op("metadata", "t", None, FOUND, node="b1", **more)
    story.wait(300)
    return story


def found(story: Story) -> bool:
    return bool(fenced_serve_nothing(story.run_events()).findings)


@pytest.mark.parametrize("starts", [1, 2])
def test_each_start_begins_out_of_service(starts: int) -> None:
    """Of processes that end before they come into service; another one follows."""
    story = Story()
    for _ in range(starts):
        story.boot("b1")
        story.wait(300)
        story.event("b1", "exit", reason="terminated")
    story.events.pop()
    asks(story)
    story.event("b1", "exit", reason="terminated")
    story.boot("b1")
    assert found(story)


def test_a_process_whose_beginning_is_not_known_may_have_been_active() -> None:
    story = Story()
    story.lease("b1", 1_000)
    asks(story).bstate("b1", "ACTIVE", "FENCED")
    story.bstate("b1", "ACTIVE", "ACTIVE")
    assert not found(asks(story))


def test_a_first_process_may_serve_while_the_second_is_fenced() -> None:
    story = Story()
    story.boot("b1")
    story.bstate("b1", "ACTIVE")
    first = dict(story._lives)
    story.boot("b1")
    second = dict(story._lives)
    story.bstate("b1", "FENCED")
    asks(story)
    story._lives = first
    story.serve("b1", broker_state="ACTIVE")
    story._lives = second
    story.bstate("b1", "SHUTDOWN", "FENCED")
    assert not found(story)


@pytest.mark.parametrize(("within_ms", "wrong"), [(50, True), (120, False)])
@pytest.mark.parametrize("early", [True, False])
def test_within_the_uncertainty_of_its_clock_it_may_have_been_active(
    early: bool, within_ms: int, wrong: bool
) -> None:
    """A client is answered 100 ms after the process began, or 100 ms before it leaves."""
    story = Story()
    clock = {"samples": [{"at_ns": 0, "offset_ns": 0, "within_ns": within_ms * MS}]}
    story.plan = {**story.plan, "hosts": "ssh", "clocks": {"b1": clock}}
    story.boot("b1")
    story.wait(100 if early else 1_000)
    asks(story)
    story.wait(1_000 if early else -200)
    story.bstate("b1", "SHUTDOWN", "FENCED")
    assert found(story) == wrong


@pytest.mark.parametrize(
    ("why", "late_ms", "wrong"),
    [("lease expired", 1, False), ("lease expired", 5, True), ("told to", 5, False)],
)
def test_a_lease_that_ended_before_it_said_so(why: str, late_ms: int, wrong: bool) -> None:
    """To the ms, in which it keeps leases."""
    story = Story()
    story.boot("b1")
    story.lease("b1", 100)
    story.bstate("b1", "ACTIVE")
    story.wait(98 + late_ms)
    asks(story)
    story.event("b1", "bstate", before="ACTIVE", after="FENCED", why=why)
    story.event("b1", "exit", reason="terminated")
    assert found(story) == wrong


def test_a_node_that_was_a_broker_in_another_life() -> None:
    story = clean()
    for broker in (None, 4, None):
        story.event("g", "boot", replica_id=9, broker_id=broker, voters=[1], quorum=None)
    story.op("metadata", "t", None, FOUND, node="g")
    assert not found(story)


# --- by the log ---------------------------------------------------------------------------

S = 1_000 * MS
FENCED, UNFENCED = "FenceBrokerRecord", "UnfenceBrokerRecord"
FROM_10_TO_30 = [("c1", 10, FENCED, 0), ("c1", 30, UNFENCED, 1)]
"""Leases are 5 s long, and a record is applied within 1 s: it is out of service from 16 to 29."""


def by_log(
    moves: list[tuple[str, float, str, int]], begin: float, end: float, lessor: str = "b2"
) -> bool:
    """Whether b1, of which these apply that, must not answer what was asked then."""
    story = Story(plan={**PLAN, "nodes": {**PLAN["nodes"], "g": {"ids": {}}}})
    story.lease(lessor, 5_000)
    for node, at_s, kind, offset in moves:
        story.now_ns = round(at_s * S) - MS
        story.apply(node, offset, kind, broker_id=4, broker_epoch=7)
    asks(story)
    invoked, completed = round(begin * S), round(end * S)
    asked = replace(story.operations[-1], invoked_ns=invoked, completed_ns=completed)
    story.operations[-1] = asked
    return found(story)


NS = 1e-9


@pytest.mark.parametrize(
    ("begin", "end", "wrong"),
    [
        (16, 20, False),
        (16 + NS, 20, True),
        (17, 29 - NS, True),
        (17, 29, False),
        (17, 31, False),
        (5, 20, False),
    ],
)
def test_what_was_asked_and_answered_out_of_service(begin: float, end: float, wrong: bool) -> None:
    assert by_log(FROM_10_TO_30, begin, end) == wrong


def test_the_first_who_applies_a_record_knows_it() -> None:
    """A fencing holds from then on; and so does its end."""
    fenced = [("c1", 13, FENCED, 0), ("c2", 10, FENCED, 0), ("c3", 11, FENCED, 0)]
    again = [("c1", 30, UNFENCED, 1), ("c2", 27, UNFENCED, 1), ("c3", 29, UNFENCED, 1)]
    assert by_log([*fenced, *again], 16.5, 20)
    assert not by_log([*fenced, *again], 20, 26.5)


def test_a_fencing_that_is_repeated_holds_from_the_first_on() -> None:
    moves = [("c1", 10, FENCED, 0), ("c1", 20, FENCED, 1), ("c1", 30, UNFENCED, 2)]
    assert by_log(moves, 17, 20)


def test_what_ends_no_fencing() -> None:
    assert not by_log([("c1", 5, UNFENCED, 9), ("c1", 30, UNFENCED, 10)], 17, 20)
    again = [("c1", 50, UNFENCED, 2)]
    assert not by_log([*FROM_10_TO_30, *again], 35, 40)


def test_what_it_says_of_itself_shows_nothing() -> None:
    assert not by_log([("b1", at, kind, offset) for _, at, kind, offset in FROM_10_TO_30], 17, 20)
    assert not by_log(FROM_10_TO_30, 17, 20, lessor="b1"), "how long leases are is its own word"


@settings(max_examples=cases(80), deadline=None)
@given(st.integers(0, 2**32))
def test_clients_agree_with_brute_force(seed: int) -> None:
    """Transitions and operations at random, far apart: an operation is wrong if the process was
    out of ACTIVE at every moment from its begin to its end."""
    draw = random.Random(seed)
    story = Story()
    story.boot("b1")
    active = False
    states = [(story.now_ns, active)]
    open_ = []
    for _ in range(draw.randint(2, 14)):
        story.wait(draw.choice([10, 600]))
        match draw.randrange(3):
            case 0:
                before = "ACTIVE" if active else "FENCED" if len(states) > 1 else "INITIAL"
                active = not active
                story.wait(600)
                story.bstate("b1", "ACTIVE" if active else "FENCED", before)
                states.append((story.now_ns, active))
            case 1:
                open_.append(story.invoke("metadata", "t", node="b1"))
            case 2 if open_:
                story.complete(open_.pop(0), draw.choice(["ok", "fail"]), FOUND)
    story.wait(600)
    story.event("b1", "exit", reason="terminated")
    found = {
        op for each in fenced_serve_nothing(story.run_events()).findings for op in each.operations
    }
    wrong = set()
    for operation in story.operations:
        if operation.ok:
            begin, end = operation.invoked_ns or 0, operation.completed_ns or 0
            at_begin = [is_active for time, is_active in states if time < begin][-1]
            within = [is_active for time, is_active in states if begin <= time <= end + 250 * MS]
            if not at_begin and not any(within):
                wrong.add(operation.index)
    assert found == wrong


def moved(after: str) -> Evidence:
    return BrokerStateChanged(
        node="b1", before="unknown", after=after, broker_epoch=1, lease_ended=False
    )


def gave(state: str | None, success: bool) -> Evidence:
    return Served(
        node="b1", api="Metadata", f="metadata", success=success, code="", state=state,
        broker_epoch=1, topic=None,
    )  # fmt: skip


STATES = st.sampled_from(["active", "fenced", "starting"])
TOLD = st.one_of(
    st.builds(moved, STATES), st.builds(gave, st.one_of(st.none(), STATES), st.booleans())
)
LATER = st.sampled_from([0, 1, 400_000_000])


@given(st.lists(st.tuples(st.sampled_from("xy"), TOLD, LATER), max_size=14))
def test_own_word_is_what_a_loop_over_each_process_finds(
    told: list[tuple[str, Evidence, int]],
) -> None:
    evidence, at_ns = [], 0
    for seq, (life, each, later_ns) in enumerate(told):
        at_ns += later_ns
        evidence.append(replace(each, incarnation=life, seq=seq, at_ns=at_ns))
    evidence.sort(key=lambda each: each.place)
    events = RunEvents(evidence=evidence)
    wanted, successes = [], 0
    for life in ("x", "y"):
        own = [each for each in evidence if each.incarnation == life]
        moves = [each for each in own if isinstance(each, BrokerStateChanged)]
        for each in own:
            if isinstance(each, Served) and each.success:
                successes += 1
                before = [None, *(move for move in moves if move.seq < each.seq)][-1]
                after = next((move for move in moves if move.seq > each.seq), None)
                wanted += _served(Success(each, before, after), [], own)
    count, found = _by_own_word(events, incarnations(evidence), {})
    assert (count, sorted(map(str, found))) == (successes, sorted(map(str, wanted)))
