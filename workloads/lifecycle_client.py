"""The client of the `lifecycle` workload: does to a guest what an operator, or a crash, does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from framework.history.event import Event
from framework.plugins.system import Cluster
from workloads.guests import FIRST_ID, SEATS, Guest, TooLate
from workloads.kafka.client import KafkaClient

ACTIVE_S: Final = 5.0
"""How long a started guest may take until it serves: a process start, and an election."""
REGISTERED_S: Final = 4.0
EXIT_S: Final = 8.0


class LifecycleClient:
    """Implements the engine's `Client`. Operations on topics go to the brokers as always."""

    def __init__(
        self, cluster: Cluster, thread: int, started: Callable[[Event], None] = lambda _: None
    ) -> None:
        self._cluster = cluster
        self._topics = KafkaClient(cluster, thread, started)

    def invoke(self, op: Event) -> Event:
        """The completion, within 10 s. Info: the guest is not, or not yet, as it was to be."""
        deed = _DEEDS.get(op.f)
        if deed is None:
            return self._topics.invoke(op)
        guest = Guest(self._cluster, int(str(op.key).removeprefix("broker-")) - FIRST_ID)
        try:
            value = deed(guest)
        except TooLate as error:
            return replace(op, type="info", error=("TIMED_OUT", str(error)), node=guest.node)
        return replace(op, type="ok", value=value, node=guest.node)

    def close(self) -> None:
        """Close all connections."""
        self._topics.close()


def _seat(guest: Guest) -> str:
    """The seat whose process runs; the first one where none does."""
    return next((seat for seat in SEATS if guest.pid(seat) is not None), SEATS[0])


def _told(state: dict[str, Any]) -> dict[str, Any]:
    return {key: state[key] for key in ("incarnation", "broker_state", "broker_epoch")}


def _start(guest: Guest) -> dict[str, Any]:
    """Start it, where nothing runs."""
    seat = _seat(guest)
    if guest.pid(seat) is None:
        guest.start(seat)
    return _told(guest.active(seat, ACTIVE_S))


def _restart(guest: Guest) -> dict[str, Any]:
    """Whatever runs is killed, and one process started."""
    for seat in SEATS:
        guest.kill(seat)
    return _start(guest)


def _drain(guest: Guest) -> dict[str, Any]:
    """Controlled shutdown: SIGTERM, and the reason for which the process ended. One that lost
    the id to it has nothing to hand over, and is killed."""
    running = [seat for seat in SEATS if guest.pid(seat) is not None]
    for seat in running[:-1]:
        state = guest.state(seat)
        if state is None or state["broker_state"] != "ACTIVE":
            guest.kill(seat)
    return {"reason": guest.drain(_seat(guest), EXIT_S)}


def _bounce(guest: Guest) -> dict[str, Any]:
    """Killed and started twice in a row: the second time as soon as it has the id again."""
    seat = _seat(guest)
    guest.kill(seat)
    guest.start(seat)
    guest.registered(seat, REGISTERED_S)
    guest.kill(seat)
    guest.start(seat)
    return _told(guest.active(seat, ACTIVE_S))


def _replace(guest: Guest) -> dict[str, Any]:
    """A second process of the same id takes it over while the first one lives; the first one
    is told so, or finds out, and is then ended."""
    first = _seat(guest)
    second = next(seat for seat in SEATS if seat != first)
    guest.start(second)
    value = {"second": _told(guest.active(second, ACTIVE_S))}
    state = guest.state(first)
    value["first"] = _told(state) if state is not None else {}
    guest.kill(first)
    return value


_DEEDS: Final[dict[str, Callable[[Guest], dict[str, Any]]]] = {
    "start": _start,
    "restart": _restart,
    "drain": _drain,
    "bounce": _bounce,
    "replace": _replace,
}
