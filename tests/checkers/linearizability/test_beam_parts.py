"""How a configuration goes on: each part of it is what its definition says, the slow way."""

from collections.abc import Iterator
from typing import Any

import pytest

from checkers.linearizability.arrays import bits
from checkers.linearizability.arrays import open as opened
from checkers.linearizability.encoded import Kind
from checkers.linearizability.methods.beam import ways
from checkers.linearizability.methods.beam.space import SLOTS, TODO
from tests.checkers.linearizability.as_functions import as_functions
from tests.checkers.linearizability.beam_oracle import (
    CONFIGURATIONS,
    MAKES,
    VALUES,
    Held,
    Some,
    covers,
    put_words,
    slots_of,
    with_one_more,
)

FIRST = 2048
"""Where the next configurations begin."""


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    with as_functions(bits, opened, ways):
        yield


def several(count: int = 12) -> Iterator[Some]:
    return map(Some, range(count))


def test_what_fits_the_value_is_satisfied() -> None:
    for some in several():
        before = some.held(0)
        ways.settle(some.rows, some.beam.masks, 0)
        assert some.held(0) == some.settled(before)


def test_a_value_is_wanted_that_something_waits_for() -> None:
    seen = set()
    for some in several(25):
        for value in range(VALUES):
            right = some.wanted(some.held(0), value)
            seen.add(right)
            assert ways.wanted(some.reg, some.rows, some.beam.masks, 0, value) == right
    assert seen == {True, False}


def test_what_may_change_a_value_and_which_write_is_first() -> None:
    for some in several(25):
        reg, masks, rows, held = some.reg, some.beam.masks, some.rows, some.held(0)
        words = [ways._changers(reg, rows, masks, 0, word) for word in range(2)]
        assert slots_of(words) == some.changers(held)
        for value in range(VALUES):
            first = ways._first(reg, rows, masks, some.beam.slots, 0, value)
            assert first == some.first(held, value)


def test_what_was_asked_is_reached() -> None:
    for some in several(8):
        reg = some.reg
        for reg.target in some.op:
            for reg.asks_use in (0, 1):
                for slot in some.of(*MAKES):
                    assert ways._arrives(reg, some.beam.slots, slot) == some.arrives(slot)


def put(some: Some, slot: int, most: int) -> None:
    """From the first configuration, while there are 7 trails."""
    some.reg.most, some.reg.trails, some.reg.work = most, 7, 5
    some.reg.first = some.reg.end = FIRST
    some.reg.way_end = TODO + 1
    some.rows[0].trail, some.rows[TODO] = 3, some.rows[0]
    ways._put(some.reg, some.rows, some.beam.masks, some.beam.slots, some.beam.trails, TODO, slot)


def test_a_put_has_its_effect_and_a_trail() -> None:
    for some in several():
        reg = some.reg
        for slot in some.of(*MAKES):
            reg.target, reg.asks_use = slot, 1
            put(some, slot, 1)
            assert (reg.end, reg.way_end, reg.trails, reg.work) == (FIRST + 1, TODO + 1, 8, 6)
            child, made = some.rows[FIRST], some.beam.trails[7]
            assert some.held(FIRST, slot) == some.after(some.held(0), slot)
            assert (child.puts, child.trail) == (2, 7)
            assert (made.before, some.slot[made.added]) == (3, slot)


def test_a_put_that_does_not_arrive_is_kept_where_it_is_of_use_and_may_go_on() -> None:
    seen = set()
    for some in several():
        reg, held = some.reg, some.held(0)
        reg.target, reg.asks_use = next(iter(some.of(Kind.WRITE))), 1
        for slot in some.of(*MAKES) - {int(reg.target)}:
            put(some, slot, 2)
            assert (reg.end, reg.way_end, reg.trails, reg.work) == (FIRST, TODO + 1, 7, 5)
            put(some, slot, 3)
            child = some.after(held, slot)
            right = some.useful(held, child) and not covers(held, child)
            seen.add((right, covers(held, child)))
            assert (reg.end, reg.trails, reg.work) == (FIRST, 7 + right, 6)
            assert reg.way_end == TODO + 1 + right
            if right:
                assert some.held(TODO + 1, slot) == child
    assert {right for right, _ in seen} == {True, False}


