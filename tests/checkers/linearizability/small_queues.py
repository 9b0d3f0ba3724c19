"""Small random histories of a FIFO queue, most of them linearizable, some spoilt."""

import random
from collections.abc import Sequence

import numpy as np

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind


class _Operation:
    def __init__(self, call: int, kind: Kind, value: int = -1) -> None:
        self.call, self.ret, self.kind, self.value = call, int(NEVER), kind, value
        self.took_effect = False


def small_queue(rng: random.Random) -> EncodedHistory:
    """Up to 13 operations of up to five clients."""
    operations = _interleaved(
        rng,
        count=rng.randrange(2, 14),
        clients=rng.randrange(1, 6),
        info=rng.choice([0, 0.1, 0.3, 0.5]),
        enqueues=rng.choice([0.35, 0.5, 0.7]),
    )
    for _ in range(rng.choice([0, 1, 1, 2])):
        _spoil(rng, operations)
    return encoded(operations)


def encoded(operations: Sequence[_Operation]) -> EncodedHistory:
    """As columns."""
    adds = [op.value if op.kind is Kind.ENQUEUE else -1 for op in operations]
    gets = [op.value if op.kind is Kind.DEQUEUE else -1 for op in operations]
    return EncodedHistory(
        np.array([op.call for op in operations], np.int64),
        np.array([op.ret for op in operations], np.int64),
        np.array([op.kind for op in operations], np.int8),
        np.array(gets, np.int32),
        np.array(adds, np.int32),
        values=["null", *(str(n) for n in range(1, len(operations) + 2))],
    )


def written(text: str) -> EncodedHistory:
    """Operations from words `call-ret:what`, in order of their calls: `0-3:+1` enqueues 1,
    `1-2:-1` dequeues it, `4-5:0` finds nothing, `6-:?` takes whatever and never returns."""
    operations = []
    for word in text.split():
        span, what = word.split(":")
        call, ret = span.split("-")
        kind = {"+": Kind.ENQUEUE, "-": Kind.DEQUEUE, "0": Kind.EMPTY, "?": Kind.TAKE}[what[0]]
        operation = _Operation(int(call), kind, int(what[1:] or -1))
        operation.ret = int(ret) if ret else int(NEVER)
        operations.append(operation)
    return encoded(operations)


def _interleaved(
    rng: random.Random, count: int, clients: int, info: float, enqueues: float
) -> list[_Operation]:
    """Clients take turns at random: each invokes, takes effect, returns."""
    made: list[_Operation] = []
    at_work: dict[int, _Operation] = {}
    queue: list[int] = []
    now = 0
    while len(made) < count or at_work:
        client = rng.randrange(clients)
        operation = at_work.get(client)
        if operation is None:
            if len(made) < count:
                kind = Kind.ENQUEUE if rng.random() < enqueues else Kind.TAKE
                at_work[client] = _Operation(now, kind, len(made) + 1)
                made.append(at_work[client])
                now += 1
        elif operation.took_effect:
            operation.ret = now
            now += 1
            del at_work[client]
        else:
            lost = rng.random() < info
            if not lost or rng.random() < 0.5:
                _take_effect(operation, queue, lost)
            operation.took_effect = True
            if lost:
                del at_work[client]
    return made


def _take_effect(operation: _Operation, queue: list[int], lost: bool) -> None:
    if operation.kind is Kind.ENQUEUE:
        queue.append(operation.value)
        return
    first = queue.pop(0) if queue else None
    if not lost:
        operation.kind = Kind.EMPTY if first is None else Kind.DEQUEUE
        operation.value = -1 if first is None else first


def _spoil(rng: random.Random, operations: list[_Operation]) -> None:
    """Another result, two results exchanged, or an operation gone from the record."""
    dequeues = [op for op in operations if op.kind is Kind.DEQUEUE]
    found_nothing = [op for op in operations if op.kind is Kind.EMPTY]
    takes = [op for op in operations if op.kind is Kind.TAKE]
    draw = rng.random()
    if draw < 0.35 and len(dequeues) > 1:
        one, other = rng.sample(dequeues, 2)
        one.value, other.value = other.value, one.value
    elif draw < 0.6 and dequeues:
        rng.choice(dequeues).kind = Kind.EMPTY
    elif draw < 0.8 and dequeues:
        operations.remove(rng.choice(dequeues))
    elif draw < 0.85 and dequeues + found_nothing:
        changed = rng.choice(dequeues + found_nothing)
        changed.kind, changed.value = Kind.DEQUEUE, rng.randrange(1, len(operations) + 2)
    elif takes:
        operations.remove(rng.choice(takes))
