"""Brokers that were let go are missed by nobody (D.15)."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, Story, assert_invalid, assert_valid

from checkers.controlled_shutdown_safety import (
    ControlledShutdownSafety,
    controlled_shutdown_safety,
)
from framework.plugins.checker import CLIENTS, EVENTS
from framework.verdict import Verdict
from tests.cases import cases


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


def begun(keepers: tuple[str, ...] = ()) -> LogStory:
    """Broker 4 leads t/0; 5 is beside it, 6 is not. `keepers`: whose disks have the log."""
    story = LogStory(readers=("c1", "b1", "b2", "b3"), keepers=keepers)
    for node in ("b1", "b2", "b3"):
        story.boot(node)
    story.brokers(4, 5, 6)
    for node, broker in (("b1", 4), ("b2", 5), ("b3", 6)):
        epoch = story.epochs[broker]
        story.event(node, "bstate", before="INITIAL", after="ACTIVE", broker_epoch=epoch, why="")
    story.topic()
    story.new_partition([4, 5])
    story.new_partition([4], 1)
    held(story, 4, [4, 5])
    return story


def held(story: Story, leader: int, isr: list[int]) -> None:
    """An answer on t/0, which brokers 4 and 5 have."""
    partition = {"partition": 0, "leader": leader, "leader_epoch": 0, "replicas": [4, 5]}
    shown = {"topic_id": TOPIC, "partitions": [{**partition, "isr": isr}]}
    story.op("metadata", "t", None, shown, node="b1")


def moved(story: LogStory) -> None:
    story.beat(4, "SHUTDOWN", [story.offset, story.offset + 1])
    story.isr([5], 5)
    story.isr([4], -1, 1)


def let_go(story: LogStory) -> None:
    story.beat(4, "SHUTDOWN", [story.offset])
    story.fence(4)


def another(story: LogStory) -> None:
    """Broker 6, which has no replica, is let go as well."""
    story.beat(6, "SHUTDOWN", [story.offset])
    story.fence(6)
    granted(story, 6, "b3")
    story.record("NoOpRecord")


def clean() -> LogStory:
    story = begun()
    moved(story)
    story.beat(4, "SHUTDOWN", [])  # others have yet to read that
    let_go(story)
    granted(story)
    story.record("NoOpRecord")
    for number in range(2):
        produce(story, number, "ok")
    gone(story)
    return story


def gone(story: Story, leader: int = 8) -> None:
    """Broker 9 served, and went; twice somebody asks who leads what it led."""
    story.op("start", "broker-9", None, {"broker_id": 9})
    story.op("drain", "broker-9", None, {"reason": None, "granted": None, "broker_id": 9})
    for _ in range(2):
        story.op("metadata", "u", None, led_by(leader), node="b1")


def led_by(leader: int) -> dict[str, Any]:
    """An answer on what broker 9 led."""
    held = {"replicas": [9, 8], "isr": [8]}
    partition = {"partition": 0, "leader": leader, "leader_epoch": leader, **held}
    return {"topic_id": OTHER, "partitions": [partition]}


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
    another(story)
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
    """That another is unfenced meanwhile is of no use to it."""
    moved(story)
    let_go(story)
    granted(story)
    story.brokers(7)
    story.isr([4], 4, 1)


def leads_at_once(story: LogStory) -> None:
    """By the record after its fence."""
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


def moved_at_last(story: LogStory) -> None:
    """In the batch that fences it: nobody can have read that."""
    story.isr([4], -1, 1)
    story.beat(4, "SHUTDOWN", [story.offset, story.offset + 1])
    story.isr([5], 5)
    story.fence(4)
    granted(story)


def half_read(story: LogStory) -> None:
    """Of two leaderships that were moved."""
    story.beat(4, "SHUTDOWN", [story.offset, story.offset + 1])
    story.isr([5], 5)
    story.readers = ("c1", "b1", "b3")
    story.isr([4], -1, 1)
    let_go(story)
    granted(story)


def half_read_of_two(story: LogStory) -> None:
    """Each moved by a wish of its own."""
    story.beat(4, "SHUTDOWN", [story.offset])
    story.isr([5], 5)
    story.readers = ("c1", "b1", "b3")
    story.beat(4, "SHUTDOWN", [story.offset])
    story.isr([4], -1, 1)
    let_go(story)
    granted(story)


def read_afterwards(story: LogStory) -> None:
    moved(story)
    let_go(story)
    granted(story)
    story.events = [
        replace(each, time_ns=each.time_ns + 10**10)
        if each.node == "b2" and each.fields.get("kind") == "IsrChangeRecord"
        else each
        for each in story.events
    ]


def moved_too_late(story: LogStory) -> None:
    """Fenced for another reason, and what follows of that comes only after another record."""
    story.fence(4)
    story.record("NoOpRecord")
    story.isr([5], 5)
    story.isr([4], -1, 1)
    granted(story)


def half_moved_too_late(story: LogStory) -> None:
    story.fence(4)
    story.isr([5], 5)
    story.record("NoOpRecord")
    story.isr([4], -1, 1)
    granted(story)


def player(story: LogStory) -> None:
    """A broker that a workload plays, which does other things as well."""
    produce(story, 0, "ok")
    let_go(story)
    value = {"broker_id": 4, "broker_epoch": story.epochs[4], "target": "leaving"}
    answer = {"broker_epoch": story.epochs[4], "next_state": "leaving"}
    for each in (None, "leaving", answer):
        story.op("heartbeat", "broker-4", value, each)


def drain(story: Story, granted: bool | None = True) -> None:
    reported = {"reason": "r", "granted": granted, "broker_id": 4}
    story.op("drain", "broker-4", None, reported)


def drained_in_silence(story: LogStory) -> None:
    """It was let go as it was; it and the controllers leave out what they said to each other. Of
    another the client does not say which it was."""
    drain(story, granted=False)
    story.op("drain", "broker-5", None, {"reason": "r", "granted": True})
    going = story.invoke("drain", "broker-4")
    story.fence(4)
    story.complete(going, "ok", {"reason": "r", "granted": True, "broker_id": 4})
    silent(story, "heartbeat", "decide")


def produce(story: Story, number: int, type: str, error: str = "NOT_LEADER_OR_FOLLOWER") -> None:
    value = {"value": number, "acks": "all", "producer": "p", "idempotent": True}
    story.op("produce", "t/0", value, None, type=type, error=None if type == "ok" else error)


def all_refused(story: LogStory) -> None:
    moved(story)
    story.beat(4, "SHUTDOWN", [story.offset])
    story.fence(4)
    granted(story)
    refused(story, 3_300)


def refused(story: LogStory, lasts_ms: float, error: str = "NOT_LEADER_OR_FOLLOWER") -> None:
    """Four produces, one after the other."""
    for number in range(4):
        produce(story, number, "fail", error)
        story.wait(lasts_ms / 3)


def two_let_go() -> LogStory:
    story = clean()
    another(story)
    return story


PLANTED = Plants.of(
    two_let_go,
    {
        f"and leads {TOPIC}/0": still_leads,
        f"in the ISR of {TOPIC}/0 beside broker 5": in_isr,
        f"and given {TOPIC}/1 at offset": leads_again,
        "by the next record": (f"and given {TOPIC}/1 at offset", leads_at_once),
        "before b2, which is active as broker 5, had read": unread,
        "moves that are too late": (f"at offset 11, and leads {TOPIC}/0", moved_at_last),
        "before b2, which is active as broker 5, had read offset 10": half_read,
        "one of two wishes": ("as broker 5, had read offset 10", half_read_of_two),
        "what is read afterwards": ("as broker 5, had read offset 10", read_afterwards),
        "what follows of a fence": (f"at offset 9, and leads {TOPIC}/0", moved_too_late),
        "half of it": (f"at offset 9, and leads {TOPIC}/1", half_moved_too_late),
        "no committed record fences it": unlogged,
        "broker 9 was let go, and gone by operation": lambda story: gone(story, leader=9),
        "3.0 s before any record fenced it": fenced_later,
        f"broker-4 (broker 4) was let go at offset 9, and leads {TOPIC}/0": player,
        "4 of 4 produces to t/0 failed while b1 (broker 4) left, all for 3.3 s": all_refused,
        "clients that nobody answers": (
            "4 of 4 produces to t/0 failed while b1 (broker 4) left, all for 3.3 s",
            lambda story: (
                moved(story),
                let_go(story),
                granted(story),
                refused(story, 3_300, "CLIENT_TIMED_OUT"),
            ),
        ),
        "5 of 6 produces to t/0 failed": lambda story: (
            moved(story),
            let_go(story),
            granted(story),
            produce(story, 0, "ok"),
            produce(story, 1, "fail"),
            refused(story, 3_300),
        ),
        "a drained broker that tells nothing": (
            f"broker-4 (broker 4) was let go at offset 9, and leads {TOPIC}/0",
            drained_in_silence,
        ),
    },
    on=begun,
)


@pytest.mark.parametrize(
    ("lasts_ms", "more"),
    [(3_300, "ok"), (2_500, ""), (3_300, "fault"), (3_300, "fault before"), (3_300, "machine")],
)
def test_clients_that_get_through_and_faults_are_no_violation(lasts_ms: float, more: str) -> None:
    """Most get through; it did not take long; a fault was about, or had just been; or nobody
    answered in time, on a machine that gave no time."""
    story = begun()
    if more == "fault before":
        story.inject(lasts_ms=10)
    moved(story)
    let_go(story)
    granted(story)
    for number in range(5 if more == "ok" else 0):
        produce(story, number, "ok")
    refused(story, lasts_ms, "CLIENT_TIMED_OUT" if more == "machine" else "NOT_LEADER")
    if more == "fault":
        story.inject(lasts_ms=10)
    if more == "machine":
        spans = [[0, 10_000, 10_000]]
        story.plan = {**story.plan, "machine": {"cores": 2, "took": spans, "nodes": {}}}
    outcome = controlled_shutdown_safety(story.run_events())
    assert_valid(outcome)
    if more in ("ok", ""):
        assert outcome.figures["produces_refused"] == 4


def test_broker_that_came_back_into_service_was_not_seen_to_go_again() -> None:
    """A client was told that it was drained; no heartbeat and no record says so."""
    story = begun()
    story.fence(4)
    story.unfence(4)
    drain(story)
    assert controlled_shutdown_safety(story.run_events()).figures["grants"] == 0


def in_two_isrs(story: LogStory) -> None:
    story.new_partition([5, 4], 2)
    in_isr(story)


def leads_two_again(story: LogStory) -> None:
    leads_again(story)
    story.isr([4], 4, 1)


@pytest.mark.parametrize("plant", [still_leads, in_two_isrs, leads_two_again, unread, unlogged])
def test_what_one_broker_left_behind_is_found_once(plant: Callable[[LogStory], None]) -> None:
    story = begun()
    plant(story)
    assert len(controlled_shutdown_safety(story.run_events()).findings) == 1


def test_partition_that_works_again_after_a_while_was_out_for_that_long() -> None:
    story = begun()
    all_refused(story)
    for number in range(2):
        produce(story, number, "ok")
    assert_invalid(controlled_shutdown_safety(story.run_events()), "4 of 6 produces", "3.3 s")


# --- who keeps silent ---------------------------------------------------------------------


def test_drained_broker_and_controllers_that_leave_it_out_are_judged_by_the_log() -> None:
    story = begun()
    going = story.invoke("drain", "broker-4")
    moved(story)
    let_go(story)
    story.complete(going, "ok", {"reason": "r", "granted": True, "broker_id": 4})
    another(story)
    story.op("drain", "broker-6", None, {"reason": "r", "granted": True, "broker_id": 6})
    result = judged(ControlledShutdownSafety(), silent(story, "heartbeat", "decide"))
    assert clause_of(result, "hands-over").verdict is Verdict.VALID
    assert clause_of(result, "leads-no-more").verdict is Verdict.VALID
    assert clause_of(result, "all-had-read").verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("left_out", "clauses"),
    [
        (("decide", "bstate"), ["all-had-read"]),
        (("heartbeat", "apply"), ["hands-over", "leads-no-more", "all-had-read"]),
        ((), ["hands-over", "leads-no-more", "all-had-read"]),
    ],
)
def test_nodes_that_leave_events_out_are_unknown(
    left_out: tuple[str, ...], clauses: list[str]
) -> None:
    story = clean()
    drain(story)
    assert_unknown(ControlledShutdownSafety(), silent(story, *left_out), *clauses)


@pytest.mark.parametrize(
    ("granted", "why"),
    [(False, "none of 1 brokers that clients asked to leave"), (None, ""), (True, "")],
)
def test_only_clients_say_that_nobody_was_let_go(granted: bool | None, why: str) -> None:
    story = begun()
    drain(story, granted)
    result = judged(ControlledShutdownSafety(), story)
    assert result.verdict is Verdict.UNKNOWN
    assert (
        (why in result.note)
        if why
        else all(
            each.verdict is not None
            for each in result.clauses
            if each.name not in ("shown-no-more", "clients-go-on")
        )
    )


def test_broker_that_was_never_in_service_led_nothing() -> None:
    story = LogStory()
    story.brokers(5)
    story.register(4)
    let_go(story)
    granted(story)
    result = judged(ControlledShutdownSafety(), story)
    assert "nothing was moved" in clause_of(result, "all-had-read").note


def test_broker_that_led_nothing_had_nothing_that_others_must_read() -> None:
    story = LogStory(readers=("c1", "b1"))
    story.brokers(4, 5)
    story.topic()
    story.new_partition([5, 4])
    story.beat(4, "SHUTDOWN", [story.offset])
    story.isr([5], 5)
    story.fence(4)
    granted(story)
    story.record("NoOpRecord")
    result = judged(ControlledShutdownSafety(), story)
    assert not result.findings
    assert "nothing was moved" in clause_of(result, "all-had-read").note


def test_brokers_that_came_after_the_moves_read_them_on_their_way() -> None:
    story = begun()
    moved(story)
    for broker in (5, 6):
        story.fence(broker)
    story.brokers(5, 6)
    for node, broker in (("b2", 5), ("b3", 6)):
        epoch = story.epochs[broker]
        story.boot(node)
        story.event(node, "bstate", before="INITIAL", after="ACTIVE", broker_epoch=epoch, why="")
    let_go(story)
    granted(story)
    story.record("NoOpRecord")
    result = judged(ControlledShutdownSafety(), story)
    assert "nothing was moved" in clause_of(result, "all-had-read").note


def test_leadership_that_a_broker_lost_before_it_came_back_was_not_moved_for_its_leaving() -> None:
    """In one leader epoch; and one that stays has the lowest of all epochs."""
    story = LogStory()
    story.brokers(5, 4)
    story.topic()
    story.new_partition([4, 5])
    story.fence(4)
    story.isr([5], 5)
    story.unfence(4)
    let_go(story)
    granted(story)
    result = judged(ControlledShutdownSafety(), story)
    assert "nothing was moved" in clause_of(result, "all-had-read").note


def test_broker_that_comes_does_not_undo_what_was_moved() -> None:
    """Others had to know of it, and none tells what it read."""
    story = begun()
    moved(story)
    story.brokers(7)
    let_go(story)
    granted(story)
    story.beat(6, "SHUTDOWN", [story.offset])  # it led nothing
    story.fence(6)
    granted(story, 6, "b3")
    drain(story)
    result = judged(ControlledShutdownSafety(), silent(story, "bstate"))
    assert clause_of(result, "all-had-read").verdict is Verdict.UNKNOWN
    assert "nothing was moved" not in clause_of(result, "all-had-read").note


def test_process_that_was_not_active_is_not_held_against_the_moves() -> None:
    """The committed state has it in service before it knows."""
    story = clean()
    story.events = [
        replace(each, fields=each.fields | {"after": "FENCED"})
        if (each.type, each.node) == ("bstate", "b3")
        else each
        for each in story.events
    ]
    assert compared(story)["all-had-read"] == (1, 2)


def test_life_of_which_little_is_left_hides_none_after_it() -> None:
    """No boot, so that nobody knows which broker that was."""
    story = begun()
    story.events = [each for each in story.events if each.node != "b2" or each.type == "bstate"]
    story.boot("b2")
    epoch = story.register(5)
    story.unfence(5)
    story.event("b2", "bstate", before="INITIAL", after="ACTIVE", broker_epoch=epoch, why="")
    unread(story)
    found = controlled_shutdown_safety(story.run_events())
    assert_invalid(found, "before b2, which is active as broker 5, had read")


def others_fenced(story: LogStory) -> None:
    moved(story)
    story.fence(5)
    story.fence(6)
    let_go(story)


def another_leader(story: LogStory) -> None:
    """Of the controllers, who let it go at once."""
    moved(story)
    story.epoch = 2
    let_go(story)


def fenced_with_what_it_led(story: LogStory) -> None:
    story.fence(4)
    story.isr([5], 5)
    story.isr([4], -1, 1)


def taken_into_service(story: LogStory) -> None:
    """By a wish of its own, which is not the one to leave."""
    fenced_with_what_it_led(story)
    story.beat(4, "ACTIVE", [story.offset])
    story.unfence(4)
    let_go(story)


def refused_to_leave(story: LogStory) -> None:
    """By a record even so."""
    fenced_with_what_it_led(story)
    story.unfence(4)
    story.beat(4, "SHUTDOWN", [story.offset], verdict=77)
    story.record("NoOpRecord")
    let_go(story)


@pytest.mark.parametrize(
    "leave",
    [
        others_fenced,
        another_leader,
        fenced_with_what_it_led,
        taken_into_service,
        refused_to_leave,
    ],
)
def test_nothing_was_moved_that_others_had_to_know(leave: Callable[[LogStory], None]) -> None:
    story = begun()
    leave(story)
    granted(story)
    result = judged(ControlledShutdownSafety(), story)
    assert not result.findings
    assert "nothing was moved" in clause_of(result, "all-had-read").note


def test_what_is_moved_with_the_fence_is_not_counted_as_read() -> None:
    story = begun()
    moved_at_last(story)
    drain(story)
    assert controlled_shutdown_safety(story.run_events()).clauses["all-had-read"] == 0


def test_broker_that_its_lease_fenced_after_its_wish_waits_for_nobody() -> None:
    story = begun()
    story.readers = ("c1", "b1")
    moved(story)
    story.fence(4)
    granted(story)
    another(story)
    assert_valid(controlled_shutdown_safety(story.run_events()))


def test_batch_that_was_not_committed_fenced_nobody() -> None:
    """The next leader of the controllers fenced the broker at the same offset."""
    story = begun()
    story.beat(4, "SHUTDOWN", [story.offset])
    story.epoch = 2
    fenced_with_what_it_led(story)
    granted(story)
    another(story)
    assert_valid(controlled_shutdown_safety(story.run_events()))


def test_isr_that_has_no_other_live_member_keeps_the_broker() -> None:
    story = begun()
    story.fence(5)
    story.beat(4, "SHUTDOWN", [story.offset, story.offset + 1])
    story.isr([4, 5], -1)
    story.isr([4], -1, 1)
    let_go(story)
    granted(story)
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
        story.readers = ("c1", "b1", "b3") if case == "fenced" else story.readers
        story.beat(4, "SHUTDOWN", [story.offset])
        story.isr([4], -1)
        story.beat(4, "SHUTDOWN", [story.offset])
        story.isr([4], -1, 1)
        let_go(story)
        granted(story)
        assert_valid(controlled_shutdown_safety(story.run_events()))


# --- what is counted ----------------------------------------------------------------------


def compared(story: Story) -> dict[str, tuple[int, int]]:
    """Of each clause, and how many the run must have."""
    result = judged(ControlledShutdownSafety(), story)
    return {each.name: (each.compared, each.floor) for each in result.clauses}


def test_what_is_compared() -> None:
    """Two brokers that were let go, two that had to read, two produces."""
    story = clean()
    another(story)
    assert compared(story) == {
        "hands-over": (2, 2),
        "leads-no-more": (2, 2),
        "all-had-read": (2, 2),
        "clients-go-on": (2, 2),
        "shown-no-more": (2, 2),
    }
    figures = controlled_shutdown_safety(clean().run_events()).figures
    assert figures == {"grants": 1, "produces_refused": 0, "max_grant_ms": 1.0}


def test_answers_to_observers_count_as_those_to_clients() -> None:
    story = clean()
    story.ask("b1", "describe-topics", {"topics": [{"name": "u", **led_by(8)}]})
    assert compared(story)["shown-no-more"] == (3, 2)


def test_broker_without_replicas_hands_over_itself() -> None:
    story = begun()
    story.beat(6, "SHUTDOWN", [story.offset])
    story.fence(6)
    granted(story, 6, "b3")
    for _ in range(2):
        story.op("drain", "broker-6", None, {"reason": "r", "granted": True, "broker_id": 6})
    assert compared(story)["hands-over"] == (1, 2)


def test_log_that_ends_with_the_grant_shows_nothing_of_what_came_after() -> None:
    story = begun()
    for _ in range(2):
        drain(story)
    another(story)
    moved(story)
    let_go(story)
    granted(story)
    counts = controlled_shutdown_safety(story.run_events()).clauses
    assert (counts["hands-over"], counts["leads-no-more"]) == ((2, 2), (1, 1))
    assert compared(story)["leads-no-more"] == (1, 2)


@pytest.mark.parametrize("granted", [True, None])
def test_one_broker_that_was_let_go_is_one_sighting(granted: bool | None) -> None:
    """However many replicas it had. Of one of whom nothing was seen that is not the reason."""
    story = begun()
    going = story.invoke("drain", "broker-4")
    let_go(story) if granted is None else moved(story)
    story.complete(going, "ok", {"reason": "r", "granted": granted, "broker_id": 4})
    nothing = judged(ControlledShutdownSafety(), silent(story, "heartbeat", "apply"))
    assert clause_of(nothing, "hands-over").verdict is Verdict.UNKNOWN
    story = handed_over()
    result = judged(ControlledShutdownSafety(), story)
    for clause in ("hands-over", "leads-no-more"):
        assert clause_of(result, clause).verdict is None
        assert clause_of(result, clause).note == "clients know of one broker that was let go"
    drain(story, granted)
    result = judged(ControlledShutdownSafety(), story)
    assert clause_of(result, "hands-over").verdict is Verdict.UNKNOWN


def test_each_drained_broker_has_to_be_known() -> None:
    story = clean()
    for _ in range(4):
        drain(story)
    drain(story, granted=False)
    story.op("drain", "broker-5", type="info")
    story.op("drain", "broker-5", None, {"granted": True}, type="fail", error="X")
    story.op("drain", "broker-5", None, "gone")
    story.op("start", "broker-5", None, {"granted": True})
    assert compared(story)["hands-over"] == (1, 4)
    assert compared(story)["leads-no-more"] == (1, 4)


def test_no_client_asked_a_broker_to_leave() -> None:
    story = begun()
    produce(story, 0, "ok")
    result = judged(ControlledShutdownSafety(), story)
    assert {each.note for each in result.clauses} == {"no client asked a broker to leave"}


def test_one_broker_may_have_been_let_go() -> None:
    """Another was not; one did not answer in time; of one the answer is lost."""
    story = begun()
    drain(story, granted=False)
    story.op("drain", "broker-5", type="fail", error="CLIENT_TIMED_OUT")
    counts = controlled_shutdown_safety(story.run_events()).clauses
    assert "none of 2 brokers" in str(counts["hands-over"])
    story.op("drain", "broker-6")
    counts = controlled_shutdown_safety(story.run_events()).clauses
    assert counts["hands-over"] == (0, 0)
    assert counts["all-had-read"] == counts["clients-go-on"] == 0


def test_other_brokers_fence_is_not_that_of_the_drained_one() -> None:
    story = begun()
    story.fence(5)
    drain(story)
    assert controlled_shutdown_safety(story.run_events()).figures["grants"] == 0


@pytest.mark.parametrize(("after_ms", "grants"), [(999, 1), (1_000, 0)])
def test_drained_broker_was_fenced_by_then_or_for_another_reason(
    after_ms: int, grants: int
) -> None:
    """What is committed when a process is gone is told as applied within a second."""
    story = begun()
    drain(story)
    story.wait(after_ms)
    story.fence(4)
    assert controlled_shutdown_safety(story.run_events()).figures["grants"] == grants


# --- grants -------------------------------------------------------------------------------


def heartbeat(story: LogStory, **says: object) -> None:
    epoch = story.epochs[4]
    fields = {"broker_id": 4, "broker_epoch": epoch, "error": 0, "answered_epoch": epoch}
    story.event("b1", "heartbeat", **{**fields, "target": "SHUTDOWN", **says})


def test_answers_that_let_nobody_go() -> None:
    """Not yet; not by that wish; refused."""
    story = begun()
    heartbeat(story, target="ACTIVE", next_state="SHUTDOWN")
    heartbeat(story, next_state="ACTIVE")
    heartbeat(story, next_state="SHUTDOWN", error=77)
    value = {"broker_id": 4, "broker_epoch": story.epochs[4]}
    for target, state, kind in (
        ("leaving", "active", "ok"),
        ("active", "leaving", "ok"),
        ("leaving", "leaving", "fail"),
    ):
        answer = {"broker_epoch": 0, "next_state": state}
        story.op("heartbeat", "broker-4", {**value, "target": target}, answer, type=kind)
    story.op("heartbeat", "broker-4", {**value, "target": "leaving"})
    assert controlled_shutdown_safety(story.run_events()).figures["grants"] == 0


def test_broker_is_let_go_once_however_often_it_is_reported() -> None:
    story = clean()
    granted(story)
    drain(story)
    outcome = controlled_shutdown_safety(story.run_events())
    assert outcome.figures["grants"] == 1


def test_how_long_a_broker_asked() -> None:
    """From its first wish on; the longest, to a tenth of a ms."""
    story = begun()
    granted(story, 6, "b3")
    moved(story)
    let_go(story)
    heartbeat(story, target="ACTIVE", next_state="ACTIVE")
    heartbeat(story, next_state="ACTIVE")
    story.wait(100_040.25)
    heartbeat(story, next_state="ACTIVE")
    heartbeat(story, next_state="SHUTDOWN")
    assert controlled_shutdown_safety(story.run_events()).figures["max_grant_ms"] == 100_042.2


def test_why_nothing_was_compared() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "metadata"]
    counts = controlled_shutdown_safety(story.run_events()).clauses
    assert counts["shown-no-more"] == "nobody asked after a broker had left in peace"
    story.operations = [each for each in story.operations if each.f != "produce"]
    counts = controlled_shutdown_safety(story.run_events()).clauses
    left = "nobody produced to what a broker shared while it left in peace"
    assert counts["clients-go-on"] == left


# --- clients and disks alone ----------------------------------------------------------------


VOTERS = ("c1", "c2", "c3")


def mute(story: LogStory) -> LogStory:
    """No node writes events: what is left is what lies on disks, and what clients saw."""
    story.events = []
    story.plan = {**story.plan, "capabilities": ["disk:applied"]}
    return story


def drained(story: LogStory, *, refuse_ms: float = 0) -> LogStory:
    """Broker 4 is drained, and gone within a second; produces to what it shared with 5 are refused
    for so long, or answered."""
    story.op("start", "broker-4", None, {"broker_id": 4})
    going = story.invoke("drain", "broker-4")
    story.wait(500)
    story.complete(going, "ok", {"reason": None, "granted": None, "broker_id": 4})
    if refuse_ms:
        refused(story, refuse_ms)
    else:
        for number in range(4):
            produce(story, number, "ok")
    return story


def handed_over(keepers: tuple[str, ...] = VOTERS) -> LogStory:
    story = begun(keepers)
    moved(story)
    let_go(story)
    story.record("NoOpRecord")
    return mute(drained(story))


def test_by_clients_and_disks_alone_a_broker_was_let_go_as_it_should() -> None:
    result = judged(ControlledShutdownSafety(), handed_over())
    assert result.verdict is Verdict.VALID, result.note
    valid = {each.name for each in result.clauses if each.verdict is Verdict.VALID}
    assert valid == {"clients-go-on"}, "one broker that was let go is one sighting"
    assert result.figures["max_grant_ms"] == 501.0, "from the client's question to its answer"


def test_by_disks_a_broker_of_whose_grant_its_node_tells_was_let_go_once() -> None:
    """Though nobody tells when it was fenced, then or before."""
    story = begun(VOTERS)
    fenced_with_what_it_led(story)
    story.register(4)
    story.unfence(4)
    let_go(story)
    granted(story)
    drained(story)
    story.events = [each for each in story.events if each.type == "heartbeat"]
    outcome = controlled_shutdown_safety(story.run_events())
    assert outcome.figures["grants"] == 1 and not outcome.findings


def test_by_clients_alone_a_partition_was_refused_that_another_could_take() -> None:
    """As one of which nobody tells why it went, with no event and no disk."""
    story = mute(drained(begun(), refuse_ms=3_300))
    result = judged(ControlledShutdownSafety(), story)
    assert result.verdict is Verdict.INVALID
    (found,) = result.findings
    assert "4 of 4 produces to t/0 failed while broker-4 (broker 4) left" in found.message


def test_each_life_on_disks_is_judged_and_what_a_client_drained_only_once() -> None:
    story = begun(VOTERS)
    for _ in range(2):
        moved(story)
        let_go(story)
        story.register(4)
        story.unfence(4)
    outcome = controlled_shutdown_safety(mute(drained(story, refuse_ms=3_300)).run_events())
    (found,) = outcome.findings
    assert "4 of 4 produces" in found.message
    assert outcome.clauses["hands-over"] == (2, 0), "two fences"


@pytest.mark.parametrize(
    ("isr", "handled", "clause"),
    [
        ([4], "", None),
        ([4, 5], "before", None),
        ([4, 5], "under way", None),
        ([4, 5], "soon after", None),
        ([4, 5], "long before", Verdict.INVALID),
        ([4, 5], "long after", Verdict.INVALID),
        ([4, 5], "a stranger", Verdict.INVALID),
    ],
)
def test_a_partition_that_nobody_could_take_over_may_be_refused(
    isr: list[int], handled: str, clause: Verdict | None
) -> None:
    """The other replica was not in sync; or a client did something to its process."""
    story = begun()
    if handled == "long before":
        story.op("bounce", "broker-5", None, {"broker_id": 5})
    held(story, 4, isr)
    if handled == "before":
        story.op("bounce", "broker-5", None, {"broker_id": 5})
    if handled == "under way":
        story.invoke("restart", "broker-5")
    if handled == "a stranger":
        story.op("bounce", "broker-6", None, {"broker_id": 6})
    drained(story)
    story.operations = [each for each in story.operations if each.f != "produce"]
    if handled == "soon after":
        story.op("bounce", "broker-5", None, {"broker_id": 5})
    refused(story, 3_300)
    if handled == "long after":
        story.op("bounce", "broker-5", None, {"broker_id": 5})
    result = judged(ControlledShutdownSafety(), mute(story))
    assert clause_of(result, "clients-go-on").verdict is clause


def test_a_partition_without_a_replica_on_it_may_be_refused() -> None:
    """It is another broker's affair."""
    story = begun()
    story.op("start", "broker-6", None, {"broker_id": 6})
    story.op("drain", "broker-6", None, {"reason": None, "granted": None, "broker_id": 6})
    refused(story, 3_300)
    assert (
        clause_of(judged(ControlledShutdownSafety(), mute(story)), "clients-go-on").verdict is None
    )


