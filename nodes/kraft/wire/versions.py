"""Forwarded requests of older clients, as the newest version and back.

Kafka's schemas keep a field's name over versions, so an entity is carried over field by field:
what the target does not have is dropped, what the source lacks takes the target's default.
"""

import uuid
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args, get_origin

from kio.schema.delete_topics.v6 import request as delete_request
from kio.static.constants import uuid_zero
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from nodes.kraft.wire import api_keys
from nodes.kraft.wire.codec import request_schema, response_schema

if TYPE_CHECKING:
    from kio.schema.delete_topics.v5 import request as older_delete_request

E = TypeVar("E", bound=Entity)

NEWEST: Final[dict[int, int]] = {
    api_keys.CREATE_TOPICS: 7,
    api_keys.DELETE_TOPICS: 6,
    api_keys.CREATE_ACLS: 3,
    api_keys.DELETE_ACLS: 3,
    api_keys.ALTER_CONFIGS: 2,
    api_keys.CREATE_PARTITIONS: 3,
    api_keys.ELECT_LEADERS: 2,
    api_keys.INCREMENTAL_ALTER_CONFIGS: 1,
    api_keys.ALTER_PARTITION_REASSIGNMENTS: 1,
    api_keys.LIST_PARTITION_REASSIGNMENTS: 0,
    api_keys.DESCRIBE_QUORUM: 2,
    api_keys.UPDATE_FEATURES: 1,
    api_keys.UNREGISTER_BROKER: 0,
}
"""Api key -> the version that the controller understands."""


def newest_request(request: RequestPayload) -> RequestPayload:
    """The request in the controller's version."""
    key = request.__api_key__
    schema = request_schema(key, NEWEST[key])
    if type(request) is schema:
        return request
    if api_keys.DELETE_TOPICS.of(request):
        older = cast("older_delete_request.DeleteTopicsRequest", request)
        return delete_request.DeleteTopicsRequest(
            topics=tuple(
                delete_request.DeleteTopicState(name=name, topic_id=uuid_zero)
                for name in older.topic_names
            ),
            timeout=older.timeout,
        )
    return carry_over(request, schema)


def response_for(request: RequestPayload, response: ResponsePayload) -> ResponsePayload:
    """The response in the version in which the client asked."""
    schema = response_schema(request.__api_key__, request.__version__)
    return response if type(response) is schema else carry_over(response, schema)


def carry_over(entity: object, schema: type[E]) -> E:
    """`entity` as an instance of another version's schema."""
    values = {}
    for field in fields(schema):
        if hasattr(entity, field.name):
            values[field.name] = _value(getattr(entity, field.name), field.type)
        elif field.default is MISSING:
            values[field.name] = _empty(field.type)
    return schema(**values)


# Annotations are values of many types.
def _value(value: object, wanted: Any) -> object:
    if isinstance(value, tuple):
        (inner, *_) = get_args(_without_none(wanted))
        return tuple(_value(item, inner) for item in value)
    if is_dataclass(value) and isinstance(wanted, type):
        return carry_over(value, wanted)
    return value


def _empty(wanted: Any) -> object:
    if get_origin(wanted) is UnionType:
        return None
    if get_origin(wanted) is tuple:
        return ()
    return uuid_zero if wanted is uuid.UUID else wanted(0)


def _without_none(wanted: Any) -> Any:
    if get_origin(wanted) is not UnionType:
        return wanted
    return next(each for each in get_args(wanted) if each is not type(None))
