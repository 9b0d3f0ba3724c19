"""Passes over sorted rows find what their definitions say."""

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from checkers.logs.log import NEVER
from checkers.logs.passes import (
    latest_before,
    positions_at,
    stale_answers,
    suffix_minimum,
)


def randoms() -> Iterator[Random]:
    return map(Random, range(300))


def spans(random: Random) -> list[tuple[int, int]]:
    """When operations began and ended, by rising begin; some never did."""
    begun = [random.random() for _ in range(random.randint(0, 9))]
    ended = [each + random.uniform(0, 0.5) for each in begun]
    index = {moment: at for at, moment in enumerate(sorted(begun + ended))}
    return sorted(
        (index[begin], int(NEVER) if random.random() < 0.1 else index[end])
        for begin, end in zip(begun, ended, strict=True)
    )


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def test_latest_before() -> None:
    for random in randoms():
        times = spans(random)
        count = len(times)
        group, worth = (random.choices(range(3), k=count) for _ in range(2))
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


def test_suffix_minimum_and_positions() -> None:
    for random in randoms():
        parts = [random.choices(range(6), k=random.randint(0, 4)) for _ in range(4)]
        begin = np.cumsum([0, *map(len, parts)])
        least = ints([each for part in parts for each in part])
        suffix_minimum(least, begin)
        assert least.tolist() == [min(part[n:]) for part in parts for n in range(len(part))]

        offset = random.randint(-1, 6)
        ordered = [sorted(set(part)) for part in parts]
        begin = np.cumsum([0, *map(len, ordered)])
        flat = ints([each for part in ordered for each in part])
        found = positions_at(begin, flat, np.arange(4), np.full(4, offset))
        within = [sum(each < offset for each in part) for part in ordered]
        assert found.tolist() == [int(begin[n]) + within[n] for n in range(4)]


Row = tuple[int, int, int, int, bool, bool, int]
"""Of a register: group, begin, end, until when it was written, ok, whether it asks, value."""


def registers(random: Random) -> list[Row]:
    rows: list[Row] = []
    for begin, end in spans(random):
        asks, done = random.random() < 0.5, end != NEVER
        ok = done and random.random() < 0.75
        until = end if ok else int(NEVER)
        if done or not asks:
            group, value = random.choice((0, 0, 1)), random.randrange(3)
            rows.append((group, begin, end, until, ok, asks, value))
    return sorted(rows)


def stale(rows: list[Row]) -> list[int]:
    count = len(rows)
    group, op, end, until, ok, asks, value = (
        (list(each) for each in zip(*rows, strict=True)) if rows else ([] for _ in range(7))
    )
    moments = [(group[n], op[n], n, True) for n in range(count)]
    moments += [(group[n], end[n], n, False) for n in range(count) if end[n] != NEVER]
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
    return [int(each) for each in found]


def overwriter(rows: list[Row], row: int) -> int:
    """As the definition says."""
    group, op, end, _, _, asks, value = rows[row]
    if not asks:
        return -1
    writes = [n for n, each in enumerate(rows) if each[0] == group and not each[5]]
    over = [n for n in writes if rows[n][4] and rows[n][2] < op]
    by = max(over, key=lambda n: rows[n][1], default=-1)
    same = [rows[n] for n in writes if rows[n][6] == value and rows[n][1] < end]
    return by if by >= 0 and not any(each[3] >= rows[by][1] for each in same) else -1


def test_stale_answers() -> None:
    """A question is told what some write, begun before the answer, may have left there after the
    last overwriter had begun that was over before the question."""
    reported = 0
    for random in randoms():
        rows = registers(random)
        found = stale(rows)
        assert found == [overwriter(rows, row) for row in range(len(rows))]
        reported += sum(each >= 0 for each in found)
    assert reported > 20


@pytest.mark.parametrize(("lasts", "told"), [(3, 2), (9, -1)])
def test_a_value_is_there_as_long_as_the_longest_of_its_writes(lasts: int, told: int) -> None:
    """Of two writes of 0 the first `lasts`, whichever ends later; a write of 1 is over before the
    question."""
    rows: list[Row] = [
        (0, 0, lasts, lasts, True, False, 0),
        (0, 1, 2, 2, True, False, 0),
        (0, 4, 5, 5, True, False, 1),
        (0, 6, 7, 7, True, True, 0),
    ]
    assert stale(rows) == [-1, -1, -1, told]
