"""A controller takes any broker epoch for the right one."""

from dataclasses import replace
from typing import Any

from nodes.kraft.controller import core
from nodes.kraft.controller.answers import ALTER_PARTITION, BROKER_HEARTBEAT


def install() -> None:
    healthy = core._decide

    def decide(state: Any, leadership: Any, builder: Any, asked: Any, now_ms: int) -> Any:
        request = asked.request
        if request.__api_key__ in (ALTER_PARTITION, BROKER_HEARTBEAT) and request.broker_epoch >= 0:
            broker = builder.image.brokers.get(request.broker_id)
            if broker is not None:
                request = replace(request, broker_epoch=broker.epoch)
        return healthy(state, leadership, builder, replace(asked, request=request), now_ms)

    core._decide = decide
