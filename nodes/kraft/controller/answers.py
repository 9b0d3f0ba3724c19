"""Responses in the version of their requests, and the shapes that errors take in them."""

import datetime
import typing
import uuid
from dataclasses import fields
from functools import cache
from typing import Any, Final, TypeAlias

from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32Timedelta

from nodes.kraft.wire.codec import response_schema
from nodes.kraft.wire.heartbeats import BrokerState

CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
BROKER_HEARTBEAT: Final = 50
CONTROLLER_HEARTBEAT: Final = 51
ALTER_PARTITION: Final = 56
ALLOCATE_PRODUCER_IDS: Final = 67
READ_TOPICS: Final = 10000

Schema: TypeAlias = Any
"""An entity's class. (Not `type[Any]`, which mypy takes for unhashable.)"""

NO_THROTTLE: Final = i32Timedelta.parse(datetime.timedelta(0))


class Refusal(Exception):
    """Why one item of a request is refused: an error code and a message for people."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@cache
def _field_names(schema: Schema) -> frozenset[str]:
    return frozenset(item.name for item in fields(schema))


@cache
def item_schema(schema: Schema, name: str) -> Schema:
    """The entity of an array field's items."""
    hint = typing.get_type_hints(schema)[name]
    # The array itself, or the array in `tuple[...] | None`.
    choices = (hint, *typing.get_args(hint))
    array = next(each for each in choices if typing.get_origin(each) is tuple)
    return typing.get_args(array)[0]


def make(schema: Schema, **values: Any) -> Any:
    """An entity, of those `values` that its version has fields for."""
    known = _field_names(schema)
    return schema(**{name: value for name, value in values.items() if name in known})


def schema_of(request: Any) -> Schema:
    """The response's entity for a request."""
    return response_schema(request.__api_key__, request.__version__)


def _items_field(request: Any) -> str:
    return "responses" if request.__api_key__ == DELETE_TOPICS else "topics"


def topic_result(request: Any, *, refusal: Refusal | None = None, **values: Any) -> Any:
    """One topic's result for a CreateTopics or DeleteTopics request."""
    base: dict[str, Any] = {"topic_id": None, "configs": None}
    return make(
        item_schema(schema_of(request), _items_field(request)),
        **(base | values),
        error_code=ErrorCode.none if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
    )


def topics_response(request: Any, items: list[Any]) -> Any:
    """The response to CreateTopics or DeleteTopics with these results."""
    values = {"throttle_time": NO_THROTTLE, _items_field(request): tuple(items)}
    return make(schema_of(request), **values)


def topics_to_delete(request: Any) -> list[tuple[str | None, uuid.UUID | None]]:
    """(name, id) of each topic that a DeleteTopics request names; one of the two is null."""
    if request.__version__ >= 6:
        return [(topic.name, topic.topic_id or None) for topic in request.topics]
    return [(name, None) for name in request.topic_names]


def refused(request: Any, code: ErrorCode, message: str | None = None) -> Any:
    """The response that refuses a whole request, in its proper shape."""
    refusal = Refusal(code, message or code.name.upper())
    key = int(request.__api_key__)
    if key == CREATE_TOPICS:
        names = dict.fromkeys(topic.name for topic in request.topics)
        return topics_response(
            request, [topic_result(request, name=name, refusal=refusal) for name in names]
        )
    if key == DELETE_TOPICS:
        items = [
            topic_result(request, name=name, topic_id=topic_id, refusal=refusal)
            for name, topic_id in topics_to_delete(request)
        ]
        return topics_response(request, items)
    schema = schema_of(request)
    if key == BROKER_HEARTBEAT:
        return schema(
            error_code=i16(code),
            next_state=BrokerState.UNKNOWN,
            lease_end_time_ms=request.lease_start_time_ms,
        )
    if key == CONTROLLER_HEARTBEAT:
        return schema(error_code=i16(code), start_snapshot=False)
    if key == ALTER_PARTITION:
        return schema(throttle_time=NO_THROTTLE, error_code=code, topics=())
    if key == ALLOCATE_PRODUCER_IDS:
        return schema(
            throttle_time=NO_THROTTLE, error_code=code, producer_id_start=-1, producer_id_len=0
        )
    if key == READ_TOPICS:
        return schema(error_code=i16(code), epoch=-1, offset=-1, topics=())
    raise TypeError(f"api key {key} is none of the controller's")


def lost(request: Any, response: Any, *, appended: bool) -> Any:
    """What to say where `response` can no longer be proved: leadership or time ran out.

    Nothing appended: NOT_CONTROLLER, a definite no. Records appended: their fate is unknown,
    so REQUEST_TIMED_OUT, but still NOT_CONTROLLER for topics that would have been refused
    (A.7.17).
    """
    if not appended:
        return refused(request, ErrorCode.not_controller)
    if request.__api_key__ not in (CREATE_TOPICS, DELETE_TOPICS):
        return refused(request, ErrorCode.request_timed_out)
    results = getattr(response, _items_field(request))
    return topics_response(request, [_lost_result(request, result) for result in results])


def _lost_result(request: Any, result: Any) -> Any:
    accepted = result.error_code == ErrorCode.none
    code = ErrorCode.request_timed_out if accepted else ErrorCode.not_controller
    # A new topic's id is not told before it is certain; that of a deleted one was known.
    deletes = request.__api_key__ == DELETE_TOPICS
    topic_id = getattr(result, "topic_id", None) if deletes else None
    refusal = Refusal(code, code.name.upper())
    return topic_result(request, name=result.name, topic_id=topic_id, refusal=refusal)