def test_a_put_that_another_covers_is_left_out() -> None:
    some = Some(1)
    reg, slot = some.reg, min(some.of(Kind.WRITE))
    reg.target, reg.asks_use = slot, 1
    put(some, slot, 1)
    reg.end, reg.trails = FIRST + 1, 8
    given = (reg, some.rows, some.beam.masks, some.beam.slots, some.beam.trails, TODO, slot)
    ways._put(*given)
    assert (reg.end, reg.trails) == (FIRST + 1, 9)


@pytest.mark.parametrize(
    ("name", "room", "has"),
    [("end", FIRST + 2047, False), ("end", FIRST + 2046, True), ("trails", 100, False)],
)
def test_where_there_is_no_room_nothing_is_put(
    name: str, room: int, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "kept", lambda _rows, _first, last: last + 1)
    some = Some(1)
    reg = some.reg
    reg.target = slot = min(some.of(Kind.WRITE))
    reg.asks_use, reg.most, reg.work, reg.first, reg.end, reg.trails = 1, 1, 5, FIRST, FIRST, 99
    setattr(reg, name, room)
    given = (reg, some.rows, some.beam.masks, some.beam.slots, some.beam.trails, 0, slot)
    before = int(reg.end), int(reg.trails)
    ways._put(*given)
    assert reg.work == 5 + has
    assert (reg.end, reg.trails) == (before[0] + has, before[1] + has)


@pytest.mark.parametrize("has", [False, True])
def test_so_many_are_on_the_way_at_most(has: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "_is_new", lambda *_: True)
    monkeypatch.setattr(ways, "_useful", lambda *_: True)
    some = Some(1)
    reg, slot = some.reg, min(some.of(Kind.CAS, Kind.CHANGE))
    reg.target, reg.asks_use, reg.most = min(some.of(Kind.WRITE)), 1, 9
    reg.way_end = 2 * 2048 + 127 - has
    given = (reg, some.rows, some.beam.masks, some.beam.slots, some.beam.trails, 0, slot)
    ways._put(*given)
    assert (reg.way_end, reg.work, reg.trails) == (2 * 2048 + 127, has, has)


def test_a_put_on_the_way_is_of_use_where_it_was_seen_or_leads_on() -> None:
    seen = set()
    for some in several(25):
        reg = some.reg
        reg.target, reg.asks_use = some.rng.choice(list(some.op)), some.rng.randrange(2)
        for child in range(1, CONFIGURATIONS):
            some.hold(child, some.held(child)._replace(had=some.held(0).had | some.some(0.1)))
            right = some.useful(some.held(0), some.held(child))
            seen.add(right)
            made = ways._useful(reg, some.rows, some.beam.masks, some.beam.slots, 0, child)
            assert made == right
    assert seen == {True, False}


def test_of_configurations_those_are_kept_that_no_other_covers() -> None:
    for some in several(20):
        rows, rng, few = some.rows, some.rng, [*list(some.op)[:2], 0, 64, SLOTS - 1]
        given, expected, end = list[Held](), list[Held](), 0
        for each in range(CONFIGURATIONS):
            had, used = (frozenset(rng.sample(few, rng.randrange(n))) for n in (3, 2))
            given.append(Held(rng.randrange(2), had, used, (each,)))
            some.hold(end, given[-1], each)
            end = ways.kept(rows, 0, end)
            expected = with_one_more(expected, given[-1])
            assert set(some.marked(0, end)) == set(expected) and end == len(expected)
        for one in given:
            for other in given:
                some.hold(10, one)
                some.hold(11, other)
                assert ways._covers(rows, 10, 11) == covers(one, other)


