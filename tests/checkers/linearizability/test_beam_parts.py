"""The parts of the beam by themselves: each is what its definition says, the slow way."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from benchmarks.histories import cell
from checkers.linearizability.arrays.open import enter
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, Kind
from checkers.linearizability.methods.beam import kernel, method, ways
from checkers.linearizability.methods.beam.space import (
    SLOTS,
    SPARE_TRAILS,
    Beam,
    beam_of,
    restore,
    save,
)
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import encoded_of, is_legal_order

N = int(NEVER)
VALUES = 4
KINDS = (Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.WRITE, Kind.CAS, Kind.CHANGE)
CONFIGURATIONS = 6


def put_words(words: Any, slots: Iterable[int]) -> None:
    for word in range(len(words)):
        bits = sum(1 << (each & 63) for each in slots if each >> 6 == word)
        words[word] = bits - (1 << 64) if bits >> 63 else bits


def slots_of(words: Any) -> set[int]:
    return {
        word * 64 + bit for word in range(2) for bit in range(64) if int(words[word]) >> bit & 1
    }


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
        chosen = [*rng.sample(range(SLOTS - 1), 13), SLOTS - 1]
        for row, slot in enumerate(chosen):
            enter(beam.masks, beam.slots, beam.ops, row, slot)
        self.op = {slot: beam.ops[row] for row, slot in enumerate(chosen)}
        self.rows = beam.rows
        for each in range(CONFIGURATIONS):
            put_words(self.rows[each].satisfied, self.some(0.6))
            put_words(self.rows[each].used, self.some(0.3))
            self.rows[each].value = rng.randrange(VALUES)
            self.rows[each].trail, self.rows[each].puts = -1, 0
        put_words(beam.reg.barred, self.some(0.2))

    def some(self, share: float) -> set[int]:
        return {slot for slot in self.op if self.rng.random() < share}

    def of(self, *kinds: Kind, pending: bool | None = None) -> set[int]:
        found = {slot for slot, op in self.op.items() if op.kind in kinds}
        return {s for s in found if pending is None or (self.op[s].ret == N) == pending}

    def changers(self, here: int) -> set[int]:
        value = self.rows[here].value
        out = slots_of(self.rows[here].used) | slots_of(self.beam.reg.barred)
        able = {s for s in self.of(Kind.CAS) if self.op[s].a == value}
        return (able | {s for s in self.of(Kind.CHANGE) if self.op[s].a != value}) - out

    def fits(self, here: int) -> set[int]:
        value, op = self.rows[here].value, self.op
        return (
            {s for s in self.of(Kind.READ) if op[s].a == value}
            | {s for s in self.of(Kind.WRITE) if op[s].b == value}
            | {s for s in self.of(Kind.DIFFERS) if op[s].a != value}
        )

    def arrives(self, slot: int) -> bool:
        target = self.beam.reg.target
        t, s = self.op[target], self.op[slot]
        if slot == target or self.beam.reg.asks_use:
            return bool(slot == target)
        if t.kind == Kind.READ:
            return bool(s.b == t.a)
        if t.kind == Kind.DIFFERS:
            return bool(s.b != t.a)
        return bool(t.kind == Kind.WRITE and (s.kind == Kind.WRITE or s.b == t.b))

    def cost(self, here: int) -> int:
        row, total = self.rows[here], 0
        had, used = slots_of(row.satisfied), slots_of(row.used)
        for value in set(range(VALUES)) - {int(row.value)}:
            waits = sum(self.op[s].a == value for s in self.of(Kind.READ) - had)
            means = sum(self.op[s].b == value for s in self.of(Kind.WRITE) - used)
            total += waits
            total += {0: 4 + 8 * (waits > 0), 1: 2 + 4 * (waits > 0), 2: 1}.get(means, 0)
        total += 3 * len(self.of(Kind.CAS, Kind.CHANGE, pending=False) - had)
        return total + 20 * len({s for s in used if self.op[s].ret == N})


def covers(one: Any, other: Any) -> bool:
    return bool(
        one.value == other.value
        and slots_of(other.satisfied) <= slots_of(one.satisfied)
        and slots_of(one.used) <= slots_of(other.used)
    )


def several() -> Iterator[Some]:
    return map(Some, range(40))


def test_what_fits_the_value_is_satisfied() -> None:
    for some in several():
        before = slots_of(some.rows[0].satisfied)
        ways.settle(some.rows, some.beam.masks, 0)
        assert slots_of(some.rows[0].satisfied) == before | some.fits(0)


def test_a_value_is_wanted_that_something_waits_for() -> None:
    seen = set()
    for some in several():
        had = slots_of(some.rows[0].satisfied)
        waits = some.of(Kind.READ) | some.of(Kind.CAS, pending=False)
        for value in range(VALUES):
            right = value != some.rows[0].value and any(some.op[s].a == value for s in waits - had)
            seen.add(right)
            assert ways.wanted(some.beam.reg, some.rows, some.beam.masks, 0, value) == right
    assert seen == {True, False}


def test_what_may_change_a_value_and_which_write_is_first() -> None:
    for some in several():
        reg, masks, rows = some.beam.reg, some.beam.masks, some.rows
        words = [ways._changers(reg, rows, masks, 0, word) for word in range(2)]
        assert slots_of(words) == some.changers(0)
        out = slots_of(rows[0].used) | slots_of(reg.barred)
        for value in range(VALUES):
            left = [s for s in some.of(Kind.WRITE) - out if some.op[s].b == value]
            first = min(left, key=lambda s: (int(some.op[s].ret), s), default=-1)
            assert ways._first(reg, rows, masks, some.beam.slots, 0, value) == first


def test_what_was_asked_is_reached() -> None:
    for some in several():
        reg = some.beam.reg
        for reg.target in some.op:
            for reg.asks_use in (0, 1):
                for slot in some.of(Kind.WRITE, Kind.CAS, Kind.CHANGE):
                    assert ways._arrives(reg, some.beam.slots, slot) == some.arrives(slot)


def test_a_put_has_its_effect_and_a_trail() -> None:
    for some in several():
        reg, rows = some.beam.reg, some.rows
        for slot in some.of(Kind.WRITE, Kind.CAS, Kind.CHANGE):
            reg.target, reg.asks_use, reg.most = slot, 1, 1
            reg.first = reg.end = 2048
            reg.trails, reg.work = 7, 5
            rows[0].trail = 3
            ways._put(reg, rows, some.beam.masks, some.beam.slots, some.beam.trails, 0, slot)
            assert (reg.end, reg.trails, reg.work) == (2049, 8, 6)
            child, wrote = rows[2048], some.op[slot].kind == Kind.WRITE
            assert (child.value, child.puts, child.trail) == (some.op[slot].b, 1, 7)
            assert slots_of(child.used) == slots_of(rows[0].used) | {slot}
            unseen = some.of(Kind.WRITE) if wrote else set()
            had = slots_of(rows[0].satisfied) | {slot} | unseen | some.fits(2048)
            assert slots_of(child.satisfied) == had
            made = some.beam.trails[7]
            assert (made.before, made.added) == (3, some.beam.slots[slot].row)


def test_a_put_on_the_way_is_of_use_where_it_was_seen_or_leads_on() -> None:
    seen = set()
    for some in several():
        reg, rows = some.beam.reg, some.rows
        reg.target, reg.asks_use = some.rng.choice(list(some.op)), some.rng.randrange(2)
        for child in range(1, CONFIGURATIONS):
            sees = some.of(Kind.READ, Kind.DIFFERS, Kind.CAS, Kind.CHANGE, pending=False)
            fresh = slots_of(rows[child].satisfied) - slots_of(rows[0].satisfied)
            leads = some.changers(child)
            lasting = {s for s in leads if some.op[s].ret != N}
            right = bool(fresh & sees or lasting or any(map(some.arrives, leads - lasting)))
            seen.add(right)
            made = ways._useful(reg, rows, some.beam.masks, some.beam.slots, 0, child)
            assert made == right
    assert seen == {True, False}


def test_of_configurations_those_are_kept_that_no_other_covers() -> None:
    for some in several():
        rows, rng = some.rows, some.rng
        few = [*list(some.op)[:2], SLOTS - 1]
        for each in range(CONFIGURATIONS):
            rows[each].value = rng.randrange(2)
            rows[each].trail = each
            put_words(rows[each].satisfied, rng.sample(few, rng.randrange(3)))
            put_words(rows[each].used, rng.sample(few, rng.randrange(2)))
        given, end = rows[:CONFIGURATIONS].copy().view(np.recarray), 0
        for each in range(CONFIGURATIONS):
            rows[end] = given[each]
            end = ways.kept(rows, 0, end)
        for one in given:
            for other in given:
                at = int(one.trail), int(other.trail)
                rows[10], rows[11] = one, other
                assert ways._covers(rows, 10, 11) == covers(rows[10], rows[11]), at
        left = {int(rows[each].trail) for each in range(end)}
        assert len(left) == end
        for each in range(CONFIGURATIONS):
            rows[10] = given[each]
            over = []
            for other in range(CONFIGURATIONS):
                rows[11] = given[other]
                same = covers(rows[10], rows[11])
                if covers(rows[11], rows[10]) and other != each and (not same or other < each):
                    over.append(other)
            assert (each in left) == (not over)


def test_the_cheapest_are_kept_and_not_all_of_one_value() -> None:
    for some in several():
        rows = some.rows
        cost = {each: some.cost(each) for each in range(CONFIGURATIONS)}
        for each in cost:
            assert ways._cost(rows, some.beam.masks, each) == cost[each]
            rows[each].trail = each
        value = {each: int(rows[each].value) for each in cost}
        ways.thin(rows, some.beam.masks, 0, CONFIGURATIONS, 3, 2048)
        for place in range(3):
            best = int(rows[2048 + place].trail)
            lowest = min(cost.values())
            assert cost.pop(best) == lowest
            for each in cost:
                cost[each] += 4 * (value[each] == value[best])


def state_of(beam: Beam) -> list[Any]:
    reg = beam.reg
    rows = [beam.rows[reg.side + each].tobytes() for each in range(reg.count)]
    open_ = [int(each) for each in beam.slots["row"]]
    return [int(reg.event), rows, open_, beam.waiting.tolist(), beam.masks.tolist()]


def test_a_checkpoint_is_gone_back_to() -> None:
    some = Some(1)
    beam = some.beam
    reg = beam.reg
    reg.event, reg.count, reg.side = 5, 2, 2
    beam.waiting[:] = [3, -1, 4, 2]
    save(beam)
    before = state_of(beam)
    reg.event, reg.count = 9, 1
    save(beam)
    for slot in list(some.op)[:4]:
        kernel.leave(beam.masks, beam.slots, slot)
    enter(beam.masks, beam.slots, beam.ops, 0, next(s for s in range(9) if s not in some.op))
    beam.rows[2:4] = beam.rows[0]
    beam.waiting[:] = -1
    assert restore(beam, 8) and state_of(beam) == before and reg.saved == 1
    assert restore(beam, 2) and state_of(beam) == before
    for reg.event in range(10, 20):
        save(beam)
    assert not restore(beam, 9)


def test_a_pending_operation_has_a_slot_as_long_as_few_are_like_it() -> None:
    for kind, most in ((Kind.WRITE, 4), (Kind.CAS, 1), (Kind.CHANGE, 1), (Kind.READ, 0)):
        encoded = encoded_of([*range(9)], [N] * 9, [int(kind)] * 9, [1] * 9, [2] * 9)
        beam = beam_of(encoded, 100, 3)
        given = (beam.reg, beam.ops, beam.masks, beam.slots)
        for row in range(most):
            assert kernel._welcome(*given, row)
            enter(beam.masks, beam.slots, beam.ops, row, 62 + row)
        assert not kernel._welcome(*given, most)
        if most:
            put_words(beam.reg.spent, {62})
            assert kernel._welcome(*given, most)
            beam.ops["b"][most] = 1
            assert kernel._welcome(*given, most)


def test_what_all_have_used_gives_its_slot_to_what_waits() -> None:
    encoded = encoded_of([*range(9)], [N] * 9, [int(Kind.WRITE)] * 9, [1] * 9, [2] * 9)
    beam = beam_of(encoded, 100, 3)
    for row in range(4):
        enter(beam.masks, beam.slots, beam.ops, row, 62 + row)
    beam.ops["next"] = [-1] * 4 + [-1, 4, 5, 6, 7]
    beam.waiting[2], beam.reg.count = 8, 2
    beam.rows[1] = beam.rows[0]
    put_words(beam.rows[0].used, {62, 64, 65})
    put_words(beam.rows[1].used, {62, 64, 63})
    kernel._forget_used(beam)
    assert slots_of(beam.reg.spent) == {63, 65}
    left = [slot for slot in range(SLOTS) if beam.slots[slot].row >= 0]
    assert {int(beam.slots[slot].row) for slot in left} == {1, 3, 8, 7, 6, 5}
    assert beam.waiting[2] == 4 and len(left) == 6
    assert slots_of(beam.rows[0].used) == {65} and slots_of(beam.rows[1].used) == {63}


def test_after_a_dead_end_it_is_wider_and_begins_further_back() -> None:
    beam = Some(2).beam
    reg = beam.reg
    reg.event = 0
    save(beam)
    found = []
    reg.work = 10
    for _ in range(9):
        reg.event = 40
        more = kernel._gone_back(beam)
        found.append((int(reg.back), int(reg.width), int(reg.length), int(reg.enough), more))
    backs = [28 * 2**n for n in range(9)]
    widths = [12, 48, 192, *[256] * 6]
    lengths = [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert found == [
        (b, w, n, 400_090, n <= 8) for b, w, n in zip(backs, widths, lengths, strict=True)
    ]


@pytest.mark.parametrize("info", [0.0, 0.3])
def test_finds_an_order_piecewise_and_where_room_grows(
    info: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = cell(80, 8, values=4, info=info, seed=5)
    whole = method.beam(encoded, Budget(300))
    assert whole is not None and whole.order is not None and whole.verdict is Verdict.VALID
    assert is_legal_order(encoded, whole.order)
    monkeypatch.setattr(method, "_SLICE", 7)
    monkeypatch.setattr(method, "beam_of", lambda e, _, narrow: beam_of(e, SPARE_TRAILS, narrow))
    again = method.beam(encoded, Budget(300))
    assert again is not None and again.order is not None
    assert again.order.tolist() == whole.order.tolist()


def test_work_is_done_piecewise_and_a_budget_that_is_spent_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded = cell(80, 8, values=4, seed=5)
    space = beam_of(encoded, 2 * SPARE_TRAILS + 80, 3)
    assert kernel.sweep(space, 5) == kernel.PAUSED and 5 <= space.reg.work < 5 + 100
    monkeypatch.setattr(method, "_SLICE", 5)
    for budget, what in ((Budget(0.0), "time"), (Budget(300.0, max_bytes=1_000), "memory")):
        decision = method.beam(encoded, budget)
        assert decision is not None and decision.verdict is Verdict.UNKNOWN
        assert decision.note.startswith(f"beam: {what} ran out after")


def test_it_gives_up_for_want_of_an_order_or_a_slot() -> None:
    reads = encoded_of([0, 2], [1, 3], [int(Kind.WRITE), int(Kind.READ)], [-1, 2], [1, -1])
    assert kernel.sweep(beam_of(reads, 2 * SPARE_TRAILS, 3), 99) == kernel.GAVE_UP
    many = encoded_of(
        [*range(130)], [*range(200, 330)], [int(Kind.READ)] * 130, [0] * 130, [-1] * 130
    )
    space = beam_of(many, 2 * SPARE_TRAILS, 3)
    assert kernel.sweep(space, 999) == kernel.GAVE_UP and space.reg.event == 129
