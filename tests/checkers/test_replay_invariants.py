"""What holds at every offset of the metadata log (D.23)."""

import hashlib
import json
import random
import uuid
from typing import Any

import pytest
from contract import Plants
from controller_cores import decided_log
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, assert_invalid, assert_valid

from checkers.folds.committed_log import committed_log
from checkers.folds.metadata_digest import Digest, digest
from checkers.folds.replay import Replay
from checkers.replay_invariants import ReplayInvariants, replay_invariants
from framework.evidence.changes import Change
from framework.evidence.kinds import Covered, ImageForm
from framework.verdict import Verdict
from nodes.kraft.adapter.image_form import IMAGE_FORM, REMEMBERED, REMEMBERED_BYTES
from nodes.kraft.metadata import image


def clean() -> LogStory:
    """Brokers come and go, topics are made and removed."""
    story = LogStory()
    story.record("LeaderChange", leader_id=1)
    story.brokers(4, 5, 6)
    story.topic()
    story.config("retention.ms", "1")
    story.new_partition([4, 5, 6])
    story.new_partition([5, 6, 4], 1)
    story.isr([5, 6], 5)
    story.fence(5)
    story.isr([6], 6)
    story.isr([6, 4], 6, 1)
    story.register(5)
    story.unfence(5)
    story.isr([6, 5], 6)
    story.beat(6, "SHUTDOWN", [story.offset, story.offset + 1])
    story.isr([5], 5)
    story.isr([4], 4, 1)
    story.beat(6, "SHUTDOWN", [story.offset])
    story.fence(6)
    story.new_partition([4], 2)
    story.drop()
    story.topic(topic_id=OTHER)
    story.new_partition([4, 5], topic_id=OTHER)
    story.create("t")
    for node in ("b1", "b2"):
        below = story.offset
        story.state(node, below, digest_below(story))
        story.record("NoOpRecord")
    return story


def digest_below(story: LogStory) -> str:
    state = Replay(form=IMAGE_FORM)
    for event in committed_log(story.run_events().of(Change)).records:
        state.feed(event)
    return digest(state, IMAGE_FORM)


