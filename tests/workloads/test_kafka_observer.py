"""The observer of nodes that speak Kafka's protocol, against sockets on loopback."""

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kio.schema.describe_cluster.v0.request import DescribeClusterRequest
from kio.schema.describe_cluster.v1 import response as controlled
from kio.schema.describe_cluster.v1.request import (
    DescribeClusterRequest as DescribeControllersRequest,
)
from kio.schema.describe_quorum.v1 import response as quorate
from kio.schema.describe_quorum.v1.request import DescribeQuorumRequest
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import response as listed
from kio.schema.list_offsets.v7.request import ListOffsetsRequest
from kio.schema.metadata.v12 import response as cached
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64
from loopback_server import CLOSE, HANG, LoopbackServer

from framework.history.event import Completion
from framework.plugins import outcomes
from framework.plugins.dialect import Dialect
from framework.plugins.system import Cluster, NodeSpec
from framework.testing.loopback import cluster_of
from nodes.kraft.adapter.outcomes import OUTCOMES
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.controller.answers import NO_THROTTLE, blank
from nodes.kraft.wire.codec import response_schema
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse
from workloads.kafka import observer
from workloads.kafka.descriptions import LED, TOPICS
from workloads.kafka.observer import KafkaObserver

TOPIC_ID = uuid.UUID(int=7)
NODES = [
    NodeSpec(name="b1", roles=frozenset({"broker"}), ports={"client": 1}, ids={"broker": 4}),
    NodeSpec(name="c1", roles=frozenset({"controller"}), ports={"controller": 2}),
    NodeSpec(
        name="n1",
        roles=frozenset({"broker", "controller"}),
        ports={"client": 1, "controller": 2},
        ids={"broker": 4, "controller": 1},
    ),
]


def quorum_response(**values: Any) -> quorate.DescribeQuorumResponse:
    voters = tuple(
        quorate.ReplicaState(replica_id=BrokerId(each), log_end_offset=i64(90 + each))
        for each in (1, 2)
    )
    log = quorate.PartitionData(
        **{
            "partition_index": i32(0),
            "error_code": ErrorCode.none,
            "leader_id": BrokerId(2),
            "leader_epoch": i32(5),
            "high_watermark": i64(91),
            "current_voters": voters,
            "observers": (),
            **values,
        }
    )
    topic = quorate.TopicData(topic_name=TopicName("__cluster_metadata"), partitions=(log,))
    return quorate.DescribeQuorumResponse(error_code=ErrorCode.none, topics=(topic,))


def metadata_response(topics: int = 1, partitions: int = 2) -> cached.MetadataResponse:
    """Each partition has broker 4 for its leader."""
    return cached.MetadataResponse(
        throttle_time=NO_THROTTLE,
        brokers=tuple(
            cached.MetadataResponseBroker(node_id=BrokerId(each), host="h", port=i32(9000 + each))
            for each in (6, 4)
        ),
        topics=tuple(
            cached.MetadataResponseTopic(
                error_code=ErrorCode.none,
                name=TopicName(f"t{number:03}"),
                topic_id=TOPIC_ID,
                partitions=tuple(
                    cached.MetadataResponsePartition(
                        error_code=ErrorCode.none,
                        partition_index=i32(partition),
                        leader_id=BrokerId(4 if partition == 0 else 6),
                        leader_epoch=i32(3),
                        replica_nodes=(BrokerId(4), BrokerId(6)),
                        isr_nodes=(BrokerId(4),),
                    )
                    for partition in range(partitions)
                ),
            )
            for number in reversed(range(topics))
        ),
    )


