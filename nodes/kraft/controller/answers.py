"""Responses in the version of their requests, and the shapes that errors take in them.

Most responses have an error code at their top; those of Kafka's administrative requests have one
for each item that was asked for instead (`ITEM_APIS`).
"""

from __future__ import annotations

import datetime
import types
import typing
import uuid
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, cast

from kio.schema.errors import ErrorCode
from kio.static.constants import uuid_zero
from kio.static.primitive import i32Timedelta
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from nodes.kraft.wire.api_keys import (
    ALLOCATE_PRODUCER_IDS,
    ALTER_CONFIGS,
    CREATE_ACLS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_ACLS,
    DELETE_TOPICS,
    DESCRIBE_ACLS,
    DESCRIBE_CONFIGS,
    DESCRIBE_QUORUM,
    INCREMENTAL_ALTER_CONFIGS,
    READ_TOPICS,
    UNREGISTER_BROKER,
    UPDATE_FEATURES,
    ApiKey,
)
from nodes.kraft.wire.codec import response_schema
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, BrokerState

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from nodes.kraft.wire.metadata_requests import (
        AlterConfigsRequest,
        CreateAclsRequest,
        CreatePartitionsRequest,
        CreateTopicsRequest,
        DeleteAclsRequest,
        DeleteTopicsRequest,
        DescribeConfigsRequest,
        IncrementalAlterConfigsRequest,
    )

    ItemRequest: TypeAlias = (
        CreateTopicsRequest
        | DeleteTopicsRequest
        | CreatePartitionsRequest
        | DescribeConfigsRequest
        | AlterConfigsRequest
        | IncrementalAlterConfigsRequest
        | CreateAclsRequest
        | DeleteAclsRequest
    )


E = TypeVar("E", bound=Entity)
R = TypeVar("R", bound="ItemRequest")

NO_THROTTLE: Final = i32Timedelta.parse(datetime.timedelta(0))


MAX_MESSAGE_CHARACTERS: Final = 300
WITH_A_MESSAGE: Final = (DESCRIBE_ACLS, DESCRIBE_QUORUM, UNREGISTER_BROKER, UPDATE_FEATURES)
"""Requests that are refused as a whole with a message."""


class ItemResult(Entity, Protocol):
    """The result of one item, in any of `ITEM_APIS`."""

    @property
    def error_code(self) -> ErrorCode: ...


class Refusal(Exception):
    """Why one item of a request is refused: an error code and a message for people, which is
    cut where a client's own words would make it long."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message[:MAX_MESSAGE_CHARACTERS]


def code_of(refusal: Refusal | None) -> ErrorCode:
    """None: nothing was refused."""
    return ErrorCode.none if refusal is None else refusal.code


def message_of(refusal: Refusal | None) -> str | None:
    """None: nothing was refused."""
    return None if refusal is None else refusal.message


# --- entities -----------------------------------------------------------------------------


@cache
def _field_names(schema: type[Entity]) -> frozenset[str]:
    return frozenset(item.name for item in fields(schema))


@cache
def item_schema(schema: type[Entity], name: str) -> type[Entity]:
    """The entity of an array field's items."""
    hint = typing.get_type_hints(schema)[name]
    # The array itself, or the array in `tuple[...] | None`.
    choices = (hint, *typing.get_args(hint))
    array = next(each for each in choices if typing.get_origin(each) is tuple)
    item: type[Entity] = typing.get_args(array)[0]
    return item


def make(schema: type[E], **values: object) -> E:
    """An entity, of those `values` that its version has fields for."""
    known = _field_names(schema)
    return schema(**{name: value for name, value in values.items() if name in known})


def blank(schema: type[E], **values: object) -> E:
    """The same, with nothing in the fields that `values` does not give: null where that goes,
    else the field's default, else 0 or an empty array."""
    return make(schema, **(dict(_nothing(schema)) | values))


@cache
def _nothing(schema: type[Entity]) -> tuple[tuple[str, object], ...]:
    hints = typing.get_type_hints(schema)
    return tuple(
        (item.name, _no_value(item.metadata.get("kafka_type"), hints[item.name]))
        for item in fields(schema)
        if item.default is MISSING
    )


def _no_value(kafka_type: str | None, hint: object) -> object:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return None
    if typing.get_origin(hint) is tuple:
        return ()
    nothing = {
        None: None,
        "error_code": ErrorCode.none,
        "timedelta_i32": NO_THROTTLE,
        "string": "",
        "bytes": b"",
        "uuid": uuid_zero,
        "bool": False,
    }
    return nothing.get(kafka_type, 0)


def schema_of(request: RequestPayload) -> type[ResponsePayload]:
    """The response's entity for a request."""
    return response_schema(request.__api_key__, request.__version__)


# --- responses with an error for each item ------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemApi:
    """`results`: the response's field of results. `asked`: the values that name each item of a
    request, as fields of its result, of which the version may lack some."""

    results: str
    asked: Callable[[ItemRequest], list[dict[str, object]]]


def _items(
    key: ApiKey[R], results: str, asked: Callable[[R], list[dict[str, object]]]
) -> tuple[int, ItemApi]:
    """An entry of the table. By its key alone is a request given to `asked`, so that it is one of
    `R`."""
    return key, ItemApi(results, cast("Callable[[ItemRequest], list[dict[str, object]]]", asked))


