from collections import Counter
from collections.abc import Callable

import pytest
from schedules import fs, placed, some, timed

from framework.generators import (
    Generator,
    Source,
    any_of,
    clients,
    delay,
    limit,
    mix,
    nothing,
    op,
    ops,
    phases,
    repeat,
    simulate,
    sleep,
    stagger,
    synchronize,
    then,
    until_ok,
)
from framework.generators.simulate import completes, quick

S = 1_000_000_000


def test_any_of_takes_who_is_due_first() -> None:
    both = any_of(
        limit(3, delay(3, repeat(op("a")))), ops([sleep(1), some("b"), sleep(9), some("c")])
    )
    assert timed(simulate(both, completion=quick)) == [
        (0, "a"),
        (1 * S, "b"),
        (3 * S, "a"),
        (6 * S, "a"),
        (10 * S, "c"),
    ]


@pytest.mark.parametrize("rate", [delay, stagger])
def test_any_of_lets_the_late_go_first(rate: Callable[[float, Source], Generator]) -> None:
    """Floods beside it do not starve a rate: every other of these operations of 10 ns."""
    floods = [repeat(op("flood")) for _ in range(9)]
    history = simulate(any_of(*floods, rate(20e-9, repeat(op("rate")))), threads=1, max_ops=2000)
    assert Counter(fs(history))["rate"] == pytest.approx(1000, rel=0.1)


def test_any_of_draws_between_equals() -> None:
    counts = Counter(fs(simulate(any_of(*(repeat(op(f)) for f in "abc")), max_ops=3000)))
    assert all(900 < count < 1100 for count in counts.values())


def test_any_of_ends_when_all_have() -> None:
    assert sorted(fs(simulate(any_of(some("ab"), nothing(), some("c"))))) == ["a", "b", "c"]
    assert simulate(any_of()) == []


def test_updates_reach_all_of_any_of_and_mix() -> None:
    for combine in (any_of, mix):
        gen = combine(until_ok(repeat(op("a"))), until_ok(repeat(op("b"))))
        assert sorted(fs(simulate(gen, threads=1, completion=quick))) == ["a", "b"]


def test_mix_draws_with_weights() -> None:
    even = Counter(fs(simulate(mix(repeat(op("a")), repeat(op("b"))), max_ops=2000)))
    assert 900 < even["a"] < 1100
    weighted = mix(repeat(op("a")), repeat(op("b")), weights=(3, 1))
    assert 1400 < Counter(fs(simulate(weighted, max_ops=2000)))["a"] < 1600
    with pytest.raises(ValueError, match="as many weights"):
        mix(op("a"), weights=(1, 2))
    with pytest.raises(ValueError, match="1 or more"):
        mix(op("a"), weights=(0,))


def test_mix_passes_over_who_is_pending() -> None:
    slow = ops([sleep(10), op("b")])
    history = simulate(mix(slow, some("aaaa")), threads=1, completion=quick)
    assert timed(history) == [(0, "a")] * 4 + [(10 * S, "b")]


def test_mix_drops_who_is_exhausted() -> None:
    assert Counter(fs(simulate(mix(some("aa"), some("bbb"), nothing())))) == {"a": 2, "b": 3}


def test_nested_mixes_do_not_draw_in_step() -> None:
    inner = mix(repeat(op("a")), repeat(op("b")))
    other = mix(repeat(op("c")), repeat(op("d")))
    counts = Counter(fs(simulate(mix(inner, other), max_ops=4000)))
    assert all(850 < counts[f] < 1150 for f in "abcd")


def test_phases_wait_for_each_other() -> None:
    slow = completes("ok", after_s=1)
    history = simulate(phases(some("aaa"), some("bb"), some("c")), threads=2, completion=slow)
    assert timed(history) == [
        *[(0, "a")] * 2,
        (1 * S, "a"),
        *[(2 * S, "b")] * 2,
        (3 * S, "c"),
    ]


def test_then_waits_only_before_the_second() -> None:
    slow = completes("ok", after_s=1)
    assert timed(simulate(then(some("aa"), some("b")), completion=slow)) == [
        (0, "a"),
        (0, "a"),
        (S, "b"),
    ]


def test_synchronize_minds_only_threads_of_its_context() -> None:
    from framework.generators import nemesis

    def completion(event: object, n: int) -> tuple[int, object]:
        from dataclasses import replace

        slow = event.f == "fault"  # type: ignore[attr-defined]
        return 100 * S if slow else S, replace(event, type="ok")  # type: ignore[type-var]

    gen = any_of(nemesis(op("fault")), clients(phases(op("a"), op("b"))))
    history = simulate(gen, threads=1, completion=completion)  # type: ignore[arg-type]
    assert sorted(placed(history), key=lambda row: (row[0], str(row[1]))) == [
        (0, 0, "a"),
        (0, "nemesis", "fault"),
        (S, 0, "b"),
    ]
    everyone = any_of(nemesis(op("fault")), ops([sleep(1), synchronize(op("a"))]))
    history = simulate(everyone, threads=1, completion=completion)  # type: ignore[arg-type]
    assert placed(history) == [(0, "nemesis", "fault"), (100 * S, 0, "a")]
