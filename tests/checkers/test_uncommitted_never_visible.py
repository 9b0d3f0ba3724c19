"""Nothing is seen that is not committed (D.9)."""

import random
from typing import Any

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
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
    shown,
)

from checkers.folds.commit_times import commit_times
from checkers.uncommitted_never_visible import UncommittedNeverVisible, uncommitted_never_visible
from framework.verdict import Verdict

VOTERS = {"c1": 1, "c2": 2, "c3": 3}
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


def test_entries_of_an_old_epoch_are_not_committed_by_their_number() -> None:
    """Raft, section 5.4.2: an entry of the leader's own epoch has to be on a majority."""
    story = Story()
    booted(story)
    held(story, "c1", 0, 1, epoch=1)
    held(story, "c2", 0, 1, epoch=2)
    times = commit_times(story.run_events())
    assert times is not None and times.end_at(story.now_ns) == 0
    story.event("c2", "truncate", end_offset=0)
    held(story, "c2", 0, 1, epoch=1)
    times = commit_times(story.run_events())
    assert times is not None and times.end_at(story.now_ns) == 1


def test_disks_count_after_a_restart_and_a_fetched_snapshot() -> None:
    story = Story()
    booted(story)
    held(story, "c1", 0, 3)
    story.append("c2", 0, 1, 1, 2)
    story.event("c2", "boot", replica_id=2, voters=[1, 2, 3], log_end=2, last_epoch=1)
    at_boot = story.now_ns
    story.event("c3", "snap_load", end_offset=3, epoch=1, digest="d", source="fetched")
    times = commit_times(story.run_events())
    assert times is not None
    assert times.of(1) == at_boot
    assert times.of(2) == story.now_ns
    assert times.of(3) is None


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_commit_times_agree_with_brute_force(seed: int) -> None:
    """Three logs that grow, are cut and flushed at random; at each moment, every offset is
    counted on every log as the definition says."""
    draw = random.Random(seed)
    story = Story()
    booted(story)
    logs: dict[str, list[int]] = {node: [] for node in VOTERS}
    durable = dict.fromkeys(VOTERS, 0)
    committed = 0
    epoch = 1
    for _ in range(draw.randint(1, 20)):
        node = draw.choice(list(VOTERS))
        log = logs[node]
        match draw.randrange(4):
            case 0:
                epoch += draw.randrange(2)
                story.append(node, len(log), epoch, 7)
                log.append(epoch)
            case 1 if len(log) < max(map(len, logs.values())):
                longest = max(logs.values(), key=len)
                if longest[: len(log)] == log:
                    story.append(node, len(log), longest[len(log)], 7)
                    log.append(longest[len(log)])
            case 2 if log:
                end = draw.randrange(len(log))
                story.event(node, "truncate", end_offset=end)
                del log[end:]
                durable[node] = min(durable[node], end)
            case 3:
                story.event(node, "flush", end_offset=len(log))
                durable[node] = len(log)
        committed = max(committed, _committed(logs, durable))
        times = commit_times(story.run_events())
        assert times is not None and times.end_at(story.now_ns) == committed


def _committed(logs: dict[str, list[int]], durable: dict[str, int]) -> int:
    best = 0
    for epoch in {each for log in logs.values() for each in log}:
        for offset in range(max(map(len, logs.values()))):
            holders = 0
            for node, log in logs.items():
                own = [at for at in range(durable[node]) if log[at] == epoch and at >= offset]
                holders += bool(own)
            if holders >= 2:
                best = max(best, offset + 1)
    return best


def test_findings_say_by_how_much() -> None:
    story = clean()
    story.hw("c1", 3, 1)
    early = story.now_ns
    story.wait(5)
    held(story, "c3", 0, 4)
    outcome = uncommitted_never_visible(story.run_events())
    assert_invalid(outcome, f"was {(story.now_ns - early) / MS:.3f} ms later")
    assert isinstance(story.events[-1], NodeEvent)
