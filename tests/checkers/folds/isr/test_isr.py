"""What is known of a partition's leader and ISR (`folds/isr/isr.py`)."""

from typing import Any

import pytest
from planted_runs import OTHER, TOPIC, Story, shown

from checkers.folds.isr.isr import (
    FirstShown,
    State,
    asked_earlier,
    asking,
    clients_asked,
    keys_of,
    needs_a_request,
    sights,
    state_of,
    step,
)

KEY = (TOPIC, 0)


def state(*isr: int, leader: int = 4, epoch: int = 0) -> State:
    return State(leader, epoch, frozenset(isr))


def test_partitions_that_an_operation_is_about_or_shows() -> None:
    story = Story()
    story.alter(0, [4, 5])
    story.alter(0, [4], type="info")
    story.describe("t", shown(1, [4]), {**shown(0, [4]), "partition": 1})
    story.describe("gone")
    story.op("describe", "t", None, {"topic_id": TOPIC, "partitions": None})
    story.op("describe", "t", None, {"topic_id": TOPIC, "partitions": [shown(0, [])]}, type="fail")
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": [shown(0, [4])]})
    found = [list(keys_of(each)) for each in story.operations]
    assert found == [[KEY], [KEY], [KEY, (TOPIC, 1)], [], [], [], []]


def test_successes_show_states() -> None:
    story = Story()
    story.alter(2, [5, 4])
    story.describe("t", shown(7, [4]), {**shown(9, [5]), "partition": 1})
    story.alter(3, [4], type="info")
    story.op("alter-isr", "t/0", {"partition_epoch": 1}, accepted_at(2), type="fail")
    story.describe("gone")
    story.op("describe", "t", None, {"topic_id": TOPIC, "partitions": None})
    unversioned = {name: each for name, each in shown(1, [4]).items() if name != "partition_epoch"}
    story.describe("t", unversioned)
    found = [(each.version, each.at_least, each.state) for each in sights(story.operations, KEY)]
    assert found == [(3, 2, state(4, 5)), (7, 7, state(4))]


@pytest.mark.parametrize("answer", [True, "t", [shown(0, [4])]])
def test_answers_that_are_no_topic_show_no_partition(answer: Any) -> None:
    """In histories of others a topic may be there, and no more be said of it."""
    story = Story()
    story.op("describe", "t", None, answer)
    story.op("follow", "t", None, answer)
    assert [list(keys_of(each)) for each in story.operations] == [[], []]
    assert not list(sights(story.operations, KEY))


def accepted_at(version: int) -> dict[str, Any]:
    return {"leader": 4, "leader_epoch": 0, "partition_epoch": version, "isr": [4]}


@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [
        (state(4), state(4), True),
        (state(4), state(4, 5), True),
        (state(4, 5), state(4), False),
        (state(4, 5), state(4, 6), True),
        (state(4), state(4, 5, leader=5, epoch=1), False),
        (state(4), state(4, 5, epoch=1), False),
        (state(4, leader=-1), state(4, 5, leader=-1), False),
    ],
)
def test_steps_that_no_controller_makes_by_itself(before: State, after: State, asked: bool) -> None:
    assert needs_a_request(before, after) == asked


def test_requests_name_a_version_and_an_isr() -> None:
    story = Story()
    right = story.alter(2, [5, 4])
    story.alter(1, [4, 5])
    story.alter(2, [4])
    assert asking(story.operations, 2, state(4, 5)) == [right]


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        ({}, True),
        ({"type": "info"}, True),
        ({"type": "fail"}, False),
        ({"broker_id": 5}, False),
        ({"leader_epoch": 1}, False),
    ],
)
def test_the_leader_of_before_may_have_asked(request_: dict[str, Any], asked: bool) -> None:
    story = Story()
    story.alter(2, [4, 5], **request_)
    assert clients_asked(story.operations, [], 2, state(4), state(4, 5)) == asked


def test_who_asks_once_the_step_was_shown_did_not_ask_for_it() -> None:
    story = Story()
    story.describe("t", shown(2, [4]))
    early = story.alter(2, [4, 5])
    story.describe("t", shown(3, [4, 5]))
    late = story.alter(2, [4, 5])
    story.describe("t", shown(3, [4, 5]))
    seen = list(sights(story.operations, KEY))
    for asker, asked in ((early, True), (late, False)):
        others = [each for each in seen if each.operation != asker]
        assert clients_asked([asker], others, 2, state(4), state(4, 5)) == asked


def test_the_same_was_asked_for_at_an_earlier_version() -> None:
    story = Story()
    assert asked_earlier(story.operations, 6, state(4, 5)) == ("", [])
    earlier = [story.alter(version, [4, 5]) for version in (1, 2, 3, 4)]
    story.alter(5, [4])
    story.alter(5, [4, 5], type="fail")
    story.alter(6, [4, 5])
    words, found = asked_earlier(story.operations, 6, state(4, 5))
    assert found == earlier[-3:]
    assert words == f": was a change applied twice (operations {', '.join(indices(found))})?"


def indices(operations: list[Any]) -> list[str]:
    return [str(each.index) for each in operations]


def test_steps_in_words() -> None:
    assert step(state(4), state(4), 3) == "repeats version 3"
    assert step(state(4), state(4, 6, 5), 3) == "adds [5, 6] to the ISR of version 3"
    assert str(state(5, 4)) == "leader 4, leader epoch 0, ISR [4, 5]"


def test_partitions_of_other_topics_are_others() -> None:
    story = Story()
    story.describe("t", shown(0, [4]), topic_id=OTHER)
    assert list(keys_of(story.operations[0])) == [(OTHER, 0)]
    assert state_of(shown(0, [5, 4])) == state(4, 5)


def test_what_was_first_shown_of_later_versions() -> None:
    story = Story()
    for version in (3, 1, 5, 2):
        story.describe("t", shown(version, [4]))
    story.describe("t", shown(4, [4]))
    seen = list(sights(story.operations, KEY))
    first = FirstShown(seen)
    for version in range(7):
        later = [each for each in seen if each.version > version]
        found = first.than(version)
        assert [each.operation.end for each in found] == [
            min(each.operation.end or 0 for each in later) for _ in later[:1]
        ]


@pytest.mark.parametrize("result", [None, "t", [1]])
def test_an_answer_that_is_of_no_form_shows_nothing(result: Any) -> None:
    story = Story()
    story.op("describe", "t", None, result)
    assert not [key for each in story.operations for key in keys_of(each)]
    assert not list(sights(story.operations, KEY))
