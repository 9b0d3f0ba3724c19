"""Each of Kafka's metrics moves with what it measures."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nodes.kraft.metrics.commits import CommitMeters
from nodes.kraft.metrics.endpoint import MAX_CONNECTIONS
from nodes.kraft.metrics.exposition import Gauge, exposition, name_of
from nodes.kraft.metrics.meters import Rate, Values
from nodes.kraft.metrics.node import Sources, metrics
from tests.nodes.kraft.loopback import Loopback, free_ports, until
from tests.nodes.kraft.test_node_process import create_topic


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeListener:
    clock: Clock
    queued: int = 0
    requests: Rate = field(init=False)
    busy: Rate = field(init=False)

    def __post_init__(self) -> None:
        self.requests, self.busy = Rate(self.clock), Rate(self.clock)


class World:
    """A node's sources, to be moved."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.high_watermark = self.replayed = self.published = 0
        self.control, self.data = FakeListener(self.clock), FakeListener(self.clock)
        self.idle = Rate(self.clock)
        self.commits = CommitMeters(self.clock)
        self.metrics = metrics(
            Sources(
                high_watermark=lambda: self.high_watermark,
                replayed=lambda: self.replayed,
                published=lambda: self.published,
                commits=self.commits,
                control=lambda: [self.control],
                data=lambda: [self.data],
                data_loop_idle=self.idle,
            )
        )

    def read(self, jmx: str) -> float:
        return parsed(exposition(self.metrics))[name_of(jmx)]


def parsed(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


CONTROLLER = "kafka.controller:type=KafkaController,name="


def test_the_controllers_metadata_lag() -> None:
    """A.1.94: records that are committed, and not yet replayed."""
    world = World()
    world.high_watermark, world.replayed = 10, 7
    assert world.read(f"{CONTROLLER}MetadataLag") == 3
    world.replayed = 10
    assert world.read(f"{CONTROLLER}MetadataLag") == 0


def test_the_brokers_metadata_lag() -> None:
    """A.1.95: records that are committed, and that its clients do not see yet."""
    world = World()
    world.high_watermark, world.published = 10, 4
    assert world.read("kafka.controller:type=KafkaServer,name=MetadataLag") == 6


def test_commit_latency_and_rate() -> None:
    """A.1.96, A.1.97: from the append to the commit; records a second."""
    world = World()
    observe = world.commits.observe
    observe("append", {"leader": True, "base_offset": 0, "end_offset": 5})
    observe("append", {"leader": False, "base_offset": 5, "end_offset": 6})
    world.clock.now += 0.25
    observe("hw", {"offset": 5})
    name = name_of(f"{CONTROLLER}MetadataCommitLatencyMs")
    found = parsed(exposition(world.metrics))
    assert found[f'{name}{{quantile="0.5"}}'] == 250
    assert found[f"{name}_count"] == 1
    world.clock.now += 1
    assert world.read(f"{CONTROLLER}MetadataCommitRate") == pytest.approx(4)
    world.clock.now += 60
    assert world.read(f"{CONTROLLER}MetadataCommitRate") == 0


def test_what_a_leader_lost_is_not_counted() -> None:
    world = World()
    world.commits.observe("append", {"leader": True, "base_offset": 0, "end_offset": 5})
    world.commits.observe("renounce", {"epoch": 1})
    world.commits.observe("hw", {"offset": 5})
    assert world.commits.latency_ms.count == 0


def test_snapshot_lag() -> None:
    """A.1.98: 0 without a snapshot, else records committed since the last one."""
    world = World()
    world.high_watermark = 100
    assert world.read(f"{CONTROLLER}MetadataSnapshotLag") == 0
    world.commits.observe("snap_write", {"end_offset": 90})
    assert world.read(f"{CONTROLLER}MetadataSnapshotLag") == 10
    world.commits.observe("snap_load", {"end_offset": 100})
    assert world.read(f"{CONTROLLER}MetadataSnapshotLag") == 0


def test_requests_and_queues() -> None:
    """A.1.99, A.2.13, A.2.14, A.6.10: each plane's queue is counted apart."""
    world = World()
    for _ in range(30):
        world.control.requests.add()
    world.clock.now += 3
    assert world.read(f"{CONTROLLER}ControllerRequestsRate") == pytest.approx(10)
    world.control.queued, world.data.queued = 3, 400
    name = "kafka.network:type=RequestChannel,name="
    assert world.read(f"{name}ControllerRequestQueueSize") == 3
    assert world.read(f"{name}RequestQueueSize") == 400


def test_idle_shares_are_of_the_data_plane_alone() -> None:
    """A.2.15"""
    world = World()
    world.data.busy.add(0.75)
    world.control.busy.add(1.0)
    world.idle.add(0.5)
    world.clock.now += 1
    handler = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
    network = "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent"
    assert world.read(handler) == pytest.approx(0.25)
    assert world.read(network) == pytest.approx(0.5)


def test_a_node_has_the_metrics_of_its_roles() -> None:
    """A.1.100: in this mode there are no sessions with ZooKeeper to count."""
    world = World()
    names = {name_of(metric.jmx) for metric in world.metrics}
    assert "kafka_controller_KafkaController_MetadataLag" in names
    assert "kafka_controller_KafkaServer_MetadataLag" in names
    text = exposition(world.metrics)
    assert "# HELP kafka_controller_KafkaController_MetadataLag kafka.controller:type=" in text
    assert not re.search("ZooKeeper", text), "A.1.100: unused in this mode"


def test_rates_forget_and_totals_do_not() -> None:
    clock = Clock()
    rate = Rate(clock)
    for _ in range(100):
        clock.now += 0.1
        rate.add(2)
    assert rate.per_second() == pytest.approx(20, rel=0.1)
    clock.now += 100
    assert rate.per_second() == 0
    assert rate.total == 200


def test_quantiles_are_of_the_last_values() -> None:
    values = Values()
    assert values.quantiles(0.5) == [0]
    for number in range(10_000):
        values.add(number)
    assert values.quantiles(0.5, 0.99) == [9500, 9990]
    assert values.count == 10_000


def test_numbers_are_written_as_prometheus_reads_them() -> None:
    text = exposition([Gauge("a.b:type=C,name=D", lambda: 0.125), Gauge("a:type=B", lambda: 7)])
    assert "a_b_C_D 0.125\n" in text
    assert "a_B 7\n" in text


# --- a node ---------------------------------------------------------------------------------


class Metered:
    def __init__(self, directory: Path) -> None:
        (self.port,) = free_ports(1)
        self.cluster = Loopback(directory, combined=1, metrics_listener=f"127.0.0.1:{self.port}")

    def read(self) -> dict[str, float]:
        url = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(url, timeout=5) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            return parsed(answer.read().decode())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metered]:
    metered = Metered(tmp_path_factory.mktemp("metered"))
    with metered.cluster:
        metered.cluster.ready()
        yield metered


