"""ListConfigResources (key 74, KIP-1142): of what there may be configurations, by a broker's image.
Pure.

Of the types that Kafka knows in each version, topics and brokers alone have any here; of the others
none is listed. In version 0 (KIP-714) there are client metrics alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import ResponsePayload

from nodes.kraft.controller.answers import (
    NO_THROTTLE,
    blank,
    item_schema,
    make,
    refused,
    schema_of,
)
from nodes.kraft.controller.permission import Allows
from nodes.kraft.metadata.config_keys import BROKER_RESOURCE
from nodes.kraft.metadata.image import TOPIC_RESOURCE, Image
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import ListConfigResourcesRequest

BROKER_LOGGER, CLIENT_METRICS, GROUP = 8, 16, 32


def _none(image: Image) -> Iterable[str]:
    return ()


def _topics(image: Image) -> Iterable[str]:
    return sorted(image.topic_ids)


def _brokers(image: Image) -> Iterable[str]:
    return map(str, sorted(image.brokers))


LISTED: Final[Mapping[int, Callable[[Image], Iterable[str]]]] = {
    TOPIC_RESOURCE: _topics,
    BROKER_RESOURCE: _brokers,
    BROKER_LOGGER: _none,
    CLIENT_METRICS: _none,
    GROUP: _none,
}
"""Type -> names of that type."""


def list_config_resources(
    image: Image, request: ListConfigResourcesRequest, allows: Allows
) -> ResponsePayload:
    """The answer to ListConfigResources v0-1; no types ask for all of them. Needs DESCRIBE_CONFIGS
    on the cluster (31). 35 where a type is asked for that there is not, as Kafka has it."""
    if not allows(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME):
        return refused(request, ErrorCode.cluster_authorization_failed)
    known = LISTED if request.__version__ >= 1 else {CLIENT_METRICS: _none}
    asked = dict.fromkeys(getattr(request, "resource_types", ())) or known
    if not known.keys() >= asked.keys():
        return refused(request, ErrorCode.unsupported_version)
    schema = schema_of(request)
    item = item_schema(schema, "config_resources")
    found = tuple(
        blank(item, resource_name=name, resource_type=kind)
        for kind in asked
        for name in known[kind](image)
    )
    return make(
        schema, throttle_time=NO_THROTTLE, error_code=ErrorCode.none, config_resources=found
    )
