"""The arrays that kernels share, against what Python's own containers say."""

import heapq
import random

import numpy as np
import pytest

from checkers.linearizability.arrays.bits import ones
from checkers.linearizability.arrays.event_order import in_order
from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.heap import pop, push
from checkers.linearizability.arrays.kinds import (
    CAS,
    CHANGE,
    DIFFERS,
    FOREVER,
    LOOK,
    READ,
    WRITE,
)
from checkers.linearizability.arrays.numbering import compact, size_of
from checkers.linearizability.arrays.open import (
    ANY,
    FREE,
    PENDING,
    enter,
    free_slot,
    leave,
    nothing_open,
    some_open,
)
from checkers.linearizability.arrays.records import bytes_of, record, record_of
from checkers.linearizability.arrays.replay import is_legal, replayed
from checkers.linearizability.arrays.steps import no_steps
from checkers.linearizability.arrays.trails import mutations_of, no_trails
from checkers.linearizability.encoded import NEVER
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    is_legal_order,
    random_cell,
    random_queue,
    written,
)
from tests.checkers.linearizability.refutations import DEQ, EMPTY, ENQ, TAKE, history


@pytest.mark.parametrize("word", [0, 1, 3, 1 << 62, 0x5555555555555555, (1 << 63) - 1, 12345678912])
def test_bits_are_counted(word: int) -> None:
    assert ones(np.int64(word)) == word.bit_count()


def test_all_bits_of_a_negative_word_are_counted() -> None:
    assert (ones(np.int64(-1)), ones(np.int64(-(2**63)))) == (64, 1)


@pytest.mark.parametrize("seed", range(20))
def test_a_heap_is_as_pythons(seed: int) -> None:
    draw, first = random.Random(seed), 3
    ret = np.array(draw.sample(range(100), 12), np.int64)
    heap, expected = np.full(first + 12 + seed % 2, -7, np.int32), list[int]()
    for row in range(12):
        push(heap, first, row, ret, row)
        heapq.heappush(expected, int(ret[row]))
    while expected:
        row = pop(heap, first, len(expected), ret)
        assert ret[row] == heapq.heappop(expected)
    assert (heap[:first] == -7).all() and (heap[first + 12 :] == -7).all()


@pytest.mark.parametrize("spread", [1, 2, 100])
def test_calls_and_returns_in_time_order(spread: int) -> None:
    call = np.array([4, 5, 7, 9]) * spread
    ret = np.array([8 * spread, NEVER, 10 * spread, 11 * spread])
    assert events(call, ret).tolist() == [0, 2, 4, 1, 6, 5, 7]
    assert events(call[:2], ret[1:2].repeat(2)).tolist() == [0, 2]
    assert events(call[:0], ret[:0]).tolist() == []


