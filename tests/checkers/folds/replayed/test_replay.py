"""What a log makes of its records, those that nobody should have written among them."""

from dataclasses import replace
from typing import Any

import pytest
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC

from checkers.folds.metadata_log.committed_log import known_log
from checkers.folds.replayed.replay import Partition, Replay, Topic, states
from framework.evidence.changes import (
    AccessRuleAdded,
    AccessRuleRemoved,
    BrokerLeaving,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    EligibleForgotten,
)
from framework.evidence.systems import ImageForm
from nodes.kraft.adapter.image_form import IMAGE_FORM


def replayed(story: LogStory, form: ImageForm | None = IMAGE_FORM) -> Replay:
    """Up to its end."""
    log = known_log(story.run_events())
    ((end, state),) = states(log, [len(log.records)], form)
    assert (end, log.gap) == (state.end, None)
    return state


def after(story: LogStory) -> Replay:
    """With all that its last record touches, and no more."""
    log = known_log(story.run_events())
    state = Replay(form=IMAGE_FORM)
    for record in log.records:
        state.touched.clear()
        state.feed(record)
    return state


def cluster() -> LogStory:
    story = LogStory(readers=("c1",))
    story.brokers(4, 5)
    story.topic()
    story.new_partition([4, 5])
    story.new_partition([5, 4], 1)
    return story


def fed(state: Replay, kind: type[Change], **fields: Any) -> None:
    """What comes next, with all that it touches, and no more."""
    state.touched.clear()
    head = {"node": "c1", "incarnation": "1", "seq": 9, "within_ns": 0, "ref": "r", "epoch": 1}
    state.feed(kind(**head, offset=state.end, **fields))


def test_states_are_those_below_offsets_that_the_log_reaches() -> None:
    log = known_log(cluster().run_events())
    found = [(offset, state.end, state.live(5)) for offset, state in states(log, [7, 3, 4, 3, 8])]
    assert found == [(3, 3, False), (4, 4, True), (7, 7, True)]


@pytest.mark.parametrize("fenced", [True, False])
def test_broker_is_fenced_and_unfenced_under_its_own_epoch_alone(fenced: bool) -> None:
    story = cluster()
    if fenced:
        story.fence(4)
        assert not replayed(story).live(4) and replayed(story).brokers[4].activated
    story.fence(4, 7) if not fenced else story.unfence(4, 7)
    assert replayed(story).live(4) is not fenced
    assert not after(story).touched


def test_broker_that_registers_again_begins_anew() -> None:
    story = cluster()
    story.register(4)
    state = after(story)
    assert not state.live(4) and not state.brokers[4].activated
    assert state.touched == {("broker", 4)}


def test_broker_that_registers_in_service_is_in_service() -> None:
    state = replayed(cluster())
    fed(state, BrokerRegistered, broker_id=4, broker_epoch=7, fenced=False)
    assert state.live(4) and state.brokers[4].activated and not state.brokers[4].leaving


def test_broker_is_about_to_end_under_its_own_epoch_alone() -> None:
    """No image has that."""
    state = replayed(cluster())
    for broker, epoch, leaves in ((9, 0, False), (4, 7, False), (4, 0, True)):
        fed(state, BrokerLeaving, broker_id=broker, broker_epoch=epoch)
        assert state.brokers[4].leaving == leaves and not state.touched
    assert state.live(4) and not state.brokers[5].leaving


def test_broker_that_is_no_longer_registered_is_none() -> None:
    state = replayed(cluster())
    for _ in range(2):
        fed(state, BrokerUnregistered, broker_id=4, broker_epoch=0)
        assert not state.live(4) and state.live(5)
        assert state.touched == {("broker", 4)}


def test_brokers_that_are_unknown_are_not_in_service() -> None:
    story = cluster()
    for act in (story.fence, story.unfence):
        act(9, 0)
        assert not after(story).touched and not after(story).live(9)


def test_partition_changes_as_its_record_says() -> None:
    story = cluster()
    story.isr([5], 5)
    state = after(story)
    assert state.touched == {("partition", TOPIC, 0)}
    assert state.partitions[TOPIC, 0] == Partition(
        replicas=(4, 5), isr=(5,), leader=5, leader_epoch=1, version=1
    )
    assert state.topics[TOPIC] == Topic("t", partitions=2)


def test_partition_whose_replicas_change_is_no_other_one() -> None:
    story = cluster()
    story.topic("u", OTHER)
    story.move([5, 6], adding_replicas=[6], removing_replicas=[4], isr=[5], leader=5)
    state = after(story)
    assert state.touched == {("partition", TOPIC, 0)}
    assert state.topics == {TOPIC: Topic("t", 2), OTHER: Topic("u", 0)}
    assert state.topics[OTHER].partitions == 0 and not state.topics[TOPIC].deleting
    moved = state.partitions[TOPIC, 0]
    assert (moved.replicas, moved.adding, moved.removing) == ((5, 6), (6,), (4,))


