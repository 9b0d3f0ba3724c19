"""Which levels of features contradict each other (`folds/requests/levels.py`)."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.folds.requests.levels import Level, fallen, forgotten, granted, lowered, told, untold
from framework.history.pairing import Operation
from framework.testing.story import Story

NAME = "metadata.version"


def tell(story: Story, epoch: int | None, *levels: int | None, name: str = NAME) -> Operation:
    shown = [{"name": name, "level": level} for level in levels]
    return story.op("features", None, None, {"epoch": epoch, "features": shown})


def ask(story: Story, level: int, name: str = NAME, *, dry: bool = False, **more: Any) -> Operation:
    return story.op("update-feature", name, {"level": level, "dry": dry}, {}, **more)


def pairs(found: Any) -> list[tuple[int, int]]:
    return [(before.operation.index, after.operation.index) for before, after in found]


# --- what is told, and granted ------------------------------------------------------------


def test_what_is_told_is_in_the_order_of_names_epochs_and_questions() -> None:
    story = Story()
    later, early, nowhere = tell(story, 7, 3), tell(story, 5, 2), tell(story, None, 1)
    again, other = tell(story, 7, 3), tell(story, 1, 9, name="kraft.version")
    found = [each.operation.index for each in told(story.operations)]
    order = [other, nowhere, early, later, again]
    assert found == [each.index for each in order]


def test_who_was_not_answered_and_what_has_no_level_tells_nothing() -> None:
    story = Story()
    tell(story, 1, None)
    story.op("features", None, None, None)
    told_late = {"epoch": 1, "features": [{"name": NAME, "level": 1}]}
    story.op("features", None, None, told_late, type="info", error="REQUEST_TIMED_OUT")
    story.op("update-feature", NAME, {"level": 2}, told_late)
    assert not told(story.operations)


@pytest.mark.parametrize(
    ("epoch", "levels", "there"),
    [(5, (), True), (5, (None,), True), (0, (), True), (-1, (), False), (5, (3,), False)],
)
def test_who_knows_of_the_log_and_gives_a_feature_no_level_tells_that_it_has_none(
    epoch: int, levels: tuple[int | None, ...], there: bool
) -> None:
    """It leaves it out, or names it without."""
    story = Story()
    answer = tell(story, epoch, *levels)
    expected = [Level(answer, NAME, 0, epoch)] if there else []
    assert list(untold(story.operations, {NAME})) == expected


def test_grants_are_answered_and_were_meant() -> None:
    story = Story()
    asked = ask(story, 2)
    ask(story, 3, dry=True)
    ask(story, 4, type="info", error="REQUEST_TIMED_OUT")
    ask(story, 5, type="fail", error="INVALID_UPDATE_VERSION")
    tell(story, 1, 1)
    assert granted(story.operations) == [Level(asked, NAME, 2)]


# --- what contradicts what ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((1, 2), (2, 2), False),
        ((1, 2), (2, 3), False),
        ((1, 2), (2, 1), True),
        ((1, 2), (1, 3), True),
        ((1, 2), (1, 2), False),
    ],
)
def test_levels_do_not_fall_with_epochs(
    first: tuple[int, int], second: tuple[int, int], found: bool
) -> None:
    story = Story()
    before, after = tell(story, *first), tell(story, *second)
    expected = [(before.index, after.index)] if found else []
    assert pairs(fallen(told(story.operations))) == expected


def test_levels_of_a_second_feature_are_compared_as_well() -> None:
    story = Story()
    tell(story, 9, 9, name="a")
    before, after = tell(story, 1, 2, name="b"), tell(story, 2, 1, name="b")
    assert pairs(fallen(told(story.operations))) == [(before.index, after.index)]


@given(st.integers(0, 2**32))
def test_grants_that_lower_are_as_by_brute_force(seed: int) -> None:
    draw, story = random.Random(seed), Story()
    open_: list[Operation] = []
    for _ in range(draw.randrange(2, 9)):
        value = {"level": draw.randrange(3)}
        open_.append(story.invoke("update-feature", draw.choice("ab"), value))
        while open_ and draw.random() < 0.7:
            story.complete(open_.pop(draw.randrange(len(open_))), result={})
    grants = granted(story.operations)
    wrong = {
        after.operation.index
        for before, after in permutations(grants, 2)
        if before.name == after.name
        and before.level > after.level
        and before.operation.precedes(after.operation)
    }
    found = list(lowered(grants))
    assert len(found) == len(wrong), "each once"
    assert {after.operation.index for _, after in found} == wrong
    for before, after in found:
        assert before.name == after.name
        assert before.level > after.level
        assert before.operation.precedes(after.operation)


@pytest.mark.parametrize(
    ("name", "level", "shown", "found"),
    [(NAME, 3, 2, True), (NAME, 3, 3, False), (NAME, 2, 3, False), ("kraft.version", 3, 2, False)],
)
def test_what_was_granted_is_told_in_the_end(
    name: str, level: int, shown: int, found: bool
) -> None:
    story = Story()
    asked = ask(story, level, name)
    tell(story, 8, shown - 1)
    story.final()
    last = tell(story, 9, shown)
    expected = [(asked.index, last.index)] if found else []
    assert pairs(forgotten(told(story.operations), granted(story.operations))) == expected


def test_what_is_granted_in_the_end_may_come_after_who_tells() -> None:
    story = Story()
    story.final()
    ask(story, 3)
    tell(story, 9, 2)
    assert not pairs(forgotten(told(story.operations), granted(story.operations)))
