"""What the page of clients says of what the node refuses, row by row, by asking a node."""

from __future__ import annotations

import datetime
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kio.index import load_request_schema
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.create_topics.v7 import request as create
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from benchmarks.kafka_clients.refusals import (
    BATCHES,
    CLOSEST,
    CONFIGURATIONS,
    EFFECTIVE,
    OFFSETS,
    REFUSALS,
    RESOURCES,
    SESSIONS,
    TRANSACTIONS,
    UNLISTED,
    Refusal,
)
from nodes.kraft.controller.answers import blank
from nodes.kraft.metadata.config_keys import BROKER_RESOURCE, CARRIED_OUT, TOPIC_KEYS
from nodes.kraft.metadata.image import TOPIC_RESOURCE
from nodes.kraft.wire.apis import CLIENT_APIS
from nodes.kraft.wire.codec import frame
from tests.nodes.kraft.loopback import Loopback, call, until
from tests.nodes.kraft.partition.batch_making import encoded

pytestmark = pytest.mark.xdist_group("refusals")

BETWEEN_NODES = frozenset({4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73})
"""Keys of what brokers and controllers alone ask each other, in Kafka as well."""
KNOWN = frozenset(range(93))
"""Keys of Kafka 4.2."""
TOPIC = "refused"
TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=10))
TRANSACTIONAL, CONTROL = 0x10, 0x20


class Asker:
    """Asks broker b1 (id 2; the other one is 3)."""

    def __init__(self, cluster: Loopback) -> None:
        self.cluster = cluster
        told = self.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"))
        self.listed = {
            int(each.api_key): (each.min_version, each.max_version) for each in told.api_keys
        }
        assert self.made(TOPIC).error_code == 0
        until(lambda: self.produced().error_code == 0)

    def ask(self, request: Any, broker: str = "b1") -> Any:
        return call(self.cluster.client[broker], request)

    def made(self, name: str, **configs: str) -> Any:
        """What came of a create of a topic on both brokers, led by b1."""
        assignment = create.CreatableReplicaAssignment(
            partition_index=i32(0), broker_ids=(i32(2), i32(3))
        )
        topic = create.CreatableTopic(
            name=name,  # type: ignore[arg-type]
            num_partitions=i32(-1),
            replication_factor=i16(-1),
            assignments=(assignment,),
            configs=tuple(
                create.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()
            ),
        )
        return self.ask(create.CreateTopicsRequest(topics=(topic,), timeout=TIMEOUT)).topics[0]

    def produced(self, records: bytes | None = None, transactional_id: str | None = None) -> Any:
        schema, (topics, partitions) = nested(0, 9, "topic_data", "partition_data")
        partition = partitions(index=i32(0), records=records or encoded())
        request = blank(
            schema,
            acks=i16(-1),
            timeout=TIMEOUT,
            transactional_id=transactional_id,
            topic_data=(topics(name=TOPIC, partition_data=(partition,)),),
        )
        return self.ask(request).responses[0].partition_responses[0]

    def fetched(self, broker: str = "b1") -> Any:
        """The whole answer to a consumer that says where it is, and begins a session."""
        schema, (topics, partitions) = nested(1, 12, "topics", "partitions")
        partition = blank(partitions, partition_max_bytes=i32(10**6), current_leader_epoch=i32(-1))
        request = blank(
            schema,
            replica_id=i32(-1),
            max_bytes=i32(10**6),
            session_epoch=i32(0),
            rack_id="here",
            topics=(blank(topics, topic=TOPIC, partitions=(partition,)),),
        )
        return self.ask(request, broker)

    def altered(self, resource_type: int, name: str, key: str, value: str) -> Any:
        schema, (resources, configs) = nested(44, 1, "resources", "configs")
        change = blank(configs, name=key, value=value)
        resource = blank(
            resources, resource_type=i8(resource_type), resource_name=name, configs=(change,)
        )
        return self.ask(blank(schema, resources=(resource,))).responses[0]

    def described(self, resource_type: int, name: str) -> Any:
        schema, (resources,) = nested(32, 4, "resources")
        resource = blank(
            resources, resource_type=i8(resource_type), resource_name=name, configuration_keys=None
        )
        return self.ask(blank(schema, resources=(resource,))).results[0]


def nested(key: int, version: int, *fields: str) -> tuple[type, list[type]]:
    """The schema of a request, and those of the arrays in it, each in the one before."""
    schema = load_request_schema(key, version)
    inside, found = schema, []
    for field in fields:
        inside = inside.__dataclass_fields__[field].type.__args__[0]
        found.append(inside)
    return schema, found


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("refusals")
    with Loopback(folder, controllers=1, brokers=2, auto_create_topics_enable="true") as cluster:
        cluster.ready()
        yield Asker(cluster)


# --- rows -----------------------------------------------------------------------------------------


def transactions(asker: Asker) -> None:
    assert asker.listed[10] == (0, 0) and CLIENT_APIS[10] == (0, 4)
    unsupported = ErrorCode.unsupported_version
    schema = load_request_schema(22, 4)
    plain = blank(schema, transactional_id=None, producer_id=i64(-1), producer_epoch=i16(-1))
    assert until(lambda: asker.ask(plain).error_code == ErrorCode.none)
    for name in ("x", ""):
        request = blank(schema, transactional_id=name, transaction_timeout=TIMEOUT)
        assert asker.ask(request).error_code == unsupported
    assert asker.produced(transactional_id="x").error_code == unsupported
    for version, fields in ((3, {"key": "x"}), (4, {"coordinator_keys": ("x",)})):
        request = blank(load_request_schema(10, version), key_type=i8(1), **fields)
        found = asker.ask(request)
        code = found.coordinators[0].error_code if version > 3 else found.error_code
        assert code == unsupported
    assert unsupported.name.upper() in TRANSACTIONS.told


