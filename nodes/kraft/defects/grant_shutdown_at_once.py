"""A controller lets a broker go as soon as it asks, with all that it leads."""

from typing import Any

from nodes.kraft.controller import membership
from nodes.kraft.wire.heartbeats import BrokerState


def install() -> None:
    def shut_down(decision: Any, broker: Any) -> Any:
        return decision._answer(BrokerState.SHUTDOWN, broker.epoch, leased=False)

    membership._Decision._shut_down = shut_down  # type: ignore[assignment,method-assign]