@pytest.mark.parametrize("settled", [True, False])
def test_in_the_end_clients_go_on_once_the_cluster_has_settled(settled: bool) -> None:
    """Soon after a fault."""
    story = begun()
    story.inject()
    story.final(settled=settled)
    drained(story, refuse_ms=3_300)
    result = judged(ControlledShutdownSafety(), mute(story))
    found = clause_of(result, "clients-go-on").verdict
    assert found is (Verdict.INVALID if settled else None)


@pytest.mark.parametrize("before", [True, False])
def test_that_it_settled_afterwards_says_nothing_of_a_departure(before: bool) -> None:
    """Whether it had settled before as well, or had not."""
    story = begun()
    story.inject()
    if before:
        story.mark("settle", {"settled": True, "missing": None})
    drained(story, refuse_ms=3_300)
    story.final(settled=True)
    result = judged(ControlledShutdownSafety(), mute(story))
    assert clause_of(result, "clients-go-on").verdict is None


def test_a_fault_that_was_not_healed_holds_though_the_cluster_settled() -> None:
    story = begun()
    story.inject(healed=False)
    story.final(settled=True)
    drained(story, refuse_ms=3_300)
    result = judged(ControlledShutdownSafety(), mute(story))
    assert clause_of(result, "clients-go-on").verdict is None