def ends_response(request: ListOffsetsRequest) -> listed.ListOffsetsResponse:
    """10 for each that is asked for by its leader epoch."""
    return listed.ListOffsetsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            listed.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    listed.ListOffsetsPartitionResponse(
                        partition_index=each.partition_index,
                        error_code=ErrorCode(0 if each.current_leader_epoch == 3 else 74),
                        timestamp=i64(-1),
                        offset=i64(10),
                        leader_epoch=i32(3),
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def controllers_response(**values: Any) -> controlled.DescribeClusterResponse:
    """Not in the order of ids."""
    return controlled.DescribeClusterResponse(
        **{
            "throttle_time": NO_THROTTLE,
            "error_code": ErrorCode.none,
            "cluster_id": "x",
            "controller_id": BrokerId(2),
            "brokers": tuple(
                controlled.DescribeClusterBroker(
                    broker_id=BrokerId(each), host=f"h{each}", port=i32(9093), rack=None
                )
                for each in (2, 1)
            ),
            **values,
        }
    )


def serve(request: Any) -> Any:
    """A node that answers everything."""
    if isinstance(request, DescribeNodeRequest):
        state = '{"leader_id": 2, "epoch": 5, "high_watermark": 91, "role": "follower"}'
        return DescribeNodeResponse(state=state)
    if isinstance(request, DescribeQuorumRequest):
        return quorum_response()
    if isinstance(request, MetadataRequest):
        return metadata_response()
    if isinstance(request, ListOffsetsRequest):
        return ends_response(request)
    if isinstance(request, DescribeControllersRequest):
        return controllers_response(endpoint_type=request.endpoint_type)
    if isinstance(request, DescribeClusterRequest):
        return blank(response_schema(60, 0), cluster_id="x")
    return CLOSE


def names(node: NodeSpec, system: Any = None) -> list[str]:
    system = system or KraftSystem()
    return [each.f for each in KafkaObserver().questions(system, node, system.capabilities)]


def test_a_node_is_asked_what_its_roles_know() -> None:
    broker, controller, both = NODES
    of_brokers = ["describe-cluster", "describe-topics", "log-ends"]
    of_controllers = ["describe-controllers", "metadata-log"]
    assert names(controller) == ["describe-node", "describe-quorum", *of_controllers]
    assert names(broker) == ["describe-node", "describe-quorum", *of_brokers]
    told, *log = of_controllers
    assert names(both) == [*names(broker)[:2], told, *of_brokers, *log]


@pytest.mark.parametrize(
    ("f", "capability"),
    [("describe-controllers", "told-controllers"), ("metadata-log", "watched-metadata-log")],
)
def test_what_not_every_system_knows_is_asked_where_it_does(f: str, capability: str) -> None:
    system = KraftSystem()
    for able in ({capability}, system.capabilities - {capability}):
        asked = KafkaObserver().questions(system, NODES[1], able)
        assert (f in [each.f for each in asked]) == (capability in able)


def test_of_its_own_view_only_where_the_system_has_a_word_for_it() -> None:
    plain = SimpleNamespace(dialect=lambda: Dialect(outcomes=OUTCOMES), capabilities=frozenset())
    assert names(NODES[1], plain) == ["describe-quorum"]


def test_where_nodes_have_no_view_of_their_own_those_of_both_roles_are_asked_as_brokers_too() -> (
    None
):
    plain = SimpleNamespace(dialect=lambda: Dialect(outcomes=OUTCOMES), capabilities=frozenset())
    asked = KafkaObserver().questions(cast(Any, plain), NODES[2], set())
    assert [(each.f, each.value) for each in (asked[0], asked[-1])] == [
        ("describe-quorum", None),
        ("describe-quorum", "broker"),
    ]
    used: list[str] = []

    class Noting(KraftSystem):
        def connect(self, cluster: Any, node: str, listener: str, timeout_s: float) -> Any:
            used.append(listener)
            return super().connect(cluster, node, listener, timeout_s)

    with ExitStack() as stack:
        server = stack.enter_context(LoopbackServer(serve))
        cluster = cluster_of({NODES[2].name: server}, [NODES[2]], Noting())
        client = KafkaObserver().client(cluster, NODES[2].name)
        stack.callback(client.close)
        assert [client.invoke(each).type for each in (asked[0], asked[-1])] == ["ok", "ok"]
    assert used == ["controller", "client"]


@pytest.fixture
def ask() -> Iterator[Callable[..., list[Completion]]]:
    """Asks a node that answers so, all its questions one after another."""
    with ExitStack() as stack:

        def asked(answer: Callable[[Any], Any] = serve, node: NodeSpec = NODES[0]) -> list[Any]:
            server = stack.enter_context(LoopbackServer(answer))
            cluster = cluster_of({node.name: server}, [node], KraftSystem())
            client = KafkaObserver().client(cluster, node.name)
            stack.callback(client.close)
            able = cluster.system.capabilities
            questions = KafkaObserver().questions(cluster.system, node, able)
            return [client.invoke(question) for question in questions]

        yield asked


VIEW = {"leader": 2, "leader_epoch": 5, "high_watermark": 91}


def test_what_a_broker_tells(ask: Callable[..., list[Completion]]) -> None:
    view, quorum, cluster, topics, ends = ask()
    assert {each.type for each in (view, quorum, cluster, topics, ends)} == {"ok"}
    assert {each.node for each in (view, quorum, cluster, topics, ends)} == {"b1"}
    assert view.value == VIEW
    assert quorum.value == {**VIEW, "voters": [[1, 91], [2, 92]]}
    assert cluster.value == {"brokers": []}
    addresses = [{"id": each, "host": "h", "port": 9000 + each} for each in (4, 6)]
    assert topics.value["brokers"] == addresses
    (topic,) = topics.value["topics"]
    assert (topic["name"], topic["topic_id"]) == ("t000", str(TOPIC_ID))
    assert topic["partitions"][0] == {
        "partition": 0,
        "leader": 4,
        "leader_epoch": 3,
        "replicas": [4, 6],
        "isr": [4],
    }
    assert ends.value == {
        "ends": [{"key": "t000/0", "offset": 10, "leader_epoch": 3, "topic_id": str(TOPIC_ID)}]
    }


def test_of_many_topics_the_first_are_kept(ask: Callable[..., list[Completion]]) -> None:
    def many(request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return metadata_response(TOPICS + 5, 1)
        return serve(request)

    *_, topics, ends = ask(many)
    assert [each["name"] for each in topics.value["topics"]] == [
        f"t{number:03}" for number in range(TOPICS)
    ]
    assert topics.value["others"] == 5
    assert len(ends.value["ends"]) == LED


def test_who_does_not_lead_says_so(ask: Callable[..., list[Completion]]) -> None:
    def follower(request: Any) -> Any:
        if isinstance(request, DescribeQuorumRequest):
            error = ErrorCode.not_leader_or_follower
            return quorate.DescribeQuorumResponse(error_code=error, topics=())
        return serve(request)

    view, quorum, *_ = ask(follower, NODES[1])
    assert view.value == VIEW
    assert (quorum.type, quorum.error, quorum.node) == (
        "fail",
        ("NOT_LEADER_OR_FOLLOWER", ""),
        "c1",
    )


def test_controllers_are_told_with_who_is_active(ask: Callable[..., list[Completion]]) -> None:
    told = ask(serve, NODES[1])[2]
    addresses = [{"id": each, "host": f"h{each}", "port": 9093} for each in (1, 2)]
    assert told.value == {"controllers": addresses, "active": 2}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"error_code": ErrorCode.mismatched_endpoint_type}, "MISMATCHED_ENDPOINT_TYPE"),
        ({"endpoint_type": i8(1)}, outcomes.MALFORMED_RESPONSE),
    ],
)
def test_brokers_are_no_controllers(
    ask: Callable[..., list[Completion]], values: dict[str, Any], error: str
) -> None:
    def brokers(request: Any) -> Any:
        if isinstance(request, DescribeControllersRequest):
            return controllers_response(**values)
        return serve(request)

    told = ask(brokers, NODES[1])[2]
    assert told.type == "fail" and told.error is not None and told.error[0] == error


