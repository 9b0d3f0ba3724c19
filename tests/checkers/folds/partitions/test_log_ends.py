"""Neither end of a log goes back."""

import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.folds.partitions.log_ends import (
    LimitAnswer,
    answered_limits,
    configured,
    goes_back,
    hidden,
    may_be_removed,
    may_remove,
)
from framework.testing.story import Story
from tests.cases import cases

KEY = "t/0"


def answers(seed: int) -> Story:
    """Fetches and ListOffsets that overlap, in few epochs, of few offsets."""
    draw, story = random.Random(seed), Story()
    open_ = []
    for _ in range(draw.randrange(2, 9)):
        if draw.random() < 0.5:
            open_.append(story.invoke("fetch", KEY, {"consumer": "a", "from": 0}))
        else:
            at = draw.choice(("latest", "earliest"))
            open_.append(story.invoke("list-offsets", KEY, {"at": at}))
        while open_ and draw.random() < 0.6:
            asked = open_.pop(draw.randrange(len(open_)))
            by = {"leader_epoch": draw.randrange(3)} if draw.random() < 0.9 else {}
            if asked.f == "fetch":
                limits = {"high_watermark": draw.randrange(3), "log_start": draw.randrange(2)}
            else:
                limits = {"offset": draw.randrange(3)}
            story.complete(asked, result={**limits, **by})
    return story


def went_back(answered: list[LimitAnswer]) -> set[tuple[int, str]]:
    """(operation, limit) of each answer that is below an earlier one that binds it."""
    return {
        (after.operation.index, after.limit)
        for before, after in permutations(answered, 2)
        if before.epoch is not None
        and after.epoch is not None
        and before.limit == after.limit
        and before.offset > after.offset
        and before.operation.precedes(after.operation)
        and (
            before.epoch == after.epoch
            or (before.epoch < after.epoch and after.operation.f == "list-offsets"
                and after.limit == "end")
        )
    }  # fmt: skip


