"""AlterConfigs and IncrementalAlterConfigs: the values set on topics and brokers.

The rules are those of Kafka's ConfigurationControlManager: each resource is atomic; a list's
APPEND and SUBTRACT start from its default where nothing is set, and change nothing where the
item is there or missing; a change to the value that is there adds no record. Unlike Kafka, names
that are not known are refused for brokers, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kio.schema.errors import ErrorCode
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from nodes.kraft.controller.answers import Refusal, item_result, items_response
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.metadata.config_keys import (
    BROKER_RESOURCE,
    ConfigType,
    keys_of,
    problem,
    split,
)
from nodes.kraft.metadata.image import TOPIC_RESOURCE, Image
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire.records import ConfigRecord

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import (
        AlterConfigsRequest,
        ConfigsResource,
        IncrementalAlterConfigsRequest,
        IncrementalConfig,
        IncrementalResource,
    )

MAX_CHANGES: Final = 10_000
"""Values that one request may change: Kafka's limit of records an operation (B.10)."""

Values: TypeAlias = dict[str, str | None]
"""Name -> the value after the request; None: none of its own."""


class Change(IntEnum):
    """Kafka's AlterConfigOp."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def check_value(resource_type: int, name: str, value: str | None) -> None:
    """Raises `Refusal` (40) where the resource cannot have that value."""
    if value is None:
        raise Refusal(ErrorCode.invalid_config, f"configuration {name!r} has no value")
    wrong = problem(resource_type, name, value)
    if wrong is not None:
        raise Refusal(ErrorCode.invalid_config, wrong)


def alter_configs(
    builder: RecordBatchBuilder, request: AlterConfigsRequest, allows: Allows
) -> ResponsePayload:
    """Decide an AlterConfigs request: the values named are all that the resource then has."""
    return _alter(builder, request, allows, _replaced)


def incremental_alter_configs(
    builder: RecordBatchBuilder, request: IncrementalAlterConfigsRequest, allows: Allows
) -> ResponsePayload:
    """Decide an IncrementalAlterConfigs request: what is not named stays."""
    return _alter(builder, request, allows, _changed)


def _alter(
    builder: RecordBatchBuilder,
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
    allows: Allows,
    after: Callable[[Image, Any], Values],  # of a resource of `request`
) -> ResponsePayload:
    judged = (
        RecordBatchBuilder(builder.image, builder.next_offset) if request.validate_only else builder
    )
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    resources = {(each.resource_type, each.resource_name): each for each in request.resources}
    results = []
    changes = 0
    for (kind, name), resource in resources.items():
        refusal = None
        try:
            _check_resource(judged.image, kind, name, allows)
            if times[kind, name] > 1:
                raise Refusal(ErrorCode.invalid_request, f"resource {name!r} stands twice")
            values = _differing(judged.image, kind, name, after(judged.image, resource))
            if changes + len(values) > MAX_CHANGES:
                limit = f"one request may change {MAX_CHANGES} values"
                raise Refusal(ErrorCode.policy_violation, limit)
            changes += len(values)
            _record(judged, kind, name, values)
        except Refusal as error:
            refusal = error
        named = {"resource_type": kind, "resource_name": name}
        results.append(item_result(request, refusal=refusal, **named))
    return items_response(request, results)


def _check_resource(image: Image, kind: int, name: str, allows: Allows) -> None:
    if kind == TOPIC_RESOURCE:
        require(allows, Operation.ALTER_CONFIGS, ResourceType.TOPIC, name)
        if name not in image.topic_ids:
            raise Refusal(ErrorCode.unknown_topic_or_partition, f"there is no topic {name}")
    elif kind == BROKER_RESOURCE:
        require(allows, Operation.ALTER_CONFIGS, ResourceType.CLUSTER)
        if name and not (name.isdecimal() and int(name) in image.brokers):
            raise Refusal(ErrorCode.invalid_request, f"there is no broker {name!r}")
    else:
        raise Refusal(
            ErrorCode.invalid_request, f"resources of type {kind} have no configurations here"
        )


def _own(image: Image, kind: int, name: str) -> dict[str, str]:
    values = image.configs.get((kind, name))
    return {} if values is None else dict(values)


def _replaced(image: Image, resource: ConfigsResource) -> Values:
    kind = resource.resource_type
    after: Values = dict.fromkeys(_own(image, kind, resource.resource_name))
    _check_once(resource)
    for each in resource.configs:
        check_value(kind, each.name, each.value)
        after[each.name] = each.value
    return after


def _changed(image: Image, resource: IncrementalResource) -> Values:
    kind = resource.resource_type
    own = _own(image, kind, resource.resource_name)
    _check_once(resource)
    return {each.name: _value_after(kind, own.get(each.name), each) for each in resource.configs}


def _check_once(resource: ConfigsResource | IncrementalResource) -> None:
    twice = [name for name, n in Counter(each.name for each in resource.configs).items() if n > 1]
    if twice:
        raise Refusal(ErrorCode.invalid_request, f"configuration {twice[0]} stands twice")


def _value_after(kind: int, before: str | None, asked: IncrementalConfig) -> str | None:
    key = keys_of(kind).get(asked.name)
    if key is None:
        raise Refusal(ErrorCode.invalid_config, f"there is no configuration {asked.name}")
    if int(asked.config_operation) not in tuple(Change):
        raise Refusal(ErrorCode.invalid_request, f"{asked.config_operation} is no change")
    change = Change(asked.config_operation)
    if change == Change.DELETE:
        return None
    if asked.value is None:
        raise Refusal(ErrorCode.invalid_request, f"{change.name} of {key.name} needs a value")
    value: str = asked.value
    if change != Change.SET:
        if key.type != ConfigType.LIST:
            raise Refusal(ErrorCode.invalid_config, f"{key.name} is no list: no {change.name}")
        value = _list_after(split(key.default if before is None else before), change, value)
    check_value(kind, key.name, value)
    return value


def _list_after(items: list[str], change: Change, value: str) -> str:
    asked = split(value)
    if change == Change.APPEND:
        items = list(dict.fromkeys((*items, *asked)))
    else:
        items = [item for item in items if item not in asked]
    return ",".join(items)


def _differing(image: Image, kind: int, name: str, values: Values) -> Values:
    own = _own(image, kind, name)
    return {each: value for each, value in values.items() if own.get(each) != value}


def _record(builder: RecordBatchBuilder, kind: int, name: str, values: Values) -> None:
    for each, value in values.items():
        builder.add(
            ConfigRecord(resource_type=i8(kind), resource_name=name, name=each, value=value)
        )
