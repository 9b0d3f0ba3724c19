"""The client of the `log` workload, against sockets that answer as each test says."""

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from kio.schema.create_topics.v7 import response as created
from kio.schema.delete_records.v2 import response as deleted
from kio.schema.describe_log_dirs.v3 import response as logged
from kio.schema.describe_producers.v0 import response as written
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import response as fetched
from kio.schema.init_producer_id.v4.response import InitProducerIdResponse
from kio.schema.list_offsets.v7 import response as listed
from kio.schema.metadata.v12 import response as metadata
from kio.schema.produce.v9 import response as produced
from kio.schema.types import BrokerId, ProducerId, TopicName
from kio.static.primitive import i16, i32, i64
from loopback_server import CLOSE, LoopbackServer

from framework.history.event import Invocation
from framework.plugins.system import Cluster, NodeSpec
from framework.testing.loopback import cluster_of
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.controller.answers import NO_THROTTLE, make
from workloads.kafka.batches import one_value, values_in
from workloads.kafka.log_client import LogClient
from workloads.log import LogOptions

KEY = "t/0"
TOPIC_ID = uuid.UUID(int=9)
TOPICS = LogOptions().names
PARTITIONS, REPLICAS = LogOptions().partitions, LogOptions().replicas


class Broker:
    """What both brokers know: who leads t/0, and what each answers to a produce in turn.

    A list entry is an error code, or CLOSE; the batch counts as appended unless the code says
    that it certainly was not.
    """

    def __init__(self) -> None:
        self.leader = 4
        self.answers: list[Any] = []
        self.batches: list[bytes] = []
        self.producers = 0
        self.fetch_codes: list[int] = []
        self.fetches: list[Any] = []
        self.delete_codes: list[Any] = []
        self.deleted: list[int] = []
        self.created: list[Any] = []
        self.producer_codes: list[int] = []

    def __call__(self, request: Any) -> Any:
        return getattr(self, type(request).__name__)(request)

    def MetadataRequest(self, request: Any) -> Any:
        partition = make(
            metadata.MetadataResponsePartition,
            error_code=ErrorCode.none,
            partition_index=i32(0),
            leader_id=BrokerId(self.leader),
            leader_epoch=i32(3),
            replica_nodes=(),
            isr_nodes=(),
            offline_replicas=(),
        )
        topic = make(
            metadata.MetadataResponseTopic,
            error_code=ErrorCode.none,
            name=TopicName("t"),
            topic_id=TOPIC_ID,
            partitions=(partition,),
        )
        return metadata.MetadataResponse(
            throttle_time=NO_THROTTLE,
            brokers=(),
            cluster_id="c",
            controller_id=BrokerId(4),
            topics=(topic,),
        )

    def CreateTopicsRequest(self, request: Any) -> Any:
        self.created += request.topics
        topic = make(
            created.CreatableTopicResult,
            name=request.topics[0].name,
            topic_id=TOPIC_ID,
            error_code=ErrorCode.none,
            error_message=None,
            configs=(),
        )
        return created.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=(topic,))

    def InitProducerIdRequest(self, request: Any) -> Any:
        self.producers += 1
        return InitProducerIdResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode.none,
            producer_id=ProducerId(self.producers),
            producer_epoch=i16(0),
        )

    def ProduceRequest(self, request: Any) -> Any:
        self.batches.append(bytes(request.topic_data[0].partition_data[0].records))
        code = self.answers.pop(0) if self.answers else 0
        if code is CLOSE:
            return CLOSE
        answer = make(
            produced.PartitionProduceResponse,
            index=i32(0),
            error_code=ErrorCode(code),
            base_offset=i64(len(self.batches) - 1),
            log_start_offset=i64(0),
            log_append_time=None,
            record_errors=(),
        )
        topic = produced.TopicProduceResponse(name=TopicName("t"), partition_responses=(answer,))
        return produced.ProduceResponse(responses=(topic,), throttle_time=NO_THROTTLE)

    def DescribeLogDirsRequest(self, request: Any) -> Any:
        return logged.DescribeLogDirsResponse(
            throttle_time=NO_THROTTLE, error_code=ErrorCode.none, results=()
        )

    def DescribeProducersRequest(self, request: Any) -> Any:
        code = self.producer_codes.pop(0) if self.producer_codes else 0
        state = written.ProducerState(
            producer_id=ProducerId(1),
            producer_epoch=i32(0),
            last_sequence=i32(3),
            coordinator_epoch=i32(-1),
        )
        partition = written.PartitionResponse(
            partition_index=i32(0),
            error_code=ErrorCode(code),
            active_producers=() if code else (state,),
        )
        topic = written.TopicResponse(name=TopicName("t"), partitions=(partition,))
        return written.DescribeProducersResponse(throttle_time=NO_THROTTLE, topics=(topic,))

    def FetchRequest(self, request: Any) -> Any:
        self.fetches.append(request)
        code = self.fetch_codes.pop(0) if self.fetch_codes else 0
        partition = make(
            fetched.PartitionData,
            partition_index=i32(0),
            error_code=ErrorCode(code),
            high_watermark=i64(1),
            log_start_offset=i64(0),
            last_stable_offset=i64(1),
            aborted_transactions=None,
            records=one_value(77) if code == 0 else None,
        )
        topic = fetched.FetchableTopicResponse(topic=TopicName("t"), partitions=(partition,))
        return fetched.FetchResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode.none,
            session_id=i32(0),
            responses=(topic,),
        )

    def DeleteRecordsRequest(self, request: Any) -> Any:
        self.deleted.append(request.topics[0].partitions[0].offset)
        code = self.delete_codes.pop(0) if self.delete_codes else 0
        if code is CLOSE:
            return CLOSE
        answer = deleted.DeleteRecordsPartitionResult(
            partition_index=i32(0), low_watermark=i64(6), error_code=ErrorCode(code)
        )
        topic = deleted.DeleteRecordsTopicResult(name=TopicName("t"), partitions=(answer,))
        return deleted.DeleteRecordsResponse(throttle_time=NO_THROTTLE, topics=(topic,))

    def ListOffsetsRequest(self, request: Any) -> Any:
        partition = make(
            listed.ListOffsetsPartitionResponse,
            partition_index=i32(0),
            error_code=ErrorCode.none,
            timestamp=i64(-1),
            offset=i64(5),
            leader_epoch=i32(3),
        )
        topic = listed.ListOffsetsTopicResponse(name=TopicName("t"), partitions=(partition,))
        return listed.ListOffsetsResponse(throttle_time=NO_THROTTLE, topics=(topic,))


