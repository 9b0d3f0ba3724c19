"""A listener that asks for a login: what it lets through before, and what it says to liars."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kio.schema.api_versions.v0.request import ApiVersionsRequest
from kio.schema.api_versions.v0.response import ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v0.request import SaslHandshakeRequest as SaslHandshakeRequestV0
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from test_sockets import asking, free_port, read_frame

from nodes.kraft.net.channel import Channel, NotSent
from nodes.kraft.net.limits import Limits
from nodes.kraft.net.listener import Listener, RequestContext
from nodes.kraft.net.secure import ChannelSecurity
from nodes.kraft.security.principal import Principal
from nodes.kraft.security.sasl import Login, SaslSettings, User
from nodes.kraft.security.scram import Credential
from nodes.kraft.wire.codec import decode_response, encode_request, frame
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse

MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
SETTINGS = SaslSettings(
    mechanisms=MECHANISMS, users={"alice": User("secret", Credential.of("secret"))}
)


def answer(context: RequestContext) -> None:
    if isinstance(context.request, ApiVersionsRequest):
        context.answer(ApiVersionsResponse(error_code=ErrorCode.none, api_keys=()))
    else:
        context.answer(DescribeNodeResponse(state=str(context.principal)))


def serving(
    body: Callable[[int], Awaitable[None]],
    limits: Limits | None = None,
    sasl: SaslSettings | None = SETTINGS,
) -> None:
    async def main() -> None:
        port = free_port()
        listener = Listener(
            "TEST", dispatch=answer, unsupported=lambda _: None, limits=limits, sasl=sasl
        )
        await listener.start("127.0.0.1", port)
        try:
            async with asyncio.timeout(120):
                await body(port)
        finally:
            await listener.close()

    asyncio.run(main())


class Client:
    """Speaks requests one by one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, request: Any) -> Any:
        self.writer.write(frame(encode_request(request, correlation_id=1, client_id="t")))
        body = await read_frame(self.reader)
        return decode_response(request.__api_key__, request.__version__, body)[1]

    async def is_closed(self) -> bool:
        return await self.reader.read() == b""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_channel_logs_in_once_for_each_connection(mechanism: str) -> None:
    async def body(port: int) -> None:
        login = Login(mechanism=mechanism, username="alice", password="secret")
        channel = Channel("127.0.0.1", port, "t", ChannelSecurity(login=login))
        for _ in range(2):
            response = await channel.call(DescribeNodeRequest(), 5)
            assert response.state == str(Principal("User", "alice"))
        channel.close()

    serving(body)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, "GSSAPI"])
def test_a_channel_that_is_not_let_in_has_sent_nothing(mechanism: str) -> None:
    async def body(port: int) -> None:
        login = Login(mechanism=mechanism, username="alice", password="wrong")
        if mechanism == "GSSAPI":
            login = Login(mechanism="PLAIN", username="alice", password="secret")
        channel = Channel("127.0.0.1", port, "t", ChannelSecurity(login=login))
        with pytest.raises(NotSent):
            await channel.call(DescribeNodeRequest(), 5)

    scram_only = SaslSettings(mechanisms=("SCRAM-SHA-256",), users=SETTINGS.users)
    serving(body, sasl=scram_only if mechanism == "GSSAPI" else SETTINGS)


def test_before_the_login_only_versions_may_be_asked_for() -> None:
    async def body(port: int) -> None:
        client = await Client.to(port)
        response = await client.ask(ApiVersionsRequest())
        assert response.error_code == ErrorCode.none
        client.writer.write(asking(1))
        assert await client.is_closed()

    serving(body)


def test_a_wrong_password_gets_58_and_then_nothing() -> None:
    async def body(port: int) -> None:
        client = await Client.to(port)
        await client.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        refused = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"))
        assert refused.error_code == ErrorCode.sasl_authentication_failed
        assert refused.error_code == 58
        assert await client.is_closed()

    serving(body)


def test_an_unknown_mechanism_is_reported_the_known_ones() -> None:
    async def body(port: int) -> None:
        client = await Client.to(port)
        refused = await client.ask(SaslHandshakeRequest(mechanism="GSSAPI"))
        assert refused.error_code == ErrorCode.unsupported_sasl_mechanism
        assert refused.mechanisms == MECHANISMS
        assert await client.is_closed()

    serving(body)


@pytest.mark.parametrize("sasl", [SETTINGS, None])
def test_logins_out_of_place_are_refused(sasl: SaslSettings | None) -> None:
    """Without a handshake before, and where nobody asked for one."""

    async def body(port: int) -> None:
        client = await Client.to(port)
        refused = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
        assert refused.error_code == ErrorCode.illegal_sasl_state
        assert await client.is_closed()

    serving(body, sasl=sasl)


def test_tokens_in_frames_of_their_own_as_of_handshake_v0() -> None:
    async def body(port: int) -> None:
        client = await Client.to(port)
        answered = await client.ask(SaslHandshakeRequestV0(mechanism="PLAIN"))
        assert answered.error_code == ErrorCode.none
        client.writer.write(frame(b"\0alice\0secret"))
        assert await read_frame(client.reader) == b""
        assert (await client.ask(DescribeNodeRequest())).state == "User:alice"
        liar = await Client.to(port)
        await liar.ask(SaslHandshakeRequestV0(mechanism="PLAIN"))
        liar.writer.write(frame(b"\0alice\0wrong"))
        assert await liar.is_closed()

    serving(body)


def test_whoever_does_not_log_in_in_time_is_dropped() -> None:
    """Also one who asks for versions over and over, and so is never idle."""

    async def body(port: int) -> None:
        began = asyncio.get_running_loop().time()  # no later than the node's own count
        client = await Client.to(port)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            while asyncio.get_running_loop().time() - began < 5:
                await client.ask(ApiVersionsRequest())
        assert asyncio.get_running_loop().time() - began >= 0.2

    serving(body, Limits(setup_ms=200))


def test_strangers_may_not_send_much() -> None:
    async def body(port: int) -> None:
        client = await Client.to(port)
        client.writer.write(struct.pack(">i", 2000))
        assert await client.is_closed()

    serving(body, Limits(unproven_bytes=1000))
