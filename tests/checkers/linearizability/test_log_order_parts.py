"""The parts of "log order" by themselves, and the orders that it finds to the letter."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, NOWHERE, EncodedHistory, Ints, Kind
from checkers.linearizability.methods.log_order import method, model, unplaced
from checkers.linearizability.methods.log_order.method import log_order
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import Known, encoded_of, is_legal_order

LETTERS = "rdwcxlseqzt"
"""Of `Kind`, in its order: look and step, enqueue, dequeue, empty, take."""


def logged(text: str) -> EncodedHistory:
    """`0-3:w1@2` writes 1 from event 0 to 3, and has place 2 in the log. Look and step are of
    `Known`."""
    columns: list[tuple[int, ...]] = []
    for operation in text.split():
        times, what = operation.split(":")
        start, end = times.split("-")
        what, _, place = what.partition("@")
        kind = LETTERS.index(what[0])
        numbers = [int(number) for number in what[1:].split(">") if number]
        a = numbers[0] if numbers and what[0] not in "we" else -1
        b = numbers[-1] if what[0] in "wcxe" else -1
        columns.append((int(start), int(end or NEVER), kind, a, b, int(place or NOWHERE)))
    call, ret, kinds, a_s, b_s, places = ([*each] for each in zip(*columns, strict=True))
    model = Known() if {Kind.LOOK, Kind.STEP} & set(kinds) else None
    history = encoded_of(call, ret, kinds, a_s, b_s, model)
    return replace(history, place=np.array(places, np.int64))


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


def flags(*values: int) -> NDArray[np.bool_]:
    return np.array(values, np.bool_)


def codes(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


Lists = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


def lists(history: EncodedHistory) -> Lists:
    """All floating operations, by the value that they make: `head`, `tail`, `then`."""
    size = max(int(history.a.max()), int(history.b.max())) + 2
    made = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    then = np.full(len(history), -1, np.int32)
    for row in range(len(history)):
        unplaced._link(row, int(history.b[row]), *made, then)
    return (*made, then)


def listed(of: Lists, value: int) -> list[int]:
    head, tail, then = of
    rows, row, last = [], int(head[value]), -1
    while row >= 0:
        rows.append(row)
        row, last = int(then[row]), row
    assert not rows or tail[value] == last
    return rows


def test_makers_of_a_value_are_a_list() -> None:
    history = logged("0-:w1 1-:w2 2-:w1 3-:w1 4-:w2 5-:w1 6-:w3")
    for gone in (0, 2, 3, 5):
        left = [row for row in (0, 2, 3, 5) if row != gone]
        made = lists(history)
        assert (listed(made, 1), listed(made, 2)) == ([0, 2, 3, 5], [1, 4])
        unplaced._unlink(gone, 1, *made)
        assert (listed(made, 1), listed(made, 2)) == (left, [1, 4])
        unplaced._link(6, 1, *made)
        assert listed(made, 1) == [*left, 6]
    made = lists(history)
    for gone in (1, 4):
        unplaced._unlink(gone, 2, *made)
    assert listed(made, 2) == []
    unplaced._link(6, 2, *made)
    assert listed(made, 2) == [6]


CHAIN = " ".join(f"{row}-:c{row}>{row + 1}" for row in range(1, 11))
SAME = " ".join(f"{row}-:c{row}>20" for row in range(1, 12))


@pytest.mark.parametrize(
    ("text", "value", "state", "first"),
    [
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 1, 0, 0),
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 2, 1, 1),
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 2, 5, 3),
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 2, 0, 0),
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 3, 0, 0),
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 3, 5, 3),
        ("0-:w1 1-:c1>2 2-:c2>3 3-:c5>2", 4, 0, -1),
        ("0-:c4>1", 1, 0, -1),
        ("0-:x3>1", 1, 3, -1),
        ("0-:x3>1", 1, 0, 0),
        ("0-:w3 1-:x3>1", 1, 3, -1),
        (CHAIN, 10, 2, 1),
        (CHAIN, 11, 2, -1),
        (SAME, 20, 9, 8),
        (SAME, 20, 10, -1),
    ],
)
def test_a_wanted_value_begins_with_its_maker_or_what_that_replaces(
    text: str, value: int, state: int, first: int
) -> None:
    """No more than eight in a row are looked for."""
    history = logged(text)
    head, _, then = lists(history)
    assert unplaced._first_of_chain(value, state, head, then, history.kind, history.a) == first


@pytest.mark.parametrize(
    ("state", "goes", "done", "row"),
    [
        (0, -1, [], 4),
        (0, -1, [4], 2),
        (1, -1, [4], 2),
        (2, -1, [4], 1),
        (2, -1, [1, 4], -1),
        (0, 5, [], 2),
        (0, 5, [2, 4], -1),
        (2, 5, [4], -1),
        (0, 6, [], 4),
        (0, 6, [4], 1),
        (3, -1, [1, 2, 4], 3),
    ],
)
def test_some_other_change_lets_the_log_go_on(
    state: int, goes: int, done: list[int], row: int
) -> None:
    """The last of them that changes the state, and after which what goes next can."""
    history = logged("0-:w1 1-:w1 2-:w2 3-:c3>2 4-:c0>4 5-6:c2>5@1 7-8:x2>6@2")
    gone = np.isin(np.arange(len(history)), [0, *done])
    columns = (history.kind, history.a, history.b)
    assert unplaced._any(state, goes, codes(0, 1, 2, 3, 4, -1), 5, gone, *columns) == row


def test_of_spare_changes_only_so_many_are_looked_at() -> None:
    text = " ".join(f"{row}-:c9>1" for row in range(70))
    history = logged(text)
    columns = (history.kind, history.a, history.b)
    spare = np.arange(70, dtype=np.int32)
    for fits, row in ((6, 6), (5, -1)):
        history.a[:] = 9
        history.a[fits] = 0
        done = np.zeros(70, np.bool_)
        assert unplaced._any(0, -1, spare, 70, done, *columns) == row
        done[60] = True
        assert unplaced._any(0, -1, spare, 70, done, *columns) == (6 if fits == 6 else 5)


@pytest.mark.parametrize(
    ("value", "state", "at", "called", "absent", "later"),
    [
        (3, 0, 0, [1, 1, 1, 0], {}, True),
        (3, 0, 0, [1, 1, 0, 1], {}, False),
        (3, 0, 0, [1, 0, 1, 1], {}, False),
        (3, 0, 0, [0, 1, 1, 1], {}, False),
        (5, 0, 0, [1, 1, 1, 0], {}, False),
        (5, 0, 0, [1, 1, 1, 1], {}, True),
        (5, 0, 0, [1, 1, 1, 1], {4: 1}, False),
        (2, 0, 0, [1, 1, 0, 0], {}, True),
        (2, 0, 0, [1, 1, 0, 0], {2: 1}, False),
        (2, 0, 0, [1, 1, 0, 0], {1: 1}, True),
        (3, 1, 1, [1, 1, 1, 0], {}, True),
        (3, 2, 1, [1, 1, 1, 0], {}, False),
        (5, 4, 4, [1, 1, 1, 1], {}, False),
    ],
)
def test_the_log_may_follow_on_a_value_later(
    value: int, state: int, at: int, called: list[int], absent: dict[int, int], later: bool
) -> None:
    """Where what is called can go on to, and nobody who reads what is replaced is missing."""
    history = logged("0-10:w1@1 1-11:c1>2@2 2-12:c2>3@3 3-13:c3>4@4")
    missing = np.zeros(6, np.int32)
    for each, count in absent.items():
        missing[each] = count
    columns = (history.kind, history.a, history.b)
    rows, come = ints(0, 1, 2, 3), flags(*called)
    for made, needed in ((1, later), (2, later or (value, at) == (2, 0) or 4 in absent)):
        of_all = np.full(6, made)
        found = unplaced._later(value, state, at, rows, come, *columns, missing, of_all)
        assert found == needed


def test_what_only_looks_leaves_the_log_where_it_is() -> None:
    history = logged("0-10:c0>1@1 1-11:r1@1 2-12:c1>2@2")
    columns = (history.kind, history.a, history.b)
    nobody, made = np.zeros(4, np.int32), ints(1, 1, 1, 0)
    for called, later in ((flags(1, 1, 1), True), (flags(1, 1, 0), False)):
        rows = ints(0, 1, 2)
        assert unplaced._later(3, 0, 0, rows, called, *columns, nobody, made) == later


@pytest.mark.parametrize(
    ("state", "at", "waiting", "due", "called", "absent", "made", "needed", "row"),
    [
        (0, 0, [1], -1, [], {}, {}, [], 0),
        (0, 0, [3], -1, [], {}, {}, [], -1),
        (0, 1, [3], -1, [], {}, {}, [], 2),
        (1, 1, [3], -1, [], {}, {}, [], -1),
        (0, 3, [4, 3, 1], -1, [], {}, {}, [], 2),
        (0, 0, [4, 3, 1], -1, [], {}, {}, [], 0),
        (1, 3, [3, 1], -1, [], {}, {}, [], 0),
        (0, 3, [4], -1, [], {}, {}, [], -1),
        (0, 3, [1], -1, [], {0: 1}, {0: 1}, [], -1),
        (0, 3, [1], -1, [], {0: 1}, {0: 2}, [], 0),
        (0, 3, [1], -1, [], {}, {1: 1}, [], -1),
        (0, 3, [1, 3], -1, [], {}, {1: 1}, [], 2),
        (0, 0, [1], -1, [], {}, {}, [1], 0),
        (0, 1, [1], -1, [], {}, {}, [1], -1),
        (0, 1, [1, 3], -1, [], {}, {}, [1], 2),
        (0, 2, [1], -1, [], {}, {}, [1], 0),
        (0, 3, [1], -1, [], {}, {}, [1], -1),
        (0, 3, [1], -1, [], {1: 1}, {}, [], -1),
        (0, 3, [1], 3, [], {1: 1}, {}, [], -1),
        (0, 3, [1, 3], 3, [], {1: 1}, {}, [], 2),
        (0, 0, [1], 1, [5], {1: 1}, {}, [], 0),
        (0, 1, [1], 1, [5], {1: 1}, {}, [], 0),
        (0, 1, [1], 1, [6], {1: 1}, {}, [], -1),
        (0, 1, [1, 3], 1, [6], {1: 1}, {}, [], 2),
        (0, 1, [1], -1, [6], {}, {}, [], 0),
        (0, 1, [3], -1, [6], {2: 1}, {}, [], 2),
        (1, 1, [3], -1, [6], {2: 1}, {}, [], -1),
        (0, 3, [8], -1, [], {6: 1}, {}, [], -1),
    ],
)
def test_a_pending_change_comes_when_somebody_waits_for_it(
    state: int,
    at: int,
    waiting: list[int],
    due: int,
    called: list[int],
    absent: dict[int, int],
    made: dict[int, int],
    needed: list[int],
    row: int,
) -> None:
    """And not before all are there who read it, but where it is due, or fits now and never more."""
    history = logged(
        "0-:w1 1-5:r1 2-:c0>2 3-6:r2 4-7:d0 8-9:c1>3@1 10-11:w4@2 12-13:c1>5@3 14-15:r6 16-:x0>6"
    )
    rows = np.arange(len(history))
    log = rows[5:8]
    head, _, then = lists(history)
    values = range(len(head))
    columns = (log, np.isin(rows, called), history.kind, history.a, history.b)
    readers = codes(*(absent.get(value, 0) for value in values))
    makers = ints(*(made.get(value, 0) for value in values))
    is_needed = np.isin(values, needed)
    found = unplaced._wanted(
        codes(*waiting), due, state, at, *columns, readers, makers, is_needed, head, then
    )
    assert found == row


def test_who_reads_what_the_log_does_not_make() -> None:
    history = logged(
        "0-1:w1@1 2-3:r1 4-5:r1 6-7:d1 8-9:c3>2@2 10-11:r2@2 12-13:r4 14-:w4 15-16:r5@3"
    )
    log, role = ints(0, 4, 5, 8), np.array([0, 1, 1, 1, 0, 0, 1, 2, 0], np.int8)
    made = ints(1, 1, 1, 0, 0, 0)
    absent, is_needed = unplaced._readers(log, role, history.kind, history.a, made)
    assert absent.tolist() == [0, 2, 0, 0, 1, 0]
    assert is_needed.tolist() == [False, False, False, True, False, True]


def queued(text: str) -> list[int] | None:
    """The log's order with what is pending and has no place."""
    history = logged(text)
    assert history.place is not None
    log = np.flatnonzero(history.place >= 0)[np.argsort(history.place[history.place >= 0])]
    order = unplaced.into_queue(history, log, np.flatnonzero(history.place < 0))
    return None if order is None else order.tolist()


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("0-1:e1@1 2-3:q1@2", [0, 1]),
        ("0-:e1 1-2:q1@1", [0, 1]),
        ("0-:e1 1-2:e2@1 3-4:q1@2 5-6:q2@3", [0, 1, 2, 3]),
        ("0-:e1 1-2:e2@1 3-4:q2@2 5-6:q1@3", [1, 2, 0, 3]),
        ("0-:e1 1-:e2 2-3:q1@1 4-5:q2@2", [0, 2, 1, 3]),
        ("0-:e1 1-2:e2@1 3-4:e3@2 5-6:q2@3 7-8:q1@4", [1, 2, 3, 0, 4]),
        ("0-:e1 1-2:e2@1 3-4:e3@2 5-6:q1@3 7-8:q2@4 9-10:q3@5", [0, 1, 2, 3, 4, 5]),
        ("0-1:e1@1 2-3:e2@2 4-:t 5-6:q2@3", [0, 1, 2, 3]),
        ("0-1:e1@1 2-3:e2@2 4-:t", [0, 1]),
        ("0-1:e1@1 2-3:e2@2 4-5:q2@3", None),
        ("0-1:e1@1 2-3:e2@2 4-5:e3@3 6-:t 7-:t 8-9:q3@4", [0, 1, 2, 3, 4, 5]),
        ("0-1:e1@1 2-3:e2@2 4-5:e3@3 6-:t 7-8:q3@4", None),
        ("0-1:e1@1 2-3:e2@2 4-5:e3@3 6-7:q1@4 8-:t 9-10:q3@5", [0, 1, 2, 3, 4, 5]),
        ("0-1:e1@1 2-3:e2@2 4-5:e3@3 6-:t 7-:t 8-9:q2@4", [0, 1, 2, 3, 5]),
        ("0-1:e1 2-3:q1@1", None),
        ("0-:e7 1-2:e1@1 3-4:q1@2", [1, 2]),
        ("0-:e0 1-2:q0@1", [0, 1]),
        ("0-:e3 1-:e2 2-3:q3@1 4-5:q2@2", [0, 2, 1, 3]),
        ("0-:e1 1-:e2 2-3:e3@1 4-5:q1@2 6-7:q2@3 8-9:q3@4", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_pending_changes_have_a_place_in_a_queue(text: str, order: list[int] | None) -> None:
    """As late as the order of the dequeues allows, and only what they show."""
    assert queued(text) == order


def test_looks_are_in_the_lowest_slot_that_fits() -> None:
    """Three operations of the log make 1, 2 and 1; those that look come between them."""
    first_return, last_call, state = ints(10, 20, 30), ints(0, 11, 21), ints(0, 1, 2, 1)

    def slots(looks: Sequence[tuple[int, int, int, bool]]) -> tuple[list[int], int]:
        call, ret = ints(*(each[0] for each in looks)), ints(*(each[1] for each in looks))
        differs = flags(*(each[3] for each in looks))
        wanted = codes(*(each[2] for each in looks))
        order = method.events(call, ret)
        made = method._slots(first_return, last_call, state, order, call, ret, wanted, differs)
        return made[0].tolist(), made[1]

    assert slots([(1, 2, 0, False)]) == ([0], -1)
    assert slots([(1, 2, 1, False)]) == ([1], -1)
    assert slots([(1, 2, 2, False)]) == ([-1], 0)
    assert slots([(1, 12, 2, False)]) == ([2], -1)
    assert slots([(1, 12, 1, True)]) == ([0], -1)
    assert slots([(13, 14, 1, True)]) == ([2], -1)
    assert slots([(13, 22, 1, False)]) == ([1], -1)
    assert slots([(22, 23, 1, False)]) == ([3], -1)
    assert slots([(22, 23, 0, False)]) == ([-1], 0)
    assert slots([(31, 32, 1, False)]) == ([3], -1)
    assert slots([(31, 32, 2, False)]) == ([-1], 0)
    assert slots([(12, 13, 2, False), (14, 15, 1, False)]) == ([2, -1], 1)
    assert slots([(12, 13, 2, False), (14, 22, 1, False)]) == ([2, 3], -1)
    assert slots([(12, 15, 2, False), (14, 16, 1, False)]) == ([2, 1], -1)
    assert slots([(12, 14, 1, False), (13, 16, 2, False), (15, 17, 0, True)]) == ([1, 2, 1], -1)


@pytest.mark.parametrize(
    ("text", "culprit", "involved"),
    [
        ("0-1:w1@2 2-3:w2@1", 0, [0, 1]),
        ("0-1:w1@3 2-3:w2@2 4-5:w3@1", 0, [0, 2]),
        ("0-9:w1@3 1-2:w2@2 3-4:w3@1", 1, [1, 2]),
        ("0-1:w1@1 2-3:c2>3@2", 1, [0, 1]),
        ("0-1:w1@1 2-3:r1@1 4-5:c2>3@2", 2, [0, 2]),
        ("0-1:c2>3@1", 0, [0]),
        ("0-1:w1@1 2-3:w2@2 4-5:r1 6-7:w3@3", 2, [1, 2, 3]),
        ("0-1:w1@1 2-9:w2@2 3-4:r2 5-6:r1 10-11:w3@3", 3, [0, 1, 2, 3, 4]),
        ("0-1:e1@1 2-3:e2@2 4-5:q2@3", 2, [0, 2]),
        ("0-1:e1@1 2-3:e2@2 4-5:q1@3 6-7:q1@4", 3, [1, 3]),
        ("0-1:e1@1 2-3:z", 1, [0, 1]),
        ("0-1:w1@1 2-3:r5 4-:w5", 1, [0, 1]),
        ("0-1:s1@1 2-3:s0@2", 0, [0]),
        ("0-1:s0@1 2-3:l2 4-5:s1@2", 1, [0, 1, 2]),
        ("0-:s0@1 1-:s0@2", 1, [0, 1]),
        ("0-1:s0@1 2-3:s1@2 4-5:s1@3", 2, [1, 2]),
        ("0-5:w2@1 1-4:c2>1@3 2-3:c2>1@2", 1, [1, 2]),
        ("0-1:e1@1 2-9:e4@2 3-12:e5@4 4-7:z 5-6:q1@3 8-:t@6 10-11:q4@5", 3, [0, 3, 6]),
        ("0-1:w3@1 2-3:d3 4-5:r3", 1, [0, 1]),
        ("0-2:q1@1 1-:e1@3 3-:e7 4-5:e6@2", 0, [0]),
        ("0-1:e3@2 2-3:e4@1 4-5:e5@3", 0, [0, 1]),
    ],
)
def test_what_contradicts_the_log(text: str, culprit: int, involved: list[int]) -> None:
    decision = log_order(logged(text), Budget())
    assert decision is not None and decision.verdict is Verdict.INVALID
    assert (decision.culprit, decision.involved) == (culprit, involved)


@pytest.mark.parametrize(
    "text",
    [
        "0-1:w1 2-3:w2",
        "0-1:w1@1 2-3:w2@1",
        "0-1:w1@1 2-3:r5 4-5:w5",
        "0-:w5 1-2:w1@1 3-4:c2>3@2",
        "0-1:s0@1 2-5:s0@2 3-4:l3",
        "0-1:e3 2-3:e3@1",
        "0-4:c0>2 1-:x3>0 2-3:x1>1@1",
        "0-:s0@1 1-:s1@2 2-3:s1",
        "0-:w3 1-2:c3>0 3-:c0>1 4-:c1>1@1 5-:c1>3 6-7:c3>2@2",
        "0-:c3>2@1 1-2:x3>2@2 3-:w1",
        "0-1:w0 2-3:c0>1@1 4-5:c0>0@2",
        "0-:e5 1-2:q3@1",
        "0-1:e1@1 2-:t 3-4:e6",
        "0-1:e1@1 2-3:z 4-:t 5-6:e5@2",
    ],
)
def test_where_the_log_does_not_tell(text: str) -> None:
    assert log_order(logged(text), Budget()) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-1:w1@1 2-3:r1@1 4-5:w2@2", [0, 1, 2]),
        ("0-:w1@1 1-:c0>2 2-4:r2 3-:w2 5-:c2>3", [1, 2, 0]),
        ("0-:w1 1-:x0>0 2-3:w1@1 4-:w2 5-6:c1>2@2 7-9:d2 8-:w0 10-:w0 11-12:w3@3", [2, 4, 6, 5, 8]),
        ("0-1:r0@1 2-3:c0>2 4-:w4 5-6:w4@2 7-:x3>2", [0, 1, 3]),
        ("0-:t 1-2:e1@1 3-4:q1@2 5-:e4 6-7:q4@3", [1, 2, 3, 4]),
        ("0-:s0@1 1-:s0 2-:s0 3-6:s1@2 4-5:s1 7-8:l5", [0, 3, 1, 4, 2, 5]),
        ("0-1:s0@1 2-3:s1@2 4-5:l2", [0, 1, 2]),
        ("0-:t 1-6:e5@1 2-5:q3@3 3-4:e3@2 7-8:e8@4", [1, 3, 0, 2, 4]),
        ("0-7:c2>0@2 1-3:w2@1 2-5:r2 4-6:r0 8-10:r1 9-:w1", [1, 2, 0, 3, 5, 4]),
        ("0-4:c0>1@1 1-6:c2>0@3 2-3:c1>2@2 5-9:c0>1@4 7-8:r0", [0, 2, 1, 4, 3]),
        ("0-:x3>1 1-3:x0>0@1 2-4:w1@2", [0, 1, 2]),
        ("0-:s1 1-3:l3 2-5:s0@1 4-6:s0@2", [2, 1, 0, 3]),
        ("0-1:x1>3@1 2-:x3>3 3-4:w2@2 5-6:r3", [0, 2, 1, 3]),
        ("0-2:c1>3 1-:x2>1@1", [1, 0]),
        ("0-5:l2 1-4:s0@1 2-3:l2", [0, 2, 1]),
        ("0-:w1 1-2:w1 3-4:c1>1@1", [0, 1, 2]),
        ("0-1:e2@1 2-:e3 3-8:q2@2 4-5:e4@3 6-7:q3@4 9-10:q4@5", [0, 2, 1, 3, 4, 5]),
        ("0-:e6@1 1-2:z", [1, 0]),
        ("0-2:e1@1 1-3:e2@2 4-:t 5-6:q2@3", [0, 1, 2, 3]),
        ("0-:w2 1-:c0>3@1 2-3:d0 4-5:d1 6-7:r2", [1, 2, 3, 0, 4]),
    ],
)
def test_changes_without_a_place_come_where_something_shows_them(
    text: str, expected: list[int]
) -> None:
    history = logged(text)
    decision = log_order(history, Budget())
    assert decision is not None and decision.order is not None
    assert decision.order.tolist() == expected
    assert is_legal_order(history, decision.order)


