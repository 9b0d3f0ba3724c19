"""What holds at every offset of the metadata log (D.23)."""

import hashlib
import json
import random
import uuid
from collections.abc import Iterable
from typing import Any

import pytest
from contract import Plants
from controller_cores import decided_log
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_logs import LogStory
from planted_rules import RuledStory, kafka
from planted_runs import OTHER, TOPIC, assert_invalid, assert_valid

from checkers.folds.metadata_log.committed_log import committed_log, known_log
from checkers.folds.replayed.log_rules import Rules
from checkers.folds.replayed.metadata_digest import Digest, digest
from checkers.folds.replayed.replay import Replay
from checkers.replay_invariants import Fold, ReplayInvariants, replay_invariants
from framework.evidence import changes
from framework.evidence.changes import Change
from framework.evidence.systems import Covered, HeldRule, ImageForm
from framework.verdict import Verdict
from nodes.kraft.adapter.image_form import IMAGE_FORM, REMEMBERED, REMEMBERED_BYTES
from nodes.kraft.metadata import image
from tests.cases import cases


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
    story.brokers(7)
    story.unregister(7)
    story.topic(topic_id=OTHER)
    story.new_partition([4, 5], topic_id=OTHER)
    story.create("t")
    for node in ("b1", "b2"):
        below = story.offset
        story.state(node, below, digest_below(story))
        story.record("NoOpRecord")
    return story


def digest_below(story: LogStory) -> str:
    return digest_of(committed_log(story.run_events().of(Change)).records)


