"""Which topic an operation on a partition was on (`folds/history/topic_ids.py`)."""

from dataclasses import replace

import pytest
from planted_runs import OTHER, TOPIC, Story

from checkers.folds.history.topic_ids import by_topic_id, topic_lives, topic_of
from framework.history.pairing import Operation


def produce(story: Story, topic_id: str | None = TOPIC, key: str = "t/0") -> Operation:
    return story.op("produce", key, {"value": 1}, {"offset": 0, "topic_id": topic_id})


def reported(story: Story, operation: Operation) -> str | None:
    return topic_lives(story.operations).of(operation)


def test_answers_are_of_the_topic_that_they_name() -> None:
    story = Story()
    story.create("t")
    assert reported(story, produce(story)) == TOPIC
    assert reported(story, produce(story, OTHER)) == OTHER
    assert reported(story, produce(story, None)) is None
    assert reported(story, story.op("produce", "t/0", {}, [1])) is None
    assert reported(story, story.op("produce", "t/0", {}, {"topic_id": 7})) is None
    failed = story.op("produce", "t/0", {}, {"topic_id": TOPIC}, type="fail")
    assert reported(story, failed) is None


@pytest.mark.parametrize(
    ("removes", "known"),
    [
        ({"topic_id": TOPIC}, False),
        ({"topic_id": OTHER}, True),
        ({"topic_id": None}, False),
        ({"topic_id": None, "type": "info"}, False),
        ({"topic_id": None, "type": "fail"}, True),
    ],
)
def test_what_may_have_been_deleted_before_the_answer_is_not_known(
    removes: dict[str, str], known: bool
) -> None:
    story = Story()
    before = produce(story)
    story.delete("t", **removes)
    after = produce(story)
    assert reported(story, before) == TOPIC
    assert (reported(story, after) == TOPIC) == known
    assert reported(story, produce(story, key="u/0")) == TOPIC, "another name"


def test_delete_that_began_before_the_answer_counts_and_one_under_way_with_it() -> None:
    story = Story()
    slow = story.invoke("produce", "t/0", {})
    story.invoke("delete", "t")
    answered = story.complete(slow, result={"topic_id": TOPIC})
    assert reported(story, answered) is None
    assert reported(story, replace(answered, end=None)) is None


def test_delete_that_had_ended_before_the_create_removed_another() -> None:
    story = Story()
    story.delete("t", None)
    story.create("t")
    assert reported(story, produce(story)) == TOPIC
    story.delete("t", None, type="info")
    assert reported(story, produce(story)) is None


def test_topic_whose_create_nobody_knows_may_have_been_there_before_the_delete() -> None:
    story = Story()
    story.delete("t", None)
    assert reported(story, produce(story)) is None


def test_what_may_be_deleted_at_any_time() -> None:
    story = Story()
    story.create("t")
    assert not topic_lives(story.operations).may_be_deleted("t")
    story.delete("t")
    lives = topic_lives(story.operations)
    assert lives.may_be_deleted("t") and lives.may_be_deleted("t", TOPIC)
    assert not lives.may_be_deleted("t", OTHER)
    assert not lives.may_be_deleted("u")


# --- operations by topics -----------------------------------------------------------------


def grouped(story: Story) -> dict[str | None, list[tuple[int, str, bool]]]:
    own = [each for each in story.operations if str(each.key).startswith("t/")]
    return {
        topic_id: [(each.index, each.type, each.result is None) for each in group]
        for topic_id, group in by_topic_id(topic_lives(story.operations), own).items()
    }


def test_a_name_that_is_never_freed_is_one_topic() -> None:
    story = Story()
    story.create("t")
    for topic_id in (TOPIC, OTHER):
        produce(story, topic_id)
    assert list(grouped(story)) == [None]
    assert by_topic_id(topic_lives([]), []) == {None: []}


def test_two_topics_of_one_name_have_each_its_own_and_what_may_be_of_either() -> None:
    story = Story()
    story.create("t")
    first = produce(story)
    story.delete("t")
    story.create("t", OTHER)
    second = produce(story, OTHER)
    unsure = produce(story, TOPIC)
    pending = story.invoke("produce", "t/0", {})
    sought = story.op("seek", "t/0", {}, {"topic_id": None})
    failed = story.op("produce", "t/0", {}, {"topic_id": "x"}, type="fail")
    either = [
        (unsure.index, "info", True),
        (pending.index, pending.type, True),
        (sought.index, "ok", False),
        (failed.index, "fail", False),
    ]
    assert grouped(story) == {
        TOPIC: [(first.index, "ok", False), *either],
        OTHER: [(second.index, "ok", False), *either],
    }


def test_where_one_topic_alone_answered_all_is_of_it() -> None:
    story = Story()
    story.create("t")
    known = produce(story)
    story.delete("t", type="info")
    unknown = produce(story)
    assert grouped(story) == {None: [(known.index, "ok", False), (unknown.index, "info", True)]}


def test_where_nobody_answered_all_is_of_one() -> None:
    story = Story()
    story.delete("t")
    pending = story.invoke("produce", "t/0", {})
    assert grouped(story) == {None: [(pending.index, pending.type, True)]}


def test_names_of_topics_may_have_slashes() -> None:
    story = Story()
    assert topic_of(story.invoke("produce", "a/b/0", {})) == "a/b"
