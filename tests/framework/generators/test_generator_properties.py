"""Laws that hold for every generator, over generators made at random."""

from hypothesis import given, reject, settings
from hypothesis import strategies as st
from schedules import fs, invocations

from framework.errors import UsageError
from framework.generators import (
    Context,
    Pending,
    any_of,
    clients,
    cycle,
    delay,
    each_thread,
    generate,
    lift,
    limit,
    mix,
    op,
    ops,
    phases,
    process_limit,
    repeat,
    reserve,
    simulate,
    sleep,
    stagger,
    synchronize,
    time_limit,
    until_ok,
    with_key,
)
from framework.generators.base import Generator, Source
from framework.generators.simulate import Answer, completes
from framework.history.event import NEMESIS, Event
from tests.cases import cases

S = 1_000_000_000

FINITE: st.SearchStrategy[Source] = st.sampled_from("abcdef").map(op)
COUNTS = st.integers(1, 6)


def random_op(name: str) -> Generator:
    return generate(lambda rng, context: op(name, value=rng.randrange(1000)))


def wrap(children: st.SearchStrategy[Source]) -> st.SearchStrategy[Source]:
    several = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        several.map(ops),
        several.map(lambda sources: mix(*sources)),
        several.map(lambda sources: any_of(*sources)),
        several.map(lambda sources: phases(*sources)),
        children.map(each_thread),
        children.map(synchronize),
        children.map(clients),
        children.map(lambda source: with_key("k", source)),
        children.map(lambda source: ops([sleep(0.5), source])),
        st.builds(lambda n, source: limit(n, cycle(source)), COUNTS, children),
        st.builds(lambda n, source: limit(n, repeat(source)), COUNTS, children),
        st.builds(lambda n, name: limit(n, random_op(name)), COUNTS, st.sampled_from("uvw")),
        children.map(lambda source: limit(9, until_ok(source))),
        children.map(lambda source: stagger(0.3, source)),
        children.map(lambda source: delay(0.2, source)),
        st.builds(lambda n, source: time_limit(n / 3, source), COUNTS, children),
        st.builds(lambda a, b: reserve((1, a), default=b), children, children),
    )


SOURCES = st.recursive(FINITE, wrap, max_leaves=6)
COMPLETIONS = st.sampled_from(
    [
        completes("ok", after_s=0),
        completes("fail", "info", "ok", after_s=0.1),
        completes("info", after_s=0.05),
        completes("ok", "info", after_s=1.7),
    ]
)


def history_of(
    source: Source, threads: int, seed: int, completion: Answer, max_ops: int = 60
) -> list[Event]:
    try:
        return simulate(source, threads=threads, seed=seed, completion=completion, max_ops=max_ops)
    except UsageError:  # a reserve inside another one finds no thread left
        reject()


@settings(max_examples=cases(150), deadline=None)
@given(SOURCES, st.integers(1, 5), st.integers(0, 2**64), COMPLETIONS)
def test_a_seed_fixes_the_schedule(
    source: Source, threads: int, seed: int, completion: Answer
) -> None:
    first = history_of(source, threads, seed, completion)
    assert first == history_of(source, threads, seed, completion)


@settings(max_examples=cases(150), deadline=None)
@given(SOURCES, st.integers(1, 5), st.integers(0, 9), COMPLETIONS)
def test_histories_are_well_formed(
    source: Source, threads: int, seed: int, completion: Answer
) -> None:
    """Dense indices, time that goes on, one operation open a process, none after an info."""
    history = history_of(source, threads, seed, completion)
    assert [event.index for event in history] == list(range(len(history)))
    times = [event.time or 0 for event in history]
    assert times == sorted(times)
    open_ops: dict[int | str, Event] = {}
    retired = set()
    for event in history:
        assert event.process not in retired
        if event.type == "invoke":
            assert event.process not in open_ops
            assert event.process != NEMESIS
            open_ops[event.process] = event
        else:
            op = open_ops.pop(event.process)
            assert (op.f, op.key) == (event.f, event.key)
            if event.type == "info":
                retired.add(event.process)
    assert not open_ops