def digest_of(records: Iterable[Change]) -> str:
    state = Replay(form=IMAGE_FORM)
    for record in records:
        state.feed(record)
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
        f"adds broker 7 to {OTHER}/1, which is not registered": lambda story: (
            story.new_partition([4, 7], 1, topic_id=OTHER, isr=[4]),
            story.isr([4, 7], 4, 1, topic_id=OTHER),
        ),
        f"gives {OTHER}/1 to broker 7, which is not registered": lambda story: story.new_partition(
            [7, 4], 1, topic_id=OTHER
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
        "unregisters broker 4, which still leads": lambda story: story.unregister(4),
        "unregisters broker 5, which still is in the ISR of": lambda story: story.unregister(5),
        "replicas [4, 4, 5], which name one twice": lambda story: story.new_partition(
            [4, 4, 5], 1, topic_id=OTHER, isr=[4, 5]
        ),
        "ISR [4, 5, 5], which names one twice": lambda story: story.isr(
            [4, 5, 5], 4, topic_id=OTHER
        ),
        "of no replicas": lambda story: story.move(
            [], topic_id=OTHER, isr=[], leader=-1, rises=True
        ),
        "is of broker 7, which is not registered": lambda story: story.unregister(7),
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


def moving() -> LogStory:
    """t/0 of the second topic goes from 4, 5 to 7, 5; and once more to 6, 5, which is cancelled."""
    story = clean()
    story.brokers(7)
    story.register(6)
    story.unfence(6)
    going = {"adding_replicas": [7], "removing_replicas": [4]}
    story.move([7, 5, 4], topic_id=OTHER, isr=[4, 5], **going)
    story.move([7, 5], topic_id=OTHER, leader=7, rises=True)
    coming = {"adding_replicas": [6], "removing_replicas": [7]}
    story.move([6, 5, 7], topic_id=OTHER, isr=[5, 7], **coming)
    story.move([5, 7], topic_id=OTHER, rises=True)
    return story


def begun(story: LogStory, replicas: list[int], **more: Any) -> None:
    story.move(replicas, topic_id=OTHER, **{"isr": [5, 7], **more})


ADDS_4 = {"adding_replicas": [4], "removing_replicas": [7]}
PLANTED |= Plants.of(
    moving,
    {
        "which were not replicas, and adds them not": lambda story: begun(story, [5, 7, 4]),
        "before those that come are in sync": lambda story: begun(
            story, [4, 5], isr=[5], leader=5, adding_replicas=[4], rises=True
        ),
        "of which [4] are not in sync": lambda story: (
            begun(story, [4, 5, 7], **ADDS_4),
            story.move([4, 5], topic_id=OTHER, isr=[5], leader=5, rises=True),
        ),
        "move that only adds is over before who comes is in sync": (
            "to [4, 5, 7], of which [4] are not in sync",
            lambda story: (
                begun(story, [5, 7, 4], adding_replicas=[4]),
                begun(story, [5, 7, 4]),
            ),
        ),
        "replica that goes before it is said to": (
            "without [7] before those that come are in sync",
            lambda story: begun(story, [5], isr=[5], leader=5, removing_replicas=[5], rises=True),
        ),
        "from others than its replicas": lambda story: begun(story, [5, 7], removing_replicas=[4]),
        "to 5 in leader epoch 2": lambda story: story.move([5], topic_id=OTHER, leader=5),
        "to 7 in leader epoch 3": lambda story: begun(story, [4, 5, 7], rises=True, **ADDS_4),
        "the ISR [4, 5, 7] of replicas": lambda story: story.move(
            [5, 7], topic_id=OTHER, isr=[4, 5, 7]
        ),
        "from 4 to 9": lambda story: story.move([7, 5], topic_id=OTHER, partition_epoch=9),
    },
)


def test_other_replicas_as_the_rules_have_them() -> None:
    assert_valid(replay_invariants(moving().run_events()))


def test_all_replicas_may_be_others() -> None:
    story = moving()
    begun(story, [4, 6, 5, 7], adding_replicas=[4, 6], removing_replicas=[5, 7])
    assert_valid(replay_invariants(story.run_events()))


def test_another_goal_while_one_is_under_way() -> None:
    """What was added for the first one goes at once, and the leader epoch rises."""
    story = moving()
    begun(story, [4, 5, 7], **ADDS_4)
    more = {"adding_replicas": [6], "removing_replicas": [7]}
    begun(story, [6, 5, 7], rises=True, **more)
    assert_valid(replay_invariants(story.run_events()))


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
    assert clause_of(judged(CHECKER, story), "digests").verdict is None


def test_digests_are_told_by_their_first_digits() -> None:
    """Each that is wrong once, whoever has it."""
    story = clean()
    for digit in "baa":
        story.state("b2", story.offset, digit * 20)
    right = digest_below(story)[:16]
    found = replay_invariants(story.run_events()).findings
    assert [each.message for each in found] == [
        f"b2's state below offset {story.offset} has digest {digit * 16}; the replay of the log "
        f"has {right}"
        for digit in "ab"
    ]


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


# --- what is counted, and from when on ----------------------------------------------------


def test_what_is_compared() -> None:
    story = clean()
    story.new_partition([4], 1, topic_id=OTHER)
    story.decide("X", {}, [0])
    compared = {each.name: each.compared for each in judged(CHECKER, story).clauses}
    assert compared == {
        "one-log": story.offset - 1,
        "brokers": 13,
        "topics": 5,
        "partitions": 11,
        "eligible-leaders": 0,
        "whole": 6,  # two fenced, one deleted, two created, one decision of two records
        "digests": 2,
    }
    assert replay_invariants(clean().run_events()).figures["decisions"] == 2


@PLANTED.violation("registers broker 5 with epoch 15 after 15")
def registered_again_with_the_epoch_that_it_had(story: LogStory) -> None:
    story.isr([4], 4, topic_id=OTHER)
    story.fence(5)
    story.register(5, broker_epoch=15)


def shutting_down(story: LogStory) -> None:
    """Broker 4 led; now it is out, and its controller wants it to stay out."""
    story.isr([5], 5, topic_id=OTHER)
    story.beat(4, "SHUTDOWN", [])


def back(story: LogStory) -> None:
    story.isr([5, 4], 5, topic_id=OTHER)


@PLANTED.violation("adds broker 4", "which is shutting down")
def added_by_the_first_record_after_its_wish(story: LogStory) -> None:
    shutting_down(story)
    back(story)


@PLANTED.violation("adds broker 4", "which is shutting down")
def added_though_it_had_wished_to_leave_more_than_once(story: LogStory) -> None:
    shutting_down(story)
    back(story)
    story.beat(4, "SHUTDOWN", [])


@PLANTED.violation("adds broker 4", "which is shutting down")
def added_after_it_asked_for_something_else(story: LogStory) -> None:
    """No wish to stay: a change of an ISR, and what no broker asked for."""
    shutting_down(story)
    source = {"topic_id": OTHER, "partition": 0, "broker_id": 4, "broker_epoch": story.epochs[4]}
    story.decide("AlterPartition", source, [], as_of=story.offset)
    story.decide("CreateTopics", {}, [], as_of=story.offset)
    back(story)


@PLANTED.violation("adds broker 4", "which is shutting down")
def added_before_it_said_that_it_stays(story: LogStory) -> None:
    shutting_down(story)
    back(story)
    story.beat(4, "ACTIVE", [])


def test_wish_that_was_refused_is_none() -> None:
    story = clean()
    story.isr([5], 5, topic_id=OTHER)
    story.beat(4, "SHUTDOWN", [], verdict=77)
    back(story)
    assert_valid(replay_invariants(story.run_events()))


def test_wish_of_a_former_process_is_over() -> None:
    story = clean()
    shutting_down(story)
    story.fence(4)
    story.register(4)
    story.unfence(4)
    back(story)
    assert_valid(replay_invariants(story.run_events()))


@PLANTED.violation("to broker 5, which is shutting down")
def member_that_leaves_is_made_leader(story: LogStory) -> None:
    story.beat(5, "SHUTDOWN", [])
    story.isr([4, 5], 5, topic_id=OTHER)


def test_leader_that_leaves_goes_on_until_it_is_relieved() -> None:
    story = clean()
    story.beat(4, "SHUTDOWN", [])
    story.isr([4], 4, topic_id=OTHER)
    assert_valid(replay_invariants(story.run_events()))


def test_each_decision_is_judged_whatever_became_of_the_others() -> None:
    story = clean()
    end = story.offset
    wrong = ([0, 2], [1, 3], [end - 1, end + 1], [end, end + 1])
    for records in ([], [end + 5, end + 6], *wrong):
        story.decide("X", {}, records)
    story.record("NoOpRecord")
    story.epoch = 2
    story.record("NoOpRecord")
    found = [each.message for each in replay_invariants(story.run_events()).findings]
    assert len(found) == len(wrong)
    assert f"of which only [{end}] were committed" in found[-1]


def test_topic_without_a_partition_is_one_finding() -> None:
    story = clean()
    story.topic("u", topic_id=TOPIC)
    for _ in range(3):
        story.record("NoOpRecord")
    assert len(replay_invariants(story.run_events()).findings) == 1


@PLANTED.violation("b2's state", "has digest")
def image_that_is_shown_is_another(story: LogStory) -> None:
    story.event("b2", "publish", offset=story.offset, digest="0" * 64)


@PLANTED.violation("is of epoch 0, below")
def epoch_falls_before_a_record_that_nobody_tells(story: LogStory) -> None:
    story.epoch = 0
    story.record("NoOpRecord")
    story.offset += 1
    story.record("NoOpRecord")


@PLANTED.violation("creates topic", "no partition follows")
def topic_without_a_partition_and_with_a_configuration(story: LogStory) -> None:
    story.topic("u", topic_id=TOPIC)
    story.config("retention.ms", "1", "u")
    story.record("NoOpRecord")


@PLANTED.violation("deletes topic", "no removal follows")
def another_topic_is_removed(story: LogStory) -> None:
    story.topic("u", topic_id=TOPIC)
    story.new_partition([4])
    story.record("TopicRecord", name="t", topic_id=OTHER, deleting=True)
    story.record("RemoveTopicRecord", topic_id=TOPIC)


@PLANTED.violation("still leads", "/0 at offset")
def one_of_several_leaderships_is_not_moved(story: LogStory) -> None:
    story.new_partition([4, 5], 1, topic_id=OTHER)
    story.fence(4)
    story.isr([5], 5, 1, topic_id=OTHER)
    story.record("NoOpRecord")


def test_open_end_says_nothing() -> None:
    """The log may end in the middle of something."""
    for begin in (
        lambda story: story.fence(4),
        lambda story: story.topic("u", topic_id=TOPIC),
        lambda story: story.record("TopicRecord", name="t", topic_id=OTHER, deleting=True),
        lambda story: story.decide("X", {}, [story.offset - 1, story.offset]),
    ):
        story = clean()
        begin(story)
        result = judged(CHECKER, story)
        assert result.verdict is Verdict.VALID, result.findings
        assert clause_of(result, "whole").compared == 6


def test_decision_whose_records_another_leader_overtook_is_no_finding() -> None:
    story = clean()
    story.decide("X", {}, [story.offset, story.offset + 1])
    story.epoch = 2
    story.record("NoOpRecord")
    story.record("NoOpRecord")
    assert_valid(replay_invariants(story.run_events()))


def test_settings_of_a_broker_are_of_no_topic() -> None:
    story = clean()
    story.record("ConfigRecord", resource_type=4, resource_name="4", name="a", value="1")
    assert_valid(replay_invariants(story.run_events()))


@PLANTED.violation("c1's state below offset", "has digest", "the replay of the log has")
def snapshot_that_holds_something_else(story: LogStory) -> None:
    story.disks.snapshot("c1", story.offset, 1, digest="0" * 64)


def test_snapshot_without_a_digest_is_not_compared() -> None:
    story = clean()
    story.disks.snapshot("c1", story.offset, 1, digest=None)
    story.disks.snapshot("c2", story.offset, 1, digest=digest_below(story))
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "digests").compared == 3


