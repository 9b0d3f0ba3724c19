"""What the parts of the beam do, the slow way: with sets of slots, and without any short cut."""

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from checkers.linearizability.arrays import open as opened
from checkers.linearizability.encoded import NEVER, Kind
from checkers.linearizability.methods.beam.space import SLOTS, beam_of
from tests.checkers.linearizability.encoded_oracle import encoded_of

N = int(NEVER)
VALUES = 4
KINDS = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.WRITE, Kind.CAS, Kind.CHANGE)
MAKES = (Kind.WRITE, Kind.CAS, Kind.CHANGE)
CONFIGURATIONS = 6


def put_words(words: Any, slots: Iterable[int]) -> None:
    slots = list(slots)
    for word in range(len(words)):
        bits = sum(1 << (each & 63) for each in slots if each >> 6 == word)
        words[word] = bits - (1 << 64) if bits >> 63 else bits


def slots_of(words: Any) -> frozenset[int]:
    return frozenset(
        word * 64 + bit for word in range(2) for bit in range(64) if int(words[word]) >> bit & 1
    )


class Held(NamedTuple):
    """A configuration. `added`: the slots of what was put, the first first; or a mark."""

    value: int
    had: frozenset[int]
    used: frozenset[int]
    added: tuple[int, ...] = ()


def covers(one: Held, other: Held) -> bool:
    return one.value == other.value and other.had <= one.had and one.used <= other.used


def with_one_more(held: list[Held], new: Held) -> list[Held]:
    """Those that no other covers; the first of the same."""
    if any(covers(each, new) for each in held):
        return held
    return [*(each for each in held if not covers(new, each)), new]


