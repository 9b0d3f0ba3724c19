"""Compiling a method before it is asked: by small histories of every kind.

Kernels become machine code when they are first called, which takes seconds each; the code is kept
on disk (`framework/compiled.py`), so that this happens once a machine. A check that finds none
compiles what it needs; that time does not count as the budget of a key.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from time import monotonic
from typing import Final

import numpy as np

from checkers.linearizability.coded import NEVER, NOWHERE, Coded, Kind
from checkers.linearizability.decision import Budget, Method
from checkers.linearizability.encoding.transitions import queue_steps

_CELLS: Final = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)
_REGISTER: Final = _CELLS[:4]
_QUEUE: Final = (Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE)
_SAMPLE_S: Final = 120.0
"""What a method gets for one sample; it is far more than all but compiling takes."""


def ready(method: Method) -> float:
    """Sees to it that a method is compiled; the seconds that it took, 0 but for the first time."""
    began = monotonic()
    _rehearse(method)
    return monotonic() - began


@cache
def _rehearse(method: Method) -> None:
    for coded in samples():
        method(coded, Budget(_SAMPLE_S))


@cache
def samples() -> Sequence[Coded]:
    """Small histories of every kind: with and without an order, pending operations, places."""
    return list(_samples(random.Random(1)))


def _samples(rng: random.Random) -> Iterator[Coded]:
    for kinds, values in ((_REGISTER, 3), (_REGISTER, 0), (_CELLS, 3), (_CELLS, 1)):
        for lies in (0.0, 0.3):
            yield _cell(rng, 40, kinds, values, lies)
    for distinct in (True, False):
        queue = _queue(rng, 30, distinct)
        yield queue
        yield queue_steps(queue)


def _cell(rng: random.Random, count: int, kinds: Sequence[Kind], values: int, lies: float) -> Coded:
    """A history of a run in the order of the calls. `values` 0: each is written once."""
    kind, a, b = [], [], []
    state = 0
    for number in range(1, count + 1):
        what = rng.choice(kinds)
        seen = rng.randint(0, values or number) if rng.random() < lies else state
        written = rng.randint(0, values) if values else number
        kind.append(what)
        if what == Kind.WRITE:
            a.append(-1)
        else:
            a.append(seen if what in (Kind.READ, Kind.CAS) else seen + 1)
        b.append(-1 if what in (Kind.READ, Kind.DIFFERS) else written)
        state = state if b[-1] < 0 else written
    return _timed(rng, kind, a, b)


def _queue(rng: random.Random, count: int, distinct: bool) -> Coded:
    kind, a, b = [], [], []
    content: list[int] = []
    for number in range(1, count + 1):
        what = rng.choice(_QUEUE)
        if what == Kind.DEQUEUE and not content:
            what = Kind.EMPTY
        if what == Kind.ENQUEUE:
            content.append(number if distinct else rng.randint(1, 3))
        kind.append(what)
        b.append(content[-1] if what == Kind.ENQUEUE else -1)
        a.append(content.pop(0) if what == Kind.DEQUEUE else -1)
    return _timed(rng, kind, a, b)


def _timed(rng: random.Random, kind: Sequence[int], a: Sequence[int], b: Sequence[int]) -> Coded:
    """Every operation overlaps some of those after it; some changes never return."""
    events = []
    for row, each in enumerate(kind):
        events.append((row + 0.5 * rng.random(), row, False))
        pending = each == Kind.TAKE or (
            each in (Kind.WRITE, Kind.CAS, Kind.CHANGE, Kind.ENQUEUE) and rng.random() < 0.15
        )
        if not pending:
            events.append((row + 0.5 + 3 * rng.random(), row, True))
    call = np.zeros(len(kind), dtype=np.int64)
    ret = np.full(len(kind), NEVER, dtype=np.int64)
    for index, (_, row, returns) in enumerate(sorted(events)):
        (ret if returns else call)[row] = index
    place = np.where(ret == NEVER, NOWHERE, np.arange(len(kind)))
    return Coded(
        call,
        ret,
        np.array(kind, dtype=np.int8),
        np.array(a, dtype=np.int32),
        np.array(b, dtype=np.int32),
        0,
        [str(value) for value in range(len(kind) + 2)],
        place.astype(np.int64),
    )
