"""One process at a time holds a broker id (D.12)."""

import random
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, silent
from planted_logs import LogStory
from planted_runs import MS, OTHER, TOPIC, ZERO_NS, NodeEvent, assert_invalid, assert_valid

from checkers.lease_exclusion import LeaseExclusion, lease_exclusion
from framework.verdict import Verdict
from nodes.kraft.adapter.evidence import promises

LENGTH_MS = 5_000
FOUND = {"topic_id": TOPIC, "partitions": []}


def leased(
    story: LogStory,
    node: str,
    epoch: int,
    *,
    start_ns: int | None = None,
    lasts_ms: float = 5_000,
    broker: int = 4,
) -> NodeEvent:
    start = (story.now_ns if start_ns is None else start_ns) + ZERO_NS
    return story.event(
        node,
        "lease",
        broker_id=broker,
        broker_epoch=epoch,
        start_ns=start,
        end_ns=start + round(lasts_ms * MS),
        granted_by=1,
    )


def expired(story: LogStory, epoch: int | None = None, broker: int = 4) -> None:
    """The active controller fences a broker of its own accord."""
    offset = story.offset
    story.append("c1", offset, story.epoch, 1, leader=True)
    story.fence(broker, epoch)


def clean() -> LogStory:
    """A broker holds leases; a second process takes its id over; its lease runs out. Then it does
    so again, where takeovers are deferred. Another one, beside it, is dead for long."""
    story = LogStory(readers=("c1",))
    every = {node: {"broker.takeover": "deferred"} for node in story.plan["nodes"]}
    story.plan = {**story.plan, "options": {}, "settings": every, "recovery_s": 15}
    story.boot("c1")
    story.event("c1", "claim", epoch=1, end_offset=0)
    story.boot("b1")
    story.register(4)
    leased(story, "b1", 0)
    story.unfence(4)
    story.serve("b1")
    story.wait(1_000)
    leased(story, "b1", 0)
    story.serve("b1")
    late = story.now_ns
    story.beat(4, "ACTIVE", [story.offset])
    story.fence(4)
    story.register(4)
    leased(story, "b2", story.epochs[4])
    leased(story, "b1", 0, start_ns=late)
    story.serve("b1")
    story.serve("b2")
    story.unfence(4)
    story.wait(LENGTH_MS + 10)
    expired(story)
    story.register(4)
    third = story.epochs[4]
    leased(story, "b1", third)
    story.unfence(4)
    story.serve("b1")
    for node in ("b1", "b2"):
        story.op("metadata", "t", None, FOUND, node=node)
    dead(story)
    return story


def dead(story: LogStory, *, fenced: bool = True, moved: bool = True, ms: float = 20_000) -> None:
    """Broker 6 is leased an epoch, leads u/0, and its node is killed for long; c1 goes on."""
    story.register(6)
    leased(story, "b3", story.epochs[6], broker=6)
    story.unfence(6)
    story.topic("u", OTHER)
    story.new_partition([6, 4], topic_id=OTHER)
    begin = story.now_ns
    story.wait(LENGTH_MS + 10)
    if fenced:
        expired(story, broker=6)
    if moved:
        story.isr([4], 4, topic_id=OTHER)
    story.wait(ms - LENGTH_MS)
    story.record("NoOpRecord")
    end = story.now_ns
    story.now_ns = begin
    story.inject(fault="kill", victims={"b3": {}}, lasts_ms=(end - begin) / MS)


