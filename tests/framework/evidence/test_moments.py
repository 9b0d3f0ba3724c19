"""Times of different clocks: what is sure of them, and what was last."""

import pytest

from framework.evidence.clocks import Latest, Moment, slack_ns, surely_before, surely_not_after


def test_a_moment_of_another_clock_is_known_within_bounds() -> None:
    moment = Moment(100, within_ns=7, clock="a")
    assert (moment.earliest_ns, moment.latest_ns) == (93, 107)


@pytest.mark.parametrize(
    ("clock", "slack", "before", "not_after"),
    [("a", 0, True, True), ("b", 10, False, True), ("c", 11, False, False)],
)
def test_two_clocks_hide_what_both_may_be_off(
    clock: str, slack: int, before: bool, not_after: bool
) -> None:
    one, other = Moment(100, 5, "a"), Moment(110, 6 if clock == "c" else 5, clock)
    assert slack_ns(one, other) == slack
    assert surely_before(one, other) is before
    assert surely_not_after(one, other) is not_after


def test_what_was_last_is_known_of_each_clock() -> None:
    latest = Latest[str]()
    assert list(latest) == []
    for at_ns, clock, what in [(3, "a", "x"), (9, "b", "y"), (7, "a", "z"), (5, "a", "w")]:
        latest.add(Moment(at_ns, 5, clock), what)
    assert list(latest) == ["y", "z"]


def test_of_two_at_one_time_the_first_stays() -> None:
    latest = Latest[str]()
    latest.add(Moment(3, 0, "a"), "x")
    latest.add(Moment(3, 0, "a"), "y")
    assert list(latest) == ["x"]