@settings(max_examples=cases(300), deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_the_definition(seed: int) -> None:
    answered = list(answered_limits(answers(seed).operations))
    found = [each.operations for each in goes_back(answered)]
    assert sorted(max(each) for each in found) == sorted(index for index, _ in went_back(answered))


def test_answer_that_takes_long_hides_none_of_the_others() -> None:
    story = Story()
    long = story.invoke("list-offsets", KEY, {"at": "latest"})
    for offset in (7, 5):
        story.op("list-offsets", KEY, {"at": "latest"}, {"offset": offset, "leader_epoch": 1})
    story.complete(long, result={"offset": 7, "leader_epoch": 1})
    assert len(list(goes_back(answered_limits(story.operations)))) == 1


def test_what_looks_as_if_it_went_back() -> None:
    """An old leader that does not know that it is, a new one whose high watermark lags, answers
    that overlap, and those that do not say who gave them."""
    story = Story()
    latest = {"at": "latest"}

    def offsets(offset: int, epoch: int | None) -> None:
        by = {} if epoch is None else {"leader_epoch": epoch}
        story.op("list-offsets", KEY, latest, {"offset": offset, **by})

    def fetch(watermark: int, epoch: int, log_start: int = 0) -> None:
        reported = {"high_watermark": watermark, "log_start": log_start, "leader_epoch": epoch}
        story.op("fetch", KEY, {"consumer": "a", "from": 0}, reported)

    early = story.invoke("list-offsets", KEY, latest)
    fetch(7, 1, log_start=3)
    offsets(7, 1)
    fetch(5, 2, log_start=1)  # lags, and had not removed as much
    offsets(9, 2)
    offsets(7, 1)
    offsets(2, None)
    story.complete(early, result={"offset": 1, "leader_epoch": 2})
    assert list(goes_back(answered_limits(story.operations))) == []


def test_both_answers_are_named_as_clients_asked_for_them() -> None:
    story = Story()
    asked = {"consumer": "a", "from": 0}
    story.op("fetch", KEY, asked, {"high_watermark": 7, "log_start": 0, "leader_epoch": 1})
    story.op("fetch", KEY, asked, {"high_watermark": 6, "log_start": 0, "leader_epoch": 1})
    (found,) = goes_back(answered_limits(story.operations))
    assert found.message == (
        "the log went back: a leader told 6 for its end in leader epoch 1 (operation 2), after one "
        "had told 7 for its end in leader epoch 1 (operation 0)"
    )
    story.op("list-offsets", KEY, {"at": "earliest"}, {"offset": 0})
    assert str(list(answered_limits(story.operations))[-1]) == "0 for its beginning (operation 4)"


def test_answers_that_show_no_limit() -> None:
    story = Story()
    story.op("fetch", KEY, {"from": 0}, None)
    story.op("fetch", KEY, {"from": 0}, {"high_watermark": -1, "log_start": None})
    story.op("fetch", KEY, {"from": 0}, {"high_watermark": 3, "log_start": 3}, type="fail")
    story.op("produce", KEY, {"value": 1}, {"offset": 3, "log_start": 3, "low_watermark": 3})
    assert list(answered_limits(story.operations)) == []


# --- beginnings ---------------------------------------------------------------------------


def begins_at(story: Story, offset: int) -> None:
    story.op("list-offsets", KEY, {"at": "earliest"}, {"offset": offset})


def is_hidden(story: Story) -> bool:
    return bool(list(hidden(answered_limits(story.operations), story.operations, story.plan)))


def removes(story: Story, before: int, **more: Any) -> None:
    story.op("delete-records", KEY, {"before": before}, **more)


def test_beginning_that_moved_by_itself_is_found_once() -> None:
    story = Story()
    begins_at(story, 0)
    assert not is_hidden(story)
    for offset in (1, 2):
        begins_at(story, offset)
    (found,) = hidden(answered_limits(story.operations), story.operations, {})
    assert found.message.startswith("the log begins at 1 by operation 2 (list-offsets)")


@pytest.mark.parametrize("type", ["ok", "info"])
def test_beginning_moves_as_far_as_somebody_asked_for(type: Any) -> None:
    story = Story()
    for before in (5, 3):
        removes(story, before, type=type)
    begins_at(story, 5)
    assert not is_hidden(story)
    begins_at(story, 6)
    assert is_hidden(story)


def test_beginning_moves_anywhere_up_to_the_high_watermark() -> None:
    story = Story()
    removes(story, 3)
    removes(story, -1)
    begins_at(story, 99)
    assert not is_hidden(story)


def test_removal_that_was_refused_or_asked_for_afterwards_moves_nothing() -> None:
    story = Story()
    removes(story, 5, type="fail", error="X")
    begins_at(story, 5)
    removes(story, 5)
    assert is_hidden(story)


def test_removal_that_was_asked_for_meanwhile_may_have_moved_it() -> None:
    story = Story()
    asked = story.invoke("list-offsets", KEY, {"at": "earliest"})
    removes(story, 5)
    story.complete(asked, result={"offset": 5})
    assert not is_hidden(story)


def test_end_is_no_beginning() -> None:
    story = Story()
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 5})
    assert not is_hidden(story)


@pytest.mark.parametrize(
    ("name", "moves"),
    [("retention.ms", True), ("log.retention.bytes", True), ("cleanup.policy", True), ("x", False)],
)
def test_settings_move_beginnings(name: str, moves: bool) -> None:
    """Of a node, or of a topic that somebody created, and not of what else has such a field."""
    plan = {"settings": {"b1": {name: "1"}, "b2": None}}
    assert may_remove(plan, []) == moves
    story = Story()
    story.op("create", "u", None)
    story.op("create", "u", {"configs": None})
    story.op("describe-configs", "t", {"configs": {"retention.ms": "1"}})
    assert not may_remove({}, story.operations)
    story.op("create", "t", {"configs": {name: "1"}}, type="info")
    assert may_remove({}, story.operations) == moves
    assert list(configured(plan, story.operations)) == [(name, "1")] * 2
    begins_at(story, 5)
    assert is_hidden(story) != moves


@pytest.mark.parametrize(("f", "key"), [("configure", "t"), ("configure-broker", "broker-4")])
def test_changes_move_beginnings(f: str, key: str) -> None:
    story = Story()
    story.op(f, key, {"set": [["a", "1"]]})
    assert not may_remove({}, story.operations)
    story.op(f, key, {"delete": ["retention.ms"]})
    assert list(configured({}, story.operations)) == [("a", "1"), ("retention.ms", None)]
    assert may_remove({}, story.operations)


def test_who_was_refused_removes_nothing() -> None:
    story = Story()
    for before, type_ in ((2, "ok"), (5, "info"), (9, "fail")):
        story.op("delete-records", KEY, {"before": before}, None, type=type_, error="X")
    assert may_be_removed(story.operations) == 5
    assert may_be_removed(story.operations[2:]) == 0
