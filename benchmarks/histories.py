"""Histories made by number: of one object, with known verdict, as many operations as asked for.

Clients take turns at random: each invokes, takes effect, returns, and begins again, so that about
two thirds of them are open at any time. Half of the operations are reads, three tenths writes, two
tenths cas. A share of the mutations never returns; half of those take effect all the same.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import (
    CAS,
    DEQUEUE,
    DIFFERS,
    EMPTY,
    ENQUEUE,
    FOREVER,
    READ,
    TAKE,
    WRITE,
)
from checkers.linearizability.encoded import NEVER, NOWHERE, EncodedHistory, Ints
from framework.compiled import compiled

Plant: TypeAlias = Literal["none", "phantom", "stale", "burst"]
"""A violation: a value that nobody wrote, one that was certainly overwritten (unique values
only), or, when all is quiet, more surprising reads than pending operations can explain."""

QueuePlant: TypeAlias = Literal["none", "swap", "lost", "repeat", "empty"]

_IDLE, _OPEN, _DONE = 0, 1, 2


def cell(
    operations: int,
    clients: int,
    *,
    values: int | None = None,
    info: float = 0.0,
    seed: int = 0,
    plant: Plant = "none",
    cas: float = 0.2,
    placed: bool = False,
) -> EncodedHistory:
    """A register. `values`: the size of the domain, None: every write writes a new one; `info`:
    the share of mutations that never return. A plant stands at nine tenths. `placed`: mutations
    that returned say where the object's log has them."""
    domain = values or 0
    at = operations * 9 // 10 if plant != "none" else operations
    arrays = _cell(  # type: ignore[no-untyped-call]
        operations, clients, domain, info, cas, seed, at, plant == "burst"
    )
    call, count = arrays[0], arrays[-1]
    rows = np.argsort(call[:count], kind="stable")
    call, ret, kind, a, b, place = (each[:count][rows] for each in arrays[:6])
    if plant in ("phantom", "stale"):
        _plant_read(call, ret, kind, a, b, at, plant)  # type: ignore[no-untyped-call]
    numbers = _Numbers(int(max(a.max(), b.max())) + 2)
    logged = np.where(((kind == WRITE) | (kind == CAS)) & (ret != NEVER), place, NOWHERE)
    return EncodedHistory(call, ret, kind, a, b, 0, numbers, logged if placed else None)


def queue(
    operations: int,
    clients: int,
    *,
    info: float = 0.0,
    seed: int = 0,
    plant: QueuePlant = "none",
) -> EncodedHistory:
    """A FIFO queue of unique values, dequeues of the empty queue included. With `info`, a lost
    value means many lost ones: more than pending dequeues could have got."""
    arrays = _queue(operations, clients, info, seed)  # type: ignore[no-untyped-call]
    call, ret, kind, a, b = arrays
    rows = np.argsort(call, kind="stable")
    call, ret, kind, a, b = (each[rows] for each in (call, ret, kind, a, b))
    made = EncodedHistory(call, ret, kind, a, b, 0, _Numbers(int(b.max()) + 2))
    return made if plant == "none" else _plant_queue(made, plant)