def test_clean_run_is_accepted() -> None:
    outcome = lease_exclusion(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["expiries"] == 2


def test_no_leases_are_unknown() -> None:
    story = LogStory()
    story.brokers(4)
    assert lease_exclusion(story.run_events()).verdict is Verdict.UNKNOWN


def served_late(story: LogStory) -> None:
    story.serve("b2")
    story.serve("b2")


def stale(story: LogStory) -> None:
    story.decide("AlterPartition", {"broker_id": 4, "broker_epoch": 0}, [story.offset])
    story.record("NoOpRecord")


def soon_after_failover(story: LogStory) -> None:
    story.unfence(4)
    story.epoch = 2
    story.event("c1", "claim", epoch=2, end_offset=story.offset)
    story.wait(4_000)
    expired(story)


def before_its_end(story: LogStory) -> None:
    story.unfence(4)
    leased(story, "b2", story.epochs[4])
    story.wait(4_000)
    expired(story)


def together(story: LogStory) -> None:
    story.register(4)
    leased(story, "b2", story.epochs[4])
    story.serve("b2")
    story.serve("b1")


def again_dead(story: LogStory, **how: Any) -> None:
    story.wait(1_000)
    dead(story, **how)


PLANTED = Plants.of(
    clean,
    {
        "two processes were leased broker id 4": lambda story: leased(story, "b3", story.epochs[4]),
        "under epoch 0 after a lease under epoch": lambda story: leased(story, "b1", 0),
        "change the committed state by AlterPartition under epoch 0": stale,
        "after its lease had ended": served_late,
        "was leased for 6000 ms": lambda story: leased(story, "b2", 3, lasts_ms=6_000),
        "before the end that the broker knew": before_its_end,
        "after it had become active": soon_after_failover,
        "two processes served as broker 4 at one time": together,
        "b3 had been dead for 15 s, and broker 6 was not fenced": lambda story: again_dead(
            story, fenced=False
        ),
        f"b3 had been dead for 15 s, and broker 6 still led {OTHER}/0": lambda story: again_dead(
            story, moved=False
        ),
    },
)


@pytest.mark.parametrize("how", ["healed earlier", "nobody left", "nothing told"])
def test_broker_that_may_not_have_been_fenced_yet(how: str) -> None:
    """It was dead for less long; most controllers were, too; or nobody tells of that time."""
    story = clean()
    dead_again = {"fenced": False, "ms": 12_000 if how == "healed earlier" else 20_000}
    again_dead(story, **dead_again)
    if how == "nobody left":
        kill = story.faults[-1]
        story.faults.append(replace(kill, id=3, victims={"c1": {}, "c2": {}}))
    if how == "nothing told":
        story.events.pop()
    assert_valid(lease_exclusion(story.run_events()))


@pytest.mark.parametrize(
    ("left_out", "node", "clauses"),
    [
        ("lease", "b3", ["one-process"]),
        ("serve", "b2", ["under-lease"]),
        ("serve", None, ["under-lease", "exclusive"]),
        ("lease", None, ["one-process", "newest-epoch", "broker-ends-first"]),
        ("apply", None, ["broker-ends-first", "silent-is-fenced"]),
    ],
)
def test_nodes_that_leave_events_out_are_unknown(
    left_out: str, node: str | None, clauses: list[str]
) -> None:
    story = silent(clean(), left_out, node=node)
    if left_out == "lease":
        story = silent(story, "serve", node=node)
    assert_unknown(LeaseExclusion(), story, *clauses)


def overlapping() -> LogStory:
    """With immediate takeover the old process serves on until it hears of it."""
    story = LogStory(readers=("c1",))
    story.boot("b1")
    story.register(4)
    leased(story, "b1", 0)
    story.serve("b1")
    epoch = story.register(4)
    story._lives["b1#2"] = (1, -1)
    second = story.boot("b2")
    second.fields["broker_id"] = 4  # type: ignore[index]
    leased(story, "b2", epoch)
    story.serve("b2")
    story.serve("b1")
    story.serve("b2")
    return story


def test_strict_form_is_of_deferred_takeover_only() -> None:
    story = overlapping()
    outcome = lease_exclusion(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["overlapping_takeovers"] == 1
    every = {node: {"broker.takeover": "deferred"} for node in story.plan.get("nodes") or ["b1"]}
    story.plan = {**story.plan, "settings": every}
    assert_invalid(lease_exclusion(story.run_events()), "two processes served as broker 4")


@pytest.mark.parametrize(
    ("of_nodes", "deferred"),
    [
        ({}, False),
        ({"c1": {"broker.takeover": "deferred"}}, False),
        ({node: {"broker.takeover": "deferred"} for node in ("c1", "b1")}, True),
        ({node: {"broker.takeover": "immediate"} for node in ("c1", "b1")}, False),
        ({node: {"broker.lease.ms": "deferred"} for node in ("c1", "b1")}, False),
    ],
)
def test_takeovers_are_deferred_where_every_node_defers_them(of_nodes: Any, deferred: bool) -> None:
    plan = {"nodes": {"c1": {}, "b1": {}}, "settings": of_nodes}
    assert bool(list(promises(plan))) is deferred


def test_plans_of_before_there_were_settings_defer_nothing() -> None:
    assert not list(promises({"nodes": {"c1": {}}}))
    assert not list(promises({}))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_order_of_grants_agrees_with_brute_force(seed: int) -> None:
    """Leases of two processes under some epochs, begun and acknowledged at random."""
    draw = random.Random(seed)
    story = LogStory(readers=("c1",))
    for node in ("b1", "b2"):
        story.boot(node)
    grants = []
    for _ in range(draw.randint(1, 6)):
        story.wait(10)
        node, epoch = draw.choice(["b1", "b2"]), draw.randrange(3)
        start = max(0, story.now_ns - draw.randrange(40) * MS)
        grants.append((node, epoch, start, leased(story, node, epoch, start_ns=start)))
    wrong = any(
        (epoch == other_epoch and node != other) or (epoch < other_epoch and start > event.time_ns)
        for node, epoch, start, _ in grants
        for other, other_epoch, _, event in grants
    )
    assert (lease_exclusion(story.run_events()).verdict is Verdict.INVALID) == wrong
