"""Which listener serves what, asked of a node without sockets."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from kio.static.primitive import i32

from nodes.kraft.config import from_settings
from nodes.kraft.controller.answers import blank
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.refusals import unsupported
from nodes.kraft.server import Node
from nodes.kraft.wire.apis import ADVERTISED_APIS, CLIENT_APIS, CONTROL_APIS
from nodes.kraft.wire.codec import API_VERSIONS, UnsupportedVersion, decode_response, request_schema

UNLISTED = {"CLIENT": {50, 51, 10001}, "CONTROLLER": {50, 51, 10000, 10001}}
KNOWN = [(key, version) for key in (*range(80), 10000, 10001) for version in range(25)]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(
        from_settings(
            {
                "process.roles": "broker,controller",
                "broker.id": "4",
                "controller.id": "1",
                "cluster.id": "test",
                "listeners": "CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
                "controller.listeners": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT",
                "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:1,3@127.0.0.1:1",
                "log.dirs": str(tmp_path / "data"),
            }
        )
    )


class Anything:
    """A request of which nothing may be looked at but what it is."""

    def __init__(self, key: int, version: int) -> None:
        self.__api_key__ = key
        self.__version__ = version


@pytest.mark.parametrize("listener", ["CLIENT", "CONTROLLER"])
def test_what_is_not_listed_closes_the_connection(node: Node, listener: str) -> None:
    """A.1.76: and what only brokers of ZooKeeper mode serve. Also a version that Kafka has and
    this node does not serve."""
    table = CLIENT_APIS if listener == "CLIENT" else CONTROL_APIS
    refused = 0
    for key, version in KNOWN:
        lowest, highest = table.get(key, (0, -1))
        if lowest <= version <= highest or key in UNLISTED[listener]:
            continue
        answers: list[Any] = []
        context = RequestContext(listener, "test", None, Anything(key, version), answers.append)
        assert node.data is not None
        (node.data.serve if listener == "CLIENT" else node._on_control)(context)
        assert answers == [None], (key, version)
        refused += 1
    assert refused > 1000


@pytest.mark.parametrize(("listener", "served"), [("CLIENT", {3, 19}), ("CONTROLLER", {52, 56})])
def test_api_versions_of_the_future_lists_what_this_listener_serves(
    listener: str, served: set[int]
) -> None:
    """B.9.1, also in a combined process: each listener has its own table."""
    table = CLIENT_APIS if listener == "CLIENT" else CONTROL_APIS
    body = unsupported(table, UnsupportedVersion(18, 99, 7))
    assert body is not None
    correlation_id, response = decode_response(18, 0, body)
    keys = {int(each.api_key) for each in response.api_keys}
    other = {3, 19, 52, 56} - served
    assert (correlation_id, int(response.error_code)) == (7, 35)
    assert served <= keys
    assert not other & keys
    assert unsupported(table, UnsupportedVersion(3, 99, 7)) is None


def test_no_more_is_advertised_than_is_served() -> None:
    """And of less where it keeps them from asking for a transaction's coordinator."""
    narrower = {
        key for key, advertised in ADVERTISED_APIS.items() if advertised != CLIENT_APIS[key]
    }
    assert (ADVERTISED_APIS.keys(), narrower) == (CLIENT_APIS.keys(), {10})
    assert ADVERTISED_APIS[10] == (0, 0)


@pytest.mark.parametrize("version", [12, 15])
@pytest.mark.parametrize(("asks", "reported"), [(-1, None), (-2, None), (0, 0), (5, 5)])
def test_the_event_of_a_fetch_tells_which_broker_replicates(
    node: Node, monkeypatch: pytest.MonkeyPatch, version: int, asks: int, reported: int | None
) -> None:
    data = node.data
    assert data is not None
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(data, "emit", lambda type, **fields: events.append(fields))
    schema = request_schema(1, version)
    names = {each.name for each in fields(schema)}
    fetch = blank(schema, replica_id=i32(asks)) if "replica_id" in names else blank(schema)
    if "replica_state" in names:
        fetch = replace(fetch, replica_state=replace(fetch.replica_state, replica_id=i32(asks)))
    for request in (fetch, blank(request_schema(3, 12))):
        data.serve(RequestContext("CLIENT", "test", None, request, lambda _: None))
    assert [(each["api"], each["replica_id"]) for each in events] == [
        ("Fetch", reported),
        ("Metadata", None),
    ]


SASL = {17, 36}  # the listener's own


@pytest.mark.parametrize("active", [False, True])
def test_a_fenced_broker_processes_nothing(
    node: Node, monkeypatch: pytest.MonkeyPatch, active: bool
) -> None:
    """A.1.56, A.7.5: of all that clients may ask, in every version, nothing reaches what would
    serve it; each request is answered or its connection closed, and ApiVersions answered as
    ever. An active one does serve them, which is the control of this test."""
    data = node.data
    assert data is not None
    reached: list[RequestContext] = []
    data._table = dict.fromkeys(CLIENT_APIS, reached.append)
    if active:
        monkeypatch.setattr(data, "serving", lambda: True)
    for key, (lowest, highest) in CLIENT_APIS.items():
        if key in SASL:
            continue
        for version in range(lowest, highest + 1):
            reached.clear()
            answers: list[Any] = []
            request = blank(request_schema(key, version))
            data.serve(RequestContext("CLIENT", "test", None, request, answers.append))
            if key == API_VERSIONS:
                (answer,) = answers
                assert int(answer.error_code) == 0
            assert len(reached) == (active and key != API_VERSIONS)
            assert len(answers) + len(reached) == 1
