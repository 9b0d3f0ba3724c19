"""The search of "wgl", step by step: at each it is where one is that is written plainly."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest

from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.jit_antichain.counts import count_of, only_the_empty
from checkers.linearizability.methods.wgl import method
from checkers.linearizability.methods.wgl.kernel import (
    EXHAUSTED,
    FOUND_ORDER,
    FRAME,
    NEEDS_COUNTS,
    NEEDS_FRAMES,
    NEEDS_MEMORY,
    NEEDS_STEP,
    PAUSED,
    Place,
)
from tests.checkers.linearizability.encoded_oracle import (
    CELL_KINDS,
    encoded_of,
    random_cell,
    random_known,
    random_strings,
)
from tests.checkers.linearizability.wgl_places import in_words, listed, search_of

N = int(NEVER)
NAMES = {
    EXHAUSTED: "exhausted",
    FOUND_ORDER: "found",
    PAUSED: "paused",
    NEEDS_COUNTS: "counts",
    NEEDS_FRAMES: "frames",
    NEEDS_MEMORY: "memory",
    NEEDS_STEP: "step",
}


class State(NamedTuple):
    order: tuple[int, ...]
    """Rows."""
    passed: int
    value: int
    used: tuple[int, ...]
    """How many there are of each class."""
    bare: int


class Plain:
    """The search by rows and sets."""

    def __init__(self, encoded: EncodedHistory, sparing: bool) -> None:
        self.encoded, self.sparing = encoded, sparing
        self.call, self.ret = encoded.call.tolist(), encoded.ret.tolist()
        self.kind, self.a, self.b = encoded.kind.tolist(), encoded.a.tolist(), encoded.b.tolist()
        rows = range(len(encoded))
        self.effect = list(zip(self.kind, self.a, self.b, strict=True))
        self.completed = [row for row in rows if self.ret[row] != N]
        self.returns = sorted(self.completed, key=lambda row: self.ret[row])
        classes: dict[tuple[int, ...], list[int]] = {}
        for row in rows:
            if self.ret[row] == N and not self.looks(row):
                classes.setdefault(self.effect[row], []).append(row)
        self.classes = list(classes.values())
        self.state = State((), 0, encoded.initial, (0,) * len(classes), 0)
        self.entering, self.deepest, self.steps = True, 0, 0
        self.frames: list[tuple[State, Iterator[State]]] = []
        self.met: set[tuple[object, ...]] = set()

    def looks(self, row: int) -> bool:
        return self.kind[row] in (Kind.READ, Kind.DIFFERS, Kind.LOOK)

    def open(self, state: State) -> list[int]:
        """Those that the order does not have, and that may be next."""
        deadline = self.ret[self.returns[state.passed]]
        left = [row for row in self.completed if row not in state.order]
        return [row for row in left if self.call[row] < deadline]

    def ahead(self, state: State) -> frozenset[int]:
        """What the order has before it returns."""
        return frozenset(row for row in state.order if row in self.returns[state.passed :])

    def after(self, value: int, row: int) -> int | None:
        """The value after an operation. None: it cannot be."""
        a, b = self.a[row], self.b[row]
        match self.kind[row]:
            case Kind.READ:
                return value if value == a else None
            case Kind.DIFFERS:
                return value if value != a else None
            case Kind.WRITE:
                return int(b)
            case Kind.CAS:
                return b if value == a else None
            case Kind.CHANGE:
                return b if value != a else None
        assert self.encoded.transitions is not None
        then = self.encoded.transitions.step(value, a)
        return then if then >= 0 else None

    def step(self) -> int:
        self.steps += 1
        if self.entering:
            self.state = state = self.observed(self.state)
            if state.passed == len(self.returns):
                return FOUND_ORDER
            self.deepest = max(self.deepest, state.passed)
            used = () if self.sparing else state.used
            place = state.passed, state.value, used, state.bare, self.ahead(state)
            if place not in self.met:
                self.frames.append((state, self.choices(state)))
            self.met.add(place)
        if not self.frames:
            return EXHAUSTED
        top, choices = self.frames[-1]
        chosen = next(choices, None)
        self.state = chosen or top
        self.entering = chosen is not None
        if chosen is None:
            self.frames.pop()
        return PAUSED

    def observed(self, state: State) -> State:
        """With all that the value satisfies, and past what has returned by then."""
        while state.passed < len(self.returns):
            fits = [row for row in self.open(state) if self.looks(row)]
            fits = [row for row in fits if self.after(state.value, row) == state.value]
            bare = state.bare and not fits
            state = state._replace(order=(*state.order, *fits), bare=bare)
            if self.returns[state.passed] not in state.order:
                break
            while state.passed < len(self.returns) and self.returns[state.passed] in state.order:
                state = state._replace(passed=state.passed + 1)
        return state

    def choices(self, state: State) -> Iterator[State]:
        """What returns next; then what makes the value that it sees; then the rest."""
        own = self.returns[state.passed]
        yield from self.put(state, own)
        sees = self.kind[own] in (Kind.READ, Kind.CAS)
        for direct in (True, False) if sees else (False,):
            for row in self.open(state):
                leads = sees and self.b[row] == self.a[own]
                if row != own and leads == direct and not self.has_earlier_like(state, row):
                    yield from self.put(state, row)
            for number, members in enumerate(self.classes):
                leads = sees and self.b[members[0]] == self.a[own]
                if leads == direct:
                    left = members[state.used[number] :][:1]
                    for row in left:
                        if self.call[row] < self.ret[own]:
                            yield from self.put(state, row, number)

    def has_earlier_like(self, state: State, row: int) -> bool:
        return not self.looks(row) and any(
            self.effect[other] == self.effect[row] and self.ret[other] < self.ret[row]
            for other in self.open(state)
        )

    def put(self, state: State, row: int, number: int = -1) -> Iterator[State]:
        """`number`: its class, of what never returns. A write that nobody sees is followed by no
        write."""
        then = self.after(state.value, row)
        if then is None or (self.looks(row) and then == state.value):
            return
        if self.kind[row] == Kind.WRITE and state.bare:
            return
        used, bare = state.used, False
        if number >= 0:
            if then == state.value:
                return
            used = (*used[:number], used[number] + 1, *used[number + 1 :])
            bare = self.kind[row] != Kind.STEP
        yield State((*state.order, row), state.passed, then, used, bare)


class Kernel:
    """The search by the kernel, with little room in the beginning."""

    def __init__(self, encoded: EncodedHistory, sparing: bool) -> None:
        search = search_of(encoded, sparing)
        words = len(search.place.mask)
        memory, memory_masks = method._nothing_met(4, words)
        nodes, found = only_the_empty(2)
        search.place = search.place._replace(
            frames=np.zeros(2, FRAME),
            masks=np.zeros((2, words), np.int64),
            memory=memory,
            memory_masks=memory_masks,
            nodes=nodes,
            found=found,
        )
        self.search, self.slots = search, search.place.ops["slot"].tolist()

    @property
    def place(self) -> Place:
        return self.search.place

    def used(self, multiset: int) -> tuple[int, ...]:
        place, classes = self.place, range(len(self.place.class_row))
        return tuple(count_of(place.nodes, place.reg.depth, multiset, each) for each in classes)

    def check(self, plain: Plain) -> None:
        place, reg, state = self.place, self.place.reg, plain.state
        assert (reg.entering, reg.deepest) == (plain.entering, plain.deepest)
        order = place.order[: reg.order].tolist()
        assert [plain.ret[row] if row >= 0 else N for row in order] == [
            plain.ret[row] for row in state.order
        ]
        assert self.search.order.tolist() == [*state.order]
        assert (reg.passed, reg.value, reg.bare) == (state.passed, state.value, state.bare)
        assert self.used(reg.used) == state.used
        left = [row for row in plain.completed if row not in state.order]
        assert listed(place) == left
        assert place.done.nonzero()[0].tolist() == sorted({*plain.completed} - {*left})
        assert in_words(place.mask) == {self.slots[row] for row in plain.ahead(state)}
        assert reg.remembered == len(plain.met)
        assert reg.frames == len(plain.frames)
        for each, (known, _) in list(enumerate(plain.frames))[-8:]:
            frame = place.frames[each]
            assert (frame.passed, frame.value, frame.bare) == (
                known.passed,
                known.value,
                known.bare,
            )
            assert (frame.order, self.used(frame.used)) == (len(known.order), known.used)
            assert in_words(place.masks[each]) == {self.slots[row] for row in plain.ahead(known)}

    def check_met(self, plain: Plain) -> None:
        found = set()
        for at in np.flatnonzero(self.place.memory["passed"] >= 0):
            met = self.place.memory[at]
            mask = in_words([met.mask, *self.place.memory_masks[at]])
            used = () if plain.sparing else self.used(met.used)
            found.add((int(met.passed), int(met.value), used, int(met.bare), frozenset(mask)))
        assert found == {
            (passed, value, used, bare, frozenset(self.slots[row] for row in rows))  # type: ignore[attr-defined]
            for passed, value, used, bare, rows in plain.met
        }


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the kernel gave each answer."""
    answers, explore = Counter[str](), method.explore

    def counted(place: Place, work: int) -> int:
        status = explore(place, work)
        answers[NAMES[status]] += 1
        return status

    monkeypatch.setattr(method, "explore", counted)
    return answers


