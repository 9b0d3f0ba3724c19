"""No identifier is used twice (D.19)."""

import random

from contract import Plants
from controller_cores import decided_log
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_disks import Disks
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, Story, assert_valid, shown

from checkers.identity_uniqueness import IdentityUniqueness, identity_uniqueness
from framework.evidence.kinds import PartitionAppended
from framework.verdict import Verdict


def leased(story: Story, node: str, broker: int, epoch: int) -> None:
    story.event(node, "lease", broker_id=broker, broker_epoch=epoch, start_ns=0, end_ns=1)


def batch(story: Story, node: str, base: int, crc: int, producer_id: int = -1) -> None:
    story.event(
        node,
        "plog",
        topic_id=TOPIC,
        partition=0,
        base_offset=base,
        end_offset=base + 2,
        epoch=3,
        crc=crc,
        leader=node == "b1",
        producer_id=producer_id,
        base_sequence=0,
    )


def producers(story: LogStory, upto: int) -> None:
    story.record("ProducerIdsRecord", broker_id=4, broker_epoch=0, next_producer_id=upto)


def produced(story: Story, producer: str, producer_id: int) -> None:
    value = {"value": producer_id, "acks": "all", "producer": producer, "idempotent": True}
    result = {"offset": 0, "topic_id": TOPIC}
    story.op("produce", "t/0", value, result, ext={"producer_id": producer_id})


def synthetic(story: Story, epoch: int, incarnation: str) -> None:
    value = {"broker_id": 101, "broker_epoch": -1, "incarnation": incarnation, "zombie": None}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": epoch})


def clean() -> LogStory:
    story = LogStory()
    for number in (1, 2, 3):
        story.event(f"c{number}", "boot", replica_id=number, voters=[1, 2, 3])
    for node in ("c1", "c2", "c3"):
        story.append(node, 0, 7, *range(11, 17))
    for _ in range(2):
        story.event("c1", "exit", reason="terminated")
        story.inject(fault="kill", victims={"c1": "kill"})
        story.event("c1", "boot", replica_id=1, voters=[1, 2, 3])
    story.append("c1", 1, 8, 13)
    story.brokers(4, 5)
    leased(story, "b1", 4, story.epochs[4])
    leased(story, "b1", 4, story.epochs[4])
    leased(story, "b2", 5, story.epochs[5])
    story.topic()
    story.create("t")
    story.describe("t", shown(0, [4]))
    synthetic(story, 40, "i1")
    synthetic(story, 41, "i2")
    producers(story, 1_000)
    producers(story, 2_000)
    for node in ("b1", "b2"):
        batch(story, node, 0, 7, 1_500)
        batch(story, node, 2, 8, -1)
    produced(story, "p1", 1_500)
    story.event("c1", "snap_write", end_offset=3, epoch=1, digest="d", high_watermark=3)
    story.event("b2", "snap_load", end_offset=3, epoch=1, digest="d")
    return story


