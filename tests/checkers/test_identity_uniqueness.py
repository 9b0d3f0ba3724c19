"""No identifier is used twice (D.19)."""

import random
from collections.abc import Callable

import pytest
from contract import Plants
from controller_cores import decided_log
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_disks import Disks
from planted_logs import LogStory
from planted_rules import RuledStory
from planted_runs import MS, OTHER, TOPIC, Story, assert_valid, shown

from checkers.identity_uniqueness import IdentityUniqueness, identity_uniqueness
from framework.evidence.partitions import PartitionAppended
from framework.verdict import Verdict
from tests.cases import cases


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


def produced(story: Story, producer: str, producer_id: int | None) -> None:
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
    outcome = identity_uniqueness(clean().run_events())
    assert_valid(outcome)
    assert outcome.clauses == {
        "topic-ids": 4,
        "broker-epochs": 14,
        "log-entries": 13,
        "batches": 2,
        "producer-ids": 3,
        "live-voters": 2,
    }


def nothing_named(story: LogStory) -> None:
    """Answers that name nothing, say only that there is a topic, or refuse what they name."""
    story.describe("gone")
    story.op("describe", "there", None, True)
    for name in ("x", "y"):
        story.op("create", name, {}, {})
        story.create(name, type="fail", error="TOPIC_ALREADY_EXISTS")


def not_registered(story: LogStory) -> None:
    """Brokers without an epoch, and answers without one."""
    for broker in (102, 103):
        story.heartbeat(broker, -1, -1)
    value = {"broker_id": 102, "broker_epoch": 0, "target": "active", "incarnation": "i"}
    story.op("heartbeat", "broker-102", value, {"broker_epoch": 0}, type="fail", error="X")
    story.op("heartbeat", "broker-102", value, {})
    for answer in (None, True):
        story.op("heartbeat", "broker-103", value, answer)


def heartbeat_refused(story: LogStory) -> None:
    """As the epoch is another broker's, or none is known."""
    story.event("c1", "heartbeat", broker_id=6, answered_epoch=story.epochs[4], error=77)
    for broker in (6, 7):
        story.event("c1", "heartbeat", broker_id=broker, answered_epoch=-1)


def without_an_incarnation(story: LogStory) -> None:
    value = {"broker_id": 101, "broker_epoch": 40, "target": "active", "incarnation": None}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": 40})


def zombie_answered(story: LogStory) -> None:
    """What a client replays of a process is no other process."""
    value = {"broker_id": 101, "broker_epoch": 40, "incarnation": "i9", "zombie": "replay"}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": 40})


def brokers_overlap(story: LogStory) -> None:
    """Which is what their leases are for."""
    for node in ("b1", "n9"):
        story.event(node, "boot", replica_id=4, voters=[1, 2, 3])
    story.event("b1", "exit", reason="terminated")


def producers_without_an_id(story: LogStory) -> None:
    for producer in ("p2", "p3"):
        produced(story, producer, -1)
        produced(story, producer, None)
        story.op("produce", "t/0", {"producer": producer}, {}, ext=None)


def snapshots_not_read(story: LogStory) -> None:
    for node in ("c1", "c2"):
        story.disks.snapshot(node, 3, 1, digest=None)
    story.disks.snapshot("c3", 3, 1, digest="of a file, which is not of a state")


@pytest.mark.parametrize(
    "plant",
    [
        nothing_named,
        not_registered,
        heartbeat_refused,
        without_an_incarnation,
        zombie_answered,
        brokers_overlap,
        producers_without_an_id,
        snapshots_not_read,
    ],
)
def test_look_alike_is_accepted(plant: Callable[[LogStory], None]) -> None:
    story = clean()
    plant(story)
    assert_valid(CHECKER.check_run(story.run_events()))


Life = tuple[int, int]


@pytest.mark.parametrize(
    ("lives", "overlaps"),
    [
        ([(0, 1), (1, 2), (2, 3)], 0),
        ([(2, 3), (0, 1)], 0),
        ([(0, 2), (1, 3)], 1),
        ([(1, 3), (0, 2)], 1),
        ([(0, 9), (1, 2), (3, 4)], 2),
        ([(0, 2), (1, 9), (3, 4)], 2),
        ([(3, 4), (0, 9), (1, 2)], 2),
        ([(0, 1), (2, 3), (4, 6), (5, 7)], 1),
    ],
)
def test_processes_of_a_voter_that_live_at_one_time(lives: list[Life], overlaps: int) -> None:
    """From boot to exit, each of a node of its own; a second apart, which no clock is off by."""
    story = Story()
    for number, (begin, end) in enumerate(lives):
        for at, type in ((begin, "boot"), (end, "exit")):
            story.now_ns = at * 1_000 * MS
            story.event(f"n{number}", type, replica_id=2, voters=[1, 2, 3], reason="terminated")
    assert len(identity_uniqueness(story.run_events()).findings) == overlaps


