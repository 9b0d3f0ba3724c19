"""Many keys as joined columns are what each of them is alone, and so are their decisions."""

import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.histories import cell, queue
from checkers.linearizability.decide import decide, decide_small
from checkers.linearizability.encoded import NEVER, NOWHERE, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.encoding.transitions import queue_steps
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import encoded_of

COLUMNS = ("call", "ret", "kind", "a", "b")
NO_KEY = encoded_of([], [], [], [], [])
PENDING = encoded_of([0, 1], [NEVER, NEVER], [Kind.WRITE, Kind.WRITE], [-1, -1], [1, 2])
SOUND = encoded_of([0, 2], [1, 3], [Kind.WRITE, Kind.READ], [-1, 1], [1, -1])
WRONG = encoded_of([0, 2], [1, 3], [Kind.WRITE, Kind.READ], [-1, 2], [1, -1])
PLACED = replace(SOUND, place=np.array([4, NOWHERE]))
NOT_PLACED = replace(SOUND, place=np.array([NOWHERE, NOWHERE]))
STEPS = queue_steps(queue(30, 3))


def same(one: EncodedHistory, other: EncodedHistory) -> bool:
    if (one.place is None) != (other.place is None):
        return False
    names = COLUMNS if one.place is None else (*COLUMNS, "place")
    return (one.initial, one.values, one.transitions) == (
        other.initial,
        other.values,
        other.transitions,
    ) and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_key_of_many_is_as_it_was() -> None:
    keys = [NO_KEY, SOUND, STEPS, NO_KEY, PLACED, replace(WRONG, initial=2), NO_KEY]
    joined = EncodedKeys.of(keys)
    assert len(joined) == len(keys)
    assert all(same(one, other) for one, other in zip(joined, keys, strict=True))
    assert [len(each) for each in joined[1:3]] == [len(SOUND), len(STEPS)]
    for number in (len(keys), -1):
        with pytest.raises(IndexError):
            joined[number]
    assert same(EncodedKeys.of([NOT_PLACED])[0], SOUND), "a log that says nothing"
    none = EncodedKeys.of([])
    assert len(none) == len(none.call) == 0 and decide_small(none) == []


def test_of_a_single_key_nothing_is_copied() -> None:
    joined = EncodedKeys.of([PLACED])
    assert same(joined[0], PLACED)
    assert joined.only(np.array([0])) is joined
    for name in COLUMNS:
        assert np.shares_memory(getattr(joined, name), getattr(PLACED, name))
    assert all(map(same, EncodedKeys.of([SOUND, WRONG]), [SOUND, WRONG]))


def test_places_are_kept_where_there_are_some() -> None:
    assert EncodedKeys.of([SOUND, WRONG]).place is None
    joined = EncodedKeys.of([SOUND, PLACED, WRONG]).only(np.array([1, 2]))
    assert all(map(same, joined, [PLACED, WRONG])) and len(joined) == 2
    rows = np.array([0])
    assert same(PLACED.take(rows), replace(SOUND.take(rows), place=np.array([4])))


def test_some_of_the_keys() -> None:
    rng = random.Random(1)
    keys = [cell(rng.randint(1, 30), 3, values=3, seed=seed) for seed in range(20)]
    joined = EncodedKeys.of(keys)
    for _ in range(20):
        numbers = np.array(sorted(rng.sample(range(20), rng.randint(0, 20))), dtype=np.int64)
        chosen = joined.only(numbers)
        pairs = zip(chosen, numbers.tolist(), strict=True)
        assert all(same(one, keys[number]) for one, number in pairs)


def test_only_small_cells_are_decided_together() -> None:
    long = cell(20_000, 3, values=3)
    others = [NO_KEY, PENDING, PLACED, STEPS, long, queue(30, 3)]
    assert decide_small(EncodedKeys.of(others)) == [None] * len(others)
    keys = [SOUND, *others, WRONG, NOT_PLACED, *others, SOUND]
    found = decide_small(EncodedKeys.of(keys))
    none = [None] * len(others)
    expected = [Verdict.VALID, *none, Verdict.INVALID, Verdict.VALID, *none, Verdict.VALID]
    assert [each and each.verdict for each in found] == expected
    for key, decision in zip(keys, found, strict=True):
        assert decision is None or decision.verdict is decide(key).decision.verdict


def test_rows_of_a_decision_are_the_keys_own() -> None:
    decisions = decide_small(EncodedKeys.of([SOUND, PENDING, WRONG, SOUND]))
    wrong = decisions[2]
    assert wrong is not None and (wrong.culprit, list(wrong.involved)) == (1, [1])
