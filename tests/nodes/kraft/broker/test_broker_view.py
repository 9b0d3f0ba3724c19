"""What clients are told (A.7.5, A.7.11, B.8, B.9)."""

import datetime
import importlib
import uuid
from dataclasses import fields

import pytest
from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic

from nodes.kraft.broker import view
from nodes.kraft.controller.answers import blank
from nodes.kraft.metadata.image import EMPTY, apply
from nodes.kraft.wire.codec import encode_response
from nodes.kraft.wire.records import (
    BrokerRecord,
    EndPoint,
    FeatureLevelRecord,
    IsrChangeRecord,
    PartitionRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

T, U = uuid.UUID(int=70), uuid.UUID(int=71)


def schema(api, version, name):
    return getattr(importlib.import_module(f"kio.schema.{api}.v{version}.request"), name)


@pytest.fixture(scope="module")
def image():
    """Brokers 4 (fenced), 5 and 6; t with partitions of 5 and of nobody; u."""
    records = []
    for broker_id in (4, 5, 6):
        points = (
            EndPoint(name="C", host=f"b{broker_id}", port=40000, security_protocol=0),
            EndPoint(name="X", host=f"x{broker_id}", port=40001, security_protocol=0),
        )
        epoch = len(records)
        records.append(
            BrokerRecord(broker_id=broker_id, broker_epoch=epoch, end_points=points, rack=None)
        )
        if broker_id != 4:
            records.append(UnfenceBrokerRecord(broker_id=broker_id, broker_epoch=epoch))
    for name, topic_id in (("t", T), ("u", U)):
        records.append(TopicRecord(name=name, topic_id=topic_id, deleting=False))
    for number, leader in ((0, 5), (1, 6)):
        records.append(
            PartitionRecord(
                partition_id=number,
                topic_id=T,
                replicas=(leader, 4),
                isr=(leader,),
                leader=leader,
                leader_epoch=3,
            )
        )
    records.append(
        IsrChangeRecord(
            partition_id=1, topic_id=T, isr=(6,), leader=-1, leader_epoch=4, partition_epoch=1
        )
    )
    image = EMPTY
    for offset, record in enumerate(records):
        image = apply(image, record, offset)
    return image


def ask(image, topics, **more):
    return view.metadata_response(
        image,
        MetadataRequest(
            topics=topics, allow_auto_topic_creation=True, include_topic_authorized_operations=False
        ),
        "cluster",
        **more,
    )


def by_name(*names):
    return tuple(MetadataRequestTopic(topic_id=None, name=name) for name in names)


def test_brokers_are_the_active_ones(image):
    """B.9.6 (KAFKA-15220); B.9.3: the controller is a broker that clients can reach."""
    response = ask(image, None)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [
        (5, "b5", 40000),
        (6, "b6", 40000),
    ]
    assert (response.controller_id, response.cluster_id) == (5, "cluster")
    assert view.active_brokers(image) == [5, 6]
    assert view.fenced_brokers(image) == [4]


def test_endpoints_of_the_listener_that_was_asked(image):
    assert [b.host for b in ask(image, None, listener="X").brokers] == ["x5", "x6"]


def test_null_is_all_and_empty_is_none(image):
    """B.9.5."""
    assert [t.name for t in ask(image, None).topics] == ["t", "u"]
    assert ask(image, ()).topics == ()


def test_version_0_empty_is_all(image):
    """B.9.5."""
    request = schema("metadata", 0, "MetadataRequest")(topics=())
    assert [t.name for t in view.metadata_response(image, request, "c").topics] == ["t", "u"]


def test_partitions(image):
    """A.7.16: Leaders, epochs, and who is offline; 5 LEADER_NOT_AVAILABLE where nobody leads."""
    led, leaderless = ask(image, by_name("t")).topics[0].partitions
    assert (led.error_code, led.leader_id, led.leader_epoch) == (0, 5, 3)
    assert (tuple(led.replica_nodes), tuple(led.isr_nodes)) == ((5, 4), (5,))
    assert tuple(led.offline_replicas) == (4,)
    assert (leaderless.error_code, leaderless.leader_id) == (5, -1)


def test_unknown_topics(image):
    """Unknown name 3, unknown id 100; asking creates nothing."""
    by_id = MetadataRequestTopic(topic_id=uuid.UUID(int=1), name=None)
    topics = ask(image, (*by_name("nobody"), by_id)).topics
    assert [t.error_code for t in topics] == [3, 100]
    assert "nobody" not in image.topic_ids


def test_by_id(image):
    (topic,) = ask(image, (MetadataRequestTopic(topic_id=U, name=None),)).topics
    assert (topic.error_code, topic.name, topic.topic_id) == (0, "u", U)


@pytest.mark.parametrize("version", range(14))
def test_every_version_of_metadata_can_be_written(image, version):
    """B.8: 0 to 13; topics that there are, and that there are not."""
    topic_schema = schema("metadata", version, "MetadataRequestTopic")
    request_schema = schema("metadata", version, "MetadataRequest")
    more = {"topic_id": None} if version >= 10 else {}
    topics = tuple(topic_schema(name=name, **more) for name in ("t", "nobody"))
    flags = {
        item.name: False
        for item in fields(request_schema)
        if item.name.startswith(("allow", "include"))
    }
    request = request_schema(topics=topics, **flags)
    response = view.metadata_response(image, request, "cluster")
    assert response.__version__ == version
    assert [t.error_code for t in response.topics] == [0, 3]
    assert encode_response(response, correlation_id=1)


@pytest.mark.parametrize("version", [0, 1])
def test_describe_cluster(image, version):
    request_schema = schema("describe_cluster", version, "DescribeClusterRequest")
    request = request_schema(include_cluster_authorized_operations=False)
    response = view.describe_cluster_response(image, request, "cluster")
    assert (response.error_code, response.controller_id) == (0, 5)
    assert [b.broker_id for b in response.brokers] == [5, 6]
    assert encode_response(response, correlation_id=1)


@pytest.mark.parametrize("version", [1, 2])
def test_describe_cluster_of_controllers(version):
    """KIP-919: the voters, in order, and who leads; brokers are not told of there."""
    request_schema = schema("describe_cluster", version, "DescribeClusterRequest")
    voters = [(2, "c2", 9093), (1, "c1", 9093)]

    def tell(endpoint_type):
        request = blank(request_schema, endpoint_type=endpoint_type)
        response = view.describe_controllers_response(request, "cluster", voters, 2)
        assert encode_response(response, correlation_id=1)
        return response

    answer = tell(2)
    assert [(each.broker_id, each.host, each.port) for each in answer.brokers] == [
        (1, "c1", 9093),
        (2, "c2", 9093),
    ]
    assert (answer.controller_id, answer.error_code, answer.endpoint_type) == (2, 0, 2)
    assert (tell(1).error_code, tell(1).brokers) == (114, ())
    assert (tell(7).error_code, tell(7).brokers) == (115, ())


@pytest.mark.parametrize(("endpoint_type", "code"), [(2, 114), (7, 115)])
def test_describe_cluster_tells_brokers_only(image, endpoint_type, code):
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=endpoint_type
    )
    response = view.describe_cluster_response(image, request, "cluster")
    assert (response.error_code, response.brokers) == (code, ())
    assert encode_response(response, correlation_id=1)


