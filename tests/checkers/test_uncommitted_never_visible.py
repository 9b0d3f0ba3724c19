"""Nothing is seen that is not committed (D.9)."""

from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from judging import assert_unknown, clause_of, judged, silent
from planted_disks import Disks
from planted_logs import LogStory
from planted_runs import (
    MS,
    NODES,
    OTHER,
    TOPIC,
    NodeEvent,
    Story,
    assert_invalid,
    assert_valid,
    change,
    shown,
)

from checkers.uncommitted_never_visible import UncommittedNeverVisible, uncommitted_never_visible
from framework.verdict import Verdict

VOTERS = {"c1": 1, "c2": 2, "c3": 3}
LAST = "33333333-3333-3333-3333-333333333333"
ISR_CHANGE = {
    "partition_id": 0,
    "isr": [4],
    "leader": 4,
    "leader_epoch": 0,
    "partition_epoch": 1,
}


def booted(story: Story) -> None:
    for node, replica in VOTERS.items():
        story.event(node, "boot", replica_id=replica, voters=[1, 2, 3], log_end=0, last_epoch=0)


def held(story: Story, node: str, base: int, end: int, epoch: int = 1) -> None:
    """Appended, and flushed."""
    story.append(node, base, epoch, *range(end - base), leader=node == "c1")
    story.event(node, "flush", end_offset=end)


def clean() -> LogStory:
    """Two records are committed, answered, applied and shown."""
    story = LogStory(readers=tuple(NODES), keepers=tuple(VOTERS))
    booted(story)
    story.decide("CreateTopics", {"topic": "t"}, [0, 1])
    held(story, "c1", 0, 2)
    held(story, "c2", 0, 2)
    story.hw("c1", 2, 1)
    story.answer("CreateTopics", 2)
    story.topic()
    story.new_partition([4, 5, 6])
    for node in NODES:
        for _ in range(3):
            story.event(node, "publish", offset=2, digest="d")
    for request in range(10, 14):
        story.decide("CreateTopics", {"topic": "t"}, [0, 1], request_id=str(request))
        story.answer("CreateTopics", 2, request=str(request))
    held(story, "c1", 2, 4)
    story.create("t")
    for _ in range(8):
        story.describe("t", shown(0, [4, 5, 6]))
    view = {"partition": 0, "leader": 4, "leader_epoch": 0, "isr": [4, 5, 6]}
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": [view]}, node="b1")
    return story


def test_clean_run_is_accepted() -> None:
    """A.1.28, A.1.29: also records that are not on a majority yet, seen by nobody."""
    outcome = uncommitted_never_visible(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["shown"] == 10


def test_nothing_seen_is_unknown() -> None:
    assert uncommitted_never_visible(Story().run_events()).verdict is Verdict.UNKNOWN


def read(**changed: Any) -> Any:
    def plant(story: LogStory) -> None:
        story.describe("t", {**shown(0, [4, 5, 6]), **changed})

    return plant


def answered(story: LogStory) -> None:
    story.decide("X", {}, [2, 3], request_id="2")
    story.answer("X", 4, request="2")


def partly_answered(story: LogStory) -> None:
    story.decide("Y", {}, [2, 3], request_id="2")
    story.answer("Y", 4, request="2", code=36, codes=[36, 0])


PLANTED = Plants.of(
    clean,
    {
        "c1 answered X with success before offset 3": answered,
        "c1 answered Y with success before offset 3": partly_answered,
        "c1 applied what is below 3": lambda story: story.record("NoOpRecord"),
        "b1 published what is below 4": lambda story: story.event(
            "b1", "publish", offset=4, digest="d"
        ),
        "c1 called committed what is below 3": lambda story: story.hw("c1", 3, 1),
        f"topic id {OTHER}": lambda story: story.create("u", OTHER),
        "partition_epoch 1": read(partition_epoch=1),
        "leader 5": read(leader=5),
        "leader -1": read(leader=-1),
        "leader_epoch 1": lambda story: story.op(
            "metadata",
            "t",
            None,
            {"topic_id": TOPIC, "partitions": [{"partition": 0, "leader": 4, "leader_epoch": 1}]},
        ),
        "isr [4]": read(isr=[4]),
        "partition 7": read(partition=7),
        "epoch 9 of broker 4": lambda story: story.heartbeat(4, 9),
        f"version 1 of {TOPIC}/0": lambda story: story.alter(0, [4]),
    },
)


@PLANTED.violation("c1 applied what is below 3", "ms later")
def applied_a_moment_before_it_was_durable(story: LogStory) -> None:
    story.record("NoOpRecord")
    held(story, "c2", 2, 3)


# --- by disks, and without what nodes tell ------------------------------------------------


def mute() -> LogStory:
    """By the plan nodes tell nothing."""
    story = silent(clean())
    story.plan = {**story.plan, "capabilities": ["disk:applied"]}
    return story


def test_disks_are_enough() -> None:
    result = judged(UncommittedNeverVisible(), mute())
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "shown-is-committed").compared == 10
    assert clause_of(result, "answered-after-commit").verdict is None