@pytest.mark.parametrize(
    ("topic", "forgets"), [("t", {0, 1}), (None, {0, 1, 4}), ("u", {4}), ("v", set())]
)
def test_eligible_leaders_are_forgotten_where_there_are_or_were_any(
    topic: str | None, forgets: set[int]
) -> None:
    """Each time that is a version; partition 3 of the topic has none, nor had any."""
    story = cluster()
    story.topic("u", OTHER)
    story.new_partition([4])
    state = replayed(story)
    before = state.partitions[TOPIC, 0]
    eligible = {(TOPIC, 0): ((4,), ()), (TOPIC, 1): (None, (5,)), (OTHER, 4): ((4,), (5,))}
    eligible[TOPIC, 3] = ((), ())
    for key, (now, last) in eligible.items():
        state.partitions[key] = replace(before, version=7, eligible=now, last_eligible=last)
    was = dict(state.partitions)
    fed(state, EligibleForgotten, topic=topic)
    changed = {key for key, each in state.partitions.items() if each != was[key]}
    assert {number for _, number in changed} == forgets
    assert state.touched == {("partition", *key) for key in changed}
    for key in changed:
        assert state.partitions[key] == replace(before, version=8, eligible=(), last_eligible=())


def test_access_rules_come_and_go() -> None:
    state = replayed(cluster())
    rule = {"resource_type": 2, "resource": "t", "pattern_type": 3, "principal": "User:p"}
    rule |= {"host": "*", "operation": 4, "permission": 5}
    made = (2, "t", 3, "User:p", "*", 4, 5)
    for kind, left in (
        (AccessRuleRemoved, set()),
        (AccessRuleAdded, {made}),
        (AccessRuleAdded, {made}),
        (AccessRuleRemoved, set()),
    ):
        fed(state, kind, **rule)
        assert state.rules == left and state.touched == {("access", *made)}


def test_partitions_of_what_is_not_there_are_none() -> None:
    story = cluster()
    story.new_partition([4], topic_id=OTHER)
    story.isr([4], 4, topic_id=OTHER)
    assert set(replayed(story).partitions) == {(TOPIC, 0), (TOPIC, 1)}
    assert not after(story).touched


def test_topic_goes_with_its_partitions_name_and_settings() -> None:
    story = cluster()
    story.config("retention.ms", "1")
    story.config("retention.ms", "2", topic="u")
    story.record("TopicRecord", name="t", topic_id=TOPIC, deleting=True)
    state = after(story)
    assert state.topics[TOPIC].deleting and state.touched == {("topic", TOPIC)}
    story.record("RemoveTopicRecord", topic_id=TOPIC)
    state = after(story)
    assert not state.topics and not state.names and not state.partitions
    assert state.configs == {(2, "u"): {"retention.ms": "2"}}
    assert state.touched == {
        ("topic", TOPIC),
        ("partition", TOPIC, 0),
        ("partition", TOPIC, 1),
        ("config", 2, "t", "retention.ms"),
    }


def test_topic_whose_name_another_has_taken_leaves_it_alone() -> None:
    story = cluster()
    story.topic("t", OTHER)
    story.config("retention.ms", "1")
    story.drop()
    state = replayed(story)
    assert state.names == {"t": OTHER} and list(state.topics) == [OTHER]
    assert state.configs == {(2, "t"): {"retention.ms": "1"}}


def test_topics_that_never_were_do_not_go() -> None:
    story = cluster()
    for kind in ("TopicRecord", "RemoveTopicRecord"):
        story.record(kind, name="u", topic_id=OTHER, deleting=True)
        assert after(story).touched <= {("topic", OTHER)}
    assert list(replayed(story).topics) == [TOPIC]
    assert not after(story).touched


def test_settings_are_taken_back_one_by_one() -> None:
    story = cluster()
    for name, value in (("a", "1"), ("b", "2"), ("a", None), ("c", None)):
        story.config(name, value)
    assert replayed(story).configs == {(2, "t"): {"b": "2"}}
    story.config("b", None)
    assert replayed(story).configs == {}
    assert after(story).touched == {("config", 2, "t", "b")}


def test_features_have_a_level_or_are_not_there() -> None:
    story = cluster()
    for level in (3, 2):
        story.record("FeatureLevelRecord", name="f", feature_level=level)
        assert replayed(story).features == {"f": level}
    story.record("FeatureLevelRecord", name="f", feature_level=0)
    assert replayed(story).features == {}
    assert after(story).touched == {("feature", "f")}


def test_producer_ids_go_on() -> None:
    story = cluster()
    assert replayed(story).next_producer_id == 0
    story.record("ProducerIdsRecord", broker_id=4, broker_epoch=0, next_producer_id=1_000)
    assert after(story).next_producer_id == 1_000
    assert after(story).touched == {("producer ids",)}


@pytest.mark.parametrize(
    ("most", "most_bytes", "left"),
    [(3, 100, "abc"), (2, 100, "bc"), (3, 6, "abc"), (3, 5, "bc"), (3, 3, "c"), (1, 0, "c")],
)
def test_as_many_answers_as_an_image_has_room_for_and_the_last_one_always(
    most: int, most_bytes: int, left: str
) -> None:
    """Of two bytes each."""
    story = cluster()
    for request in "abc":
        story.record("RequestRecord", request_id=request, answer="00ff")
    state = replayed(story, replace(IMAGE_FORM, remembered=most, remembered_bytes=most_bytes))
    assert state.requests == {each: ("abc".index(each), "00ff") for each in left}
    assert state.request_bytes == 2 * len(left)
    assert state.touched >= {("request", each) for each in "abc"}


def test_answers_are_not_kept_where_nobody_says_how_many() -> None:
    story = cluster()
    story.record("RequestRecord", request_id="a", answer="00ff")
    assert not replayed(story, None).requests