def test_state_beyond_the_known_log_is_not_compared() -> None:
    story = clean()
    story.state("b1", story.offset + 1, "0" * 64)
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "digests").compared == 2


@PLANTED.violation("b2's state", "has digest")
def one_of_two_states_at_an_offset_is_another(story: LogStory) -> None:
    story.state("b1", story.offset, digest_below(story))
    story.state("b2", story.offset, "0" * 64)
    story.event("b2", "publish", offset=story.offset, digest="0" * 64)


@pytest.mark.parametrize("asked", [1, 2])
def test_topics_that_clients_asked_for_and_no_log_has(asked: int) -> None:
    story = LogStory()
    story.brokers(4, 5, 6)
    story.topic()
    story.new_partition([4, 5, 6])
    for name in ("t", "u")[:asked]:
        story.create(name)
    verdict = clause_of(judged(CHECKER, story), "topics").verdict
    assert verdict is (None if asked == 1 else Verdict.UNKNOWN)


def test_topics_that_no_client_was_acknowledged_count() -> None:
    story = clean()
    story.operations = []
    story.create("t", type="info")
    result = judged(CHECKER, story)
    assert [each.compared for each in result.clauses if each.name in ("topics", "whole")] == [5, 6]
    counted = [each for each in result.clauses if each.name != "eligible-leaders"]
    assert all(each.verdict is Verdict.VALID for each in counted)


