from dataclasses import replace

import pytest
from schedules import fs, invocations, some, timed

from framework.generators import (
    Generator,
    any_of,
    delay,
    filter_ops,
    from_now,
    generate,
    limit,
    map_ops,
    op,
    ops,
    overtime,
    process_limit,
    repeat,
    simulate,
    sleep,
    stagger,
    time_limit,
    until_ok,
    with_key,
)
from framework.generators.simulate import completes, imperfect, perfect_info, quick
from framework.history.event import Completion, Event, Invocation

S = 1_000_000_000


def test_limit_counts_operations_not_answers() -> None:
    assert fs(simulate(limit(5, repeat(op("a"))), threads=2)) == ["a"] * 5
    assert fs(simulate(limit(5, some("ab")))) == ["a", "b"]
    assert simulate(limit(0, repeat(op("a")))) == []


def test_time_limit_begins_with_the_first_operation() -> None:
    once_a_second = delay(1, repeat(op("a")))
    history = simulate(time_limit(3, once_a_second), completion=quick)
    assert timed(history) == [(0, "a"), (S, "a"), (2 * S, "a")]  # 3 s is too late
    history = simulate(time_limit(3, ops([sleep(10), once_a_second])), completion=quick)
    assert timed(history) == [(10 * S, "a"), (11 * S, "a"), (12 * S, "a")]


def test_time_limit_ends_a_generator_that_waits() -> None:
    waits = ops([op("a"), sleep(100), op("b")])
    history = simulate(ops([time_limit(3, waits), op("c")]), completion=quick)
    assert timed(history) == [(0, "a"), (3 * S, "c")]
    late = delay(2, repeat(op("a")))
    history = simulate(ops([time_limit(3, late), op("c")]), completion=quick)
    assert timed(history) == [(0, "a"), (2 * S, "a"), (3 * S, "c")]


def test_time_limit_does_not_begin_again_for_what_is_late() -> None:
    history = simulate(time_limit(3, stagger(2, repeat(op("a")))), completion=quick, seed=5)
    assert all((e.time or 0) < 3 * S for e in history)


@pytest.mark.parametrize(
    ("wanted", "done", "end_s"), [(0, 3, 13), (3, 3, 13), (5, 5, 14), (99, 8, 18)]
)
def test_overtime_is_worked_until_enough_is_done_and_no_longer_than_it_may(
    wanted: int, done: int, end_s: int
) -> None:
    """An operation a second, for 3 s, or 5 s longer."""
    count = 0

    def counted(op: Invocation, before: int) -> tuple[int, Completion]:
        nonlocal count
        count += 1
        return quick(op, before)

    once_a_second = delay(1, repeat(op("a")))
    late = ops([sleep(10), once_a_second])
    source = ops([overtime(3, lambda: count < wanted, late, longer_s=5), op("b")])
    history = simulate(source, completion=counted)
    times = [(time or 0) // S for time, f in timed(history) if f == "a"]
    assert times == list(range(10, 10 + done))
    assert timed(history)[-1] == (end_s * S, "b")


def test_overtime_ends_a_generator_that_waits_and_one_that_is_exhausted() -> None:
    waits = ops([op("a"), sleep(100), op("b")])
    late = overtime(3, lambda: True, waits, longer_s=4)
    history = simulate(ops([late, op("c")]), completion=quick)
    assert timed(history) == [(0, "a"), (7 * S, "c")]
    ended = overtime(3, lambda: True, op("a"), longer_s=4)
    history = simulate(ops([ended, op("c")]), completion=quick)
    assert timed(history) == [(0, "a"), (0, "c")]


def test_process_limit_bounds_the_processes_that_may_have_taken_part() -> None:
    history = simulate(process_limit(4, repeat(op("a"))), threads=2, completion=perfect_info)
    assert {e.process for e in history} == {0, 1, 2, 3}  # the next would have been a fifth
    history = simulate(process_limit(2, repeat(op("a"))), threads=2, max_ops=50)
    assert len(invocations(history)) == 50


def test_until_ok_ends_with_an_ok_of_its_own() -> None:
    history = simulate(until_ok(repeat(op("a"))), threads=1, completion=imperfect)
    assert [e.type for e in history] == ["invoke", "fail", "invoke", "info", "invoke", "ok"]


def test_until_ok_does_not_mind_the_oks_of_others() -> None:
    def completion(event: Event, n: int) -> tuple[int, Event]:
        return 10, replace(event, type="ok" if event.f == "b" or n >= 30 else "fail")

    both = any_of(until_ok(repeat(op("a"))), limit(5, repeat(op("b"))))
    history = simulate(both, threads=2, completion=completion)
    of_a = [e.type for e in history if e.f == "a" and e.type != "invoke"]
    assert of_a.count("fail") == 25
    assert 1 <= of_a.count("ok") <= 2


def test_operations_under_way_may_still_come_after_until_ok() -> None:
    slow = completes("ok", after_s=1)
    history = simulate(until_ok(repeat(op("a"))), threads=3, completion=slow)
    assert timed(history) == [(0, "a")] * 3


def test_map_and_filter() -> None:
    shout = map_ops(lambda each: replace(each, f=each.f.upper()), some("abc"))
    assert fs(simulate(shout)) == ["A", "B", "C"]
    assert fs(simulate(filter_ops(lambda each: each.f != "b", some("abcb")))) == ["a", "c"]
    numbers = generate(lambda rng, context: op("w", value=rng.randrange(10)))
    even = filter_ops(lambda each: each.value % 2 == 0, numbers)
    values = [e.value for e in invocations(simulate(even, max_ops=40))]
    assert len(values) == 40
    assert set(values) == {0, 2, 4, 6, 8}


def test_with_key_marks_every_operation() -> None:
    assert {e.key for e in simulate(with_key("t1", some("ab")))} == {"t1"}


def test_limits_that_begin_together() -> None:
    """Though the second one's first operation is due later."""

    def both(now_ns: int) -> Generator:
        late = ops((sleep(1), delay(1, repeat(op("b")))))
        return any_of(
            overtime(3, lambda: False, delay(1, repeat(op("a"))), longer_s=3, since_ns=now_ns),
            overtime(3, lambda: False, late, longer_s=3, since_ns=now_ns),
        )

    history = simulate(ops((sleep(5), from_now(both))), completion=quick)
    times = [*((second * S, "a") for second in (5, 6, 7)), (6 * S, "b"), (7 * S, "b")]
    assert sorted(timed(history)) == sorted(times)
