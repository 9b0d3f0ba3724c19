"""The client end to end, against a cluster of loopback sockets."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from kio.schema.create_topics.v7.request import CreateTopicsRequest
from kio.schema.create_topics.v7.response import CreatableTopicResult, CreateTopicsResponse
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest
from kio.schema.delete_topics.v6.response import DeletableTopicResult, DeleteTopicsResponse
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.metadata.v12.response import MetadataResponse, MetadataResponseTopic
from kio.schema.types import TopicName
from kio.static.primitive import i16, i32, i64
from loopback_server import CLOSE, LoopbackServer

from framework.generators import clients, simulate
from framework.history.event import Completion, CompletionType, Invocation
from framework.plugins.dialect import Exchanges, Further
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.workload import WorkloadOptions
from framework.testing.loopback import cluster_of
from nodes.kraft.adapter.dialect import DIALECT
from nodes.kraft.adapter.outcomes import OUTCOMES
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.controller.answers import NO_THROTTLE
from nodes.kraft.wire.debug import ReadTopic, ReadTopicsRequest, ReadTopicsResponse
from workloads.topics import Topics

OPTIONS = WorkloadOptions(
    seed=0, threads=2, rate=10, capabilities=frozenset({"linearizable-topic-read"})
)


def serve(request: Any) -> Any:
    """A node of every role: creates of t succeed, of u find it there, deletes of u do not;
    nothing is read."""
    if isinstance(request, CreateTopicsRequest):
        (topic,) = request.topics
        result = CreatableTopicResult(
            name=topic.name,
            topic_id=uuid.UUID(int=7),
            error_code=ErrorCode(0 if topic.name == "t" else 36),
            error_message=None,
            configs=(),
        )
        return CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=(result,))
    if isinstance(request, DeleteTopicsRequest) and request.topics[0].name == "u":
        gone = DeletableTopicResult(name=TopicName("u"), topic_id=None, error_code=ErrorCode(3))
        return DeleteTopicsResponse(throttle_time=NO_THROTTLE, responses=(gone,))
    if isinstance(request, ReadTopicsRequest):
        topics = tuple(
            ReadTopic(error_code=i16(3), name=name, topic_id=None, partitions=())
            for name in request.names
        )
        return ReadTopicsResponse(error_code=i16(0), epoch=i32(1), offset=i64(2), topics=topics)
    return CLOSE


@pytest.fixture
def servers() -> Iterator[dict[str, LoopbackServer]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(LoopbackServer(serve)) for name in ("b1", "b2", "c1")}


@pytest.fixture
def cluster(servers: dict[str, LoopbackServer]) -> Cluster:
    nodes = [
        NodeSpec(name=name, roles=frozenset({role}), ports={listener: port})
        for name, role, listener, port in [
            ("b1", "broker", "client", 9092),
            ("b2", "broker", "client", 9092),
            ("c1", "controller", "controller", 9093),
        ]
    ]
    return cluster_of(servers, nodes, KraftSystem())


def op(f: str, key: str, value: Any = None) -> Invocation:
    return Invocation(process=3, f=f, key=key, value=value)


CREATE = {"partitions": 1, "replication": 1}


def test_completions(cluster: Cluster, servers: dict[str, LoopbackServer]) -> None:
    client = Topics().client(cluster, 0)
    made = client.invoke(op("create", "t", CREATE))
    assert (made.type, made.process, made.f, made.key, made.node) == ("ok", 3, "create", "t", "b1")
    assert made.value == {"topic_id": str(uuid.UUID(int=7)), "configs": []}
    there = client.invoke(op("create", "u", CREATE))
    assert (there.type, there.node, there.value) == ("fail", "b2", None)
    assert there.error == ("TOPIC_ALREADY_EXISTS", "")
    assert there.ext == {"asserts": "present"}
    read = client.invoke(op("describe", "t"))
    assert (read.type, read.value, read.node) == ("ok", None, "c1")
    assert read.ext == {"epoch": 1, "offset": 2}
    client.close()


def without_request_ids(cluster: Cluster, **exchanges: Any) -> Cluster:
    """The cluster of a system that answers as the node does, but tags no retries."""
    outcomes = replace(OUTCOMES, tags_retries=False, static=frozenset({"INVALID_PARTITIONS"}))
    dialect = replace(DIALECT, outcomes=outcomes, exchanges={**DIALECT.exchanges, **exchanges})
    system: Any = SimpleNamespace(dialect=lambda: dialect, connect=KraftSystem().connect)
    return replace(cluster, system=system)


@pytest.mark.parametrize(
    "f, key, code, asserts",
    [
        ("create", "u", "TOPIC_ALREADY_EXISTS", "present"),
        ("delete", "u", "UNKNOWN_TOPIC_OR_PARTITION", "absent"),
    ],
)
def test_what_a_broker_forwards_may_be_refused_for_its_own_first_attempt(
    cluster: Cluster, f: str, key: str, code: str, asserts: str
) -> None:
    """Kafka's brokers forward creates and deletes again where they heard no answer."""
    tagged = Topics().client(cluster, 0).invoke(op(f, key, CREATE))
    assert (tagged.type, tagged.error, tagged.ext) == ("fail", (code, ""), {"asserts": asserts})
    untagged = Topics().client(without_request_ids(cluster), 0).invoke(op(f, key, CREATE))
    assert (untagged.type, untagged.error) == ("info", (code, ""))
    assert untagged.asserts == asserts