def leads_when_it_is_gone(story: LogStory) -> None:
    let_go(story)
    story.record("NoOpRecord")


def in_an_isr_when_it_is_gone(story: LogStory) -> None:
    story.isr([4, 5], 5)
    story.isr([4], -1, 1)
    let_go(story)
    story.record("NoOpRecord")


def leads_again_while_it_is_gone(story: LogStory) -> None:
    moved(story)
    let_go(story)
    story.isr([4], 4, 1)


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (leads_when_it_is_gone, f"broker-4 (broker 4) was let go at offset 9, and leads {TOPIC}/0"),
        (in_an_isr_when_it_is_gone, f"and is in the ISR of {TOPIC}/0 beside broker 5"),
        (leads_again_while_it_is_gone, f"and given {TOPIC}/1 at offset"),
    ],
)
@pytest.mark.parametrize("again", [True, False])
def test_by_disks_alone_a_broker_was_let_go_with_what_it_led(
    plant: Callable[[LogStory], None], found: str, again: bool
) -> None:
    """Also where it has come back since."""
    story = begun(VOTERS)
    plant(story)
    if again:
        story.register(4)
        story.unfence(4)
    result = judged(ControlledShutdownSafety(), mute(drained(story)))
    assert result.verdict is Verdict.INVALID
    assert found in result.findings[0].message