class Some:
    """Open operations in slots of both words, and configurations that have some of them."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        kind = [rng.choice(KINDS) for _ in range(14)]
        ret = [N if k > Kind.DIFFERS and rng.random() < 0.3 else 99 - n for n, k in enumerate(kind)]
        a, b = ([rng.randrange(VALUES) for _ in kind] for _ in "ab")
        a[0] = VALUES - 1
        encoded = encoded_of(list(range(14)), ret, [int(k) for k in kind], a, b)
        self.beam = beam = beam_of(encoded, 100, 3)
        self.reg, self.rows = beam.reg, beam.rows
        chosen = rng.sample([0, *rng.sample(range(1, SLOTS - 1), 12), SLOTS - 1], 14)
        for row, slot in enumerate(chosen):
            opened.enter(beam.masks, beam.slots, beam.ops, row, slot)
        self.op = {slot: beam.ops[row] for row, slot in enumerate(chosen)}
        self.slot = dict(enumerate(chosen))
        self.pending = frozenset(slot for slot, op in self.op.items() if op.ret == N)
        for each in range(CONFIGURATIONS):
            self.hold(each, Held(rng.randrange(VALUES), self.some(0.6), self.some(0.3)))
        put_words(beam.reg.barred, self.some(0.2))

    def hold(self, at: int, held: Held, trail: int = -1) -> None:
        row = self.rows[at]
        put_words(row.satisfied, held.had)
        put_words(row.used, held.used)
        row.value, row.trail, row.puts = held.value, trail, 1

    def held(self, at: int, *added: int) -> Held:
        row = self.rows[at]
        return Held(int(row.value), slots_of(row.satisfied), slots_of(row.used), added)

    def marked(self, first: int, end: int) -> list[Held]:
        """With their trails as marks."""
        return [self.held(at, int(self.rows[at].trail)) for at in range(first, end)]

    def some(self, share: float) -> frozenset[int]:
        return frozenset(slot for slot in self.op if self.rng.random() < share)

    def of(self, *kinds: Kind) -> frozenset[int]:
        return frozenset(slot for slot, op in self.op.items() if op.kind in kinds)

    @property
    def barred(self) -> frozenset[int]:
        return slots_of(self.reg.barred)

    # --- of a configuration ---------------------------------------------------------------

    def fits(self, value: int) -> frozenset[int]:
        op = self.op
        return (
            frozenset(s for s in self.of(Kind.READ) if op[s].a == value)
            | frozenset(s for s in self.of(Kind.WRITE) if op[s].b == value)
            | frozenset(s for s in self.of(Kind.DIFFERS) if op[s].a != value)
        )

    def settled(self, held: Held) -> Held:
        return held._replace(had=held.had | self.fits(held.value))

    def wanted(self, held: Held, value: int) -> bool:
        waits = (self.of(Kind.READ) | (self.of(Kind.CAS) - self.pending)) - held.had
        return value != held.value and any(self.op[s].a == value for s in waits)

    def changers(self, held: Held) -> frozenset[int]:
        able = {s for s in self.of(Kind.CAS) if self.op[s].a == held.value}
        able |= {s for s in self.of(Kind.CHANGE) if self.op[s].a != held.value}
        return frozenset(able - held.used - self.barred)

    def first(self, held: Held, value: int) -> int:
        left = [s for s in self.of(Kind.WRITE) - held.used - self.barred if self.op[s].b == value]
        return min(left, key=lambda s: (int(self.op[s].ret), s), default=-1)

    def arrives(self, slot: int) -> bool:
        t, s = self.op[self.reg.target], self.op[slot]
        if slot == self.reg.target or self.reg.asks_use:
            return bool(slot == self.reg.target)
        if t.kind == Kind.READ:
            return bool(s.b == t.a)
        if t.kind == Kind.DIFFERS:
            return bool(s.b != t.a)
        return bool(t.kind == Kind.WRITE and (s.kind == Kind.WRITE or s.b == t.b))

    def useful(self, before: Held, after: Held) -> bool:
        leads = self.changers(after)
        sees = self.of(Kind.READ, Kind.DIFFERS, Kind.CAS, Kind.CHANGE)
        lasting = (((after.had - before.had) & sees) | leads) - self.pending
        return bool(lasting) or any(map(self.arrives, leads & self.pending))

    def after(self, held: Held, slot: int) -> Held:
        """Every other open write can be put just before a write, unseen."""
        unseen = self.of(Kind.WRITE) if self.op[slot].kind == Kind.WRITE else frozenset()
        had, used = held.had | unseen | {slot}, held.used | {slot}
        return self.settled(Held(int(self.op[slot].b), had, used, (*held.added, slot)))

    def puts(self, held: Held) -> Iterator[int]:
        """What can be put where it is of some use, in the order in which it is tried."""
        silent = bool(self.of(Kind.WRITE) - self.pending - held.had)
        target = int(self.reg.target)
        if self.reg.asks_use and (self.op[target].b != held.value or silent):
            yield target
        for value in range(VALUES):
            if (value != held.value or silent) and (slot := self.first(held, value)) >= 0:
                yield slot
        yield from sorted(self.changers(held))

    def ways(self, held: Held, most: int) -> list[Held]:
        """All that at most so many puts lead to, the target being what is asked."""
        on_the_way, found = [held], list[Held]()
        for each in on_the_way:
            for slot in self.puts(each):
                child = self.after(each, slot)
                if self.arrives(slot):
                    found = with_one_more(found, child)
                elif len(child.added) < most and self.useful(each, child):
                    on_the_way += [child] * (not any(covers(old, child) for old in on_the_way))
        return found

    def cost(self, held: Held) -> int:
        total = 0
        for value in set(range(VALUES)) - {held.value}:
            waits = sum(self.op[s].a == value for s in self.of(Kind.READ) - held.had)
            means = sum(self.op[s].b == value for s in self.of(Kind.WRITE) - held.used)
            total += waits
            total += {0: 4 + 8 * (waits > 0), 1: 2 + 4 * (waits > 0), 2: 1}.get(means, 0)
        total += 3 * len(self.of(Kind.CAS, Kind.CHANGE) - self.pending - held.had)
        return total + 20 * len(held.used & self.pending)