@pytest.mark.parametrize(("within_ms", "overlaps"), [(400, 1), (600, 0)])
def test_a_life_shorter_than_what_clocks_hide_may_have_been_before(
    within_ms: int, overlaps: int
) -> None:
    """It is told within a long one, the second half of a second after that began."""
    story = Story()
    for at, node, type in (
        (0, "n0", "boot"),
        (1, "n1", "boot"),
        (2, "n1", "exit"),
        (9, "n0", "exit"),
    ):
        story.now_ns = at * 500 * MS
        story.event(node, type, replica_id=2, voters=[1, 2, 3], reason="terminated")
    sample = {"at_ns": 0, "offset_ns": 0, "within_ns": within_ms * MS}
    clocks = {node: {"samples": [sample]} for node in ("n0", "n1")}
    story.plan = {**story.plan, "hosts": "ssh", "clocks": clocks}
    assert len(identity_uniqueness(story.run_events()).findings) == overlaps


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
        f"topic id {OTHER} is u and w": lambda story: (
            story.topic("u", OTHER),
            story.follow("w", shown(0, [4]), topic_id=OTHER),
        ),
        "broker epoch 0 is broker/4 and broker/5": lambda story: story.heartbeat(5, 0),
        "broker epoch 2 is broker/5 and broker/6": lambda story: story.register(6, broker_epoch=2),
        "broker epoch 2 is broker/5 and broker/4": lambda story: leased(story, "b1", 4, 2),
        "broker epoch under which another broker is unfenced": (
            "broker epoch 2 is broker/5 and broker/4",
            lambda story: story.unfence(4, 2),
        ),
        "broker epoch under which another broker is fenced": (
            "broker epoch 2 is broker/5 and broker/4",
            lambda story: story.fence(4, 2),
        ),
        "broker epoch under which another broker is unregistered": (
            "broker epoch 2 is broker/5 and broker/4",
            lambda story: story.unregister(4, 2),
        ),
        "broker epoch under which another broker is given producer ids": (
            "broker epoch 2 is broker/5 and broker/4",
            lambda story: story.record(
                "ProducerIdsRecord", broker_id=4, broker_epoch=2, next_producer_id=3_000
            ),
        ),
        "leased broker epoch 4/0 is process/b1#1": lambda story: leased(story, "b3", 4, 0),
        "leased broker epoch 101/40 is process/i1": lambda story: synthetic(story, 40, "i3"),
        "metadata entry 7/1 is CRC/12 and CRC/99": lambda story: story.append("c3", 1, 7, 99),
        f"partition entry {TOPIC}/0/3/2 is": lambda story: batch(story, "b3", 2, 9),
        "topic id that metadata answers with another name": (
            f"topic id {TOPIC} is t and u",
            lambda story: story.op("metadata", "u", None, {"topic_id": TOPIC}),
        ),
        "topic id of two records on disks": (
            f"created topic log/{OTHER} is the record at offset/0 and",
            lambda story: (
                story.disks.write("c1", 1, "TopicRecord", name="u", topic_id=OTHER, deleting=False),
                story.disks.write("c1", 1, "TopicRecord", name="u", topic_id=OTHER, deleting=False),
            ),
        ),
        "broker epoch that a controller answers another broker with": (
            "broker epoch 2 is broker/5 and broker/6",
            lambda story: story.event("c1", "heartbeat", broker_id=6, answered_epoch=2),
        ),
        "snapshot that was loaded and is another": (
            "snapshot 3/1 is state/d and state/f",
            lambda story: story.event("b1", "snap_load", end_offset=3, epoch=1, digest="f"),
        ),
        "producer id 0 is p1 and p2": lambda story: (
            produced(story, "p1", 0),
            produced(story, "p2", 0),
        ),
        "process that ends when the next one has begun": (
            "lived at one time as controller 3",
            lambda story: (
                story.event("n9", "boot", replica_id=3, voters=[1, 2, 3]),
                story.event("c3", "exit", reason="terminated"),
            ),
        ),
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


def test_disks_are_enough_for_broker_epochs() -> None:
    """A registration names an epoch once; that its broker is fenced and is in service says whose it
    is, too."""
    for broker, verdict in ((4, Verdict.VALID), (5, Verdict.INVALID)):
        story = Story()
        for node in ("c1", "c2", "c3"):
            story.disks.fill(1, 3, node)
            story.disks.write(node, 1, "BrokerRecord", broker_id=4, broker_epoch=3)
            story.disks.write(node, 1, "FenceBrokerRecord", broker_id=4, broker_epoch=3)
            story.disks.write(node, 1, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=3)
        assert clause_of(judged(CHECKER, story), "broker-epochs").verdict is verdict


def test_an_epoch_is_of_the_broker_that_leaves_under_it() -> None:
    story = RuledStory()
    story.brokers(4, 5)
    story.leave(4)
    assert not identity_uniqueness(story.run_events()).findings
    story.leave(5, story.epochs[4])
    (found,) = identity_uniqueness(story.run_events()).findings
    assert found.message == "broker epoch 0 is broker/4 and broker/5"


def test_disks_are_enough_for_batches() -> None:
    for crc, verdict in ((7, Verdict.VALID), (8, Verdict.INVALID)):
        story = Story()
        produced(story, "p1", 7)
        for node, each in (("b1", 7), ("b2", 7), ("b3", crc)):
            batch_on_disk(story, node, each)
        assert clause_of(judged(CHECKER, story), "batches").verdict is verdict