def test_nodes_that_were_not_to_tell_have_no_digests() -> None:
    story = LogStory(readers=(), keepers=("c1", "c2", "c3"))
    story.plan = {**story.plan, "capabilities": []}
    story.brokers(4, 5, 6)
    assert clause_of(judged(CHECKER, story), "digests").verdict is None
    for node in ("c1", "c2"):
        story.disks.snapshot(node, story.offset, 1, digest=digest_on_disks(story))
        story.register(7)
    assert clause_of(judged(CHECKER, story), "digests").verdict is Verdict.VALID


def digest_on_disks(story: LogStory) -> str:
    return digest_of(known_log(story.run_events()).records)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_real_controller_decides_is_accepted(seed: int) -> None:
    """Its records, its decisions, and the digests of its image after each batch."""
    story = decided_log(random.Random(seed))
    outcome = replay_invariants(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["digests"] > 0


@settings(max_examples=cases(60), deadline=None)
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


# --- what versions of Apache Kafka differ in ------------------------------------------------------


def story_of_kafka() -> RuledStory:
    """All that 4.2.0 does with brokers that fail, leave and come back."""
    story = kafka()
    story.isr([5, 6], 5, eligible=[])
    story.fence(4)
    story.isr([6], 6, eligible=[5])
    story.fence(5)
    story.isr([], -1, eligible=[5, 6], last_eligible=[6])
    story.fence(6)
    story.unfence(5)
    story.isr([5], 5, eligible=[6])
    begun = story.isr([5], 5, eligible=[])
    story.register(6, broker_epoch=begun)
    story.epochs[6] = begun
    story.unfence(6)
    story.isr([5, 6], 5, eligible=[])
    story.again(5)
    story.leave(5)
    story.isr([6], 6, eligible=[5])
    story.again(5, leaving=True)
    story.fence(5)
    story.config("min.insync.replicas", "1")
    story.forget()
    story.versions[TOPIC, 0] = (6, 5, 8)
    story.reassign([6, 4], [6], eligible=[], leader_epoch=6)
    story.reassign([6, 4, 5], [6], eligible=[])
    story.topic("u", OTHER)
    story.config("min.insync.replicas", "1", "u")
    story.forget("u")
    story.new_partition([6, 4], topic_id=OTHER, isr=[6], eligible=[])
    return story


def test_what_kafka_does_is_accepted() -> None:
    result = judged(CHECKER, story_of_kafka())
    assert result.verdict is Verdict.VALID, result.findings
    compared = {each.name: each.compared for each in result.clauses}
    assert (compared["brokers"], compared["whole"]) == (16, 8)
    assert compared["partitions"] == 11
    assert compared["eligible-leaders"] == 5


def one_of(release: str, level: int, eligible: int, *, wrong: str, plant: Any) -> None:
    """What is planted is found, in these words; empty: it is accepted."""
    story = kafka(release, level, eligible)
    plant(story)
    found = [each.message for each in replay_invariants(story.run_events()).findings]
    if wrong:
        assert any(wrong in each for each in found), found
    else:
        assert found == []


OLD, MIDDLE, KEEPING, NEW = ("3.3.2", 7, 0), ("3.6.1", 14, 0), ("3.7.1", 19, 0), ("3.9.1", 21, 0)
NEWEST = ("4.2.0", 29, 1)
VERSIONS = (OLD, MIDDLE, KEEPING, NEW, NEWEST)


def shrinks(story: RuledStory, **more: Any) -> None:
    story.isr([4, 5], 4, **more)


def comes_again(story: RuledStory, **more: Any) -> None:
    """A process that is in service."""
    story.again(6, **more)


def comes_again_anew(story: RuledStory) -> None:
    story.again(6, broker_epoch=story.offset, fenced=True)


def comes_again_with_a_new_epoch(story: RuledStory) -> None:
    story.again(6, broker_epoch=story.offset)


def next_process(story: RuledStory) -> None:
    """Of a broker that is in sync."""
    story.register(6)


def next_process_with_its_epoch(story: RuledStory) -> None:
    story.isr([4, 5], 4)
    story.fence(6)
    story.register(6, broker_epoch=story.epochs[6])


def configured_before(story: RuledStory) -> None:
    story.config("retention.ms", "1", "u")
    story.topic("u", OTHER)
    story.new_partition([4, 5], topic_id=OTHER)


def counted_from_its_own(story: RuledStory) -> None:
    """By a controller that does not count what others wrote."""
    story.record("NoOpRecord")
    story.register(7, broker_epoch=story.offset - 1)


@pytest.mark.parametrize(
    ("below", "epoch", "wrong"),
    [
        ("", 9, False),
        ("", 8, True),
        ("v", 8, False),
        ("v", 7, True),
        ("vv", 7, False),
        ("vv", 6, True),
        ("vp", 7, False),
        ("pv", 8, False),
        ("pv", 7, True),
        ("vpp", 6, False),
        ("ppp", 6, False),
        ("vo", 7, True),
        ("vov", 8, False),
        ("vov", 6, True),
    ],
)
def test_an_epoch_may_be_an_offset_that_the_quorum_took_for_voters(
    below: str, epoch: int, wrong: bool
) -> None:
    """`below` the registration at offset 9: records of voters, changes of partitions, others. The
    controller counts what it appends, and the quorum itself may append before it comes to that."""
    fold = Fold(rules=Rules((HeldRule(rule="epoch-is-offset"),)))
    isr = {"topic_id": TOPIC, "partition": 0, "isr": (), "leader": -1}
    for offset, each in enumerate(below, 9 - len(below)):
        at: dict[str, Any] = {"node": "c1", "offset": offset, "epoch": 1}
        if each == "v":
            fold.feed(changes.VotersNamed(**at, voters=()))
        elif each == "p":
            fold.feed(changes.PartitionChanged(**at, **isr, leader_epoch=0, partition_epoch=0))
        else:
            fold.feed(changes.OtherChange(**at, name="x", content=""))
    fold.findings.clear()
    broker: dict[str, Any] = {"broker_id": 7, "broker_epoch": epoch}
    fold.feed(changes.BrokerRegistered(node="c1", offset=9, epoch=1, **broker))
    assert ["begins at offset" in each.message for each in fold.findings] == [True] * wrong


def left_by_all_members(story: RuledStory) -> None:
    for isr, eligible in (([4, 5], []), ([4], [5]), ([], [4, 5])):
        story.isr(isr, 4 if isr else -1, eligible=eligible)


RAISED = "in leader epoch 0, to 4 in leader epoch"
DIFFERENCES: dict[str, tuple[Any, dict[tuple[str, int, int], str]]] = {
    "shrinking raises the leader epoch": (
        lambda story: shrinks(story, leader_epoch=1, eligible=None),
        {OLD: "", MIDDLE: RAISED, NEW: RAISED, NEWEST: RAISED, ("3.6.1", 11, 0): ""},
    ),
    "shrinking leaves the leader epoch": (
        shrinks,
        {OLD: RAISED, MIDDLE: "", NEW: "", NEWEST: "", ("3.9.1", 11, 0): RAISED},
    ),
    "a leader epoch rises with the leader": (
        lambda story: story.isr([5, 6], 5),
        dict.fromkeys(VERSIONS, ""),
    ),
    "a leader epoch does not rise with the leader": (
        lambda story: story.isr([5, 6], 5, leader_epoch=0),
        dict.fromkeys(VERSIONS, "led by 4 in leader epoch 0, to 5 in leader epoch 0"),
    ),
    "a leader epoch rises by two": (
        lambda story: story.isr([5, 6], 5, leader_epoch=2),
        dict.fromkeys(VERSIONS, "to 5 in leader epoch 2"),
    ),
    "a leader epoch rises without any change": (
        lambda story: story.isr([4, 5, 6], 4, leader_epoch=1),
        dict.fromkeys(VERSIONS, RAISED),
    ),
    "a leader epoch rises where nobody leads": (
        lambda story: (
            story.isr([4], -1, eligible=None),
            story.isr([4], -1, leader_epoch=2, eligible=None),
        ),
        {OLD: "", MIDDLE: "to -1 in leader epoch 2", NEW: "to -1 in leader epoch 2"},
    ),
    "a process registers as it was": (
        comes_again,
        {
            OLD: "with epoch",
            MIDDLE: "has to be fenced",
            KEEPING: "with epoch",
            NEW: "",
            NEWEST: "",
            ("3.8.0", 20, 0): "with epoch",
            ("3.7.0", 19, 0): "has to be fenced",
        },
    ),
    "a process registers anew": (
        comes_again_anew,
        {
            OLD: "",
            MIDDLE: "",
            ("3.7.0", 19, 0): "",
            KEEPING: "as fenced, which has to be in service",
            NEW: "though it is the same process",
            NEWEST: "though it is the same process",
        },
    ),
    "a process registers with a new epoch": (
        comes_again_with_a_new_epoch,
        {
            OLD: "as in service, which has to be fenced",
            KEEPING: "",
            NEW: "though it is the same process",
            ("3.8.0", 20, 0): "",
        },
    ),
    "a process registers with an older epoch": (
        lambda story: comes_again(story, broker_epoch=3),
        dict.fromkeys(VERSIONS, "with epoch 3 after"),
    ),
    "the next process takes over from one in sync": (
        next_process,
        {
            OLD: "",
            MIDDLE: "",
            KEEPING: "",
            NEW: "",
            NEWEST: "registers broker 6, which still is in the ISR of",
        },
    ),
    "the next process has the epoch of the one before": (
        next_process_with_its_epoch,
        dict.fromkeys(VERSIONS, "with epoch"),
    ),
    "a topic is configured before it is there": (
        configured_before,
        {
            OLD: "",
            ("3.4.0", 8, 0): "configures topic u",
            MIDDLE: "configures topic u",
            NEW: "configures topic u",
        },
    ),
    "an epoch is below what its registration changes": (
        counted_from_its_own,
        {OLD: "", MIDDLE: "begins at offset", NEWEST: "begins at offset"},
    ),
    "an ISR is empty": (
        left_by_all_members,
        {NEW: "without an ISR", ("4.2.0", 29, 0): "without an ISR", NEWEST: ""},
    ),
    "a leader is eligible": (
        lambda story: story.isr([4], 4, eligible=[5, 6]),
        {
            NEW: "which the log does not keep",
            ("4.2.0", 29, 0): "eligible leaders [5, 6], which the log does not keep",
            NEWEST: "",
        },
    ),
    "replicas go": (
        lambda story: story.reassign([4, 5], [4, 5], leader_epoch=1, eligible=None),
        dict.fromkeys(VERSIONS, ""),
    ),
    "replicas go, and no leader epoch tells": (
        lambda story: story.reassign([4, 5], [4, 5], eligible=None),
        dict.fromkeys(VERSIONS, RAISED),
    ),
    "replicas come": (
        lambda story: story.reassign([4, 5, 6, 7], [4, 5, 6], eligible=None),
        dict.fromkeys(VERSIONS, ""),
    ),
    "replicas come, and are in sync later": (
        lambda story: (
            story.brokers(7),
            story.reassign([4, 5, 6, 7], [4, 5, 6], eligible=None),
            story.reassign([4, 5, 6, 7], [4, 5, 6, 7], eligible=None),
        ),
        dict.fromkeys(VERSIONS, ""),
    ),
    "replicas come, and are in sync at once": (
        lambda story: (
            story.brokers(7),
            story.reassign([4, 5, 6, 7], [4, 5, 6, 7], eligible=None),
        ),
        dict.fromkeys(VERSIONS, "to [7], and has them in sync in the same step"),
    ),
    "replicas come, and no version tells": (
        lambda story: story.reassign([4, 5, 6, 7], [4, 5, 6], partition_epoch=0, eligible=None),
        dict.fromkeys(VERSIONS, "raises the version"),
    ),
    "a broker is fenced that leads": (
        lambda story: (story.fence(4), story.isr([5, 6], 5)),
        dict.fromkeys(VERSIONS, "fences broker 4, which still leads"),
    ),
    "a broker is fenced that is in sync": (
        lambda story: (story.fence(6), story.isr([4, 5], 4)),
        dict.fromkeys(VERSIONS, "fences broker 6, which still is in the ISR of"),
    ),
    "a broker is fenced that no ISR can do without": (
        lambda story: (
            story.isr([4], -1, eligible=None),
            story.fence(4),
        ),
        {OLD: "", NEW: "", NEWEST: "fences broker 4, which still is in the ISR of"},
    ),
    "a broker goes, and still leads": (
        lambda story: (story.leave(4), story.record("NoOpRecord")),
        dict.fromkeys(VERSIONS, "lets broker 4 go, which leads"),
    ),
    "a broker goes, and stays in sync": (
        lambda story: (story.leave(6), story.isr([4, 6], 4), story.record("NoOpRecord")),
        dict.fromkeys(VERSIONS, "lets broker 6 go, which is in the ISR of"),
    ),
    "a broker goes, and another leader is elected": (
        lambda story: (
            story.leave(4),
            setattr(story, "epoch", 2),
            story.record("NoOpRecord"),
        ),
        dict.fromkeys(VERSIONS, ""),
    ),
    "a broker goes under another epoch": (
        lambda story: story.leave(4, 99),
        dict.fromkeys(VERSIONS, "is of epoch 99 of broker 4"),
    ),
    "a broker that goes is given a leadership": (
        lambda story: (
            story.leave(5),
            story.isr([4, 6], 4),
            story.isr([6], 6, eligible=None),
            story.isr([6, 5], 6, eligible=None),
        ),
        dict.fromkeys(VERSIONS, "adds broker 5 to"),
    ),
}


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name, (_, told) in DIFFERENCES.items() for version in told],
    ids=str,
)
def test_versions_of_kafka_are_held_to_their_own_rules(
    name: str, version: tuple[str, int, int]
) -> None:
    plant, told = DIFFERENCES[name]
    one_of(*version, wrong=told[version], plant=plant)