def test_by_disks_alone_only_a_broker_that_clients_drained_was_let_go() -> None:
    story = begun(VOTERS)
    story.op("start", "broker-5", None, {"broker_id": 5})
    leads_when_it_is_gone(story)
    counts = controlled_shutdown_safety(mute(story).run_events()).clauses
    assert isinstance(counts["hands-over"], str)


def test_system_that_tells_nothing_and_leaves_nothing_is_judged_by_its_clients() -> None:
    story = handed_over(keepers=())
    counts = controlled_shutdown_safety(story.run_events()).clauses
    (why,) = {counts[each] for each in ("hands-over", "leads-no-more", "all-had-read")}
    assert why == "by the run's settings its nodes write no events"
    assert counts["clients-go-on"] == 4


def test_system_that_tells_nothing_may_have_let_go_who_was_gone_late() -> None:
    story = begun()
    drain(story, granted=None)
    counts = controlled_shutdown_safety(mute(story).run_events()).clauses
    assert counts["clients-go-on"] == "by the run's settings its nodes write no events"


def test_broker_that_nobody_asked_to_leave_is_compared_if_that_is_enough() -> None:
    story = begun()
    story.isr([4], 4)
    story.beat(5, "SHUTDOWN", [story.offset])
    story.fence(5)
    granted(story, 5, "b2")
    another(story)
    counts = controlled_shutdown_safety(story.run_events()).clauses
    assert counts["hands-over"] == counts["leads-no-more"] == (2, 0)


