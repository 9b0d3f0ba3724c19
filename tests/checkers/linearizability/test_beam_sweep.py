"""The beam from one event to the next: its parts with little, each against what it is to do."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.histories import cell
from checkers.linearizability.arrays import bits
from checkers.linearizability.arrays import open as opened
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import EncodedHistory, Kind
from checkers.linearizability.methods.beam import kernel, method, space, ways
from checkers.linearizability.methods.beam.space import SET, SLOTS, SPARE_TRAILS, Beam, beam_of
from framework.verdict import Verdict
from tests.checkers.linearizability.as_functions import as_functions
from tests.checkers.linearizability.beam_oracle import (
    VALUES,
    Held,
    N,
    Some,
    put_words,
    slots_of,
    with_one_more,
)
from tests.checkers.linearizability.encoded_oracle import encoded_of, is_legal_order, written


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    with as_functions(bits, opened, ways, space, kernel, method):
        yield


def alike(count: int, kind: Kind, ret: int | None = None, a: int = 1, b: int = 2) -> EncodedHistory:
    """All open at once. They return one after another, or never."""
    returns = [N if ret is None else ret + each for each in range(count)]
    return encoded_of([*range(count)], returns, [int(kind)] * count, [a] * count, [b] * count)


def in_turn(count: int, kind: Kind = Kind.WRITE) -> EncodedHistory:
    call = [2 * each for each in range(count)]
    return encoded_of(call, [at + 1 for at in call], [int(kind)] * count, [-1] * count, [1] * count)


# --- from one event to the next -----------------------------------------------------------


def test_it_looks_saves_and_lets_each_operation_return(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, saved, returned = list[int](), list[int](), list[tuple[int, int]]()

    def returns(beam: Beam, slot: int) -> bool:
        returned.append((int(beam.reg.event), slot))
        opened.leave(beam.masks, beam.slots, slot)
        beam.reg.count = 4 if 60 <= beam.reg.event < 70 else 3
        return True

    monkeypatch.setattr(kernel, "_forget_used", lambda beam: looked.append(int(beam.reg.event)))
    monkeypatch.setattr(kernel, "save", lambda beam: saved.append(int(beam.reg.event)))
    monkeypatch.setattr(kernel, "_returned", returns)
    beam = beam_of(in_turn(100), SPARE_TRAILS, 3)
    assert kernel.sweep(beam, 10**6) == kernel.ARRIVED
    assert looked == list(range(0, 200, 16))
    assert saved == [0, 70, 134, 198]
    assert returned == [(at, 0) for at in range(2, 201, 2)]
    assert (beam.reg.event, beam.reg.work) == (200, 200)


def test_it_stops_after_so_much_work_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    beam = beam_of(alike(9, Kind.WRITE, 20), SPARE_TRAILS, 3)
    for until in (5, 7):
        assert kernel.sweep(beam, until - int(beam.reg.work)) == kernel.PAUSED
        assert beam.reg.event == beam.reg.work == until


@pytest.mark.parametrize(
    ("deepest", "enough", "gave_up_at"), [(6, 5, 6), (5, 5, -1), (9, 6, 7), (-1, 0, -1), (9, 9, -1)]
)
def test_what_is_enough_for_a_dead_end_is_enough(
    deepest: int, enough: int, gave_up_at: int
) -> None:
    beam = beam_of(alike(9, Kind.WRITE), SPARE_TRAILS, 3)
    beam.reg.deepest, beam.reg.enough = deepest, enough
    status = kernel.sweep(beam, 10**6)
    assert status == (kernel.ARRIVED if gave_up_at < 0 else kernel.GAVE_UP)
    assert beam.reg.event == (9 if gave_up_at < 0 else gave_up_at)


def test_it_needs_room_for_trails_in_advance() -> None:
    beam = beam_of(alike(2, Kind.WRITE), SPARE_TRAILS + 7, 3)
    beam.reg.trails = 8
    assert kernel.sweep(beam, 10**6) == kernel.NEEDS_TRAILS and beam.reg.event == 0
    beam.reg.trails = 7
    assert kernel.sweep(beam, 10**6) == kernel.ARRIVED


def test_pending_operations_that_are_of_no_use_have_no_slot_and_writes_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "_welcome", lambda *given: given[-1] == 3)
    beam = beam_of(
        written("0-:w2 1-20:w1 2-:w1 3-:w2 4-:c1>2 5-:w2 6-:w1 7-:x0>1"), SPARE_TRAILS, 3
    )
    assert kernel.sweep(beam, 8) == kernel.PAUSED
    assert beam.slots["row"][:3].tolist() == [1, 3, -1]
    waits = {
        value: [int(row), int(beam.ops["next"][row])]
        for value, row in enumerate(beam.waiting)
        if row >= 0
    }
    assert waits == {1: [6, 2], 2: [5, 0]}
    assert beam.ops["next"][[2, 0]].tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("pending", "goes"),
    [([3, 9, 70], 3), ([70, 66], 66), ([127], 127), ([63, 64], 63), ([], -1)],
)
def test_where_no_slot_is_left_something_pending_gives_way(
    pending: Sequence[int], goes: int
) -> None:
    ret = [N if each in pending else 200 + each for each in range(128)]
    encoded = encoded_of([*range(129)], [*ret, 500], [int(Kind.WRITE)] * 129, [-1] * 129, [1] * 129)
    beam = beam_of(encoded, SPARE_TRAILS, 3)
    for row in range(128):
        opened.enter(beam.masks, beam.slots, beam.ops, row, row)
    beam.reg.event, beam.reg.next_look = 128, 999
    status = kernel.sweep(beam, 1)
    if goes < 0:
        assert status == kernel.GAVE_UP
    else:
        rows = beam.slots["row"].tolist()
        assert status == kernel.PAUSED
        assert rows == [128 if each == goes else each for each in range(128)]


def test_a_slot_that_is_free_is_taken_first() -> None:
    beam = beam_of(written("0-:w1 1-20:w1 2-21:w1"), SPARE_TRAILS, 3)
    for row, slot in enumerate((63, 0)):
        opened.enter(beam.masks, beam.slots, beam.ops, row, slot)
    beam.masks[opened.ANY, opened.FREE, 0] = 0
    beam.reg.event, beam.reg.next_look = 2, 999
    assert kernel.sweep(beam, 1) == kernel.PAUSED
    assert [int(beam.slots[each].row) for each in (0, 63, 64)] == [1, 0, 2]


@pytest.mark.parametrize("goes_back", [True, False])
def test_after_a_dead_end_it_goes_back_or_gives_up(
    goes_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways_out = iter([False, True])
    monkeypatch.setattr(kernel, "_returned", lambda *_: next(ways_out))
    monkeypatch.setattr(kernel, "_gone_back", lambda _: goes_back)
    beam = beam_of(alike(2, Kind.WRITE, 5), SPARE_TRAILS, 3)
    assert kernel.sweep(beam, 99) == (kernel.ARRIVED if goes_back else kernel.GAVE_UP)
    assert beam.reg.event == 3 + goes_back


# --- a return -----------------------------------------------------------------------------


class Extends:
    """In the place of `extend`: makes a few or none, and remembers what it was asked: for which
    configuration, whether a use is sought, with how many puts, and what is barred."""

    def __init__(self, some: Some, given: Sequence[Held]) -> None:
        self.some, self.given = some, given
        self.asked: list[tuple[int, int, int, frozenset[int]]] = []
        self.made: list[list[Held]] = []

    def __call__(self, reg: Any, rows: Any, *given: Any) -> None:
        here, some = given[-1] - reg.side, self.some
        self.asked.append((here, int(reg.asks_use), int(reg.most), some.barred))
        self.made.append([])
        for each in range(some.rng.choice((0, 0, 0, 1, 2))):
            mark = 10 * len(self.asked) + each
            held = some.rng.choice(self.given)
            some.hold(reg.end, held._replace(had=held.had | some.some(0.1)), mark)
            self.made[-1].append(some.held(reg.end, mark))
            reg.end += 1


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("side", [0, SET])
def test_at_a_return_all_have_it_that_go_on(
    side: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has it goes on; who has not, or of whose write somebody would see, is extended."""
    seen = set()
    for some in map(Some, range(40)):
        reg, thinned = some.reg, list[tuple[int, ...]]()
        monkeypatch.setattr(kernel, "thin", lambda *given, to=thinned: to.append(given[2:]))
        slot = some.rng.choice(sorted(some.of(Kind.WRITE, Kind.READ, Kind.CAS) - some.pending))
        count, first, width = some.rng.choice((1, 1, 2, 5)), SET - side, 4 if wide else 3
        for at in range(count):
            held, lacks = some.held(at), {slot} if some.rng.random() < 0.5 else set()
            some.hold(side + at, held._replace(had=held.had - lacks), at)
        put_words(reg.barred, [])
        reg.side, reg.count, reg.work, reg.event = side, count, 100, 10
        reg.wide_until, reg.length, reg.width = 10 + wide, 5, 4
        given = [some.settled(each) for each in some.marked(side, side + count)]
        extends = Extends(some, given)
        monkeypatch.setattr(kernel, "extend", extends)
        found = kernel._returned(some.beam, slot)
        asked, left = asked_and_left(some, slot, given, iter(extends.made), wide)
        assert extends.asked == asked and not some.barred
        assert found == bool(left) == (some.beam.slots[slot].row < 0)
        end, many = first + len(left), len(left) > width
        if found:
            assert set(some.marked(first, end)) == {without(each, slot) for each in left}
            assert (reg.end, reg.work) == (end, 100 + len(left))
            assert (reg.side, reg.count) == ((side, width) if many else (first, len(left)))
        assert thinned == ([(first, end, width, side)] if many else [])
        seen.add((found, many))
    assert {(True, True), (True, False)} <= seen
    assert wide or (False, False) in seen


