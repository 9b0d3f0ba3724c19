"""Small histories of every kind: what goes through a method once has compiled it.

Kernels become machine code when they are first called, which takes seconds each; the code is kept
on disk (`framework/compiled.py`), so that this happens once a machine. `checkers/precompile.py`
does it ahead.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.linearizability.decision import Budget, Decide
from checkers.linearizability.encoded import NEVER, NOWHERE, EncodedHistory, Kind
from checkers.linearizability.encoding.transitions import queue_steps
from checkers.linearizability.methods.grow_only import SetHistory, grow_only
from framework.checking.columns import Columns
from framework.checking.runs import add_operation
from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.plugins.outcomes import ABSENT, PRESENT

_CELLS: Final = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)
_REGISTER: Final = _CELLS[:4]
_QUEUE: Final = (Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE)
_TOPIC_OPERATIONS: Final = 40
_LIVES: Final = ((40, 40, True), (40, 0, True), (20, 20, True), (40, 0, False))
"""Of each name: until when it is created, from when on it is deleted, whether the log says so."""
_SAMPLE_S: Final = 120.0
"""What a method gets for one sample; it is far more than any takes."""


def precompile(method: Decide) -> None:
    """Sees to it that a method is compiled."""
    for encoded in samples():
        method(encoded, Budget(_SAMPLE_S))


def sets() -> None:
    """Sees to it that what decides sets that grow is compiled."""
    numbers = np.arange(2)
    elements = numbers.astype(np.int32)
    grow_only(
        SetHistory(
            add_call=numbers,
            add_ret=numbers + 2,
            add_element=elements,
            read_call=numbers + 4,
            read_ret=numbers + 6,
            offsets=np.array([0, 1, 3]),
            elements=np.array([0, 0, 1], dtype=np.int32),
        )
    )


def topics() -> pa.Table:
    """Operations of topics as a run has them: `OPERATIONS`. All is in order. With names that are
    deleted never, again and again, and once."""
    rng = random.Random(1)
    columns = Columns(OPERATIONS)
    for name, (creates_until, deletes_from, placed) in enumerate(_LIVES):
        creates, deletes = range(creates_until), range(deletes_from, _TOPIC_OPERATIONS)
        for operation in _topic(rng, f"t{name}", creates, deletes, placed=placed):
            add_operation(columns, "", operation)
    return columns.table()


def _topic(
    rng: random.Random, name: str, creates: range, deletes: range, *, placed: bool
) -> Iterator[Operation]:
    """Each takes effect at its own number, and is open for some time before and after."""
    count = _TOPIC_OPERATIONS
    moments = sorted(
        (at + side * rng.uniform(0.1, 0.9), at, side) for at in range(count) for side in (-1, 1)
    )
    index = {(at, side): place for place, (_, at, side) in enumerate(moments)}
    held: str | None = None
    for at in range(count):
        may = [f for f, when in (("create", creates), ("delete", deletes)) if at in when]
        f = rng.choice([*may, "describe"])
        takes_effect = f != "describe" and (f == "create") == (held is None)
        fails = not takes_effect and (f != "describe" or held is None)
        unseen = takes_effect and f == "delete" and rng.random() < 0.1
        made = f"{name}-{at}" if f == "create" else held
        saw = {"asserts": PRESENT if f == "create" else ABSENT}
        place = {"epoch": 1, "offset": at} if placed else None
        yield Operation(
            index=index[at, -1],
            end=index[at, 1],
            process=at,
            f=f,
            key=name,
            type="info" if unseen else "fail" if fails else "ok",
            result=None if unseen or fails else {"topic_id": made},
            error=("REFUSED", "") if fails else None,
            ext=saw if fails else place if takes_effect and not unseen else None,
        )
        if takes_effect:
            held = made if f == "create" else None


@cache
def samples() -> Sequence[EncodedHistory]:
    """Small histories of every kind: with and without an order, pending operations, places."""
    return list(_samples(random.Random(1)))


def _samples(rng: random.Random) -> Iterator[EncodedHistory]:
    for kinds, values in ((_REGISTER, 3), (_REGISTER, 0), (_CELLS, 3), (_CELLS, 1)):
        for lies in (0.0, 0.3):
            yield _cell(rng, 40, kinds, values, lies)
    for distinct in (True, False):
        queue = _queue(rng, 30, distinct)
        yield queue
        yield queue_steps(queue)
    # Searches make room, clear away what they need no more, and go back.
    yield _cell(random.Random(1), 400, _REGISTER, 8, 0.02)


def _cell(
    rng: random.Random, count: int, kinds: Sequence[Kind], values: int, lies: float
) -> EncodedHistory:
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


def _queue(rng: random.Random, count: int, distinct: bool) -> EncodedHistory:
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


def _timed(
    rng: random.Random, kind: Sequence[int], a: Sequence[int], b: Sequence[int]
) -> EncodedHistory:
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
    return EncodedHistory(
        call,
        ret,
        np.array(kind, dtype=np.int8),
        np.array(a, dtype=np.int32),
        np.array(b, dtype=np.int32),
        0,
        [str(value) for value in range(len(kind) + 2)],
        place.astype(np.int64),
    )
