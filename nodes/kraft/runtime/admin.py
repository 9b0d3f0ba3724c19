"""What clients ask of a broker besides data: metadata, configurations, access rules, and all that
it forwards to the active controller. Lives on the data loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.broker import view
from nodes.kraft.broker.acls import describe_acls
from nodes.kraft.broker.config_resources import list_config_resources
from nodes.kraft.broker.configs import describe_configs
from nodes.kraft.config import Config
from nodes.kraft.controller.answers import refused
from nodes.kraft.ids import Offset
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.auto_topics import AutoTopics
from nodes.kraft.runtime.forwarding import Forwarder
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.wire import api_keys
from nodes.kraft.wire.codes import with_code
from nodes.kraft.wire.versions import NEWEST, newest_request, response_for

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from nodes.kraft.wire.metadata_requests import (
        DescribeAclsRequest,
        DescribeClusterRequest,
        DescribeConfigsRequest,
        ListConfigResourcesRequest,
        MetadataRequest,
    )

log: Final = logging.getLogger(__name__)

READS: Final = frozenset({api_keys.DESCRIBE_QUORUM, api_keys.LIST_PARTITION_REASSIGNMENTS})
"""Forwarded requests that change nothing: it does not matter what became of an attempt."""

MAX_ITEMS: Final = 10_000
"""Topics, resources, rules of one forwarded request (B.10: records an operation)."""
MAX_ELEMENTS: Final = 50_000
"""Those and what is in them: as many partitions with their replicas by hand."""


class Admin(Service):
    """Answers from the broker's image, or carries the question to the controller."""

    def __init__(self, plane: Plane, forwarder: Forwarder) -> None:
        self._plane = plane
        self._config = plane.config
        self._forwarder = forwarder
        self._published = Offset(0)
        self._unseen: dict[asyncio.Event, Offset] = {}
        self._auto = AutoTopics(plane, forwarder)
        self._static = static_configs(plane.config)

    def handlers(self) -> Mapping[int, Handler]:
        return dict(
            (
                serves(api_keys.METADATA, self._metadata),
                serves(api_keys.DESCRIBE_CLUSTER, self._describe_cluster),
                serves(api_keys.DESCRIBE_CONFIGS, self._describe_configs),
                serves(api_keys.LIST_CONFIG_RESOURCES, self._list_config_resources),
                serves(api_keys.DESCRIBE_ACLS, self._describe_acls),
                *((key, self.forward) for key in NEWEST),
            )
        )

    # --- from the image -------------------------------------------------------------------

    def _metadata(self, context: RequestContext[MetadataRequest]) -> None:
        creates = self._auto.wanted(context.request)
        response = view.metadata_response(
            self._plane.image(),
            context.request,
            self._config.cluster_id,
            context.listener,
            partial(self._plane.allowed, context),
            creates,
        )
        if creates:
            self._auto.make(context, self._auto.missing(response))
        self._plane.reply(context, response)

    def _describe_cluster(self, context: RequestContext[DescribeClusterRequest]) -> None:
        response = view.describe_cluster_response(
            self._plane.image(),
            context.request,
            self._config.cluster_id,
            context.listener,
            partial(self._plane.allowed, context),
        )
        self._plane.reply(context, response)

    def _describe_configs(self, context: RequestContext[DescribeConfigsRequest]) -> None:
        assert self._config.broker_id is not None
        response = describe_configs(
            self._plane.image(),
            context.request,
            broker_id=self._config.broker_id,
            static=self._static,
            allows=partial(self._plane.allowed, context),
        )
        self._plane.reply(context, response)

    def _list_config_resources(self, context: RequestContext[ListConfigResourcesRequest]) -> None:
        allows = partial(self._plane.allowed, context)
        response = list_config_resources(self._plane.image(), context.request, allows)
        self._plane.reply(context, response)

    def _describe_acls(self, context: RequestContext[DescribeAclsRequest]) -> None:
        response = describe_acls(
            self._plane.image(),
            context.request,
            enabled=self._config.authorizer_enabled,
            allows=partial(self._plane.allowed, context),
        )
        self._plane.reply(context, response)

    # --- from the controller --------------------------------------------------------------

    def forward(self, context: RequestContext[RequestPayload]) -> None:
        """Carry a client's request to the active controller, and its answer back. One that would
        keep the controller busy for long, whatever its answer, does not get that far."""
        if too_large(context.request):
            self._plane.reply(context, refused(context.request, ErrorCode.policy_violation))
        else:
            self._plane.spawn(self._forward(context))

    async def _forward(self, context: RequestContext[RequestPayload]) -> None:
        try:
            response = await self._forwarded(context)
        except Exception:
            log.exception("%s from %s failed", type(context.request).__name__, context.peer)
            response = None  # closes the connection, which would wait for ever
        self._plane.reply(context, response)

    async def _forwarded(self, context: RequestContext[RequestPayload]) -> ResponsePayload:
        request = newest_request(context.request)
        requester = Requester(context.principal, context.host)
        timeout_s = time_to_forward_s(self._config, request)
        deadline = asyncio.get_running_loop().time() + timeout_s
        told = await self._forwarder.forward(request, timeout_s, requester)
        response = told.response
        if response is None:
            code = ErrorCode.request_timed_out if told.unknown else ErrorCode.not_controller
            response = refused(request, code)
        elif told.unknown and _changes(request):
            response = with_code(response, ErrorCode.request_timed_out)
        if not await self._shown(told.end_offset, deadline) or not self._plane.serving():
            # Nobody here sees what was done; or the lease ended meanwhile: a fenced broker vouches
            # for nothing.
            response = refused(request, ErrorCode.request_timed_out)
        return response_for(context.request, response)

    async def _shown(self, end_offset: Offset, deadline: float) -> bool:
        """Wait until this broker itself shows what was recorded for a request: a client that
        creates a topic and then asks for it would be told that there is none. False: it does not by
        `deadline`, of the loop's clock."""
        if end_offset <= self._published:
            return True
        shown = asyncio.Event()
        self._unseen[shown] = end_offset
        try:
            async with asyncio.timeout_at(deadline):
                return await shown.wait()
        except TimeoutError:
            return False
        finally:
            del self._unseen[shown]

    def committed(self, end_offset: int, image: Image) -> None:
        self._published = Offset(end_offset)
        for shown, wanted in self._unseen.items():
            if wanted <= end_offset:
                shown.set()


