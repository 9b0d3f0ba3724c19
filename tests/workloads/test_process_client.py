"""What the client of extra brokers says of a process that it drained."""

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any

import pytest

from framework.history.event import Invocation
from nodes.kraft.adapter.dialect import DIALECT
from workloads.kafka.operations.processes import Killed, ProcessState
from workloads.process_client import (
    EXIT_S,
    ProcessClient,
    _bounce,
    _drain,
    _kill,
    _replace,
    _start,
    turn,
)

NEVER_S = 1e12


@dataclass(frozen=True)
class Described:
    incarnation: str
    broker_state: str
    broker_epoch: int


@dataclass
class Slot:
    """A process that runs, and ends for this reason."""

    reason: str | None
    broker_id: int = 301
    node: str = "b1"
    process: str = "g301a"
    slot: str = ""
    state: str | None = "active"
    runs: bool = True
    serves_s: float = 4.0

    def running(self) -> bool:
        return self.runs

    def connect(self, timeout_s: float) -> socket.socket:
        raise AssertionError("nobody asks it anything")

    def drain(self, timeout_s: float) -> str | None:
        return self.reason

    def start(self) -> None:
        self.runs, self.state = True, "active"

    def kill(self) -> None:
        self.runs, self.state = False, None

    def refused(self) -> bool:
        return False

    def describe(self) -> Described | None:
        if self.state is None:
            return None
        return Described(self.slot, self.state, 7)

    def granted(self, reason: str | None) -> bool | None:
        return None if reason is None else reason == "granted"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("granted", {"reason": "granted", "granted": True, "broker_id": 301}),
        ("too late", {"reason": "too late", "granted": False, "broker_id": 301}),
        (None, {"reason": None, "broker_id": 301}),
    ],
)
def test_a_drain_says_whether_the_broker_was_let_go(
    reason: str | None, said: dict[str, object]
) -> None:
    assert _drain([Slot(reason)], NEVER_S).to_json() == said  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("slots", "serves"),
    [
        ([Slot(None, slot="a")], "a"),
        ([Slot(None, slot="a", runs=False, state=None)], "a"),
        ([Slot(None, slot="a"), Slot(None, slot="b", runs=False, state=None)], "a"),
        ([Slot(None, slot="a", runs=False, state=None), Slot(None, slot="b")], "b"),
        ([Slot(None, slot="a", state="fenced"), Slot(None, slot="b")], "b"),
        ([Slot(None, slot="a", state=None), Slot(None, slot="b")], "b"),
    ],
)
def test_a_start_waits_for_whichever_process_has_the_id(slots: list[Slot], serves: str) -> None:
    assert _start(slots, NEVER_S).incarnation == serves  # type: ignore[arg-type]
    assert [slot.slot for slot in slots if slot.runs] in ([serves], ["a", "b"])


@pytest.mark.parametrize("runs", [(True, True), (False, True), (False, False)])
def test_a_kill_leaves_no_process_of_the_id(runs: tuple[bool, ...]) -> None:
    slots = [Slot(None, runs=each) for each in runs]
    assert _kill(slots, OVER_S) == Killed(301)  # type: ignore[arg-type]
    assert not any(slot.running() for slot in slots)


OVER_S = 0.0
"""A moment that is long past."""


def test_a_start_where_no_process_serves_is_not_done() -> None:
    with pytest.raises(TimeoutError, match="active"):
        _start([Slot(None, state="fenced"), Slot(None, state=None)], OVER_S)  # type: ignore[list-item]


@dataclass
class Slow(Slot):
    """Never registers, and counts."""

    state: str | None = None
    kills: int = 0
    starts: int = 0

    def kill(self) -> None:
        self.kills += 1

    def start(self) -> None:
        self.starts += 1


def test_a_bounce_for_which_there_is_no_time_left_is_not_gone_on_with() -> None:
    """What was given up may have been followed by another operation."""
    slot = Slow(None)
    with pytest.raises(TimeoutError, match="registered"):
        _bounce([slot], OVER_S)  # type: ignore[list-item]
    assert (slot.kills, slot.starts) == (1, 1)


@dataclass
class Heir(Slot):
    """Of `former`: is refused, or `allowed` beside it, and has the id once that has gone."""

    former: Slot = field(default_factory=lambda: Slot(None))
    allowed: bool = False

    def start(self) -> None:
        self.runs = True

    def describe(self) -> Described | None:
        self.state = "active" if self.allowed or not self.former.runs else "starting"
        return super().describe()

    def refused(self) -> bool:
        return self.state == "starting"


@pytest.mark.parametrize("allowed", [True, False])
def test_an_heir_takes_over_beside_the_first_process_or_once_that_was_ended(allowed: bool) -> None:
    """What the first one says is asked before it is ended, either way."""
    first = Slot(None, slot="a")
    second = Heir(None, slot="b", runs=False, state=None, former=first, allowed=allowed)
    found = _replace([first, second], NEVER_S)  # type: ignore[list-item]
    assert isinstance(found.first, ProcessState) and found.first.broker_state == "active"
    assert (found.first.incarnation, found.second.incarnation) == ("a", "b")
    assert (found.second.broker_state, first.runs, second.runs) == ("active", False, True)


def test_an_heir_that_is_neither_refused_nor_active_is_waited_for_in_vain() -> None:
    first = Slot(None, slot="a")
    with pytest.raises(TimeoutError, match="active, or refused"):
        _replace([first, Slow(None, runs=False)], OVER_S)  # type: ignore[list-item]
    assert first.runs


def test_a_drain_waits_no_longer_than_there_is_time() -> None:
    waited = []

    class Leaving(Slot):
        def drain(self, timeout_s: float) -> str | None:
            waited.append(timeout_s)
            return self.reason

    for end_s in (OVER_S, NEVER_S):
        _drain([Leaving("granted")], end_s)  # type: ignore[list-item]
    assert waited == [0.0, EXIT_S]


class Held(Slot):
    """Takes long to start a process, unless another one is started meanwhile."""

    def __init__(self) -> None:
        super().__init__(None)
        self.starting, self.beside = Event(), Event()
        self.started = 0

    def kill(self) -> None:
        self.runs = False

    def start(self) -> None:
        self.started += 1
        if self.starting.is_set():
            self.beside.set()
        self.starting.set()
        self.beside.wait(0.3)
        super().start()


def test_an_operation_that_was_given_up_starts_no_process_beside_the_next_one() -> None:
    """Two processes in one directory would destroy its log."""
    held = Held()
    slots = [held, Slow(None, runs=False)]
    system = SimpleNamespace(
        connect=str, dialect=lambda: DIALECT, extra_broker=lambda cluster, slot, **_: slots[slot]
    )
    nodes = {"b1": SimpleNamespace(ports=["client"], ids={"broker": 4})}
    cluster: Any = SimpleNamespace(system=system, with_role=lambda role: nodes, nodes=nodes)
    turns = {301: Lock()}
    restart, start = (
        partial(ProcessClient(cluster, thread, turns).invoke, invocation(f))
        for thread, f in enumerate(("restart", "start"))
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(restart)
        assert held.starting.wait(60)
        second = pool.submit(start)
        assert first.result(60).type == second.result(60).type == "ok"
    assert held.started == 1


def test_a_turn_that_does_not_come_in_time_is_a_time_out() -> None:
    lock = Lock()
    with turn(lock, NEVER_S), pytest.raises(TimeoutError, match="not over"), turn(lock, OVER_S):
        pass
    with turn(lock, OVER_S):
        assert lock.locked()


def invocation(f: str) -> Invocation:
    return Invocation(index=0, time=0, process=0, f=f, key="broker-301")
