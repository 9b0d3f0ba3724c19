"""The parts of "wgl" by themselves: each is what its definition says, the slow way."""

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from checkers.linearizability.arrays import steps as steps_module
from checkers.linearizability.arrays.steps import UNKNOWN
from checkers.linearizability.encoded import NEVER, Kind
from checkers.linearizability.methods.jit_antichain import counts, input
from checkers.linearizability.methods.jit_antichain.counts import count_of
from checkers.linearizability.methods.jit_antichain.input import read_in
from checkers.linearizability.methods.wgl import kernel, method
from checkers.linearizability.methods.wgl.kernel import (
    FOUND_ORDER,
    FRAME,
    NEEDS_COUNTS,
    NEEDS_FRAMES,
    NEEDS_MEMORY,
    NEEDS_STEP,
    PAUSED,
    Place,
)
from tests.checkers.linearizability.as_functions import as_functions
from tests.checkers.linearizability.encoded_oracle import (
    Strings,
    encoded_of,
    random_cell,
    written,
)
from tests.checkers.linearizability.wgl_places import listed, search_of

N = int(NEVER)


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    with as_functions(kernel, method, counts, steps_module, input):
        yield


# --- bits of operations -------------------------------------------------------------------


def test_no_two_that_are_open_at_once_have_the_same_bit() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        encoded = random_cell(rng, rng.randint(1, 30), rng.randint(1, 8), 3, info=0.2)
        ops, ret = read_in(encoded).ops, encoded.ret
        ops["slot"] = -7
        completed = np.flatnonzero(ret != N)
        returns = completed[np.argsort(ret[completed])]
        most = 0
        made = kernel.slots(ops, returns)
        for row in completed:
            here = [each for each in completed if each <= row and ret[each] > ops[row].call]
            bits = {int(ops[each].slot) for each in here}
            assert len(bits) == len(here) and bits <= set(range(made))
            most = max(most, len(here))
        assert made == most
        assert (ops["slot"][ret == N] == -7).all()


# --- the list -----------------------------------------------------------------------------


def test_what_is_lifted_is_put_back_where_it_was() -> None:
    """One of the operations never returns: it is no part of the list."""
    for seed in range(10):
        rng, count = random.Random(seed), 8
        times = [*range(count)], [N if row == 3 else 20 + row for row in range(count)]
        encoded = encoded_of(*times, [int(Kind.WRITE)] * count, [-1] * count, [1] * count)
        place = search_of(encoded).place
        reg, every = place.reg, [row for row in range(count) if row != 3]
        assert listed(place) == every
        order = rng.sample(every, count - 1)
        masks = [0]
        for at, row in enumerate(order):
            kernel._lift(place, row)
            masks.append(masks[-1] | 1 << int(place.ops[row].slot))
            left = [each for each in every if each not in order[: at + 1]]
            assert listed(place) == left
            assert place.order[: reg.order].tolist() == order[: at + 1]
            assert place.done.nonzero()[0].tolist() == sorted(order[: at + 1])
            assert place.mask.tolist() == [masks[-1]]
        top = place.frames[0]
        for back in sorted(rng.sample(range(count), 3), reverse=True):
            reg.frames, top.order, place.masks[0, 0] = 1, back, masks[back]
            top.passed, top.value, top.used, top.bare = rng.sample(range(9), 4)
            kernel._go_back(place, top)
            assert listed(place) == [each for each in every if each not in order[:back]]
            assert (reg.order, place.mask.tolist()) == (back, [masks[back]])
            assert place.done.nonzero()[0].tolist() == sorted(order[:back])
            known = top.passed, top.value, top.used, top.bare
            assert (reg.passed, reg.value, reg.used, reg.bare) == known


