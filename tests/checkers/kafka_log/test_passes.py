"""Passes over sorted rows find what their definitions say."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.kafka_log.log import NEVER
from checkers.kafka_log.passes import (
    latest_before,
    positions_at,
    stale_answers,
    suffix_minimum,
)


@st.composite
def spans(draw: st.DrawFn) -> list[tuple[int, int]]:
    """When operations began and ended, by rising begin; some never did."""
    count = draw(st.integers(0, 7))
    moments = draw(st.permutations([*range(count), *range(count)]))
    found: dict[int, list[int]] = {}
    for index, number in enumerate(moments):
        found.setdefault(number, []).append(index)
    pending = draw(st.sets(st.integers(0, 6), max_size=2))
    return sorted(
        (begin, int(NEVER) if number in pending else end) for number, (begin, end) in found.items()
    )


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@settings(deadline=None)
@given(spans(), st.data())
def test_latest_before(times: list[tuple[int, int]], data: st.DataObject) -> None:
    count = len(times)
    lists = st.lists(st.integers(0, 2), min_size=count, max_size=count)
    group, worth = data.draw(lists), data.draw(lists)
    op, end = ([each[n] for each in times] for n in (0, 1))
    found = latest_before(
        ints(group),
        ints(op),
        ints(end),
        ints(worth),
        np.lexsort((op, group)),
        np.lexsort((end, group)),
    )
    for row in range(count):
        before = [n for n in range(count) if group[n] == group[row] and end[n] < op[row]]
        best = min(before, key=lambda n: (-worth[n], end[n]), default=-1)
        assert found[row] == best


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=4), st.integers(-1, 6))
def test_suffix_minimum_and_positions(parts: list[list[int]], offset: int) -> None:
    begin = np.cumsum([0, *map(len, parts)])
    least = ints([each for part in parts for each in part])
    suffix_minimum(least, begin)
    assert least.tolist() == [min(part[n:]) for part in parts for n in range(len(part))]

    ordered = [sorted(set(part)) for part in parts]
    begin = np.cumsum([0, *map(len, ordered)])
    which = np.arange(len(parts))
    flat = ints([each for part in ordered for each in part])
    found = positions_at(begin, flat, which, np.full(len(parts), offset))
    within = [sum(each < offset for each in part) for part in ordered]
    assert found.tolist() == [int(begin[n]) + within[n] for n in which]


@settings(deadline=None, max_examples=200)
@given(spans(), st.data())
def test_stale_answers(times: list[tuple[int, int]], data: st.DataObject) -> None:
    """A question is told what some write, begun before the answer, may have left there after the
    last overwriter had begun that was over before the question."""
    rows = []
    for begin, end in times:
        asks, done = data.draw(st.booleans()), end != NEVER
        ok = done and data.draw(st.integers(0, 3)) > 0
        until = end if ok else int(NEVER)
        group, value = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 2))
        if done or not asks:
            rows.append((group, begin, end, until, ok, asks, value))
    rows.sort()
    group, op, end, until, ok, asks, value = (
        (list(each) for each in zip(*rows, strict=True)) if rows else ([] for _ in range(7))
    )
    count = len(rows)
    moments = sorted((group[n], op[n], n, True) for n in range(count))
    moments += sorted((group[n], end[n], n, False) for n in range(count) if end[n] != NEVER)
    moments.sort()
    found = stale_answers(
        ints(group),
        ints(op),
        ints(until),
        np.array(ok, np.bool_),
        np.array(asks, np.bool_),
        ints(value),
        ints([each[2] for each in moments]),
        np.array([each[3] for each in moments], np.bool_),
    )
    for row in range(count):
        wanted = -1
        if asks[row]:
            writes = [n for n in range(count) if group[n] == group[row] and not asks[n]]
            over = [n for n in writes if ok[n] and end[n] < op[row]]
            by = max(over, key=lambda n: op[n], default=-1)
            same = [n for n in writes if value[n] == value[row] and op[n] < end[row]]
            if by >= 0 and not any(until[n] >= op[by] for n in same):
                wanted = by
        assert found[row] == wanted