def test_times_that_are_far_apart_take_no_room() -> None:
    far = 1 << 60
    assert events(np.array([0, far]), np.array([far + 1, NEVER])).tolist() == [0, 2, 1]
    assert in_order(np.array([far, 5, -1]), 3).tolist() == [2, 1, 0]
    late = np.array([far, far + 2])
    assert events(late, late + 1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("times", [[], [-1], [0], [3, -1, 5, 0], [30, 2, 31], [32, 31, -1, 33]])
def test_operations_in_the_order_of_times(times: list[int]) -> None:
    expected = sorted(range(len(times)), key=times.__getitem__)
    for operations in (4, 1000):
        assert in_order(np.array(times, np.int64), operations).tolist() == expected


def test_values_of_few_operations_are_numbered_anew() -> None:
    encoded = encoded_of([0, 2], [1, 3], [CAS, WRITE], [40, -1], [7, 90], initial=5)
    assert size_of(encoded) == 91
    few = compact(encoded)
    assert (few.a.tolist(), few.b.tolist(), few.initial) == ([2, -1], [1, 3], 0)
    assert list(few.values) == [] and size_of(few) == 4
    # where there are not many more than operations they stay: up to four each, and sixteen
    assert compact(written("0-1:w24 2-3:r0")).b.tolist() == [1, -1]
    as_it_is = written("0-1:w23 2-3:r0")
    assert compact(as_it_is) is as_it_is
    assert size_of(as_it_is.take(np.empty(0, np.int64))) == 1
    assert size_of(written("0-1:r7 2-3:r1")) == 8


def test_what_was_put_along_a_trail() -> None:
    trails = no_trails(4)
    for at, (before, added) in enumerate([(-3, 7), (0, 8), (0, 9), (1, 5)]):
        trails[at].before, trails[at].added = before, added
    assert [(list(each[0]), each[1]) for each in (mutations_of(trails, n) for n in (3, 2, 0))] == [
        ([7, 8, 5], -3),
        ([7, 9], -3),
        ([7], -3),
    ]
    for beginning in (-1, -2):
        nothing, reached = mutations_of(trails, beginning)
        assert (len(nothing), reached) == (0, beginning)


OPERATION = record_of((name, np.int64) for name in ("ret", "kind", "a", "b", "slot"))


def test_slots_of_what_is_open() -> None:
    slots, masks = nothing_open(4, 2)
    assert (len(slots), masks.shape) == (128, (6, 7, 2))
    assert set(slots["row"].tolist()) == {-1} and free_slot(masks) == 0
    ops = np.zeros(5, OPERATION)
    for row, each in enumerate(
        [
            (50, WRITE, -1, 2),
            (FOREVER, CAS, 1, 3),
            (60, READ, 3, -1),
            (70, LOOK, 9, -1),
            (80, CHANGE, 0, 1),
        ]
    ):
        ops[row].ret, ops[row].kind, ops[row].a, ops[row].b = each
    for row, slot in enumerate((0, 1, 65, 2, 64)):
        enter(masks, slots, ops, row, slot)
        assert (ops[row].slot, slots[slot].row) == (slot, row)
        assert all(slots[slot][name] == ops[row][name] for name in ("ret", "kind", "a", "b"))
    assert free_slot(masks) == 3
    assert (masks[2, WRITE].tolist(), masks[ANY, WRITE].tolist()) == ([1, 0], [1, 0])
    assert (masks[1, CAS].tolist(), masks[3, READ].tolist()) == ([2, 0], [0, 2])
    assert masks[ANY, PENDING].tolist() == [2, 0]
    assert masks[ANY, FREE].tolist() == [~7, ~3]
    assert some_open(masks, 3, READ) and some_open(masks, ANY, CAS) and some_open(masks, 0, CHANGE)
    assert not some_open(masks, 2, READ) and not some_open(masks, ANY, DIFFERS)
    assert not some_open(masks, 3, WRITE) and not some_open(masks, -1, READ)
    for slot, pending in ((0, 2), (1, 0), (65, 0), (2, 0), (64, 0)):
        leave(masks, slots, slot)
        assert masks[ANY, PENDING].tolist() == [pending, 0]
    assert masks[ANY, FREE].tolist() == [-1, -1]
    masks[ANY, FREE] = 0
    assert not masks.any() and set(slots["row"].tolist()) == {-1}
    assert free_slot(masks) == -1
    masks[ANY, FREE, 1] = 8
    assert free_slot(masks) == 67


@pytest.mark.parametrize(
    ("operations", "order", "states", "misfit"),
    [
        ("0-1:w1 2-3:r1 4-5:d2 6-7:c1>2 8-9:x1>3", [0, 1, 2, 3, 4], [0, 1, 1, 1, 2, 3], -1),
        ("0-1:w1 2-3:r2", [0, 1], [0, 1], 1),
        ("0-1:c1>2", [0], [0], 0),
        ("0-1:w1 2-3:d1", [0, 1], [0, 1], 1),
        ("0-1:w1 2-3:x1>2", [0, 1], [0, 1], 1),
    ],
)
def test_a_cell_replayed(operations: str, order: list[int], states: list[int], misfit: int) -> None:
    encoded = written(operations)
    columns = encoded.kind, encoded.a, encoded.b, 0
    found, place = replayed(*columns, no_steps(1), np.array(order))
    assert (found[: len(states)].tolist(), place) == (states, misfit)


def test_a_queue_replayed() -> None:
    encoded = history(
        (0, 1, ENQ, 1), (2, 3, ENQ, 2), (4, 5, DEQ, 1), (6, 7, TAKE, -1), (8, 9, EMPTY, -1)
    )
    columns = encoded.kind, encoded.a, encoded.b, 0, no_steps(1)
    states, place = replayed(*columns, np.arange(5))
    assert (states.tolist(), place) == ([0, 1, 2, 1, 0, 0], -1)
    states, place = replayed(*columns, np.array([0, 2, 1, 0]))
    assert (states.tolist(), place) == ([0, 1, 0, 1, 2], -1)
    for order, misfit in (([4, 0, 4], 2), ([2], 0), ([3], 0), ([1, 2], 1), ([0, 2, 3], 2)):
        assert replayed(*columns, np.array(order))[1] == misfit


@pytest.mark.parametrize("seed", range(40))
def test_an_order_is_legal_as_brute_force_says(seed: int) -> None:
    draw = random.Random(seed)
    for encoded in (random_cell(draw, 4, 3, 2, lies=0), random_queue(draw, 4, 3, lies=0)):
        for length in (4, 4, 4, 3, 3):
            order = draw.sample(range(4), length)
            assert is_legal(encoded, np.array(order)) == is_legal_order(encoded, order)
        in_turn = np.arange(4)
        assert is_legal(encoded, in_turn) == is_legal_order(encoded, in_turn)


def test_an_order_keeps_to_time_and_has_each_once() -> None:
    encoded = written("0-3:w1 2-5:w2 6-:w3")
    legal = {(0, 1), (1, 0), (0, 1, 2), (1, 0, 2)}
    for order in [*legal, (0,), (0, 0, 1), (0, 2, 1), (2, 0, 1)]:
        assert is_legal(encoded, np.array(order)) is (order in legal)


class Reading:
    place: int
    seen: np.ndarray


def test_records_have_the_fields_of_a_class() -> None:
    made = np.zeros(2, record(Reading, seen=3))
    assert made.dtype.names == ("place", "seen")
    assert (made["place"].shape, made["seen"].shape) == ((2,), (2, 3))
    assert {made[name].dtype for name in made.dtype.names} == {np.dtype(np.int64)}


def test_bytes_of_arrays_alone() -> None:
    assert bytes_of([np.zeros(3, np.int64), "no array", np.zeros(2, np.int8)]) == 26