def followed(encoded: EncodedHistory, sparing: bool, most: int = 200) -> int:
    """To the end, by both, or so many steps, of which the number is given."""
    by, plain = Kernel(encoded, sparing), Plain(encoded, sparing)
    while (status := by.search.slice(1)) == PAUSED and plain.steps < most:
        assert plain.step() == PAUSED
        by.check(plain)
    if status != PAUSED:
        assert plain.step() == status
        by.check(plain)
    by.check_met(plain)
    return plain.steps


def cells(rng: random.Random) -> EncodedHistory:
    kinds = rng.choice((CELL_KINDS, CELL_KINDS, (Kind.READ, Kind.WRITE), CELL_KINDS[:4]))
    count, clients, values = rng.randint(8, 14), rng.randint(4, 7), rng.randint(2, 3)
    info, lies = rng.choice((0.2, 0.4, 0.6)), rng.choice((0.1, 0.2))
    return random_cell(rng, count, clients, values, kinds=kinds, info=info, lies=lies)


def models(rng: random.Random) -> EncodedHistory:
    count, clients, info = rng.randint(6, 12), rng.randint(3, 6), rng.choice((0.2, 0.4, 0.6))
    if rng.random() < 0.5:
        return random_known(rng, count, clients, info=info)
    return random_strings(rng, count, clients, info=info, lies=0.1)


