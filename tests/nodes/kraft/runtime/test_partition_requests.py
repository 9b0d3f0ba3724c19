"""Produce, Fetch, ListOffsets and OffsetForLeaderEpoch, field by field, of a real broker."""

from __future__ import annotations

import datetime
import signal
import socket
import struct
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kio.index import load_request_schema
from kio.schema.create_topics.v7 import request as create
from kio.static.primitive import i16, i32, i32Timedelta, i64

from nodes.kraft.controller.answers import blank
from nodes.kraft.partition.batches import read_batch
from nodes.kraft.wire.codec import decode_response, encode_request, frame
from tests.nodes.kraft.loopback import Loopback, call, until
from tests.nodes.kraft.partition.batch_making import encoded

pytestmark = pytest.mark.xdist_group("loopback-partition-requests")

TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=3))
B1, B2 = 2, 3  # ids of the brokers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with Loopback(
        tmp_path_factory.mktemp("requests"),
        controllers=1,
        brokers=2,
        broker_heartbeat_interval_ms="200",
    ) as running:
        running.ready()
        yield running


class Topic:
    """A topic of one partition on both brokers, led by b1."""

    def __init__(self, cluster: Loopback, name: str, **configs: str) -> None:
        self.cluster, self.name = cluster, name
        assignment = create.CreatableReplicaAssignment(
            partition_index=i32(0), broker_ids=(i32(B1), i32(B2))
        )
        topic = create.CreatableTopic(
            name=name,  # type: ignore[arg-type]
            num_partitions=i32(-1),
            replication_factor=i16(-1),
            assignments=(assignment,),
            configs=tuple(
                create.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ),
        )
        request = create.CreateTopicsRequest(topics=(topic,), timeout=TIMEOUT)
        created = call(cluster.client["b1"], request).topics[0]
        assert created.error_code == 0
        self.topic_id: uuid.UUID = created.topic_id
        until(lambda: self.produce(encoded(), acks=-1).error_code == 0)

    def produce(
        self, records: bytes | None, acks: int = 1, version: int = 9, broker: str = "b1"
    ) -> Any:
        request = produce_request(self.name, records, acks, version)
        response = call(self.cluster.client[broker], request)
        return response.responses[0].partition_responses[0]

    def fetch(self, version: int = 12, broker: str = "b1", **fields: Any) -> Any:
        """One partition's answer; `fields` of any level of the request."""
        schema = load_request_schema(1, version)
        topics = schema.__dataclass_fields__["topics"].type.__args__[0]
        partitions = topics.__dataclass_fields__["partitions"].type.__args__[0]
        partition = blank(
            partitions,
            partition=i32(0),
            **({"fetch_offset": i64(0), "partition_max_bytes": i32(10**6)} | fields),
        )
        topic = blank(topics, topic=self.name, topic_id=self.topic_id, partitions=(partition,))
        wait = i32Timedelta.parse(datetime.timedelta(milliseconds=fields.get("wait_ms", 0)))
        request = blank(
            schema,
            **({"replica_id": i32(-1), "max_bytes": i32(10**6), "min_bytes": i32(1)} | fields),
            max_wait=wait,
            topics=(topic,),
        )
        return call(self.cluster.client[broker], request).responses[0].partitions[0]

    def offset(self, timestamp: int, version: int = 7, **fields: Any) -> Any:
        return self._ask(2, version, timestamp=i64(timestamp), **fields)

    def epoch_end(self, epoch: int, **fields: Any) -> Any:
        return self._ask(23, 4, leader_epoch=i32(epoch), **fields)

    def _ask(self, key: int, version: int, **fields: Any) -> Any:
        schema = load_request_schema(key, version)
        topics = schema.__dataclass_fields__["topics"].type.__args__[0]
        partitions = topics.__dataclass_fields__["partitions"].type.__args__[0]
        values = {"current_leader_epoch": i32(-1)} | fields
        partition = blank(partitions, partition=i32(0), partition_index=i32(0), **values)
        topic = blank(topics, name=self.name, topic=self.name, partitions=(partition,))
        request = blank(schema, replica_id=i32(-1), topics=(topic,))
        return call(self.cluster.client["b1"], request).topics[0].partitions[0]


def produce_request(
    topic: str, records: bytes | None, acks: int, version: int, transactional_id: str | None = None
) -> Any:
    schema = load_request_schema(0, version)
    topics = schema.__dataclass_fields__["topic_data"].type.__args__[0]
    partitions = topics.__dataclass_fields__["partition_data"].type.__args__[0]
    partition = partitions(index=i32(0), records=records)
    return blank(
        schema,
        acks=i16(acks),
        timeout=TIMEOUT,
        transactional_id=transactional_id,
        topic_data=(topics(name=topic, partition_data=(partition,)),),
    )


@pytest.fixture(scope="module")
def topic(cluster: Loopback) -> Topic:
    return Topic(cluster, "requests", max_message_bytes="5000")


