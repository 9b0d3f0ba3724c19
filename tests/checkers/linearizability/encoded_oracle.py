"""Brute force for `EncodedHistory`: every order of a small history, and the replay of one order.

Shares nothing with the methods under test but the definition of the columns.
"""

import random
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind, Transitions

State: TypeAlias = Hashable

CELL_KINDS = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)
QUEUE_KINDS = (Kind.ENQUEUE, Kind.DEQUEUE, Kind.EMPTY, Kind.TAKE)
MODEL_KINDS = (Kind.LOOK, Kind.STEP)


def initial_state(encoded: EncodedHistory) -> State:
    return () if any(kind in QUEUE_KINDS for kind in encoded.kind) else encoded.initial


def after(encoded: EncodedHistory, state: State, row: int) -> State | None:
    """The state after an operation took effect as it is recorded. None: it cannot."""
    a, b = int(encoded.a[row]), int(encoded.b[row])
    match Kind(int(encoded.kind[row])):
        case Kind.READ:
            return state if state == a else None
        case Kind.DIFFERS:
            return state if state != a else None
        case Kind.WRITE:
            return b
        case Kind.CAS:
            return b if state == a else None
        case Kind.CHANGE:
            return b if state != a else None
        case Kind.LOOK | Kind.STEP:
            assert encoded.transitions is not None and isinstance(state, int)
            number = encoded.transitions.step(state, a)
            return number if number >= 0 else None
    assert isinstance(state, tuple)
    match Kind(int(encoded.kind[row])):
        case Kind.ENQUEUE:
            return (*state, b)
        case Kind.DEQUEUE:
            return state[1:] if state and state[0] == a else None
        case Kind.EMPTY:
            return None if state else state
    return state[1:] if state else None


def linearizable(encoded: EncodedHistory) -> bool:
    """Exhaustive. Pending operations (`NEVER`) may be left out."""
    call, ret = encoded.call.tolist(), encoded.ret.tolist()

    @cache
    def explore(state: State, left: frozenset[int]) -> bool:
        deadline = min((ret[row] for row in left), default=int(NEVER))
        if deadline == NEVER:
            return True
        for row in left:
            if call[row] < deadline:
                then = after(encoded, state, row)
                if then is not None and explore(then, left - {row}):
                    return True
        return False

    return explore(initial_state(encoded), frozenset(range(len(encoded))))


def is_legal_order(encoded: EncodedHistory, order: Sequence[int] | np.ndarray) -> bool:
    """Whether the order has every completed operation once, pending ones at most once, keeps to
    real time (what returned before another's call is before it), and every result fits."""
    rows = [int(row) for row in order]
    completed = {row for row in range(len(encoded)) if encoded.ret[row] != NEVER}
    if len(set(rows)) != len(rows) or not completed <= set(rows):
        return False
    latest_call = -1
    state: State | None = initial_state(encoded)
    for row in rows:
        if encoded.ret[row] < latest_call:
            return False
        latest_call = max(latest_call, int(encoded.call[row]))
        state = after(encoded, state, row)
        if state is None:
            return False
    return True


class Strings(Transitions):
    """A string: write, append, read. Its states have no end."""

    def __init__(self, actions: Sequence[tuple[str, str]]) -> None:
        self.actions = actions
        self.texts = [""]
        self.numbers = {"": 0}
        self.initial = 0

    def step(self, state: int, action: int) -> int:
        does, text = self.actions[action]
        before = self.texts[state]
        if does == "read":
            return state if before == text else -1
        then = text if does == "write" else before + text
        if then not in self.numbers:
            self.numbers[then] = len(self.texts)
            self.texts.append(then)
        return self.numbers[then]

    def describe(self, state: int) -> str:
        return repr(self.texts[state])


class Known(Transitions):
    """A name that is absent (0), present with an id nobody saw (1), or with id i (1 + i).

    Action 0 creates, 1 deletes, 2 sees that it is absent, 2 + i sees id i: it narrows 1 to 1 + i.
    """

    initial = 0

    def step(self, state: int, action: int) -> int:
        if action == 0:
            return 1 if state == 0 else -1
        if action == 1:
            return 0 if state else -1
        if action == 2:
            return 0 if state == 0 else -1
        return action - 1 if state in (1, action - 1) else -1

    def describe(self, state: int) -> str:
        return ("absent", "present")[state] if state < 2 else f"present with id {state - 1}"


def shuffled_times(
    rng: random.Random, count: int, clients: int, pending: Sequence[bool]
) -> tuple[list[int], list[int]]:
    """Calls and returns of `count` operations by clients that take turns at random."""
    call, ret = [0] * count, [int(NEVER)] * count
    open_rows: list[int] = []
    made, now = 0, 0
    while made < count or open_rows:
        begins = made < count and (not open_rows or rng.random() < 0.5)
        if begins and len(open_rows) < clients:
            call[made] = now
            if not pending[made]:
                open_rows.append(made)
            made += 1
        elif open_rows:
            row = open_rows.pop(rng.randrange(len(open_rows)))
            ret[row] = now
        else:
            continue
        now += 1
    return call, ret


def in_order_of_effect(
    rng: random.Random, call: Sequence[int], ret: Sequence[int]
) -> Sequence[int]:
    """The rows by a random moment between call and return at which each takes effect."""
    count = len(call)
    effect_at = [
        (rng.uniform(call[row], ret[row] if ret[row] != NEVER else 2 * count), row)
        for row in range(count)
    ]
    return [row for _, row in sorted(effect_at)]