class _Numbers(list[str]):
    """Value 0 is null, value n is n: made when asked for."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return "null" if number == 0 else str(number)


@compiled
def _cell(operations, clients, domain, info, cas, seed, quiet_at, burst):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    extra = 4 * operations // 10 + 64 if burst else 0
    size = operations + extra
    call = np.empty(size, np.int64)
    ret = np.empty(size, np.int64)
    kind = np.empty(size, np.int8)
    a = np.full(size, -1, np.int32)
    b = np.full(size, -1, np.int32)
    place = np.full(size, -1, np.int64)
    effects = 0
    phase = np.zeros(clients, np.int8)
    mine = np.zeros(clients, np.int64)
    pending_of = np.zeros(max(domain, 1) + 1, np.int64)
    state, fresh, made, now, open_count = 0, 1, 0, 0, 0
    planted = not burst
    while made < operations or open_count > 0:
        if not planted and made >= quiet_at and open_count == 0:
            planted = True
            # One client writes x and reads y, more often than pending operations could explain.
            if domain:
                x, y = 1, 2
                rounds = pending_of[y] + 1
            else:
                x, y, rounds = fresh, state, 1
                fresh += 1
                if y == 0:
                    y = fresh
                    fresh += 1
            for _ in range(rounds):
                if made + 2 > size:
                    break
                call[made], ret[made], kind[made], b[made] = now, now + 1, WRITE, x
                place[made] = effects
                effects += 1
                call[made + 1], ret[made + 1], kind[made + 1], a[made + 1] = (
                    now + 2,
                    now + 3,
                    READ,
                    y,
                )
                made += 2
                now += 4
            state = x
            continue
        client = np.random.randint(clients)
        if phase[client] == _IDLE:
            if made >= operations or (not planted and made >= quiet_at):
                continue
            row = made
            made += 1
            open_count += 1
            call[row] = now
            now += 1
            ret[row] = FOREVER
            draw = np.random.random()
            if draw < 0.5:
                kind[row] = READ
            else:
                if domain:
                    value = 1 + np.random.randint(domain)
                else:
                    value = fresh
                    fresh += 1
                b[row] = value
                if draw < 1.0 - cas:
                    kind[row] = WRITE
                else:
                    kind[row] = CAS
                    if np.random.random() < 0.5 or (domain == 0 and fresh < 4):
                        a[row] = state
                    elif domain:
                        a[row] = 1 + np.random.randint(domain)
                    else:
                        a[row] = max(0, state - np.random.randint(1, 4))
            mine[client] = row
            phase[client] = _OPEN
        elif phase[client] == _OPEN:
            row = mine[client]
            mutates = kind[row] != READ
            lost = mutates and np.random.random() < info
            if not lost or np.random.random() < 0.5:
                place[row] = effects
                effects += 1
                if kind[row] == READ:
                    a[row] = state
                elif kind[row] == WRITE or state == a[row]:
                    state = b[row]
                elif not lost:
                    kind[row] = DIFFERS
                    b[row] = -1
            if lost:
                if domain:
                    pending_of[b[row]] += 1
                phase[client] = _IDLE
                open_count -= 1
            else:
                phase[client] = _DONE
        else:
            ret[mine[client]] = now
            now += 1
            phase[client] = _IDLE
            open_count -= 1
    return call, ret, kind, a, b, place, made


def _plant_read(call, ret, kind, a, b, at, plant):  # type: ignore[no-untyped-def]
    """Changes what one read saw: the first from `at` on, else the last one before."""
    reads = np.flatnonzero(kind == READ)
    if not len(reads):
        raise ValueError("no read that could see something wrong")
    read = reads[min(np.searchsorted(reads, at), len(reads) - 1)]
    if plant == "phantom":
        a[read] = max(int(a.max()), int(b.max())) + 1
        return
    writes = np.flatnonzero((kind == WRITE) & (ret < call[read]))
    last = writes[np.argmax(call[writes])]
    older = writes[ret[writes] < call[last]]
    a[read] = b[older[len(older) * 9 // 10]]


@compiled
def _queue(operations, clients, info, seed):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    call = np.empty(operations, np.int64)
    ret = np.full(operations, FOREVER, np.int64)
    kind = np.empty(operations, np.int8)
    a = np.full(operations, -1, np.int32)
    b = np.full(operations, -1, np.int32)
    content = np.empty(operations, np.int32)
    first, last = 0, 0
    phase = np.zeros(clients, np.int8)
    mine = np.zeros(clients, np.int64)
    made, now, open_count, fresh = 0, 0, 0, 1
    while made < operations or open_count > 0:
        client = np.random.randint(clients)
        if phase[client] == _IDLE:
            if made >= operations:
                continue
            row = made
            made += 1
            open_count += 1
            call[row] = now
            now += 1
            if np.random.random() < 0.49:
                kind[row] = ENQUEUE
                b[row] = fresh
                fresh += 1
            else:
                kind[row] = TAKE
            mine[client] = row
            phase[client] = _OPEN
        elif phase[client] == _OPEN:
            row = mine[client]
            lost = np.random.random() < info
            if not lost or np.random.random() < 0.5:
                if kind[row] == ENQUEUE:
                    content[last] = b[row]
                    last += 1
                elif first < last:
                    if not lost:
                        kind[row] = DEQUEUE
                        a[row] = content[first]
                    first += 1
                elif not lost:
                    kind[row] = EMPTY
            if lost:
                phase[client] = _IDLE
                open_count -= 1
            else:
                phase[client] = _DONE
        else:
            ret[mine[client]] = now
            now += 1
            phase[client] = _IDLE
            open_count -= 1
    return call, ret, kind, a, b


def _plant_queue(encoded: EncodedHistory, plant: QueuePlant) -> EncodedHistory:
    """Spoils it beyond what pending operations could explain, from nine tenths on where that can
    be. Raises `ValueError` for a history that is too short."""
    got = np.flatnonzero(encoded.kind == DEQUEUE)
    enqueue = np.zeros(len(encoded) + 2, np.int64)
    puts = np.flatnonzero(encoded.kind == ENQUEUE)
    enqueue[encoded.b[puts]] = puts
    put = enqueue[encoded.a[got]]
    if plant == "repeat":
        encoded.a[got[-1]] = encoded.a[got[len(got) * 9 // 10]]
    elif plant == "swap":
        one, other = _apart(encoded, put, got)
        values = encoded.a[other], encoded.a[one]
        encoded.a[one], encoded.a[other] = values
    elif plant == "lost":
        # One value more than pending dequeues could have got.
        takes = int(np.sum(encoded.kind == TAKE))
        certain = got[encoded.ret[put] < encoded.call[put[-1]]]
        late = certain[certain >= got[len(got) * 9 // 10]]
        gone = (late if len(late) > takes else certain)[: takes + 1]
        if len(gone) <= takes:
            raise ValueError("too few dequeues for one of them to be missed")
        return encoded.take(np.setdiff1d(np.arange(len(encoded)), gone))
    else:
        stays = _late((encoded.ret[put] != NEVER) & (encoded.ret[put] < encoded.call[got] - 1))
        return _empty_at(encoded, int(encoded.ret[put[stays]]) + 1)
    return encoded


def _late(fits: NDArray[np.bool_]) -> int:
    """The first place from nine tenths on, else the last one before."""
    places = np.flatnonzero(fits)
    if not len(places):
        raise ValueError("no place for this violation")
    at = int(np.searchsorted(places, len(fits) * 9 // 10))
    return int(places[min(at, len(places) - 1)])


def _apart(encoded: EncodedHistory, put: Ints, got: Ints) -> tuple[int, int]:
    """Two dequeues, one over before the other begins, of values of which the same is true; from
    nine tenths on if there are such."""
    late = len(got) * 9 // 10
    for one in (*range(late, len(got)), *range(late - 1, -1, -1)):
        after = (encoded.call[put] > encoded.ret[put[one]]) & (
            encoded.call[got] > encoded.ret[got[one]]
        )
        if after.any():
            return int(got[one]), int(got[np.argmax(after)])
    raise ValueError("no two dequeues that could not have been the other way round")


def _empty_at(encoded: EncodedHistory, now: int) -> EncodedHistory:
    """Another client finds the queue empty, from `now` to `now` + 1."""
    call = np.where(encoded.call >= now, encoded.call + 2, encoded.call)
    later = (encoded.ret >= now) & (encoded.ret != NEVER)
    ret = np.where(later, encoded.ret + 2, encoded.ret)
    row = int(np.searchsorted(call, now))
    return EncodedHistory(
        np.insert(call, row, now),
        np.insert(ret, row, now + 1),
        np.insert(encoded.kind, row, EMPTY),
        np.insert(encoded.a, row, -1),
        np.insert(encoded.b, row, -1),
        0,
        encoded.values,
    )


def keys(count: int, make: Callable[[int], EncodedHistory]) -> list[EncodedHistory]:
    """Histories of several objects, made with seeds 0 to `count` - 1, whose events alternate.
    Every object has clients of its own."""
    made = []
    for number in range(count):
        one = make(number)
        ret = np.where(one.ret == NEVER, NEVER, one.ret * count + number)
        call = one.call * count + number
        made.append(EncodedHistory(call, ret, one.kind, one.a, one.b, one.initial, one.values))
    return made


def bytes_of(encoded: EncodedHistory) -> int:
    """The size of its arrays."""
    arrays: tuple[NDArray[np.generic], ...] = (
        encoded.call,
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
    )
    return sum(array.nbytes for array in arrays)
