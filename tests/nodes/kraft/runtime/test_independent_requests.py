"""Heartbeats and metadata fetches do not wait for each other (A.1.101)."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nodes.kraft.raft.messages import NOT_LEADER_OR_FOLLOWER, FetchReply
from nodes.kraft.wire.codec import decode_request, encode_response, frame
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse, BrokerState
from nodes.kraft.wire.quorum import reply_to_wire
from tests.nodes.kraft.loopback import Loopback, free_ports, until

pytestmark = pytest.mark.xdist_group("independent requests")
FETCH, HEARTBEAT = 1, 50


class Controller(socketserver.ThreadingTCPServer):
    """Answers one kind of request, and keeps silent on every other."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, answered: int) -> None:
        super().__init__(("127.0.0.1", port), Connection)
        self.answered = answered
        self.asked: Counter[int] = Counter()


class Connection(socketserver.StreamRequestHandler):
    server: Controller

    def handle(self) -> None:
        while len(head := self.rfile.read(4)) == 4:
            header, request = decode_request(self.rfile.read(struct.unpack(">i", head)[0]))
            key = int(request.__api_key__)
            self.server.asked[key] += 1
            if key == self.server.answered:
                data = encode_response(_answer(request), correlation_id=header.correlation_id)
                self.wfile.write(frame(data))


def _answer(request: Any) -> Any:
    if request.__api_key__ == HEARTBEAT:
        return BrokerHeartbeatResponse(
            error_code=0,
            active_controller_id=1,
            next_state=BrokerState.INITIAL,
            broker_epoch=7,
            lease_end_time_ms=request.lease_start_time_ms + 1000,
        )
    return reply_to_wire(request, FetchReply(error=NOT_LEADER_OR_FOLLOWER), b"")


@contextmanager
def broker_of(directory: Path, answered: int) -> Iterator[tuple[Loopback, Controller]]:
    """A broker whose only controller answers requests of that key."""
    (port,) = free_ports(1)
    with Controller(port, answered) as controller:
        threading.Thread(target=controller.serve_forever, daemon=True).start()
        cluster = Loopback(
            directory, brokers=1, broker_heartbeat_interval_ms="100", broker_lease_ms="1000"
        )
        cluster.settings["b1"]["controller.quorum.voters"] = f"1@127.0.0.1:{port}"
        cluster.settings["b1"]["broker.id"] = "4"
        try:
            with cluster:
                yield cluster, controller
        finally:
            controller.shutdown()


def test_a_stalled_fetch_does_not_stop_heartbeats(tmp_path: Path) -> None:
    """A.1.101: no fetch is ever answered, and the lease is renewed all the same."""
    with broker_of(tmp_path, HEARTBEAT) as (cluster, controller):
        until(lambda: controller.asked[FETCH] >= 1 and controller.asked[HEARTBEAT] >= 15)
        ends = [event["end_ns"] for event in cluster.events("b1", "lease")]
        assert len(ends) >= 14 and ends == sorted(set(ends))
        assert controller.asked[FETCH] < controller.asked[HEARTBEAT] / 3


def test_stalled_heartbeats_do_not_stop_fetches(tmp_path: Path) -> None:
    """A.1.101: and the reverse."""
    with broker_of(tmp_path, FETCH) as (cluster, controller):
        until(lambda: controller.asked[HEARTBEAT] >= 1 and controller.asked[FETCH] >= 15)
        assert cluster.events("b1", "lease") == []
        assert controller.asked[HEARTBEAT] < controller.asked[FETCH] / 3