def test_faults_hold_until_the_cluster_was_seen_to_settle() -> None:
    story = begun()
    story.inject(healed=False)
    gone(story)
    assert compared(story)["shown-no-more"] == (0, 2)
    story.final()
    gone(story)
    assert compared(story)["shown-no-more"] == (2, 2)


def test_client_that_plays_a_broker_is_let_go_when_it_is_answered() -> None:
    story = begun()
    story.wait(3_000)
    moved(story)
    player(story)
    assert not controlled_shutdown_safety(story.run_events()).findings


def test_another_broker_that_serves_again_is_not_the_one_that_was_drained() -> None:
    story = begun()
    story.fence(5)
    going = story.invoke("drain", "broker-4")
    story.fence(4)
    story.unfence(5)
    story.complete(going, "ok", {"reason": "r", "granted": True, "broker_id": 4})
    story.op("start", "broker-5", None, {"granted": True})
    found = controlled_shutdown_safety(story.run_events())
    assert_invalid(found, "broker-4 (broker 4) was let go", f"leads {TOPIC}/0")
    one = "clients know of one broker that was let go"
    assert found.clauses["hands-over"] == one, "a start lets nobody go"


def test_decisions_on_other_wishes_come_before() -> None:
    story = begun()
    story.beat(4, "ACTIVE", [])
    unread(story)
    assert_invalid(controlled_shutdown_safety(story.run_events()), "had read")