def without(held: Held, slot: int) -> Held:
    return held._replace(had=held.had - {slot}, used=held.used - {slot})


def asked_and_left(
    some: Some, slot: int, given: Sequence[Held], made: Iterator[list[Held]], wide: bool
) -> tuple[list[tuple[int, int, int, frozenset[int]]], list[Held]]:
    """What `extend` is to be asked, and what there is then."""
    asked, left = [], list[Held]()
    writes, pending, nothing = some.op[slot].kind == Kind.WRITE, some.pending, frozenset[int]()
    for at, held in enumerate(given):
        has = slot in held.had
        if has:
            left = with_one_more(left, held) if asked else [*left, held]
        seen = not has or some.wanted(held, int(some.op[slot].b))
        if writes and slot not in held.used and (wide or seen):
            asked.append((at, 1, 5 if wide else 1, nothing))
            left = [*left, *next(made)]
        if not has:
            asked.append((at, 0, 5 if wide else 2, nothing if wide else pending))
            more = next(made)
            if not more and not wide and pending:
                asked.append((at, 0, 2, nothing))
                more = next(made)
            left = [*left, *more]
    return asked, left


@pytest.mark.parametrize("room", [0, 1])
def test_of_those_that_have_it_so_many_go_on(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    some = Some(1)
    reg, slot = some.reg, min(some.of(Kind.WRITE) - some.pending)
    reg.count, reg.wide_until, reg.event = 2, 1, 0
    some.hold(0, Held((int(some.op[slot].b) + 1) % VALUES, frozenset(), frozenset()))
    some.hold(1, Held(int(some.op[slot].b), frozenset({slot}), frozenset({slot})))

    def fills(reg: Any, *_: object) -> None:
        reg.end = SET + SET - 1 - room

    monkeypatch.setattr(kernel, "extend", fills)
    monkeypatch.setattr(kernel, "kept", lambda _rows, _first, last: last + 1)
    monkeypatch.setattr(kernel, "thin", lambda *_: None)
    assert kernel._returned(some.beam, slot)
    assert reg.end == SET + SET - 1


# --- slots of what is pending -------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "most"), [(Kind.WRITE, 4), (Kind.CAS, 1), (Kind.CHANGE, 1), (Kind.READ, 0)]
)
def test_a_pending_operation_has_a_slot_while_few_are_like_it(kind: Kind, most: int) -> None:
    beam = beam_of(alike(9, kind), 100, 3)
    given = (beam.reg, beam.ops, beam.masks, beam.slots)
    for row in range(most):
        assert kernel._welcome(*given, row)
        opened.enter(beam.masks, beam.slots, beam.ops, row, 65 - row)
    assert not kernel._welcome(*given, most)
    if most:
        for spent in (65, 66 - most):
            put_words(beam.reg.spent, {spent})
            assert kernel._welcome(*given, most)
        put_words(beam.reg.spent, {})
        field = "ret" if kind == Kind.WRITE else "b"
        beam.ops[field][most] = 1
        assert kernel._welcome(*given, most) == (kind != Kind.WRITE)