for _name, (_plant, _told) in DIFFERENCES.items():
    for _version, _wrong in _told.items():
        if _wrong:
            PLANTED.violation(
                _wrong,
                on=lambda version=_version: kafka(*version),  # type: ignore[misc]
                name=f"{_name}: {_version[0]}, level {_version[1]}",
            )(_plant)
            break


# --- eligible leaders (KIP-966) -------------------------------------------------------------------


def small(story: RuledStory) -> None:
    """The ISR of t/0 is 4 alone; 5 is eligible, and 6 is neither that nor in sync."""
    story.isr([4, 5], 4, eligible=[])
    story.isr([4], 4, eligible=[5])


ELIGIBLE: dict[str, tuple[str, Any]] = {
    "one that is no replica": (
        "eligible leaders [5, 9] of replicas [4, 5, 6]",
        lambda story: story.isr([4], 4, eligible=[5, 9]),
    ),
    "one that is in sync": (
        "the eligible leaders [4, 5] beside its ISR [4]",
        lambda story: story.isr([4], 4, eligible=[4, 5]),
    ),
    "kept though enough are in sync": (
        "the eligible leaders [6] beside its ISR [4, 5], where 2 in sync are enough",
        lambda story: story.isr([4, 5], 4, eligible=[6]),
    ),
    "kept though enough are in sync again": (
        "the eligible leaders [6] beside its ISR [4, 5], where 2 in sync are enough",
        lambda story: (
            story.isr([4], 4, eligible=[5, 6]),
            story.isr([4, 5], 4, eligible=[6]),
        ),
    ),
    "kept though its topic needs but one": (
        "the eligible leaders [5, 6] beside its ISR [4], where 1 in sync are enough",
        lambda story: (
            story.config("min.insync.replicas", "1"),
            story.isr([4], 4, eligible=[5, 6]),
        ),
    ),
    "one that had gone long before": (
        "the eligible leaders [6], which were neither that nor in sync",
        lambda story: (small(story), story.isr([4], 4, eligible=[5, 6])),
    ),
    "one of a new partition": (
        "the eligible leaders [6], which were neither that nor in sync",
        lambda story: story.new_partition([4, 5, 6], 1, isr=[4], eligible=[6]),
    ),
    "of what was forgotten": (
        "the eligible leaders [5], which were neither that nor in sync",
        lambda story: (
            small(story),
            story.forget(),
            story.isr([4], 4, eligible=[5], partition_epoch=4),
        ),
    ),
    "who left is none": (
        "makes broker 6 no eligible leader any more of",
        lambda story: (story.isr([4], 4, eligible=[5]), story.record("NoOpRecord")),
    ),
    "who was is none": (
        "makes broker 5 no eligible leader any more of",
        lambda story: (
            small(story),
            story.isr([4], 4, eligible=[]),
            story.record("NoOpRecord"),
        ),
    ),
    "another's process registers": (
        "makes broker 5 no eligible leader any more of",
        lambda story: (
            small(story),
            story.isr([4], 4, eligible=[]),
            story.register(6, broker_epoch=story.offset - 1),
        ),
    ),
    "the same process registers": (
        "makes broker 5 no eligible leader any more of",
        lambda story: (small(story), story.isr([4], 4, eligible=[]), story.again(5)),
    ),
}
for _name, (_wrong, _plant) in ELIGIBLE.items():
    PLANTED.violation(_wrong, on=kafka, name=_name)(_plant)


