"""Brokers beside the cluster's own, as real processes on its hosts."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import tenacity

from framework.evidence.kinds import BrokerState
from framework.plugins.host import Host
from framework.plugins.kept import keep
from framework.plugins.system import Cluster
from nodes.kraft.adapter.disk import KEPT
from nodes.kraft.adapter.settings import EVENTS
from nodes.kraft.adapter.states import STATES, let_go

if TYPE_CHECKING:
    from nodes.kraft.adapter.system import KraftSystem

FIRST_PORT: Final = 9300
SLOTS: Final = ("a", "b")
POLL_S: Final = 0.05
KILL_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Description:
    """What the process says of itself. `broker_epoch` -1: it does not hold its id."""

    incarnation: str
    broker_state: BrokerState
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class KraftExtraBroker:
    """One slot of broker `broker_id`: a port and a directory on a host that it shares with one
    of the cluster's brokers, who take them in turn by `number`."""

    system: KraftSystem
    cluster: Cluster
    broker_id: int
    number: int
    slot: int

    @property
    def node(self) -> str:
        brokers = self.cluster.with_role("broker")
        return brokers[self.number % len(brokers)]

    @property
    def host(self) -> Host:
        return self.cluster.host(self.node)

    @property
    def port(self) -> int:
        return FIRST_PORT + len(SLOTS) * self.number + self.slot

    @property
    def name(self) -> str:
        return f"{self.broker_id}{SLOTS[self.slot]}"

    @property
    def process(self) -> str:
        return f"g{self.name}"

    @property
    def directory(self) -> str:
        return f"{self.host.workdir}/extra/{self.name}"

    # --- the process ----------------------------------------------------------------------

    def start(self) -> None:
        """Start a process; what an earlier one left in the slot is its own to find, and kept."""
        former = self._former()
        if former is not None:
            keep(self.host, self.directory, KEPT, former)
        properties = f"{self.directory}/server.properties"
        settings = "".join(f"{key}={value}\n" for key, value in self._settings().items())
        self.host.write(properties, settings.encode())
        argv = self.system.command(self.cluster, self.node, properties)
        pid = self.host.start(argv, log=f"{self.directory}/node.log")
        self.host.write(f"{self.directory}/pid", f"{pid}\n".encode())

    def _settings(self) -> dict[str, str]:
        settings = self.system.settings(self.cluster, self.node)
        for key in ("controller.id", "metrics.listener"):
            settings.pop(key, None)
        return settings | {
            "node.name": self.process,
            "process.roles": "broker",
            "broker.id": str(self.broker_id),
            "listeners": f"CLIENT://{self.host.address}:{self.port}",
            "log.dirs": f"{self.directory}/data",
            EVENTS: settings[EVENTS] and f"{self.directory}/events.jsonl",
        }

    def running(self) -> bool:
        """Whether the slot's process runs."""
        return self._pid() is not None

    def _pid(self) -> int | None:
        pid = self._former()
        return pid if pid is not None and self.host.alive(pid) else None

    def _former(self) -> int | None:
        """Of the process that was started last."""
        try:
            return int(self.host.read(f"{self.directory}/pid"))
        except FileNotFoundError:
            return None

    def kill(self) -> None:
        """SIGKILL, and wait until the process has gone. Raises `TimeoutError`."""
        self._end(signal.SIGKILL, KILL_S)

    def drain(self, timeout_s: float) -> str | None:
        """SIGTERM, and wait until the process has gone; why it says it went. Raises
        `TimeoutError`."""
        self._end(signal.SIGTERM, timeout_s)
        return self._exit_reason()

    def _end(self, number: signal.Signals, timeout_s: float) -> None:
        pid = self._pid()
        if pid is None:
            return
        self.host.signal(pid, number)
        gone = tenacity.Retrying(
            retry=tenacity.retry_if_result(bool),
            stop=tenacity.stop_after_delay(timeout_s),
            wait=tenacity.wait_fixed(POLL_S),
        )
        try:
            gone(self.host.alive, pid)
        except tenacity.RetryError:
            raise TimeoutError(f"broker {self.name} gone: not within {timeout_s:g} s") from None

    def granted(self, reason: str | None) -> bool | None:
        """Whether this is why a process ends that was granted its controlled shutdown."""
        return let_go(reason)

    # --- what it says ---------------------------------------------------------------------

    def connect(self, timeout_s: float) -> socket.socket:
        """For clients. Raises `OSError`."""
        return self.system.connect(self.cluster, self.node, "client", timeout_s, port=self.port)

    def describe(self) -> Description | None:
        """Ask the process; None where it does not answer."""
        found = self.system.describe(self.cluster, self.node, "client", port=self.port)
        if found is None:
            return None
        state = STATES[found["broker_state"]]
        return Description(found["incarnation"], state, found["broker_epoch"])

    def _exit_reason(self) -> str | None:
        """In the last `exit` event of the slot's processes."""
        reason = None
        with suppress(FileNotFoundError):
            for line in self.host.read(f"{self.directory}/events.jsonl").splitlines():
                with suppress(ValueError):
                    event = json.loads(line)
                    if event.get("type") in ("boot", "exit"):
                        reason = event.get("reason")
        return reason