@pytest.mark.parametrize("version", range(3, 11))
def test_produce_in_each_version(topic: Topic, version: int) -> None:
    before = topic.offset(-1).offset
    answer = topic.produce(encoded(2), acks=-1, version=version)
    assert (answer.error_code, answer.base_offset) == (0, before)


def test_produces_of_a_transaction_are_refused(topic: Topic) -> None:
    """35, and nothing is appended; with acks=0 the connection closes."""
    before = topic.offset(-1).offset
    port = topic.cluster.client["b1"]
    answer = call(port, produce_request(topic.name, encoded(), 1, 9, "x"))
    assert answer.responses[0].partition_responses[0].error_code == 35
    with pytest.raises(ConnectionError):
        call(port, produce_request(topic.name, encoded(), 0, 9, "x"))
    assert topic.offset(-1).offset == before


@pytest.mark.parametrize("version", range(4, 19))
def test_fetch_in_each_version(topic: Topic, version: int) -> None:
    """By names, and by topic ids from 13 on; batches as stored, with offset and epoch."""
    sent = encoded(2)
    offset = topic.produce(sent, acks=-1).base_offset
    answer = topic.fetch(version, fetch_offset=i64(offset))
    assert answer.error_code == 0
    stored = read_batch(bytes(answer.records))
    assert (stored.base_offset, stored.end_offset, stored.epoch) == (offset, offset + 2, 0)
    assert stored.data[16:] == sent[16:]
    assert answer.high_watermark == offset + 2


@pytest.mark.parametrize("version", [12, 16, 18])
def test_who_compares_replicas_reads_followers(topic: Topic, version: int) -> None:
    """Replica id -2: what is committed, from any replica; consumers are sent to the leader."""
    offset = topic.produce(encoded(2), acks=-1).base_offset
    schema = load_request_schema(1, version)
    compares: dict[str, Any] = {"replica_id": i32(-2)}
    if version >= 15:
        state = schema.__dataclass_fields__["replica_state"].type
        compares = {"replica_state": state(replica_id=i32(-2), replica_epoch=i64(-1))}

    def read(broker: str) -> Any:
        return topic.fetch(version, broker, fetch_offset=i64(offset), **compares)

    assert topic.fetch(version, "b2", fetch_offset=i64(offset)).error_code == 6
    until(lambda: read("b2").high_watermark == offset + 2)
    assert bytes(read("b2").records) == bytes(read("b1").records) != b""
    beyond = topic.fetch(version, "b2", fetch_offset=i64(offset + 1000), **compares)
    assert beyond.error_code == 1


@pytest.mark.parametrize("version", range(1, 9))
def test_list_offsets_in_each_version(topic: Topic, version: int) -> None:
    end = topic.produce(encoded(), acks=-1, version=9).base_offset + 1
    assert topic.offset(-1, version).offset == end
    assert topic.offset(-2, version).offset == 0


def test_offsets_by_time(cluster: Loopback) -> None:
    topic = Topic(cluster, "times")  # its first record is of 1000 ms
    topic.produce(encoded(2, times=(5000, 7000)), acks=-1)
    topic.produce(encoded(1, times=(6000,)), acks=-1)
    for timestamp, found in ((0, (0, 1000)), (1001, (1, 5000)), (5001, (2, 7000))):
        answer = topic.offset(timestamp)
        assert (answer.offset, answer.timestamp, answer.leader_epoch) == (*found, 0)
    assert (topic.offset(7001).offset, topic.offset(7001).error_code) == (-1, 0)
    assert (topic.offset(-3).offset, topic.offset(-3).timestamp) == (2, 7000)
    assert topic.offset(-4, 8).offset == 0
    assert topic.offset(-9).error_code == 35
    for timestamp, since in ((-3, 7), (-4, 8)):  # who asks in an older version does not know it
        assert topic.offset(timestamp, since - 1).error_code == 35


def test_what_is_refused_and_how(topic: Topic) -> None:
    """B.9.7, D.10: each with its error, and without an effect."""
    end = topic.offset(-1).offset
    assert topic.produce(encoded(magic=1)).error_code == 43
    assert topic.produce(encoded()[:-1]).error_code == 2
    assert topic.produce(encoded(value=b"x" * 6000)).error_code == 10
    assert topic.produce(None).error_code == 87
    assert topic.produce(encoded(), acks=2).error_code == 21
    elsewhere = topic.produce(encoded(), broker="b2", version=10)
    assert elsewhere.error_code == 6
    assert (elsewhere.current_leader.leader_id, elsewhere.current_leader.leader_epoch) == (B1, 0)
    assert topic.fetch(16, "b2").current_leader.leader_id == B1
    assert topic.fetch(fetch_offset=i64(end + 1)).error_code == 1
    for epoch, code in ((0, 0), (1, 75), (-1, 0)):
        assert topic.fetch(current_leader_epoch=i32(epoch)).error_code == code
        assert topic.offset(-1, current_leader_epoch=i32(epoch)).error_code == code
        assert topic.epoch_end(0, current_leader_epoch=i32(epoch)).error_code == code
    unknown = produce_request("nobody", encoded(), 1, 9)
    response = call(topic.cluster.client["b1"], unknown)
    assert response.responses[0].partition_responses[0].error_code == 3
    assert topic.offset(-1).offset == end