def test_a_system_says_how_an_operation_is_said_to_it(cluster: Cluster) -> None:
    """Its exchanges go before Kafka's: here a read of a cache is one behind a barrier."""
    dialect = without_request_ids(cluster, metadata=DIALECT.exchanges["describe"])
    read = Topics().client(dialect, 0).invoke(op("metadata", "t"))
    assert (read.type, read.node, read.ext) == ("ok", "c1", {"epoch": 1, "offset": 2})


def asking_twice(cluster: Cluster, then: Callable[[Any], Any]) -> Cluster:
    """A `describe` of which the first answer is not the last."""
    describe = replace(DIALECT.exchanges["describe"], then=then)
    return without_request_ids(cluster, describe=describe)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_read_may_take_several_requests(
    cluster: Cluster, servers: dict[str, LoopbackServer], elsewhere: bool
) -> None:
    questions = iter([Further(request=ReadTopicsRequest(names=("u",)), elsewhere=elsewhere)])
    asked = asking_twice(cluster, lambda _: next(questions, None))
    read = Topics().client(asked, 0).invoke(op("describe", "u"))
    assert (read.type, read.value, read.node) == ("ok", None, "c1")
    assert len(servers["c1"].seen) == 2


def test_a_read_that_finds_no_end_fails(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.kafka.client.SEARCH_S", 0.2)
    more = Further(request=ReadTopicsRequest(names=("t",)), elsewhere=True)
    read = Topics().client(asking_twice(cluster, lambda _: more), 0).invoke(op("describe", "t"))
    assert (read.type, read.error) == ("fail", ("CLIENT_TIMED_OUT", "still more to be asked"))


ON_DEMAND = {"on_demand": True}


def looked_up(code: int) -> Callable[[Any], MetadataResponse]:
    """Who answers so to a client that looks for a topic."""

    def serve(request: MetadataRequest) -> MetadataResponse:
        assert request.allow_auto_topic_creation and request.topics is not None
        topic = MetadataResponseTopic(
            error_code=ErrorCode(code),
            name=request.topics[0].name,
            topic_id=uuid.UUID(int=7),
            partitions=(),
        )
        return MetadataResponse(throttle_time=NO_THROTTLE, brokers=(), topics=(topic,))

    return serve


def test_a_topic_on_demand_is_looked_for_at_one_broker_after_the_other(
    cluster: Cluster, servers: dict[str, LoopbackServer]
) -> None:
    servers["b1"].answer, servers["b2"].answer = looked_up(3), looked_up(0)
    made = Topics().client(cluster, 0).invoke(op("create", "t", ON_DEMAND))
    assert (made.type, made.node, made.value) == ("ok", "b2", {"topic_id": str(uuid.UUID(int=7))})
    assert len(servers["b1"].seen) == len(servers["b2"].seen) == 1


def test_of_a_topic_on_demand_that_nobody_shows_the_fate_is_unknown(
    cluster: Cluster, servers: dict[str, LoopbackServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.kafka.client.SEARCH_S", 0.3)
    servers["b1"].answer = servers["b2"].answer = looked_up(5)
    lost = Topics().client(cluster, 0).invoke(op("create", "t", ON_DEMAND))
    assert (lost.type, lost.error and lost.error[0]) == ("info", "CLIENT_TIMED_OUT")
    servers["b2"].answer = looked_up(29)
    refused = Topics().client(cluster, 0).invoke(op("create", "t", ON_DEMAND))
    assert (refused.type, refused.error and refused.error[0]) == ("info", "MALFORMED_RESPONSE")


def test_a_topic_on_demand_may_come_though_the_next_broker_was_not_asked(
    cluster: Cluster, servers: dict[str, LoopbackServer]
) -> None:
    """The first one may have begun to make it; asked first, it certainly has not."""
    servers["b1"].answer = looked_up(3)
    servers["b2"].stop()
    client = Topics().client(cluster, 0)
    lost = client.invoke(op("create", "t", ON_DEMAND))
    assert (lost.type, lost.error and lost.error[0]) == ("info", "CONNECTION_FAILED")
    client = Topics().client(cluster, 1)
    unasked = client.invoke(op("create", "t", ON_DEMAND))
    assert (unasked.type, unasked.error and unasked.error[0]) == ("fail", "CONNECTION_FAILED")


def test_exchanges_of_a_client_are_made_for_each(cluster: Cluster) -> None:
    """They may remember what they were answered."""
    made = list[Cluster]()

    def of_client(own: Cluster) -> Exchanges:
        made.append(own)
        return {"follow": DIALECT.exchanges["describe"]}

    system: Any = SimpleNamespace(
        dialect=lambda: replace(DIALECT, of_client=of_client), connect=KraftSystem().connect
    )
    owned = replace(cluster, system=system)
    for thread in range(2):
        assert Topics().client(owned, thread).invoke(op("follow", "t")).node == "c1"
    assert made == [owned, owned]


def test_a_closed_connection(cluster: Cluster, servers: dict[str, LoopbackServer]) -> None:
    client = Topics().client(cluster, 1)
    deleted = client.invoke(op("delete", "t"))
    assert (deleted.type, deleted.node) == ("info", "b2")
    assert deleted.error is not None and deleted.error[0] == "CONNECTION_LOST"
    cached = client.invoke(op("metadata", "t"))
    assert (cached.type, cached.node) == ("fail", "b1")
    assert isinstance(servers["b1"].seen[-1], MetadataRequest)


def test_a_node_that_is_gone(cluster: Cluster, servers: dict[str, LoopbackServer]) -> None:
    servers["b1"].stop()
    refused = Topics().client(cluster, 0).invoke(op("create", "t", CREATE))
    assert (refused.type, refused.node) == ("fail", "b1")
    assert refused.error is not None and refused.error[0] == "CONNECTION_FAILED"


def test_final_reads_are_of_every_topic_that_was_named(cluster: Cluster) -> None:
    workload = Topics()
    final = clients(workload.final_generator(OPTIONS))  # built first, as a schedule is
    client = workload.client(cluster, 0)
    for name in ("t", "u", "t"):
        client.invoke(op("create", name, CREATE))
    client.invoke(op("create", "t", CREATE | {"configs": [["retention.ms", "7"]]}))
    client.invoke(op("describe", "v"))
    history = simulate(final, threads=2)
    asked = [event for event in history if event.type == "invoke"]
    described, configured, shown, again = asked[:3], asked[3], asked[4:6], asked[6:]
    assert sorted(event.key for event in described) == ["t", "u", "v"]
    assert {event.f for event in described} == {"describe"}
    assert (configured.f, configured.key) == ("describe-configs", "t")
    assert sorted((event.f, event.key) for event in shown) == [("metadata", "u"), ("metadata", "v")]
    assert sorted((event.f, event.key) for event in again) == [("describe", "u"), ("describe", "v")]


@pytest.mark.parametrize(
    ("there", "shown", "gone"),
    [
        ({"t", "u", "v", "w"}, {"v", "w"}, set[str]()),
        ({"t", "v"}, {"t", "v"}, {"u", "w"}),
        ({"u"}, {"u"}, {"v", "w"}),
        (set[str](), {"v", "w"}, set[str]()),
    ],
)
def test_the_last_topics_that_are_there_are_asked_for_again_of_brokers_as_well(
    cluster: Cluster, there: set[str], shown: set[str], gone: set[str]
) -> None:
    workload = Topics()
    client = workload.client(cluster, 0)
    for name in "tuvw":
        client.invoke(op("create", name, CREATE))

    def completion(invoked: Invocation, n: int) -> tuple[int, Completion]:
        return 10, invoked.completed("ok", {} if invoked.key in there else None)

    history = simulate(clients(workload.final_generator(OPTIONS)), threads=1, completion=completion)
    asked = [event for event in history if event.type == "invoke"]
    assert [each.key for each in asked[:4]] == ["t", "u", "v", "w"]
    assert {each.key for each in asked[4:] if each.f == "metadata"} == shown
    again = [each.key for each in asked[4:] if each.f == "describe"]
    assert {*again[: len(shown)]} == shown and {*again[len(shown) :]} == gone


def test_in_the_end_every_broker_is_asked_and_is_the_one_that_answers(
    cluster: Cluster, servers: dict[str, LoopbackServer]
) -> None:
    workload = Topics()
    client = workload.client(cluster, 0)
    client.invoke(op("create", "t", CREATE))
    specs = [
        NodeSpec(name=name, roles=frozenset({role}), ports={})
        for name, role in (("b2", "broker"), ("c1", "controller"), ("b1", "broker"))
    ]
    final = clients(workload.final_generator(replace(OPTIONS, nodes=specs)))
    asked = [each for each in simulate(final, threads=2) if each.f == "metadata"]
    asked = [each for each in asked if each.type == "invoke"]
    assert [each.node for each in asked] == ["b2", "b1"]
    for _ in range(2):
        assert client.invoke(replace(op("metadata", "t"), node="b1")).node == "b1"
    assert isinstance(servers["b1"].seen[-1], MetadataRequest)


def test_where_no_read_is_linearizable_topics_are_read_as_brokers_show_them(
    cluster: Cluster,
) -> None:
    workload = Topics()
    client = workload.client(cluster, 0)
    for name in ("t", "u"):
        client.invoke(op("create", name, CREATE))
    options = replace(OPTIONS, capabilities=frozenset())
    final = simulate(clients(workload.final_generator(options)), threads=2)
    asked = [(event.f, event.key) for event in final if event.type == "invoke"]
    assert sorted(asked) == [("metadata", "t")] * 3 + [("metadata", "u")] * 3


def test_final_reads_are_tried_again(cluster: Cluster) -> None:
    workload = Topics()
    workload.client(cluster, 0).invoke(op("create", "t", CREATE))
    types: Iterator[CompletionType] = iter(("fail", "info", "ok", "fail", "ok", "ok"))

    def completion(invoked: Invocation, n: int) -> tuple[int, Completion]:
        return 10, invoked.completed(next(types))

    history = simulate(clients(workload.final_generator(OPTIONS)), threads=2, completion=completion)
    ends = [(event.f, event.type) for event in history if event.type != "invoke"]
    assert ends[:3] == [("describe", "fail"), ("describe", "info"), ("describe", "ok")]
    assert ends[3:] == [("metadata", "fail"), ("metadata", "ok"), ("describe", "ok")]


def test_nothing_named_nothing_read() -> None:
    assert simulate(clients(Topics().final_generator(OPTIONS))) == []
