"""Suspects: how long windows learn of each other, who is suspected then, and what of a history is
theirs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_cycles import Txn, table

from checkers.logs.cycles_spread import Suspects, parts_among, suspects
from checkers.logs.cycles_windows import PASSED, PROVEN, SEEN, SPAN, SUSPECT, Passed
from checkers.logs.rows import INFO

Row = tuple[int, int, int, int, int]
"""(run, what, x, y, z)."""


def seen(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SEEN.names, row, strict=True)) for row in rows], SEEN)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclass
class Windows:
    """That show other things each time that they are visited; then the last again."""

    shown: Sequence[pa.Table]
    known: list[dict[tuple[int, int], int]] = field(default_factory=list)
    """What they were told of each other, at each visit."""

    def visit(self, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
        passed = Passed.of(SEEN.empty_table()) if not self.known else see.keywords["passed"]  # type: ignore[attr-defined]
        run, index, potential = (getattr(passed, each) for each in ("run", "index", "potential"))
        rows = zip(run.tolist(), index.tolist(), potential.tolist(), strict=True)
        self.known.append({(run, index): potential for run, index, potential in rows})
        return self.shown[min(len(self.known), len(self.shown)) - 1]


SHOWN = (SUSPECT, 3, 3, 3)
LEARNT = [
    seen((0, PASSED, 5, 9, 7), (0, *SHOWN), (1, PASSED, 5, 6, 8)),
    seen((0, PASSED, 5, 11, 7), (0, *SHOWN), (1, PASSED, 5, 6, 8)),
]


@pytest.mark.parametrize(
    ("rounds", "visits", "spans"),
    [
        (1, 1, [(0, SPAN, 7, 9, 9), (1, SPAN, 8, 6, 6)]),
        (2, 2, [(0, SPAN, 7, 11, 11)]),
        (3, 3, []),
        (9, 3, []),
    ],
)
def test_windows_learn_until_they_know_all(rounds: int, visits: int, spans: list[Row]) -> None:
    """What they could not tell any more is a span."""
    windows = Windows(LEARNT)
    found = suspects(windows, rounds)
    assert found.to_pylist() == seen((0, *SHOWN), *spans).to_pylist()
    assert windows.known == [{}, {(0, 5): 9, (1, 5): 6}, {(0, 5): 11, (1, 5): 6}][:visits]


def test_windows_that_tell_nothing_are_visited_once() -> None:
    windows = Windows([seen((0, *SHOWN))])
    assert suspects(windows).to_pylist() == seen((0, *SHOWN)).to_pylist()
    assert windows.known == [{}]


def test_suspects_are_of_one_run() -> None:
    ops = [(0, SUSPECT, each, 0, 0) for each in (7, 4, 7)]
    ops += [(0, PROVEN, each, 0, 0) for each in (6, 6, 2, 3)]
    spans = [(0, SPAN, low, high, high) for low, high in ((2, 5), (1, 3), (8, 9))]
    found = Suspects.of(seen(*ops, *spans, (12, PASSED, 1, 2, 3), (12, PROVEN, 1, 1, 1)))
    assert {run: shown(each) for run, each in found.items()} == {
        "0": ([4, 7], [1, 8], [5, 9], 3),
        "12": ([], [], [], 1),
    }


def shown(one: Suspects) -> tuple[Any, ...]:
    return one.indices.tolist(), one.low.tolist(), one.high.tolist(), one.proven


def test_there_are_suspects_by_themselves_and_in_spans() -> None:
    none, some = ints(), ints(1)
    assert Suspects(some, none, none, 0).any and Suspects(none, some, some, 0).any
    assert not Suspects(none, none, none, 3).any


def test_who_was_under_way_in_a_span_is_suspected() -> None:
    found = Suspects(ints(20), ints(3, 10), ints(5, 12), 0)
    cases = {
        (0, 2): False,
        (0, 3): True,
        (4, 4): True,
        (5, 30): True,
        (6, 9): False,
        (6, 10): True,
        (12, 13): True,
        (13, 40): False,
        (20, 21): True,
    }
    index, end = (ints(*each) for each in zip(*cases, strict=True))
    assert found.among(index, end).tolist() == list(cases.values())
    alone = Suspects(ints(6), ints(), ints(), 0)
    assert alone.among(index, end).tolist() == [each[0] == 6 for each in cases]


def test_what_is_of_suspects_is_taken_from_the_rows() -> None:
    """Of each run by its own; operations of those who may do several things at once are kept."""

    def txn(index: int, end: int, client: str, *polls: tuple[str, int], type_: int = 0) -> Txn:
        return Txn(index, end, client, ((f"k{index}", 0),), polls, type_)

    txns = [
        txn(0, 1, "process 0"),
        txn(2, 3, "process 1", ("k0", 0)),
        txn(4, 5, "process 2", ("k2", 0)),
        txn(6, 7, "consumer a", ("k2", 0)),
        txn(8, 9, "process 3", type_=INFO),
        txn(10, 11, "process 4", ("k8", 0), ("k4", 0)),
    ]
    rows = pa.concat_tables([table(txns, run) for run in ("0", "1")]).unify_dictionaries()
    given = {
        "0": Suspects(ints(0, 2), ints(), ints(), 0),
        "1": Suspects(ints(4, 10), ints(20), ints(30), 0),
        "2": Suspects(ints(6), ints(), ints(), 0),
    }
    edges, vertices = parts_among(rows, given)
    of = {(row["run"], row["index"]) for row in vertices.to_pylist()}
    # That of unknown outcome may have taken effect as late as in the span.
    assert of == {("0", 0), ("0", 2), ("0", 6), ("1", 4), ("1", 6), ("1", 8), ("1", 10)}
    between = {(row["run"], row["a"], row["b"]) for row in edges.to_pylist()}
    assert between == {("0", 0, 2), ("1", 4, 10), ("1", 8, 10), ("1", 8, 8)}
