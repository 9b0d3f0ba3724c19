import select
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from loopback_server import CLOSE, HANG, LoopbackServer

from nodes.kraft.security.tls import TlsSettings, client_context, server_context
from nodes.kraft.wire.codec import encode_response, frame
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse
from tests.nodes.kraft.certificates import Authority, common_name
from workloads.kafka import connection as module
from workloads.kafka.codec import Codec
from workloads.kafka.connection import Connection, FateUnknown, NotSent

HERE = "127.0.0.1"
REQUEST = DescribeNodeRequest()
CODEC = Codec({DescribeNodeRequest: DescribeNodeResponse})


def answer(_: Any) -> Any:
    return DescribeNodeResponse(state="{}")


def soon(seconds: float = 60.0) -> float:
    return time.monotonic() + seconds


def test_a_request_is_answered_and_the_connection_kept() -> None:
    with LoopbackServer(answer) as server:
        connection = Connection(server.open, "test", CODEC)
        for _ in range(3):
            assert connection.call(REQUEST, soon()) == DescribeNodeResponse(state="{}")
        assert server.seen == [REQUEST] * 3
        assert len(server.connections) == 1
        connection.close()


def test_a_refused_connection_is_definite() -> None:
    with LoopbackServer(answer) as server:
        port = server.port
    closed = Connection(lambda s: socket.create_connection(("127.0.0.1", port), s), "test", CODEC)
    with pytest.raises(NotSent) as caught:
        closed.call(REQUEST, soon())
    assert caught.value.code == "CONNECTION_FAILED"


def test_a_connection_that_is_not_made_in_time_is_definite() -> None:
    asked = []

    def never(timeout_s: float) -> socket.socket:
        asked.append(timeout_s)
        raise TimeoutError("timed out")

    with pytest.raises(NotSent):
        Connection(never, "test").call(REQUEST, soon(0.3))
    assert 0 < asked[0] <= 0.3


def test_a_connection_lost_after_sending_is_indefinite() -> None:
    with LoopbackServer(lambda _: CLOSE) as server:
        with pytest.raises(FateUnknown) as caught:
            Connection(server.open, "test", CODEC).call(REQUEST, soon())
        assert caught.value.code == "CONNECTION_LOST"
        assert server.seen == [REQUEST]


def test_no_answer_before_the_deadline_is_indefinite() -> None:
    with LoopbackServer(lambda _: HANG) as server:
        begun = time.monotonic()
        with pytest.raises(FateUnknown) as caught:
            Connection(server.open, "test", CODEC).call(REQUEST, soon(0.2))
        assert caught.value.code == "CLIENT_TIMED_OUT"
        assert time.monotonic() - begun >= 0.2


class TlsServer(LoopbackServer):
    """The same with TLS."""

    def __init__(self, answer: Any, folder: Path) -> None:
        authority = Authority(folder)
        keystore = authority.keystore(common_name("node"))
        self._tls = TlsSettings(keystore=keystore, truststore=authority.truststore)
        self.opened: list[socket.socket] = []
        super().__init__(answer)

    def open(self, timeout_s: float) -> socket.socket:
        context = client_context(self._tls)
        self.opened.append(context.wrap_socket(super().open(timeout_s), server_hostname=HERE))
        return self.opened[-1]

    def _serve(self, connection: socket.socket) -> None:
        super()._serve(server_context(self._tls).wrap_socket(connection, server_side=True))


def test_what_tls_sends_of_its_own_accord_ends_no_connection(tmp_path: Path) -> None:
    """Tickets come after the handshake, and nobody read them yet where no answer was awaited."""
    answers = iter((HANG, DescribeNodeResponse(state="{}")))
    with TlsServer(lambda _: next(answers), tmp_path) as server:
        connection = Connection(server.open, "test", CODEC)
        connection.send(REQUEST, soon())
        assert select.select(server.opened, (), (), 60)[0], "the tickets are here"
        assert connection.call(REQUEST, soon()) == DescribeNodeResponse(state="{}")
        assert len(server.opened) == 1
        connection.close()


def test_a_late_answer_is_never_taken_for_the_next_one() -> None:
    states = iter(("late", "prompt"))

    def slow_first(_: Any) -> Any:
        state = next(states)
        time.sleep(0.3 if state == "late" else 0)
        return DescribeNodeResponse(state=state)

    with LoopbackServer(slow_first) as server:
        connection = Connection(server.open, "test", CODEC)
        with pytest.raises(FateUnknown):
            connection.call(REQUEST, soon(0.1))
        assert connection.call(REQUEST, soon()).state == "prompt"


def test_the_answer_to_another_request_is_refused() -> None:
    wrong = encode_response(DescribeNodeResponse(state="{}"), correlation_id=77)
    with LoopbackServer(lambda _: wrong) as server:
        with pytest.raises(FateUnknown, match="correlation id 77 answers 1") as caught:
            Connection(server.open, "test", CODEC).call(REQUEST, soon())
        assert caught.value.code == "MALFORMED_RESPONSE"


@pytest.mark.parametrize("garbage", [b"\0\0\0\1", b"\0\0\0\1\0\x99garbage"])
def test_bytes_that_are_no_response_are_indefinite(garbage: bytes) -> None:
    with LoopbackServer(lambda _: garbage) as server, pytest.raises(FateUnknown) as caught:
        Connection(server.open, "test", CODEC).call(REQUEST, soon())
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_a_node_that_restarted_is_connected_anew_before_anything_is_sent() -> None:
    with LoopbackServer(answer) as server:
        connection = Connection(server.open, "test", CODEC)
        connection.call(REQUEST, soon())
        server.drop()
        assert connection.call(REQUEST, soon()).state == "{}"
        assert server.seen == [REQUEST] * 2


def test_what_cannot_be_handed_over_at_all_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's reset is seen only when sending: still not a byte has left."""
    monkeypatch.setattr(module, "_gone", lambda _: False)
    with LoopbackServer(answer) as server:
        connection = Connection(server.open, "test", CODEC)
        connection.call(REQUEST, soon())
        assert connection._socket is not None
        connection._socket.shutdown(socket.SHUT_WR)
        with pytest.raises(NotSent):
            connection.call(REQUEST, soon())
        assert server.seen == [REQUEST]


def test_part_of_a_request_is_indefinite() -> None:
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    big = frame(b"x" * 10_000_000)
    with near, far, pytest.raises(FateUnknown) as caught:
        module._send(near, big, soon(0.1))
    assert caught.value.code == "CLIENT_TIMED_OUT"