def test_what_never_returned_is_no_part_of_the_list_that_is_gone_back_to() -> None:
    search = search_of(written("0-:w2 1-5:w1 2-:w2 3-6:w3"))
    place, top = search.place, search.place.frames[0]
    kernel._lift(place, 3)
    assert [kernel._put(place, row, 0) for row in (0, 2)] == [PAUSED, UNKNOWN]
    place.reg.value, place.reg.bare = 1, 0
    assert kernel._put(place, 2, 0) == PAUSED
    kernel._lift(place, 1)
    assert search.order.tolist() == [3, 0, 2, 1]
    place.reg.frames = 1
    for back, left in ((3, [1]), (1, [1]), (0, [1, 3])):
        top.order = back
        kernel._go_back(place, top)
        assert search.order.tolist() == [3, 0, 2, 1][:back]
        assert listed(place) == left
        assert place.done.tolist() == [0, 0, 0, int(3 not in left)]


def test_bits_of_the_second_word() -> None:
    count = 70
    times = [*range(count)], [100 + row for row in range(count)]
    encoded = encoded_of(*times, [int(Kind.WRITE)] * count, [-1] * count, [1] * count)
    place = search_of(encoded).place
    place.ops["slot"] = np.arange(count)
    for row in (3, 63, 64, 69):
        kernel._lift(place, row)
    assert place.mask.tolist() == [1 << 3 | -1 << 63, 1 | 1 << 5]
    place.reg.passed = 3
    assert kernel._observe(place) and place.reg.passed == 4
    assert place.mask.tolist() == [-1 << 63, 1 | 1 << 5]
    place.reg.passed = 63
    assert kernel._observe(place) and place.reg.passed == 65
    assert place.mask.tolist() == [0, 1 << 5]


# --- what is observed ---------------------------------------------------------------------


def observed(text: str, value: int = 1, bare: int = 1) -> tuple[list[int], int, int]:
    """(the order, how many completions are passed, bare)."""
    search = search_of(written(text))
    search.place.reg.value, search.place.reg.bare = value, bare
    assert kernel._observe(search.place)
    reg = search.place.reg
    return search.order.tolist(), int(reg.passed), int(reg.bare)


@pytest.mark.parametrize(
    ("text", "order", "passed", "bare"),
    [
        ("0-1:r1", [0], 1, 0),
        ("0-1:r2", [], 0, 1),
        ("0-1:d2", [0], 1, 0),
        ("0-1:d1", [], 0, 1),
        ("0-1:w1", [], 0, 1),
        ("0-1:c1>1", [], 0, 1),
        ("0-1:x2>1", [], 0, 1),
        ("0-9:w2 1-5:r1 2-6:d2", [1, 2], 2, 0),
        ("0-9:w2 1-5:d1 2-6:r1", [2], 0, 0),
        ("0-2:r1 1-4:r1 3-6:r1 5-8:d1 7-9:r1", [0, 1, 2, 4], 3, 0),
        ("0-3:w2 1-6:r1 4-5:r1", [1], 0, 0),
        ("", [], 0, 1),
    ],
)
def test_what_the_value_satisfies_is_observed(
    text: str, order: list[int], passed: int, bare: int
) -> None:
    """Up to the next return of what does not have its effect yet."""
    assert observed(text) == (order, passed, bare)


def test_steps_that_nobody_asked_for_are_asked_for() -> None:
    actions = [("read", ""), ("read", "x"), ("write", "x")]
    look, step = int(Kind.LOOK), int(Kind.STEP)
    encoded = encoded_of(
        [0, 1, 2], [9, 8, 7], [look, look, step], [1, 0, 2], [-1] * 3, Strings(actions)
    )
    search = search_of(encoded)
    place, asked = search.place, []
    while not kernel._observe(place):
        wanted = place.wanted[0]
        asked.append((int(wanted.state), int(wanted.action)))
        steps_module.answered(place.steps, place.wanted, 0, encoded)
    assert asked == [(0, 1), (0, 0)]
    assert (search.order.tolist(), place.reg.passed) == ([1], 0)
    assert kernel._put(place, 2, -1) == NEEDS_STEP
    assert place.wanted.tolist() == [(0, 2)] and search.order.tolist() == [1]
    steps_module.answered(place.steps, place.wanted, 0, encoded)
    assert kernel._put(place, 2, -1) == PAUSED
    assert (search.order.tolist(), place.reg.value) == ([1, 2], 1)
    place.reg.value, asked = 1, []
    while not kernel._observe(place):
        asked.append((int(place.wanted[0].state), int(place.wanted[0].action)))
        steps_module.answered(place.steps, place.wanted, 0, encoded)
    assert asked == [(1, 1)]
    assert (search.order.tolist(), place.reg.passed) == ([1, 2, 0], 3)


