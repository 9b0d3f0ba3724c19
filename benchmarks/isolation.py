"""Control requests beside a flood of client requests, in one process and on one machine.

    python -m benchmarks.isolation [--seconds 10] [--connections 600] [--bytes 16384]

Three combined nodes on loopback. Phases take turns: nothing else to do; the flood; and as many busy
processes that have nothing to do with the nodes, which shows what of the flood's effect is the
machine's alone. In each, four kinds of requests are sent to the control listeners, one at a time,
and their times are told side by side.
The flood is Produce requests to the leaders, on so many connections that the data queue of each
node (500 places) stays full, which is read from its metrics. The nodes' own Raft fetches, votes and
heartbeats have to go on: an election or a fenced broker during the run is told, and is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kio.schema.api_versions.v0.request import ApiVersionsRequest
from kio.schema.create_topics.v7 import request as create
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.produce.v9 import request as produce
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from nodes.kraft.ids import BrokerEpoch, BrokerId, LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft import messages
from nodes.kraft.wire.codec import decode_response, encode_request, frame
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest
from nodes.kraft.wire.quorum import request_to_wire
from tests.nodes.kraft.loopback import Loopback, call, free_ports, until
from workloads.kafka.batches import one_value
from workloads.kafka.flooder import Target, started

TOPIC = "flood"
QUEUE = "kafka_network_RequestChannel_RequestQueueSize"
TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=5))
PAUSE_S = 0.005
PHASES = ("quiet", "busy machine", "flood")
FULL = 490
"""Of 500 places: the handler takes one now and then."""


# --- the flood ----------------------------------------------------------------------------------


class Flood:
    """Of one listener, by the process that floods brokers in runs; for longer than this lasts."""

    def __init__(self, port: int, partition: int, connections: int, size: int) -> None:
        request = produce.ProduceRequest(
            transactional_id=None,
            acks=i16(1),
            timeout=TIMEOUT,
            topic_data=(
                produce.TopicProduceData(
                    name=TOPIC,  # type: ignore[arg-type]
                    partition_data=(
                        produce.PartitionProduceData(
                            index=i32(partition),
                            records=one_value(10**size),  # type: ignore[arg-type]
                        ),
                    ),
                ),
            ),
        )
        data = frame(encode_request(request, correlation_id=1, client_id="flood"))
        opened = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        self._process = started([Target(opened, data)], seconds=3600)
        for each in opened:
            each.close()

    def end(self) -> int:
        """How many requests were answered."""
        out, _ = self._process.communicate()
        (tally,) = json.loads(out.splitlines()[-1])
        return int(tally["answered"])


# --- what is measured -------------------------------------------------------------------------


class Probe:
    """One connection to a control listener for each kind of request."""

    def __init__(self, port: int, requests: dict[str, Any]) -> None:
        self._requests = requests
        self._sockets = {
            name: socket.create_connection(("127.0.0.1", port), 10) for name in requests
        }
        for each in self._sockets.values():
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, times_ms: dict[str, list[float]]) -> None:
        for name, request in self._requests.items():
            connection = self._sockets[name]
            data = frame(encode_request(request, correlation_id=1, client_id="probe"))
            began = time.perf_counter()
            connection.sendall(data)
            (size,) = struct.unpack(">i", exactly(connection, 4))
            body = exactly(connection, size)
            times_ms[name].append((time.perf_counter() - began) * 1000)
            decode_response(request.__api_key__, request.__version__, body)


def exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data


def requests_for(controller: int, epoch: int | None) -> dict[str, Any]:
    """The heartbeat is of a broker that nobody knows and the Vote of an epoch long gone: both are
    decided, and change nothing. The heartbeat's answer waits for a read barrier. `epoch`: of the
    active controller, None: it is another."""
    stale = messages.Vote(
        candidate_epoch=LeaderEpoch(0),
        candidate_id=ReplicaId(1),
        last_epoch=LeaderEpoch(0),
        last_offset=Offset(0),
    )
    asked: dict[str, Any] = {
        "ApiVersions": ApiVersionsRequest(),
        "Vote (refused)": request_to_wire(stale, "test", peer=ReplicaId(controller)),
    }
    if epoch is not None:
        asked["BrokerHeartbeat"] = BrokerHeartbeatRequest(
            target_state=i8(3),
            broker_id=BrokerId(999),
            broker_epoch=BrokerEpoch(1),
            lease_start_time_ms=i64(0),
            cur_metadata_offset=i64(0),
            listeners=(),
            incarnation_id=uuid.UUID(int=1),
        )
        fetch = messages.Fetch(
            replica_id=ReplicaId(999),
            epoch=LeaderEpoch(epoch),
            offset=Offset(0),
            last_epoch=LeaderEpoch(0),
            max_wait_ms=0,
        )
        asked["metadata Fetch"] = request_to_wire(
            fetch, "test", peer=ReplicaId(controller), max_bytes=1000
        )
    return asked


@contextlib.contextmanager
def burning(count: int) -> Iterator[None]:
    """So many processes that compute nothing: as many as have work in the flood."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.wait()


