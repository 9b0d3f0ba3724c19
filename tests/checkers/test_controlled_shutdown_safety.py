"""Brokers that were let go are missed by nobody (D.15)."""

import random

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, Story, assert_valid

from checkers.controlled_shutdown_safety import controlled_shutdown_safety
from framework.plugins.checker import CLIENTS, EVENTS
from framework.verdict import Verdict


def granted(story: LogStory, broker: int = 4, node: str = "b1") -> None:
    """The broker's side of the grant."""
    for state in ("ACTIVE", "SHUTDOWN"):
        story.event(
            node,
            "heartbeat",
            broker_id=broker,
            broker_epoch=story.epochs[broker],
            target="SHUTDOWN",
            error=0,
            next_state=state,
            answered_epoch=story.epochs[broker],
        )


def begun() -> LogStory:
    """Broker 4 leads t/0; 5 is beside it, 6 is not."""
    story = LogStory(readers=("c1", "b1", "b2"))
    for node in ("b1", "b2"):
        story.boot(node)
    story.brokers(4, 5, 6)
    for node, broker in (("b1", 4), ("b2", 5)):
        epoch = story.epochs[broker]
        story.event(node, "bstate", before="INITIAL", after="ACTIVE", broker_epoch=epoch, why="")
    story.topic()
    story.new_partition([4, 5])
    story.new_partition([4], 1)
    return story


def moved(story: LogStory) -> None:
    story.beat(4, "SHUTDOWN", [story.offset, story.offset + 1])
    story.isr([5], 5)
    story.isr([4], -1, 1)


def let_go(story: LogStory) -> None:
    story.beat(4, "SHUTDOWN", [story.offset])
    story.fence(4)


def clean() -> LogStory:
    story = begun()
    moved(story)
    let_go(story)
    granted(story)
    return story