def too_large(request: RequestPayload) -> bool:
    """Whether the request names more things than one may change."""
    items = (len(value) for value in _fields(request) if isinstance(value, tuple))
    return sum(items) > MAX_ITEMS or _elements(request) > MAX_ELEMENTS


def _elements(value: object) -> int:
    """How many array elements there are in a request, in those too."""
    if isinstance(value, tuple):
        return len(value) + sum(_elements(each) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return 0
    return sum(_elements(each) for each in _fields(value))


def _fields(entity: DataclassInstance) -> Iterator[object]:
    return (getattr(entity, item.name) for item in fields(entity))


def _changes(request: RequestPayload) -> bool:
    reads = request.__api_key__ in READS
    return not reads and not getattr(request, "validate_only", False)


def time_to_forward_s(config: Config, request: RequestPayload) -> float:
    """How long to look for a controller and to wait for it: what the client waits, within
    bounds. One that says that it does not wait at all gets an attempt all the same."""
    longest_s = config.timing.forward_timeout_ms / 1000
    asked: float = request.timeout.total_seconds() if hasattr(request, "timeout") else 0.0
    return min(asked, longest_s) if asked > 0 else longest_s


def static_configs(config: Config) -> dict[str, str]:
    """What the broker's file says, for DescribeConfigs: names and values, no secrets."""
    timing = config.timing
    return {
        "auto.create.topics.enable": str(config.auto_topics.enabled).lower(),
        "authorizer.enabled": str(config.authorizer_enabled).lower(),
        "broker.heartbeat.interval.ms": str(timing.heartbeat_interval_ms),
        "broker.id": str(config.broker_id),
        "broker.lease.ms": str(timing.lease_ms),
        "broker.rack": config.rack or "",
        "cluster.id": config.cluster_id,
        "log.dirs": str(config.log_dir),
        "node.name": config.name,
        "num.partitions": str(config.auto_topics.partitions),
        "process.roles": ",".join(config.roles),
        "queued.max.requests": str(config.limits.capacity),
    }
