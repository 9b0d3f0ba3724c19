"""The controller's listener with the authorizer on (A.1.19)."""

from __future__ import annotations

import datetime
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest
from kio.schema.describe_quorum.v2.request import DescribeQuorumRequest
from kio.schema.envelope.v0.request import EnvelopeRequest

from nodes.kraft.config import from_settings
from nodes.kraft.controller import steps
from nodes.kraft.controller.answers import blank
from nodes.kraft.metadata.image import EMPTY, apply
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.security.principal import ANONYMOUS, Principal
from nodes.kraft.server import Node
from nodes.kraft.wire.apis import CONTROL_APIS
from nodes.kraft.wire.codec import (
    decode_response,
    encode_entity,
    encode_request,
    request_schema,
)
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.debug import DescribeNodeRequest
from nodes.kraft.wire.forwarding import ForwardedPrincipal, packed_host
from nodes.kraft.wire.records import AccessControlRecord

NODE, ALICE = Principal("User", "node"), Principal("User", "alice")
FREE = {18}
OWN = {50: (0, 0), 51: (0, 0), 10000: (0, 0)}
HOST = "10.0.0.1"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(Node, "_arm", lambda _: None)  # there is no loop to set a timer of
    return Node(
        from_settings(
            {
                "process.roles": "controller",
                "controller.id": "1",
                "cluster.id": "test",
                "listeners": "CONTROLLER://127.0.0.1:0",
                "controller.listeners": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
                "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:1,3@127.0.0.1:1",
                "log.dirs": str(tmp_path / "data"),
                "authorizer.enabled": "true",
                "super.users": "User:node;User:admin",
            }
        )
    )


def send(node: Node, request: Any, principal: Principal) -> list[Any]:
    answers: list[Any] = []
    context = RequestContext("CONTROLLER", "test", None, request, answers.append)
    node._on_control(replace(context, principal=principal, host=HOST))
    return answers


def operations() -> list[tuple[int, int]]:
    table = CONTROL_APIS | OWN
    return [(key, table[key][1]) for key in table if key not in FREE]


@pytest.mark.parametrize(("key", "version"), operations())
def test_every_operation_needs_cluster_action(
    node: Node, monkeypatch: pytest.MonkeyPatch, key: int, version: int
) -> None:
    """A.1.19: 31 at the top of the answer, and nothing reaches Raft or the controller."""
    assert node.control is not None

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("it got through")

    monkeypatch.setattr(node.replica, "feed", never)
    monkeypatch.setattr(node.replica, "ask", never)
    monkeypatch.setattr(node.control, "feed", never)
    request = blank(request_schema(key, version))
    for principal in (ALICE, ANONYMOUS):
        (answer,) = send(node, request, principal)
        assert list(codes(answer)) == [31]


def test_a_super_user_gets_through(node: Node) -> None:
    (answer,) = send(node, blank(request_schema(51, 0)), NODE)
    assert int(answer.error_code) == 41


def test_a_rule_lets_through(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The committed image counts."""
    request = blank(request_schema(51, 0))
    assert list(codes(*send(node, request, ALICE))) == [31]
    rule = AccessControlRecord(
        resource_type=4,  # type: ignore[arg-type]
        resource_name="kafka-cluster",
        pattern_type=3,  # type: ignore[arg-type]
        principal="User:alice",
        host=HOST,
        operation=9,  # type: ignore[arg-type]
        permission_type=3,  # type: ignore[arg-type]
    )
    image = apply(EMPTY, rule, 0)
    monkeypatch.setattr(type(node.replica), "image", property(lambda _: image))
    assert list(codes(*send(node, request, ALICE))) == [41]


def test_what_is_free(node: Node) -> None:
    """A.1.20: ApiVersions and DescribeNode, which debug tools use, ask nobody."""
    (versions,) = send(node, blank(request_schema(18, 4)), ALICE)
    assert int(versions.error_code) == 0
    (described,) = send(node, DescribeNodeRequest(), ALICE)
    assert "replica_id" in described.state


def test_without_the_authorizer_nobody_is_asked(node: Node) -> None:
    assert node.control is not None
    config = node.control.state.config
    off = replace(config, authorizer=replace(config.authorizer, enabled=False))
    node.control.state = replace(node.control.state, config=off)
    assert list(codes(*send(node, blank(request_schema(51, 0)), ALICE))) == [41]


# --- envelopes ----------------------------------------------------------------------------


def envelope(request: Any, principal: Principal, host: bytes) -> EnvelopeRequest:
    forwarded = ForwardedPrincipal(
        type=principal.type, name=principal.name, request_id=uuid.UUID(int=7)
    )
    return EnvelopeRequest(
        request_data=encode_request(request, correlation_id=5, client_id="broker"),
        request_principal=encode_entity(forwarded),
        client_host_address=host,
    )


def create() -> CreateTopicsRequest:
    topic = blank(CreatableTopic, name="a", num_partitions=1, replication_factor=1)
    return blank(CreateTopicsRequest, topics=(topic,), timeout=datetime.timedelta(seconds=1))


@pytest.mark.parametrize(
    ("principal", "host", "requester"),
    [
        (ALICE, packed_host("10.1.1.1"), Requester(ALICE, "10.1.1.1")),
        (ALICE, packed_host("::1"), Requester(ALICE, "::1")),
        (ALICE, b"", Requester(ALICE, "")),
        (Principal("", ""), b"", None),  # the broker itself
    ],
)
def test_a_forwarded_request_is_the_clients(
    node: Node,
    monkeypatch: pytest.MonkeyPatch,
    principal: Principal,
    host: bytes,
    requester: Requester | None,
) -> None:
    """A.1.19: the envelope is judged as its broker, what is in it as the client."""
    assert node.control is not None
    fed: list[Any] = []
    monkeypatch.setattr(node.control, "feed", fed.append)
    assert send(node, envelope(create(), principal, host), NODE) == []
    (asked,) = fed
    assert isinstance(asked, steps.ControllerRequest)
    assert asked.requester == requester
    assert asked.request_id == uuid.UUID(int=7).bytes


@pytest.mark.parametrize("host", [b"\1", b"\1" * 5])
def test_an_address_that_is_none(node: Node, host: bytes) -> None:
    (answer,) = send(node, envelope(create(), ALICE, host), NODE)
    assert int(answer.error_code) == 42


def test_what_may_not_be_forwarded(node: Node) -> None:
    """A heartbeat in an envelope would be judged as somebody else's."""
    (answer,) = send(node, envelope(blank(request_schema(51, 0)), ALICE, b""), NODE)
    assert int(answer.error_code) == 42


def test_the_quorum_needs_describe_on_the_cluster(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """31 for whoever may not; for others NOT_CONTROLLER from a node that does not lead, which
    the forwarding broker absorbs."""
    request = blank(DescribeQuorumRequest)
    (answer,) = send(node, envelope(request, ALICE, b""), NODE)
    reported = decode_response(55, 2, answer.response_data or b"")[1]
    assert list(codes(reported)) == [31]
    (answer,) = send(node, envelope(request, Principal("User", "admin"), b""), NODE)
    assert int(answer.error_code) == 41


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_controller_is_asked_of_the_quorum_directly(node: Node, version: int) -> None:
    """KIP-836: NOT_LEADER_OR_FOLLOWER by one that does not lead, whose answer none would rest on;
    in each version that it lists."""
    request = blank(request_schema(55, version))
    (answer,) = send(node, request, NODE)
    assert (answer.__version__, list(codes(answer))) == (version, [6])
    (answer,) = send(node, request, ALICE)
    assert (answer.__version__, list(codes(answer))) == (version, [31])
