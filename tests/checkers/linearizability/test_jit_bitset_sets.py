"""Sets of configurations as bits: as Python's own sets say, one word or many."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from checkers.linearizability.methods.jit_bitset.kernel import _deny, _used_up
from checkers.linearizability.methods.jit_bitset.pending import IDLE, PENDING, USED, give_up
from checkers.linearizability.methods.jit_bitset.sets import (
    ANY,
    FEW,
    IN_WORD,
    LANES,
    NO_LANE,
    OPEN,
    SLOTS,
    Open,
    leave_out,
    observe_all,
    reached_wide,
    some_lack,
    take_out,
)
from tests.checkers.linearizability.bitset_states import Configuration, as_bits, as_set, bits, mask


@dataclass
class Walk:
    """Slots with what they do: a source and a target lane, or lanes where they hold."""

    lanes: int
    taken: list[int]
    leads: dict[int, tuple[int, int]] = field(default_factory=dict)
    denies: set[int] = field(default_factory=set)
    """Of those that lead: they come from any lane but their source."""
    holds: dict[int, set[int]] = field(default_factory=dict)

    @classmethod
    def at_random(cls, rng: random.Random, lanes: int) -> "Walk":
        taken = sorted(rng.sample(range(SLOTS), rng.randint(2, 6)))
        walk = cls(lanes, taken)
        some = rng.sample(range(lanes), 3)
        for slot in taken:
            does = rng.choice(["write", "cas", "change", "read", "differs"])
            source = rng.choice([*some, NO_LANE])
            if does in ("write", "cas", "change"):
                walk.leads[slot] = (ANY if does == "write" else source, rng.choice(some))
                walk.denies |= {slot} if does == "change" else set()
            else:
                every = set(range(lanes))
                walk.holds[slot] = {source} if does == "read" else every - {source}
        return walk

    @property
    def high(self) -> int:
        return mask(self.taken) >> IN_WORD

    def record(self) -> Open:
        slots: Open = np.zeros(1, OPEN)[0]
        slots.taken = mask(self.taken)
        for slot, (source, target) in self.leads.items():
            slots.source[slot], slots.target[slot] = source, target
            slots.led_to[target] += 1
        for slot, lanes in self.holds.items():
            for lane in lanes:
                slots.holds[lane] |= 1 << slot
        return slots

    def some(self, rng: random.Random) -> set[Configuration]:
        count = rng.randint(0, 5)
        return {
            (rng.randrange(self.lanes), frozenset(s for s in self.taken if rng.random() < 0.4))
            for _ in range(count)
        }

    def after(self, now: Configuration, slot: int) -> Configuration | None:
        lane, done = now
        source, target = self.leads[slot]
        fits = source == ANY or (lane == source) != (slot in self.denies)
        if slot in done or not fits:
            return None
        seen = {each for each, lanes in self.holds.items() if target in lanes}
        return target, done | {slot} | seen

    def reached(self, begin: set[Configuration], last: int) -> set[Configuration]:
        """All that have `last`, each as soon as it does."""
        found, todo = set(), list(begin)
        known = set(begin)
        while todo:
            now = todo.pop()
            if last in now[1]:
                found.add(now)
                continue
            for slot in self.leads:
                then = self.after(now, slot)
                if then is not None and then not in known:
                    known.add(then)
                    todo.append(then)
        return found


def walks(count: int) -> Iterator[tuple[random.Random, Walk]]:
    rng = random.Random(7)
    for _ in range(count):
        yield rng, Walk.at_random(rng, rng.choice([FEW, LANES]))


def test_what_is_reached_before_a_return() -> None:
    sizes = set()
    for rng, walk in walks(120):
        before, last = walk.some(rng), rng.choice(walk.taken)
        sets, after = as_bits(before), walk.reached(before, last)
        leading = mask(walk.leads)
        alive = reached_wide(
            sets, walk.record(), last, leading, mask(walk.denies), walk.high, walk.lanes
        )
        assert (as_set(sets), alive) == (after, bool(after))
        sizes.add(len(after))
    assert {0, 1, 2, 5} <= sizes


def test_a_slot_in_all_or_in_none() -> None:
    lacks = 0
    for rng, walk in walks(120):
        before, slot = walk.some(rng), rng.choice(walk.taken)
        sets = as_bits(before)
        lacking = {each for each in before if slot not in each[1]}
        assert some_lack(sets, walk.high, walk.lanes, slot) == bool(lacking)
        lacks += bool(lacking)
        leave_out(sets, walk.high, slot)
        assert as_set(sets) == lacking
        lane = rng.randrange(walk.lanes)
        observe_all(sets, walk.high, lane, slot)
        assert as_set(sets) == {(at, done | {slot} if at == lane else done) for at, done in lacking}
        sets = as_bits({(at, done | {slot}) for at, done in before})
        take_out(sets, walk.high, walk.lanes, slot)
        assert as_set(sets) == {(at, done - {slot}) for at, done in before}
    assert lacks > 30


def test_what_saw_that_a_value_is_gone() -> None:
    for rng, walk in walks(60):
        before, slot = walk.some(rng), rng.choice(walk.taken)
        before = {(lane, done - {slot}) for lane, done in before}
        lane = rng.choice([*range(walk.lanes), NO_LANE])
        sets, slots = as_bits(before), walk.record()
        slots.holds[:] = 0
        _deny(sets, slots, walk.high, lane, slot)
        assert as_set(sets) == {(at, done if at == lane else done | {slot}) for at, done in before}
        assert [at for at in range(LANES) if slots.holds[at] != 1 << slot] == [
            at for at in range(LANES) if at == lane
        ]


def with_pending(rng: random.Random, walk: Walk) -> tuple[Open, list[int]]:
    """Some of those that lead somewhere never return; the slot s has row 100 + s."""
    slots, optional = walk.record(), [slot for slot in walk.leads if rng.random() < 0.6]
    slots.row[:SLOTS] = np.arange(100, 100 + SLOTS)
    slots.optional, slots.mutators = mask(optional), mask(walk.leads)
    slots.changes, slots.returns = mask(walk.denies), 9
    return slots, optional


def test_what_all_have_of_pending_operations_is_used_up() -> None:
    ends = set()
    for rng, walk in walks(120):
        slots, optional = with_pending(rng, walk)
        before = {(lane, done | set(optional[:1])) for lane, done in walk.some(rng)}
        sets, pending = as_bits(before), np.zeros(SLOTS + 1, PENDING)
        led_to = slots.led_to.copy()
        used = _used_up(sets, slots, walk.high, walk.lanes, mask(optional), 100, pending, 7)
        expected = {slot for slot in optional if all(slot in done for _, done in before)}
        assert set(bits(used)) == expected
        assert as_set(sets) == {(lane, done - expected) for lane, done in before}
        for slot in range(SLOTS):
            state = (USED, 7) if slot in expected else (IDLE, 0)
            assert (pending[slot].mark, pending[slot].end) == state
        for slot in expected:
            led_to[walk.leads[slot][1]] -= 1
        assert (slots.led_to == led_to).all()
        ends.add(len(expected))
    assert {0, 1, 2} <= ends


def test_what_did_without_pending_operations_goes_on_alone() -> None:
    ends = set()
    for rng, walk in walks(120):
        slots, optional = with_pending(rng, walk)
        left = walk.some(rng) or {(0, frozenset())}
        sets, pending = as_bits(left), np.zeros(SLOTS + 1, PENDING)
        led_to, others = slots.led_to.copy(), ~mask(optional)
        taken, leading, denying = slots.taken, slots.mutators, slots.changes
        pending["mark"], pending["end"] = 5, 5
        give_up(100, sets, slots, pending)
        for slot in sorted(optional):
            without = {each for each in left if slot not in each[1]}
            left = without or {(lane, done - {slot}) for lane, done in left}
            mark = IDLE if without else USED
            assert (pending[slot].mark, pending[slot].end) == (mark, 9)
            led_to[walk.leads[slot][1]] -= 1
            ends.add(mark)
        assert as_set(sets) == left
        assert (slots.led_to == led_to).all()
        now = slots.optional, slots.taken, slots.mutators, slots.changes
        assert now == (0, taken & others, leading & others, denying & others)
        assert all(pending[slot].mark == 5 for slot in range(SLOTS) if slot not in optional)
    assert ends == {IDLE, USED}


@pytest.mark.parametrize("slot", range(SLOTS))
def test_a_slot_is_where_it_is_looked_for(slot: int) -> None:
    """The one that every number with its bit has, of all that there are."""
    every = {(0, frozenset(bits(number))) for number in range(1 << SLOTS)}
    sets = as_bits(every)
    leave_out(sets, (1 << SLOTS >> IN_WORD) - 1, slot)
    assert as_set(sets) == {each for each in every if slot not in each[1]}
