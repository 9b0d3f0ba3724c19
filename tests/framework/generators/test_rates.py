from itertools import pairwise

from schedules import invocations, timed

from framework.generators import any_of, delay, limit, ops, repeat, simulate, sleep, stagger
from framework.generators import op as operation
from framework.generators.simulate import completes, quick

S = 1_000_000_000
op = operation("a")


def gaps(seed: int, count: int, mean_s: float = 1.0, threads: int = 3) -> list[int]:
    history = simulate(
        stagger(mean_s, repeat(op)), seed=seed, completion=quick, max_ops=count, threads=threads
    )
    times = [event.time or 0 for event in invocations(history)]
    return [b - a for a, b in pairwise(times)]


def test_delay_is_exact() -> None:
    history = simulate(limit(3, delay(2, repeat(op))), completion=quick)
    assert timed(history) == [(0, "a"), (2 * S, "a"), (4 * S, "a")]


def test_delay_catches_up() -> None:
    slow_start = ops([operation("slow"), repeat(op)])

    def completion(event: object, n: int) -> tuple[int, object]:
        from dataclasses import replace

        return 5 * S if n == 0 else 0, replace(event, type="ok")  # type: ignore[type-var]

    history = simulate(limit(8, delay(2, slow_start)), threads=1, completion=completion)  # type: ignore[arg-type]
    assert [time for time, _ in timed(history)] == [
        0,
        *[5 * S] * 2,
        *[t * S for t in (6, 8, 10, 12, 14)],
    ]


def test_stagger_gaps_are_uniform_from_none_to_twice_the_mean() -> None:
    found = gaps(seed=7, count=2001)
    assert min(found) >= 0
    assert max(found) < 2 * S
    assert 0.95 < sum(found) / len(found) / S < 1.05
    quarters = [sum(q * S / 2 <= gap < (q + 1) * S / 2 for gap in found) for q in range(4)]
    assert all(400 < quarter < 600 for quarter in quarters)


def test_stagger_is_a_rate_of_the_whole_not_of_a_thread() -> None:
    assert gaps(seed=7, count=50, threads=1) == gaps(seed=7, count=50, threads=20)


def test_stagger_draws_from_the_seed() -> None:
    assert gaps(seed=1, count=50) == gaps(seed=1, count=50)
    assert gaps(seed=1, count=50) != gaps(seed=2, count=50)


def test_siblings_do_not_draw_the_same_gaps() -> None:
    both = any_of(*(stagger(1, repeat(operation(f))) for f in "ab"))
    history = simulate(both, completion=quick, max_ops=60)
    of = {f: [time for time, g in timed(history) if g == f] for f in "ab"}
    assert set(of["a"][1:]).isdisjoint(of["b"][1:])


def test_stagger_keeps_its_rate_where_clients_are_slow_but_enough() -> None:
    history = simulate(
        stagger(0.1, repeat(op)), threads=40, completion=completes("ok", after_s=1), max_ops=1000
    )
    last = invocations(history)[-1].time or 0
    assert 95 < last / S < 105


def test_stagger_makes_up_for_small_lateness() -> None:
    """Two threads are both busy now and then; the rate is kept all the same."""
    history = simulate(
        stagger(1, repeat(op)), threads=2, completion=completes("ok", after_s=1), max_ops=2000
    )
    assert 0.95 < (invocations(history)[-1].time or 0) / S / 2000 < 1.05


def test_stagger_does_not_burst_after_a_stall() -> None:
    def completion(event: object, n: int) -> tuple[int, object]:
        from dataclasses import replace

        return 100 * S if n == 0 else 0, replace(event, type="ok")  # type: ignore[type-var]

    history = simulate(stagger(1, repeat(op)), threads=1, completion=completion, max_ops=20)  # type: ignore[arg-type]
    after = [time for time, _ in timed(history) if time and time >= 100 * S]
    assert after[0] == 100 * S
    assert sum(time < 105 * S for time in after) < 10


def test_a_rate_ends_as_soon_as_its_operations_do() -> None:
    history = simulate(ops([stagger(100, op), operation("b")]), completion=quick)
    assert timed(history) == [(0, "a"), (0, "b")]


def test_a_pause_beside_a_slow_rate_begins_at_once() -> None:
    beside = any_of(delay(100, repeat(op)), ops([sleep(5), operation("b")]))
    history = simulate(limit(3, beside), completion=quick)
    assert timed(history) == [(0, "a"), (5 * S, "b"), (100 * S, "a")]
