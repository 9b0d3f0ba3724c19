"""Brokers that a run has, and what was done to them (`folds/history/brokers.py`)."""

from typing import Any

import pytest
from planted_runs import NODES, Story

from checkers.folds.history.brokers import (
    ids_of,
    in_service,
    nodes_in_service,
    nothing_done,
    synthetic,
)


def registered(story: Story, *brokers: int, epoch: int = -1, f: str = "heartbeat") -> None:
    for broker in brokers:
        story.op(f, f"broker-{broker}", {"broker_id": broker, "broker_epoch": epoch})


def quiet() -> Story:
    """Clients play two brokers, ask for topics, and for what has nothing to do with brokers."""
    story = Story()
    story.create("t")
    registered(story, 4, 5)
    registered(story, 4, 4, epoch=7)
    registered(story, 4, 4, f="look-up")
    story.op("heartbeat", "group", "a member's")
    story.op("heartbeat", "group")
    return story


def test_nothing_was_done_to_a_broker() -> None:
    assert "no client did anything to a broker" in nothing_done(quiet().run_events())


@pytest.mark.parametrize(
    "f",
    [
        *("start", "restart", "drain", "kill", "bounce", "replace"),
        *("unregister", "alter-isr", "nothing"),
    ],
)
def test_what_is_done_to_a_broker_or_an_isr_is_a_reason(f: str) -> None:
    story = quiet()
    story.op(f, "b1", {"node": "b1"})
    assert bool(nothing_done(story.run_events())) == (f == "nothing")


def test_fault_and_second_registration_are_reasons() -> None:
    story = quiet()
    registered(story, 5)
    assert not nothing_done(story.run_events())
    story = quiet()
    story.inject()
    assert not nothing_done(story.run_events())


def test_brokers_in_service_are_those_that_no_client_plays() -> None:
    story = quiet()
    for offset, broker in enumerate((4, 5, 6, 301)):
        story.apply("c1", offset, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=offset)
    assert synthetic(story.operations) == {4, 5}
    assert in_service(story.run_events()) == {6, 301}
    assert nodes_in_service(story.run_events()) == {"b3"}


@pytest.mark.parametrize("plan", [{}, {"nodes": None}])
def test_plan_that_names_no_nodes_has_no_ids(plan: dict[str, Any]) -> None:
    assert ids_of(plan) == {}


def test_nodes_that_are_no_brokers_have_no_ids() -> None:
    nodes = {"b1": NODES["b1"], "proxy": {}, "other": {"ids": None}}
    assert ids_of({"nodes": nodes}) == {"b1": {4}, "proxy": set(), "other": set()}
