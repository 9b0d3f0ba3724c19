"""Forwarded requests of every version that clients may use, and their answers (B.8)."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import ITEM_APIS, blank, item_schema, refused
from nodes.kraft.wire.apis import CLIENT_APIS
from nodes.kraft.wire.codec import encode_request, encode_response, request_schema
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.versions import NEWEST, newest_request, response_for

ITEMS = {19: "topics", 20: "topics", 30: "creations", 31: "filters", 33: "resources"} | {
    37: "topics",
    43: "topic_partitions",
    44: "resources",
    55: "topics",
}
VERSIONS = [
    (key, version)
    for key in NEWEST
    for version in range(CLIENT_APIS[key][0], CLIENT_APIS[key][1] + 1)
]


def request_of(key, version):
    schema = request_schema(key, version)
    if key not in ITEMS:
        return blank(schema)
    if ITEMS[key] not in schema.__dataclass_fields__:
        return blank(schema, topic_names=("a",))
    item = item_schema(schema, ITEMS[key])
    named = {"name", "resource_name", "topic_name"} & set(item.__dataclass_fields__)
    return blank(schema, **{ITEMS[key]: (blank(item, **dict.fromkeys(named, "a")),)})


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_there_and_back(key, version):
    """The controller sees its own version, the client the one in which it asked."""
    asked = request_of(key, version)
    newest = newest_request(asked)
    assert newest.__version__ == NEWEST[key]
    assert encode_request(newest, correlation_id=1, client_id="test")
    if key in ITEM_APIS and key not in (30, 31):
        (named,) = ITEM_APIS[key].asked(newest)
        assert "a" in named.values()
    answer = response_for(asked, refused(newest, ErrorCode.not_controller))
    assert answer.__version__ == version
    assert list(codes(answer)) == [41]
    assert encode_response(answer, correlation_id=1)


def test_every_forwarded_request_is_served_up_to_its_newest_version():
    for key, newest in NEWEST.items():
        assert CLIENT_APIS[key][1] == newest
