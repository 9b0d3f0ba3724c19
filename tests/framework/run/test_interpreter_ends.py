"""The interpreter with clients in memory: the nemesis, how runs end, and what is nobody's fault."""

import itertools
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from framework.errors import UsageError
from framework.generators import (
    Context,
    Generator,
    GeneratorError,
    Offer,
    assign,
    clients,
    each_thread,
    generate,
    limit,
    map_ops,
    nemesis,
    op,
    ops,
    reserve,
    sleep,
    stagger,
    until_ok,
)
from framework.history.event import Event
from framework.testing.memory import WRITE, Clients, Memory, errors, interpret, well_formed

# -- the nemesis


def test_the_nemesis_runs_beside_clients() -> None:
    beside = threading.Semaphore(0)

    def answer(op: Event) -> Event:
        beside.release()
        return replace(op, type="ok")

    class Slow:
        def invoke(self, op: Event) -> Event:
            for _ in range(10):
                assert beside.acquire(timeout=120)
            return replace(op, type="info", value={"did": op.f})

    gen = clients(limit(100, stagger(0.001, WRITE)), ops([op("start"), op("stop")]))
    history, _ = interpret(gen, answer, nemesis=Slow(), op_timeout_s=60)
    of_nemesis = [(e.type, e.f, e.value) for e in history if e.process == "nemesis"]
    assert of_nemesis == [
        ("invoke", "start", None),
        ("info", "start", {"did": "start"}),
        ("invoke", "stop", None),
        ("info", "stop", {"did": "stop"}),
    ]
    inside = [e for e in history if e.process != "nemesis" and e.type == "ok"]
    assert len(inside) == 100


def test_a_nemesis_that_fails_says_so_and_goes_on() -> None:
    class Fails:
        def invoke(self, op: Event) -> Event:
            if op.f == "start":
                raise OSError("no such interface")
            return replace(op, type="ok")

    history, _ = interpret(nemesis(ops([op("start"), op("stop")])), nemesis=Fails())
    assert {e.process for e in history} == {"nemesis"}
    assert errors(history) == [
        ("OSError", "no such interface"),
        ("INVALID_COMPLETION", "type 'ok' is none of info"),
    ]


# -- the end


def test_stop_ends_an_endless_run_in_order() -> None:
    stop = threading.Event()
    answered = itertools.count(1)

    def answer(op: Event) -> Event:
        if next(answered) == 20:
            stop.set()
        return replace(op, type="ok")

    history, summary = interpret(clients(stagger(0.002, WRITE)), answer, stop=stop)
    assert summary.stopped
    assert summary.completed["info"] == 0
    assert summary.invoked >= 20
    assert history[-1].type == "ok"


def test_stop_gives_what_is_under_way_a_grace() -> None:
    stop = threading.Event()
    release = threading.Event()
    under_way = threading.Semaphore(0)

    def answer(op: Event) -> Event:
        if op.f == "slow":
            assert under_way.acquire(timeout=120) and under_way.acquire(timeout=120)
            stop.set()
        if op.f == "never":
            under_way.release()
            release.wait(120)
        return replace(op, type="ok")

    class Never:
        def invoke(self, op: Event) -> Event:
            under_way.release()
            release.wait(120)
            return replace(op, type="info")

    gen = clients(reserve((1, op("slow")), (1, op("never"))), op("start"))
    history, summary = interpret(gen, answer, nemesis=Never(), stop=stop, grace_s=3)
    release.set()
    ends = {e.f: (e.type, e.error and e.error[0]) for e in history if e.type != "invoke"}
    assert ends == {
        "slow": ("ok", None),
        "never": ("info", "INTERRUPTED"),
        "start": ("info", "INTERRUPTED"),
    }
    assert summary.stopped


def test_stop_before_the_beginning() -> None:
    stop = threading.Event()
    stop.set()
    assert interpret(clients(WRITE), stop=stop)[0] == []


def test_stop_while_nothing_is_offered() -> None:
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert interpret(clients(ops([sleep(10_000), op("a")])), stop=stop)[0] == []


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    interpret(clients(limit(50, WRITE), op("start")), threads=10)
    assert set(threading.enumerate()) <= before


# -- what is not the clients' fault


def test_a_generator_that_raises_ends_the_run_and_is_named() -> None:
    journal = Memory()
    begun = threading.Event()

    def slow(op: Event) -> Event:
        begun.set()
        time.sleep(0.1)
        return replace(op, type="ok")

    def draw(rng: Any, context: Context) -> Event:
        if begun.is_set():
            raise ZeroDivisionError("division by zero")
        return op("a")

    with pytest.raises(GeneratorError, match="ZeroDivisionError: division by zero when asked"):
        interpret(clients(generate(draw)), slow, journal=journal, threads=2)
    well_formed(journal.events)  # what was under way completed
    assert {e.type for e in journal.events} == {"invoke", "ok"}


def test_a_generator_that_raises_on_an_event_is_named_with_it() -> None:
    class Touchy:
        def offer(self, context: Context) -> Offer | None:
            return Offer(assign(context, op("a")), self)

        def update(self, context: Context, event: Event) -> Generator:
            if event.type == "ok":
                raise KeyError("unknown")
            return self

    with pytest.raises(GeneratorError, match=r"KeyError: 'unknown' when asked about Completion"):
        interpret(clients(Touchy()), threads=1)


def test_nonsense_from_a_generator_is_refused() -> None:
    stray = map_ops(lambda each: replace(each, process=99), op("a"))
    with pytest.raises(GeneratorError, match="busy or unknown process"):
        interpret(clients(stray))
    with pytest.raises(GeneratorError, match="not JSON"):
        interpret(clients(op("a", value={1, 2})))


def test_a_usage_error_of_a_generator_stays_one() -> None:
    with pytest.raises(UsageError, match="raise the concurrency"):
        interpret(clients(reserve((5, op("a")))), threads=2)


def test_a_journal_that_cannot_write_ends_the_run() -> None:
    class Full(Memory):
        def write(self, event: Event) -> None:
            if event.index == 7:
                raise OSError(28, "No space left on device")
            super().write(event)

    with pytest.raises(OSError, match="No space left"):
        interpret(clients(WRITE), journal=Full())


def test_a_listener_that_fails_does_no_harm() -> None:
    heard: list[int] = []

    def listen(event: Event) -> None:
        heard.append(event.index)
        if event.index == 5:
            raise ValueError("cannot draw this")

    history, _ = interpret(clients(limit(10, WRITE)), on_event=listen)
    assert len(history) == 20
    assert heard == [0, 1, 2, 3, 4, 5]


def test_a_run_goes_on_with_history_and_processes_of_another() -> None:
    journal = Memory()
    crash = Clients(lambda op: replace(op, type="info"))
    _, first = interpret(clients(each_thread(op("a"))), crash, journal=journal, threads=2)
    assert first.processes == {0: 2, 1: 3}
    interpret(
        clients(each_thread(until_ok(op("b")))),
        threads=2,
        journal=journal,
        processes=first.processes,
    )
    assert {e.process for e in journal.events if e.f == "b"} == {2, 3}