def test_the_cheapest_are_kept_and_not_all_of_one_value() -> None:
    for some in several(25):
        rows = some.rows
        for each in range(CONFIGURATIONS):
            few = frozenset(s for s in some.held(each).used - some.pending)
            used = few | frozenset(sorted(some.pending)[: some.rng.randrange(4)])
            some.hold(each, some.held(each)._replace(used=used), each)
        held = [some.held(each) for each in range(CONFIGURATIONS)]
        cost = {each: some.cost(held[each]) for each in range(CONFIGURATIONS)}
        assert [ways._cost(rows, some.beam.masks, each) for each in cost] == list(cost.values())
        ways.thin(rows, some.beam.masks, 0, CONFIGURATIONS, 3, FIRST)
        for place in range(3):
            best = int(rows[FIRST + place].trail)
            assert some.held(FIRST + place) == held[best]
            lowest = min(cost.values())
            assert cost.pop(best) == lowest
            for each in cost:
                cost[each] += 4 * (held[each].value == held[best].value)


def target_of(some: Some, asks_use: bool) -> int:
    """One that the first configuration does not have, or has not used."""
    reg, held = some.reg, some.held(0)
    able = some.of(Kind.WRITE) if asks_use else frozenset(some.op)
    slot = some.rng.choice(sorted(able))
    reg.target, reg.asks_use = slot, asks_use
    had = held.had if asks_use else held.had - {slot}
    some.hold(0, held._replace(had=had, used=held.used - {slot}))
    put_words(reg.barred, some.barred - {slot})
    return slot


class Puts:
    """In the place of `_put`: remembers from where and what, and makes one way that is longer."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def __call__(self, reg: Any, rows: Any, *given: Any) -> None:
        there, slot = given[-2:]
        self.asked.append((there - TODO, int(slot)))
        if reg.way_end == TODO + 1:
            rows[TODO + 1] = rows[1]
            rows[TODO + 1].puts = rows[TODO].puts + 1
            reg.way_end += 1


@pytest.mark.parametrize("asks_use", [False, True])
def test_what_can_lead_on_is_put_and_at_last_only_what_can_arrive(
    asks_use: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for some in several(60):
        reg, puts = some.reg, Puts()
        monkeypatch.setattr(ways, "_put", puts)
        target_of(some, asks_use)
        reg.most = 2
        ways.extend(reg, some.rows, some.beam.masks, some.beam.slots, some.beam.trails, 0)
        first, last = ([slot for at, slot in puts.asked if at == there] for there in range(2))
        assert first == list(some.puts(some.held(0)))
        able = dict.fromkeys(slot for slot in some.puts(some.held(1)) if is_tried(some, slot))
        assert last == (list(able) if first else [])


def is_tried(some: Some, slot: int) -> bool:
    """At last. What is not asked beforehand is whether cas, changes, and writes for a failed cas
    arrive, as long as no use is sought."""
    if some.reg.asks_use:
        return slot == some.reg.target
    does, target = some.op[slot].kind, some.op[some.reg.target].kind
    return bool(does != Kind.WRITE or target == Kind.DIFFERS or some.arrives(slot))


@pytest.mark.parametrize("asks_use", [False, True])
def test_all_ways_are_found(asks_use: bool) -> None:
    found = 0
    for some in several(30):
        reg, rows = some.reg, some.rows
        target_of(some, asks_use)
        put_words(reg.barred, [])
        reg.first = reg.end = FIRST
        reg.most, reg.trails = some.rng.randint(1, 3), 0
        ways.extend(reg, rows, some.beam.masks, some.beam.slots, some.beam.trails, 0)
        made = [some.held(at, *put_in(some, at)) for at in range(FIRST, reg.end)]
        expected = some.ways(some.held(0), int(reg.most))
        assert set(made) == set(expected) and len(made) == len(expected)
        found += len(made)
    assert found > 30


def put_in(some: Some, at: int) -> list[int]:
    found, trail = list[int](), int(some.rows[at].trail)
    while trail >= 0:
        found.insert(0, some.slot[some.beam.trails[trail].added])
        trail = int(some.beam.trails[trail].before)
    return found