def random_cell(
    rng: random.Random,
    count: int,
    clients: int,
    values: int,
    *,
    kinds: Sequence[Kind] = CELL_KINDS,
    info: float = 0.2,
    lies: float = 0.2,
) -> EncodedHistory:
    """A cell's history. Results come from a run of it, but for a share of `lies`."""
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    kind, a, b = [0] * count, [-1] * count, [-1] * count
    effects = in_order_of_effect(rng, call, ret)
    state = 0
    for row in effects:
        what = rng.choice(kinds)
        lie = rng.random() < lies
        seen = rng.randrange(values + 1) if lie else state
        if what in (Kind.READ, Kind.DIFFERS) and pending[row]:
            what = rng.choice([each for each in kinds if each > Kind.DIFFERS] or [what])
        kind[row] = what
        if what in (Kind.READ, Kind.CAS):
            a[row] = seen
        elif what != Kind.WRITE:
            a[row] = rng.choice([v for v in range(values + 1) if lie or v != state])
        if what in (Kind.WRITE, Kind.CAS, Kind.CHANGE):
            b[row] = rng.randrange(values + 1)
            if not lie and not (pending[row] and rng.random() < 0.5):
                state = b[row]
    return encoded_of(call, ret, kind, a, b)


def random_queue(
    rng: random.Random, count: int, clients: int, *, info: float = 0.2, lies: float = 0.2
) -> EncodedHistory:
    """A queue's history. Values are distinct but for lies."""
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    kind, a, b = [0] * count, [-1] * count, [-1] * count
    effects = in_order_of_effect(rng, call, ret)
    content: list[int] = []
    for fresh, row in enumerate(effects, 1):
        lie, happens = rng.random() < lies, not pending[row] or rng.random() < 0.5
        if rng.random() < 0.5:
            kind[row], b[row] = Kind.ENQUEUE, rng.randint(1, count) if lie else fresh
            if happens:
                content.append(b[row])
        elif pending[row]:
            kind[row] = Kind.TAKE
            if happens:
                content[:1] = []
        elif lie:
            kind[row] = rng.choice((Kind.DEQUEUE, Kind.EMPTY))
            a[row] = rng.randint(1, count) if kind[row] == Kind.DEQUEUE else -1
        elif content:
            kind[row], a[row] = Kind.DEQUEUE, content.pop(0)
        else:
            kind[row] = Kind.EMPTY
    return encoded_of(call, ret, kind, a, b)


def random_strings(
    rng: random.Random, count: int, clients: int, *, info: float = 0.2, lies: float = 0.2
) -> EncodedHistory:
    """Writes, appends and reads of a string."""
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    actions: list[tuple[str, str]] = []
    kind, a = [0] * count, [-1] * count
    effects = in_order_of_effect(rng, call, ret)
    state, seen = "", [""]
    for row in effects:
        does = rng.choice(("write", "append") if pending[row] else ("read", "write", "append"))
        if does == "read":
            text = rng.choice(seen) if rng.random() < lies else state
        else:
            text = rng.choice("xy")
            if not (pending[row] and rng.random() < 0.5):
                state = text if does == "write" else state + text
                seen.append(state)
        if (does, text) not in actions:
            actions.append((does, text))
        kind[row] = Kind.LOOK if does == "read" else Kind.STEP
        a[row] = actions.index((does, text))
    return encoded_of(call, ret, kind, a, [-1] * count, Strings(actions))


def random_known(
    rng: random.Random, count: int, clients: int, *, ids: int = 3, info: float = 0.2
) -> EncodedHistory:
    """Creates, deletes and looks that reveal ids, at random."""
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    a = [rng.randrange(2) if pending[row] else rng.randrange(3 + ids) for row in range(count)]
    kind = [Kind.STEP if action < 2 else Kind.LOOK for action in a]
    return encoded_of(call, ret, kind, a, [-1] * count, Known())


def encoded_of(
    call: Sequence[int],
    ret: Sequence[int],
    kind: Sequence[int],
    a: Sequence[int],
    b: Sequence[int],
    transitions: Transitions | None = None,
    initial: int = 0,
) -> EncodedHistory:
    """Columns from lists, in any order of the rows."""
    rows = np.argsort(np.array(call, np.int64), kind="stable")
    values = [str(number) for number in range(max([0, *a, *b]) + 1)]
    return EncodedHistory(
        np.array(call, np.int64)[rows],
        np.array(ret, np.int64)[rows],
        np.array(kind, np.int8)[rows],
        np.array(a, np.int32)[rows],
        np.array(b, np.int32)[rows],
        initial,
        values,
        None,
        transitions,
    )


def written(text: str) -> EncodedHistory:
    """`0-3:w1` writes 1 from event 0 to 3; `r` reads, `c1>2` is a cas, `d1` one that failed,
    `x1>2` a change."""
    call, ret, kind, a, b = [], [], [], [], []
    for operation in text.split():
        times, what = operation.split(":")
        start, end = times.split("-")
        call.append(int(start))
        ret.append(int(end) if end else int(NEVER))
        kind.append("rdwcx".index(what[0]))
        numbers = [int(number) for number in what[1:].split(">")]
        a.append(-1 if what[0] == "w" else numbers[0])
        b.append(numbers[-1] if what[0] in "wcx" else -1)
    return encoded_of(call, ret, kind, a, b)
