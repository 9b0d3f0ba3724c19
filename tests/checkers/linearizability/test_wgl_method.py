"""The method "wgl": a search with what it needs, and how two of them take turns."""

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from checkers.linearizability.arrays import steps as steps_module
from checkers.linearizability.arrays.steps import no_steps
from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import EncodedHistory, Kind
from checkers.linearizability.methods.jit_antichain import counts, input
from checkers.linearizability.methods.jit_antichain.counts import count_of
from checkers.linearizability.methods.wgl import kernel, method
from checkers.linearizability.methods.wgl.kernel import (
    EXHAUSTED,
    FOUND_ORDER,
    NEEDS_COUNTS,
    NEEDS_FRAMES,
    NEEDS_MEMORY,
    NEEDS_STEP,
    PAUSED,
    Place,
)
from framework.verdict import Verdict
from tests.checkers.linearizability.as_functions import as_functions
from tests.checkers.linearizability.encoded_oracle import (
    Strings,
    encoded_of,
    is_legal_order,
    linearizable,
    random_cell,
    random_queue,
    random_strings,
    written,
)
from tests.checkers.linearizability.wgl_places import listed, search_of


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    with as_functions(kernel, method, counts, steps_module, input):
        yield


# --- a search -----------------------------------------------------------------------------


def test_a_search_begins_with_nothing() -> None:
    text = "0-5:w1 1-3:w2 2-:w3 4-8:r2 6-:w4 7-9:w5"
    search = search_of(written(text))
    place, reg = search.place, search.place.reg
    assert place.returns.tolist() == [1, 0, 3, 5]
    assert listed(place) == [0, 1, 3, 5]
    assert (reg.passed, reg.value, reg.bare, reg.order, reg.frames, reg.work) == (0,) * 6
    assert (reg.entering, reg.thrifty, reg.nodes, reg.depth) == (1, 0, 1, 1)
    assert (place.memory["passed"] == -1).all() and not place.done.any()
    assert search_of(written(text), sparing=True).place.reg.thrifty == 1
    begun = encoded_of([0], [1], [0], [2], [-1], initial=2)
    assert search_of(begun).place.reg.value == 2
    assert search_of(written("")).slice(1) == FOUND_ORDER


@pytest.mark.parametrize(
    ("classes", "depth"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (257, 9)]
)
def test_multisets_are_as_deep_as_there_are_classes(classes: int, depth: int) -> None:
    search = search_of(written(" ".join(f"{n}-:w{n}" for n in range(classes))))
    place = search.place
    assert (len(place.class_row), place.reg.depth) == (classes, depth)
    for number in {0, 1, classes - 1} & set(range(classes)):
        used = counts.one_more(place.nodes, place.found, place.scratch, place.reg, 0, number)
        has = [count_of(place.nodes, depth, used, each) for each in range(classes)]
        assert has == [each == number for each in range(classes)]


@pytest.mark.parametrize(("open_", "words"), [(0, 1), (1, 1), (64, 1), (65, 2), (129, 3)])
def test_a_mask_has_a_bit_for_each_that_is_open(open_: int, words: int) -> None:
    rows = range(open_)
    times = [*rows], [200 + row for row in rows]
    search = search_of(encoded_of(*times, [int(Kind.WRITE)] * open_, [-1] * open_, [1] * open_))
    place = search.place
    assert place.mask.shape == (words,)
    assert place.masks.shape == (len(place.frames), words)
    assert place.memory_masks.shape == (len(place.memory), words - 1)


