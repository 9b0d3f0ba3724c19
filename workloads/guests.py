"""Brokers of a workload's own, as real processes on the cluster's hosts.

A guest is a broker id with two seats, each a port and a directory: its process runs on one of
them, and a second process of the same id, which is to take the id over, on the other. Guests can
be ended and started at will: no fault's victims are among them, and no other workload's topics.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import tenacity

from framework.plugins.host import Host
from framework.plugins.system import Cluster
from nodes.kraft.adapter.system import KraftSystem

T = TypeVar("T")

FIRST_ID: Final = 301
FIRST_PORT: Final = 9300
SEATS: Final = ("a", "b")
POLL_S: Final = 0.05


class TooLate(Exception):
    """A condition did not come true in time."""


@dataclass(frozen=True, slots=True)
class Guest:
    """Guest number `number` (0, 1, ...) of a cluster; its host is the broker of that turn."""

    cluster: Cluster
    number: int

    @property
    def broker_id(self) -> int:
        return FIRST_ID + self.number

    @property
    def node(self) -> str:
        brokers = self.cluster.with_role("broker")
        return brokers[self.number % len(brokers)]

    @property
    def host(self) -> Host:
        return self.cluster.host(self.node)

    def port(self, seat: str) -> int:
        return FIRST_PORT + len(SEATS) * self.number + SEATS.index(seat)

    def directory(self, seat: str) -> str:
        return f"{self.host.workdir}/guests/{self.broker_id}{seat}"

    # --- the process ----------------------------------------------------------------------

    def start(self, seat: str) -> None:
        """Start a process on this seat; what an earlier one left on it is its own to find."""
        system, directory = KraftSystem(), self.directory(seat)
        settings = "".join(f"{key}={value}\n" for key, value in self._settings(seat).items())
        self.host.write(f"{directory}/server.properties", settings.encode())
        argv = system.command(self.cluster, self.node, f"{directory}/server.properties")
        pid = self.host.start(argv, log=f"{directory}/node.log")
        self.host.write(f"{directory}/pid", f"{pid}\n".encode())

    def _settings(self, seat: str) -> dict[str, str]:
        settings = KraftSystem().settings(self.cluster, self.node)
        for key in ("controller.id", "controller.listeners", "metrics.listener"):
            settings.pop(key, None)
        directory = self.directory(seat)
        return settings | {
            "node.name": f"g{self.broker_id}{seat}",
            "process.roles": "broker",
            "broker.id": str(self.broker_id),
            "listeners": f"CLIENT://{self.host.address}:{self.port(seat)}",
            "log.dirs": f"{directory}/data",
            "events.file": f"{directory}/events.jsonl",
        }

    def pid(self, seat: str) -> int | None:
        """Of the process on this seat; None where none runs."""
        try:
            pid = int(self.host.read(f"{self.directory(seat)}/pid"))
        except FileNotFoundError:
            return None
        return pid if self.host.alive(pid) else None

    def kill(self, seat: str) -> None:
        """SIGKILL, and wait until the process is gone."""
        self._end(seat, signal.SIGKILL, timeout_s=5.0)

    def drain(self, seat: str, timeout_s: float) -> str | None:
        """SIGTERM, and wait until the process has gone; why it says it went. Raises `TooLate`."""
        self._end(seat, signal.SIGTERM, timeout_s)
        return self.last_words(seat)

    def _end(self, seat: str, number: signal.Signals, timeout_s: float) -> None:
        pid = self.pid(seat)
        if pid is None:
            return
        self.host.signal(pid, number)
        until(lambda: not self.host.alive(pid), timeout_s, f"guest {self.broker_id}{seat} gone")

    # --- what it says ---------------------------------------------------------------------

    def state(self, seat: str) -> dict[str, Any] | None:
        """The process's own description; None where it does not answer."""
        found = KraftSystem().describe(self.cluster, self.host.address, self.port(seat))
        return None if found is None else dict(found)

    def active(self, seat: str, timeout_s: float) -> dict[str, Any]:
        """Wait until the process holds the id and serves; its description. Raises `TooLate`."""

        def serving() -> dict[str, Any] | None:
            state = self.state(seat)
            return state if state is not None and state["broker_state"] == "ACTIVE" else None

        found = until(serving, timeout_s, f"guest {self.broker_id}{seat} active")
        assert found is not None
        return found

    def registered(self, seat: str, timeout_s: float) -> None:
        """Wait until the process holds the id, active or not yet. Raises `TooLate`."""

        def holds() -> bool:
            state = self.state(seat)
            return state is not None and state["broker_epoch"] >= 0

        until(holds, timeout_s, f"guest {self.broker_id}{seat} registered")

    def last_words(self, seat: str) -> str | None:
        """The reason in the last `exit` event of this seat's processes."""
        reason = None
        with suppress(FileNotFoundError):
            for line in self.host.read(f"{self.directory(seat)}/events.jsonl").splitlines():
                with suppress(ValueError):
                    event = json.loads(line)
                    if event.get("type") in ("boot", "exit"):
                        reason = event.get("reason")
        return reason


def until(condition: Callable[[], T], timeout_s: float, what: str) -> T:
    """Wait for a true value. Raises `TooLate`."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda value: not value),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(POLL_S),
    )
    try:
        return retrying(condition)
    except tenacity.RetryError:
        raise TooLate(f"{what}: not within {timeout_s:g} s") from None
