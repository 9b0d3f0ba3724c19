"""The client of the `txn` workload: a transactional producer and its consumer, another's clients in
a process of their own (`transactor`). Topics are made and looked at in our own codec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from framework.history.event import Completion, Invocation, Json
from framework.plugins.system import Cluster
from workloads.kafka.log_client import LogClient
from workloads.kafka.member_process import LOST, MemberFailed, MemberProcess, unanswered
from workloads.kafka.operations.transactions import BEGINNING, END
from workloads.kafka.producing import ProducerKind
from workloads.kafka.relay import Relay
from workloads.kafka.roles import BROKER
from workloads.kafka.system import system_of

MODULE: Final = "workloads.kafka.transactor"


def transactional_id(thread: int) -> str:
    """Of the producer of a client thread."""
    return f"txn-{thread}"


@dataclass(frozen=True, slots=True)
class Late:
    """Of all requests of transactions this `share` reaches its broker `seconds` late."""

    share: float
    seconds: float


class TxnClient:
    """Implements the engine's `Client`."""

    def __init__(
        self,
        cluster: Cluster,
        thread: int,
        late: Late,
        producer: ProducerKind = "librdkafka",
        started: Callable[[Invocation], None] = lambda _: None,
    ) -> None:
        self._cluster, self._thread, self._late, self._kind = cluster, thread, late, producer
        self._log = LogClient(cluster, thread, started)
        self._outcomes = system_of(cluster).dialect().outcomes
        self._relay: Relay | None = None
        self._process: MemberProcess | None = None

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within 10 s."""
        arguments = _ARGUMENTS.get(invocation.f)
        if arguments is None:
            return self._log.invoke(invocation)
        try:
            result = self._running().ask(invocation.f, **arguments(invocation))
        except MemberFailed as error:
            if error.code in LOST:
                self._vanish()
            return unanswered(self._outcomes, invocation, error)
        return invocation.completed("ok", [result] if invocation.f == "poll" else result)

    def close(self) -> None:
        """Close all connections; the process is killed."""
        self._vanish()
        if self._relay is not None:
            self._relay.close()
        self._log.close()

    def _running(self) -> MemberProcess:
        if self._relay is None:
            self._relay = Relay(self._cluster)
        if self._process is None:
            name = transactional_id(self._thread)
            configuration: Json = {
                "id": name,
                "producer": self._kind,
                "ids": [self._cluster.nodes[each].ids[BROKER] for each in self._relay.nodes],
                "brokers": self._relay.brokers,
                "relay": self._relay.url,
                "delay": {
                    "share": self._late.share,
                    "seconds": self._late.seconds,
                    "seed": self._cluster.seed * 1000 + self._thread,
                },
            }
            self._process = MemberProcess(name, MODULE, configuration)
        return self._process

    def _vanish(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()


_ARGUMENTS: Final[Mapping[str, Callable[[Invocation], dict[str, Json]]]] = {
    "assign": lambda asked: {
        "keys": asked.value,
        "beginning": (asked.ext or {}).get(BEGINNING, False),
    },
    "poll": lambda _: {},
    "txn": lambda asked: {
        "operations": asked.value,
        "end": (asked.ext or {})[END],
    },
    "fence": lambda asked: {"transactional_id": asked.key},
}