TABLE = {3: (0, 12), 18: (0, 4), 50: (0, 0), 51: (0, 0), 10000: (0, 0)}


@pytest.mark.parametrize("version", range(5))
def test_api_versions(version):
    """A.1 / A.7.11: our own keys are never listed."""
    request_schema = schema("api_versions", version, "ApiVersionsRequest")
    names = {item.name: "x" for item in fields(request_schema)}
    response = view.api_versions_response(TABLE, request_schema(**names))
    listed = [(k.api_key, k.min_version, k.max_version) for k in response.api_keys]
    assert listed == [(3, 0, 12), (18, 0, 4)]
    assert encode_response(response, correlation_id=1)


@pytest.mark.parametrize("version", [3, 4])
def test_features(image, version):
    """KIP-584: what the software supports, what is finalized, and as of which offset; before
    version 3 nothing of it."""
    image = apply(image, FeatureLevelRecord(name="metadata.format", feature_level=2), 99)
    request_schema = schema("api_versions", version, "ApiVersionsRequest")
    response = view.api_versions_response(TABLE, blank(request_schema), image, 100)
    assert encode_response(response, correlation_id=1)
    (supported,) = response.supported_features
    assert (supported.name, supported.min_version, supported.max_version) == (
        "metadata.format",
        1,
        2,
    )
    (finalized,) = response.finalized_features
    assert (finalized.max_version_level, finalized.min_version_level) == (2, 2)
    assert response.finalized_features_epoch == 100


def test_api_versions_of_the_future():
    """B.9.1: error 35 in the v0 body, with the versions that are known."""
    response = view.api_versions_refusal(TABLE)
    assert (response.__version__, response.error_code) == (0, 35)
    assert [k.max_version for k in response.api_keys if k.api_key == 18] == [4]


def test_fenced_broker_refuses_definitely(image):
    """A.7.5: 41 an item for creates and deletes, top-level for DescribeCluster."""
    create = schema("create_topics", 7, "CreateTopicsRequest")
    topic = schema("create_topics", 7, "CreatableTopic")(
        name="a", num_partitions=1, replication_factor=1, assignments=(), configs=()
    )
    assert [t.error_code for t in view.refusal(create(topics=(topic,))).topics] == [41]
    delete = schema("delete_topics", 4, "DeleteTopicsRequest")(
        topic_names=("a", "b"), timeout=datetime.timedelta(seconds=1)
    )
    refused = view.refusal(delete)
    assert [r.error_code for r in refused.responses] == [41, 41]
    assert encode_response(refused, correlation_id=1)
    describe = DescribeClusterRequest(include_cluster_authorized_operations=False)
    refused = view.refusal(describe)
    assert refused.error_code == 8 and refused.brokers == ()
    assert encode_response(refused, correlation_id=1)


def test_fenced_broker_closes_on_metadata():
    """A.7.5: below v13 there is no room for a top-level error."""
    flags = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    assert view.refusal(MetadataRequest(topics=None, **flags)) is None
    request = schema("metadata", 13, "MetadataRequest")(topics=None, **flags)
    assert view.refusal(request).error_code == 8