# --- what is put --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "value", "bare", "number", "can"),
    [
        ("w2", 1, 0, -1, True),
        ("w2", 2, 0, -1, True),
        ("w2", 1, 1, -1, False),
        ("r1", 1, 0, -1, False),
        ("d2", 1, 0, -1, False),
        ("c1>2", 1, 0, -1, True),
        ("c1>2", 1, 1, -1, True),
        ("c1>2", 2, 0, -1, False),
        ("c1>1", 1, 0, -1, True),
        ("x1>2", 1, 0, -1, False),
        ("x1>2", 3, 1, -1, True),
        ("x1>2", 2, 1, -1, True),
        ("w2", 1, 0, 0, True),
        ("w2", 2, 0, 0, False),
        ("w2", 1, 1, 0, False),
        ("c1>2", 1, 0, 0, True),
        ("c1>2", 1, 1, 0, True),
        ("c1>2", 2, 0, 0, False),
        ("c1>1", 1, 0, 0, False),
        ("x1>2", 3, 0, 0, True),
        ("x1>2", 2, 0, 0, False),
    ],
)
def test_what_can_be_put(what: str, value: int, bare: int, number: int, can: bool) -> None:
    """`number` of what never returns: it has to be of use, and no write may follow at once."""
    search = search_of(written(f"0-5:{what} 1-6:w9 2-:{what} 3-:{what} 4-:w7"))
    place, reg, row = search.place, search.place.reg, 0 if number < 0 else 2
    reg.value, reg.bare = value, bare
    assert kernel._put(place, row, number) == (PAUSED if can else UNKNOWN)
    assert search.order.tolist() == ([row] if can else [])
    assert listed(place) == ([1] if can and number < 0 else [0, 1])
    assert reg.value == (int(what[-1]) if can else value)
    assert reg.bare == (number == 0 if can else bare)
    has = [count_of(place.nodes, reg.depth, reg.used, each) for each in range(2)]
    assert has == [can and number == 0, 0]


@pytest.mark.parametrize(
    ("does", "action", "then", "number", "can"),
    [
        (Kind.STEP, ("write", "y"), 2, -1, True),
        (Kind.STEP, ("write", "x"), 1, -1, True),
        (Kind.STEP, ("write", ""), 0, -1, True),
        (Kind.STEP, ("read", "y"), 1, -1, False),
        (Kind.LOOK, ("read", "x"), 1, -1, False),
        (Kind.LOOK, ("read", "y"), 1, -1, False),
        (Kind.LOOK, ("write", "y"), 2, -1, True),
        (Kind.STEP, ("write", "y"), 2, 0, True),
        (Kind.STEP, ("write", "x"), 1, 0, False),
        (Kind.STEP, ("read", "y"), 1, 0, False),
    ],
)
def test_which_steps_can_be_put(
    does: Kind, action: tuple[str, str], then: int, number: int, can: bool
) -> None:
    """In state 1, which is "x"; a look that changes nothing was observed long ago."""
    model = Strings([action])
    model.texts, model.numbers = ["", "x", "y"], {"": 0, "x": 1, "y": 2}
    ret = [5, N] if number < 0 else [N, 5]
    search = search_of(encoded_of([0, 1], ret, [does] * 2, [0, 0], [-1] * 2, model, 1))
    place, reg = search.place, search.place.reg
    reg.bare = 1
    assert kernel._put(place, 0, number) == NEEDS_STEP
    steps_module.answered(place.steps, place.wanted, 0, search.encoded)
    assert kernel._put(place, 0, number) == (PAUSED if can else UNKNOWN)
    assert search.order.tolist() == ([0] if can else [])
    assert (reg.value, reg.bare) == ((then, 0) if can else (1, 1))


