"""DescribeConfigs: configurations of topics and of this broker, from its image. Pure.

Only the broker itself knows what its file says, so that a client asks each broker for its own;
resource BROKER of name "" has what was set on all brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import (
    Refusal,
    blank,
    item_result,
    item_schema,
    items_response,
    schema_of,
)
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.metadata.config_keys import (
    BROKER_KEYS,
    BROKER_RESOURCE,
    TOPIC_KEYS,
    ConfigSource,
    ConfigType,
    layers,
)
from nodes.kraft.metadata.image import TOPIC_RESOURCE, Image
from nodes.kraft.security.authorizer import Operation, ResourceType

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import DescribeConfigsRequest, DescribeConfigsResource


def describe_configs(
    image: Image,
    request: DescribeConfigsRequest,
    *,
    broker_id: int,
    static: Mapping[str, str],
    allows: Allows,
) -> ResponsePayload:
    """The answer to DescribeConfigs v1-4. `static`: what the broker's file says. Needs
    DESCRIBE_CONFIGS on the topic (29) or, for brokers, on the cluster (31)."""
    results = []
    for resource in request.resources:
        configs: tuple[Entity, ...] = ()
        refused: Refusal | None = None
        try:
            configs = _described(image, request, resource, broker_id, static, allows)
        except Refusal as refusal:
            refused = refusal
        results.append(
            item_result(
                request,
                refusal=refused,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=configs,
            )
        )
    return items_response(request, results)


def _described(
    image: Image,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
    broker_id: int,
    static: Mapping[str, str],
    allows: Allows,
) -> tuple[Entity, ...]:
    name = resource.resource_name
    # As in Kafka, no names ask for all of them, whether null or an empty array.
    wanted = set(resource.configuration_keys or ())
    if resource.resource_type == TOPIC_RESOURCE:
        require(allows, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name)
        if name not in image.topic_ids:
            raise Refusal(ErrorCode.unknown_topic_or_partition, f"there is no topic {name}")
        return tuple(
            _config(request, key.type, layers(image, name, key.name, broker_id), key.name)
            for key in TOPIC_KEYS.values()
            if not wanted or key.name in wanted
        )
    if resource.resource_type == BROKER_RESOURCE:
        require(allows, Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
        return _broker(image, request, name, broker_id, static, wanted)
    raise Refusal(
        ErrorCode.invalid_request,
        f"resources of type {resource.resource_type} have no configurations here",
    )


def _broker(
    image: Image,
    request: DescribeConfigsRequest,
    name: str,
    broker_id: int,
    static: Mapping[str, str],
    wanted: set[str],
) -> tuple[Entity, ...]:
    if name not in ("", str(broker_id)):
        raise Refusal(ErrorCode.invalid_request, f"this is broker {broker_id}, not {name!r}")
    described = []
    for key in BROKER_KEYS.values():
        found = layers(image, None, key.name, broker_id)
        if not name:
            found = [each for each in found if each[0] == ConfigSource.ALL_BROKERS]
        if found and (not wanted or key.name in wanted):
            described.append(_config(request, key.type, found, key.name))
    for each, value in sorted(static.items()):
        if name and (not wanted or each in wanted):
            found = [(ConfigSource.STATIC, each, value)]
            described.append(_config(request, ConfigType.STRING, found, each, read_only=True))
    return tuple(described)


def _config(
    request: DescribeConfigsRequest,
    kind: ConfigType,
    found: list[tuple[ConfigSource, str, str]],
    name: str,
    *,
    read_only: bool = False,
) -> Entity:
    schema = item_schema(item_schema(schema_of(request), "results"), "configs")
    synonym = item_schema(schema, "synonyms")
    source, _, value = found[0]
    return blank(
        schema,
        name=name,
        value=value,
        read_only=read_only,
        config_source=i8(source),
        config_type=i8(kind),
        synonyms=tuple(
            blank(synonym, name=at, value=there, source=i8(where)) for where, at, there in found
        )
        if request.include_synonyms
        else (),
    )
