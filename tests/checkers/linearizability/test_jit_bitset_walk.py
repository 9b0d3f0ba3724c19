"""Walks of "jit bitset": at each stop what sets of rows and values say, written plainly."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pytest

from checkers.linearizability.encoded import NEVER, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.methods.jit_bitset import kernel
from checkers.linearizability.methods.jit_bitset.kernel import (
    _DEAD,
    _PAUSE,
    _TURN,
    ORDERED,
    UNDECIDED,
)
from checkers.linearizability.methods.jit_bitset.pending import PENDING, USED, WANTED, Pending
from checkers.linearizability.methods.jit_bitset.sets import (
    ANY,
    BLOCK,
    FEW,
    IN_WORD,
    LANES,
    NO_LANE,
    OPEN,
    SLOTS,
    Open,
    Words,
)
from checkers.linearizability.methods.jit_bitset.slots import NO_RETURN, start
from tests.checkers.linearizability.bitset_states import CHANGES, as_set, bits, mask
from tests.checkers.linearizability.encoded_oracle import random_cell, written

N = int(NEVER)
EVERY = 32
Configuration: TypeAlias = tuple[int, frozenset[int]]
"""A value, and the open rows that have taken effect."""


class Key:
    """Rows `begin` to `end` of a table with other keys beside it."""

    def __init__(
        self, history: EncodedHistory, exact: bool = True, wanted: float = 0, spare: int = N
    ) -> None:
        """`wanted`: the share of what never returns for which it is known before that it helps."""
        beside, rng = written("0-1:w2 2-:w3 3-5:r0"), random.Random(len(history))
        self.of = of = EncodedKeys.of([beside, history, beside])
        self.begin, self.end = (int(each) for each in of.starts[1:3])
        self.initial, self.exact, self.spare = history.initial, exact, spare
        self.call, self.ret = of.call.tolist(), of.ret.tolist()
        self.kind, self.a, self.b = of.kind.tolist(), of.a.tolist(), of.b.tolist()
        rows = [row for row in range(self.begin, self.end) if self.leads(row) and self.never(row)]
        self.wanted = frozenset(row for row in rows if rng.random() < wanted)

    def never(self, row: int) -> bool:
        return self.ret[row] == N

    def leads(self, row: int) -> bool:
        return self.kind[row] in CHANGES

    def fits(self, value: int, row: int) -> bool:
        asks = self.kind[row] in (Kind.READ, Kind.CAS)
        return self.kind[row] == Kind.WRITE or asks == (value == self.a[row])


@dataclass
class Plain:
    """The walk by rows and values."""

    key: Key
    now: set[Configuration] = field(default_factory=set)
    open: dict[int, int] = field(default_factory=dict)
    """Rows with their slots: each has the lowest that is free."""
    lanes: list[int] = field(default_factory=lambda: [-1] * LANES)
    """Values: each has the first lane whose value nothing has or leads to."""
    called: list[int] = field(default_factory=list)
    """What is pending; once more where the walk turns at it."""
    used: dict[int, int] = field(default_factory=dict)
    at: int = 0
    returns: int = 0
    spare: int = 0

    def __post_init__(self) -> None:
        self.at, self.spare = self.key.begin, self.key.spare
        self.now, self.lanes[0] = {(self.key.initial, frozenset())}, self.key.initial

    @property
    def live(self) -> set[int]:
        to = {self.key.b[row] for row in self.open if self.key.leads(row)}
        return to | {value for value, _ in self.now}

    @property
    def high(self) -> int:
        return mask(self.open.values()) >> IN_WORD

    def step(self, wide: bool) -> int | None:
        """An event; what ends the walk there."""
        due = min((self.key.ret[row] for row in self.open), default=N)
        if self.at < self.key.end and self.key.call[self.at] < due:
            return self.call(self.at, wide)
        if due == N:
            return ORDERED
        return self.ret(min(self.open, key=lambda row: self.key.ret[row]), wide)

    def call(self, row: int, wide: bool) -> int | None:
        never, leads = self.key.never(row), self.key.leads(row)
        waits = never and leads and not self.key.exact
        if waits:
            self.called.append(row)
        if (waits and row not in self.key.wanted) or (
            self.key.never(row) and not self.key.leads(row)
        ):
            self.at += 1
            return _PAUSE if waits and len(self.called) == 1 else None
        b, live = self.key.b[row], self.live
        free = [lane for lane in range(LANES if wide else FEW) if self.lanes[lane] not in live]
        slots = set(range(SLOTS if wide else IN_WORD)) - set(self.open.values())
        fresh = leads and b not in self.lanes
        if not slots or (fresh and not free):
            return UNDECIDED if wide else _TURN
        if fresh:
            self.lanes[free[0]] = b
        self.open[row] = min(slots)
        self.now = {self.seen(value, done) for value, done in self.now}
        self.at += 1
        return None

    def seen(self, value: int, done: frozenset[int]) -> Configuration:
        """With all open observers that the value satisfies."""
        sees = [row for row in self.open if not self.key.leads(row)]
        return value, done.union(each for each in sees if self.key.fits(value, each))

    def ret(self, row: int, wide: bool) -> int | None:
        self.spare -= 1 + self.high
        self.now = {(value, done - {row}) for value, done in self.reached(row)}
        if not self.now:
            return _DEAD
        self.returns += 1
        del self.open[row]
        pending = [each for each in self.open if self.key.never(each)]
        gone = {each for each in pending if all(each in done for _, done in self.now)}
        self.now = {(value, done - gone) for value, done in self.now}
        for each in gone:
            del self.open[each]
            self.used[each] = self.returns
        if self.spare < 0:
            return UNDECIDED
        if self.called and self.returns % EVERY == 0:
            return _PAUSE
        few = not self.high and not self.live & set(self.lanes[FEW:])
        return _TURN if wide and few else None

    def reached(self, last: int) -> set[Configuration]:
        """Those that have the last one, each as soon as it does."""
        todo, known = list(self.now), set(self.now)
        while todo:
            value, done = todo.pop()
            if last not in done:
                made = {
                    self.seen(self.key.b[row], done | {row})
                    for row in self.open
                    if row not in done and self.key.leads(row)
                    if self.key.fits(value, row)
                }
                todo += made - known
                known |= made
        return {each for each in known if last in each[1]}


class Kernel:
    """The walk by the kernel."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.sets: Words = np.zeros(BLOCK << (SLOTS - IN_WORD), np.uint64)
        self.slots: Open = np.zeros(1, OPEN)[0]
        self.slots.value[:] = -1
        self.pending: Pending = np.zeros(len(key.call) + 1, PENDING)
        self.pending["mark"][[row - key.begin for row in key.wanted]] = WANTED
        self.lane_of = np.full(max(*key.a, *key.b, key.initial) + 2, NO_LANE, np.int64)
        self.lane_of[-1] = ANY
        start(self.sets, self.slots, self.lane_of, key.begin, key.initial, key.spare)

    def walk(self, wide: bool) -> int:
        of, key = self.key.of, self.key
        walk = kernel._walk_wide if wide else kernel._walk_few
        rest = (key.exact, self.lane_of, self.sets, self.slots, self.pending)
        return walk(of.call, of.ret, of.kind, of.a, of.b, key.begin, key.end, *rest)

    def check(self, plain: Plain) -> None:
        slots = self.slots
        open_ = {int(slots.row[slot]): slot for slot in bits(slots.taken)}
        assert open_ == plain.open and len(open_) == slots.taken.bit_count()
        rows = {slot: row for row, slot in open_.items()}
        assert plain.now == {
            (int(slots.value[lane]), frozenset(rows[slot] for slot in done))
            for lane, done in as_set(self.sets)
        }
        assert slots.value.tolist() == plain.lanes
        assert self.lane_of[:-1].tolist() == [
            plain.lanes.index(value) if value in plain.lanes else NO_LANE
            for value in range(len(self.lane_of) - 1)
        ]
        assert (slots.at, slots.returns, slots.spare) == (plain.at, plain.returns, plain.spare)
        assert slots.waiting == len(plain.called)
        assert self.pending["called"][: slots.waiting].tolist() == plain.called
        self.check_slots(plain)
        marks = dict.fromkeys(self.key.wanted, (WANTED, 0))
        marks |= {row: (USED, returns) for row, returns in plain.used.items()}
        for row in range(self.key.begin, self.key.end):
            known = self.pending[row - self.key.begin]
            assert (known.mark, known.end) == marks.get(row, (0, 0))

    def check_slots(self, plain: Plain) -> None:
        of, slots = self.key, self.slots

        def those(*kinds: Kind) -> int:
            return mask([slot for row, slot in plain.open.items() if of.kind[row] in kinds])

        assert (slots.mutators, slots.denying) == (those(*CHANGES), those(Kind.DIFFERS))
        assert slots.changes == those(Kind.CHANGE)
        never = [slot for row, slot in plain.open.items() if self.key.never(row)]
        assert slots.optional == mask(never)
        due, led_to = [NO_RETURN] * 16, [0] * LANES
        for row, slot in plain.open.items():
            needs = -1 if of.kind[row] == Kind.WRITE else of.a[row]
            assert (slots.needs[slot], slots.source[slot]) == (needs, self.lane_of[needs])
            if self.key.leads(row):
                lane = plain.lanes.index(of.b[row])
                assert slots.target[slot] == lane
                led_to[lane] += 1
            if not self.key.never(row):
                due[slot] = of.ret[row] << 4 | slot
        assert slots.due.tolist() == due and slots.next == min(due)
        assert slots.led_to[:LANES].tolist() == led_to
        for lane, value in enumerate(plain.lanes):
            _, seen = plain.seen(value, frozenset())
            if value >= 0:
                assert slots.holds[lane] == mask([plain.open[row] for row in seen])