def test_where_there_is_no_room_for_a_multiset_nothing_is_put() -> None:
    search = search_of(written("0-5:w1 1-:w2 2-:w3"))
    place, reg = search.place, search.place.reg
    reg.nodes = len(place.nodes)
    assert kernel._put(place, 1, 0) == NEEDS_COUNTS
    assert (search.order.tolist(), reg.value, reg.bare, reg.used) == ([], 0, 0, 0)
    reg.nodes -= 1
    assert kernel._put(place, 1, 0) == PAUSED
    assert (search.order.tolist(), reg.value, reg.bare, reg.used) == ([1], 2, 1, 63)


def test_of_those_with_the_same_effect_the_first_to_return_is_put() -> None:
    for seed in range(25):
        rng = random.Random(seed)
        encoded = random_cell(rng, 12, 8, 1, info=0.0)
        search = search_of(encoded)
        place = search.place
        rows = range(len(encoded))
        effect = list(zip(encoded.kind, encoded.a, encoded.b, strict=True))
        for row in rng.sample(rows, 3):
            kernel._lift(place, row)
        left = listed(place)
        for row in left:
            deadline = int(rng.choice(encoded.call.tolist()))
            likes = [
                each
                for each in left
                if effect[each] == effect[row] and encoded.call[each] < deadline
            ]
            earlier = any(encoded.ret[each] < encoded.ret[row] for each in likes)
            expected = earlier and encoded.kind[row] > Kind.DIFFERS
            assert kernel._has_earlier_like(place, row, deadline) == expected


# --- what was met -------------------------------------------------------------------------

KEY = (3, 1, 2, 5, [7, 9])


def remember(place: Place, key: Any) -> bool:
    reg = place.reg
    reg.passed, reg.bare, reg.value, reg.used = key[:4]
    place.mask[:] = key[4]
    return bool(kernel._remember(place))


def of_words(count: int, room: int, sparing: bool = False) -> Place:
    place = search_of(written("0-1:w1"), sparing).place
    memory, masks = method._nothing_met(room, count)
    return place._replace(memory=memory, memory_masks=masks, mask=np.zeros(count, np.int64))


of_two_words = partial(of_words, 2)


def test_each_word_of_what_is_open_tells_places_apart() -> None:
    place = of_words(4, 8)
    for mask in ([7, 9, 8, 6], [7, 9, 6, 8], [7, 8, 9, 6]):
        assert remember(place, (3, 1, 2, 5, mask)) and not remember(place, (3, 1, 2, 5, mask))


