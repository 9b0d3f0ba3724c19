"""A controller takes any broker epoch for the right one."""

from dataclasses import replace

from kio.static.primitive import i64
from kio.static.protocol import ResponsePayload

from nodes.kraft.controller import core
from nodes.kraft.controller.partitions import AlterPartitionRequest
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.controller.steps import ControllerRequest
from nodes.kraft.ids import BrokerEpoch
from nodes.kraft.metadata.image import Broker
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest

CARRY_ONE = AlterPartitionRequest | BrokerHeartbeatRequest


def install() -> None:
    healthy = core._decide

    def decide(
        state: core.ControllerState,
        leadership: core.Leadership,
        builder: RecordBatchBuilder,
        asked: ControllerRequest,
        now_ms: int,
    ) -> tuple[core.Leadership, ResponsePayload | None]:
        request = asked.request
        if isinstance(request, CARRY_ONE) and request.broker_epoch >= 0:
            broker = builder.image.brokers.get(request.broker_id)
            if isinstance(request, BrokerHeartbeatRequest):
                request = replace(request, broker_epoch=_epoch(broker, request.broker_epoch))
            else:
                request = replace(request, broker_epoch=i64(_epoch(broker, request.broker_epoch)))
        return healthy(state, leadership, builder, replace(asked, request=request), now_ms)

    core._decide = decide


def _epoch(broker: Broker | None, asked: int) -> BrokerEpoch:
    return BrokerEpoch(asked) if broker is None else broker.epoch
