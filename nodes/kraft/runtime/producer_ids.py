"""InitProducerId (key 22): ids for producers, from blocks that the active controller gives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import tenacity
from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId
from kio.static.primitive import i64

from nodes.kraft.broker.producer_ids import NO_ID, init_producer_id_response
from nodes.kraft.net.channel import ControllerChannels, FateUnknown, NotSent
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire import api_keys

if TYPE_CHECKING:
    from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse

    from nodes.kraft.wire.requests import InitProducerIdRequest

log: Final = logging.getLogger(__name__)

RETRY_S: Final = 0.05
"""How long to wait before the controller is asked again: for a new one to be known."""


class ProducerIds(Service):
    """Hands out producer ids, each once. An id that was not used is lost with the process."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._config = plane.config
        self._next = 0
        self._end = 0
        self._busy = asyncio.Lock()
        self._channels = ControllerChannels(plane.config)

    def handlers(self) -> Mapping[int, Handler]:
        return dict((serves(api_keys.INIT_PRODUCER_ID, self._serve),))

    async def close(self) -> None:
        self._channels.close()

    def _serve(self, context: RequestContext[InitProducerIdRequest]) -> None:
        request = context.request
        error = ErrorCode.none
        if request.transactional_id is not None:
            error = ErrorCode.unsupported_version  # there are no transactions here
        elif not self._may_produce(context):
            error = ErrorCode.cluster_authorization_failed
        if error != ErrorCode.none:
            self._plane.reply(context, init_producer_id_response(request, error))
        else:
            self._plane.spawn(self._answer(context))

    def _may_produce(self, context: RequestContext[InitProducerIdRequest]) -> bool:
        """IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679)."""
        if self._plane.allowed(
            context, Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            return True
        return any(
            self._plane.allowed(context, Operation.WRITE, ResourceType.TOPIC, name)
            for name in self._plane.image().topic_ids
        )

    async def _answer(self, context: RequestContext[InitProducerIdRequest]) -> None:
        producer_id = await self._take()
        error = ErrorCode.none
        if producer_id is None or not self._plane.serving():
            # Later perhaps: clients ask again.
            producer_id, error = NO_ID, ErrorCode.coordinator_load_in_progress
        response = init_producer_id_response(context.request, error, producer_id)
        self._plane.reply(context, response)

    async def _take(self) -> int | None:
        """An id that nobody has had; None where the controller gave none in time."""
        async with self._busy:
            if self._next == self._end and not await self._refill():
                return None
            taken = self._next
            self._next += 1
            return taken

    async def _refill(self) -> bool:
        """Get a block. A block whose answer is lost is never used."""
        timeout_s = self._config.timing.forward_timeout_ms / 1000
        deadline = asyncio.get_running_loop().time() + timeout_s

        async def attempt() -> bool:
            answer = await self._ask(deadline - asyncio.get_running_loop().time())
            if answer is None or answer.error_code != ErrorCode.none:
                return False
            self._next = int(answer.producer_id_start)
            self._end = self._next + int(answer.producer_id_len)
            return True

        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(lambda done: not done),
            stop=tenacity.stop_before_delay(timeout_s),
            wait=tenacity.wait_fixed(RETRY_S),
            retry_error_callback=lambda _: False,
        )
        return await attempts(attempt)

    async def _ask(self, left_s: float) -> AllocateProducerIdsResponse | None:
        leader = self._plane.leader_id()
        if leader < 0 or self._config.broker_id is None:
            return None
        request = AllocateProducerIdsRequest(
            broker_id=BrokerId(self._config.broker_id),
            broker_epoch=i64(self._plane.broker_epoch()),
        )
        timeout_s = min(left_s, self._config.timing.request_timeout_ms / 1000)
        try:
            return await self._channels.to(leader).call(request, timeout_s)
        except (NotSent, FateUnknown) as error:
            log.debug("asking for producer ids: %s", error)
            return None
