"""Listeners and channels on real sockets."""

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.net.limits import Limits
from nodes.kraft.net.listener import Listener, RequestContext
from nodes.kraft.wire.codec import encode_request, encode_response, frame
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse
from tests.nodes.kraft.loopback import free_ports


def free_port() -> int:
    return free_ports(1)[0]


def with_listener(
    dispatch: Callable[[RequestContext], None],
    body: Callable[[Listener, int], Awaitable[None]],
    **options: Any,
) -> None:
    async def main() -> None:
        port = free_port()
        limits = Limits(**{"capacity": 20, **options})
        listener = Listener("TEST", dispatch=dispatch, unsupported=lambda _: None, limits=limits)
        await listener.start("127.0.0.1", port)
        try:
            async with asyncio.timeout(120):
                await body(listener, port)
        finally:
            await listener.close()

    asyncio.run(main())


def echo(context: RequestContext) -> None:
    context.answer(DescribeNodeResponse(state=str(context.header.correlation_id)))


def asking(correlation_id: int) -> bytes:
    request = DescribeNodeRequest()
    return frame(encode_request(request, correlation_id=correlation_id, client_id="t"))


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def test_a_channel_is_answered() -> None:
    async def body(_: Listener, port: int) -> None:
        channel = Channel("127.0.0.1", port, "t")
        assert (await channel.call(DescribeNodeRequest(), 5)).state == "0"
        assert (await channel.call(DescribeNodeRequest(), 5)).state == "1"
        channel.close()

    with_listener(echo, body)


def test_pipelined_requests_are_answered_in_order() -> None:
    async def body(_: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"".join(map(asking, range(50))))
        answers = [struct.unpack(">i", (await read_frame(reader))[:4])[0] for _ in range(50)]
        assert answers == list(range(50))
        writer.close()

    with_listener(echo, body)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">i", -5),
        struct.pack(">i", 2**30) + b"x",
        frame(b"\x00"),
        frame(b"\x00\x12\x7f\xff\x00\x00\x00\x01"),
        frame(b"\x27\x11\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"),
    ],
)
def test_garbage_closes_its_connection_and_no_other(garbage: bytes) -> None:
    async def body(_: Listener, port: int) -> None:
        channel = Channel("127.0.0.1", port, "t")
        await channel.call(DescribeNodeRequest(), 5)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(garbage)
        assert await reader.read() == b""
        assert (await channel.call(DescribeNodeRequest(), 5)).state == "1"
        writer.close()
        channel.close()

    with_listener(echo, body)


def test_a_full_queue_delays_its_own_listener_alone() -> None:
    """KIP-291: nothing on one plane waits for the other."""
    held: list[RequestContext] = []

    async def body(_: Listener, port: int) -> None:
        other_port = free_port()
        other = Listener(
            "OTHER", dispatch=echo, unsupported=lambda _: None, limits=Limits(capacity=1)
        )
        await other.start("127.0.0.1", other_port)
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
        for _, writer in clients:
            writer.write(asking(1))
        channel = Channel("127.0.0.1", other_port, "t")
        assert (await channel.call(DescribeNodeRequest(), 5)).state == "0"
        channel.close()
        for _, writer in clients:
            writer.close()
        await other.close()

    with_listener(held.append, body, capacity=2)


def test_connections_beyond_the_limit_are_refused() -> None:
    async def body(_: Listener, port: int) -> None:
        first = Channel("127.0.0.1", port, "t")
        await first.call(DescribeNodeRequest(), 5)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        first.close()

    with_listener(echo, body, connections=1)


def test_a_request_whose_sender_hung_up_is_not_carried_out() -> None:
    served: list[int] = []

    async def body(listener: Listener, port: int) -> None:
        held: list[RequestContext] = []
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asking(1) + asking(2))
        while not first:
            await asyncio.sleep(0.001)
        writer.close()
        while listener._connections:
            await asyncio.sleep(0.001)
        held.extend(first)
        held[0].answer(DescribeNodeResponse(state=""))
        channel = Channel("127.0.0.1", port, "t")
        task = asyncio.ensure_future(channel.call(DescribeNodeRequest(), 5))
        while len(first) < 2:
            await asyncio.sleep(0.001)
        first[1].answer(DescribeNodeResponse(state=""))
        await task
        channel.close()

    first: list[RequestContext] = []

    def dispatch(context: RequestContext) -> None:
        served.append(context.header.correlation_id)
        first.append(context)

    with_listener(dispatch, body)
    assert served == [1, 0]


def test_no_listener_means_not_sent() -> None:
    async def main() -> None:
        with pytest.raises(NotSent):
            await Channel("127.0.0.1", free_port(), "t").call(DescribeNodeRequest(), 1)

    asyncio.run(main())


def test_a_channel_goes_where_the_other_node_is_by_now() -> None:
    """A.1.10: a controller was asked at a wrong address before its right one was learned."""

    async def body(_: Listener, port: int) -> None:
        wrong = ("127.0.0.1", free_port())
        known = [wrong]
        channel = Channel(*wrong, "t", address=lambda: known[-1])
        with pytest.raises(NotSent):
            await channel.call(DescribeNodeRequest(), 5)
        known.append(("127.0.0.1", port))
        await channel.call(DescribeNodeRequest(), 5)
        channel.close()

    with_listener(echo, body)


