"""Records that an administrator deletes, by real processes, seen by real clients."""

from __future__ import annotations

import datetime
import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import NewTopic
from kio.schema.delete_records.v2 import request as deletion
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i32, i32Timedelta, i64

from tests.nodes.kraft.loopback import Loopback, call, until
from tests.nodes.kraft.runtime.test_partition_replication import (
    BROKERS,
    isr,
    leader_of,
    partition,
    producer,
    read,
    reassign,
    servers,
)

pytestmark = pytest.mark.xdist_group("loopback-deleted-records")

NAMES = itertools.count()
COUNT = 120


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with Loopback(
        tmp_path_factory.mktemp("deleted"), controllers=3, brokers=3, broker_lease_ms="4000"
    ) as running:
        running.ready()
        yield running


def filled(cluster: Loopback, replicas: int = 3) -> str:
    """A topic of one partition with `COUNT` values, in many segments."""
    topic = f"deleted-{next(NAMES)}"
    admin = KafkaAdminClient(bootstrap_servers=servers(cluster))
    admin.create_topics([NewTopic(topic, 1, replicas, topic_configs={"segment.bytes": "2000"})])
    admin.close()
    writer = producer(cluster, acks="all", linger_ms=0)
    for number in range(COUNT):
        writer.send(topic, b"%04d" % number).get(10)
    writer.close()
    return topic


def delete(cluster: Loopback, topic: str, before: int) -> int:
    """By kafka-python; the low watermark that it is told."""
    admin = KafkaAdminClient(bootstrap_servers=servers(cluster))
    answer = admin.delete_records({TopicPartition(topic, 0): before}, timeout_ms=10_000)
    admin.close()
    told: Any = answer[TopicPartition(topic, 0)]
    return int(told if isinstance(told, int) else told["low_watermark"])


def earliest(cluster: Loopback, topic: str) -> int:
    consumer = KafkaConsumer(bootstrap_servers=servers(cluster))
    found = consumer.beginning_offsets([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
    consumer.close()
    return int(found)


def segments(cluster: Loopback, topic: str) -> dict[str, list[int]]:
    """With which offsets each broker's files begin."""
    found = {}
    for name in BROKERS.values():
        reported = partition(cluster, name, topic)
        if reported is not None:
            directory = Path("partitions") / f"{reported['topic_id']}-0"
            files = (cluster.directory / name / directory).glob("*.log")
            found[name] = sorted(int(each.stem) for each in files)
    return found


def test_deleted_records_are_gone_from_all_replicas_and_stay_so(cluster: Loopback) -> None:
    topic = filled(cluster)
    assert delete(cluster, topic, 70) == 70
    assert delete(cluster, topic, 60) == 70
    assert earliest(cluster, topic) == 70
    assert read(cluster, topic, COUNT - 70)[0] == b"0070"
    # Answered when all had it on disk; then they delete what is wholly below.
    until(lambda: all(bases[1] > 70 for bases in segments(cluster, topic).values()))
    assert len(segments(cluster, topic)) == 3
    for name in BROKERS.values():
        cluster.kill(name)
    for name in BROKERS.values():
        cluster.start(name)
    cluster.ready()
    until(lambda: len(isr(cluster, topic, leader_of(cluster, topic))) == 3)
    assert earliest(cluster, topic) == 70
    assert read(cluster, topic, COUNT - 70) == [b"%04d" % each for each in range(70, COUNT)]


def test_all_up_to_the_high_watermark_and_what_is_refused(cluster: Loopback) -> None:
    topic = filled(cluster)
    admin = AdminClient({"bootstrap.servers": ",".join(servers(cluster))})
    place = confluent_kafka.TopicPartition(topic, 0, COUNT + 1)
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        admin.delete_records([place])[place].result(20)
    assert refused.value.args[0].code() == confluent_kafka.KafkaError.OFFSET_OUT_OF_RANGE
    place = confluent_kafka.TopicPartition(topic, 0, -1)
    assert admin.delete_records([place])[place].result(20).low_watermark == COUNT
    assert earliest(cluster, topic) == COUNT
    writer = producer(cluster, acks="all")
    assert writer.send(topic, b"after").get(10).offset == COUNT
    writer.close()
    assert read(cluster, topic, 1) == [b"after"]
    consumer = KafkaConsumer(
        bootstrap_servers=servers(cluster), group_id=None, auto_offset_reset="none"
    )
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek(TopicPartition(topic, 0), 5)
    with pytest.raises(Exception, match="OffsetOutOfRange"):
        until(lambda: consumer.poll(200))
    consumer.close()


def asked(cluster: Loopback, name: str, topic: str, timeout_ms: int) -> list[ErrorCode]:
    """Of the partition, and of one that is not there."""
    numbers = (0, 7)
    wanted = deletion.DeleteRecordsTopic(
        name=TopicName(topic),
        partitions=tuple(
            deletion.DeleteRecordsPartition(partition_index=i32(number), offset=i64(100))
            for number in numbers
        ),
    )
    timeout = i32Timedelta.parse(datetime.timedelta(milliseconds=timeout_ms))
    request = deletion.DeleteRecordsRequest(topics=(wanted,), timeout=timeout)
    response = call(cluster.client[name], request)
    return [each.error_code for each in response.topics[0].partitions]


def test_it_waits_for_who_is_in_sync_and_tells_who_does_not_lead(cluster: Loopback) -> None:
    topic = filled(cluster)
    leader = leader_of(cluster, topic)
    other, stopped = sorted(set(BROKERS.values()) - {leader})
    unknown = ErrorCode.unknown_topic_or_partition
    assert asked(cluster, other, topic, 1000) == [ErrorCode.not_leader_or_follower, unknown]
    cluster.signal(stopped, signal.SIGSTOP)
    # It leaves the ISR when its lease is over, which lasts 4 s.
    assert asked(cluster, leader, topic, 500) == [ErrorCode.request_timed_out, unknown]
    cluster.signal(stopped, signal.SIGCONT)
    until(lambda: asked(cluster, leader, topic, 5000) == [ErrorCode.none, unknown])


def test_a_new_replica_begins_where_its_leader_does(cluster: Loopback) -> None:
    topic = filled(cluster, replicas=1)
    leader = leader_of(cluster, topic)
    assert delete(cluster, topic, 50) == 50
    id_of = {name: number for number, name in BROKERS.items()}
    newcomer = next(name for name in BROKERS.values() if name != leader)
    assert reassign(cluster, topic, (id_of[leader], id_of[newcomer])) == 0
    until(lambda: isr(cluster, topic, leader) == {id_of[leader], id_of[newcomer]})
    assert segments(cluster, topic)[newcomer][0] == 50
    cluster.kill(leader)
    until(lambda: partition(cluster, newcomer, topic)["role"] == "leader")  # type: ignore[index]
    assert earliest(cluster, topic) == 50
    assert read(cluster, topic, COUNT - 50)[0] == b"0050"
    cluster.start(leader)
    cluster.ready()