def test_those_that_return_are_not_like_what_never_does() -> None:
    beam = beam_of(alike(9, Kind.WRITE, 20), 100, 3)
    beam.ops["ret"][[4, 8]] = N
    for row in range(8):
        opened.enter(beam.masks, beam.slots, beam.ops, row, row)
    assert kernel._welcome(beam.reg, beam.ops, beam.masks, beam.slots, 8)


@pytest.mark.parametrize("kind", [Kind.WRITE, Kind.DIFFERS])
def test_so_many_slots_are_left_to_those_that_return(kind: Kind) -> None:
    beam = beam_of(alike(1, kind), 100, 3)
    given = (beam.reg, beam.ops, beam.masks, beam.slots, 0)
    for left in ({*range(20), *range(64, 69)}, {*range(1), *range(64, 88)}):
        put_words(beam.masks[opened.ANY, opened.FREE], left)
        assert kernel._welcome(*given) == (kind == Kind.WRITE)
        put_words(beam.masks[opened.ANY, opened.FREE], left - {64})
        assert not kernel._welcome(*given)


@pytest.mark.parametrize("side", [0, SET])
def test_who_gives_way_is_in_no_configuration(side: int) -> None:
    some = Some(3)
    some.reg.side, some.reg.count = side, 3
    every = frozenset(some.op)
    for at in range(4):
        some.hold(side + at, Held(0, every, every))
    for word in range(2):
        gone = frozenset(sorted(each for each in every if each >> 6 == word)[-3:])
        words = np.zeros(2, np.int64)
        put_words(words, gone)
        kernel._evict(some.beam, words[word], word)
        every -= gone
        for at in range(3):
            assert some.held(side + at) == Held(0, every, every)
        assert {s for s in range(SLOTS) if some.beam.slots[s].row >= 0} == every
    assert some.held(side + 3).had > every