@pytest.mark.parametrize(
    "other",
    [
        (4, 1, 2, 5, [7, 9]),
        (3, 0, 2, 5, [7, 9]),
        (3, 1, 0, 5, [7, 9]),
        (3, 1, 2, 6, [7, 9]),
        (3, 1, 2, 5, [8, 9]),
        (3, 1, 2, 5, [7, -1]),
        (0, 0, 0, 0, [0, 0]),
    ],
)
def test_places_are_the_same_if_all_of_them_is(other: Any) -> None:
    """Wherever the hash says that they are: all begin at the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_mixed", lambda before, number: np.int64(0))
        place = of_two_words(8)
        assert remember(place, KEY) and not remember(place, KEY)
        assert remember(place, other) and not remember(place, other)
        assert not remember(place, KEY)
        assert place.reg.remembered == 2
        (first, second) = (place.memory[at] for at in (0, 1))
        assert [first[name] for name in first.dtype.names] == [*KEY[:4], KEY[4][0]]
        assert [second[name] for name in second.dtype.names] == [*other[:4], other[4][0]]
        assert place.memory_masks[:2, 0].tolist() == [KEY[4][1], other[4][1]]


def test_the_sparing_search_forgets_what_was_used() -> None:
    place = of_two_words(8, sparing=True)
    assert remember(place, KEY)
    assert not remember(place, (3, 1, 2, 6, [7, 9]))
    assert remember(place, (3, 1, 3, 5, [7, 9]))
    assert sorted(place.memory["used"].tolist()) == [0] * 8


def test_the_last_free_place_is_found() -> None:
    for room in (8, 16):
        place = of_two_words(room)
        for passed in range(room - 1):
            assert remember(place, (passed, 0, 1, 2, [3, 4]))
        (free,) = np.flatnonzero(place.memory["passed"] < 0)
        for value in range(10):
            key = np.array([5, 1, value, 3, 4], np.int64)
            spot = kernel._spot(place.memory, place.memory_masks, *key[:4], key[3:])
            assert spot == free
        for passed in range(room - 1):
            assert not remember(place, (passed, 0, 1, 2, [3, 4]))


def near_places(count: int) -> list[Any]:
    """Each differs from another by little, in one or several of its parts."""
    return [
        (at & 15, at >> 4 & 1, at >> 5 & 3, at >> 7 & 3, [at >> 9, 1 << (at & 31)])
        for at in range(count)
    ]


def places_that_differ(where: int) -> list[list[int]]:
    """512 that differ in one part; the first is passed and bare."""
    places = [[3, 0, 2, 1, 5, 6] for _ in range(512)]
    for at, place in enumerate(places):
        place[where] = at
        if not where:
            place[:2] = at >> 1, at & 1
    return places


@pytest.mark.parametrize("where", [0, 2, 3, 4, 5])
def test_near_places_are_spread(where: int) -> None:
    """As by chance: of 512 places in 1,024 then 403 are the only ones, or first, on theirs."""
    memory, masks = method._nothing_met(1024, 2)
    places = np.array(places_that_differ(where), np.int64)
    spots = {kernel._spot(memory, masks, *place[:4], place[4:]) for place in places}
    assert len(spots) > 360 and spots <= set(range(1024))


def test_in_a_greater_table_all_are_as_before() -> None:
    place = of_two_words(128)
    keys = near_places(60)
    for key in keys:
        assert remember(place, key)
    memory, masks = method._nothing_met(256, 2)
    kernel.moved(place.memory, place.memory_masks, memory, masks)
    bigger = place._replace(memory=memory, memory_masks=masks)
    assert (memory["passed"] >= 0).sum() == 60
    for key in keys:
        assert not remember(bigger, key)
    assert remember(bigger, (99, 0, 0, 0, [0, 0]))


# --- room, and how much is done -----------------------------------------------------------


def test_frames_are_asked_for_where_the_last_is_reached() -> None:
    place = search_of(written("0-5:w1 1-6:w2")).place
    frames, masks = np.zeros(4, FRAME), np.zeros((4, 1), np.int64)
    place = place._replace(frames=frames, masks=masks)
    place.reg.frames = 3
    assert kernel.explore(place, 1) == NEEDS_FRAMES and place.reg.work == 0
    place.reg.frames = 2
    assert kernel.explore(place, 1) == PAUSED and (place.reg.work, place.reg.frames) == (1, 3)


def test_memory_is_asked_for_where_half_of_it_would_be_taken() -> None:
    place = search_of(written("0-5:w1 1-6:w2")).place
    place.reg.remembered = 127
    assert kernel.explore(place, 1) == NEEDS_MEMORY and place.reg.work == 0
    place.reg.remembered = 126
    assert kernel.explore(place, 1) == PAUSED and (place.reg.work, place.reg.remembered) == (1, 127)


def test_so_many_steps_are_done_as_are_asked_for() -> None:
    rows = range(6)
    times = [*rows], [10 + row for row in rows]
    place = search_of(encoded_of(*times, [int(Kind.WRITE)] * 6, [-1] * 6, [*rows])).place
    assert kernel.explore(place, 0) == PAUSED
    assert (place.reg.work, place.reg.order) == (0, 0)
    assert kernel.explore(place, 2) == PAUSED
    assert (place.reg.work, place.reg.order) == (2, 2)
    assert kernel.explore(place, 3) == PAUSED
    assert (place.reg.work, place.reg.order) == (5, 5)
    assert kernel.explore(place, 30) == FOUND_ORDER
    assert (place.reg.work, place.reg.order, place.reg.deepest) == (7, 6, 5)
