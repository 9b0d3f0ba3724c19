"""Extra brokers' processes: `start`, `restart`, `drain`, `kill`, `bounce`, `replace`. The key is
`broker-<id>`."""

from __future__ import annotations

from dataclasses import dataclass

from framework.evidence.brokers import BrokerState
from workloads.kafka.operations.value import Value, omitted


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState(Value):
    """What a broker's process says of itself."""

    incarnation: str
    broker_state: BrokerState
    broker_epoch: int
    broker_id: int | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer(Value):
    """A process that says nothing."""


@dataclass(frozen=True, slots=True)
class Drained(Value):
    """`reason`: why the process says that it ended; `granted`: whether that says that it was let
    go, as it had asked (None: nothing was said); `broker_id`: whose it was."""

    reason: str | None
    granted: bool | None = omitted()
    broker_id: int | None = omitted()


@dataclass(frozen=True, slots=True)
class Killed(Value):
    """`broker_id`: whose process it was."""

    broker_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced(Value):
    """Both processes of the id: the first asked when the second one was active, or was refused."""

    second: ProcessState
    first: ProcessState | NoAnswer