@settings(max_examples=cases(100), deadline=None)
@given(SOURCES, st.integers(1, 4), st.integers(0, 9))
def test_asking_changes_nothing(source: Source, threads: int, seed: int) -> None:
    """Any number of asks in between leaves the schedule as it is."""

    class AskedTwice:
        def __init__(self, gen: Generator) -> None:
            self.gen = gen

        def offer(self, context: Context) -> object:
            first, second = self.gen.offer(context), self.gen.offer(context)
            assert (first is None) == (second is None)
            if first is None or second is None:
                return None
            assert first.op == second.op
            return type(second)(second.op, AskedTwice(second.after))  # type: ignore[arg-type]

        def update(self, context: Context, event: Event) -> object:
            return AskedTwice(self.gen.update(context, event))

    completion = completes("ok", "info", after_s=0.1)
    asked: Source = AskedTwice(lift(source))  # type: ignore[assignment]
    assert history_of(asked, threads, seed, completion) == history_of(
        source, threads, seed, completion
    )


@settings(max_examples=cases(100), deadline=None)
@given(SOURCES, st.integers(0, 20), st.integers(1, 4), st.integers(0, 9), COMPLETIONS)
def test_limit_bounds(
    source: Source, count: int, threads: int, seed: int, completion: Answer
) -> None:
    whole = invocations(history_of(source, threads, seed, completion, 10_000))
    limited = invocations(history_of(limit(count, source), threads, seed, completion, 10_000))
    assert limited == whole[:count]


@settings(max_examples=cases(100), deadline=None)
@given(SOURCES, st.floats(0.01, 3), st.integers(1, 4), st.integers(0, 9), COMPLETIONS)
def test_time_limit_bounds(
    source: Source, seconds: float, threads: int, seed: int, completion: Answer
) -> None:
    times = [
        event.time or 0
        for event in invocations(
            history_of(time_limit(seconds, cycle(source)), threads, seed, completion)
        )
    ]
    if times:
        assert max(times) < min(times) + round(seconds * S)


@settings(max_examples=cases(60), deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 9), COMPLETIONS)
def test_process_limit_bounds(count: int, threads: int, seed: int, completion: Answer) -> None:
    history = history_of(process_limit(count, repeat(op("a"))), threads, seed, completion)
    assert len({event.process for event in history}) <= count


@settings(max_examples=cases(60), deadline=None)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(0, 3),
    st.integers(0, 9),
    COMPLETIONS,
)
def test_reserve_never_crosses_its_ranges(
    sizes: list[int], spare: int, seed: int, completion: Answer
) -> None:
    threads = sum(sizes) + spare
    parts = [(size, random_op(str(i))) for i, size in enumerate(sizes)]
    source = reserve(*parts, default=random_op(str(len(sizes))))
    owner = [str(i) for i, size in enumerate([*sizes, spare]) for _ in range(size)]
    for event in history_of(source, threads, seed, completion, 200):
        assert isinstance(event.process, int)
        assert event.f == owner[event.process % threads]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 10), st.integers(0, 2**32), st.floats(0.001, 10))
def test_staggers_rate(threads: int, seed: int, mean_s: float) -> None:
    history = simulate(
        stagger(mean_s, repeat(op("a"))),
        threads=threads,
        seed=seed,
        completion=completes("ok", after_s=0),
        max_ops=400,
    )
    # 399 gaps, uniform in [0, 2 * mean): six standard deviations are 17 %.
    assert 0.82 < (history[-1].time or 0) / S / 399 / mean_s < 1.18


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.integers(0, 2**32))
def test_fairness_among_free_threads(threads: int, seed: int) -> None:
    count = 400 * threads
    history = simulate(
        mix(repeat(op("a")), repeat(op("b"))),
        threads=threads,
        seed=seed,
        completion=completes("ok", after_s=0),
        max_ops=count,
    )
    by_thread = [0] * threads
    for event in invocations(history):
        assert isinstance(event.process, int)
        by_thread[event.process] += 1
    assert all(0.7 * 400 < n < 1.3 * 400 for n in by_thread)  # six standard deviations


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_seeds_differ(seed: int) -> None:
    source = mix(*(repeat(op(f)) for f in "abcd"))
    quick = completes("ok", after_s=0)
    one, other = (fs(history_of(source, 3, s, quick)) for s in (seed, seed + 1))
    assert one != other


@settings(max_examples=cases(60), deadline=None)
@given(SOURCES, st.integers(0, 9))
def test_nothing_is_offered_where_nobody_is_free(source: Source, seed: int) -> None:
    idle = Context(
        time=0,
        threads=frozenset((0, 1, NEMESIS)),
        free=frozenset(),
        processes={0: 0, 1: 1, NEMESIS: NEMESIS},
        seed=seed,
    )
    offer = lift(source).offer(idle)
    assert offer is None or isinstance(offer.op, Pending)