ALLOWED: dict[str, Any] = {
    "a next process registers": lambda story: (
        small(story),
        story.isr([4], 4, eligible=[]),
        story.register(5, broker_epoch=story.offset - 1),
    ),
    "a next process of one that is not known registers": lambda story: (
        story.isr([4, 5], 4),
        story.unregister(6),
        story.isr([4], 4, eligible=[5]),
        story.register(6, broker_epoch=story.offset - 1),
    ),
    "an unclean election drops all": lambda story: (
        story.new_partition([4, 5, 6], 1, isr=[5], leader=5, eligible=[]),
        story.isr([], -1, 1, eligible=[5]),
        story.isr([6], 6, 1, eligible=[]),
        story.record("NoOpRecord"),
    ),
    "another leader is elected meanwhile": lambda story: (
        small(story),
        story.isr([4], 4, eligible=[]),
        setattr(story, "epoch", 2),
        story.record("NoOpRecord"),
    ),
    "a log that does not say how many are needed": lambda story: (
        story.of_all_brokers("min.insync.replicas", None),
        story.isr([4, 5], 4, eligible=[6]),
        story.isr([4], 4, eligible=[5]),
        story.record("NoOpRecord"),
    ),
    "a log that says it in other words": lambda story: (
        story.of_all_brokers("min.insync.replicas", "-2"),
        story.isr([4, 5], 4, eligible=[6]),
        story.record("NoOpRecord"),
    ),
    "never more than there are replicas": lambda story: (
        story.of_all_brokers("min.insync.replicas", "9"),
        story.isr([4, 5], 4, eligible=[6]),
        story.isr([4, 5, 6], 4, eligible=[]),
    ),
    "as many as the topic's first partition has replicas": lambda story: (
        story.of_all_brokers("min.insync.replicas", "9"),
        story.new_partition([4, 5, 6, 7], 1, isr=[4, 5, 6], eligible=[]),
        story.isr([4, 5], 4, 1, eligible=[6]),
        story.record("NoOpRecord"),
    ),
    "a record that does not tell": lambda story: story.isr([4], 4, eligible=None),
    "replicas that went are not eligible": lambda story: (
        small(story),
        story.reassign([4, 6], [4], eligible=[], leader_epoch=1),
        story.record("NoOpRecord"),
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_eligible_leaders_may_be_so(name: str) -> None:
    story = kafka()
    ALLOWED[name](story)
    assert [each.message for each in replay_invariants(story.run_events()).findings] == []


def test_eligible_leaders_are_counted_where_somebody_is_was_or_should_be() -> None:
    def counted(*states: tuple[list[int], list[int]]) -> tuple[int, Verdict | None]:
        story = kafka()
        for isr, eligible in states:
            story.isr(isr, 4, eligible=eligible)
        clause = clause_of(judged(CHECKER, story), "eligible-leaders")
        return clause.compared, clause.verdict

    assert counted(([4, 5], []), ([4, 5, 6], [])) == (0, None)
    assert counted(([4, 5], []), ([4], [5])) == (0, None)
    assert counted(([4, 5], []), ([4], [5]), ([4, 5], [])) == (2, Verdict.VALID)
    assert counted(([4], [5, 6]), ([4], [5, 6]), ([4, 5], [])) == (3, Verdict.VALID)


def test_without_such_a_system_nobody_is_eligible() -> None:
    clause = clause_of(judged(CHECKER, clean()), "eligible-leaders")
    assert clause.verdict is None
    assert clause.note == "the system has no eligible leaders beside ISRs"
    story = kafka()
    story.evidence = []
    clause = clause_of(judged(CHECKER, story), "eligible-leaders")
    assert clause.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(("version", "eligible"), [(0, []), (0, None), (1, None)])
def test_a_log_that_keeps_no_eligible_leaders_may_say_so(version: int, eligible: Any) -> None:
    story = kafka(eligible=version)
    story.isr([4, 5], 4, eligible=eligible)
    assert [each.message for each in replay_invariants(story.run_events()).findings] == []


@pytest.mark.parametrize(
    ("later", "broken", "right"),
    [(-1, False, False), (0, False, True), (1, False, True), (0, True, False), (2, True, True)],
)
def test_a_registration_begins_with_the_changes_of_partitions_right_before_it(
    later: int, broken: bool, right: bool
) -> None:
    """Its epoch is `later` than the first of two, with another record between them or not."""
    story = kafka()
    story.isr([4, 5], 4, eligible=[])
    story.fence(6)
    first = story.isr([4, 5], 4, eligible=[])
    if broken:
        story.record("NoOpRecord")
    story.isr([4, 5], 4, eligible=[])
    story.register(6, broker_epoch=first + later)
    found = [each.message for each in replay_invariants(story.run_events()).findings]
    assert ["what the registration changes begins" in each for each in found] == [True] * (
        not right
    )


def all_of_it() -> RuledStory:
    """What has an occasion for every clause."""
    story = story_of_kafka()
    story.system += (IMAGE_FORM,)
    for node in ("b1", "b2"):
        below = story.offset
        story.state(node, below, digest_below(story))
        story.record("NoOpRecord")
    return story


_planted, PLANTED = PLANTED, Plants(all_of_it)
PLANTED.update(_planted)
