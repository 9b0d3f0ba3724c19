"""Refusals of whole requests, in each API's shape and version."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import ITEM_APIS, Refusal, blank, item_schema, refused
from nodes.kraft.wire.apis import CLIENT_APIS, CONTROL_APIS
from nodes.kraft.wire.codec import encode_response, request_schema, response_schema
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.versions import NEWEST

OWN = {50: (0, 0), 51: (0, 0), 10000: (0, 0)}
NO_REFUSAL = {18}  # ApiVersions is for everyone
ITEMS = {19: "topics", 20: "topics", 30: "creations", 31: "filters"} | {
    32: "resources",
    33: "resources",
    37: "topics",
    44: "resources",
}


def versions(table):
    return [
        (key, version) for key, (low, high) in table.items() for version in range(low, high + 1)
    ]


def entity(schema):
    """A request with nothing in it, but for fields that have to have something."""
    return blank(schema)


@pytest.mark.parametrize(
    ("key", "version"),
    [each for each in versions(CONTROL_APIS | OWN) if each[0] not in NO_REFUSAL],
)
def test_operations_on_a_controller(key, version):
    """A.1.19: 31 at the top of the response, and nothing else in it."""
    response = refused(entity(request_schema(key, version)), ErrorCode.cluster_authorization_failed)
    assert int(response.error_code) == 31
    assert list(codes(response)) == [31]
    assert encode_response(response, correlation_id=1)


@pytest.mark.parametrize(("key", "version"), versions({key: CLIENT_APIS[key] for key in NEWEST}))
def test_forwarded_requests(key, version):
    """Each item that was asked for has the error, or the response has it at its top."""
    schema = request_schema(key, version)
    request = entity(schema)
    if key in ITEMS:
        request = two_items(schema, ITEMS[key])
    response = refused(request, ErrorCode.not_controller)
    assert list(codes(response)) == [41] * (2 if key in ITEM_APIS else 1)
    assert encode_response(response, correlation_id=1)


def two_items(schema, field):
    if field not in schema.__dataclass_fields__:
        return blank(schema, topic_names=("a", "b"))  # DeleteTopics below version 6
    item = item_schema(schema, field)
    names = {"name", "resource_name"} & set(item.__dataclass_fields__)
    items = tuple(blank(item, **dict.fromkeys(names, text)) for text in ("a", "b"))
    return blank(schema, **{field: items})


def test_messages_do_not_grow_with_what_clients_say():
    """They are kept with the answers of forwarded requests, in the log and in memory."""
    assert len(Refusal(ErrorCode.invalid_topic_exception, "x" * 10_000).message) == 300


@pytest.mark.parametrize("version", [0, 12])
def test_a_response_without_room_for_an_error(version):
    """Metadata below version 13: the connection has to close."""
    with pytest.raises(TypeError, match="no error code"):
        refused(entity(request_schema(3, version)), ErrorCode.broker_not_available)


def test_metadata_has_room_from_version_13_on():
    response = refused(entity(request_schema(3, 13)), ErrorCode.broker_not_available)
    assert (int(response.error_code), response.topics) == (8, ())
    assert type(response) is response_schema(3, 13)