def test_broker_that_was_never_active_needs_no_record() -> None:
    story = begun()
    story.register(7)
    story.event(
        "b1",
        "heartbeat",
        broker_id=7,
        broker_epoch=story.epochs[7],
        target="SHUTDOWN",
        error=0,
        next_state="SHUTDOWN",
        answered_epoch=story.epochs[7],
    )
    outcome = controlled_shutdown_safety(story.run_events())
    assert outcome.figures["grants"] == 1 and not outcome.findings


@pytest.mark.parametrize(("after_ms", "late"), [(998, False), (1_100, True)])
def test_record_may_be_reported_a_second_late(after_ms: int, late: bool) -> None:
    story = begun()
    moved(story)
    granted(story)
    story.wait(after_ms)
    let_go(story)
    found = [each.message for each in controlled_shutdown_safety(story.run_events()).findings]
    assert any("before any record fenced it" in each for each in found) == late


def test_last_fence_of_a_broker_counts() -> None:
    """It was fenced and came back before it asked to leave."""
    story = begun()
    story.fence(4)
    story.unfence(4)
    moved(story)
    let_go(story)
    granted(story)
    assert_valid(controlled_shutdown_safety(story.run_events()))


# --- clients ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answered", "lasts_ms", "found"), [(4, 3_300, 1), (5, 3_300, 0), (0, 2_990, 0), (0, 3_001, 1)]
)
def test_half_of_what_is_produced_for_three_seconds(
    answered: int, lasts_ms: int, found: int
) -> None:
    story = begun()
    moved(story)
    let_go(story)
    granted(story)
    refused(story, lasts_ms)
    for number in range(answered):
        produce(story, number, "ok")
    assert len(controlled_shutdown_safety(story.run_events()).findings) == found


