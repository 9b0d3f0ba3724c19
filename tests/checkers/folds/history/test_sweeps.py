"""What goes back in real time (`folds/history/sweeps.py`)."""

from dataclasses import dataclass

from checkers.folds.history.sweeps import falls
from framework.history.pairing import Operation
from framework.testing.story import Story


@dataclass(frozen=True)
class Shown:
    operation: Operation
    value: int


def read(story: Story, value: int) -> Shown:
    return Shown(story.op("read", "x", result=value), value)


def pending(story: Story, value: int) -> Shown:
    """What is known of an operation without an end."""
    return Shown(story.invoke("read", "x"), value)


def test_what_rises_or_stays_does_not_fall() -> None:
    story = Story()
    assert not list(falls([read(story, 1), read(story, 1), read(story, 2)]))


def test_each_fall_is_reported_with_the_worthiest_before_it() -> None:
    story = Story()
    low, high, fall, again = (read(story, value) for value in (1, 3, 2, 1))
    assert list(falls([low, high, fall, again])) == [(high, fall), (high, again)]


def test_of_equals_the_first_to_end_is_the_witness() -> None:
    story = Story()
    first, second, fall = (read(story, value) for value in (3, 3, 2))
    assert list(falls([first, second, fall])) == [(first, fall)]


def test_what_was_asked_before_the_other_ended_may_be_lower() -> None:
    story = Story()
    early = story.invoke("read", "x")
    high = read(story, 3)
    low = Shown(story.complete(early, result=1), 1)
    assert not list(falls([high, low]))


def test_what_never_ended_falls_but_nothing_falls_below_it() -> None:
    """Nor does it hide what ended later."""
    story = Story()
    open_ended, high, low, last = (
        pending(story, 9), read(story, 3), read(story, 2), pending(story, 1)
    )  # fmt: skip
    assert list(falls([open_ended, high, low, last])) == [(high, low), (high, last)]


def test_what_is_due_may_be_other_than_what_it_is_worth() -> None:
    story = Story()
    before, after = read(story, 3), read(story, 3)
    below = list(falls([before, after], due=lambda each: each.value - 1))
    assert below == [(before, after)]
