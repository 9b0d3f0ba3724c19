"""Pending operations of the JIT bitset: which of them may help, and from where it goes on then."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from checkers.linearizability.encoded import NEVER, Codes, Ints, Kind
from checkers.linearizability.methods.jit_bitset import pending as pending_
from checkers.linearizability.methods.jit_bitset.pending import (
    IDLE,
    KEPT,
    NOW,
    PENDING,
    USED,
    WANTED,
    Past,
    Pending,
    go_back,
    is_made,
    one_that_helps,
    save,
)
from checkers.linearizability.methods.jit_bitset.sets import (
    ANY,
    BLOCK,
    IN_WORD,
    LANES,
    NO_LANE,
    OPEN,
    SLOTS,
    Open,
    Words,
)
from checkers.linearizability.methods.jit_bitset.slots import NO_RETURN
from tests.checkers.linearizability.bitset_states import CHANGES, as_bits, as_set, bits, mask
from tests.checkers.linearizability.encoded_oracle import written

BEGIN = 3
"""Rows before are another key's."""
VALUES = 6
LATELY = 64


class Called:
    """Rows of a key with some that were called and have not returned, and others in slots."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        count = rng.choice([5, 10, 90])
        kind = [
            int(rng.choice([*CHANGES, Kind.CAS, Kind.READ, Kind.DIFFERS]))
            for _ in range(BEGIN + count)
        ]
        self.kind: NDArray[np.int8] = np.array(kind, np.int8)
        values = rng.choice([3, VALUES, 40])
        self.a, self.b = (
            np.array([rng.randrange(values) for _ in kind], np.int32) for _ in range(2)
        )
        rows = [row for row in range(BEGIN, BEGIN + count) if rng.random() < 0.85]
        self.called = [row for row in rows if kind[row] in CHANGES] if count < 90 else rows
        self.pending: Pending = np.zeros(count + 1, PENDING)
        self.pending["called"][: len(self.called)] = self.called
        self.pending["called"][len(self.called) :] = BEGIN + count - 1
        idle = rng.choice([0.1, 0.9])
        self.pending["mark"] = [
            IDLE if rng.random() < idle else rng.choice([WANTED, USED]) for _ in range(count + 1)
        ]
        self.slots: Open = np.zeros(1, OPEN)[0]
        taken = rng.sample(range(SLOTS), rng.randint(1, 5))
        self.slots.row[:SLOTS] = rng.choices(range(BEGIN, BEGIN + count), k=SLOTS)
        self.slots.taken, self.slots.last = mask(taken), rng.choice(taken)
        self.slots.waiting, self.slots.at = len(self.called), BEGIN + rng.randint(0, count)
        self.culprit = int(self.slots.row[self.slots.last])

    def use_up(self, value: int) -> None:
        """Nothing that makes it is idle."""
        for row in self.called:
            if self.b[row] == value:
                self.pending[row - BEGIN].mark = USED

    @property
    def columns(self) -> tuple[NDArray[np.int8], Codes, Codes]:
        return self.kind, self.a, self.b

    def leading_to(self, value: int, same: bool) -> int:
        lately = [row for row in self.called[-LATELY:] if self.pending[row - BEGIN].mark == IDLE]
        rows = [row for row in lately if (self.b[row] == value) == same]
        writes = [row for row in rows if self.kind[row] == Kind.WRITE]
        return (writes or rows or [-1])[-1]

    def that_helps(self) -> int:
        needed, same = self.a[self.culprit], self.kind[self.culprit] in (Kind.READ, Kind.CAS)
        found = self.leading_to(needed, same)
        if found >= 0 or not same:
            return found
        open_ = [int(self.slots.row[slot]) for slot in bits(self.slots.taken)]
        for row in [*open_, *reversed(self.called[-LATELY:])]:
            if found < 0 and self.kind[row] == Kind.CAS and self.b[row] == needed:
                found = self.leading_to(self.a[row], True)
        return found


def test_what_leads_to_a_value() -> None:
    """In one step: the last one called, rather a write."""
    found, late = set(), 0
    for some in map(Called, range(60)):
        for value in range(4):
            for same in (True, False):
                columns = some.kind, some.b, BEGIN, some.slots, some.pending
                leads = pending_._leading_to(value, same, *columns)
                assert leads == some.leading_to(value, same)
                found.add(leads)
        late += len(some.called) > LATELY
    assert {-1, BEGIN} <= found and late > 10


def test_what_may_lead_to_what_a_return_needs() -> None:
    """In one step or, by a cas that is open or pending, in two."""
    ends = Counter[tuple[bool, bool]]()
    for some in map(Called, range(300)):
        if some.rng.random() < 0.7:
            some.use_up(some.a[some.culprit])
        helps = one_that_helps(*some.columns, BEGIN, some.slots, some.pending)
        assert helps == some.that_helps()
        asks = some.kind[some.culprit] in (Kind.READ, Kind.CAS)
        ends[helps >= 0, asks and some.b[helps] != some.a[some.culprit]] += 1
    assert len(ends) == 4 and min(ends.values()) > 20


@pytest.mark.parametrize(
    ("text", "used", "open_", "row"),
    [
        ("0-:w1 1-:c1>2 2-9:r2", [], [], 1),
        ("0-:w1 1-:c1>2 2-9:r2", [1], [], 0),
        ("0-:c1>2 1-:w1 2-9:r2", [0], [], 1),
        ("0-9:c1>2 1-:w1 2-9:r2", [], [], -1),
        ("0-9:c1>2 1-:w1 2-9:r2", [], [0], 1),
        ("0-:w1 1-:w3 2-:c3>2 3-:c1>2 4-9:r2", [2, 3], [], 0),
        ("0-:w1 1-:w3 2-9:c1>2 3-9:c3>2 4-9:r2", [], [2, 3], 0),
        ("0-:w1 1-9:c1>1 2-9:d1", [], [1], -1),
        ("0-:w1 1-9:c1>1 2-9:d1", [], [], -1),
        ("0-:w2 1-9:d1", [], [], 0),
    ],
)
def test_who_helps_the_last_one(text: str, used: list[int], open_: list[int], row: int) -> None:
    """It needs a value that nothing open has, or has all of the time."""
    history = written(text)
    slots, pending = np.zeros(1, OPEN)[0], np.zeros(len(history) + 1, PENDING)
    called = np.flatnonzero(history.ret == NEVER)
    pending["called"][: len(called)], slots.waiting = called, len(called)
    pending["mark"][used] = USED
    slots.row[: len(open_)], slots.taken = open_, mask(range(len(open_)))
    slots.last, slots.row[5] = 5, len(history) - 1
    assert one_that_helps(history.kind, history.a, history.b, 0, slots, pending) == row


def test_whether_anybody_makes_what_a_return_needs() -> None:
    found = []
    for seed in range(300):
        some = Called(seed)
        made = {int(some.b[row]) for row in range(BEGIN, some.slots.at) if some.kind[row] > 1}
        needed, initial = int(some.a[some.culprit]), some.rng.randrange(3)
        asks = some.kind[some.culprit] in (Kind.READ, Kind.CAS)
        right = not asks or needed == initial or needed in made
        assert is_made(*some.columns, BEGIN, initial, some.slots) == right
        found.append(right)
    assert 30 < found.count(False) < 270


@dataclass
class Ring:
    """Snapshots, and what they should be: of each, by number, the next row and a mark."""

    sets: Words = field(default_factory=lambda: as_bits({(0, frozenset())}))
    past_sets: Words = field(
        default_factory=lambda: np.full((KEPT, BLOCK << (SLOTS - IN_WORD)), 7, np.uint64)
    )
    past: Past = field(default_factory=lambda: np.zeros(KEPT + 1, OPEN))
    lane_of: Ints = field(default_factory=lambda: np.full(VALUES + 1, NO_LANE, np.int64))
    pending: Pending = field(default_factory=lambda: np.zeros(300, PENDING))
    kept: int = 0

    def __post_init__(self) -> None:
        self.lane_of[-1] = ANY
        self.now.value[:] = -1

    @property
    def now(self) -> Any:
        return self.past[NOW]

    def save(self) -> None:
        save(self.sets, self.past_sets, self.past, self.kept % KEPT)
        self.kept += 1

    def go_back(self, row: int, wanted: int = 0, kind: int = Kind.WRITE) -> int:
        """All operations change 0 to 1, or write it."""
        size = len(self.pending) + BEGIN
        columns = np.full(size, kind, np.int8), np.zeros(size, np.int32), np.ones(size, np.int32)
        rest = self.lane_of, self.sets, self.past_sets, self.past, self.kept, self.pending, wanted
        return go_back(row, *columns, BEGIN, *rest)


def test_it_goes_back_to_the_last_snapshot_before_that_is_still_there() -> None:
    rng = random.Random(2)
    ends = set()
    for _ in range(30):
        ring, at = Ring(), 0
        ats: list[int] = []
        oldest = stamp = 0
        stamps: dict[int, int] = {}
        while True:
            for _ in range(rng.randint(1, 12)):
                at, stamp = at + rng.randint(1, 3), stamp + 1
                stamps[len(ats)], oldest = stamp, max(oldest, len(ats) + 1 - KEPT)
                ats.append(at)
                ring.now.at, ring.now.returns = at, stamp
                ring.save()
            row, culprit = at - rng.randint(0, 20), at - rng.randint(0, 40)
            ring.now.last = rng.randrange(SLOTS)
            ring.now.row[:] = 10_000
            ring.now.row[ring.now.last] = culprit
            before = max(row + 1, culprit)
            goes = [number for number, each in enumerate(ats) if each <= before]
            kept = ring.go_back(row)
            if not goes or goes[-1] < oldest:
                ends.add(bool(goes))
                assert kept == 0
                break
            assert kept == len(goes)
            assert (ring.now.at, ring.now.returns) == (ats[kept - 1], stamps[kept - 1])
            ring.kept, at = kept, ats[kept - 1]
            del ats[kept:]
    assert ends == {True, False}


def test_a_snapshot_is_as_it_was() -> None:
    """But for the work that is spare: that was done."""
    rng = random.Random(3)
    for _ in range(30):
        ring, kept = Ring(), None
        for last in (False, True):
            taken = rng.sample(range(SLOTS), 4)
            some = {
                (lane, frozenset(rng.sample(taken, rng.randrange(4)))) for lane in range(VALUES)
            }
            ring.sets[:] = as_bits({(lane * 3, slots) for lane, slots in some})
            ring.now.taken, ring.now.spare, ring.now.at = mask(taken), rng.randrange(99), last
            ring.now.holds[:] = rng.randrange(99)
            ring.lane_of[:-1], ring.now.value[:] = NO_LANE, -1
            for value in rng.sample(range(VALUES), 4):
                lane = rng.choice(np.flatnonzero(ring.now.value == -1).tolist())
                ring.lane_of[value], ring.now.value[lane] = lane, value
            if not last:
                ring.save()
                kept = as_set(ring.sets), ring.now.copy(), ring.lane_of.copy()
        assert kept is not None
        spare = ring.now.spare
        pending_._restore(ring.sets, ring.lane_of, ring.past_sets, ring.past, 0)
        assert as_set(ring.sets) == kept[0]
        assert sum(map(int.bit_count, ring.sets.tolist())) == len(kept[0])
        assert ring.now.spare == spare
        ring.now.spare = kept[1].spare
        assert ring.now == kept[1] and (ring.lane_of == kept[2]).all()


@pytest.mark.parametrize("kind", CHANGES)
def test_what_was_wanted_since_is_wanted_again(kind: Kind) -> None:
    """It gets a slot where it was called by then; of what was wanted only the last is looked at."""
    rng = random.Random(4)
    for _ in range(60):
        ring = Ring()
        ring.now.at, ring.now.returns, ring.now.value[0] = 50, 9, 0
        open_ = {rng.randrange(BEGIN, 50): slot for slot in rng.sample(range(SLOTS), 2)}
        for row, slot in open_.items():
            ring.now.row[slot] = row
            ring.now.optional |= 1 << slot
        ring.now.taken = ring.now.optional | 1 << rng.randrange(SLOTS)
        ring.lane_of[0] = 0
        ring.save()
        ever = rng.choices([*range(45, 55), *open_], k=rng.choice([3, 66]))
        rest = sorted(set(ever[-LATELY:]))
        ring.pending["ever"][: len(ever)] = ever
        ring.pending["ever"][len(ever) :] = 44
        ring.pending["end"] = rng.choices([8, 9, 10], weights=[4, 4, 2], k=300)
        ring.pending["mark"] = USED
        for row in open_:
            ring.pending[row - BEGIN].end = 10
        again = [row for row in rest if ring.pending[row - BEGIN].end > 9]
        slots = [row for row in again if row < 50 and row not in open_]
        room = SLOTS - ring.now.taken.bit_count() >= len(slots)
        before = ring.pending.copy()
        kept = ring.go_back(60, len(ever), kind)
        assert kept == room
        if not room:
            continue
        rows = {int(ring.now.row[slot]) for slot in bits(ring.now.optional)}
        assert rows == {*open_, *slots}
        before["mark"][[row - BEGIN for row in again]] = WANTED
        before["end"][[row - BEGIN for row in again]] = NO_RETURN
        assert (ring.pending == before).all()


def test_where_there_is_no_room_for_what_is_wanted() -> None:
    """No slot, or no lane."""
    for taken, lanes, kept in ((SLOTS, 1, 0), (SLOTS - 1, 1, 1), (0, LANES, 0), (0, LANES - 1, 1)):
        ring = Ring()
        ring.now.at, ring.now.taken = 50, mask(range(taken))
        ring.sets[:] = as_bits({(lane, frozenset()) for lane in range(lanes)})
        ring.save()
        ring.pending["ever"], ring.pending["end"] = 30, 1
        assert ring.go_back(60, 1) == kept


def test_which_pending_operations_are_open() -> None:
    slots: Open = np.zeros(1, OPEN)[0]
    slots.row[:SLOTS] = np.arange(20, 20 + SLOTS)
    slots.optional = mask([0, 4, 11])
    open_ = [row for row in range(18, 36) if pending_._is_open(row, slots)]
    assert open_ == [20, 24, 31]