@contextmanager
def cluster(*brokers: Broker) -> Iterator[Cluster]:
    """Of one node a broker, ids from 4 on."""
    names = [f"b{number}" for number in range(1, len(brokers) + 1)]
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(LoopbackServer(broker))
            for name, broker in zip(names, brokers, strict=True)
        }
        nodes = [
            NodeSpec(
                name=name,
                roles=frozenset({"broker", "controller"}),
                ports={"client": 1, "controller": 2},
                ids={"broker": 4 + number},
            )
            for number, name in enumerate(names)
        ]
        yield cluster_of(servers, nodes, KraftSystem())


@contextmanager
def clients(*brokers: Broker) -> Iterator[Callable[[], LogClient]]:
    """Makes clients of their cluster."""
    with cluster(*brokers) as made:
        yield lambda: LogClient(made, 0)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def client(broker: Broker) -> Iterator[LogClient]:
    with clients(broker) as make_client:
        made = make_client()
        yield made
        made.close()


@dataclass
class Extra:
    """A broker that is none of the plan's."""

    port: int
    broker_id: int = 301
    process: str = "g301a"
    node: str = "b1"

    def connect(self, timeout_s: float) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout_s)


def test_a_broker_that_is_none_of_the_plans_may_lead(broker: Broker) -> None:
    """It is asked nothing else; without it there is no leader."""
    broker.leader, extra = 301, Broker()
    with LoopbackServer(extra) as server, cluster(broker) as made:
        beside: Any = {301: Extra(server.port)}
        client = LogClient(made, 0, extra=beside)
        done = client.invoke(produce(1))
        broker.leader = 4
        other = client.invoke(Invocation(process=0, f="metadata", key="t", value=None))
        client.close()
    assert (done.type, done.node) == ("ok", "g301a")
    assert [type(each).__name__ for each in server.seen] == ["ProduceRequest"]
    assert other.node != "g301a" and not broker.batches


def produce(value: int, *, acks: str = "all", idempotent: bool = False) -> Invocation:
    asked = {"value": value, "acks": acks, "idempotent": idempotent, "producer": "p0"}
    return Invocation(process=0, f="produce", key=KEY, value=asked)


def read(f: str, **value: Any) -> Invocation:
    return Invocation(process=0, f=f, key=KEY, value=value)


