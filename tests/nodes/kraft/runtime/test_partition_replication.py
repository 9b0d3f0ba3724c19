"""Produce, fetch and replication by real processes, seen by a real client."""

from __future__ import annotations

import itertools
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import NotEnoughReplicasAfterAppendError, NotEnoughReplicasError
from kio.schema.alter_partition_reassignments.v1 import request as reassignments
from kio.schema.list_partition_reassignments.v0 import request as listing
from kio.schema.types import TopicName
from kio.static.primitive import i32

from nodes.kraft.wire.debug import DescribeNodeRequest
from tests.nodes.kraft.loopback import Loopback, call, until
from tests.nodes.kraft.test_node_process import metadata

pytestmark = pytest.mark.xdist_group("loopback-partitions")

NAMES = itertools.count()
BROKERS = {4: "b1", 5: "b2", 6: "b3"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with Loopback(
        tmp_path_factory.mktemp("partitions"),
        controllers=3,
        brokers=3,
        broker_lease_ms="4000",
        replica_lag_time_max_ms="800",
    ) as running:
        running.ready()
        yield running


def servers(cluster: Loopback) -> list[str]:
    return [f"127.0.0.1:{port}" for port in cluster.client.values()]


def create(cluster: Loopback, partitions: int = 1, **configs: str) -> str:
    name = f"t{next(NAMES)}"
    admin = KafkaAdminClient(bootstrap_servers=servers(cluster))
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    admin.create_topics([NewTopic(name, partitions, 3, topic_configs=settings)])
    admin.close()
    return name


def producer(cluster: Loopback, **settings: Any) -> KafkaProducer:
    settings = {"retry_backoff_ms": 50, "request_timeout_ms": 8000} | settings
    return KafkaProducer(bootstrap_servers=servers(cluster), **settings)


def read(cluster: Loopback, topic: str, count: int) -> list[bytes]:
    """The first `count` values of partition 0."""
    consumer = KafkaConsumer(
        bootstrap_servers=servers(cluster), group_id=None, auto_offset_reset="earliest"
    )
    consumer.assign([TopicPartition(topic, 0)])
    found: list[bytes] = []
    deadline = time.monotonic() + 60
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(200).values():
            found += [record.value for record in records]
    consumer.close()
    return found


def partition(cluster: Loopback, broker: str, topic: str) -> dict[str, Any] | None:
    """The last that a broker said of its replica of partition 0."""
    reported = [each for each in cluster.events(broker, "part") if each["topic"] == topic]
    return reported[-1] if reported else None


def leader_of(cluster: Loopback, topic: str) -> str:
    def find() -> str | None:
        for name in BROKERS.values():
            reported = partition(cluster, name, topic)
            if reported is not None and reported["role"] == "leader":
                return name
        return None

    found = until(find)
    assert found is not None
    return found


def isr(cluster: Loopback, topic: str, leader: str) -> set[int]:
    reported = partition(cluster, leader, topic)
    return set() if reported is None else set(reported["isr"])


def logs(cluster: Loopback, topic: str) -> dict[str, list[tuple[int, int, int]]]:
    """(base offset, epoch, checksum) of each batch on each broker, by its events."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for name in BROKERS.values():
        reported = partition(cluster, name, topic)
        held: dict[int, tuple[int, int, int]] = {}
        for event in sorted(
            cluster.events(name, "plog") + cluster.events(name, "ptruncate"),
            key=lambda each: each["time_ns"],
        ):
            if reported is None or event["topic_id"] != reported["topic_id"]:
                continue
            if event["type"] == "ptruncate":
                held = {at: each for at, each in held.items() if at < event["end_offset"]}
            else:
                at = event["base_offset"]
                held[at] = (at, event["epoch"], event["crc"])
        found[name] = [held[at] for at in sorted(held)]
    return found


def test_a_killed_leader_loses_nothing_that_was_acknowledged(cluster: Loopback) -> None:
    """A.2.17 (c), A.5.2, A.5.3, A.5.4, B.9.8, D.5: an idempotent producer with acks=all goes on
    through kill -9 of the leader; every acknowledged record is there once, in order; the
    killed broker comes back, truncates what nobody else had, and is in sync again."""
    topic = create(cluster)
    leader = leader_of(cluster, topic)
    writer = producer(cluster, acks="all", linger_ms=0, delivery_timeout_ms=20_000)
    sent: list[Any] = []
    stop = threading.Event()

    def produce() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            sent.append((b"%06d" % number, writer.send(topic, b"%06d" % number)))
            time.sleep(0.002)

    thread = threading.Thread(target=produce)
    thread.start()
    until(lambda: len(sent) > 150)
    cluster.kill(leader)
    killed_at = len(sent)
    until(lambda: len(sent) > killed_at and sent[killed_at][1].succeeded())
    stop.set()
    thread.join()
    writer.flush(20)
    acknowledged = [value for value, future in sent if future.succeeded()]
    assert len(acknowledged) == len(sent)
    cluster.start(leader)
    found = read(cluster, topic, len(acknowledged))
    assert found == acknowledged
    for value, future in sent:
        assert found[future.value.offset] == value
    successor = until(lambda: (new := leader_of(cluster, topic)) != leader and new)
    until(lambda: isr(cluster, topic, str(successor)) == set(BROKERS))
    until(lambda: len(set(map(tuple, logs(cluster, topic).values()))) == 1)
    writer.close()


def test_too_few_in_sync_replicas_and_an_isr_that_shrinks_and_grows(cluster: Loopback) -> None:
    """With min.insync.replicas=2 and both followers paused: what was appended is not vouched
    for (20), what comes later is refused (19); they come back into the ISR."""
    topic = create(cluster, min_insync_replicas="2")
    leader = leader_of(cluster, topic)
    followers = [name for name in BROKERS.values() if name != leader]
    me = next(ident for ident, name in BROKERS.items() if name == leader)
    writer = producer(
        cluster, acks="all", retries=0, enable_idempotence=False, delivery_timeout_ms=15_000
    )
    assert writer.send(topic, b"a").get(10).offset == 0
    for name in followers:
        cluster.signal(name, signal.SIGSTOP)
    try:
        with pytest.raises(NotEnoughReplicasAfterAppendError):
            writer.send(topic, b"b").get(15)
        until(lambda: isr(cluster, topic, leader) == {me})
        with pytest.raises(NotEnoughReplicasError):
            writer.send(topic, b"c").get(15)
    finally:
        for name in followers:
            cluster.signal(name, signal.SIGCONT)
    until(lambda: isr(cluster, topic, leader) == set(BROKERS))
    assert writer.send(topic, b"d").get(15).offset == 2
    assert read(cluster, topic, 3) == [b"a", b"b", b"d"]
    shrunk = [set(each["isr"]) for each in cluster.events(leader, "part") if each["topic"] == topic]
    assert shrunk[0] == shrunk[-1] == set(BROKERS)
    assert {me} in shrunk
    writer.close()


def reassign(
    cluster: Loopback, topic: str, replicas: tuple[int, ...] | None, at: str = "b1"
) -> int:
    """The code of the answer, of partition 0."""
    partition = reassignments.ReassignablePartition(
        partition_index=i32(0),
        replicas=replicas,  # type: ignore[arg-type]
    )
    topics = (reassignments.ReassignableTopic(name=TopicName(topic), partitions=(partition,)),)
    request = reassignments.AlterPartitionReassignmentsRequest(topics=topics)
    answer = call(cluster.client[at], request)
    assert answer.error_code == 0
    return int(answer.responses[0].partitions[0].error_code)


def under_way(cluster: Loopback, at: str) -> dict[str, tuple[tuple[int, ...], ...]]:
    """(replicas, those that come, those that go) by topic."""
    answer = call(cluster.client[at], listing.ListPartitionReassignmentsRequest(topics=None))
    assert answer.error_code == 0
    return {
        topic.name: (each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in answer.topics
        for each in topic.partitions
    }


def replicas_of(cluster: Loopback, topic: str) -> tuple[int, ...]:
    (reported,) = metadata(cluster.client["b2"], topic).topics
    return tuple(reported.partitions[0].replica_nodes)


def test_a_partition_moves_while_it_is_produced_to(cluster: Loopback) -> None:
    """KIP-455: off its leader, whose log is gone then, and back; what was acknowledged is there,
    once, and in order. A move that waits for a broker is told, and can be cancelled."""
    topic = create(cluster)
    assert reassign(cluster, topic, (4, 5)) == 0
    until(lambda: replicas_of(cluster, topic) == (4, 5))
    writer = producer(cluster, acks="all", linger_ms=0, delivery_timeout_ms=20_000)
    values = [b"%04d" % number for number in range(60)]
    sent = [writer.send(topic, value).get(20) for value in values[:20]]
    reported = partition(cluster, "b1", topic)
    assert reported is not None
    directory = cluster.directory / "b1" / "partitions" / f"{reported['topic_id']}-0"
    assert directory.exists()
    assert reassign(cluster, topic, (6, 5)) == 0
    sent += [writer.send(topic, value).get(20) for value in values[20:40]]
    until(lambda: replicas_of(cluster, topic) == (6, 5) and leader_of(cluster, topic) != "b1")
    until(lambda: not directory.exists())
    cluster.signal("b1", signal.SIGSTOP)
    try:
        assert reassign(cluster, topic, (4, 5), "b2") == 0
        assert under_way(cluster, "b2") == {topic: ((4, 5, 6), (4,), (6,))}
        assert reassign(cluster, topic, None, "b2") == 0
        assert under_way(cluster, "b2") == {}
    finally:
        cluster.signal("b1", signal.SIGCONT)
    assert reassign(cluster, topic, (4, 5, 6), "b2") == 0
    until(lambda: replicas_of(cluster, topic) == (4, 5, 6) and under_way(cluster, "b2") == {})
    sent += [writer.send(topic, value).get(20) for value in values[40:]]
    writer.close()
    assert [each.offset for each in sent] == list(range(60))
    assert read(cluster, topic, 60) == values
    until(lambda: directory.exists())


def test_everything_is_there_after_kill_9_of_all(cluster: Loopback) -> None:
    """Segments on disk, recovered; the high watermark is never above what is safe."""
    topic = create(cluster, segment_bytes="2000")
    writer = producer(cluster, acks="all", linger_ms=0)
    values = [b"%04d" % number for number in range(120)]
    for value in values:
        writer.send(topic, value).get(10)
    writer.close()
    reported = partition(cluster, leader_of(cluster, topic), topic)
    assert reported is not None
    for name in BROKERS.values():
        cluster.kill(name)
    for name in BROKERS.values():
        cluster.start(name)
    cluster.ready()
    assert read(cluster, topic, len(values)) == values
    directory = cluster.directory / "b1" / "partitions" / f"{reported['topic_id']}-0"
    assert len(list(directory.glob("*.log"))) > 3


def test_a_deleted_topic_leaves_no_files_and_its_name_is_free(cluster: Loopback) -> None:
    """A.2.17 (e), A.6.8: a topic of the same name is another one."""
    topic = create(cluster)
    writer = producer(cluster, acks="all")
    writer.send(topic, b"old").get(10)
    reported = partition(cluster, "b1", topic)
    assert reported is not None
    directory = cluster.directory / "b1" / "partitions" / f"{reported['topic_id']}-0"
    assert directory.exists()
    admin = KafkaAdminClient(bootstrap_servers=servers(cluster))
    admin.delete_topics([topic])
    until(lambda: not directory.exists())
    admin.create_topics([NewTopic(topic, 2, 3)])
    admin.close()
    writer.close()
    fresh = producer(cluster, acks="all")
    assert fresh.send(topic, b"new", partition=0).get(10).offset == 0
    fresh.close()
    assert read(cluster, topic, 1) == [b"new"]


def test_a_drained_broker_hands_its_partitions_over_without_a_lost_record(
    cluster: Loopback, tmp_path: Path
) -> None:
    """A.5.6, A.5.16: SIGTERM moves leaderships first; producers see retries at most."""
    topic = create(cluster)
    leader = leader_of(cluster, topic)
    writer = producer(cluster, acks="all", linger_ms=0, delivery_timeout_ms=20_000)
    futures = [writer.send(topic, b"%d" % number) for number in range(20)]
    cluster.signal(leader, signal.SIGTERM)
    for number in range(20, 60):
        futures.append(writer.send(topic, b"%d" % number))
        time.sleep(0.01)
    for future in futures:
        future.get(20)
    assert cluster.processes[leader].wait(120) == 0
    cluster.start(leader)
    assert read(cluster, topic, 60) == [b"%d" % number for number in range(60)]
    cluster.ready()
    writer.close()


def everyone_is_back(cluster: Loopback, topic: str) -> bool:
    """Each broker says that all are in sync, and each controller has all that is committed."""
    for port in cluster.client.values():
        (reported,) = metadata(port, topic).topics
        if {int(each) for each in reported.partitions[0].isr_nodes} != set(BROKERS):
            return False
    return len({cluster.state(name)["applied"] for name in ("c1", "c2", "c3")}) == 1


def test_a_rolling_restart_is_not_seen_by_clients(cluster: Loopback) -> None:
    """A.5.16: every process of the cluster is stopped and started again, a broker and a
    controller at a time, while a producer and a consumer work: no send fails, nothing is lost,
    doubled or out of order."""
    topic = create(cluster)
    writer = producer(cluster, acks="all", linger_ms=0)
    reader = KafkaConsumer(
        topic, bootstrap_servers=servers(cluster), group_id=None, auto_offset_reset="earliest"
    )
    sent: list[Any] = []
    found: list[bytes] = []
    stop = threading.Event()

    def produce() -> None:
        while not stop.wait(0.01):
            sent.append(writer.send(topic, b"%06d" % len(sent)))

    def consume() -> None:
        while not (stop.is_set() and len(found) >= len(sent)):
            for records in reader.poll(100).values():
                found.extend(each.value for each in records)

    threads = [threading.Thread(target=each, daemon=True) for each in (produce, consume)]
    for thread in threads:
        thread.start()
    until(lambda: len(found) > 10)
    for broker, controller in zip(BROKERS.values(), ("c1", "c2", "c3"), strict=True):
        for name in (broker, controller):
            cluster.signal(name, signal.SIGTERM)
        for name in (broker, controller):
            assert cluster.processes[name].wait(120) == 0
            cluster.start(name)
        cluster.ready()
        until(lambda: everyone_is_back(cluster, topic))
    stop.set()
    for thread in threads:
        thread.join(120)
    writer.flush()  # a record may be read before its acknowledgement arrives
    assert [future.exception for future in sent if not future.succeeded()] == []
    assert found == [b"%06d" % number for number in range(len(sent))]
    reader.close()
    writer.close()


def test_clients_do_without_the_controllers(
    cluster: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.1.17, A.1.18: clients that are cut off from the controllers' ports, as by a firewall,
    administer, produce and consume as ever; they never even try to connect there."""
    ports = set(cluster.control.values())
    tried: list[Any] = []
    made: set[int] = set()

    def behind_the_firewall(name: str) -> None:
        healthy = getattr(socket.socket, name)

        def connect(self: socket.socket, address: Any) -> Any:
            if address[1] in ports:
                tried.append(address)
                raise ConnectionRefusedError("cut")
            made.add(address[1])
            return healthy(self, address)

        monkeypatch.setattr(socket.socket, name, connect)

    for name in ("connect", "connect_ex"):
        behind_the_firewall(name)
    with pytest.raises(ConnectionRefusedError):
        call(cluster.port("c1"), DescribeNodeRequest())
    assert tried.pop()[1] == cluster.port("c1")
    topic = create(cluster, partitions=2)
    writer = producer(cluster, acks="all")
    for number in range(10):
        writer.send(topic, b"%d" % number, partition=0).get(10)
    writer.close()
    assert read(cluster, topic, 10) == [b"%d" % number for number in range(10)]
    admin = KafkaAdminClient(bootstrap_servers=servers(cluster))
    assert {each["broker_id"] for each in admin.describe_cluster()["brokers"]} == set(BROKERS)
    admin.delete_topics([topic])
    admin.close()
    assert tried == []
    assert made & set(cluster.client.values()), "its connections were watched"
