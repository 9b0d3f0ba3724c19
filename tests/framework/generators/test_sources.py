import pytest
from schedules import fs, invocations, placed, timed

from framework.generators import (
    GeneratorError,
    clients,
    cycle,
    generate,
    limit,
    mix,
    nemesis,
    nothing,
    once,
    op,
    ops,
    phases,
    repeat,
    simulate,
    sleep,
)
from framework.generators.simulate import completes, imperfect, perfect, perfect_info, quick

S = 1_000_000_000


def test_an_operation_stands_for_itself_once() -> None:
    history = simulate(op("create", "t1", {"partitions": 3}, node="b1"), threads=1)
    assert [(e.index, e.time, e.type, e.process) for e in history] == [
        (0, 0, "invoke", 0),
        (1, 10, "ok", 0),
    ]
    assert [(e.f, e.key, e.value, e.node) for e in history] == [
        ("create", "t1", {"partitions": 3}, "b1")
    ] * 2


def test_nothing_has_no_operations() -> None:
    assert simulate(nothing()) == []
    assert simulate(ops([])) == []
    assert simulate(cycle(nothing())) == []


def test_operations_in_turn_go_to_all_threads_at_once() -> None:
    history = simulate(ops([op("a"), op("b"), ops([op("c"), op("d")]), op("e")]), threads=2)
    assert timed(history) == [(0, "a"), (0, "b"), (10, "c"), (10, "d"), (20, "e")]


def test_repeat_takes_the_first_operation_for_ever() -> None:
    assert fs(simulate(repeat(ops([op("a"), op("b")])), max_ops=3)) == ["a", "a", "a"]


def test_repeat_waits_for_a_pause_each_time() -> None:
    history = simulate(repeat(ops([sleep(1), op("a")])), threads=1, completion=quick, max_ops=3)
    assert timed(history) == [(S, "a"), (2 * S, "a"), (3 * S, "a")]


def test_repeat_draws_anew_each_time() -> None:
    drawn = set(fs(simulate(repeat(mix(op("a"), op("b"))), max_ops=30)))
    assert drawn == {"a", "b"}


def test_once_of_a_generator_is_its_first_operation() -> None:
    assert fs(simulate(once(repeat(op("a"))))) == ["a"]
    assert fs(simulate(once(op("a")))) == ["a"]


def test_cycle_begins_again() -> None:
    history = simulate(cycle(ops([op("a"), limit(2, repeat(op("b")))])), max_ops=7)
    assert fs(history) == ["a", "b", "b", "a", "b", "b", "a"]


def test_generate_asks_its_function_until_it_says_none() -> None:
    def countdown(rng: object, context: object) -> object:
        return next(left, None)

    # A function with a memory is not pure; it shows how often it is asked for an answer that
    # is taken, on one thread where no answer is thrown away.
    left = iter([op("a"), ops([op("b"), op("c")]), op("d")])
    assert fs(simulate(generate(countdown), threads=1)) == ["a", "b", "c", "d"]  # type: ignore[arg-type]


def test_generate_draws_from_the_seed() -> None:
    numbers = generate(lambda rng, context: op("write", value=rng.randrange(100)))

    def drawn(seed: int) -> list[int]:
        return [e.value for e in invocations(simulate(numbers, seed=seed, max_ops=20))]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 10


def test_sleep_offers_nothing_and_occupies_no_thread() -> None:
    history = simulate(ops([op("a"), sleep(2), op("b")]), threads=1, completion=quick)
    assert timed(history) == [(0, "a"), (2 * S, "b")]
    # The pause begins when a thread is free to come to it: after the nemesis's operation.
    slow = completes("ok", after_s=1)
    faults = cycle(ops([sleep(10), op("start"), sleep(5), op("stop")]))
    history = simulate(nemesis(faults), completion=slow, max_ops=4)
    assert timed(history) == [
        (10 * S, "start"),
        (16 * S, "stop"),
        (27 * S, "start"),
        (33 * S, "stop"),
    ]


def test_operations_go_to_clients_unless_there_is_only_the_nemesis() -> None:
    history = simulate(limit(50, repeat(op("a"))), threads=2)
    assert {event.process for event in history} == {0, 1}
    assert placed(simulate(nemesis(op("a")))) == [(0, "nemesis", "a")]
    assert simulate(clients(op("a")), threads=0) == []


def test_presets_of_completions() -> None:
    two = ops([op("a"), op("b")])

    def outcome(completion: object) -> list[tuple[int | None, str, object]]:
        history = simulate(two, threads=1, completion=completion)  # type: ignore[arg-type]
        return [(e.time, e.type, e.process) for e in history]

    assert outcome(quick) == [(0, "invoke", 0), (0, "ok", 0)] * 2
    assert outcome(perfect) == [(0, "invoke", 0), (10, "ok", 0), (10, "invoke", 0), (20, "ok", 0)]
    assert outcome(perfect_info) == [
        (0, "invoke", 0),
        (10, "info", 0),
        (10, "invoke", 1),
        (20, "info", 1),
    ]
    assert [e[1] for e in outcome(imperfect)] == ["invoke", "fail", "invoke", "info"]


def test_a_nemesis_operation_completes_as_info_and_keeps_its_process() -> None:
    history = simulate(nemesis(ops([op("start"), op("stop")])))
    assert [(e.type, e.process) for e in history] == [
        ("invoke", "nemesis"),
        ("info", "nemesis"),
    ] * 2


def test_waiting_for_nothing_is_an_error_in_the_simulator() -> None:
    from framework.generators import PENDING, Context, Generator, Offer
    from framework.history.event import Event

    class Forever:
        def offer(self, context: Context) -> Offer:
            return Offer(PENDING, self)

        def update(self, context: Context, event: Event) -> Generator:
            return self

    with pytest.raises(GeneratorError, match="pending for ever"):
        simulate(Forever())
    with pytest.raises(GeneratorError, match="pending for ever"):
        simulate(phases(op("a"), Forever()))


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"type": "ok"}, "event of type 'ok'"),
        ({"time": None}, "without a time"),
        ({"process": 9}, "busy or unknown process"),
    ],
)
def test_nonsense_from_a_generator_is_refused(event: dict[str, object], problem: str) -> None:
    from dataclasses import replace

    from framework.generators import map_ops

    with pytest.raises(GeneratorError, match=problem):
        simulate(map_ops(lambda each: replace(each, **event), op("a")))  # type: ignore[arg-type]