@pytest.mark.parametrize("brokers", [1, 3, 4])
def test_partitions_are_on_the_clusters_own_brokers(brokers: int) -> None:
    """Others may be registered, who hold no data: the placement is no controller's choice. The
    configuration that is asked for stays."""
    every = [Broker() for _ in range(brokers)]
    ids = {4 + number for number in range(brokers)}
    with clients(*every) as make_client:
        client = make_client()
        for topic in TOPICS:
            value: Any = {"partitions": PARTITIONS, "replication": REPLICAS}
            value |= {"configs": [["min.insync.replicas", "2"]]} if topic == TOPICS[0] else {}
            done = client.invoke(Invocation(process=0, f="create", key=topic, value=value))
            assert (done.type, done.key) == ("ok", topic)
        client.close()
    asked = [topic for broker in every for topic in broker.created]
    leaders = set()
    for topic in asked:
        configs = [(each.name, each.value) for each in topic.configs]
        assert configs == [("min.insync.replicas", "2")] * (topic.name == TOPICS[0])
        assert len(topic.assignments) == PARTITIONS
        for each in topic.assignments:
            assert len(set(each.broker_ids)) == min(brokers, REPLICAS) == len(each.broker_ids)
            assert set(each.broker_ids) <= ids
            leaders.add(each.broker_ids[0])
    assert len(leaders) >= min(brokers, REPLICAS)


def test_a_produce_tells_its_offset(client: LogClient, broker: Broker) -> None:
    done = client.invoke(produce(41))
    assert (done.type, done.node, done.value["offset"]) == ("ok", "b1", 0)
    assert done.value["topic_id"] == str(TOPIC_ID) and done.value["value"] == 41
    assert values_in(broker.batches[0], 0) == [(0, 41)]


def test_a_plain_producer_sends_once(client: LogClient, broker: Broker) -> None:
    """NOT_LEADER_OR_FOLLOWER may come after the append: nobody knows."""
    broker.answers = [6]
    done = client.invoke(produce(1))
    assert (done.type, done.error) == ("info", ("NOT_LEADER_OR_FOLLOWER", ""))
    assert len(broker.batches) == 1


def test_an_idempotent_producer_sends_the_same_batch_until_it_knows(
    client: LogClient, broker: Broker
) -> None:
    broker.answers = [6, CLOSE, 7]
    done = client.invoke(produce(1, idempotent=True))
    assert done.type == "ok"
    assert len(broker.batches) == 4 and len(set(broker.batches)) == 1
    assert client.invoke(produce(2, idempotent=True)).type == "ok"
    assert broker.producers == 1  # its books are in order: it goes on under the next number
    assert broker.batches[-1] != broker.batches[0]


def test_a_refusal_before_the_append_is_a_fail(client: LogClient, broker: Broker) -> None:
    broker.answers = [19]
    done = client.invoke(produce(1))
    assert (done.type, done.error) == ("fail", ("NOT_ENOUGH_REPLICAS", ""))


def test_a_refusal_after_an_attempt_of_unknown_fate_proves_nothing(
    client: LogClient, broker: Broker
) -> None:
    broker.answers = [CLOSE, 19]
    done = client.invoke(produce(1, idempotent=True))
    assert (done.type, done.error) == ("info", ("NOT_ENOUGH_REPLICAS", ""))
    assert client.invoke(produce(2, idempotent=True)).type == "ok"
    assert broker.producers == 2  # whether its number was used is not known: a new producer


def test_no_acks_no_answer(client: LogClient, broker: Broker) -> None:
    done = client.invoke(produce(1, acks="0"))
    assert done.type == "info" and done.error is not None
    assert done.error[0] == "NO_ACKNOWLEDGEMENT"


def test_a_produce_tells_as_what_an_idempotent_producer_sent_it(
    client: LogClient, broker: Broker
) -> None:
    """Whatever became of it, but where nothing was sent."""
    broker.answers = [0, 19, CLOSE, 19]
    asked = [produce(value, idempotent=True) for value in (1, 2, 3, 4)]
    done = [client.invoke(each) for each in asked]
    assert [each.type for each in done] == ["ok", "fail", "info", "ok"]
    assert [(each.ext or {})["sent_as"] for each in done] == [
        *([1, 0, 0], [1, 0, 1], [1, 0, 1]),
        [2, 0, 0],
    ]
    assert not client.invoke(produce(5)).ext
    broker.leader = 99
    nobody = client.invoke(Invocation(process=0, f="produce", key="t/7", value=asked[0].value))
    assert nobody.type == "fail" and not nobody.ext


def test_leaders_tell_of_producers_and_any_broker_of_its_logs(
    client: LogClient, broker: Broker
) -> None:
    broker.producer_codes = [6]
    told = client.invoke(Invocation(process=0, f="producers", key=KEY, value=None))
    assert (told.type, told.value) == ("ok", [{"id": 1, "epoch": 0, "last": 3}])
    broker.producer_codes = [29]
    refused = client.invoke(Invocation(process=0, f="producers", key=KEY, value=None))
    assert (refused.type, refused.error) == ("fail", ("TOPIC_AUTHORIZATION_FAILED", ""))
    asked = Invocation(process=0, f="log-dirs", key=None, value={"keys": [KEY]}, node="b1")
    logs = client.invoke(asked)
    assert (logs.type, logs.value, logs.node) == ("ok", [], "b1")