MAZES = [
    *((cells, seed) for seed in (51, 164, 174, 350, 368, 435, 462, 470, 504, 549)),
    *((models, seed) for seed in (11, 212, 258, 271, 335, 358, 362, 491, 566)),
]
"""Those in which the way is lost often, of hundreds that were drawn."""


@pytest.mark.parametrize(
    ("make", "seed", "sparing"),
    [
        *((*maze, False) for maze in MAZES),
        *((make, seed, True) for make, seed in MAZES if seed in (174, 462, 212, 566)),
    ],
)
def test_at_each_step_it_is_where_plain_sets_are(
    make: Callable[[random.Random], EncodedHistory],
    seed: int,
    sparing: bool,
    asked: Counter[str],
) -> None:
    steps = followed(make(random.Random(seed)), sparing)
    assert 30 <= steps < 200
    assert asked["frames"] >= 2 and asked["memory"] >= 2
    assert asked["step"] > 0 or make is cells


def test_of_many_open_at_once_masks_have_several_words() -> None:
    """Of 130 writes, and as many reads, the last of which sees what was never written."""
    count = 130
    call = [*range(count), *range(300, 303)]
    ret = [*range(140, 140 + count), *range(310, 313)]
    b = [1 + row % 7 for row in range(count)] + [-1] * 3
    kind = [int(Kind.WRITE)] * count + [int(Kind.READ)] * 3
    encoded = encoded_of(call, ret, kind, [-1] * count + [3, 3, 9], b)
    assert len(Kernel(encoded, sparing=False).place.mask) == 3
    assert followed(encoded, sparing=False, most=150) == 150
