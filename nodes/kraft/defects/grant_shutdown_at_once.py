"""A controller lets a broker go as soon as it asks, with all that it leads."""

from nodes.kraft.controller import membership
from nodes.kraft.metadata.image import Broker
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse, BrokerState


def install() -> None:
    def shut_down(self: membership._Decision, broker: Broker) -> BrokerHeartbeatResponse:
        return self._answer(BrokerState.SHUTDOWN, broker.epoch, leased=False)

    membership._Decision._shut_down = shut_down  # type: ignore[method-assign]