def test_without_operations_or_places() -> None:
    history = logged("0-1:w1@1 2-3:r1")
    assert log_order(replace(history, place=None), Budget()) is None
    assert log_order(history.take(np.arange(0)), Budget()) is None


@pytest.mark.parametrize(("every", "done"), [(1, 0), (2, 1), (3, 2), (4, None)])
def test_a_model_asks_for_the_time_now_and_then(
    monkeypatch: pytest.MonkeyPatch, every: int, done: int | None
) -> None:
    monkeypatch.setattr(model, "_ASK_EVERY", every)
    history = logged("0-1:s0@1 2-3:s1@2 4-5:s0@3")
    late, early = log_order(history, Budget(0.0)), log_order(history, Budget(0.9))
    assert early is not None and early.verdict is Verdict.VALID
    assert late is not None and late.verdict is (Verdict.VALID if done is None else Verdict.UNKNOWN)
    assert late.note == ("" if done is None else f"log order: {done} of 3 operations")


@pytest.mark.parametrize(
    ("text", "row", "then", "helps"),
    [
        ("0-:s0 1-2:s1@1", 0, 1, True),
        ("0-:s0 1-2:s0@1", 0, 1, False),
        ("0-:s0", 0, 1, False),
        ("0-1:s0", 0, 1, True),
        ("0-9:s0 1-8:l2", 0, 1, False),
        ("0-9:s0 1-8:l3", 0, 1, True),
        ("0-:s0 1-:s1", 0, 1, False),
        ("0-:s0 1-8:s1", 0, 1, True),
        ("0-:s0 1-8:s0", 0, 1, False),
        ("0-9:s0 1-8:s0@1", 0, 1, False),
        ("0-9:s0 1-8:s1@1", 0, 1, True),
    ],
)
def test_what_a_change_without_a_place_helps(text: str, row: int, then: int, helps: bool) -> None:
    """The log goes on, it is due itself, or another that returns can come."""
    history = logged(text)
    assert history.place is not None
    log, others = np.flatnonzero(history.place >= 0), history.place < 0
    sees = history.kind == Kind.LOOK
    walk = model._Walk(history, log, np.flatnonzero(others & sees), np.flatnonzero(others & ~sees))
    walk.waiting = np.flatnonzero(others).tolist()
    assert walk._helps(row, then) == helps
