"""Histories of objects that are no register, made by number, with known verdict: strings, sets that
grow, elements of sets, and queues whose values repeat.

Clients take turns at random as in `histories.py`. Strings, and sets that grow, are given as models
that only their transitions know, as a user's own would be.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from benchmarks.histories import QueuePlant, queue
from checkers.linearizability.encoded import NEVER, NOWHERE, Codes, EncodedHistory, Ints, Kind
from checkers.linearizability.encoding.transitions import IMPOSSIBLE, Numbering, kv_steps
from checkers.linearizability.methods.grow_only import SetHistory

_LETTERS: Final = "abcdefghij"


@dataclass(frozen=True, slots=True)
class Turns:
    """When operations were invoked and returned, by row, and in which order they took effect."""

    call: Ints
    ret: Ints
    order: Sequence[int]

    @property
    def place(self) -> Ints:
        """Where in that order those are that returned."""
        place = np.full(len(self.call), NOWHERE, np.int64)
        place[self.order] = np.arange(len(self.order))
        return np.where(self.ret == NEVER, NOWHERE, place)


def turns(changes: Sequence[bool], clients: int, info: float, rng: random.Random) -> Turns:
    """A share of the operations that change something never returns; half of those take effect."""
    call, ret = np.zeros(len(changes), np.int64), np.full(len(changes), NEVER)
    order: list[int] = []
    invoked: dict[int, int] = {}
    effective: dict[int, int] = {}
    now = row = 0
    while row < len(changes) or invoked or effective:
        client = rng.randrange(clients)
        if client in invoked:
            mine = invoked.pop(client)
            is_lost = changes[mine] and rng.random() < info
            if not is_lost or rng.random() < 0.5:
                order.append(mine)
            if not is_lost:
                effective[client] = mine
            continue
        if client in effective:
            ret[effective.pop(client)] = now
        elif row < len(changes):
            call[row] = now
            invoked[client] = row
            row += 1
        now += 1
    return Turns(call, ret, order)


def strings(
    operations: int, clients: int, letters: int, info: float, seed: int, plant: str, logged: bool
) -> EncodedHistory:
    """A string: half of the operations read it, four tenths append a letter, a tenth writes one.
    A `phantom` is a letter in a read that nobody ever wrote. `logged`: its log is known."""
    rng = random.Random(seed)
    what = rng.choices(("read", "append", "write"), (5, 4, 1), k=operations)
    value = rng.choices(_LETTERS[:letters], k=operations)
    made = turns([each != "read" for each in what], clients, info, rng)
    state = ""
    for row in made.order:
        if what[row] == "read":
            value[row] = state
        else:
            state = value[row] if what[row] == "write" else state + value[row]
    if plant == "phantom":
        value[_late([each == "read" for each in what])] += "z"
    texts, number = np.unique([json.dumps(each) for each in ("", *value)], return_inverse=True)
    kind = np.array([Kind.LOOK if each == "read" else Kind.STEP for each in what], np.int8)
    is_written = np.array([each == "write" for each in what])
    a, b = (_where(rows, number[1:]) for rows in (~is_written, is_written))
    place = np.where(kind == Kind.STEP, made.place, NOWHERE) if logged else None
    return kv_steps(
        EncodedHistory(made.call, made.ret, kind, a, b, int(number[0]), texts.tolist(), place)
    )


def element(operations: int, clients: int, info: float, seed: int) -> EncodedHistory:
    """An element of a set: it is added, removed, and asked for."""
    rng = random.Random(seed)
    what = rng.choices(("add", "remove", "contains"), (3, 3, 4), k=operations)
    made = turns([each != "contains" for each in what], clients, info, rng)
    kind = np.full(operations, Kind.CAS, np.int8)
    a = np.array([each == "remove" for each in what], np.int32)
    b = 1 - a
    state = 0
    for row in made.order:
        if what[row] != "contains" and (a[row] == state or made.ret[row] == NEVER):
            state = int(b[row]) if a[row] == state else state
        else:
            kind[row], a[row], b[row] = Kind.READ, state, -1
    return EncodedHistory(made.call, made.ret, kind, a, b, 0, ["false", "true"])


def repeating(
    operations: int, clients: int, values: int, info: float, seed: int, plant: QueuePlant
) -> EncodedHistory:
    """A queue of a few values, each enqueued again and again."""
    made = queue(operations, clients, info=info, seed=seed, plant=plant)
    a, b = (np.where(each > 0, each % values + 1, each) for each in (made.a, made.b))
    return replace(made, a=a, b=b)


def growing(operations: int, clients: int, info: float, seed: int, plant: str) -> SetHistory:
    """A set to which nine of ten operations add a new element, and one reads it whole. With `lost`
    a read lacks one that a read before it showed."""
    rng = random.Random(seed)
    is_add = np.array([rng.random() < 0.9 for _ in range(operations)])
    made = turns(is_add.tolist(), clients, info, rng)
    adds, reads = np.flatnonzero(is_add), np.flatnonzero(~is_add)
    element = (np.cumsum(is_add) - 1).astype(np.int32)
    in_order = element[made.order][is_add[made.order]]
    before = dict(zip(made.order, np.cumsum(is_add[made.order]).tolist(), strict=True))
    shown = [in_order[: before[row]] for row in reads.tolist()]
    if plant == "lost":
        over = min(made.ret[row] for row, each in zip(reads, shown, strict=True) if len(each))
        late = _late((made.call[reads] > over).tolist())
        earlier = np.flatnonzero(made.ret[reads] < made.call[reads[late]])
        seen = max((shown[each] for each in earlier), key=len)
        shown[late] = shown[late][shown[late] != seen[-1]]
    return SetHistory(
        add_call=made.call[adds],
        add_ret=made.ret[adds],
        add_element=element[adds],
        read_call=made.call[reads],
        read_ret=made.ret[reads],
        offsets=np.cumsum([0, *map(len, shown)]),
        elements=np.concatenate((np.empty(0, np.int32), *shown)),
    )


def set_steps(history: SetHistory) -> EncodedHistory:
    """The same as a model that only its transitions know."""
    added = [1 << each for each in history.add_element.tolist()]
    shown = [
        sum(1 << each for each in history.elements[begin:end].tolist())
        for begin, end in pairwise(history.offsets)
    ]
    call = np.concatenate((history.add_call, history.read_call))
    order = np.argsort(call)
    kind = np.repeat(np.array([Kind.STEP, Kind.LOOK], np.int8), (len(added), len(shown)))
    action = np.arange(len(call), dtype=np.int32)
    ret = np.concatenate((history.add_ret, history.read_ret))
    b = np.full(len(call), -1, np.int32)
    model = Growing(added, shown)
    return EncodedHistory(call[order], ret[order], kind[order], action[order], b, transitions=model)


class Growing:
    """What is in a set, as bits. Actions are adds, each of one element, then reads."""

    def __init__(self, added: Sequence[int], shown: Sequence[int]) -> None:
        self._added, self._shown = added, shown
        self._numbering = Numbering(0)
        self.initial = self._numbering.initial

    def step(self, state: int, action: int) -> int:
        content = self._numbering.states[state]
        if action < len(self._added):
            return self._numbering.number(content | self._added[action])
        return state if content == self._shown[action - len(self._added)] else IMPOSSIBLE

    def describe(self, state: int) -> str:
        return f"{self._numbering.states[state].bit_count()} elements"


def _late(fits: Sequence[bool]) -> int:
    """The first that fits from nine tenths on, else the last. Raises `ValueError` for none."""
    rows = np.flatnonzero(fits)
    if not len(rows):
        raise ValueError("no place for this violation")
    return int(rows[min(int(np.searchsorted(rows, len(fits) * 9 // 10)), len(rows) - 1)])


def _where(rows: np.ndarray[tuple[int], np.dtype[np.bool_]], numbers: Ints) -> Codes:
    return np.where(rows, numbers, -1).astype(np.int32)