def test_an_unknown_topic_id(topic: Topic) -> None:
    known, topic.topic_id = topic.topic_id, uuid.uuid4()
    try:
        assert topic.fetch(13).error_code == 100
    finally:
        topic.topic_id = known


def test_fetches_of_a_process_that_has_a_successor_are_refused(topic: Topic) -> None:
    """A.3.8, D.10: the same bytes with the epoch of now are served."""
    schema = load_request_schema(1, 16)
    state = schema.__dataclass_fields__["replica_state"].type
    current = topic.cluster.state("b2")["broker_epoch"]
    for epoch, code in ((current - 1, 77), (-1, 77), (current, 0)):
        replica = state(replica_id=i32(B2), replica_epoch=i64(epoch))
        answer = topic.fetch(16, replica_state=replica, session_epoch=i32(-1))
        assert answer.error_code == code
    stranger = state(replica_id=i32(77), replica_epoch=i64(current))
    assert topic.fetch(16, replica_state=stranger, session_epoch=i32(-1)).error_code == 6


def test_the_end_of_an_epoch(topic: Topic) -> None:
    end = topic.offset(-1).offset
    answer = topic.epoch_end(0)
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, 0, end)


def test_a_fetch_waits_for_records_and_no_longer_than_asked(topic: Topic) -> None:
    end = topic.offset(-1).offset
    assert not topic.fetch(fetch_offset=i64(end), wait_ms=30).records
    with socket.create_connection(("127.0.0.1", topic.cluster.client["b1"])) as connection:
        schema = load_request_schema(1, 12)
        topics = schema.__dataclass_fields__["topics"].type.__args__[0]
        partitions = topics.__dataclass_fields__["partitions"].type.__args__[0]
        wanted = blank(
            partitions,
            current_leader_epoch=i32(-1),
            last_fetched_epoch=i32(-1),
            fetch_offset=i64(end),
            partition_max_bytes=i32(1000),
        )
        request = blank(
            schema,
            replica_id=i32(-1),
            max_bytes=i32(1000),
            min_bytes=i32(1),
            max_wait=i32Timedelta.parse(datetime.timedelta(seconds=20)),
            topics=(topics(topic=topic.name, partitions=(wanted,)),),
        )
        connection.settimeout(5)
        connection.sendall(frame(encode_request(request, correlation_id=3, client_id="test")))
        topic.produce(encoded(), acks=-1)
        response = read_answer(connection, 1, 12)
    assert read_batch(bytes(response.responses[0].partitions[0].records)).base_offset == end


def test_acks_of_zero_gets_no_answer_and_the_connection_goes_on(topic: Topic) -> None:
    """A.5.3; a batch that goes nowhere closes it, for there is no other way to tell."""
    end = topic.offset(-1).offset
    with socket.create_connection(("127.0.0.1", topic.cluster.client["b1"])) as connection:
        connection.settimeout(5)
        for acks in (0, 0, -1):
            request = produce_request(topic.name, encoded(), acks, 9)
            connection.sendall(frame(encode_request(request, correlation_id=9, client_id="t")))
        response = read_answer(connection, 0, 9)
        assert response.responses[0].partition_responses[0].base_offset == end + 2
        request = produce_request("nobody", encoded(), 0, 9)
        connection.sendall(frame(encode_request(request, correlation_id=9, client_id="t")))
        assert connection.recv(1) == b""


def test_a_fenced_broker_says_not_leader(cluster: Loopback, topic: Topic) -> None:
    """A.7.5, D.11: 6 for each partition, and no data."""
    cluster.signal("c1", signal.SIGSTOP)
    try:
        until(lambda: cluster.state("b1")["broker_state"] == "FENCED")
        assert topic.produce(encoded()).error_code == 6
        refused = topic.fetch()
        assert (refused.error_code, refused.records or b"") == (6, b"")
        assert topic.offset(-1).error_code == topic.epoch_end(0).error_code == 6
        zero = produce_request(topic.name, encoded(), 0, 9)
        with pytest.raises(ConnectionError):
            call(cluster.client["b1"], zero)
    finally:
        cluster.signal("c1", signal.SIGCONT)
    cluster.ready()


def read_answer(connection: socket.socket, key: int, version: int) -> Any:
    stream = connection.makefile("rb")
    (size,) = struct.unpack(">i", stream.read(4))
    return decode_response(key, version, stream.read(size))[1]