def queue_size(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(QUEUE + " ")))


# --- the run ----------------------------------------------------------------------------------


class Run:
    def __init__(self, cluster: Loopback, metrics: dict[str, int]) -> None:
        self.cluster = cluster
        self.metrics = metrics
        self.times_ms: dict[str, dict[str, list[float]]] = {
            name: defaultdict(list) for name in PHASES
        }
        self.queue_sizes: dict[str, list[int]] = defaultdict(list)
        self.served = 0
        self.stalled = dict.fromkeys(PHASES, 0)

    def phase(self, seconds: float, kind: str) -> None:
        before = self.stalls()
        active = self.cluster.active()
        epoch = self.cluster.state(active)["epoch"]
        probes = [
            Probe(port, requests_for(ident, epoch if f"n{ident}" == active else None))
            for ident, port in self.cluster.control.items()
        ]
        end, sampled = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            for probe in probes:
                probe.ask(self.times_ms[kind])
            if kind == "flood" and time.monotonic() - sampled > 0.5:
                sampled = time.monotonic()
                for name, port in self.metrics.items():
                    self.queue_sizes[name].append(queue_size(port))
            time.sleep(PAUSE_S)
        self.stalled[kind] += self.stalls() - before

    def floods(self, connections: int, size: int) -> list[Flood]:
        found = call(
            self.cluster.client["n1"],
            MetadataRequest(
                topics=None,
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=False,
            ),
        )
        ports = {int(broker.node_id): broker.port for broker in found.brokers}
        (topic,) = (each for each in found.topics if each.name == TOPIC)
        leaders = {int(each.leader_id): int(each.partition_index) for each in topic.partitions}
        return [
            Flood(ports[leader], partition, connections, size)
            for leader, partition in leaders.items()
        ]

    def changes(self) -> dict[str, int]:
        """What must not happen: elections, and brokers that were fenced."""
        events = self.cluster.events
        names = list(self.cluster.settings)
        moves = [each for name in names for each in events(name, "bstate")]
        return {
            "elections": sum(len(events(name, "elected")) for name in names),
            "fenced brokers": sum(each["after"] == "FENCED" for each in moves),
        }

    def stalls(self) -> int:
        """How often a control loop did not run for 250 ms."""
        return sum(
            each["loop"] == "control"
            for name in self.cluster.settings
            for each in self.cluster.events(name, "stall")
        )

    def report(self) -> None:
        print(f"{'ms':18}" + "".join(f"{name:>30}" for name in PHASES))
        print(f"{'':18}" + f" {'p50':>9} {'p99':>9} {'max':>9}" * len(PHASES))
        for name in self.times_ms["quiet"]:
            row = f"{name:18}"
            for kind in PHASES:
                times = sorted(self.times_ms[kind][name])
                p99 = times[int(0.99 * len(times))]
                row += f" {statistics.median(times):9.2f} {p99:9.2f} {times[-1]:9.2f}"
            print(row + f"   ({len(self.times_ms['flood'][name])} in the flood)")
        for name, sizes in self.queue_sizes.items():
            middle = statistics.median(sizes)
            print(f"{name}: data queue {min(sizes)} / {middle:.0f} / {max(sizes)} (min/median/max)")
        stalled = ", ".join(f"{kind} {count}" for kind, count in self.stalled.items())
        print(f"control loops that did not run for 250 ms: {stalled}")
        print(f"client requests served under the flood: {self.served}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=600)
    parser.add_argument("--bytes", type=int, default=4000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure(Path(directory), arguments)


def measure(directory: Path, arguments: argparse.Namespace) -> None:
    cluster = Loopback(directory, combined=3)
    metrics = dict(zip(cluster.settings, free_ports(3), strict=True))
    for name, port in metrics.items():
        cluster.settings[name]["metrics.listener"] = f"127.0.0.1:{port}"
    with cluster:
        cluster.ready()
        topic = create.CreatableTopic(
            name=TOPIC,  # type: ignore[arg-type]
            num_partitions=i32(3),
            replication_factor=i16(1),
            assignments=(),
            configs=(),
        )
        request = create.CreateTopicsRequest(topics=(topic,), timeout=TIMEOUT)
        until(lambda: call(cluster.client["n1"], request).topics[0].error_code in (0, 36))
        time.sleep(1)
        run = Run(cluster, metrics)
        before = run.changes()
        for _ in range(arguments.rounds):
            run.phase(arguments.seconds, "quiet")
            with burning(6):
                run.phase(arguments.seconds, "busy machine")
            floods = run.floods(arguments.connections, arguments.bytes)
            until(lambda: min(map(queue_size, metrics.values())) >= FULL, timeout_s=60)
            run.phase(arguments.seconds, "flood")
            run.served += sum(each.end() for each in floods)
        run.report()
        after = run.changes()
        for name, count in after.items():
            print(f"{name} during the run: {count - before[name]}")


if __name__ == "__main__":
    main()