@PLANTED.violation("leader 5", on=mute)
def client_was_shown_what_no_disk_carries(story: LogStory) -> None:
    read(leader=5)(story)


@PLANTED.violation("was shown a state", "partition_epoch 1")
def node_made_up_what_it_shows(story: LogStory) -> None:
    """It tells that it applied it, too."""
    story.keepers = ()
    story.isr([4], 4)
    read(isr=[4], partition_epoch=1)(story)


@PLANTED.violation("c1 applied partition-changed", "ends at 2")
def applied_what_is_on_no_disk(story: LogStory) -> None:
    story.keepers = ()
    story.isr([4], 4)


@PLANTED.violation("partition_epoch 1", on=mute)
def record_that_was_shown_and_cut_off(story: LogStory) -> None:
    story.disks.write("c3", 1, "IsrChangeRecord", **{**ISR_CHANGE, "topic_id": TOPIC})
    story.disks.restart("c3")
    story.disks.cut("c3", 2)
    read(isr=[4], partition_epoch=1)(story)


def test_what_only_a_minority_has_may_be_shown_by_no_one_but_need_not_be_on_all() -> None:
    story = mute()
    for node in ("c1", "c3"):
        story.disks.write(node, 1, "IsrChangeRecord", **{**ISR_CHANGE, "topic_id": TOPIC})
    read(isr=[4], partition_epoch=1)(story)
    assert judged(UncommittedNeverVisible(), story).verdict is Verdict.VALID


def test_log_that_nobody_carries_is_unknown() -> None:
    story = mute()
    story.disks.lost.add("c2")
    assert_unknown(UncommittedNeverVisible(), story, "shown-is-committed")


def test_events_that_are_left_out_are_unknown() -> None:
    assert_unknown(
        UncommittedNeverVisible(),
        silent(clean(), "answer"),
        "answered-after-commit",
    )
    shy = silent(clean(), "apply", "publish", "hw", node="b2")
    assert_unknown(UncommittedNeverVisible(), shy, "applied-after-commit")
    assert_unknown(
        UncommittedNeverVisible(),
        silent(clean()),
        "answered-after-commit",
        "applied-after-commit",
    )


def test_clocks_of_several_machines_are_not_compared() -> None:
    story = clean()
    story.hw("c1", 3, 1)
    story.plan["hosts"] = "ssh"
    result = judged(UncommittedNeverVisible(), story)
    assert result.verdict is Verdict.VALID
    for name in ("answered-after-commit", "applied-after-commit"):
        assert "nobody measured" in clause_of(result, name).note


@pytest.mark.parametrize("answer", [False, True])
def test_findings_say_by_how_much(answer: bool) -> None:
    story = clean()
    if answer:
        story.decide("X", {}, [2], request_id="2")
        story.answer("X", 3, request="2")
    else:
        story.hw("c1", 3, 1)
    early = story.now_ns
    story.wait(5)
    held(story, "c3", 0, 4)
    outcome = uncommitted_never_visible(story.run_events())
    assert_invalid(outcome, f"was {(story.now_ns - early) / MS:.3f} ms later")
    assert isinstance(story.events[-1], NodeEvent)


# --- all kinds of answers, beside each other ----------------------------------------------


def asked_of_all() -> LogStory:
    """A registration and an ISR change are committed, too, and shown in every answer that can; some
    answers show nothing, for there is nothing to show."""
    story = clean()
    held(story, "c2", 2, 4)
    story.register(4)
    story.unfence(4)
    for node in ("c1", "c2"):
        held(story, node, 4, 5)
    story.isr([4, 5], 4)
    story.heartbeat(4, -1, answered=2)
    story.heartbeat(4, 2, answered=-1)
    story.op("heartbeat", "broker-4", {"broker_id": 4, "broker_epoch": 2}, {"broker_epoch": None})
    story.alter(0, [4, 5])
    story.op("alter-isr", "t/0", change(0, [4, 5]), {"partition_epoch": 1})
    story.describe("t", shown(1, [5, 4]))
    story.describe("gone")
    story.op("describe", "gone", None, {"topic_id": None, "partitions": []})
    story.op("create", "u", {}, {"topic_id": OTHER}, type="fail", error="TIMED_OUT")
    unknown = {"partition": 9, "leader": -1, "leader_epoch": -1}
    hidden = {"partition": 0, "leader": -1, "leader_epoch": 0}
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": [unknown, hidden]})
    story.describe("t", {"partition": 0, "partition_epoch": 1, "isr": [4, 5]})
    silent_of_leaders = {"partition": 0, "leader_epoch": 0}
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": [silent_of_leaders]})
    return story


