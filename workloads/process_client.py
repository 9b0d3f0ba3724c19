"""The client of the `lifecycle` workload: does to an extra broker what an operator, or a crash,
does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Final, TypeVar

import tenacity

from framework.history.event import Completion, Invocation
from framework.plugins.system import Cluster
from workloads.kafka.client import KafkaClient
from workloads.kafka.log_client import LogClient
from workloads.kafka.operations.brokers import NO_EPOCH, broker_of
from workloads.kafka.operations.processes import (
    Drained,
    Killed,
    NoAnswer,
    ProcessState,
    Replaced,
)
from workloads.kafka.operations.value import Value
from workloads.kafka.system import ExtraBroker, system_of

FIRST_ID: Final = 301
KEPT_ID: Final = FIRST_ID
"""No other process takes its id over, so that what is produced to it stays on one disk, that of its
first slot."""
DATA_FS: Final = ("produce", "fetch", "list-offsets")
SLOTS: Final = 2
EXIT_S: Final = 8.0
POLL_S: Final = 0.05
OPERATION_S: Final = 9.0
"""After which an operation begins no new wait, and ends what it waits for."""

T = TypeVar("T")


class ProcessClient:
    """Implements the engine's `Client`. Operations on topics go to the brokers as always."""

    def __init__(
        self,
        cluster: Cluster,
        thread: int,
        turns: Mapping[int, Lock],
        started: Callable[[Invocation], None] = lambda _: None,
    ) -> None:
        """`turns`: of each broker id, shared by all clients. One whose operation took too long is
        given up, and goes on all the same: it may not start a process while another one does."""
        self._cluster = cluster
        self._turns = turns
        self._system = system_of(cluster)
        self._topics = KafkaClient(cluster, thread, started)
        self._log = LogClient(cluster, thread, extra={KEPT_ID: self._slots(KEPT_ID)[0]})

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within 10 s. Info: the broker is not, or not yet, as it was to be."""
        if invocation.f in DATA_FS:
            return self._log.invoke(invocation)
        operation = _OPERATIONS.get(invocation.f)
        if operation is None:
            return self._topics.invoke(invocation)
        broker_id = broker_of(str(invocation.key))
        slots, end_s = self._slots(broker_id), time.monotonic() + OPERATION_S
        try:
            with turn(self._turns[broker_id], end_s):
                value = operation(slots, end_s).to_json()
        except TimeoutError as error:
            return invocation.completed(
                "info", invocation.value, error=("TIMED_OUT", str(error)), node=slots[0].node
            )
        return invocation.completed("ok", value, node=slots[0].node)

    def close(self) -> None:
        """Close all connections."""
        self._topics.close()
        self._log.close()

    def _slots(self, broker_id: int) -> Sequence[ExtraBroker]:
        number = broker_id - FIRST_ID
        return [
            self._system.extra_broker(self._cluster, broker_id=broker_id, number=number, slot=slot)
            for slot in range(SLOTS)
        ]


@contextmanager
def turn(lock: Lock, end_s: float) -> Iterator[None]:
    """Raises `TimeoutError` where it does not come in time."""
    if not lock.acquire(timeout=_left_s(OPERATION_S, end_s)):
        raise TimeoutError("an operation on the same broker that was given up is not over")
    try:
        yield
    finally:
        lock.release()


# --- operations on the slots of one broker id, each to be over by `end_s` -------------------


def _start(slots: Sequence[ExtraBroker], end_s: float) -> ProcessState:
    """Start it, where nothing runs. Where two do, either may have the id."""
    running = [slot for slot in slots if slot.running()]
    if not running:
        slots[0].start()
    return _active(*(running or slots[:1]), end_s=end_s)


def _restart(slots: Sequence[ExtraBroker], end_s: float) -> ProcessState:
    """Whatever runs is killed, and one process started."""
    _kill(slots, end_s)
    return _start(slots, end_s)


def _drain(slots: Sequence[ExtraBroker], end_s: float) -> Drained:
    """Controlled shutdown: SIGTERM, and the reason for which the process ended. One that lost
    the id to it has nothing to hand over, and is killed."""
    running = [slot for slot in slots if slot.running()]
    for slot in running[:-1]:
        state = _state(slot)
        if state is None or state.broker_state != "active":
            slot.kill()
    slot = _used(slots)
    reason = slot.drain(_left_s(EXIT_S, end_s))
    return Drained(reason, slot.granted(reason), slot.broker_id)


def _kill(slots: Sequence[ExtraBroker], end_s: float) -> Killed:
    """Whatever runs is killed, and nobody is told."""
    for slot in slots:
        slot.kill()
    return Killed(slots[0].broker_id)


def _bounce(slots: Sequence[ExtraBroker], end_s: float) -> ProcessState:
    """Killed and started twice in a row: the second time as soon as it has the id again."""
    slot = _used(slots)
    slot.kill()
    slot.start()
    _until(lambda: _registered(slot), _left_s(slot.serves_s, end_s), "registered")
    slot.kill()
    slot.start()
    return _active(slot, end_s=end_s)


def _replace(slots: Sequence[ExtraBroker], end_s: float) -> Replaced:
    """A second process of the same id takes it over while the first one lives; the first one
    learns of it, or finds out, and is then ended. Or it is refused: it has the id once the first
    one was ended, and is not heard of for long enough."""
    first = _used(slots)
    second = next(slot for slot in slots if slot is not first)
    second.start()
    left_s = _left_s(second.serves_s, end_s)
    _until(lambda: _serving(second) or second.refused() or None, left_s, "active, or refused")
    former = _state(first) or NoAnswer()
    first.kill()
    return Replaced(second=_active(second, end_s=end_s), first=former)


_OPERATIONS: Final[dict[str, Callable[[Sequence[ExtraBroker], float], Value]]] = {
    "start": _start,
    "restart": _restart,
    "drain": _drain,
    "kill": _kill,
    "bounce": _bounce,
    "replace": _replace,
}


def _used(slots: Sequence[ExtraBroker]) -> ExtraBroker:
    """The slot whose process runs; the first one where none does."""
    return next((slot for slot in slots if slot.running()), slots[0])


def _state(slot: ExtraBroker) -> ProcessState | None:
    found = slot.describe()
    if found is None:
        return None
    return ProcessState(
        incarnation=found.incarnation,
        broker_state=found.broker_state,
        broker_epoch=found.broker_epoch,
        broker_id=slot.broker_id,
    )


def _registered(slot: ExtraBroker) -> ProcessState | None:
    """The process's state once it holds the id, active or not yet."""
    state = _state(slot)
    return state if state is not None and state.broker_epoch != NO_EPOCH else None


def _active(*slots: ExtraBroker, end_s: float) -> ProcessState:
    """Wait until one of the processes holds the id and serves: a process start, and an election.
    The next operation goes on waiting: on a busy machine to end and to start a process takes
    seconds as well. Raises `TimeoutError`."""
    most_s = max(slot.serves_s for slot in slots)
    return _until(lambda: _serving(*slots), _left_s(most_s, end_s), "active")


def _serving(*slots: ExtraBroker) -> ProcessState | None:
    """The state of the first that holds the id and serves."""
    states = map(_state, slots)
    return next((each for each in states if each and each.broker_state == "active"), None)


def _left_s(most_s: float, end_s: float) -> float:
    """How long may be waited: no longer than to that moment."""
    return max(0.0, min(most_s, end_s - time.monotonic()))


def _until(condition: Callable[[], T | None], timeout_s: float, what: str) -> T:
    """Wait for a value. Raises `TimeoutError`."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda value: value is None),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(POLL_S),
    )
    try:
        found = retrying(condition)
    except tenacity.RetryError:
        raise TimeoutError(f"broker {what}: not within {timeout_s:.3g} s") from None
    assert found is not None
    return found