NAMES = {ORDERED: "ordered", UNDECIDED: "left", _DEAD: "dead", _PAUSE: "pause", _TURN: "turn"}


def followed(key: Key) -> Counter[str]:
    """To the end, by both; where it stopped."""
    by, plain = Kernel(key), Plain(key)
    wide, stops = False, Counter[str]()
    while True:
        how, expected = by.walk(wide), None
        while expected is None:
            expected = plain.step(wide)
        assert how == expected
        by.check(plain)
        stops[NAMES[how] + " wide" * wide] += 1
        if how == _DEAD:
            due = min(plain.open, key=lambda row: key.ret[row])
            assert by.slots.row[by.slots.last] == due
        if how not in (_TURN, _PAUSE):
            return stops
        wide ^= how == _TURN


@pytest.mark.parametrize("seed", range(4))
def test_at_each_stop_it_is_where_plain_sets_are(seed: int) -> None:
    rng = random.Random(seed)
    stops = Counter[str]()
    for _ in range(50):
        clients, values = rng.choice([2, 4, 6, 7, 9, 12]), rng.choice([2, 4, 12, 20])
        lies, info = rng.choice([0, 0.02, 0.1]), rng.choice([0, 0.1])
        history = random_cell(rng, rng.randint(6, 40), clients, values, lies=lies, info=info)
        exact, wanted = rng.random() < 0.6, rng.choice([0.1, 0.6])
        spare = rng.choice([rng.randrange(40), N])
        stops += followed(Key(history, exact, wanted, spare))
    assert {*NAMES.values(), "turn wide"} <= set(stops)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "0-:r7 1-2:w1 3-4:r1",
        "0-1:w1 2-:d1 3-5:r1 4-:r2",
        "0-9:w1 1-:r1 2-8:w2 3-:w3 4-:d5 5-7:r2 6-:c2>1",
    ],
)
def test_what_looks_and_never_returns_is_passed_over(text: str, exact: bool) -> None:
    assert followed(Key(written(text), exact, wanted=1.0))["ordered"] == 1
