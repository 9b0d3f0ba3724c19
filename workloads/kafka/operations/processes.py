"""Extra brokers' processes: `start`, `restart`, `drain`, `bounce`, `replace`. The key is
`broker-<id>`."""

from __future__ import annotations

from dataclasses import dataclass

from framework.history.event import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """What a broker's process says of itself."""

    incarnation: str
    broker_state: str
    broker_epoch: int

    def to_json(self) -> Json:
        return {
            "incarnation": self.incarnation,
            "broker_state": self.broker_state,
            "broker_epoch": self.broker_epoch,
        }


@dataclass(frozen=True, slots=True)
class Drained:
    """`reason`: why the process says that it ended."""

    reason: str | None

    def to_json(self) -> Json:
        return {"reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """Both processes of the id when the second one is active; None: the first did not answer."""

    first: ProcessState | None
    second: ProcessState

    def to_json(self) -> Json:
        first = {} if self.first is None else self.first.to_json()
        return {"second": self.second.to_json(), "first": first}