def batches(asker: Asker) -> None:
    for attributes in (TRANSACTIONAL, CONTROL, TRANSACTIONAL | CONTROL):
        found = asker.produced(encoded(attributes=attributes))
        assert found.error_code == ErrorCode.invalid_record
    assert asker.produced(encoded()).error_code == ErrorCode.none


VALUES = {
    "cleanup.policy": "compact",
    "retention.ms": "5",
    "retention.bytes": "5",
    "compression.type": "zstd",
    "message.timestamp.type": "LogAppendTime",
    "unclean.leader.election.enable": "true",
    "leader.replication.throttled.replicas": "*",
    "segment.ms": "5",
    "flush.ms": "5",
    "flush.messages": "5",
}


def configurations(asker: Asker) -> None:
    told = []
    for key, value in VALUES.items():
        created = asker.made(f"with-{key}", **{key: value})
        altered = asker.altered(TOPIC_RESOURCE, TOPIC, key, value)
        broker = TOPIC_KEYS[key].broker
        of_brokers = (
            [asker.altered(BROKER_RESOURCE, name, broker, value) for name in ("", "3")]
            if broker
            else []
        )
        for each in (created, altered, *of_brokers):
            assert each.error_code == ErrorCode.invalid_config, (key, each)
            told.append(each.error_message)
    assert any(message in CONFIGURATIONS.told for message in told)
    assert all("this node does not carry it out; it can only be " in message for message in told)


def effective(asker: Asker) -> None:
    assert all(f"`{key}`" in EFFECTIVE.what for key in CARRIED_OUT)
    assert asker.made("effective", **dict.fromkeys(CARRIED_OUT, "1000")).error_code == 0
    for key in CARRIED_OUT:
        assert asker.altered(TOPIC_RESOURCE, "effective", key, "2000").error_code == 0


def resources(asker: Asker) -> None:
    for kind in (8, 16, 32):  # of loggers, of metrics, of groups
        found = asker.described(kind, "2")
        assert found.error_code == ErrorCode.invalid_request
        assert found.error_message == f"resources of type {kind} have no configurations here"
    assert "`resources of type 8 have no configurations here`" in RESOURCES.told
    assert asker.described(BROKER_RESOURCE, "2").error_code == 0


def sessions(asker: Asker) -> None:
    for _ in range(2):
        found = asker.fetched()
        assert (found.error_code, found.session_id) == (0, 0)
        (partition,) = found.responses[0].partitions
        assert partition.records  # in each answer: it is a full one


def offsets(asker: Asker) -> None:
    """Nothing takes them away: what groups' topic says of itself, and what cannot be set."""
    request = blank(load_request_schema(10, 4), coordinator_keys=("g",))
    until(lambda: asker.ask(request).coordinators[0].error_code == 0)
    told = asker.described(TOPIC_RESOURCE, "__consumer_offsets")
    found = {each.name: each.value for each in told.configs}
    assert (found["cleanup.policy"], found["retention.ms"], found["retention.bytes"]) == (
        "delete",
        "-1",
        "-1",
    )
    unknown = asker.altered(BROKER_RESOURCE, "", "offsets.retention.minutes", "1")
    assert unknown.error_code == ErrorCode.invalid_config


def closest(asker: Asker) -> None:
    refused = ErrorCode.not_leader_or_follower
    (here,) = asker.fetched("b1").responses[0].partitions
    (there,) = asker.fetched("b2").responses[0].partitions
    assert (here.error_code, here.preferred_read_replica) == (ErrorCode.none, -1)
    assert (there.error_code, there.preferred_read_replica) == (refused, -1)
    schema, (topics,) = nested(61, 0, "topics")
    request = blank(schema, topics=(topics(name=TOPIC, partition_indexes=(i32(0),)),))
    for broker, code in (("b1", ErrorCode.none), ("b2", refused)):
        (found,) = asker.ask(request, broker).topics[0].partitions
        assert found.error_code == code


HELD: dict[Refusal, Callable[[Asker], None]] = {
    TRANSACTIONS: transactions,
    BATCHES: batches,
    CONFIGURATIONS: configurations,
    EFFECTIVE: effective,
    RESOURCES: resources,
    SESSIONS: sessions,
    OFFSETS: offsets,
    CLOSEST: closest,
}


def closes(asker: Asker, key: int) -> bool:
    """Whether the connection of who asks for this all the same, in whatever words, is closed."""
    header = struct.pack(">hhih", key, 0, 1, -1)
    with socket.create_connection(("127.0.0.1", asker.cluster.client["b1"]), 30) as connection:
        connection.sendall(frame(header))
        return connection.recv(1) == b""


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.what[:30])
def test_a_row_is_what_a_node_says(row: Refusal, asker: Asker) -> None:
    assert row in HELD or (row.told == UNLISTED and row.unlisted)
    for key in row.unlisted:
        assert closes(asker, key), key
    if row in HELD:
        HELD[row](asker)


def test_what_is_not_listed_is_in_a_row(asker: Asker) -> None:
    """In one of them, of all that clients may ask Apache Kafka for."""
    absent = [key for each in REFUSALS for key in each.unlisted]
    assert len(absent) == len(set(absent))
    assert set(absent) == KNOWN - BETWEEN_NODES - asker.listed.keys()
    assert set(asker.listed) == set(CLIENT_APIS)
