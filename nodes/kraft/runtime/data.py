"""The data plane: what clients ask a broker, dispatched by api key. Lives on the data loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i16
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.broker import lifecycle, view
from nodes.kraft.config import Config
from nodes.kraft.ids import BrokerEpoch
from nodes.kraft.metadata.image import EMPTY, Image
from nodes.kraft.net.listener import Listener, RequestContext, Response
from nodes.kraft.net.secure import listener_sasl, listener_tls
from nodes.kraft.runtime.admin import Admin
from nodes.kraft.runtime.changes import Changes
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.delete_records import DeleteRecords
from nodes.kraft.runtime.fetch import Fetch
from nodes.kraft.runtime.forwarding import Forwarder
from nodes.kraft.runtime.groups import Groups
from nodes.kraft.runtime.offsets import Offsets
from nodes.kraft.runtime.partitions import Partitions
from nodes.kraft.runtime.planes import DataWatcher, Handler, Service
from nodes.kraft.runtime.produce import Produce
from nodes.kraft.runtime.producer_ids import ProducerIds
from nodes.kraft.runtime.refusals import listed, refuse, unsupported
from nodes.kraft.runtime.replica_reports import ReplicaReports
from nodes.kraft.runtime.tasks import Tasks
from nodes.kraft.security.authorizer import Authorizer, Operation, ResourceType
from nodes.kraft.wire.api_keys import BROKER_HEARTBEAT, CONTROLLER_HEARTBEAT, DESCRIBE_NODE
from nodes.kraft.wire.apis import ADVERTISED_APIS, CLIENT_APIS
from nodes.kraft.wire.codec import API_VERSIONS
from nodes.kraft.wire.codes import first_error, item_codes
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    ControllerHeartbeatRequest,
    ControllerHeartbeatResponse,
)
from nodes.kraft.wire.versions import NEWEST

if TYPE_CHECKING:
    from nodes.kraft.wire.requests import ClientRequest

log: Final = logging.getLogger(__name__)
NO_REPLICA: Final = -1


class DataPlane:
    """Serves clients (`runtime.planes.Plane`).

    `life` gives the broker's life-cycle state, `leader_id` the active controller; both are read
    from the control loop's objects by reference. `describe` answers DescribeNode.
    """

    def __init__(
        self,
        config: Config,
        *,
        life: Callable[[], lifecycle.LifecycleState],
        leader_id: Callable[[], int],
        emit: Callable[..., None],
        stop: Callable[[str], None],
        describe: Callable[[], ResponsePayload],
    ) -> None:
        self.config = config
        self.watchers: list[DataWatcher] = []
        self.emit = emit
        self.leader_id = leader_id
        self._life = life
        self._describe = describe
        self._image = EMPTY
        self.published = 0
        """Below this offset `image()` has everything."""
        self.listeners: list[Listener] = []
        self._tasks = Tasks("task of the data plane", stop)
        self._authorizer = Authorizer(config.authorizer_enabled, config.super_users)
        self.forwarder = Forwarder(config, leader_id)
        self.changes = Changes()
        self._table: dict[int, Handler] = {}
        self._services: list[Service] = []
        self._register()

    def _register(self) -> None:
        """The services, in the order of their start. Each takes this plane: `Admin(self)`."""
        self.partitions = Partitions(self, self.changes)
        services: tuple[Service, ...] = (
            Admin(self, self.forwarder),
            self.partitions,
            Produce(self, self.partitions),
            Fetch(self, self.partitions),
            Offsets(self, self.partitions),
            DeleteRecords(self, self.partitions),
            Groups(self, self.partitions, self.forwarder),
            ProducerIds(self),
            ReplicaReports(self, self.partitions),
        )
        for service in services:
            self._services.append(service)
            self.watchers.append(service)
            self._table |= service.handlers()

    # --- life -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the services, then listen. Raises `OSError` where an address is taken."""
        for service in self._services:
            await service.start()
        for endpoint in self.config.client_listeners:
            listener = Listener(
                endpoint.name,
                dispatch=self.serve,
                unsupported=partial(unsupported, ADVERTISED_APIS),
                limits=self.config.limits,
                tls=listener_tls(self.config, endpoint),
                sasl=listener_sasl(self.config, endpoint),
            )
            await listener.start(endpoint.host, endpoint.port)
            self.listeners.append(listener)
            log.info("listening: %s://%s:%d", endpoint.name, endpoint.host, endpoint.port)

    async def close(self) -> None:
        for listener in self.listeners:
            await listener.close()
        for service in reversed(self._services):
            await service.close()
        self._tasks.cancel()
        self.forwarder.close()

    # --- from the control loop ------------------------------------------------------------

    def committed(self, end_offset: int, image: Image) -> None:
        """Posted for each advance of the high watermark."""
        self._image = image
        self.published = end_offset
        for watcher in self.watchers:
            watcher.committed(end_offset, image)

    def moved(self, transition: lifecycle.Transition) -> None:
        """Posted for each transition of the life cycle."""
        for watcher in self.watchers:
            watcher.moved(transition)

    # --- for services ---------------------------------------------------------------------

    def serving(self, life: lifecycle.LifecycleState | None = None) -> bool:
        return lifecycle.serving(life or self._life(), now_ms())

    def image(self) -> Image:
        return self._image

    def broker_epoch(self) -> BrokerEpoch:
        return self._life().epoch

    def allowed(
        self,
        context: RequestContext[RequestPayload],
        operation: Operation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> bool:
        return self._authorizer.allows(
            self._image, context.principal, context.host, operation, resource_type, resource_name
        )

    def reply(self, context: RequestContext[RequestPayload], response: Response) -> None:
        life = self._life()  # read once: the control loop replaces it meanwhile
        end_ms = life.lease_end_ms
        request = context.request
        forwarded = request.__api_key__ in NEWEST
        if response is not None and not forwarded and not self.serving(life):
            # The lease ended while the request waited: a fenced broker vouches for nothing. (What
            # was forwarded may have taken effect, so that it is told in other words: `Admin`.)
            response = view.refusal(request)
        topics = getattr(request, "topics", None) or getattr(request, "topic_data", None) or ()
        topic = next(iter(topics), None)
        topic_id = getattr(topic, "topic_id", None)
        self.emit(
            "serve",
            listener=context.listener,
            api=type(request).__name__.removesuffix("Request"),
            code=-1 if response is None else first_error(response),
            codes=[] if response is None else item_codes(response),
            broker_state=life.broker_state.name,
            broker_epoch=life.epoch,
            lease_left_ns=None if end_ms is None else (end_ms - now_ms()) * 1_000_000,
            topic=getattr(topic, "name", None) or getattr(topic, "topic", None),
            topic_id=str(topic_id) if topic_id else None,
            replica_id=_replica_id(request),
            peer=context.peer,
        )
        context.answer(response)

    def spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        return self._tasks.spawn(coroutine)

    # --- requests -------------------------------------------------------------------------

    def serve(self, context: RequestContext[RequestPayload]) -> None:
        """A request from a client listener."""
        request = context.request
        key = request.__api_key__
        if DESCRIBE_NODE.of(request):
            context.answer(self._describe())
        elif BROKER_HEARTBEAT.of(request) or CONTROLLER_HEARTBEAT.of(request):
            context.answer(_not_a_controller(request))
        elif not listed(CLIENT_APIS, request):
            refuse(context)
        elif key == API_VERSIONS:
            context.answer(
                view.api_versions_response(ADVERTISED_APIS, request, self._image, self.published)
            )
        elif not self.serving():
            self.reply(context, view.refusal(request))
        else:
            # Nothing else is listed, but for logins, which are the connection's.
            self._table[key](cast("RequestContext[ClientRequest]", context))


def _replica_id(request: RequestPayload) -> int | None:
    """Of the broker that asks, to replicate; None: a client asks."""
    state = getattr(request, "replica_state", request)
    replica_id = getattr(state, "replica_id", NO_REPLICA)
    return None if replica_id < 0 else int(replica_id)


def _not_a_controller(
    request: BrokerHeartbeatRequest | ControllerHeartbeatRequest,
) -> ResponsePayload:
    """What a broker answers to heartbeats (A.1.82, 85)."""
    code = ErrorCode.not_controller
    if isinstance(request, BrokerHeartbeatRequest):
        return BrokerHeartbeatResponse(
            error_code=i16(code),
            next_state=i8(BrokerState.UNKNOWN),
            lease_end_time_ms=request.lease_start_time_ms,
        )
    return ControllerHeartbeatResponse(error_code=i16(code), start_snapshot=False)