@pytest.mark.parametrize("side", [0, SET])
def test_what_all_have_used_gives_its_slot_to_what_waits(side: int) -> None:
    beam = beam_of(alike(9, Kind.WRITE), 100, 3)
    for row in range(4):
        opened.enter(beam.masks, beam.slots, beam.ops, row, 62 + row)
    beam.ops["next"] = [-1] * 4 + [-1, 4, 5, 6, 7]
    beam.waiting[2], beam.reg.count, beam.reg.side = 8, 2, side
    for at, used in enumerate(({62, 64, 65}, {62, 64}, {62})):
        put_words(beam.rows[side + at].used, used)
    kernel._forget_used(beam)
    assert slots_of(beam.reg.spent) == {65}
    left = [slot for slot in range(SLOTS) if beam.slots[slot].row >= 0]
    assert {int(beam.slots[slot].row) for slot in left} == {1, 3, 8, 7, 6}
    assert beam.waiting[2] == 5 and len(left) == 5
    assert [slots_of(beam.rows[side + at].used) for at in (0, 1)] == [{65}, set()]


def test_all_that_wait_may_have_a_slot() -> None:
    beam = beam_of(alike(3, Kind.WRITE, b=0), 100, 3)
    beam.ops["next"], beam.waiting[0] = [-1, 0, 1], 2
    beam.rows[0].used[:] = 0
    kernel._forget_used(beam)
    assert beam.slots["row"][:4].tolist() == [2, 1, 0, -1] and beam.waiting[0] == -1


# --- back ---------------------------------------------------------------------------------


def test_after_a_dead_end_it_is_wider_and_begins_further_back() -> None:
    beam = Some(2).beam
    reg = beam.reg
    reg.event = 0
    space.save(beam)
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


def test_it_is_wide_until_as_far_after_the_dead_end_and_looks_at_once() -> None:
    beam = Some(2).beam
    reg = beam.reg
    for reg.event in (3, 50):
        space.save(beam)
    reg.event, reg.next_look, reg.next_save = 77, 999, 999
    assert kernel._gone_back(beam)
    assert (reg.event, reg.wide_until, reg.deepest) == (3, 77 + 28, 77)
    assert (reg.next_look, reg.next_save) == (3, 3 + 64)


def state_of(beam: Beam) -> list[Any]:
    reg = beam.reg
    rows = [beam.rows[reg.side + each].tobytes() for each in range(reg.count)]
    open_ = [int(each) for each in beam.slots["row"]]
    return [int(reg.event), rows, open_, beam.waiting.tolist(), beam.masks.tolist()]