def test_every_answer_that_shows_something_is_held_against_the_log() -> None:
    result = judged(UncommittedNeverVisible(), asked_of_all())
    assert result.verdict is Verdict.VALID, result.findings
    assert [each.compared for each in result.clauses] == [10 + 7, 5, 6]


def in_metadata(**changed: Any) -> Any:
    """Behind a partition of which the cache says that it knows nothing."""
    unknown = {"partition": 0, "leader": -1, "leader_epoch": -1}
    view = {"partition": 0, "leader": 4, "leader_epoch": 0, **changed}

    def plant(story: LogStory) -> None:
        story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": [unknown, view]})

    return plant


PLANTED |= Plants.of(
    asked_of_all,
    {
        "epoch 0 of broker 4": lambda story: story.heartbeat(4, -1, answered=0),
        "epoch 2 of broker 5": lambda story: story.heartbeat(5, -1, answered=2),
        f"version 2 of {TOPIC}/0": lambda story: story.alter(1, [4]),
        "leader epoch of a version": (
            f"version 1 of {TOPIC}/0",
            lambda story: story.alter(0, [4, 5], answer={"leader_epoch": 1}),
        ),
        "leader epoch without a version": (
            f"version None of {TOPIC}/0",
            lambda story: story.op("alter-isr", "t/0", change(0, [4, 5]), {"leader_epoch": 1}),
        ),
        "version without a leader": (
            "isr [4], partition 0, partition_epoch 1",
            lambda story: story.describe("t", {"partition": 0, "partition_epoch": 1, "isr": [4]}),
        ),
        "isr [4, 6]": lambda story: story.describe("t", shown(1, [4, 6])),
        "isr [4, 5], leader 6": lambda story: story.follow("t", shown(1, [4, 5], leader=6)),
        "leader 0, leader_epoch 0": in_metadata(leader=0),
        "leader_epoch 1, partition 0": in_metadata(leader=-1, leader_epoch=1),
        "leader 4, leader_epoch 5": in_metadata(leader_epoch=5),
    },
)


def test_acknowledgements_of_changes_say_what_they_say() -> None:
    """Of one nothing was answered, another leaves the version out."""
    story = asked_of_all()
    before = judged(UncommittedNeverVisible(), story).clauses[0].compared
    story.op("alter-isr", "t/0", change(0, [4, 5]), None)
    story.op("alter-isr", "t/0", change(0, [4, 5]), {"leader_epoch": 0})
    result = judged(UncommittedNeverVisible(), story)
    assert result.verdict is Verdict.VALID, result.findings
    assert result.clauses[0].compared == before + 1


def test_a_topic_that_was_never_made_is_one_finding_whatever_it_has() -> None:
    story = clean()
    story.describe("t", shown(7, [4]), topic_id=OTHER)
    assert len(uncommitted_never_visible(story.run_events()).findings) == 1


# --- the moment of the commit -------------------------------------------------------------


@PLANTED.violation("c1 answered X with success before offset 2", "ms later")
def answered_one_record_too_early(story: LogStory) -> None:
    story.decide("X", {}, [2], request_id="2")
    story.answer("X", 3, request="2")
    story.wait(5)
    held(story, "c2", 2, 3)


def test_answers_that_rest_on_no_record_are_not_judged() -> None:
    story = clean()
    story.events.insert(0, story.answer("Metadata", 0, request="nobody decided"))
    story.answer("Metadata", 0, request="nor this")
    story.decide("CreateTopics", {}, [], request_id="20")
    story.answer("CreateTopics", 0, request="20")
    story.decide("CreateTopics", {}, [3], request_id="21")
    story.answer("CreateTopics", 0, request="21", code=41)
    story.decide("CreateTopics", {}, [1], request_id="22")
    story.answer("CreateTopics", 2, request="22")
    result = judged(UncommittedNeverVisible(), story)
    assert result.verdict is Verdict.VALID, result.findings
    assert clause_of(result, "answered-after-commit").compared == 6


