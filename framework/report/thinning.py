"""What of very many operations can be seen at once. Pure.

The page draws what is here, and carries `columns` of all operations: where few enough are in view,
it draws each of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from typing import Final, TypedDict

from framework.history.pairing import Operation
from framework.report.answers import OUTCOMES
from framework.report.data import NS

MAX_BARS: Final = 2500
"""Bars of an outcome."""
MAX_POINTS: Final = 4000
WIDTH_PX: Final = 1200
"""A wide plot."""
_COARSER: Final = 1.5
_DECADE_PX: Final = 80
"""Height of a power of ten, about, in the figure of latencies."""


@dataclass(slots=True)
class Bar:
    """Operations of a row with the same outcome, closer than can be told apart."""

    row: int
    outcome: str
    from_s: float
    to_s: float
    first: Operation
    count: int = 1


class Columns(TypedDict):
    """All operations that the page has, a place each in every list."""

    start: list[int]
    """Invocations, microseconds, each since the one before it: small numbers take little room."""
    took: list[int]
    """From there to completion, microseconds; 0 of what never completed."""
    row: list[int]
    outcome: list[int]
    """Places in `OUTCOMES`."""
    f: list[int]
    """Places in `names`."""
    completed: list[int]
    """1: it completed; 0: it never did."""
    index: list[int]
    """Each since the one before it."""
    names: list[str]


def start_s(op: Operation) -> float:
    return (op.invoked_ns or 0) / NS


def end_s(op: Operation) -> float:
    """Completion in s; of an operation that never completed, its invocation: what follows is
    its tail."""
    if op.completed_ns is None:
        return start_s(op)
    return max(op.completed_ns / NS, start_s(op))


def bars(
    operations: Sequence[Operation], row_of: Callable[[Operation], int], length_s: float
) -> list[Bar]:
    """A bar an operation, but for those of one row and outcome that are less than a pixel apart;
    where that is still more than `MAX_BARS`, less than a few pixels."""
    ordered = sorted(operations, key=start_s)
    apart_s = length_s / WIDTH_PX if len(ordered) > MAX_BARS else float("-inf")
    while True:
        found = _merged(ordered, row_of, apart_s)
        if len(found) <= MAX_BARS or apart_s > length_s:
            return found
        apart_s *= _COARSER


def _merged(
    ordered: Iterable[Operation], row_of: Callable[[Operation], int], apart_s: float
) -> list[Bar]:
    found: list[Bar] = []
    last: dict[tuple[int, str], Bar] = {}
    for op in ordered:
        lane = (row_of(op), op.type)
        bar = last.get(lane)
        if bar is not None and start_s(op) - bar.to_s < apart_s:
            bar.to_s = max(bar.to_s, end_s(op))
            bar.count += 1
            continue
        last[lane] = Bar(*lane, start_s(op), end_s(op), op)
        found.append(last[lane])
    return found


def points(operations: Sequence[Operation], length_s: float) -> list[Operation]:
    """Completed operations, of those at one place of the figure of latencies the first of each
    kind and outcome."""
    completed = [op for op in operations if op.completed_ns is not None]
    size_px = 1.0
    found = completed
    while len(found) > MAX_POINTS and size_px < WIDTH_PX:
        seen: dict[tuple[str, str, int, int], Operation] = {}
        for op in completed:
            x = int(start_s(op) / length_s * WIDTH_PX / size_px)
            y = int(log10(max(end_s(op) - start_s(op), 1e-6)) * _DECADE_PX // size_px)
            seen.setdefault((op.f, op.type, x, y), op)
        found = list(seen.values())
        size_px *= _COARSER
    return found


def columns(
    operations: Iterable[Operation],
    row_of: Callable[[Operation], int],
    names: Mapping[str, int],
) -> Columns:
    """`names`: the place of each operation's f."""
    ops = list(operations)
    starts = [round(start_s(op) * 1e6) for op in ops]
    return {
        "start": _since(starts),
        "took": [round(end_s(op) * 1e6) - start for op, start in zip(ops, starts, strict=True)],
        "row": [row_of(op) for op in ops],
        "outcome": [OUTCOMES.index(op.type) if op.type in OUTCOMES else 2 for op in ops],
        "f": [names[op.f] for op in ops],
        "completed": [int(op.completed_ns is not None) for op in ops],
        "index": _since([op.index for op in ops]),
        "names": list(names),
    }


def _since(numbers: Iterable[int]) -> list[int]:
    """Each minus the one before it."""
    return [number - before for before, number in pairwise([0, *numbers])]
