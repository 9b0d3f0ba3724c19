"""Nodes that are asked beside a schedule: in virtual time, and by the interpreter."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from framework.generators import (
    Generator,
    any_of,
    clients,
    limit,
    nemesis,
    op,
    phases,
    repeat,
    sleep,
    stagger,
    time_limit,
)
from framework.generators.base import Context, Pending
from framework.generators.sources import NS_PER_S
from framework.history.event import NEMESIS, Completion, Event, Invocation, is_observer
from framework.plugins.workload import Client
from framework.run.observing import Observed, observed
from framework.testing.memory import Clients, interpret, ok

QUESTIONS = {"n1": [op("who"), op("what")], "n2": [op("who")]}
OBSERVERS = ("observer:n1", "observer:n2")


def synthetic(
    generator: Generator, takes: Callable[[Invocation], int], threads: int = 2
) -> list[Invocation]:
    """The invocations of a run in virtual time, in which an operation takes so many ns."""
    processes: dict[Any, Any] = {**{each: each for each in range(threads)}, NEMESIS: NEMESIS}
    observers = OBSERVERS if isinstance(generator, Observed) else ()
    everybody = frozenset((*processes, *observers))
    free, now, found = everybody, 0, []
    under_way: list[tuple[int, Invocation]] = []
    while True:
        context = Context(time=now, threads=everybody, free=free, processes=processes, seed=7)
        offer = generator.offer(context)
        ends = min((end for end, _ in under_way), default=None)
        if offer is None:
            return found
        if isinstance(offer.op, Pending):
            generator = offer.after
            times = [each for each in (ends, offer.op.until) if each is not None]
            now = max(now, min(times))
        elif (offer.op.time or 0) > now:
            now = offer.op.time or 0
        else:
            found.append(offer.op)
            generator = offer.after.update(context, offer.op)
            free -= {offer.op.process}
            under_way.append((now + takes(offer.op), offer.op))
        for end, done in [each for each in under_way if each[0] <= now]:
            under_way.remove((end, done))
            free |= {done.process}
            context = Context(time=now, threads=everybody, free=free, processes=processes, seed=7)
            generator = generator.update(context, done.completed("ok"))


def a_schedule() -> Generator:
    writes = clients(stagger(0.05, repeat(op("write"))))
    faults = nemesis(any_of(phases(sleep(1), op("start"), sleep(1), op("stop"))))
    return phases(time_limit(5, any_of(writes, faults)), clients(limit(3, repeat(op("read")))))


def ms(count: int) -> Callable[[Invocation], int]:
    return lambda _: count * 1_000_000


def test_a_schedule_is_the_same_with_and_without() -> None:
    alone = synthetic(a_schedule(), ms(1))
    beside = synthetic(observed(a_schedule(), QUESTIONS, 0.3), ms(1))
    assert [each for each in beside if not is_observer(each.process)] == alone
    assert len(alone) > 50 and len(beside) > len(alone) + 30


def times(found: list[Invocation], process: str, f: str) -> list[int]:
    return [each.time or 0 for each in found if (each.process, each.f) == (process, f)]


def test_every_node_is_asked_each_time_and_once_more_at_the_end() -> None:
    found = synthetic(observed(a_schedule(), QUESTIONS, 1.0), ms(1))
    for process in OBSERVERS:
        asked = times(found, process, "who")
        assert asked[:5] == [second * NS_PER_S for second in range(5)]
    last = max(at for at, each in enumerate(found) if each.f == "read")
    assert Counter((each.process, each.f) for each in found[last + 1 :]) >= Counter(
        [("observer:n1", "who"), ("observer:n1", "what"), ("observer:n2", "who")]
    )


def test_a_node_that_does_not_answer_delays_no_other() -> None:
    """Nor is it asked again for what was missed meanwhile."""

    def slow(question: Invocation) -> int:
        return 1_700_000_000 if question.process == "observer:n1" else 1_000_000

    found = synthetic(observed(a_schedule(), QUESTIONS, 1.0), slow)
    assert times(found, "observer:n2", "who")[:5] == [second * NS_PER_S for second in range(5)]
    asked = times(found, "observer:n1", "who")
    assert asked[:2] == [0, 1_700_000_000] and len(asked) == 3


def test_nothing_is_asked_of_nobody() -> None:
    alone = synthetic(a_schedule(), ms(1))
    assert synthetic(observed(a_schedule(), {"n1": []}, 1.0), ms(1)) == alone


# --- in the interpreter -------------------------------------------------------------------


def run(
    opens: Callable[[], Client], schedule: Generator | None = None, **options: Any
) -> list[Event]:
    wanted = schedule if schedule is not None else limit(20, repeat(op("write")))
    asked = observed(clients(wanted), {"n1": [op("who", node="n1")]}, 0.001)
    return interpret(asked, observers={"n1": opens}, **options)[0]


def of_observer(history: list[Event]) -> list[Event]:
    return [each for each in history if is_observer(each.process)]


def test_answers_stand_in_the_history() -> None:
    def answer(question: Invocation) -> Completion:
        return question.completed("ok", {"leader": 1}, node="n1")

    history = run(lambda: Clients(answer).open(0))
    asked = of_observer(history)
    assert {each.process for each in asked} == {"observer:n1"}
    assert asked[-1].type == "ok" and asked[-1].value == {"leader": 1}
    assert asked[-1].node == "n1"
    assert sum(each.f == "write" and each.type == "ok" for each in history) == 20


def test_one_that_cannot_be_opened_is_a_failure() -> None:
    def refused() -> Client:
        raise ConnectionRefusedError("nobody listens")

    asked = of_observer(run(refused))
    assert {each.type for each in asked[1::2]} == {"fail"}


def test_after_a_crash_it_goes_on_as_who_it_is() -> None:
    def crash(question: Invocation) -> Completion:
        raise RuntimeError("a mistake of the observer's")

    made = Clients(crash)
    history = run(lambda: made.open(0), limit(200, repeat(op("write"))))
    asked = of_observer(history)
    assert {each.type for each in asked[1::2]} == {"info"}
    assert len(asked) > 2 and {each.process for each in asked} == {"observer:n1"}
    assert len(made.closed) == len(made.opened) == len(asked) // 2


def test_one_that_hangs_is_given_up_and_another_asks() -> None:
    released = threading.Event()
    made: list[int] = []

    def hang_once(question: Invocation) -> Completion:
        if len(made) == 1:
            released.wait(60)
        return ok(question)

    def opens() -> Client:
        made.append(1)
        return Clients(hang_once).open(0)

    schedule = phases(sleep(0.3), limit(3, repeat(op("write"))))
    asked = of_observer(run(opens, schedule, op_timeout_s=0.05))
    released.set()
    assert [each.type for each in asked[:2]] == ["invoke", "info"]
    assert asked[1].error is not None and asked[1].error[0] == "TIMEOUT"
    assert asked[-1].type == "ok"
