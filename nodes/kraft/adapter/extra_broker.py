"""Brokers beside the cluster's own, as further processes of the node."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodes.adapting.slot import Description, Slot
from nodes.kraft.adapter.disk import KEPT
from nodes.kraft.adapter.settings import EVENTS
from nodes.kraft.adapter.states import STATES, let_go

if TYPE_CHECKING:
    from nodes.kraft.adapter.system import KraftSystem


@dataclass(frozen=True, slots=True)
class KraftExtraBroker(Slot):
    """A second process of an id takes it over at once."""

    system: KraftSystem

    serves_s = 4.0

    def start(self) -> None:
        """Start a process; what an earlier one left in the slot is its own to find, and kept."""
        self.keep(KEPT)
        properties = f"{self.directory}/server.properties"
        settings = "".join(f"{key}={value}\n" for key, value in self._settings().items())
        self.host.write(properties, settings.encode())
        self.launch(self.system.command(self.cluster, self.node, properties))

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

    def drain(self, timeout_s: float) -> str | None:
        """SIGTERM, and wait until the process has gone; why it says it went. Raises
        `TimeoutError`."""
        self.end(signal.SIGTERM, timeout_s)
        return self._exit_reason()

    def granted(self, reason: str | None) -> bool | None:
        """Whether this is why a process ends that was granted its controlled shutdown."""
        return let_go(reason)

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

    def refused(self) -> bool:
        """None is."""
        return False

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
