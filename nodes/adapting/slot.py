"""Brokers beside the cluster's own, as real processes on its hosts."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import tenacity

from framework.evidence.brokers import BrokerState
from framework.plugins.host import Host
from framework.plugins.kept import keep
from framework.plugins.system import Cluster

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


def process_of(name: str) -> str:
    """The name of the processes in a slot, by that of the slot."""
    return f"g{name}"


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of broker `broker_id`: a port and a directory on a host that it shares with one
    of the cluster's brokers, who take them in turn by `number`; and at most one process."""

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
        return process_of(self.name)

    @property
    def directory(self) -> str:
        return f"{self.host.workdir}/extra/{self.name}"

    def launch(self, argv: Sequence[str]) -> None:
        """Start its process."""
        pid = self.host.start(argv, log=f"{self.directory}/node.log")
        self.host.write(f"{self.directory}/pid", f"{pid}\n".encode())

    def keep(self, patterns: Sequence[str]) -> None:
        """Copy what its former process left, if there was one."""
        former = self.former()
        if former is not None:
            keep(self.host, self.directory, patterns, former)

    def running(self) -> bool:
        """Whether the slot's process runs."""
        return self._pid() is not None

    def kill(self) -> None:
        """SIGKILL, and wait until the process has gone. Raises `TimeoutError`."""
        self.end(signal.SIGKILL, KILL_S)

    def end(self, number: signal.Signals, timeout_s: float) -> None:
        """The signal, and wait until the process has gone. Raises `TimeoutError`."""
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

    def _pid(self) -> int | None:
        pid = self.former()
        return pid if pid is not None and self.host.alive(pid) else None

    def former(self) -> int | None:
        """Of the process that was started last."""
        try:
            return int(self.host.read(f"{self.directory}/pid"))
        except FileNotFoundError:
            return None
