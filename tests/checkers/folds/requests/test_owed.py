"""What answers have to show of what had been acknowledged (`folds/requests/owed.py`)."""

from typing import Any

import pytest

from checkers.folds.history.peace import Quiet, Upset
from checkers.folds.metadata_log.log_points import LogPoints
from checkers.folds.metadata_log.shown_ends import ShownEnd
from checkers.folds.requests.owed import (
    Acknowledged,
    Earliest,
    Latest,
    Peace,
    acknowledged,
    shown_committed,
)
from framework.evidence.changes import Change, TopicCreated, TopicDeletionBegun
from framework.evidence.machine import Machine
from framework.history.pairing import Operation

S = 10**9
RECOVERY_S = 20
UNSETTLED, SETTLED = Quiet(30 * S, 90 * S), Quiet(100 * S, 200 * S, settled=True)


def read(from_s: int, to_s: int | None = None) -> Operation:
    ended = None if to_s is None else to_s * S
    return Operation(index=9, invoked_ns=from_s * S, completed_ns=ended)


def peace(took: tuple[int, int] | None, quiet: tuple[Quiet, ...]) -> Peace:
    """`took`: between these seconds the machine gave the run nothing."""
    spans = [] if took is None else [[took[0] * 1000, took[1] * 1000, (took[1] - took[0]) * 1000]]
    machine = Machine.of(spans)
    return Peace(quiet, Upset(machine, RECOVERY_S * S), machine)


def owed_s(
    asked: Operation,
    took: tuple[int, int] | None = None,
    quiet: tuple[Quiet, ...] = (UNSETTLED, SETTLED),
) -> float | None:
    found = peace(took, quiet).owed_ns(asked)
    return None if found is None else found / S


@pytest.mark.parametrize(
    ("asked", "owed"),
    [
        ((29, 40), None),  # it may show what was so under the fault
        ((30, 40), 10),
        ((50, 90), 30),
        ((50, None), 30),
        ((50, 91), None),
        ((95, 96), None),
        ((100, 101), 100),  # all that was acknowledged before it settled
        ((150, 160), 100),
    ],
)
def test_in_peace_what_was_acknowledged_before_a_recovery_is_owed(
    asked: tuple[int, int | None], owed: float | None
) -> None:
    assert owed_s(read(*asked)) == owed


def test_an_answer_in_two_times_of_peace_owes_by_the_later_one() -> None:
    both = Quiet(30 * S, 100 * S), SETTLED
    assert owed_s(read(100, 100), quiet=both) == 100


def test_time_that_the_machine_took_is_no_time_to_recover_in() -> None:
    assert owed_s(read(50, 51), took=(35, 40)) == 25


@pytest.mark.parametrize(("took", "owed"), [((140, 145), None), ((110, 115), 100)])
def test_who_settled_owes_nothing_shortly_after_the_machine_stood_still(
    took: tuple[int, int], owed: float | None
) -> None:
    assert owed_s(read(150, 151), took=took) == owed


@pytest.mark.parametrize(
    ("asked", "took", "owed_ns"),
    [
        ((50, 90), None, 30 * S),  # not settled: as what was acknowledged
        ((150, 160), None, 148 * S),
        ((100, 101), None, 98 * S),
        ((150, 160), (140, 145), None),  # upset: it owes nothing at all
        ((150, 160), (110, 115), 148 * S),
        ((116, 117), (40, 42), 114 * S),
        ((95, 96), None, None),
    ],
)
def test_once_settled_what_others_were_shown_two_seconds_before_is_owed(
    asked: tuple[int, int], took: tuple[int, int] | None, owed_ns: int | None
) -> None:
    answer, known = read(*asked), peace(took, (UNSETTLED, SETTLED))
    acknowledged_ns = known.owed_ns(answer)
    if owed_ns is None or acknowledged_ns is None:
        assert acknowledged_ns is owed_ns
    else:
        assert known.followed_ns(answer, acknowledged_ns) == owed_ns


def test_what_was_asked_at_no_noted_time_was_asked_at_the_begin() -> None:
    asked = Operation(index=9, completed_ns=1)
    assert peace(None, (Quiet(0, S, settled=True),)).followed_ns(asked, 0) == -2 * S


# --- what was acknowledged ----------------------------------------------------------------


def log(*records: tuple[type[Change], str]) -> LogPoints:
    fixed: dict[str, Any] = {"node": "c1", "incarnation": "1", "epoch": 1, "name": "t"}
    return LogPoints.of(
        kind(**{**fixed, "seq": offset, "offset": offset, "topic_id": topic_id})
        for offset, (kind, topic_id) in enumerate(records)
    )


def change(f: str, topic_id: str | None, completed_ns: int | None = 7) -> Operation:
    result = None if topic_id is None else {"topic_id": topic_id}
    return Operation(index=1, f=f, type="ok", end=2, result=result, completed_ns=completed_ns)


POINTS = log((TopicCreated, "a"), (TopicCreated, "b"), (TopicDeletionBegun, "a"))


@pytest.mark.parametrize(
    ("done", "point"),
    [
        (change("create", "a"), 1),
        (change("create", "b"), 2),
        (change("delete", "a"), 3),
        (change("delete", "b"), None),  # the log does not have it
        (change("create", "z"), None),
        (change("create", None), None),
        (change("create", "a", None), None),
    ],
)
def test_changes_are_where_the_log_has_them(done: Operation, point: int | None) -> None:
    expected = [] if point is None else [Acknowledged(7, point, done)]
    assert acknowledged([done, change("create", "b", 9)], POINTS) == [
        *expected,
        Acknowledged(9, 2, change("create", "b", 9)),
    ]


def test_what_was_shown_is_committed_from_the_answer_on() -> None:
    """Nothing is by an answer whose time is not known."""
    ends = [ShownEnd(5, None, None, change("describe-quorum", None, at)) for at in (7, None)]
    assert shown_committed(ends) == [Acknowledged(7, 5, ends[0].operation)]


def given(at_ns: int, point: int, index: int = 0) -> Acknowledged:
    return Acknowledged(at_ns, point, Operation(index=index))


def test_of_what_had_been_acknowledged_by_a_moment_the_last_point_counts() -> None:
    """Whatever order they are told in; what was acknowledged at that moment was not by then."""
    low, high, middle = given(10, 1), given(20, 5), given(30, 3)
    latest = Latest([middle, low, high], lambda each: each.at_ns)
    found = [latest.before(moment) for moment in (0, 10, 11, 20, 21, 31)]
    assert found == [None, None, low, low, high, high]
    assert Latest([], lambda each: each.at_ns).before(9) is None


def test_of_what_was_asked_for_later_the_first_point_counts() -> None:
    first, lowest, last = given(0, 4, index=10), given(0, 2, index=20), given(0, 3, index=30)
    earliest = Earliest([last, first, lowest])
    found = [earliest.after(event) for event in (5, 9, 10, 19, 20, 29, 30)]
    assert found == [lowest, lowest, lowest, lowest, last, last, None]
    assert Earliest([]).after(0) is None
