from collections import Counter

import pytest
from schedules import fs, invocations, placed, some

from framework.errors import UsageError
from framework.generators import (
    any_of,
    clients,
    each_thread,
    limit,
    mix,
    nemesis,
    on_threads,
    op,
    phases,
    repeat,
    reserve,
    simulate,
    until_ok,
)
from framework.generators.simulate import completes, imperfect


def test_on_threads_restricts() -> None:
    evens = on_threads(lambda thread: isinstance(thread, int) and thread % 2 == 0, repeat(op("a")))
    assert {e.process for e in simulate(evens, threads=5, max_ops=50)} == {0, 2, 4}
    assert {e.process for e in simulate(on_threads([3], some("aa")), threads=5)} == {3}
    assert simulate(on_threads([99], op("a"))) == []


def test_on_threads_follows_a_thread_through_its_processes() -> None:
    gen = on_threads([1], limit(6, repeat(op("a"))))
    history = simulate(gen, threads=3, completion=imperfect)
    assert [e.process for e in invocations(history)] == [1, 1, 4, 4, 4, 7]


def test_on_threads_hears_only_its_own() -> None:
    """The ok of another thread does not end it."""
    gen = any_of(on_threads([0], until_ok(repeat(op("a")))), on_threads([1], op("b")))

    def completion(event: object, n: int) -> tuple[int, object]:
        from dataclasses import replace

        return 10, replace(event, type="ok" if event.f == "b" or n >= 9 else "fail")  # type: ignore

    history = simulate(gen, threads=2, completion=completion)  # type: ignore[arg-type]
    assert fs(history).count("a") == 9


def test_clients_and_nemesis_at_once() -> None:
    for gen in (clients(some("ab"), some("xy")), nemesis(some("xy"), some("ab"))):
        history = simulate(gen, threads=1)
        assert sorted(placed(history), key=lambda row: (str(row[1]), row[0])) == [
            (0, 0, "a"),
            (10, 0, "b"),
            (0, "nemesis", "x"),
            (10, "nemesis", "y"),
        ]


def test_each_thread_has_a_copy() -> None:
    history = simulate(each_thread(some("ab")), threads=3)
    assert sorted(placed(history), key=lambda row: (row[1], row[0])) == [
        (time, process, f) for process in range(3) for time, f in ((0, "a"), (10, "b"))
    ]
    assert placed(simulate(nemesis(each_thread(op("a"))))) == [(0, "nemesis", "a")]
    assert simulate(clients(each_thread(op("a"))), threads=0) == []


def test_each_thread_barriers_are_the_threads_own() -> None:
    slow = completes("ok", "ok", "ok", after_s=1)
    history = simulate(each_thread(phases(op("a"), op("b"))), threads=2, completion=slow)
    assert Counter(fs(history)) == {"a": 2, "b": 2}


def test_copies_of_each_thread_do_not_draw_in_step() -> None:
    history = simulate(each_thread(limit(40, mix(repeat(op("a")), repeat(op("b"))))), threads=2)
    of = {p: [e.f for e in invocations(history) if e.process == p] for p in (0, 1)}
    assert of[0] != of[1]
    assert len(of[0]) == len(of[1]) == 40


def test_reserve_keeps_to_its_ranges() -> None:
    gen = reserve((2, repeat(op("r"))), (1, repeat(op("w"))), default=repeat(op("d")))
    history = simulate(gen, threads=5, max_ops=200)
    by_f = {f: {e.process for e in history if e.f == f} for f in "rwd"}
    assert by_f == {"r": {0, 1}, "w": {2}, "d": {3, 4}}


def test_reserve_nests() -> None:
    inner = reserve((1, repeat(op("x"))), default=repeat(op("y")))
    history = simulate(reserve((2, repeat(op("r"))), default=inner), threads=5, max_ops=200)
    by_f = {f: {e.process for e in history if e.f == f} for f in "rxy"}
    assert by_f == {"r": {0, 1}, "x": {2}, "y": {3, 4}}


def test_reserve_goes_on_beside_stuck_threads() -> None:
    def completion(event: object, n: int) -> tuple[int, object]:
        from dataclasses import replace

        latency = 10**9 if event.f == "w" else 10  # type: ignore[attr-defined]
        return latency, replace(event, type="ok")  # type: ignore[type-var]

    gen = reserve((1, repeat(op("r"))), default=repeat(op("w")))
    history = simulate(gen, threads=4, completion=completion, max_ops=100)  # type: ignore[arg-type]
    assert Counter(fs(history)) == {"r": 97, "w": 3}


def test_reserve_without_enough_threads_says_so() -> None:
    with pytest.raises(UsageError, match=r"needs 6 client threads \(5 \+ 1\), but there are 3"):
        simulate(reserve((5, op("a")), (1, op("b"))), threads=3)


def test_reserve_ends_without_a_default() -> None:
    assert sorted(fs(simulate(reserve((1, some("ab"))), threads=3))) == ["a", "b"]


def test_threads_are_chosen_fairly() -> None:
    """Fast clients: mostly all threads are free, where a cursor or a set's order would favour
    some. No thread may get twice the operations of another, by far."""
    from framework.generators import stagger

    for gen in (repeat(op("a")), stagger(1, repeat(op("a"))), each_thread(repeat(op("a")))):
        history = simulate(gen, threads=10, max_ops=5000)
        counts = Counter(e.process for e in invocations(history))
        assert len(counts) == 10
        assert max(counts.values()) < 1.3 * min(counts.values())
