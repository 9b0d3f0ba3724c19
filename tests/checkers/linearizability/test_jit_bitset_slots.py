"""Slots and lanes of the JIT bitset: who gets one, and what is known of it then."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from checkers.linearizability.encoded import Ints, Kind
from checkers.linearizability.methods.jit_bitset.sets import (
    ANY,
    FEW,
    IN_WORD,
    LANES,
    NO_LANE,
    OPEN,
    SLOTS,
    Open,
    Words,
)
from checkers.linearizability.methods.jit_bitset.slots import (
    NO_RETURN,
    clear,
    close_optional,
    lane_for,
    lanes_used,
    open_optional,
    start,
)
from tests.checkers.linearizability.bitset_states import (
    CHANGES,
    Configuration,
    as_bits,
    as_set,
    bits,
    mask,
)

VALUES = 20


@dataclass
class State:
    """Open operations in slots, values in lanes, and some configurations."""

    slots: Open
    lane_of: Ints
    sets: Words
    configurations: set[Configuration] = field(default_factory=set)

    @classmethod
    def at_random(cls, seed: int) -> "State":
        rng = random.Random(seed)
        slots: Open = np.zeros(1, OPEN)[0]
        lane_of = np.full(VALUES + 1, NO_LANE, np.int64)
        lane_of[-1] = ANY
        slots.value[:] = -1
        lanes = rng.choice([FEW, LANES])
        for lane, value in enumerate(rng.sample(range(VALUES), lanes)):
            if rng.random() < 0.8:
                slots.value[lane], lane_of[value] = value, lane
        count = rng.randint(0, 7) if seed % 5 else SLOTS - seed // 5 % 3
        taken = sorted(rng.sample(range(SLOTS), count))
        slots.taken = mask(taken)
        for slot in taken:
            kind = rng.choice(list(Kind)[:5])
            needs = -1 if kind == Kind.WRITE else rng.randrange(VALUES)
            slots.needs[slot], slots.source[slot] = needs, lane_of[needs]
            bit = 1 << slot
            slots.mutators |= bit * (kind in CHANGES)
            slots.denying |= bit * (kind == Kind.DIFFERS)
            slots.changes |= bit * (kind == Kind.CHANGE)
            slots.led_to[rng.randrange(lanes)] += kind in CHANGES
        empty = set(rng.sample(range(lanes), rng.randrange(4))) if seed % 9 else {lanes - 1}
        some = {
            (lane, frozenset(slot for slot in taken if rng.random() < 0.4))
            for lane in set(range(lanes)) - empty
        }
        return cls(slots, lane_of, as_bits(some), some)

    def copy(self) -> "State":
        slots = self.slots.copy()  # type: ignore[attr-defined]
        return State(slots, self.lane_of.copy(), self.sets.copy(), self.configurations)

    def free(self, most: int) -> list[int]:
        used = {lane for lane, _ in self.configurations}
        return [lane for lane in range(most) if not self.slots.led_to[lane] and lane not in used]

    def names(self, value: int, lane: int) -> None:
        """From now on the lane is the value's."""
        slots, before = self.slots, int(self.slots.value[lane])
        if before >= 0:
            self.lane_of[before] = NO_LANE
        self.lane_of[value], slots.value[lane], slots.holds[lane] = lane, value, 0
        for slot in bits(slots.taken):
            if slots.needs[slot] >= 0:
                slots.source[slot] = self.lane_of[slots.needs[slot]]
            same, denies = slots.needs[slot] == value, slots.denying >> slot & 1
            if not slots.mutators >> slot & 1 and same != denies:
                slots.holds[lane] |= 1 << slot

    def is_as(self, other: "State") -> bool:
        return (
            bytes(memoryview(self.slots)) == bytes(memoryview(other.slots))  # type: ignore[arg-type]
            and self.lane_of.tolist() == other.lane_of.tolist()
            and self.sets.tolist() == other.sets.tolist()
        )


def states() -> Iterator[State]:
    return map(State.at_random, range(150))


def test_a_value_gets_the_first_lane_that_is_free() -> None:
    found = set()
    for state in states():
        for most in (FEW, LANES):
            for value in np.flatnonzero(state.lane_of[:VALUES] == NO_LANE)[:2].tolist():
                now, then, slots = state.copy(), state.copy(), state.slots
                lane = (now.free(most) or [NO_LANE])[0]
                made = lane_for(
                    value, most, now.lane_of, now.sets, now.slots, slots.taken, slots.mutators,
                    slots.denying,
                )  # fmt: skip
                if lane != NO_LANE:
                    then.names(value, lane)
                assert made == lane and now.is_as(then)
                found.add(lane)
    assert {0, 1, FEW - 1, FEW, LANES - 1, NO_LANE} <= found