@pytest.mark.parametrize("side", [0, 2])
def test_a_checkpoint_is_gone_back_to(side: int) -> None:
    some = Some(1)
    beam = some.beam
    reg = beam.reg
    reg.event, reg.count, reg.side = 5, 2, side
    beam.waiting[:] = [3, -1, 4, 2]
    space.save(beam)
    before = state_of(beam)
    reg.event, reg.count = 9, 1
    space.save(beam)
    for slot in list(some.op)[:4]:
        opened.leave(beam.masks, beam.slots, slot)
    free = next(slot for slot in range(9) if slot not in some.op)
    opened.enter(beam.masks, beam.slots, beam.ops, 0, free)
    beam.rows[side : side + 2] = beam.rows[4]
    beam.waiting[:] = -1
    assert space.restore(beam, 8) and state_of(beam) == before and reg.saved == 1
    assert space.restore(beam, 2) and state_of(beam) == before


def test_the_last_checkpoint_not_after_it_is_gone_back_to_while_it_is_known() -> None:
    for event in range(1, 14):
        beam = Some(1).beam
        reg, known = beam.reg, len(beam.saved)
        assert known == 2
        for reg.event in (3, 6, 9):
            space.save(beam)
        reg.event = 12
        had = space.restore(beam, event)
        assert had == (event >= 6)
        if had:
            assert (reg.event, reg.saved) == ((9, 3) if event >= 9 else (6, 2))
            assert space.restore(beam, 6) and reg.event == 6
            assert not space.restore(beam, 5) and reg.saved == 2


# --- what it works in, and the whole ------------------------------------------------------


def test_it_begins_with_nothing_open_and_one_configuration() -> None:
    encoded = written("0-5:w3 1-2:r0 3-:c1>2")
    beam = beam_of(encoded, 10, 3)
    reg = beam.reg
    assert (reg.count, reg.narrow, reg.deepest, reg.event, reg.side) == (1, 3, -1, 0, 0)
    assert beam.rows[0].tolist()[:2] == (0, -1) and not slots_of(beam.rows[0].satisfied)
    assert not slots_of(beam.rows[0].used)
    assert beam.events.tolist() == [0, 2, 3, 4, 1]
    assert beam.ops["a"].tolist() == [-1, 0, 1] and beam.ops["b"].tolist() == [3, -1, 2]
    assert beam.ops["ret"].tolist() == [5, 2, N] and beam.ops["kind"].tolist() == [2, 0, 3]
    assert beam.waiting.tolist() == [-1] * 4 and len(beam.masks) == 4 + 2
    assert len(beam.trails) == 10 and len(beam.slots) == SLOTS


@pytest.mark.parametrize(
    ("a", "b", "initial", "values"), [(5, 2, 0, 6), (1, 4, 0, 5), (1, 2, 3, 4)]
)
def test_there_are_as_many_values_as_any_operation_or_the_beginning_has(
    a: int, b: int, initial: int, values: int
) -> None:
    encoded = encoded_of([0, 2], [1, 3], [0, 2], [a, -1], [-1, b], None, initial)
    beam = beam_of(encoded, 10, 3)
    assert len(beam.waiting) == len(beam.masks) - 2 == values
    assert beam.saved_waiting.shape == (2, values) and beam.rows[0].value == initial


@pytest.mark.parametrize(
    ("count", "checkpoints"), [(1, 2), (31, 2), (32, 3), (16_320, 512), (16_400, 512)]
)
def test_there_is_a_checkpoint_for_so_many_events(count: int, checkpoints: int) -> None:
    beam = beam_of(in_turn(count), 10, 3)
    assert len(beam.saved) == checkpoints
    assert beam.saved_set.shape == (checkpoints, 8) and len(beam.saved_waiting) == checkpoints


