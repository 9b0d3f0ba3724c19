from dataclasses import dataclass, replace
from itertools import groupby

import pytest
from schedules import invocations, some

from framework.errors import UsageError
from framework.generators import (
    Context,
    Generator,
    Offer,
    Pending,
    assign,
    concurrent_keys,
    each_thread,
    limit,
    op,
    repeat,
    sequential_keys,
    simulate,
    until_ok,
)
from framework.generators.simulate import imperfect
from framework.history.event import Event


def test_sequential_keys_one_after_another() -> None:
    history = simulate(sequential_keys(["x", "y"], lambda key: some("ab")), threads=1)
    assert [(e.key, e.f) for e in invocations(history)] == [
        ("x", "a"),
        ("x", "b"),
        ("y", "a"),
        ("y", "b"),
    ]


def test_keys_may_never_end() -> None:
    history = simulate(sequential_keys(lambda n: f"t{n}", lambda key: op("a")), max_ops=5)
    assert [e.key for e in invocations(history)] == ["t0", "t1", "t2", "t3", "t4"]


def test_concurrent_keys_each_group_at_its_own() -> None:
    gen = concurrent_keys(2, range(7), lambda key: limit(5, repeat(op("a"))))
    history = simulate(gen, threads=6, completion=imperfect)
    assert {e.key for e in history} == set(range(7))
    for key in range(7):
        of_key = [e for e in invocations(history) if e.key == key]
        assert len(of_key) == 5
        assert len({e.process % 6 // 2 for e in of_key if isinstance(e.process, int)}) == 1
    for group in range(3):  # a group comes back to no key
        keys = [
            e.key
            for e in invocations(history)
            if isinstance(e.process, int) and e.process % 6 // 2 == group
        ]
        assert len([key for key, _ in groupby(keys)]) == len(set(keys))


def test_events_reach_the_keys_generator() -> None:
    gen = concurrent_keys(1, range(4), lambda key: until_ok(repeat(op("a"))))
    history = simulate(gen, threads=2, completion=imperfect)
    assert [e.key for e in history if e.type == "ok"].__len__() == 4
    gen = sequential_keys(range(4), lambda key: until_ok(repeat(op("a"))))
    history = simulate(gen, threads=1, completion=imperfect)
    assert [e.key for e in history if e.type == "ok"] == [0, 1, 2, 3]


@dataclass(frozen=True)
class OnlyMine:
    """Two operations on a key. Must not hear of other keys."""

    key: int
    left: int = 2

    def offer(self, context: Context) -> Offer | None:
        if self.left == 0:
            return None
        chosen = assign(context, op("a"))
        taken = not isinstance(chosen, Pending)
        return Offer(chosen, OnlyMine(self.key, self.left - taken))

    def update(self, context: Context, event: Event) -> Generator:
        assert event.key == self.key
        return self


@pytest.mark.parametrize("concurrent", [False, True])
def test_a_key_does_not_hear_of_the_last_one(concurrent: bool) -> None:
    """A slow operation on one key completes when its threads are at the next."""

    def completion(event: Event, n: int) -> tuple[int, Event]:
        return 100 if n % 3 == 0 else 10, replace(event, type="ok")

    make = (
        concurrent_keys(2, range(6), OnlyMine)
        if concurrent
        else sequential_keys(range(6), OnlyMine)
    )
    history = simulate(make, threads=2, completion=completion)
    keys = [e.key for e in history]
    assert keys != sorted(keys)  # there was such an operation
    assert set(keys) == set(range(6))


def test_groups_see_only_their_threads() -> None:
    history = simulate(concurrent_keys(2, ["x", "y"], lambda key: each_thread(op("a"))), threads=4)
    assert sorted((e.key, e.process) for e in invocations(history)) in (
        [("x", 0), ("x", 1), ("y", 2), ("y", 3)],
        [("x", 2), ("x", 3), ("y", 0), ("y", 1)],
    )


def test_the_nemesis_has_no_key() -> None:
    history = simulate(concurrent_keys(1, range(9), lambda key: op("a")), threads=3)
    assert "nemesis" not in {e.process for e in history}


@pytest.mark.parametrize("threads", [0, 3, 5])
def test_a_wrong_number_of_threads_is_said(threads: int) -> None:
    with pytest.raises(UsageError, match="make the concurrency a multiple of 2"):
        simulate(concurrent_keys(2, ["x"], lambda key: op("a")), threads=threads)