def test_clean_run_is_accepted() -> None:
    """A.1.60, A.1.61: the last replica of a partition stays in its ISR without leading it."""
    outcome = controlled_shutdown_safety(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["grants"] == 1


def test_no_grant_is_unknown() -> None:
    assert controlled_shutdown_safety(begun().run_events()).verdict is Verdict.UNKNOWN


def test_broker_that_comes_back_may_lead_again() -> None:
    story = clean()
    story.register(4)
    story.unfence(4)
    story.isr([4], 4, 1)
    assert_valid(controlled_shutdown_safety(story.run_events()))


def test_broker_that_was_fenced_before_is_let_go_at_once() -> None:
    story = begun()
    story.fence(4)
    story.isr([5], 5)
    story.isr([4], -1, 1)
    granted(story)
    assert_valid(controlled_shutdown_safety(story.run_events()))


def still_leads(story: LogStory) -> None:
    let_go(story)
    granted(story)


def in_isr(story: LogStory) -> None:
    story.beat(4, "SHUTDOWN", [story.offset])
    story.isr([4, 5], 5)
    story.isr([4], -1, 1)
    still_leads(story)


def leads_again(story: LogStory) -> None:
    moved(story)
    let_go(story)
    granted(story)
    story.isr([4], 4, 1)


def unread(story: LogStory) -> None:
    story.readers = ("c1", "b1")
    moved(story)
    let_go(story)
    granted(story)


def unlogged(story: LogStory) -> None:
    moved(story)
    granted(story)


def fenced_later(story: LogStory) -> None:
    """With the records of its heir's registration: they move what the first one led."""
    granted(story)
    story.wait(3_000)
    story.fence(4)
    story.isr([5], 5)
    story.isr([4], -1, 1)
    story.register(4)


def player(story: LogStory) -> None:
    """A broker that a workload plays."""
    let_go(story)
    value = {"broker_id": 4, "broker_epoch": story.epochs[4], "target": "leaving"}
    answer = {"broker_epoch": story.epochs[4], "next_state": "leaving"}
    story.op("heartbeat", "broker-4", value, answer)


def produce(story: Story, number: int, type: str) -> None:
    value = {"value": number, "acks": "all", "producer": "p", "idempotent": True}
    story.op("produce", "t/0", value, None, type=type, error="NOT_LEADER_OR_FOLLOWER")


def all_refused(story: LogStory) -> None:
    moved(story)
    story.beat(4, "SHUTDOWN", [story.offset])
    story.fence(4)
    granted(story)
    for number in range(5):
        produce(story, number, "fail")


PLANTED = Plants.of(
    clean,
    {
        f"and leads {TOPIC}/0": still_leads,
        f"in the ISR of {TOPIC}/0 beside broker 5": in_isr,
        f"and given {TOPIC}/1 at offset": leads_again,
        "before b2, which is active as broker 5, had read": unread,
        "no committed record fences it": unlogged,
        "3.0 s before any record fenced it": fenced_later,
        f"broker-4 (broker 4) was let go at offset 9, and leads {TOPIC}/0": player,
        "all 5 produces to t/0 failed while b1": all_refused,
    },
    on=begun,
)


def test_clients_that_get_through_and_faults_are_no_violation() -> None:
    story = begun()
    all_refused(story)
    produce(story, 9, "ok")
    outcome = controlled_shutdown_safety(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["produces_refused"] == 5
    story = begun()
    all_refused(story)
    story.now_ns = 0
    story.inject(lasts_ms=1_000)
    assert_valid(controlled_shutdown_safety(story.run_events()))


def test_who_is_not_active_need_not_have_read() -> None:
    """Fenced in the committed state; or dead, its id taken over by a process that has read."""
    for case in ("fenced", "replaced"):
        story = begun()
        story.fence(5)
        story.isr([4], 4)
        if case == "replaced":
            epoch = story.register(5)
            story.unfence(5)
            story.boot("b2")
            story.event(
                "b2", "bstate", before="INITIAL", after="ACTIVE", broker_epoch=epoch, why=""
            )
        story.readers = ("c1", "b1") if case == "fenced" else story.readers
        story.beat(4, "SHUTDOWN", [story.offset])
        story.isr([4], -1)
        story.beat(4, "SHUTDOWN", [story.offset])
        story.isr([4], -1, 1)
        let_go(story)
        granted(story)
        assert_valid(controlled_shutdown_safety(story.run_events()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_brute_force(seed: int) -> None:
    """Some of what a grant needs is done, in any order, before it and after it."""
    draw = random.Random(seed)
    story = LogStory(readers=("c1",))
    story.brokers(4, 5, 6)
    story.topic("u", OTHER)
    for number in range(2):
        story.new_partition([4, 5], number, OTHER)
    states: dict[int, tuple[list[int], int]] = {0: ([4, 5], 4), 1: ([4, 5], 4)}
    wrong = False
    steps = [draw.randrange(2) for _ in range(draw.randint(0, 4))]
    grant_at = draw.randint(0, len(steps))
    for at in range(len(steps) + 1):
        if at == grant_at:
            wrong = any(leader == 4 or {4, 5} <= set(isr) for isr, leader in states.values())
            let_go(story)
            granted(story)
        if at < len(steps):
            isr = draw.choice([[4, 5], [5], [4]])
            leader = draw.choice([*isr, -1])
            wrong = wrong or (at >= grant_at and leader == 4)
            story.isr(isr, leader, steps[at], OTHER)
            states[steps[at]] = (isr, leader)
    assert (controlled_shutdown_safety(story.run_events()).verdict is Verdict.INVALID) == wrong


def test_fence_that_is_missing_is_the_nodes_word() -> None:
    """Also where the broker that was let go is a synthetic one."""
    story = begun()
    value = {"broker_id": 4, "broker_epoch": story.epochs[4], "target": "leaving"}
    answer = {"broker_epoch": story.epochs[4], "next_state": "leaving"}
    story.op("heartbeat", "broker-4", value, answer)
    (found,) = controlled_shutdown_safety(story.run_events()).findings
    assert found.contracts == (CLIENTS, EVENTS)