def test_a_fetch_reads_and_says_how_far_it_is(client: LogClient) -> None:
    done = client.invoke(read("fetch", consumer="a", **{"from": 0}))
    assert done.type == "ok" and done.value == {
        "records": [[0, 77]],
        "high_watermark": 1,
        "log_start": 0,
        "position": 1,
        "leader_epoch": 3,
        "topic_id": str(TOPIC_ID),
    }


def test_a_replica_is_asked_as_who_compares_replicas_does() -> None:
    """The one that the operation names, once, whoever leads (Kafka's `DEBUGGING_CONSUMER_ID`)."""
    brokers = [Broker(), Broker()]
    with clients(*brokers) as make_client:
        client = make_client()
        asked = Invocation(process=0, f="replica-fetch", key=KEY, value={"from": 0}, node="b2")
        done = client.invoke(asked)
        assert (done.type, done.node) == ("ok", "b2")
        assert done.value == {
            "records": [[0, 77]],
            "high_watermark": 1,
            "log_start": 0,
            "position": 1,
            "topic_id": str(TOPIC_ID),
        }
        (request,) = brokers[1].fetches
        (partition,) = request.topics[0].partitions
        assert (request.replica_id, partition.current_leader_epoch) == (-2, -1)
        assert client.invoke(read("fetch", consumer="a", **{"from": 0})).node == "b1"
        assert [each.replica_id for each in brokers[0].fetches] == [-1]
        brokers[1].fetch_codes = [6, 0]
        refused = client.invoke(asked)
        assert (refused.type, refused.error) == ("fail", ("NOT_LEADER_OR_FOLLOWER", ""))
        client.close()


def test_a_fetch_looks_for_the_leader_again(client: LogClient, broker: Broker) -> None:
    broker.fetch_codes = [6, 74]
    assert client.invoke(read("fetch", consumer="a", **{"from": 0})).type == "ok"
    broker.fetch_codes = [1]
    gone = client.invoke(read("fetch", consumer="a", **{"from": 9}))
    assert (gone.type, gone.error) == ("fail", ("OFFSET_OUT_OF_RANGE", ""))


def test_list_offsets_and_seek(client: LogClient) -> None:
    reported = {"offset": 5, "leader_epoch": 3, "topic_id": str(TOPIC_ID)}
    assert client.invoke(read("list-offsets", at="latest")).value == reported
    sought = client.invoke(read("seek", consumer="a", to=3))
    assert (sought.type, sought.value) == ("ok", {"consumer": "a", "to": 3})


def test_records_are_deleted_again_until_it_is_known_what_became_of_it(
    client: LogClient, broker: Broker
) -> None:
    broker.delete_codes = [CLOSE, 6, 7]
    done = client.invoke(read("delete-records", before=4))
    assert (done.type, done.value) == (
        "ok",
        {"before": 4, "low_watermark": 6, "topic_id": str(TOPIC_ID)},
    )
    assert broker.deleted == [4, 4, 4, 4]
    broker.delete_codes = [1]
    refused = client.invoke(read("delete-records", before=9))
    assert (refused.type, refused.error) == ("fail", ("OFFSET_OUT_OF_RANGE", ""))
    broker.delete_codes = [7, 1]
    assert client.invoke(read("delete-records", before=9)).type == "info", "the first may have been"


def test_all_that_there_is_is_deleted_once(client: LogClient, broker: Broker) -> None:
    """A second time it would be more."""
    broker.delete_codes = [CLOSE]
    assert client.invoke(read("delete-records", before=-1)).type == "info"
    assert broker.deleted == [-1]


def test_the_new_leader_is_found() -> None:
    old, new = Broker(), Broker()
    with clients(old, new) as make_client:
        client = make_client()
        assert client.invoke(produce(1)).node == "b1"
        old.leader = new.leader = 5
        old.answers = [6]
        assert client.invoke(produce(2, idempotent=True)).node == "b2"
        client.close()
    assert len(new.batches) == 1


def test_without_a_leader_a_produce_fails_for_sure(broker: Broker, client: LogClient) -> None:
    broker.leader = -1
    done = client.invoke(produce(1))
    assert done.type == "fail" and done.error is not None
    assert done.error[0] == "LEADER_NOT_AVAILABLE"
    assert not broker.batches
