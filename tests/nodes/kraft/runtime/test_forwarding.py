"""Forwarding: changes of the controller are absorbed, and nothing is done twice (B.9.3, B.9.4)."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kio.schema.create_topics.v7.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import IncrementalAlterConfigsRequest
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i16, i32, i32Timedelta

from nodes.kraft.config import Config, from_settings
from nodes.kraft.controller.answers import blank, item_result, items_response, refused
from nodes.kraft.ids import Offset
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.runtime.admin import time_to_forward_s, too_large
from nodes.kraft.runtime.forwarding import Forwarded, Forwarder
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.security.principal import Principal
from nodes.kraft.wire.codec import decode_entity, encode_response
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.forwarding import ForwardedPrincipal, end_in, host_of, with_end

END = Offset(77)
"""Below it is what the controller says that it recorded."""
NONE, REFUSED, TIMED_OUT = ErrorCode.none, ErrorCode.not_controller, ErrorCode.request_timed_out


def config_in(directory: Path) -> Config:
    return from_settings(
        {
            "process.roles": "broker",
            "broker.id": "4",
            "cluster.id": "test",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:2",
            "log.dirs": str(directory / "data"),
        }
    )


def create(*names: str) -> CreateTopicsRequest:
    topics = tuple(
        CreatableTopic(
            name=TopicName(name),
            num_partitions=i32(1),
            replication_factor=i16(1),
            assignments=(),
            configs=(),
        )
        for name in names
    )
    return CreateTopicsRequest(
        topics=topics, timeout=i32Timedelta.parse(datetime.timedelta(seconds=1))
    )


REQUEST = create("a", "b")


def answered(*found: ErrorCode) -> Any:
    """The response with these codes for the topics."""
    items = [
        item_result(REQUEST, name=name) if code == NONE else refused(create(name), code).topics[0]
        for name, code in zip("ab", found, strict=True)
    ]
    return items_response(REQUEST, items)


def forward(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: list[Any],
    *,
    requester: Requester | None = None,
    leader_id: Callable[[], int] = lambda: 1,
    timeout_s: float = 5.0,
) -> tuple[Any, bool, list[EnvelopeRequest]]:
    """Forward `REQUEST`; the attempts meet the script, its last line again and again."""
    sent: list[EnvelopeRequest] = []

    async def call(_: Channel, envelope: EnvelopeRequest, __: float) -> Any:
        line = script[min(len(sent), len(script) - 1)]
        sent.append(envelope)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, ErrorCode):
            return EnvelopeResponse(error_code=line)
        data = with_end(encode_response(line, correlation_id=0), END)
        return EnvelopeResponse(error_code=NONE, response_data=data)

    async def main() -> Forwarded:
        forwarder = Forwarder(config_in(directory), leader_id)
        try:
            return await forwarder.forward(REQUEST, timeout_s, requester)
        finally:
            forwarder.close()

    monkeypatch.setattr(Channel, "call", call)
    told = asyncio.run(main())
    assert (told.end_offset == END) == (told.response is not None)
    return told.response, told.unknown, sent


@pytest.mark.parametrize(
    ("met", "unknown"),
    [
        (answered(REFUSED, REFUSED), False),  # it does not lead
        (answered(TIMED_OUT, TIMED_OUT), True),  # it lost its leadership meanwhile
        (answered(TIMED_OUT, REFUSED), True),
        (NotSent("no connection"), False),
        (FateUnknown("no answer"), True),
        (ErrorCode.not_controller, False),  # said of the envelope
    ],
)
def test_another_attempt_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, met: Any, unknown: bool
) -> None:
    """B.9.3: no client sees a 41 that another attempt turns into an answer. B.9.4: all attempts
    have one id."""
    script = [met, met, answered(NONE, ErrorCode.topic_already_exists)]
    response, said, sent = forward(tmp_path, monkeypatch, script)
    assert list(codes(response)) == [0, 36]
    assert said == unknown
    assert len(sent) == 3
    assert len({each.request_principal for each in sent}) == 1


@pytest.mark.parametrize(
    ("met", "unknown"), [(answered(REFUSED, REFUSED), False), (answered(TIMED_OUT, REFUSED), True)]
)
def test_time_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, met: Any, unknown: bool
) -> None:
    """A.7.17: whether anything may have taken effect is known to the end."""
    response, said, sent = forward(tmp_path, monkeypatch, [met], timeout_s=0.3)
    assert (response, said) == (None, unknown)
    assert 2 <= len(sent) <= 7


def test_an_answer_is_no_reason_for_another_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exists = answered(ErrorCode.topic_already_exists, ErrorCode.topic_authorization_failed)
    response, unknown, sent = forward(tmp_path, monkeypatch, [exists])
    assert (list(codes(response)), unknown, len(sent)) == ([36, 29], False, 1)


def test_a_new_leader_is_asked_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaders = iter([1, -1, 2, 2])
    asked: list[int] = []
    attempt = Forwarder._attempt

    async def remember(self: Forwarder, leader: int, *more: Any) -> Any:
        asked.append(leader)
        return await attempt(self, leader, *more)

    monkeypatch.setattr(Forwarder, "_attempt", remember)
    script = [answered(REFUSED, REFUSED), answered(NONE, NONE)]
    forward(tmp_path, monkeypatch, script, leader_id=lambda: next(leaders))
    assert asked == [1, -1, 2]


@pytest.mark.parametrize(
    ("asked_ms", "expected_s"), [(1000, 1.0), (60_000, 4.0), (0, 4.0), (-1, 4.0)]
)
def test_how_long_an_answer_is_looked_for(tmp_path: Path, asked_ms: int, expected_s: float) -> None:
    """B.9.3: also for a client that waits for nothing: it is told 41 only where none leads."""
    timeout = i32Timedelta.parse(datetime.timedelta(milliseconds=asked_ms))
    request = replace(REQUEST, timeout=timeout)
    assert time_to_forward_s(config_in(tmp_path), request) == expected_s
    assert time_to_forward_s(config_in(tmp_path), blank(IncrementalAlterConfigsRequest)) == 4.0


@pytest.mark.parametrize(
    ("topics", "replicas", "expected"),
    [(10_000, 0, False), (10_001, 0, True), (2, 24_000, False), (2, 26_000, True)],
)
def test_what_would_keep_the_controller_busy_is_not_forwarded(
    topics: int, replicas: int, expected: bool
) -> None:
    """B.10: a stranger's request of a million topics costs the controller nothing, even where
    all that it would hear is a refusal."""
    row = CreatableReplicaAssignment(
        partition_index=i32(0), broker_ids=tuple(BrokerId(4) for _ in range(replicas))
    )
    topic = replace(REQUEST.topics[0], assignments=(row,) if replicas else ())
    assert too_large(replace(REQUEST, topics=(topic,) * topics)) == expected


def test_a_controller_that_hangs_is_left_when_another_one_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B.9.3: a paused leader; and one attempt alone goes to a leader that is merely slow."""
    led_by = [1]
    asked: list[int] = []

    async def call(channel: Channel, _: EnvelopeRequest, timeout_s: float) -> Any:
        asked.append(led_by[0])
        if len(asked) > 1:
            data = with_end(encode_response(answered(NONE, NONE), correlation_id=0), END)
            return EnvelopeResponse(error_code=NONE, response_data=data)
        asyncio.get_running_loop().call_later(0.3, led_by.append, 2)
        asyncio.get_running_loop().call_later(0.3, led_by.pop, 0)
        await asyncio.sleep(timeout_s)
        raise FateUnknown("no answer in time")

    async def main() -> Forwarded:
        forwarder = Forwarder(config_in(tmp_path), lambda: led_by[0])
        return await forwarder.forward(REQUEST, 30.0)

    monkeypatch.setattr(Channel, "call", call)
    told = asyncio.run(main())
    assert (list(codes(told.response)), told.unknown, asked) == ([0, 0], True, [1, 2])


@pytest.mark.parametrize("host", ["10.0.0.1", "::1", ""])
def test_the_envelope_names_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """A.1.19: the controller judges the client, by its principal and its address."""
    requester = Requester(Principal("User", "alice"), host)
    _, _, (sent,) = forward(tmp_path, monkeypatch, [answered(NONE, NONE)], requester=requester)
    principal = decode_entity(ForwardedPrincipal, sent.request_principal or b"")
    assert (principal.type, principal.name) == ("User", "alice")
    assert host_of(sent.client_host_address) == host


def test_a_request_of_the_broker_itself_names_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, (sent,) = forward(tmp_path, monkeypatch, [answered(NONE, NONE)])
    principal = decode_entity(ForwardedPrincipal, sent.request_principal or b"")
    assert (principal.type, principal.name, sent.client_host_address) == ("", "", b"")


def test_an_answer_that_says_nothing_of_the_log() -> None:
    with pytest.raises(ValueError, match="7 bytes"):
        end_in(b"1234567")
