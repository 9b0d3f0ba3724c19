"""Thinning: few are left as they are; of many nothing that can be seen is lost."""

import random

from test_report_figures import operation

from framework.history.pairing import Operation
from framework.report.thinning import MAX_BARS, MAX_POINTS, bars, columns, points


def row(op: Operation) -> int:
    return int(op.process)


def many(count: int, apart_s: float, **more: object) -> list[Operation]:
    return [operation(2 * i, i * apart_s, i * apart_s + 0.001, **more) for i in range(count)]


def test_few_have_a_bar_each_however_close() -> None:
    found = bars(many(MAX_BARS, 0.0001), row, 600.0)
    assert [bar.count for bar in found] == [1] * MAX_BARS


def test_many_that_are_close_are_one_bar() -> None:
    operations = many(MAX_BARS + 1, 0.002)
    (bar,) = bars(operations, row, 600.0)
    assert bar.count == len(operations)
    assert bar.from_s == 0.0
    assert bar.to_s == MAX_BARS * 0.002 + 0.001
    assert bar.first.index == 0


def test_rows_outcomes_and_wide_gaps_stay_apart() -> None:
    block = many(MAX_BARS, 0.002)
    others = [
        operation(90_000, 1.0, 1.001, process=1),
        operation(90_002, 1.0, 1.001, type="fail"),
        operation(90_004, 300.0, 300.001),
    ]
    found = bars([*block, *others], row, 600.0)
    assert sorted((bar.row, bar.outcome, bar.from_s, bar.count) for bar in found) == [
        (0, "fail", 1.0, 1),
        (0, "ok", 0.0, MAX_BARS),
        (0, "ok", 300.0, 1),
        (1, "ok", 1.0, 1),
    ]


def test_bars_are_never_too_many_and_every_operation_is_under_one() -> None:
    rng = random.Random(4)
    operations = [
        operation(2 * i, (at := rng.uniform(0, 600)), at + 0.01, process=rng.randrange(12))
        for i in range(20_000)
    ]
    found = bars(operations, row, 600.0)
    assert len(found) <= MAX_BARS
    assert sum(bar.count for bar in found) == len(operations)
    for op in operations[::97]:
        at_s = (op.invoked_ns or 0) / 1e9
        assert any(bar.row == row(op) and bar.from_s <= at_s <= bar.to_s for bar in found)


def test_longer_operation_within_a_bar_ends_it() -> None:
    operations = [operation(0, 0.0, 9.0), *many(MAX_BARS, 0.001)]
    (bar,) = bars(operations, row, 600.0)
    assert bar.to_s == 9.0


def test_few_points_are_all_there_but_for_those_that_never_completed() -> None:
    operations = [operation(0, 1.0, 1.5), operation(2, 1.0, None, type="info")]
    assert points(operations, 60.0) == operations[:1]


def test_points_at_one_place_are_one_by_kind_and_outcome() -> None:
    operations = many(3 * MAX_POINTS, 0.000001)
    operations += many(3, 0.000001, type="fail") + many(3, 0.000001, f="delete")
    operations.append(operation(99_999, 0.0, 30.0))
    found = points(operations, 600.0)
    assert len(found) < 20
    assert {(op.f, op.type) for op in found} == {
        ("create", "ok"),
        ("create", "fail"),
        ("delete", "ok"),
    }
    assert 99_999 in {op.index for op in found}


def test_points_are_never_too_many() -> None:
    rng = random.Random(5)
    operations = [
        operation(2 * i, (at := rng.uniform(0, 600)), at + rng.lognormvariate(-4, 2))
        for i in range(30_000)
    ]
    assert MAX_POINTS / 3 < len(points(operations, 600.0)) <= MAX_POINTS


def test_columns_hold_every_operation() -> None:
    operations = [
        operation(4, 1.0, 1.25, process=3),
        operation(6, 2.0, None, type="info", f="delete"),
        operation(8, 3.0, 3.5, type="fail"),
    ]
    assert columns(operations, row, {"create": 0, "delete": 1}) == {
        "start": [1_000_000, 1_000_000, 1_000_000],
        "took": [250_000, 0, 500_000],
        "row": [3, 0, 0],
        "outcome": [0, 2, 1],
        "f": [0, 1, 0],
        "completed": [1, 0, 1],
        "index": [4, 2, 2],
        "names": ["create", "delete"],
    }