def test_clean_run_is_accepted() -> None:
    """A.1.93, A.3.1"""
    assert_valid(identity_uniqueness(clean().run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert identity_uniqueness(Story().run_events()).verdict is Verdict.UNKNOWN


def two_controllers(story: Story) -> None:
    story.event("n9", "boot", replica_id=2, voters=[1, 2, 3])
    story.append("c2", 9, 7, 1)
    story.append("n9", 9, 7, 1)


PLANTED = Plants.of(
    clean,
    {
        f"topic id {TOPIC} is t and u": lambda story: story.create("u"),
        f"created topic answered/{TOPIC} is operation": lambda story: story.create("t"),
        f"created topic log/{TOPIC} is": lambda story: story.topic(),
        f"topic id {OTHER} is u and v": lambda story: (
            story.topic("u", OTHER),
            story.describe("v", shown(0, [4]), topic_id=OTHER),
        ),
        "broker epoch 0 is broker/4 and broker/5": lambda story: story.heartbeat(5, 0),
        "broker epoch 2 is broker/5 and broker/6": lambda story: story.register(6, broker_epoch=2),
        "broker epoch 2 is broker/5 and broker/4": lambda story: leased(story, "b1", 4, 2),
        "leased broker epoch 4/0 is process/b1#1": lambda story: leased(story, "b3", 4, 0),
        "leased broker epoch 101/40 is process/i1": lambda story: synthetic(story, 40, "i3"),
        "metadata entry 7/1 is CRC/12 and CRC/99": lambda story: story.append("c3", 1, 7, 99),
        f"partition entry {TOPIC}/0/3/2 is": lambda story: batch(story, "b3", 2, 9),
        "snapshot 3/1 is state/d and state/e": lambda story: story.event(
            "c2", "snap_write", end_offset=3, epoch=1, digest="e", high_watermark=3
        ),
        "producer id 1500 is p1 and p2": lambda story: produced(story, "p2", 1_500),
        "block of producer ids": lambda story: producers(story, 2_000),
        "batch of producer id 2000": lambda story: batch(story, "b1", 4, 1, 2_000),
        "lived at one time as controller 2": two_controllers,
        "snapshot 3/1/on disk is state/d and state/e": lambda story: (
            story.disks.snapshot("c1", 3, 1, digest="d"),
            story.disks.snapshot("c2", 3, 1, digest="e"),
        ),
    },
)

CHECKER = IdentityUniqueness()


def test_disks_are_enough_for_records() -> None:
    for crcs, verdict in (((7, 7, 7), Verdict.VALID), ((7, 7, 8), Verdict.INVALID)):
        story = Story()
        story.disks.fill(1, 6, "c1", "c2", "c3")
        for node, crc in zip(("c1", "c2", "c3"), crcs, strict=True):
            story.disks.write(node, 1, crc=crc)
        assert clause_of(judged(CHECKER, story), "log-entries").verdict is verdict


def test_disks_are_enough_for_batches() -> None:
    for crc, verdict in ((7, Verdict.VALID), (8, Verdict.INVALID)):
        story = Story()
        produced(story, "p1", 7)
        for node, each in (("b1", 7), ("b2", 7), ("b3", crc)):
            batch_on_disk(story, node, each)
        assert clause_of(judged(CHECKER, story), "batches").verdict is verdict


def batch_on_disk(story: Story, node: str, crc: int) -> None:
    story.disks.tell(
        PartitionAppended,
        node,
        topic_id=TOPIC,
        partition=0,
        base_offset=0,
        end_offset=2,
        epoch=3,
        crc=crc,
        leading=None,
        producer_id=None,
        base_sequence=None,
    )


def test_nodes_that_tell_nothing_are_not_believed() -> None:
    story = silent(clean())
    story.disks = Disks()
    assert_unknown(CHECKER, story, "log-entries", "batches", "live-voters")


def test_nobody_asked_for_what_has_a_name() -> None:
    story = Story()
    story.heartbeat(4, 0)
    found = {each.name: each.verdict for each in judged(CHECKER, story).clauses}
    assert [name for name, verdict in found.items() if verdict is None] == [
        *("topic-ids", "batches", "producer-ids", "live-voters")
    ]


def test_zombies_name_nobody() -> None:
    story = clean()
    value = {"broker_id": 101, "broker_epoch": 40, "incarnation": "i1", "zombie": "replay"}
    story.op("heartbeat", "broker-101", value, None, type="fail", error="STALE_BROKER_EPOCH")
    assert_valid(identity_uniqueness(story.run_events()))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_real_controller_names_is_accepted(seed: int) -> None:
    assert not identity_uniqueness(decided_log(random.Random(seed)).run_events()).findings


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1))
def test_entries_agree_with_brute_force(appends: list[tuple[int, int, int]]) -> None:
    story = Story()
    for at, (epoch, offset, crc) in enumerate(appends):
        story.append(f"c{at % 3 + 1}", offset, epoch, crc)
    wrong = any(one[:2] == other[:2] and one != other for one in appends for other in appends)
    assert (identity_uniqueness(story.run_events()).verdict is Verdict.INVALID) == wrong
