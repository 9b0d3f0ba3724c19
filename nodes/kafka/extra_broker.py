"""Brokers beside the cluster's own, as further processes of Apache Kafka."""

from __future__ import annotations

import shlex
import signal
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from framework.plugins.system import NodeSpec
from nodes.adapting.slot import Description, Slot
from nodes.kafka import settings, states
from nodes.kafka.disk import KEPT
from nodes.kafka.life_lines import LET_GO, LOGGER, Life, life

if TYPE_CHECKING:
    from nodes.kafka.system import KafkaSystem

BEGAN: Final = "began"
"""A file: how many bytes of the slot's log are of former processes."""
PROPERTIES: Final = "server.properties"
ASK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class KafkaExtraBroker(Slot):
    """A second process of an id is refused it (DUPLICATE_BROKER_REGISTRATION) until the session of
    the first one has run out."""

    system: KafkaSystem

    serves_s = 8.0

    @property
    def spec(self) -> NodeSpec:
        """As if the plan had it."""
        return NodeSpec(
            name=self.process,
            roles=frozenset({"broker"}),
            ports={"client": self.port},
            ids={"broker": self.broker_id},
        )

    def start(self) -> None:
        """Start a process; what an earlier one left in the slot is its own to find, and kept."""
        self.keep(KEPT)
        for name, data in self._files().items():
            self.host.write(f"{self.directory}/{name}", data)
        self._ask(f"touch node.log && wc -c < node.log > {BEGAN}")
        properties = f"{self.directory}/{PROPERTIES}"
        self.launch(self.system.command(self.cluster, self.node, properties))

    def _files(self) -> dict[str, bytes]:
        """What is to be written before a start; the directory of data before the first one."""
        own = self.system.settings(self.cluster, self.node, self.directory)
        own |= {
            "node.id": str(self.broker_id),
            "process.roles": "broker",
            "listeners": f"CLIENT://{self.host.address}:{self.port}",
        }
        files = {PROPERTIES: settings.text(own)}
        if self.former() is None:
            files |= self.system.formatted(self.cluster, self.node, self.spec)
        return files

    def drain(self, timeout_s: float) -> str | None:
        """SIGTERM, and wait until the process has gone; why it says it went. Raises
        `TimeoutError`."""
        self.end(signal.SIGTERM, timeout_s)
        return self._life().reason()

    def granted(self, reason: str | None) -> bool | None:
        """Whether this is why a process ends that was granted its controlled shutdown."""
        return None if reason is None else reason == LET_GO

    def connect(self, timeout_s: float) -> socket.socket:
        """For clients. Raises `OSError`."""
        return self.cluster.fleet.connect(self.host.address, self.port, timeout_s)

    def describe(self) -> Description | None:
        """What the process logged; one that serves by that answers, too, and lists itself among
        those that are in service."""
        found = self._life().described() if self.running() else None
        if found is None or found.broker_state != "active":
            return found
        answered = states.state(lambda _, timeout_s: self.connect(timeout_s), self.spec, ASK_S)
        if answered is None:
            return None
        return found if answered.ready else replace(found, broker_state="fenced")

    def refused(self) -> bool:
        """Whether its process was told last that another one has its id."""
        return self._life().refused

    def _life(self) -> Life:
        """Of the process that was started last."""
        return life(
            self._ask(
                f'tail -c "+$(($(cat {BEGAN}) + 1))" node.log | grep -a {LOGGER}'
            ).splitlines()
        )

    def _ask(self, script: str) -> str:
        """What a shell says in the slot's directory."""
        there = f"cd {shlex.quote(self.directory)} && {script}"
        return self.host.run(["sh", "-c", there], check=False).out
