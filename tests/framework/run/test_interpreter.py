"""The interpreter with clients in memory: order, time, and clients that crash or hang."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from framework.generators import (
    Context,
    Generator,
    Offer,
    Pending,
    clients,
    each_thread,
    generate,
    limit,
    mix,
    on_threads,
    op,
    ops,
    phases,
    repeat,
    reserve,
    sleep,
    stagger,
    time_limit,
)
from framework.history.event import Event
from framework.run.interpreter import run
from framework.testing.memory import (
    WRITE,
    Clients,
    Idle,
    Memory,
    OneClient,
    errors,
    eventually,
    interpret,
    ok,
    well_formed,
)

# -- order and time


def test_recorded_intervals_contain_the_real_ones() -> None:
    """A counter under a lock says the true order. Whatever the history says was over before
    another operation began was so in truth."""
    count = 0
    lock = threading.Lock()

    def counter(op: Event) -> Event:
        nonlocal count
        with lock:
            count += 1
            return replace(op, type="ok", value=count)

    history, summary = interpret(clients(limit(2000, repeat(op("next")))), counter, threads=8)
    over = 0
    began: dict[int | str, int] = {}
    for event in history:
        if event.type == "invoke":
            began[event.process] = over
        else:
            assert event.value > began[event.process]
            over = max(over, event.value)
    assert sorted(e.value for e in history if e.type == "ok") == list(range(1, 2001))
    assert summary.invoked == 2000
    assert summary.completed == {"ok": 2000, "fail": 0, "info": 0}
    assert not summary.stopped
    assert summary.processes == {thread: thread for thread in range(8)}


def test_one_thread_runs_a_register_exactly() -> None:
    value: Any = None

    def register(op: Event) -> Event:
        nonlocal value
        if op.f == "write":
            value = op.value
        return replace(op, type="ok", value=value, node="n1", ext={"epoch": 4})

    script = [op("read", "x"), op("write", "x", 1), op("read", "x"), op("write", "x", 2)]
    history, _ = interpret(clients(ops([*script, op("read", "x")])), register, threads=1)
    assert [(e.type, e.process, e.f, e.key, e.value) for e in history] == [
        (kind, 0, f, "x", shown)
        for f, argument, result in (
            ("read", None, None),
            ("write", 1, 1),
            ("read", None, 1),
            ("write", 2, 2),
            ("read", None, 2),
        )
        for kind, shown in (("invoke", argument), ("ok", result))
    ]
    assert {(e.node, str(e.ext)) for e in history if e.type == "ok"} == {("n1", "{'epoch': 4}")}


def test_an_invocation_is_written_before_the_client_sees_it() -> None:
    journal = Memory()

    def looks(op: Event) -> Event:
        assert journal.events[op.index] == op
        return replace(op, type="ok")

    history, summary = interpret(clients(limit(200, WRITE)), looks, journal=journal)
    assert summary.completed["ok"] == 200
    assert len(history) == 400


def test_completions_go_before_new_operations() -> None:
    """What has ended by the time that something new could begin is not concurrent with it."""
    answered = threading.Event()

    def answer(op: Event) -> Event:
        answered.set()
        return replace(op, type="ok")

    def dawdle(event: Event) -> None:
        if event.type == "invoke":
            assert answered.wait(120)
            answered.clear()
            time.sleep(0.05)  # for the worker to hand its answer in

    history, _ = interpret(clients(limit(6, WRITE)), answer, threads=3, on_event=dawdle)
    assert [e.type for e in history] == ["invoke", "ok"] * 6


def test_the_same_seed_gives_one_thread_the_same_history() -> None:
    gen = clients(limit(100, mix(repeat(op("a")), generate(lambda r, c: op("b", r.random())))))
    one, other = (interpret(gen, threads=1)[0] for _ in range(2))
    assert [replace(e, time=0) for e in one] == [replace(e, time=0) for e in other]


def test_rates_and_pauses_in_real_time() -> None:
    history, _ = interpret(clients(time_limit(0.5, stagger(0.005, WRITE))))
    assert 30 < sum(e.type == "invoke" for e in history) < 150
    history, _ = interpret(clients(ops([op("a"), sleep(0.2), op("b")])))
    begun = [e.time or 0 for e in history if e.type == "invoke"]
    assert 0.2e9 <= begun[1] - begun[0] < 1e9


def test_waits_of_no_time_at_all_end() -> None:
    """As `framework.run.outbox` says."""

    @dataclass(frozen=True)
    class Hesitant:
        gen: Generator
        asked: bool = False

        def offer(self, context: Context) -> Offer | None:
            if not self.asked:
                return Offer(Pending(context.time + 1), Hesitant(self.gen, True))
            offer = self.gen.offer(context)
            return offer and Offer(offer.op, Hesitant(offer.after, isinstance(offer.op, Pending)))

        def update(self, context: Context, event: Event) -> Generator:
            return Hesitant(self.gen.update(context, event))

    history, _ = interpret(Hesitant(clients(limit(2000, WRITE))), threads=1)
    assert len(history) == 4000


def test_threads_are_used_fairly() -> None:
    history, _ = interpret(clients(time_limit(1, stagger(0.0005, WRITE))), threads=4)
    counts = Counter(e.process for e in history)
    assert set(counts) == {0, 1, 2, 3}
    assert max(counts.values()) < 1.5 * min(counts.values())


def test_a_barrier_waits_for_all() -> None:
    def slow(op: Event) -> Event:
        time.sleep(0.01)
        return replace(op, type="ok")

    history, _ = interpret(clients(phases(each_thread(op("a")), op("b"))), slow)
    fs = [(e.type, e.f) for e in history]
    assert fs.index(("invoke", "b")) == 6


def test_operations_under_way_are_awaited_at_the_end() -> None:
    def slow(op: Event) -> Event:
        time.sleep(0.05)
        return replace(op, type="ok")

    _, summary = interpret(clients(ops([op("a"), op("b")])), slow)
    assert summary.completed == {"ok": 2, "fail": 0, "info": 0}


def test_generators_see_free_thread_and_old_process() -> None:
    seen: list[tuple[str, int | str, Any, bool]] = []

    @dataclass(frozen=True)
    class Watch:
        gen: Generator

        def offer(self, context: Context) -> Offer | None:
            offer = self.gen.offer(context)
            return offer and Offer(offer.op, Watch(offer.after))

        def update(self, context: Context, event: Event) -> Generator:
            thread = context.thread_of(event.process)
            assert context.time == event.time
            seen.append((event.type, event.process, thread, thread in context.free))
            return Watch(self.gen.update(context, event))

    interpret(
        Watch(clients(ops([op("a"), op("a")]))),
        lambda op: replace(op, type="info"),
        threads=1,
    )
    assert seen == [
        ("invoke", 0, 0, False),
        ("info", 0, 0, True),
        ("invoke", 1, 0, False),
        ("info", 1, 0, True),
    ]


# -- clients that crash


def test_an_exception_is_an_info_and_retires_the_process() -> None:
    def crashes(op: Event) -> Event:
        if op.value == "boom":
            raise TimeoutError("no answer in 5 s")
        return replace(op, type="ok")

    source = Clients(crashes)
    script = ops([op("w", "x", "boom"), op("w", "x", 1), op("w", "x", "boom"), op("w", "x", 2)])
    history, summary = interpret(clients(on_threads([1], script)), source, threads=3)
    assert [(e.type, e.process) for e in history] == [
        ("invoke", 1),
        ("info", 1),
        ("invoke", 4),
        ("ok", 4),
        ("invoke", 4),
        ("info", 4),
        ("invoke", 7),
        ("ok", 7),
    ]
    assert errors(history) == [("TimeoutError", "no answer in 5 s")] * 2
    assert summary.processes == {0: 0, 1: 7, 2: 2}
    assert source.opened == [1, 1, 1]  # one client a process, opened when first needed
    assert source.closed == [1, 1, 1]


def test_an_assertion_or_exit_in_a_client_is_an_info_too() -> None:
    def crashes(op: Event) -> Event:
        raise {"a": AssertionError, "b": SystemExit, "c": KeyboardInterrupt}[op.f](op.f)

    history, _ = interpret(clients(ops(map(op, "abc"))), crashes, threads=1)
    assert errors(history) == [
        ("AssertionError", "a"),
        ("SystemExit", "b"),
        ("KeyboardInterrupt", "c"),
    ]


def test_an_info_of_the_clients_own_retires_too() -> None:
    unsure = Clients(lambda op: replace(op, type="info", error=("REQUEST_TIMED_OUT", "5 s")))
    history, _ = interpret(clients(limit(3, WRITE)), unsure, threads=1)
    assert [e.process for e in history] == [0, 0, 1, 1, 2, 2]
    assert unsure.opened == unsure.closed == [0, 0, 0]


def test_the_client_of_a_retired_process_is_closed_at_once() -> None:
    closed: list[int] = []

    def answer(op: Event) -> Event:
        if op.f == "look":
            closed.extend(source.closed)
        return replace(op, type="info" if op.f == "crash" else "ok")

    source = Clients(answer)
    script = ops([on_threads([0], op("crash")), sleep(0.3), on_threads([1], op("look"))])
    interpret(clients(script), source, threads=2)
    assert closed == [0]


def test_a_fail_keeps_process_and_client() -> None:
    refused = Clients(lambda op: replace(op, type="fail", error=("TOPIC_EXISTS", "t1")))
    history, summary = interpret(clients(limit(3, WRITE)), refused, threads=1)
    assert {e.process for e in history} == {0}
    assert summary.completed["fail"] == 3
    assert refused.opened == refused.closed == [0]


def test_failing_to_open_is_a_fail_without_effect() -> None:
    source = Clients(ok, refuse=lambda count: count in (1, 2))
    history, _ = interpret(clients(limit(4, WRITE)), source, threads=1)
    assert [(e.type, e.process) for e in history if e.type != "invoke"] == [
        ("fail", 0),
        ("fail", 0),
        ("ok", 0),
        ("ok", 0),
    ]
    assert errors(history) == [("NO_CLIENT", "ConnectionRefusedError: nobody listens")] * 2
    assert source.opened == [0, 0, 0]


def test_a_client_that_cannot_be_closed_does_no_harm() -> None:
    class Sticky:
        def invoke(self, op: Event) -> Event:
            return replace(op, type="info")

        def close(self) -> None:
            raise OSError("already gone")

    journal = Memory()
    run(
        clients(limit(3, WRITE)),
        open_client=lambda thread: Sticky(),
        nemesis=Idle(),
        journal=journal,
        threads=1,
        seed=0,
        clock=time.monotonic_ns,
        stop=threading.Event(),
    )
    well_formed(journal.events)
    assert len(journal.events) == 6


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda op: None, "not an event: None"),
        (lambda op: op, "type 'invoke' is none of ok, fail, info"),
        (lambda op: replace(op, type="ok", process=77), "process 77 is not 0"),
        (lambda op: replace(op, type="ok", f="read"), "f 'read' is not 'write'"),
        (lambda op: replace(op, type="ok", key="y"), "key 'y' is not 'x'"),
        (lambda op: replace(op, type="fail", error="no"), "error 'no' is not (code, message)"),
        (lambda op: replace(op, type="ok", value={1, 2}), "not JSON: Object of type set"),
        (lambda op: replace(op, type="ok", value=float("nan")), "not JSON: Out of range"),
    ],
)
def test_a_completion_that_cannot_be_one_is_an_info(
    answer: Callable[[Event], Any], problem: str
) -> None:
    source = Clients(answer)
    history, summary = interpret(clients(limit(2, WRITE)), source, threads=1)
    assert source.opened == source.closed == [0, 0]  # a new process has a new client
    assert [e.process for e in history] == [0, 0, 1, 1]
    assert summary.completed["info"] == 2
    code, message = errors(history)[0] or ("", "")
    assert code == "INVALID_COMPLETION"
    assert problem in message


# -- clients that hang


def test_a_stuck_worker_is_given_up_and_its_late_answer_dropped() -> None:
    release = threading.Event()
    answered = threading.Event()

    def stuck_once(op: Event) -> Event:
        if op.process == 0 and op.value == "stick":
            release.wait(120)
            answered.set()
        elif op.value == 1:
            release.set()
            assert answered.wait(120)
        return replace(op, type="ok")

    source = Clients(stuck_once)

    def script(key: int) -> Event:
        return op("w", "x", "stick" if key == 0 else key)

    gen = clients(ops([*map(script, range(3)), op("w", "x", 9)]))
    history, summary = interpret(gen, source, threads=1, op_timeout_s=1)
    assert [(e.type, e.process, e.value) for e in history] == [
        ("invoke", 0, "stick"),
        ("info", 0, None),
        ("invoke", 1, 1),
        ("ok", 1, 1),
        ("invoke", 1, 2),
        ("ok", 1, 2),
        ("invoke", 1, 9),
        ("ok", 1, 9),
    ]
    assert errors(history) == [("TIMEOUT", "the client did not return within 1 s")]
    waited = (history[1].time or 0) - (history[0].time or 0)
    assert waited >= 1e9
    assert summary.given_up == 1
    assert summary.processes == {0: 1}
    eventually(lambda: source.closed == [0, 0])  # the old worker closes its own client


def test_a_late_answer_does_not_complete_another_operation() -> None:
    release, answered = threading.Event(), threading.Event()

    def answer(op: Event) -> Event:
        if op.value == "stick":
            release.wait(120)
            answered.set()
        else:
            release.set()
            assert answered.wait(120)
            time.sleep(0.1)  # the late answer arrives while this operation is under way
        return replace(op, type="ok")

    script = ops([op("w", "x", "stick"), op("w", "x", "next")])
    history, _ = interpret(clients(script), answer, threads=1, op_timeout_s=1)
    assert [(e.type, e.process, e.value) for e in history] == [
        ("invoke", 0, "stick"),
        ("info", 0, None),
        ("invoke", 1, "next"),
        ("ok", 1, "next"),
    ]


def test_others_go_on_beside_a_stuck_worker() -> None:
    release = threading.Event()

    def stuck(op: Event) -> Event:
        if op.f == "stick":
            release.wait(120)
        return replace(op, type="ok")

    gen = clients(
        reserve((1, limit(2, repeat(op("stick")))), default=limit(50, stagger(0.002, WRITE)))
    )
    history, summary = interpret(gen, stuck, threads=3, op_timeout_s=1)
    release.set()
    assert summary.given_up == 2
    assert summary.completed["ok"] == 50
    assert {e.error[0] for e in history if e.type == "info" and e.error} == {"TIMEOUT"}


def test_a_stuck_open_is_given_up_too() -> None:
    release = threading.Event()

    class Hangs(Clients):
        def open(self, thread: int) -> OneClient:
            release.wait(120)
            return super().open(thread)

    history, _ = interpret(clients(op("w")), Hangs(ok), threads=1, op_timeout_s=0.05)
    release.set()
    assert [error and error[0] for error in errors(history)] == ["TIMEOUT"]
