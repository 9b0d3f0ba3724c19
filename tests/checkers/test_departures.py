"""A broker that clients drained is gone: nobody shows it as a leader."""

from collections.abc import Callable
from typing import Any

import pytest
from contract import Plants
from judging import clause_of, judged
from planted_runs import PLAN, Story

from checkers.controlled_shutdown_safety import ControlledShutdownSafety
from checkers.folds.departures import SOON_NS
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


def gone(granted: bool | None = None, ms: float = MS_OF_DRAIN) -> Story:
    """It served, led the partition, and went. No node writes events, by the plan."""
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
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
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
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
    """Nobody tells why it went, and it went late."""
    story = gone(ms=SOON_NS / 1e6)
    read(story, BROKER)
    return story


def had_not_served() -> Story:
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
    story.op("start", KEY, None, type="info", error="TIMED_OUT")
    drain(story)
    read(story, BROKER)
    return story


def nothing_is_known_of_it_before() -> Story:
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
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
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
    served(story)
    with story.fault():
        drain(story)
        read(story, BROKER)
    return story


def soon_after_a_fault(*, settled: bool | None = None) -> Story:
    story = Story()
    story.plan = {**PLAN, "capabilities": WITHOUT_EVENTS, "recovery_s": 2.0}
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


@pytest.mark.parametrize("settled", [True, False])
def test_in_the_end_there_is_peace_once_the_cluster_has_settled(settled: bool) -> None:
    found = judged(CHECKER, soon_after_a_fault(settled=settled)).findings
    assert bool(found) == settled


def test_topic_without_a_replica_on_it_shows_nothing() -> None:
    story = gone()
    story.op("metadata", "u", None, {"partitions": [{"leader": 5, "replicas": [5, 6]}]}, node="b1")
    assert clause_of(judged(CHECKER, story), "shown-no-more").compared == 0