def scripted(search: Any, statuses: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the kernel is asked, and answers."""
    asked: list[int] = []

    def explore(place: Place, work: int) -> int:
        assert place is search.place
        asked.append(work)
        return statuses.pop(0)

    monkeypatch.setattr(method, "explore", explore)
    return asked


def test_what_is_needed_is_made_within_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    look = [int(Kind.LOOK)] * 2
    model = Strings([("read", "x"), ("read", "")])
    search = search_of(encoded_of([0, 1], [2, 3], look, [0, 1], [-1] * 2, model))
    before = search.place
    before.frames["phase"], before.masks[:] = np.arange(64), np.arange(64)[:, None]
    before.reg.passed = 4
    assert kernel._remember(before)
    before.wanted[0].state, before.wanted[0].action = 0, 1
    statuses = [NEEDS_FRAMES, NEEDS_MEMORY, NEEDS_COUNTS, NEEDS_STEP, FOUND_ORDER]
    asked = scripted(search, statuses, monkeypatch)
    assert search.slice(20) == FOUND_ORDER and asked == [20] * 5
    now = search.place
    assert now.frames["phase"].tolist() == [*range(64)] * 2
    assert now.masks[:, 0].tolist() == [*range(64)] * 2
    assert (len(now.memory), now.memory_masks.shape) == (512, (512, 0))
    assert not kernel._remember(now)
    assert (len(now.nodes), len(now.found)) == (128, 512)
    assert now.steps is before.steps and search.steps_made == 1
    assert steps_module.step_of(now.steps, np.int64(0), np.int64(1)) == 0
    search.place = now._replace(steps=no_steps(2))
    scripted(search, [NEEDS_STEP, EXHAUSTED], monkeypatch)
    assert search.slice(20) == EXHAUSTED
    assert (len(search.place.steps), search.steps_made) == (4, 2)


def test_a_slice_makes_room_so_many_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(encoded_of([0], [1], [int(Kind.LOOK)], [0], [-1], Strings([("read", "")])))
    asked = scripted(search, [NEEDS_STEP] * 300, monkeypatch)
    assert search.slice(3) == PAUSED and asked == [3] * 256
    assert (search.steps_made, len(search.place.steps)) == (256, 512)


def test_a_search_is_as_large_as_its_arrays() -> None:
    search = search_of(written("0-1:w1 1-:w2"))
    arrays = [each for each in search.place if isinstance(each, np.ndarray)]
    assert len(arrays) == 19
    assert search.bytes == sum(each.nbytes for each in arrays)


def test_the_order_is_of_rows() -> None:
    search = search_of(written("0-5:w1 1-:w2 2-6:w3 3-:w4"))
    search.place.order[:4] = [2, -1 - 1, 0, -1 - 3]
    search.place.reg.order = 3
    assert search.order.tolist() == [2, 1, 0] and search.order.dtype == np.int64


def test_nothing_got_past_the_deepest_place() -> None:
    """What is involved was called before its culprit returned, and did not return before."""
    search = search_of(written("0-9:w1 1-2:w2 3-4:w5 5-:w3 6-8:r7 7-10:w1 11-12:w2"))
    search.place.reg.deepest = 2
    decision = search.refuted()
    assert (decision.verdict, decision.method) == (Verdict.INVALID, "wgl")
    assert (decision.culprit, decision.involved) == (4, [0, 4, 5])
    search.place.reg.deepest = 0
    assert (search.refuted().culprit, search.refuted().involved) == (1, [0, 1])


# --- two take turns -----------------------------------------------------------------------


class Searches:
    """In the place of `_Search`: each has its answers."""

    def __init__(self, exact: list[int], sparing: list[int], bytes_: int = 10) -> None:
        self.answers, self.bytes = {False: exact, True: sparing}, bytes_
        self.asked = list[tuple[bool, int]]()

    def __call__(self, encoded: EncodedHistory, given: Any, *, thrifty: bool) -> Any:
        def answer(work: int) -> int:
            self.asked.append((thrifty, work))
            return self.answers[thrifty].pop(0)

        return SimpleNamespace(
            thrifty=thrifty,
            slice=answer,
            order=np.array([thrifty]),
            bytes=self.bytes,
            place=SimpleNamespace(reg=SimpleNamespace(remembered=1_200 + thrifty)),
            refuted=lambda: f"refuted {thrifty}",
        )


def turns(
    monkeypatch: pytest.MonkeyPatch,
    searches: Searches,
    text: str = "0-1:w1 2-:w2",
    left_s: float = 0.5,
    max_bytes: int = 20,
) -> Any:
    monkeypatch.setattr(method, "_Search", searches)
    clock = iter((10.0, 12.5))
    monkeypatch.setattr(method, "working_s", lambda: next(clock))
    budget: Any = SimpleNamespace(left_s=left_s, max_bytes=max_bytes)
    return method.wgl(written(text), budget)


def test_the_first_order_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Searches([PAUSED, FOUND_ORDER], [PAUSED, PAUSED])
    decision = turns(monkeypatch, made)
    assert (decision.verdict, decision.method) == (Verdict.VALID, "wgl")
    assert decision.order.tolist() == [0]
    assert made.asked == [(True, 50_000), (False, 50_000)] * 2
    made = Searches([PAUSED], [PAUSED, FOUND_ORDER])
    assert turns(monkeypatch, made).order.tolist() == [1]
    assert [which for which, _ in made.asked] == [True, False, True]


def test_only_the_exact_search_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Searches([PAUSED, PAUSED, EXHAUSTED], [EXHAUSTED])
    assert turns(monkeypatch, made) == "refuted False"
    assert [which for which, _ in made.asked] == [True, False, False, False]


def test_where_all_return_there_is_the_exact_search_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Searches([PAUSED, EXHAUSTED], [])
    assert turns(monkeypatch, made, "0-1:w1 2-3:w2") == "refuted False"
    assert [which for which, _ in made.asked] == [False, False]


@pytest.mark.parametrize(
    ("text", "left_s", "max_bytes", "note"),
    [
        ("0-1:w1 2-:w2", 0.0, 20, "wgl: time ran out after 2.5 s, 2,401 places"),
        ("0-1:w1 2-:w2", -1.0, 20, "wgl: time ran out after 2.5 s, 2,401 places"),
        ("0-1:w1 2-:w2", 0.5, 19, "wgl: memory ran out after 2.5 s, 2,401 places"),
        ("0-1:w1", 0.5, 9, "wgl: memory ran out after 2.5 s, 1,200 places"),
    ],
)
def test_what_ran_out_is_told(
    text: str, left_s: float, max_bytes: int, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Searches([PAUSED] * 2, [PAUSED] * 2)
    decision = turns(monkeypatch, made, text, left_s, max_bytes)
    assert (decision.verdict, decision.method) == (Verdict.UNKNOWN, "wgl")
    assert decision.note == note and len(made.asked) == 1
    assert decision.order is None


def test_queues_are_for_others() -> None:
    assert method.wgl(random_queue(random.Random(1), 8, 3), Budget()) is None


@pytest.mark.parametrize("seed", range(6))
def test_small_histories_as_brute_force_decides_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, seen = random.Random(seed), set()
    monkeypatch.setattr(method, "_SLICE", rng.choice((1, 7, 50_000)))
    for _ in range(16):
        info, lies = rng.choice((0, 0.3, 0.6)), rng.choice((0, 0.2, 0.4))
        if rng.random() < 0.3:
            encoded = random_strings(rng, rng.randint(2, 6), 4, info=info, lies=lies)
        else:
            encoded = random_cell(rng, rng.randint(2, 9), 5, 2, info=info, lies=lies)
        decision, right = method.wgl(encoded, Budget()), linearizable(encoded)
        assert decision is not None
        assert decision.verdict is (Verdict.VALID if right else Verdict.INVALID)
        seen.add(right)
        if right:
            assert decision.order is not None and is_legal_order(encoded, decision.order)
        else:
            assert decision.culprit in decision.involved
    assert seen == {True, False}
