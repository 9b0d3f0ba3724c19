"""Neither end of a log goes back."""

import random
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.folds.log_ends import LimitAnswer, answered_limits, goes_back
from framework.testing.story import Story

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


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_the_definition(seed: int) -> None:
    answered = list(answered_limits(answers(seed).operations))
    found = [each.operations for each in goes_back(answered)]
    assert sorted(max(each) for each in found) == sorted(index for index, _ in went_back(answered))


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