def test_a_few_lanes_do_where_the_others_are_empty() -> None:
    found = set()
    for state in states():
        led = state.slots.led_to[FEW:LANES].any()
        few = not led and all(lane < FEW for lane, _ in state.configurations)
        assert lanes_used(state.sets, state.slots, FEW) == (FEW if few else LANES)
        found.add(few)
    assert found == {True, False}


@pytest.mark.parametrize("lane", range(FEW, LANES))
def test_what_leads_to_a_lane_uses_it(lane: int) -> None:
    slots: Open = np.zeros(1, OPEN)[0]
    slots.led_to[lane] = 1
    assert lanes_used(as_bits(set()), slots, FEW) == LANES
    slots.led_to[:] = 0
    sets = as_bits({(lane, frozenset({IN_WORD}))})
    assert lanes_used(sets, slots, FEW) == FEW
    slots.taken = 1 << IN_WORD
    assert lanes_used(sets, slots, FEW) == LANES


@pytest.mark.parametrize("kind", CHANGES)
def test_a_pending_operation_gets_a_slot_where_there_is_one(kind: Kind) -> None:
    for seed, state in enumerate(states()):
        rng = random.Random(seed)
        a, b = rng.randrange(VALUES), rng.randrange(VALUES)
        then, free = state.copy(), set(range(SLOTS)) - set(bits(state.slots.taken))
        columns = np.full(4, kind, np.int8), np.full(4, a, np.int32), np.full(4, b, np.int32)
        opened = open_optional(3, *columns, state.lane_of, state.sets, state.slots)
        lanes = then.free(LANES) if then.lane_of[b] == NO_LANE else [int(then.lane_of[b])]
        assert opened == bool(free and lanes)
        if not opened:
            assert state.slots.taken == then.slots.taken
            continue
        slot = min(free)
        slots, bit = then.slots, 1 << slot
        slots.row[slot] = 3
        slots.needs[slot] = -1 if kind == Kind.WRITE else a
        slots.source[slot] = then.lane_of[slots.needs[slot]]
        slots.taken |= bit
        slots.mutators |= bit
        if then.lane_of[b] == NO_LANE:
            then.names(b, lanes[0])
        slots.target[slot] = lanes[0]
        slots.led_to[lanes[0]] += 1
        slots.optional |= bit
        slots.changes |= bit * (kind == Kind.CHANGE)
        assert state.is_as(then)
        led_to = slots.led_to.copy()
        led_to[lanes[0]] -= 1
        close_optional(slot, state.slots)
        now = state.slots
        assert (now.led_to == led_to).all()
        assert (now.taken, now.mutators) == (slots.taken & ~bit, slots.mutators & ~bit)
        assert (now.changes, now.optional) == (slots.changes & ~bit, 0)


def test_a_walk_begins_with_the_initial_value_and_leaves_nothing_behind() -> None:
    for seed, state in enumerate(states()):
        slots, lane_of = state.slots, state.lane_of
        kept = state.sets.copy()
        clear(state.sets, slots, lane_of)
        assert not state.sets.any() and kept.any()
        assert lane_of.tolist() == [NO_LANE] * VALUES + [ANY]
        for name in OPEN.names or ():
            slots[name] = 3  # type: ignore[index]
        start(state.sets, slots, lane_of, 40 + seed, seed % VALUES, 1_000 + seed)
        assert as_set(state.sets) == {(0, frozenset())}
        first = seed % VALUES
        assert np.flatnonzero(lane_of[:VALUES] != NO_LANE).tolist() == [first]
        assert lane_of[first] == 0
        assert slots.value.tolist() == [first] + [-1] * (LANES - 1)
        assert slots.due.tolist() == [NO_RETURN] * LANES
        assert not slots.led_to.any() and not slots.holds.any()
        assert (slots.at, slots.next, slots.spare) == (40 + seed, NO_RETURN, 1_000 + seed)
        masks = slots.taken, slots.mutators, slots.denying, slots.changes, slots.optional
        assert masks == (0,) * 5
        assert (slots.last, slots.waiting, slots.returns) == (0, 0, 0)
        clear(state.sets, slots, lane_of)
        assert not state.sets.any() and lane_of[first] == NO_LANE