def test_produces_count_from_the_wish_to_some_time_after() -> None:
    story = begun()
    produce(story, 0, "fail")
    moved(story)
    let_go(story)
    granted(story)
    for number in range(2):
        produce(story, number, "fail")
        story.op("fetch", "t/0", {"from": 0}, type="fail", error="NOT_LEADER_OR_FOLLOWER")
    story.invoke("produce", "t/0", {"value": 9})
    story.wait(5_000)
    produce(story, 8, "fail")
    outcome = controlled_shutdown_safety(story.run_events())
    assert outcome.figures["produces_refused"] == 2


@pytest.mark.parametrize(("before_s", "counts"), [(1, 0), (16, 2)])
@pytest.mark.parametrize("healed", [True, False])
def test_faults_from_which_the_system_has_recovered_excuse_nothing(
    before_s: int, counts: int, healed: bool
) -> None:
    story = begun()
    story.plan = {**story.plan, "recovery_s": 15}
    story.inject(healed=healed)
    if not healed:
        story.faults = [replace(each, healed_ns=None) for each in story.faults]
    story.wait(1_000 * before_s)
    moved(story)
    let_go(story)
    granted(story)
    for number in range(2):
        produce(story, number, "ok")
    story.wait(20_000)
    story.inject()
    assert compared(story)["clients-go-on"][0] == (counts if healed else 0)


@settings(max_examples=cases(60), deadline=None)
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