def test_an_answer_rests_on_what_its_own_process_decided() -> None:
    """Others number their requests likewise."""
    story = clean()
    story.decide("X", {}, [3], request_id="20")
    story.answer("X", 2, node="c2", request="20")
    result = judged(UncommittedNeverVisible(), story)
    assert result.verdict is Verdict.VALID, result.findings
    assert clause_of(result, "answered-after-commit").compared == 5


def test_node_that_tells_of_four_things_is_not_heard() -> None:
    story = silent(clean(), "apply", "publish", "hw", node="b2")
    for _ in range(4):
        story.event("b2", "publish", offset=2, digest="d")
    assert_unknown(UncommittedNeverVisible(), story, "applied-after-commit")
    story.event("b2", "publish", offset=2, digest="d")
    assert judged(UncommittedNeverVisible(), story).verdict is Verdict.VALID


def test_what_lies_on_its_disk_a_node_did_not_tell() -> None:
    story = silent(clean(), "apply", "publish", "hw", node="c3")
    story.disks.fill(1, 5, "c3")
    assert_unknown(UncommittedNeverVisible(), story, "applied-after-commit")


def test_one_node_is_before_nobody() -> None:
    story = clean()
    story.plan = {**story.plan, "nodes": {"c1": NODES["c1"]}}
    found = clause_of(judged(UncommittedNeverVisible(), story), "applied-after-commit")
    assert found.verdict is None and "one node" in found.note


def test_nobody_who_reported_who_votes_leaves_no_times() -> None:
    assert_unknown(
        UncommittedNeverVisible(),
        silent(clean(), "boot"),
        "answered-after-commit",
        "applied-after-commit",
    )


def test_one_clock_that_is_known_is_enough() -> None:
    story = clean()
    story.hw("c1", 3, 1)
    known = {"samples": [{"at_ns": 0, "offset_ns": 0, "within_ns": 0}]}
    story.plan |= {"hosts": "ssh", "clocks": {"c1": known}}
    assert_invalid(uncommitted_never_visible(story.run_events()), "c1 called committed")


def test_times_of_a_plan_that_says_nothing_of_clocks_are_of_one() -> None:
    events = clean().run_events()
    outcome = uncommitted_never_visible(replace(events, plan={}))
    assert outcome.clauses["answered-after-commit"] == 5
    assert outcome.clauses["applied-after-commit"] == (6, 6)


# --- whose log it is ----------------------------------------------------------------------


def reported_alone() -> LogStory:
    """Nobody's disk was collected."""
    story = clean()
    story.disks = Disks()
    return story


def test_what_nodes_tell_is_enough() -> None:
    result = judged(UncommittedNeverVisible(), reported_alone())
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "shown-is-committed").compared == 10


@PLANTED.violation("leader 5", on=reported_alone, name="shown what no node told")
def shown_what_no_node_reported(story: LogStory) -> None:
    read(leader=5)(story)


def test_behind_a_gap_in_what_was_reported_all_that_was_reported_counts() -> None:
    story = reported_alone()
    story.offset = 9
    story.topic("u", OTHER)
    story.create("u", OTHER)
    story.topic("v", LAST)
    story.offset = 20
    story.record("TopicRecord", name="w", topic_id="w", deleting=True)
    story.create("w", "w")
    result = judged(UncommittedNeverVisible(), story)
    assert clause_of(result, "shown-is-committed").verdict is Verdict.VALID


def test_disks_that_begin_at_a_snapshot_do_not_say_all_that_was_made() -> None:
    """The topic's own record is below it, and nodes told of that."""
    story = clean()
    story.disks = Disks()
    for node in VOTERS:
        story.disks.begin(node, 1, dropped=True)
        for number, kind in enumerate(("PartitionRecord", "IsrChangeRecord")):
            record = {**ISR_CHANGE, "topic_id": TOPIC, "isr": [4], "partition_epoch": number}
            story.disks.write(node, 1, kind, **record)
    read(isr=[4], partition_epoch=1)(story)
    result = judged(UncommittedNeverVisible(), story)
    assert clause_of(result, "shown-is-committed").verdict is Verdict.VALID


def test_log_that_has_brokers_and_no_topic_is_a_log() -> None:
    story = LogStory(readers=tuple(NODES))
    story.register(4)
    story.heartbeat(4, -1, answered=0)
    story.heartbeat(4, -1, answered=1)
    assert_invalid(uncommitted_never_visible(story.run_events()), "epoch 1 of broker 4")