def test_clean_log_is_accepted() -> None:
    outcome = replay_invariants(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["records"] == clean().offset


def test_nothing_applied_is_unknown() -> None:
    assert replay_invariants(LogStory().run_events()).verdict is Verdict.UNKNOWN


def test_record_that_nobody_tells_ends_the_replay() -> None:
    story = clean()
    story.offset += 1
    story.register(4)
    outcome = replay_invariants(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert f"offset {clean().offset}" in outcome.note


PLANTED = Plants.of(
    clean,
    {
        "without an ISR": lambda story: story.isr([], -1, topic_id=OTHER),
        "of replicas": lambda story: story.isr([4, 5, 6], 4, topic_id=OTHER),
        "not of its ISR": lambda story: story.isr([4], 5, topic_id=OTHER),
        "which is fenced": lambda story: (
            story.new_partition([4, 6], 1, topic_id=OTHER, isr=[4]),
            story.isr([4, 6], 4, 1, topic_id=OTHER),
        ),
        "adds broker 9 to": lambda story: story.new_partition([9, 4], 1, topic_id=OTHER),
        "gives 22222222-2222-2222-2222-222222222222/1 to broker 6": lambda story: (
            story.new_partition([6, 4], 1, topic_id=OTHER)
        ),
        "in leader epoch 1": lambda story: story.isr([4], 4, topic_id=OTHER, leader_epoch=1),
        "in leader epoch 0, to 5 in leader epoch 0": lambda story: story.isr(
            [5, 4], 5, topic_id=OTHER, leader_epoch=0
        ),
        "version of": lambda story: story.isr([4], 4, topic_id=OTHER, partition_epoch=7),
        "which does not exist": lambda story: story.new_partition([4]),
        f"{TOPIC}/0, which does not exist": lambda story: story.isr([4], 4),
        "configures topic gone": lambda story: story.config("a", "b", "gone"),
        f"of topic {TOPIC}": lambda story: story.record("RemoveTopicRecord", topic_id=TOPIC),
        "a name that topic": lambda story: (
            story.topic(topic_id=TOPIC),
            story.new_partition([4]),
        ),
        "with the id of t": lambda story: (
            story.topic("u", topic_id=OTHER),
            story.new_partition([4], 1, topic_id=OTHER),
        ),
        "which has 1": lambda story: story.new_partition([4], 2, topic_id=OTHER),
        "with epoch 1 after": lambda story: story.register(6, broker_epoch=1),
        "former life is not fenced": lambda story: story.register(4),
        "is of epoch 3 of broker 4": lambda story: story.fence(4, 3),
        "is of epoch 0 of broker 6": lambda story: story.unfence(6, 0),
        "is of broker 9, which is not registered": lambda story: story.fence(9, 1),
        "which still leads": lambda story: (story.fence(4), story.record("NoOpRecord")),
        "no removal follows": lambda story: (
            story.record("TopicRecord", name="t", topic_id=OTHER, deleting=True),
            story.record("NoOpRecord"),
        ),
        "no partition follows": lambda story: (
            story.topic("u", topic_id=TOPIC),
            story.record("NoOpRecord"),
        ),
        "which is shutting down": lambda story: (
            story.beat(4, "SHUTDOWN", [story.offset]),
            story.isr([5], 5, topic_id=OTHER),
            story.isr([5, 4], 5, topic_id=OTHER),
        ),
        "of which only": lambda story: (
            story.decide("X", {}, [story.offset, story.offset + 1]),
            story.record("NoOpRecord"),
            setattr(story, "epoch", 2),
            story.record("NoOpRecord"),
        ),
        "not contiguous": lambda story: story.decide("X", {}, [story.offset, story.offset + 2]),
        "is of epoch 0, below": lambda story: (
            setattr(story, "epoch", 0),
            story.record("NoOpRecord"),
        ),
        "different records at offset": lambda story: story.apply("b2", 0, "NoOpRecord"),
        "has digest": lambda story: story.state("b1", story.offset, "0" * 64),
    },
)


CHECKER = ReplayInvariants()


def test_disks_are_enough() -> None:
    """What no node told of is found where it lies; what is whole there is accepted."""
    for last, verdict in (([4], Verdict.VALID), ([9], Verdict.INVALID)):
        story = LogStory(readers=(), keepers=("c1", "c2", "c3"))
        story.brokers(4, 5, 6)
        for name, topic_id in (("t", TOPIC), ("u", OTHER)):
            story.topic(name, topic_id=topic_id)
            story.new_partition([4, 5], topic_id=topic_id)
        story.isr(last, last[0])
        for _ in range(4):
            story.record("NoOpRecord")
        found = {each.name: each.verdict for each in judged(CHECKER, story).clauses}
        assert found["partitions"] is verdict
        assert found["brokers"] is found["topics"] is found["one-log"] is Verdict.VALID


def test_nodes_that_tell_nothing_are_not_believed() -> None:
    story = silent(clean())
    assert_unknown(CHECKER, story, "one-log", "brokers", "topics", "partitions", "digests")


def test_one_topic_meets_no_other() -> None:
    story = LogStory()
    story.brokers(4, 5, 6)
    story.create("t")
    assert clause_of(judged(CHECKER, story), "topics").verdict is Verdict.UNKNOWN
    story.topic()
    assert clause_of(judged(CHECKER, story), "topics").verdict is None


def test_without_topics_there_is_nothing_to_say_of_them() -> None:
    story = LogStory()
    story.brokers(4, 5, 6)
    found = {each.name: each.verdict for each in judged(CHECKER, story).clauses}
    assert found["topics"] is found["partitions"] is found["whole"] is None
    assert found["brokers"] is Verdict.VALID


def test_wish_to_shut_down_is_over_once_the_broker_says_so_or_its_controller_goes() -> None:
    for end in ("ACTIVE", "failover"):
        story = clean()
        story.beat(4, "SHUTDOWN", [story.offset])
        story.isr([5], 5, topic_id=OTHER)
        if end == "ACTIVE":
            story.beat(4, "ACTIVE", [])
        else:
            story.epoch = 2
        story.isr([5, 4], 5, topic_id=OTHER)
        assert_valid(replay_invariants(story.run_events()))


def test_configuration_of_a_removed_topic_is_gone() -> None:
    """By the digest: a node that kept it has another state."""
    story = clean()
    state = Replay(form=IMAGE_FORM)
    for event in committed_log(story.run_events().of(Change)).records:
        state.feed(event)
    story.state("b1", story.offset, digest_below(story))
    assert_valid(replay_invariants(story.run_events()))
    state.configs[2, "t"] = {"retention.ms": "1"}
    state.touched.add(("config", 2, "t", "retention.ms"))
    assert digest(state, IMAGE_FORM) != digest(Replay(form=IMAGE_FORM), IMAGE_FORM)
    story.state("b2", story.offset, digest(state, IMAGE_FORM))
    assert_invalid(replay_invariants(story.run_events()), "b2's state", "digest")


def test_how_a_digest_is_made_is_the_systems_to_say() -> None:
    story = clean()
    story.state("b2", story.offset, "aa")
    assert_invalid(replay_invariants(story.run_events()), "b2's state", "digest")
    story.system = ()
    outcome = replay_invariants(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["digests"] == 0


def names_alone(*fields: str) -> ImageForm:
    """Of a system whose digests stand for less, in another order."""
    covers = tuple(Covered(entity="topic", field=each) for each in fields)
    return ImageForm(node="", covers=covers)


def test_another_system_s_digests_stand_for_what_it_says() -> None:
    story = silent(clean(), "state")
    line = json.dumps(["topic", "t", OTHER], separators=(",", ":"))
    right = hashlib.sha256(line.encode()).hexdigest()
    story.state("b2", story.offset, right)
    assert_invalid(replay_invariants(story.run_events()), "b2's state", "digest")
    story.system = (names_alone("name", "id"),)
    assert_valid(replay_invariants(story.run_events()))
    story.system = (names_alone("id", "name"),)
    assert_invalid(replay_invariants(story.run_events()), "b2's state", "digest")
    story.system = (names_alone("name", "colour"),)
    with pytest.raises(ValueError, match="'colour' of 'topic'"):
        replay_invariants(story.run_events())


@pytest.mark.parametrize(
    ("remembered", "size", "kept"), [(2, 99, "bc"), (1, 99, "c"), (3, 99, "abc"), (3, 3, "bc")]
)
def test_so_many_answers_are_remembered_as_the_system_says(
    remembered: int, size: int, kept: str
) -> None:
    covers = (Covered(entity="request", field="id"),)
    form = ImageForm(node="", covers=covers, remembered=remembered, remembered_bytes=size)
    story = LogStory()
    for name, answer in (("a", "00"), ("b", "00"), ("c", "0000")):
        story.record("RequestRecord", request_id=name, answer=answer)
    state, followed = Replay(form=form), Digest(form)
    for change in committed_log(story.run_events().of(Change)).records:
        state.feed(change)
        followed.of(state)
    assert list(state.requests) == list(kept)
    assert followed.entities == len(kept)


def test_limits_are_the_nodes_own() -> None:
    assert (REMEMBERED, REMEMBERED_BYTES) == (image.REMEMBERED_REQUESTS, image.REMEMBERED_BYTES)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_real_controller_decides_is_accepted(seed: int) -> None:
    """Its records, its decisions, and the digests of its image after each batch."""
    story = decided_log(random.Random(seed))
    outcome = replay_invariants(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["digests"] > 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_a_brute_force_oracle(seed: int) -> None:
    """On logs of one topic with records of any contents, against the clauses written down as
    they stand, over states that are built anew for each offset."""
    draw = random.Random(seed)
    story = LogStory(readers=("c1",))
    story.brokers(4, 5, 6)
    story.topic()
    story.new_partition([4, 5])
    for _ in range(draw.randint(1, 5)):
        isr = draw.sample([4, 5], draw.randint(1, 2))
        _, leader_epoch, version = story.versions[TOPIC, 0]
        leader = draw.choice([*isr, draw.choice([4, 5, 6, -1])])
        right = draw.random() < 0.7
        more = (
            {}
            if right
            else {
                "leader_epoch": leader_epoch + draw.randint(0, 1),
                "partition_epoch": version + draw.randint(0, 2),
            }
        )
        story.isr(isr, leader, **more)
    accepted = replay_invariants(story.run_events()).verdict is Verdict.VALID
    assert accepted == _right(story)


def _right(story: LogStory) -> bool:
    records = [event.fields["record"] for event in story.events if "isr" in event.fields["record"]]
    for at, record in enumerate(records):
        isr, leader = record["isr"], record["leader"]
        if not isr or not set(isr) <= {4, 5} or leader not in (*isr, -1):
            return False
        if at == 0:
            continue
        was = records[at - 1]
        rises = record["leader_epoch"] - was["leader_epoch"]
        if record["partition_epoch"] != was["partition_epoch"] + 1:
            return False
        if rises != (1 if leader != was["leader"] else 0):
            return False
    return True


def test_digest_is_the_nodes_own() -> None:
    """Kinds of entities that no controller test makes: features, producer ids, access rules."""
    from nodes.kraft.metadata.describe import describe
    from nodes.kraft.metadata.digest import digest as nodes_digest
    from nodes.kraft.wire import records as wire

    topic_id = uuid.uuid4()
    rule = {
        "resource_type": 2,
        "resource_name": "töpic",
        "pattern_type": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 2,
        "permission_type": 3,
    }
    made: list[Any] = [
        wire.FeatureLevelRecord(name="metadata.version", feature_level=3),
        wire.ProducerIdsRecord(broker_id=4, broker_epoch=0, next_producer_id=1000),
        wire.AccessControlRecord(**rule),
        wire.TopicRecord(name="t", topic_id=topic_id, deleting=False),
        wire.ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"),
        wire.ConfigRecord(resource_type=2, resource_name="t", name="a", value=None),
        wire.RequestRecord(request_id=uuid.uuid4(), answer=b"\x00\xff"),
        wire.RemoveAccessControlRecord(**rule),
        wire.RequestRecord(request_id=uuid.uuid4(), answer=b""),
    ]
    state, current = Replay(form=IMAGE_FORM), image.EMPTY
    story = LogStory(readers=("c1",))
    for offset, record in enumerate(made):
        current = image.apply(current, record, offset)
        described = describe(record)
        story.apply("c1", offset, described.pop("kind"), **described)
        state.feed(list(story.run_events().of(Change))[-1])
        assert digest(state, IMAGE_FORM) == nodes_digest(current), record
        state.touched = {("feature", "metadata.version"), *_all_keys(state)}


def _all_keys(state: Replay) -> set[Any]:
    """What a digest that begins anew has to look at."""
    return {
        *(("topic", each) for each in state.topics),
        *(("access", *each) for each in state.rules),
        *(("config", *key, name) for key, values in state.configs.items() for name in values),
        *(("request", each) for each in state.requests),
        ("producer ids",),
    }
