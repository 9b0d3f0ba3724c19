"""A broker that clients drained is gone: nobody shows it as a leader."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from contract import Plants
from judging import clause_of, judged
from planted_runs import PLAN, Story

from checkers.controlled_shutdown_safety import ControlledShutdownSafety
from checkers.folds.cluster.departures import (
    Grant,
    Heirs,
    Shown,
    disturbed,
    refused_beside,
    shown_after,
    shown_by_drains,
)
from framework.evidence.clocks import Moment
from framework.evidence.machine import UNMEASURED
from framework.evidence.run_events import FaultRecord
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.verdict import Verdict

CHECKER = ControlledShutdownSafety()
BROKER, OTHER, KEY = 301, 302, "broker-301"
WITHOUT_EVENTS = ["broker-life-cycles", "disk:applied"]
MS_OF_DRAIN = 800.0


def shown(leader: int, other: int = OTHER) -> dict[str, Json]:
    """The first of two partitions is led by that."""
    replicas = [BROKER, OTHER]
    return {
        "topic_id": "id",
        "partitions": [
            {
                "partition": number,
                "leader": each,
                "leader_epoch": 1,
                "replicas": replicas,
                "isr": [each],
            }
            for number, each in enumerate((leader, other))
        ],
    }


def read(story: Story, leader: int = OTHER, node: str = "b1", f: str = "metadata") -> Operation:
    return story.op(f, "t", None, shown(leader), node=node)


def served(story: Story) -> Operation:
    state = {"incarnation": "i", "broker_state": "active", "broker_id": BROKER}
    return story.op("start", KEY, None, state)


def drain(story: Story, granted: bool | None = None, ms: float = MS_OF_DRAIN) -> Operation:
    asked = story.invoke("drain", KEY)
    story.wait(ms)
    result = {"reason": None, "granted": granted, "broker_id": BROKER}
    return story.complete(asked, "ok", result)


def mute() -> Story:
    """No node writes events; a run in which nothing has happened yet."""
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
    return story


def gone(granted: bool | None = None, ms: float = MS_OF_DRAIN) -> Story:
    """It served, led the partition, and went. No node writes events, by the plan."""
    story = mute()
    served(story)
    read(story, BROKER)
    drain(story, granted, ms)
    return story


def clean() -> Story:
    """Others lead, and it leads again once it is back."""
    story = gone()
    read(story)
    story.ask("b2", "describe-topics", {"topics": [{"name": "t", **shown(OTHER)}]})
    read(story, f="describe")
    served(story)
    read(story, BROKER)
    return story


PLANTED = Plants(clean)


@PLANTED.violation("broker 301 was let go", "b1 shows it as a leader of t", "0 more", on=gone)
def cached_metadata_names_it(story: Story) -> None:
    read(story, BROKER)


@PLANTED.violation("broker 301 was let go", "b2 shows it", on=gone)
def observer_is_shown_it(story: Story) -> None:
    story.ask("b2", "describe-topics", {"topics": [{"name": "t", **shown(OTHER, BROKER)}]})


@PLANTED.violation("b1 shows it", "2 more", on=lambda: gone(granted=True, ms=9000))
def answers_name_it_though_it_said_that_it_was_let_go(story: Story) -> None:
    read(story)
    for _ in range(3):
        read(story, BROKER, f="describe")
    served(story)
    read(story, BROKER)


@PLANTED.violation("b1 shows it", "0 more", on=lambda: gone(ms=3_000 - 1 - 1e-6))
def went_just_in_time(story: Story) -> None:
    read(story, BROKER)


@PLANTED.violation("b1 shows it", "0 more", on=gone)
def shown_after_another_used_its_key(story: Story) -> None:
    beat = {"broker_id": BROKER, "broker_epoch": 1, "target": "active"}
    story.op("heartbeat", KEY, beat, {"broker_epoch": 1})
    read(story, BROKER)


@PLANTED.violation("b1 shows it", "0 more", on=gone)
def plan_that_names_no_nodes(story: Story) -> None:
    del story.plan["nodes"]
    read(story, BROKER)


@PLANTED.violation("broker 301 was let go", "b1 shows it", on=gone)
def fault_of_later(story: Story) -> None:
    read(story, BROKER)
    story.wait(1000)
    with story.fault():
        read(story)


def test_found_by_clients_alone() -> None:
    for plant in PLANTED.values():
        result = judged(CHECKER, plant.story())
        assert result.verdict is Verdict.INVALID
        assert {each.clause for each in result.findings} == {"shown-no-more"}
        assert all(not each.events for each in result.findings)


def test_the_drain_and_the_first_answers_are_shown() -> None:
    story = gone()
    answers = [read(story, BROKER) for _ in range(7)]
    (found,) = judged(CHECKER, story).findings
    (drained,) = (each for each in story.operations if each.f == "drain")
    assert f"(operation {answers[0].index})" in found.message
    assert list(found.operations) == [drained.index, *(each.index for each in answers[:5])]


def test_clean_run_without_events() -> None:
    result = judged(CHECKER, clean())
    assert clause_of(result, "shown-no-more").compared == 3
    assert result.verdict is Verdict.VALID, result.note
    assert [each.name for each in result.clauses if each.verdict is not None] == ["shown-no-more"]


# --- what looks alike ---------------------------------------------------------------------


def asked_before_it_was_gone() -> Story:
    story = mute()
    served(story)
    asked = story.invoke("metadata", "t", node="b1")
    drain(story)
    story.complete(asked, "ok", shown(BROKER))
    return story


def answered_when_it_may_be_back() -> Story:
    story = gone()
    asked = story.invoke("metadata", "t", node="b1")
    served(story)
    story.complete(asked, "ok", shown(BROKER))
    return story


def went_without_a_grant() -> Story:
    story = gone(granted=False)
    read(story, BROKER)
    return story


def waited_in_vain() -> Story:
    """Nobody tells why it went, and it went late: a ms passes with each event."""
    story = gone(ms=3_000 - 1)
    read(story, BROKER)
    return story


def nobody_saw_when_it_went() -> Story:
    story = gone()
    story.operations = [
        replace(each, completed_ns=None) if each.f == "drain" else each for each in story.operations
    ]
    read(story, BROKER)
    return story


def nobody_knows_which_it_was() -> Story:
    story = gone()
    for each in story.operations:
        if each.f == "drain":
            each.result = {"granted": True, "broker_id": None}
    story.op("metadata", "t", None, {"partitions": [{"leader": None}]}, node="b1")
    return story


def was_not_let_go_as_its_client_says() -> Story:
    """The operation failed, whatever else came with that."""
    story = gone()
    story.operations = [
        replace(each, type="fail") if each.f == "drain" else each for each in story.operations
    ]
    read(story, BROKER)
    return story


def began_when_it_was_drained() -> Story:
    """Whether it served before nobody can tell."""
    story = mute()
    started = story.invoke("start", KEY)
    asked = story.invoke("drain", KEY)
    story.complete(started, "ok", {"broker_id": BROKER})
    story.complete(asked, "ok", {"granted": None, "broker_id": BROKER})
    read(story, BROKER)
    return story


def drained_before_the_cluster_settled() -> Story:
    """That it settled in the end says nothing of what was before."""
    story = during_a_fault()
    story.final()
    return story


def had_not_served() -> Story:
    story = mute()
    story.op("start", KEY, None, type="info", error="TIMED_OUT")
    drain(story)
    read(story, BROKER)
    return story


def nothing_is_known_of_it_before() -> Story:
    story = mute()
    drain(story)
    read(story, BROKER)
    return story


def did_not_go_in_time() -> Story:
    story = gone()
    story.operations = [
        story.operations[0],
        *(each for each in story.operations[1:] if each.f != "drain"),
    ]
    story.op("drain", KEY, None, type="info", error="TIMED_OUT")
    read(story, BROKER)
    return story


def during_a_fault() -> Story:
    story = mute()
    served(story)
    with story.fault():
        drain(story)
        read(story, BROKER)
    return story


def soon_after_a_fault(*, settled: bool | None = None) -> Story:
    story = mute()
    served(story)
    with story.fault():
        read(story)
    story.wait(1500)
    if settled is not None:
        story.final(settled=settled)
    drain(story)
    read(story, BROKER)
    return story


def a_controller_that_is_no_broker_lags() -> Story:
    story = gone()
    story.plan = {**story.plan, "nodes": {"c2": {"roles": ["controller"]}}}
    read(story, BROKER, node="c2")
    return story


def answered_when_a_fault_had_begun() -> Story:
    story = gone()
    asked = story.invoke("metadata", "t", node="b1")
    with story.fault():
        story.complete(asked, "ok", shown(BROKER))
    return story


def shown_nothing() -> Story:
    story = gone()
    story.op("metadata", "t", None, None, node="b1")
    story.op("metadata", "t", None, {"topic_id": "id"}, node="b1")
    return story


def refused() -> Story:
    story = gone()
    story.op("metadata", "t", None, shown(BROKER), node="b1", type="fail", error="X")
    return story


LOOK_ALIKES: list[Callable[[], Story]] = [
    asked_before_it_was_gone,
    answered_when_it_may_be_back,
    went_without_a_grant,
    waited_in_vain,
    nobody_saw_when_it_went,
    nobody_knows_which_it_was,
    was_not_let_go_as_its_client_says,
    began_when_it_was_drained,
    drained_before_the_cluster_settled,
    had_not_served,
    nothing_is_known_of_it_before,
    did_not_go_in_time,
    during_a_fault,
    soon_after_a_fault,
    a_controller_that_is_no_broker_lags,
    answered_when_a_fault_had_begun,
    shown_nothing,
    refused,
]


@pytest.mark.parametrize("made", LOOK_ALIKES, ids=lambda made: str(made.__name__))
def test_look_alike_is_accepted(made: Callable[[], Any]) -> None:
    result = judged(CHECKER, made())
    assert not result.findings
    assert clause_of(result, "shown-no-more").compared == 0


@pytest.mark.parametrize("again", ["start", "restart", "bounce", "replace"])
def test_it_is_gone_until_it_may_be_back(again: str) -> None:
    story = gone()
    story.op(again, KEY, None, {"broker_id": BROKER})
    read(story, BROKER)
    result = judged(CHECKER, story)
    assert not result.findings
    assert clause_of(result, "shown-no-more").compared == 0


def test_an_answer_of_which_nobody_knows_when_it_came() -> None:
    """It came after it was asked for."""
    story = gone()
    read(story)
    story.operations[-1] = replace(story.operations[-1], completed_ns=None)
    story.faults = [held(90 * S, None)]
    assert shown_after(story.run_events(), "clause") == (1, [])


def test_an_answer_that_tells_nothing() -> None:
    story = gone()
    story.op("describe", "t", None, "nothing", node="b1")
    assert shown_after(story.run_events(), "clause") == (0, [])


def test_what_shows_it_and_is_no_read() -> None:
    story = gone()
    story.op("create", "t", None, shown(BROKER), node="b1")
    assert shown_after(story.run_events(), "clause") == (0, [])


@pytest.mark.parametrize("settled", [True, False])
def test_in_the_end_there_is_peace_once_the_cluster_has_settled(settled: bool) -> None:
    found = judged(CHECKER, soon_after_a_fault(settled=settled)).findings
    assert bool(found) == settled


def test_topic_without_a_replica_on_it_shows_nothing() -> None:
    story = gone()
    story.op("metadata", "u", None, {"partitions": [{"leader": 5, "replicas": [5, 6]}]}, node="b1")
    assert clause_of(judged(CHECKER, story), "shown-no-more").compared == 0


# --- that are let go ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    outage: float = 3.0
    share: float = 0.5
    afterwards: float = 1.0


S = 1_000_000_000


def left(begin_s: float, granted_s: float, *, within_ns: int = 0) -> Grant:
    begin, granted = round(begin_s * S), round(granted_s * S)
    return Grant(4, 7, Moment(begin, within_ns), Moment(granted, within_ns), "b1")


def produced(begin_ns: int, end_ns: int, type: Any = "fail") -> Operation:
    return Operation(
        index=begin_ns,
        end=end_ns,
        process=0,
        f="produce",
        key="t/0",
        value=None,
        type=type,
        invoked_ns=begin_ns,
        completed_ns=end_ns,
    )


def beside(grants: list[Grant], *operations: Operation, fault: bool = False) -> tuple[int, int]:
    """Produces, and how many partitions refused them for too long."""
    replicas = {"replicas": [4, 5], "isr": [4, 5]}
    shown = {"topic_id": "id", "partitions": [{"partition": 0, "leader": 4, **replicas}]}
    answer = replace(produced(0, 1, "ok"), f="metadata", key="t", result=shown)
    story = Story(operations=[answer, *operations], plan={"recovery_s": 1.0})
    if fault:
        story.faults = [held(10 * S, 10 * S)]
    tried, _, findings = refused_beside(grants, story.run_events(), Limits(), "clause")
    return tried, len(findings)


def held(since_ns: int | None, until_ns: int | None) -> FaultRecord:
    return FaultRecord(id=1, fault="kill", injected_ns=since_ns, healed_ns=until_ns)


@pytest.mark.parametrize(("more_ns", "found"), [(-1, 0), (0, 1), (1, 1)])
def test_too_long_is_what_the_bound_says(more_ns: int, found: int) -> None:
    refused = [produced(10 * S, 11 * S), produced(12 * S, 13 * S + more_ns)]
    assert beside([left(9, 13)], *refused) == (2, found)


def test_the_longest_time_without_an_answer_counts() -> None:
    """Not the time from the first to the last that was refused."""
    refused = [produced(10 * S, 11 * S), produced(12 * S, 13 * S)]
    assert beside([left(9, 13)], refused[0], produced(11 * S, 11 * S, "ok"), refused[1]) == (3, 0)


@pytest.mark.parametrize(
    ("begin_ns", "end_ns", "counts"),
    [(10 * S, 14 * S, 1), (10 * S - 1, 14 * S, 0), (10 * S, 14 * S + 1, 0)],
)
def test_what_is_surely_between_the_wish_and_some_time_after(
    begin_ns: int, end_ns: int, counts: int
) -> None:
    """Clocks tell the time within 1 s: not before the latest that it may have asked to leave, and
    not after the earliest that the time afterwards may have ended."""
    produce = produced(begin_ns, end_ns, "ok")
    assert beside([left(9, 14, within_ns=S)], produce) == (counts, 0)


def test_of_several_that_left_those_in_peace_count() -> None:
    operations = [produced(10 * S, 10 * S, "ok"), produced(20 * S, 20 * S, "ok")]
    grants = [left(10, 10), left(20, 20)]
    assert beside(grants, *operations) == (2, 0)
    assert beside(grants, *operations, fault=True) == (1, 0)


@pytest.mark.parametrize(
    ("since_ns", "until_ns", "counts"),
    [
        (20 * S, None, True),
        (20 * S + 1, None, False),
        (5 * S, 9 * S, True),
        (5 * S, 9 * S - 1, False),
        (None, 9 * S, True),
        (None, 9 * S - 1, False),
    ],
)
def test_a_fault_disturbs_until_the_system_got_over_it(
    since_ns: int | None, until_ns: int | None, counts: bool
) -> None:
    """Which takes a second; of one of which nobody knows when it began, it held before."""
    story = Story(plan={"recovery_s": 1.0}, faults=[held(since_ns, until_ns)])
    assert disturbed(story.run_events(), UNMEASURED, 10 * S, 20 * S) == counts


# --- who could take over ------------------------------------------------------------------


def answer(at_ns: int, end_ns: int | None, f: str = "metadata") -> Operation:
    return Operation(index=0, f=f, key="t", type="ok", end=1, invoked_ns=at_ns, completed_ns=end_ns)


def showing(at_ns: int, end_ns: int | None, *isr: int, replicas: tuple[int, ...] = ()) -> Shown:
    own = replicas or (BROKER, OTHER)
    return Shown(answer(at_ns, end_ns), frozenset(own), frozenset(isr))


def until(*shown: Shown, handled: Sequence[Operation] = (), of: int = OTHER) -> int:
    heirs = Heirs({"t/0": shown}, {f"broker-{of}": handled})
    return heirs.until_ns("t/0", BROKER, 100, 200)


def test_the_last_answer_before_a_broker_leaves_tells_who_could_take_over() -> None:
    both = BROKER, OTHER
    assert until(showing(90, 99, *both)) == until(showing(90, 100, *both)) == 200
    assert until() == until(showing(90, 101, *both)) == until(showing(101, None, *both)) == 100
    assert until(showing(100, None, *both)) == 200, "one of which only the begin is known"
    assert until(showing(90, 99, BROKER)) == 100, "nobody but it is in sync"
    assert until(showing(90, 99, OTHER, replicas=(OTHER, 303))) == 100, "it has no replica"
    assert until(showing(10, 95, BROKER), showing(20, 90, *both)) == 100, "by when they ended"
    assert until(showing(10, 95, *both), showing(20, 90, BROKER)) == 200


@pytest.mark.parametrize(
    ("began_ns", "ended_ns", "of", "until_ns"),
    [
        (150, 160, OTHER, 150),
        (100, None, OTHER, 100),
        (250, 260, OTHER, 200),
        (99, None, OTHER, 100),
        (70, 81, OTHER, 100),
        (70, 80, OTHER, 200),
        (150, 160, BROKER, 200),
        (150, 160, 303, 200),
    ],
)
def test_who_is_handled_may_be_why_nobody_takes_over(
    began_ns: int, ended_ns: int | None, of: int, until_ns: int
) -> None:
    """From when something is done to another replica's process; none of the last answer's time."""
    handled = [answer(began_ns, ended_ns, f="drain")]
    assert until(showing(80, 95, BROKER, OTHER), handled=handled, of=of) == until_ns


def test_heirs_are_by_good_answers_and_by_what_was_done_to_processes() -> None:
    story = mute()
    for type in ("info", "fail", "ok"):
        story.op("metadata", "t", None, shown(BROKER), type=type)
    story.op("produce", "t", None, shown(BROKER))
    story.op("describe", "t", None, "nothing")
    started, handled = served(story), drain(story)
    heirs = Heirs.of(story.run_events())
    assert [(len(own), key) for key, own in heirs.shown.items()] == [(1, "t/0"), (1, "t/1")]
    assert heirs.shown["t/1"][0].replicas == {BROKER, OTHER}
    assert [each.index for each in heirs.handled[KEY]] == [started.index, handled.index]
    assert list(heirs.handled) == [KEY]


@pytest.mark.parametrize(
    ("broker", "end", "after_ns", "known"),
    [
        (BROKER, "began_ns", 0, True),
        (BROKER, "began_ns", -1, False),
        (BROKER, "completed_ns", 0, True),
        (BROKER, "completed_ns", 1, False),
        (OTHER, "began_ns", 10, False),
    ],
)
def test_a_drain_shows_a_grant_of_which_no_other_is_known(
    broker: int, end: str, after_ns: int, known: bool
) -> None:
    """Of that broker, from the question to the answer."""
    story = gone()
    (_, _, drained_by) = story.run_events().operations
    at = Moment(getattr(drained_by, end) + after_ns)
    grant = Grant(broker, 5, Moment(0), at, "told")
    found = list(shown_by_drains(story.run_events().operations, [grant]))
    assert bool(found) != known
    for each in found:
        assert (each.broker, each.epoch, each.operation) == (BROKER, -1, drained_by)
        assert each.begin == Moment(drained_by.began_ns)
        assert each.granted == Moment(drained_by.completed_ns or 0)