@pytest.mark.xdist_group("processes")
class TestOfAProcess:
    def test_work_moves_them(self, node: Metered) -> None:
        """A.1.94-97, A.1.99 as a node tells them over HTTP."""
        name = "kafka_controller_KafkaController_"
        before = node.read()
        for number in range(5):
            assert create_topic(node.cluster.client["n1"], f"t{number}").error_code == 0
        after = node.read()
        count = f"{name}MetadataCommitLatencyMs_count"
        assert after[count] >= before[count] + 5
        assert after[f'{name}MetadataCommitLatencyMs{{quantile="0.5"}}'] > 0
        assert after[f"{name}MetadataCommitRate"] > 0
        assert after[f"{name}ControllerRequestsRate"] > 0
        lag = [f"{name}MetadataLag", "kafka_controller_KafkaServer_MetadataLag"]
        until(lambda: [node.read()[each] for each in lag] == [0, 0])

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
            (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200"),
            (b"GET / HTTP/1.1\r\n\r\n", b"404"),
            (b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"405"),
            (b"\x00\x01\xff\r\n\r\n", b"405"),
            (b"\r\n\r\n", b"405"),
        ],
    )
    def test_of_http_it_knows_what_it_needs(
        self, node: Metered, request_: bytes, status: bytes
    ) -> None:
        with socket.create_connection(("127.0.0.1", node.port), timeout=60) as connection:
            connection.sendall(request_)
            assert connection.makefile("rb").readline().split(b" ")[1] == status

    def test_hostile_http_hurts_nobody(self, node: Metered) -> None:
        """Heads without end, and connections that say nothing: a scrape still gets through."""
        with socket.create_connection(("127.0.0.1", node.port), timeout=60) as connection:
            connection.sendall(b"GET /" + b"x" * 20_000)
            assert connection.recv(100) == b""
        silent = [
            socket.create_connection(("127.0.0.1", node.port), timeout=60)
            for _ in range(2 * MAX_CONNECTIONS)
        ]
        until(node.read)
        for each in silent:
            each.close()
        errors: list[Any] = node.cluster.events("n1", "error")
        assert errors == []
