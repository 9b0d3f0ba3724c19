"""A controller takes any broker epoch for the right one."""

from dataclasses import replace
from typing import Any

from nodes.kraft.controller import core
from nodes.kraft.controller.answers import ALTER_PARTITION, BROKER_HEARTBEAT


def install() -> None:
    healthy = core._decide

    def decide(state: Any, reign: Any, draft: Any, ask: Any, now_ms: int) -> Any:
        request = ask.request
        if request.__api_key__ in (ALTER_PARTITION, BROKER_HEARTBEAT) and request.broker_epoch >= 0:
            broker = draft.image.brokers.get(request.broker_id)
            if broker is not None:
                request = replace(request, broker_epoch=broker.epoch)
        return healthy(state, reign, draft, replace(ask, request=request), now_ms)

    core._decide = decide
