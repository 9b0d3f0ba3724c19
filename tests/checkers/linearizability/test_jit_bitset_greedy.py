"""Easy orders of the JIT bitset: found where the rule that makes them finds one."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from checkers.linearizability.encoded import NEVER, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.methods.jit_bitset import greedy
from checkers.linearizability.methods.jit_bitset.greedy import easily_ordered, has_easy_order
from tests.checkers.linearizability.encoded_oracle import (
    after,
    encoded_of,
    random_cell,
    shuffled_times,
    written,
)

N = int(NEVER)
KINDS = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS, Kind.CHANGE)
OPEN = 62


class Rule:
    """One key, operation by operation."""

    def __init__(self, history: EncodedHistory) -> None:
        self.of = history
        self.value = history.initial
        self.open: dict[int, int] = {}
        """Rows by place: each has the lowest that is free."""

    def has_order(self) -> bool:
        ret = self.of.ret
        for row, call in enumerate(self.of.call):
            while self.due() < call:
                if not self.returns():
                    return False
            if self.of.kind[row] < Kind.WRITE and (ret[row] == N or self.fits(row)):
                continue
            if len(self.open) == OPEN:
                if ret[row] != N:
                    return False
                continue
            self.open[min(set(range(OPEN)) - set(self.open))] = row
        while self.due() < N:
            if not self.returns():
                return False
        return True

    def due(self) -> int:
        return min((int(self.of.ret[row]) for row in self.open.values()), default=N)

    def fits(self, row: int) -> bool:
        return after(self.of, self.value, row) is not None

    def returns(self) -> bool:
        """Whether the one that returns first takes effect, or another before it."""
        place = min(self.open, key=lambda place: int(self.of.ret[self.open[place]]))
        if not self.fits(self.open[place]):
            place = self.leading_to(place)
        if place < 0:
            return False
        self.value = int(self.of.b[self.open.pop(place)])
        for each, row in list(self.open.items()):
            if self.of.kind[row] < Kind.WRITE and self.fits(row):
                del self.open[each]
        return True

    def leading_to(self, waiting: int) -> int:
        leads = [place for place in self.open if self.leads(place, waiting)]
        return min(leads, key=lambda place: (int(self.of.ret[self.open[place]]), place), default=-1)

    def leads(self, place: int, waiting: int) -> bool:
        row = self.open[place]
        if place == waiting or self.of.kind[row] < Kind.WRITE:
            return False
        then = after(self.of, self.value, row)
        return then is not None and after(self.of, then, self.open[waiting]) is not None


def is_easy(history: EncodedHistory) -> bool:
    columns = (history.call, history.ret, history.kind, history.a, history.b)
    rows = np.empty(OPEN, np.int64)
    return has_easy_order(*columns, 0, len(history), history.initial, rows)


def histories(count: int) -> Iterator[EncodedHistory]:
    """Of those that have many operations open nearly none gets through unless it is true."""
    rng = random.Random(8)
    for number in range(count):
        clients, values = rng.randint(1, 6), rng.randint(1, 3)
        if number % 2:
            yield random_cell(rng, rng.randint(1, 14), clients, values, lies=0.05)
            continue
        kind = [rng.choice(KINDS) for _ in range(rng.randint(1, 8))]
        pending = [rng.random() < 0.2 for _ in kind]
        call, ret = shuffled_times(rng, len(kind), clients, pending)
        a, b = ([rng.randint(0, values) for _ in kind] for _ in "ab")
        yield encoded_of(call, ret, kind, a, b, initial=rng.randrange(2))


def test_an_order_is_easy_where_the_rule_makes_one() -> None:
    found = 0
    for history in histories(800):
        easy = is_easy(history)
        assert easy == Rule(history).has_order()
        found += easy
    assert 250 < found < 600


def test_who_goes_before_what_cannot_go_yet() -> None:
    """The open one that returns first, of those that lead there; pending ones last."""
    found = set()
    rng = random.Random(9)
    for history in histories(80):
        rule = Rule(history)
        places = sorted(rng.sample(range(rng.choice([14, OPEN])), len(history)))
        rule.open = dict(zip(places, range(len(history)), strict=True))
        rows = np.zeros(OPEN, np.int64)
        rows[places] = range(len(history))
        opened = sum(1 << place for place in places)
        for waiting in places:
            columns = (history.ret, history.kind, history.a, history.b)
            if history.kind[rule.open[waiting]] == Kind.WRITE:
                continue
            for value in range(3):
                rule.value = value
                goes = greedy._leading_to(*columns, rows, opened, waiting, value)
                assert goes == rule.leading_to(waiting)
                found.add(goes if goes < 1 else 1)
    assert found == {-1, 0, 1}


def filled(extra: str) -> EncodedHistory:
    """After 61 pending writes of 1."""
    return written(" ".join(f"{row}-:w1" for row in range(OPEN - 1)) + " " + extra)


@pytest.mark.parametrize(
    ("extra", "easy"),
    [
        ("70-:w5 71-72:r5", False),
        ("70-:w5 71-72:d5", True),
        ("70-80:r5 71-:w5", False),
        ("70-80:r5", False),
        ("70-80:w5", True),
        ("70-80:w5 71-79:r5", False),
        ("70-80:w5 81-82:r5 83-84:r1", True),
        ("70-80:w5 81-:w7 82-83:r7", False),
        ("70-80:w5 71-:w7", True),
        ("70-80:w5 71-:w7 81-82:r1", True),
        ("70-80:w5 71-:w7 81-82:r7", False),
    ],
)
def test_so_many_are_open_at_once(extra: str, easy: bool) -> None:
    """What is pending is forgotten where there is no room; what returns has no easy order."""
    history = filled(extra)
    assert Rule(history).has_order() == is_easy(history) == easy


def test_of_many_keys_those_that_are_short() -> None:
    rng = random.Random(1)
    keys = [random_cell(rng, rng.randint(3, 5), 2, 2, lies=0.1) for _ in range(60)]
    joined = EncodedKeys.of(keys)
    columns = (joined.call, joined.ret, joined.kind, joined.a, joined.b)
    joined.initial[::3] = 1
    ordered = [Rule(joined[number]).has_order() for number in range(60)]
    for tiny in (0, 3, 4, 5):
        easy = easily_ordered(*columns, joined.starts, joined.initial, tiny)
        short = [len(key) <= tiny for key in keys]
        assert easy.tolist() == [o and s for o, s in zip(ordered, short, strict=True)]
    assert 20 < sum(ordered) < 50