@pytest.mark.parametrize("info", [0.0, 0.3])
def test_finds_an_order_piecewise_and_where_room_grows(
    info: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = cell(40, 6, values=4, info=info, seed=5)
    whole = method.beam(encoded, Budget(300))
    assert whole is not None and whole.order is not None and whole.verdict is Verdict.VALID
    assert is_legal_order(encoded, whole.order) and whole.method == "beam"
    monkeypatch.setattr(method, "_SLICE", 7)
    monkeypatch.setattr(method, "beam_of", lambda e, _, narrow: beam_of(e, SPARE_TRAILS, narrow))
    again = method.beam(encoded, Budget(300))
    assert again is not None and again.order is not None
    assert again.order.tolist() == whole.order.tolist()


def swept(statuses: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """What `sweep` is asked, which says these: trails, the most configurations, work."""
    asked: list[tuple[int, int, int]] = []

    def sweep(beam: Beam, work: int) -> int:
        asked.append((len(beam.trails), int(beam.reg.narrow), work))
        return statuses[len(asked) - 1]

    monkeypatch.setattr(method, "sweep", sweep)
    return asked


def test_it_goes_on_until_it_arrives_with_twice_the_room_where_it_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded, room = written("0-5:w0 1-2:r0"), 8192 + 2
    statuses = [kernel.PAUSED, kernel.NEEDS_TRAILS, kernel.PAUSED, kernel.ARRIVED]
    asked = swept(statuses, monkeypatch)
    decision = method.beam(encoded, Budget(300))
    assert decision is not None and decision.verdict is Verdict.VALID
    assert [len_ for len_, _, _ in asked] == [room, room, 2 * room, 2 * room]
    assert {each[1:] for each in asked} == {(3, 1_000_000)}


def test_what_gave_up_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = swept([kernel.PAUSED, kernel.GAVE_UP, kernel.ARRIVED], monkeypatch)
    assert method.beam(written("0-5:w0 1-2:r0"), Budget(300)) is None and len(asked) == 2


def test_an_order_that_is_not_legal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    swept([kernel.ARRIVED], monkeypatch)
    monkeypatch.setattr(method, "is_legal", lambda *_: False)
    with pytest.raises(AssertionError, match="does not fit"):
        method.beam(written("0-5:w0 1-2:r0"), Budget(300))


def test_it_has_half_of_the_time_and_says_what_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded, now = written("0-5:w0 1-2:r0"), [100.0]
    for name in (method.__name__, Budget.__module__):
        monkeypatch.setattr(f"{name}.working_s", lambda: now[0])

    def passes(beam: Beam, work: int) -> int:
        now[0] += 1.25
        return kernel.PAUSED

    monkeypatch.setattr(method, "sweep", passes)
    monkeypatch.setattr(Budget, "slice", lambda self, s: Budget(s, self.max_bytes, now[0]))
    decision = method.beam(encoded, Budget(10.0, began=100.0))
    assert decision is not None and decision.verdict is Verdict.UNKNOWN and now == [105.0]
    assert decision.note == "beam: time ran out after 5.0 s" and decision.method == "beam"
    room = sum(each.nbytes for each in beam_of(encoded, 2 * SPARE_TRAILS + 2, 3) if each.shape)
    decision = method.beam(encoded, Budget(10.0, room, 105.0))
    assert decision is not None and decision.note.startswith("beam: time") and now == [110.0]
    decision = method.beam(encoded, Budget(10.0, room - 1, 110.0))
    assert decision is not None and decision.note == "beam: memory ran out after 1.2 s"


@pytest.mark.parametrize(
    ("text", "initial", "asked"),
    [
        ("", 0, False),
        ("0-1:w31", 0, True),
        ("0-1:w32 2-3:w1", 0, False),
        ("0-1:r31", 0, True),
        ("0-1:r1 2-3:r32", 0, False),
        ("0-1:w1", 31, True),
        ("0-1:w1", 32, False),
        ("0-1:x0>1", 0, True),
    ],
)
def test_it_is_for_cells_with_few_values(
    text: str, initial: int, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    were = swept([kernel.GAVE_UP], monkeypatch)
    history = written(text)
    columns = (history.call, history.ret, history.kind, history.a, history.b)
    assert method.beam(EncodedHistory(*columns, initial, [], None, None), Budget(300)) is None
    assert bool(were) == asked


def test_it_is_for_cells_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    were = swept([kernel.GAVE_UP], monkeypatch)
    for kind in (Kind.LOOK, Kind.STEP, Kind.ENQUEUE):
        assert method.beam(encoded_of([0], [1], [int(kind)], [0], [0]), Budget(300)) is None
    assert not were


def test_it_gives_up_for_want_of_an_order_or_a_slot() -> None:
    reads = encoded_of([0, 2], [1, 3], [int(Kind.WRITE), int(Kind.READ)], [-1, 2], [1, -1])
    assert kernel.sweep(beam_of(reads, 2 * SPARE_TRAILS, 3), 99) == kernel.GAVE_UP
    many = encoded_of(
        [*range(130)], [*range(200, 330)], [int(Kind.READ)] * 130, [0] * 130, [-1] * 130
    )
    beam = beam_of(many, 2 * SPARE_TRAILS, 3)
    assert kernel.sweep(beam, 999) == kernel.GAVE_UP and beam.reg.event == 129