def topics_to_delete(
    request: DeleteTopicsRequest,
) -> list[tuple[str | None, uuid.UUID | None]]:
    """(name, id) of each topic that a DeleteTopics request names; one of the two is null."""
    if hasattr(request, "topics"):
        return [(topic.name, topic.topic_id or None) for topic in request.topics]
    return [(name, None) for name in request.topic_names]


def _topic_names(
    request: CreateTopicsRequest | CreatePartitionsRequest,
) -> list[dict[str, object]]:
    return [{"name": name} for name in dict.fromkeys(topic.name for topic in request.topics)]


def _deleted(request: DeleteTopicsRequest) -> list[dict[str, object]]:
    return [{"name": name, "topic_id": ident} for name, ident in topics_to_delete(request)]


def _resources(
    request: DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest,
) -> list[dict[str, object]]:
    named = ((each.resource_type, each.resource_name) for each in request.resources)
    return [{"resource_type": kind, "resource_name": name} for kind, name in dict.fromkeys(named)]


def _acls(request: CreateAclsRequest) -> list[dict[str, object]]:
    return [{} for _ in request.creations]


def _acl_filters(request: DeleteAclsRequest) -> list[dict[str, object]]:
    return [{} for _ in request.filters]


ITEM_APIS: Final[dict[int, ItemApi]] = dict(
    (
        _items(CREATE_TOPICS, "topics", _topic_names),
        _items(DELETE_TOPICS, "responses", _deleted),
        _items(CREATE_PARTITIONS, "results", _topic_names),
        _items(DESCRIBE_CONFIGS, "results", _resources),
        _items(ALTER_CONFIGS, "responses", _resources),
        _items(INCREMENTAL_ALTER_CONFIGS, "responses", _resources),
        _items(CREATE_ACLS, "results", _acls),
        _items(DELETE_ACLS, "filter_results", _acl_filters),
    )
)
"""By api key."""


def asks_for_items(request: RequestPayload) -> TypeIs[ItemRequest]:
    """Whether that is in `ITEM_APIS`."""
    return request.__api_key__ in ITEM_APIS


def item_result(
    request: RequestPayload, *, refusal: Refusal | None = None, **values: object
) -> Entity:
    """The result of one item of a request that is in `ITEM_APIS`."""
    return blank(
        item_schema(schema_of(request), ITEM_APIS[request.__api_key__].results),
        **values,
        error_code=code_of(refusal),
        error_message=message_of(refusal),
    )


def items_response(request: RequestPayload, items: Iterable[Entity]) -> ResponsePayload:
    """The response with these results."""
    values: dict[str, object] = {ITEM_APIS[request.__api_key__].results: tuple(items)}
    return make(schema_of(request), throttle_time=NO_THROTTLE, **values)


# --- refusals -----------------------------------------------------------------------------


def refused(
    request: RequestPayload, code: ErrorCode, message: str | None = None
) -> ResponsePayload:
    """The response that refuses a whole request, in its proper shape.

    Raises `TypeError` where the response has no room for an error.
    """
    refusal = Refusal(code, message or code.name.upper())
    if asks_for_items(request):
        asked = ITEM_APIS[request.__api_key__].asked(request)
        items = [item_result(request, refusal=refusal, **named) for named in asked]
        return items_response(request, items)
    schema = schema_of(request)
    if "error_code" not in _field_names(schema):
        raise TypeError(f"{schema.__name__} version {request.__version__} has no error code")
    values: dict[str, object] = {"error_code": code}
    if isinstance(request, BrokerHeartbeatRequest):
        values |= {
            "next_state": BrokerState.UNKNOWN,
            "lease_end_time_ms": request.lease_start_time_ms,
        }
    elif READ_TOPICS.of(request):
        values |= {"epoch": -1, "offset": -1}
    elif ALLOCATE_PRODUCER_IDS.of(request):
        values |= {"producer_id_start": -1}
    elif any(each.of(request) for each in WITH_A_MESSAGE):
        values |= {"error_message": refusal.message}
    return blank(schema, **values)


def lost(
    request: RequestPayload, response: ResponsePayload | None, *, appended: bool
) -> ResponsePayload:
    """What to say where `response` can no longer be proved: leadership or time ran out.

    Nothing appended: NOT_CONTROLLER, a definite no. Records appended: their fate is unknown,
    so REQUEST_TIMED_OUT, but still NOT_CONTROLLER for items that would have been refused
    (A.7.17).
    """
    if not appended:
        return refused(request, ErrorCode.not_controller)
    key = int(request.__api_key__)
    if key not in ITEM_APIS:
        return refused(request, ErrorCode.request_timed_out)
    results = getattr(response, ITEM_APIS[key].results)
    return items_response(request, [_lost_result(request, result) for result in results])


def _lost_result(request: RequestPayload, result: ItemResult) -> Entity:
    accepted = result.error_code == ErrorCode.none
    code = ErrorCode.request_timed_out if accepted else ErrorCode.not_controller
    named = {
        name: getattr(result, name)
        for name in ("name", "topic_id", "resource_type", "resource_name")
        if hasattr(result, name)
    }
    if CREATE_TOPICS.of(request):
        # A new topic's id is not told before it is certain; that of a deleted one was known.
        named.pop("topic_id", None)
    return item_result(request, refusal=Refusal(code, code.name.upper()), **named)
