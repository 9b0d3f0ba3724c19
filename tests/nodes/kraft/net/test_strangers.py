"""What a listener does with those who take too much, too long, or never finish."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from test_sockets import asking, echo, free_port, read_frame

from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.net.connection import READ_AHEAD_BYTES
from nodes.kraft.net.limits import RESERVED_FILES, Limits, affordable
from nodes.kraft.net.listener import Listener, RequestContext
from nodes.kraft.net.secure import ChannelSecurity
from nodes.kraft.runtime.forwarding import MAX_UNDER_WAY
from nodes.kraft.security.tls import TlsSettings, client_context, server_context
from nodes.kraft.storage.partition_files import Files
from nodes.kraft.wire.codec import frame
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse
from tests.nodes.kraft.certificates import Authority, common_name

Body = Callable[[Listener, int], Awaitable[None]]


def serving(
    body: Body, limits: Limits, dispatch: Callable[[RequestContext], None] = echo, **security: Any
) -> None:
    async def main() -> None:
        port = free_port()
        listener = Listener(
            "TEST", dispatch=dispatch, unsupported=lambda _: None, limits=limits, **security
        )
        await listener.start("127.0.0.1", port)
        try:
            async with asyncio.timeout(120):
                await body(listener, port)
        finally:
            await listener.close()

    asyncio.run(main())


async def closed(reader: asyncio.StreamReader) -> bool:
    with contextlib.suppress(ConnectionError):
        return await reader.read() == b""
    return True


async def dropped(listener: Listener) -> None:
    while listener.connections:
        await asyncio.sleep(0.005)


def test_half_a_request_is_not_waited_for_for_ever() -> None:
    """A slow loris: a byte now and then keeps a connection from being idle, not a request from
    being late."""

    async def body(_: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ended = asyncio.ensure_future(closed(reader))
        began = asyncio.get_running_loop().time()
        writer.write(struct.pack(">i", 10_000))
        while not ended.done():
            writer.write(b"x")
            await asyncio.sleep(0.01)
        assert await ended
        assert 0.2 <= asyncio.get_running_loop().time() - began < 1

    serving(body, Limits(frame_ms=200))


def test_an_idle_connection_is_closed_and_a_waiting_one_is_not() -> None:
    held: list[RequestContext] = []

    async def body(_: Listener, port: int) -> None:
        idle, _writer = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asking(1))
        assert await closed(idle)
        await asyncio.sleep(0.3)
        held[0].answer(DescribeNodeResponse(state="late, but not too late"))
        assert await read_frame(reader)
        writer.close()

    serving(body, Limits(idle_ms=100), held.append)


def test_whoever_does_not_read_the_answers_is_dropped() -> None:
    def dispatch(context: RequestContext) -> None:
        context.answer(DescribeNodeResponse(state="x" * 2**20))

    async def body(listener: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"".join(map(asking, range(100))))
        await asyncio.sleep(0.1)
        assert listener.connections == 1
        await dropped(listener)

    serving(body, Limits(frame_ms=200), dispatch)


def test_connections_of_one_host_are_counted_and_forgotten() -> None:
    async def body(listener: Listener, port: int) -> None:
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        refused = [await asyncio.wait_for(closed(reader), 120) for reader, _ in pairs[2:]]
        assert refused == [True]
        for _, writer in pairs:
            writer.close()
        await dropped(listener)
        channel = Channel("127.0.0.1", port, "t")
        await channel.call(DescribeNodeRequest(), 5)
        channel.close()

    serving(body, Limits(connections_per_host=2))


def test_connections_leave_files_for_the_node_itself() -> None:
    assert affordable(Limits(connections=1000), 2, 65_536).connections == 1000
    assert affordable(Limits(connections=1000), 2, 1024).connections == 312
    assert affordable(Limits(connections=1000), 5, 100).connections == 1
    # Without one for an append the node stops. Partitions' files, forwarding to each of three
    # controllers, and some for all the rest:
    logs = inspect.signature(Files).parameters["capacity"].default
    assert logs + 3 * MAX_UNDER_WAY + 40 < RESERVED_FILES


def test_large_requests_share_a_bounded_memory() -> None:
    """The second one is read when the first is answered, and not before."""
    held: list[RequestContext] = []
    large = frame(asking(1)[4:] + bytes(3 * READ_AHEAD_BYTES))

    async def body(listener: Listener, port: int) -> None:
        writers = []
        for _ in range(3):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(large)
            writers.append(writer)
        for number in range(1, 4):
            while len(held) < number:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            assert len(held) == number
            assert listener._reserved == len(large) - 4
            held[-1].answer(DescribeNodeResponse(state=""))
        assert listener._reserved == 0
        for writer in writers:
            writer.close()

    serving(body, Limits(request_bytes=len(large), queued_bytes=len(large)), held.append)


def test_memory_of_a_large_request_comes_back_where_its_sender_hangs_up() -> None:
    head = struct.pack(">i", 4 * READ_AHEAD_BYTES)

    async def body(listener: Listener, port: int) -> None:
        for _ in range(5):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + b"x")
            while not listener._reserved:
                await asyncio.sleep(0.001)
            writer.close()
            await dropped(listener)
            assert listener._reserved == 0

    serving(body, Limits(queued_bytes=4 * READ_AHEAD_BYTES))


def test_a_flood_of_garbage_writes_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    async def body(listener: Listener, port: int) -> None:
        for _ in range(100):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await closed(reader)
            writer.close()

    with caplog.at_level(logging.WARNING):
        serving(body, Limits())
    lines = [record for record in caplog.records if "frame of" in record.getMessage()]
    assert 1 <= len(lines) <= 30


# --- TLS --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Any:
    keystore = Authority(tmp_path_factory.mktemp("tls")).keystore(common_name("node"))
    return server_context(TlsSettings(keystore=keystore))


def test_a_certificate_says_who_is_there(tmp_path: Path) -> None:
    """Where one is required, nobody without one is heard."""
    authority = Authority(tmp_path)
    ours = TlsSettings(
        keystore=authority.keystore(common_name("node")),
        truststore=authority.truststore,
        client_auth="required",
    )
    seen: list[str] = []

    def dispatch(context: RequestContext) -> None:
        seen.append(f"{context.principal} at {context.host}")
        echo(context)

    async def body(_: Listener, port: int) -> None:
        alice = TlsSettings(
            keystore=authority.keystore(common_name("alice")), truststore=authority.truststore
        )
        channel = Channel("127.0.0.1", port, "t", ChannelSecurity(client_context(alice)))
        await channel.call(DescribeNodeRequest(), 5)
        channel.close()
        nobody = TlsSettings(truststore=authority.truststore)
        channel = Channel("127.0.0.1", port, "t", ChannelSecurity(client_context(nobody)))
        with pytest.raises((NotSent, FateUnknown)):
            await channel.call(DescribeNodeRequest(), 5)
        elsewhere = TlsSettings(truststore=Authority(tmp_path, "another").truststore)
        channel = Channel("127.0.0.1", port, "t", ChannelSecurity(client_context(elsewhere)))
        with pytest.raises(NotSent):
            await channel.call(DescribeNodeRequest(), 5)

    serving(body, Limits(), dispatch, tls=server_context(ours))
    assert seen == ["User:CN=alice at 127.0.0.1"]


def test_a_certificate_of_another_host_is_not_believed(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ours = TlsSettings(keystore=authority.keystore(common_name("node"), host="10.9.9.9"))

    async def body(_: Listener, port: int) -> None:
        for check, outcome in ((True, "refused"), (False, "answered")):
            tls = TlsSettings(truststore=authority.truststore, check_hostname=check)
            channel = Channel("127.0.0.1", port, "t", ChannelSecurity(client_context(tls)))
            try:
                await channel.call(DescribeNodeRequest(), 5)
                assert outcome == "answered"
            except NotSent:
                assert outcome == "refused"
            channel.close()

    serving(body, Limits(), tls=server_context(ours))


def test_a_handshake_that_never_ends_is_ended(tls: Any, caplog: pytest.LogCaptureFixture) -> None:
    """And it counts as a connection all the while."""

    async def body(listener: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01")
        while not listener.connections:
            await asyncio.sleep(0.001)
        assert await closed(reader)
        await dropped(listener)
        writer.close()

    with caplog.at_level(logging.WARNING):
        serving(body, Limits(setup_ms=200), tls=tls)
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", asking(1), b"\x16\x03\x01\x00\x05\xff"]
)
def test_what_is_no_handshake_closes_its_connection(
    tls: Any, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(listener: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(garbage)
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        await dropped(listener)
        writer.close()

    with caplog.at_level(logging.WARNING):
        serving(body, Limits(), tls=tls)
    assert "handshake failed" in caplog.text
    assert not [each for each in caplog.records if each.exc_info]


def test_leaving_in_the_middle_of_a_handshake_leaves_nothing_behind(tls: Any) -> None:
    async def body(listener: Listener, port: int) -> None:
        for _ in range(20):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            while not listener.connections:
                await asyncio.sleep(0.001)
            writer.transport.abort()
            await dropped(listener)
        assert not listener._hosts

    serving(body, Limits(), tls=tls)