def given_on_disk(story: Story, node: str, epoch: int, *, broker: int, upto: int) -> None:
    """A registration, whose epoch is its offset, and a block of producer ids."""
    at = story.disks.ends[node]
    story.disks.write(node, epoch, "BrokerRecord", broker_id=broker, broker_epoch=at)
    story.disks.write(
        node, epoch, "ProducerIdsRecord", broker_id=broker, broker_epoch=at, next_producer_id=upto
    )


@pytest.mark.parametrize("upto", [1_000, 2_000])
def test_what_was_never_committed_may_be_given_anew(upto: int) -> None:
    """A leader dies with what nobody else has, and the next one gives the same to others; what it
    had given was never told."""
    story = Story()
    for node in ("c1", "c2", "c3"):
        story.disks.fill(1, 4, node)
        given_on_disk(story, node, 1, broker=3, upto=500)
    given_on_disk(story, "c1", 1, broker=4, upto=3_000)
    for node in ("c2", "c3"):
        given_on_disk(story, node, 2, broker=5, upto=upto)
    batch(story, "b1", 4, 1, upto - 1)
    assert not identity_uniqueness(story.run_events()).findings
    batch(story, "b1", 6, 2, 2_500)
    (found,) = identity_uniqueness(story.run_events()).findings
    assert found.message == (
        f"b1 appended a batch of producer id 2500; no block up to {upto} holds it"
    )
    story.apply("c2", 5, "ProducerIdsRecord", broker_id=3, broker_epoch=4, next_producer_id=500)
    story.disks.wrong["c3"] = "it is torn"  # so that what c1 had given may be committed
    assert not identity_uniqueness(story.run_events()).findings


def test_what_was_committed_is_given_once() -> None:
    """By disks alone, also where nobody tells that it applied it."""
    story = Story()
    for node in ("c1", "c2", "c3"):
        story.disks.fill(1, 1, node)
        given_on_disk(story, node, 1, broker=4, upto=2_000)
        story.disks.write(node, 1, "BrokerRecord", broker_id=5, broker_epoch=1)
        given_on_disk(story, node, 1, broker=6, upto=2_000)
    found = [each.message for each in identity_uniqueness(story.run_events()).findings]
    assert found == [
        "broker epoch 1 is broker/4 and broker/5",
        "the block of producer ids at offset 5 ends at 2000, the one at offset 2 at 2000",
    ]


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


def test_batches_of_a_producer_that_nobody_gave_out_are_reported_of_once() -> None:
    story = clean()
    for base in (4, 6):
        batch(story, "b1", base, 1, 2_000)
    (found,) = identity_uniqueness(story.run_events()).findings
    assert "no block up to 2000 holds it" in found.message


def test_ids_of_producers_without_any_block_are_of_another_system() -> None:
    story = Story()
    batch(story, "b1", 0, 7, 1_500)
    outcome = identity_uniqueness(story.run_events())
    assert not outcome.findings
    assert (outcome.clauses or {})["producer-ids"] == "no client said by which id it produces"


def test_evidence_is_missed_where_there_was_an_occasion() -> None:
    """Two clients are acknowledged a topic and records, voters are killed, and nobody tells."""
    story = Story()
    for number, victims in enumerate(({"c1": "kill"}, {"c2": "kill"})):
        story.op("create", f"t{number}", {}, {})
        story.op("produce", f"t{number}/0", {"producer": "p"}, {})
        produced(story, "p", number)
        story.inject(fault="kill", victims=victims)
    assert_unknown(CHECKER, story, "topic-ids", "batches", "producer-ids", "live-voters")


def test_processes_that_write_no_events_are_not_missed() -> None:
    story = Story()
    story.plan = {**story.plan, "capabilities": []}
    for victims in ({"c1": "kill"}, {"c2": "kill"}):
        story.inject(fault="kill", victims=victims)
    found = clause_of(judged(CHECKER, story), "live-voters")
    assert found.note == "by the run's settings its nodes write no events"


def test_refused_clients_and_partitions_are_no_occasion() -> None:
    story = Story()
    for type in ("fail", "info"):
        story.op("create", "t", {}, {"topic_id": TOPIC}, type=type)
        story.op("produce", "t/0", {"producer": "p"}, {}, type=type)
        story.inject(fault="partition", victims={"c1": "cut", "c2": "cut"})
    assert {each.verdict for each in judged(CHECKER, story).clauses[3:]} == {None}


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


@settings(max_examples=cases(80), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1))
def test_entries_agree_with_brute_force(appends: list[tuple[int, int, int]]) -> None:
    story = Story()
    for at, (epoch, offset, crc) in enumerate(appends):
        story.append(f"c{at % 3 + 1}", offset, epoch, crc)
    wrong = any(one[:2] == other[:2] and one != other for one in appends for other in appends)
    assert (identity_uniqueness(story.run_events()).verdict is Verdict.INVALID) == wrong