def test_another_log_is_refused(ask: Callable[..., list[Completion]]) -> None:
    def elsewhere(request: Any) -> Any:
        if isinstance(request, DescribeQuorumRequest):
            return quorum_response(error_code=ErrorCode.unknown_topic_or_partition)
        return serve(request)

    assert ask(elsewhere)[1].error == ("UNKNOWN_TOPIC_OR_PARTITION", "")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda _: CLOSE, outcomes.CONNECTION_LOST),
        (lambda _: HANG, outcomes.CLIENT_TIMED_OUT),
        (lambda _: b"nonsense", outcomes.MALFORMED_RESPONSE),
        (
            lambda request: (
                DescribeNodeResponse(state="{}")
                if isinstance(request, DescribeNodeRequest)
                else serve(request)
            ),
            outcomes.MALFORMED_RESPONSE,
        ),
    ],
)
def test_a_node_that_gives_no_answer_is_asked_once(
    ask: Callable[..., list[Completion]],
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[Any], Any],
    code: str,
) -> None:
    """It is observed: nothing was to take effect, so that it is a fail."""
    monkeypatch.setattr(observer, "ANSWER_S", 0.2)
    seen: list[Any] = []

    def noted(request: Any) -> Any:
        seen.append(request)
        return answer(request)

    first = ask(noted, NODES[1])[0]
    assert (first.type, first.node) == ("fail", "c1")
    assert first.error is not None and first.error[0] == code
    assert sum(isinstance(each, DescribeNodeRequest) for each in seen) == 1


def test_a_node_that_is_not_there() -> None:
    def refused(*_: Any, **__: Any) -> socket.socket:
        raise ConnectionRefusedError("nobody listens")

    system: Any = SimpleNamespace(
        dialect=KraftSystem().dialect, connect=refused, capabilities=frozenset()
    )
    cluster = Cluster(system=system, fleet=None, nodes={"c1": NODES[1]}, seed=0)  # type: ignore[arg-type]
    client = KafkaObserver().client(cluster, "c1")
    (first, *_) = map(client.invoke, KafkaObserver().questions(system, NODES[1], set()))
    assert (first.type, first.node) == ("fail", "c1")
    assert first.error is not None and first.error[0] == outcomes.CONNECTION_FAILED