def test_no_answer_means_fate_unknown_and_a_late_answer_is_nobodys() -> None:
    held: list[RequestContext] = []

    def dispatch(context: RequestContext) -> None:
        if held:
            echo(context)
        else:
            held.append(context)

    async def body(_: Listener, port: int) -> None:
        channel = Channel("127.0.0.1", port, "t")
        with pytest.raises(FateUnknown):
            await channel.call(DescribeNodeRequest(), 0.1)
        held[0].answer(DescribeNodeResponse(state="late"))
        assert (await channel.call(DescribeNodeRequest(), 5)).state == "1"
        channel.close()

    with_listener(dispatch, body)


def test_a_long_queue_of_one_listener_lets_the_other_take_turns() -> None:
    """KIP-291 on one event loop: a request on the wire waits for one of the other plane's."""
    order: list[str] = []

    def slow(context: RequestContext) -> None:
        order.append("client")
        time.sleep(0.002)
        echo(context)

    def control(context: RequestContext) -> None:
        order.append("control")
        echo(context)

    async def body(_: Listener, port: int) -> None:
        other_port = free_port()
        other = Listener("OTHER", dispatch=control, unsupported=lambda _: None)
        await other.start("127.0.0.1", other_port)
        channel = Channel("127.0.0.1", other_port, "t")
        await channel.call(DescribeNodeRequest(), 5)
        order.clear()
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
        for _, writer in clients:
            writer.write(asking(1))
        await channel.call(DescribeNodeRequest(), 5)
        assert order.index("control") < 50
        channel.close()
        for reader, writer in clients:
            await read_frame(reader)
            writer.close()
        await other.close()

    with_listener(slow, body, capacity=500)


def test_a_client_that_does_not_read_is_not_served_for_ever() -> None:
    """Its answers would pile up in memory."""
    served: list[int] = []

    def dispatch(context: RequestContext) -> None:
        served.append(context.header.correlation_id)
        context.answer(DescribeNodeResponse(state="x" * 2**20))

    async def body(_: Listener, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"".join(map(asking, range(100))))
        other = Channel("127.0.0.1", port, "t")
        for _ in range(10):
            await other.call(DescribeNodeRequest(), 5)
        assert len(served) < 60, "10 of them for the other"
        reader._transport.resume_reading()  # type: ignore[attr-defined]
        answers = [struct.unpack(">i", (await read_frame(reader))[:4])[0] for _ in range(100)]
        assert answers == list(range(100))
        other.close()
        writer.close()

    with_listener(dispatch, body)


def test_an_answer_that_cannot_be_written_closes_the_connection() -> None:
    def dispatch(context: RequestContext) -> None:
        context.answer(DescribeNodeResponse(state=None))  # type: ignore[arg-type]

    async def body(_: Listener, port: int) -> None:
        with pytest.raises(FateUnknown):
            await Channel("127.0.0.1", port, "t").call(DescribeNodeRequest(), 5)

    with_listener(dispatch, body)


@pytest.mark.parametrize("answer", [struct.pack(">i", -1), struct.pack(">i", 2**31 - 1), b""])
def test_a_senseless_answer_means_fate_unknown(answer: bytes) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_frame(reader)
            writer.write(answer)
            await writer.drain()
            if not answer:
                writer.close()

        port = free_port()
        async with await asyncio.start_server(serve, "127.0.0.1", port):
            with pytest.raises(FateUnknown, match=r"bytes|Incomplete"):
                await Channel("127.0.0.1", port, "t").call(DescribeNodeRequest(), 5)

    asyncio.run(main())


def test_an_address_that_is_none_means_not_sent() -> None:
    async def main() -> None:
        with pytest.raises(NotSent):
            await Channel("a..b", 9093, "t").call(DescribeNodeRequest(), 1)

    asyncio.run(main())


@pytest.mark.parametrize("reset", [True, False])
def test_a_connection_that_the_peer_dropped_meanwhile_is_made_anew(reset: bool) -> None:
    """A restarted peer: nothing was sent on the dead connection, so nothing's fate is unknown."""
    held: list[asyncio.StreamWriter] = []

    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            held.append(writer)
            (correlation_id,) = struct.unpack_from(">i", await read_frame(reader), 4)
            response = DescribeNodeResponse(state="")
            writer.write(frame(encode_response(response, correlation_id=correlation_id)))

        port = free_port()
        async with await asyncio.start_server(serve, "127.0.0.1", port):
            channel = Channel("127.0.0.1", port, "t")
            await channel.call(DescribeNodeRequest(), 5)
            linger = struct.pack("ii", 1, 0)  # closes with RST instead of FIN
            if reset:
                raw = held[0].get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            held[0].transport.abort()
            await asyncio.sleep(0.05)
            await channel.call(DescribeNodeRequest(), 5)
            assert len(held) == 2
            channel.close()

    asyncio.run(main())
