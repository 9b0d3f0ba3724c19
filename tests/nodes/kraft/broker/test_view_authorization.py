"""What clients may see of the metadata, the configurations and the access rules.

Whoever may not, sees 29 or 31, never data (A.1.19).
"""

from __future__ import annotations

import uuid

import pytest
from kio.schema.describe_acls.v3.request import DescribeAclsRequest
from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic

from nodes.kraft.broker import view
from nodes.kraft.broker.acls import describe_acls
from nodes.kraft.broker.configs import describe_configs
from nodes.kraft.controller.answers import blank, item_schema
from nodes.kraft.controller.permission import everything
from nodes.kraft.metadata.image import EMPTY, apply
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire.codec import encode_response, request_schema
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.records import (
    AccessControlRecord,
    BrokerRecord,
    ConfigRecord,
    EndPoint,
    PartitionRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

SEEN, HIDDEN = uuid.UUID(int=70), uuid.UUID(int=71)


@pytest.fixture(scope="module")
def image():
    records = []
    for broker_id in (4, 5):
        point = EndPoint(name="C", host=f"b{broker_id}", port=9092, security_protocol=0)
        epoch = len(records)
        records.append(
            BrokerRecord(broker_id=broker_id, broker_epoch=epoch, end_points=(point,), rack=None)
        )
        if broker_id == 4:
            records.append(UnfenceBrokerRecord(broker_id=broker_id, broker_epoch=epoch))
    for name, topic_id in (("seen", SEEN), ("hidden", HIDDEN)):
        records.append(TopicRecord(name=name, topic_id=topic_id, deleting=False))
        records.append(
            PartitionRecord(
                partition_id=0, topic_id=topic_id, replicas=(4,), isr=(4,), leader=4, leader_epoch=0
            )
        )
        records.append(
            ConfigRecord(resource_type=2, resource_name=name, name="retention.ms", value="5")
        )
    records.append(ConfigRecord(resource_type=4, resource_name="", name="log.roll.ms", value="77"))
    for name in (None, "seen"):
        records.append(
            AccessControlRecord(
                resource_type=2,
                resource_name=name,
                pattern_type=3,
                principal="User:alice",
                host="*",
                operation=3,
                permission_type=3,
            )
        )
    image = EMPTY
    for offset, record in enumerate(records):
        image = apply(image, record, offset)
    return image


def only(*rights):
    """(operation, resource name) each."""

    def allows(operation, resource_type, name):
        assert (name == CLUSTER_NAME) == (resource_type == ResourceType.CLUSTER)
        return (operation, name) in rights

    return allows


def metadata(image, topics, allows, operations=False):
    response = view.metadata_response(
        image,
        MetadataRequest(
            topics=topics,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=operations,
        ),
        "cluster",
        allows=allows,
    )
    assert encode_response(response, correlation_id=1)
    return response.topics


def named(*names):
    return tuple(MetadataRequestTopic(topic_id=None, name=name) for name in names)


def by_id(*ids):
    return tuple(MetadataRequestTopic(topic_id=ident, name=None) for ident in ids)


SEES = only((Operation.DESCRIBE, "seen"))


def test_all_topics_are_those_that_one_may_see(image):
    assert [each.name for each in metadata(image, None, SEES)] == ["seen"]
    assert metadata(image, None, only()) == ()
    assert len(metadata(image, None, everything)) == 2


def test_a_topic_that_one_may_not_see_is_refused_by_name(image):
    """29 whether or not there is such a topic, with neither id nor partitions."""
    reported = metadata(image, named("hidden", "missing", "seen"), SEES)
    assert [each.error_code for each in reported] == [29, 29, 0]
    for each in reported[:2]:
        assert (each.topic_id, each.partitions) == (None, ())
    assert len(reported[2].partitions) == 1


def test_a_topic_that_one_may_not_see_is_refused_by_id(image):
    """29 without its name."""
    reported = metadata(image, by_id(HIDDEN, SEEN, uuid.UUID(int=9)), SEES)
    assert [each.error_code for each in reported] == [29, 0, 100]
    assert (reported[0].name, reported[0].partitions) == (None, ())


def test_authorized_operations_of_a_topic(image):
    """KIP-430: a bit an operation; -2^31 where nobody asked."""
    may = only((Operation.DESCRIBE, "seen"), (Operation.READ, "seen"))
    (reported,) = metadata(image, named("seen"), may, operations=True)
    assert reported.topic_authorized_operations == (1 << 8) | (1 << 3)
    (reported,) = metadata(image, named("seen"), may)
    assert reported.topic_authorized_operations == -(2**31)


def cluster(image, allows, operations=True, fenced=False):
    response = view.describe_cluster_response(
        image,
        DescribeClusterRequest(
            include_cluster_authorized_operations=operations,
            endpoint_type=1,
            include_fenced_brokers=fenced,
        ),
        "cluster",
        allows=allows,
    )
    assert encode_response(response, correlation_id=1)
    return response


def test_authorized_operations_of_the_cluster(image):
    assert cluster(image, only()).cluster_authorized_operations == 0
    may = only((Operation.DESCRIBE, CLUSTER_NAME), (Operation.CREATE, CLUSTER_NAME))
    assert cluster(image, may).cluster_authorized_operations == (1 << 8) | (1 << 5)
    assert cluster(image, may, operations=False).cluster_authorized_operations == -(2**31)


def test_fenced_brokers_only_for_who_asks(image):
    assert [each.broker_id for each in cluster(image, everything).brokers] == [4]
    reported = cluster(image, everything, fenced=True).brokers
    assert [(each.broker_id, each.is_fenced) for each in reported] == [(4, False), (5, True)]


# --- configurations -----------------------------------------------------------------------


def configs(image, *resources, allows=everything, keys=None, synonyms=True):
    response = describe_configs(
        image,
        DescribeConfigsRequest(
            resources=tuple(
                DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=keys
                )
                for kind, name in resources
            ),
            include_synonyms=synonyms,
        ),
        broker_id=4,
        static={"broker.id": "4"},
        allows=allows,
    )
    assert encode_response(response, correlation_id=1)
    return response.results


def test_configurations_of_a_topic(image):
    """Its own values before its brokers', before the defaults."""
    (result,) = configs(image, (2, "seen"))
    reported = {each.name: each for each in result.configs}
    assert (reported["retention.ms"].value, reported["retention.ms"].config_source) == ("5", 1)
    assert (reported["segment.ms"].value, reported["segment.ms"].config_source) == ("77", 3)
    assert (
        reported["min.insync.replicas"].value,
        reported["min.insync.replicas"].config_source,
    ) == (
        "1",
        5,
    )
    assert not reported["retention.ms"].read_only
    assert [each.source for each in reported["retention.ms"].synonyms] == [1, 5]
    assert {"cleanup.policy", "max.message.bytes", "unclean.leader.election.enable"} <= set(
        reported
    )


@pytest.mark.parametrize("keys", [None, ()])
def test_no_names_ask_for_all(image, keys):
    (result,) = configs(image, (2, "seen"), keys=keys)
    assert len(result.configs) > 20
    (result,) = configs(image, (2, "seen"), keys=("segment.ms", "no.such"))
    assert [each.name for each in result.configs] == ["segment.ms"]


def test_configurations_of_brokers(image):
    (mine, all_brokers, another) = configs(image, (4, "4"), (4, ""), (4, "5"), synonyms=False)
    reported = {each.name: each for each in mine.configs}
    assert (reported["log.roll.ms"].value, reported["log.roll.ms"].config_source) == ("77", 3)
    assert reported["broker.id"].read_only
    assert reported["broker.id"].synonyms == ()
    assert [(each.name, each.value) for each in all_brokers.configs] == [("log.roll.ms", "77")]
    assert (another.error_code, another.configs) == (42, ())


def test_configurations_that_there_are_not(image):
    results = configs(image, (2, "missing"), (3, "seen"))
    assert [each.error_code for each in results] == [3, 42]


def test_configurations_that_one_may_not_see(image):
    """29 for topics, there or not; 31 for brokers."""
    resources = [(2, "seen"), (2, "hidden"), (2, "missing"), (4, "4")]
    results = configs(image, *resources, allows=only((Operation.DESCRIBE_CONFIGS, "seen")))
    assert [each.error_code for each in results] == [0, 29, 29, 31]
    assert all(each.configs == () for each in results[1:])


# --- access rules -------------------------------------------------------------------------


def acls(image, name=None, *, enabled=True, allows=everything, kind=1):
    request = DescribeAclsRequest(
        resource_type_filter=kind,
        resource_name_filter=name,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    response = describe_acls(image, request, enabled=enabled, allows=allows)
    assert encode_response(response, correlation_id=1)
    return response


def test_rules_by_resource(image):
    """A.1.92: the default resource is told as `*`."""
    reported = acls(image)
    assert [each.resource_name for each in reported.resources] == ["*", "seen"]
    assert [rule.principal for each in reported.resources for rule in each.acls] == [
        "User:alice"
    ] * 2
    assert [each.resource_name for each in acls(image, "seen").resources] == ["seen"]
    assert acls(image, "other").resources == ()


def test_rules_that_one_may_not_see(image):
    """DESCRIBE on the cluster, else 31; without an authorizer 54; a bad filter 42."""
    refused = acls(image, allows=only())
    assert (refused.error_code, refused.resources) == (31, ())
    assert acls(image, allows=only((Operation.DESCRIBE, CLUSTER_NAME))).error_code == 0
    assert (acls(image, enabled=False).error_code, acls(image, enabled=False).resources) == (54, ())
    assert acls(image, kind=0).error_code == 42


# --- a fenced broker ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [
        (19, 2, 41),
        (20, 1, 41),
        (29, 1, 8),
        (30, 1, 41),
        (31, 1, 41),
        (32, 1, 8),
        (33, 0, 41),
        (37, 0, 41),
        (44, 0, 41),
        (55, 0, 41),
        (60, 0, 8),
        (74, 0, 8),
        (74, 1, 8),
    ],
)
def test_a_fenced_broker_refuses_administration(key, version, expected):
    """A.7.5: a definite error for each item, or at the top, in the client's version."""
    request = one_item(request_schema(key, version))
    response = view.refusal(request)
    assert list(codes(response)) == [expected]
    assert response.__version__ == version
    assert encode_response(response, correlation_id=1)


def one_item(schema):
    for field in ("topics", "creations", "filters", "resources"):
        if field in schema.__dataclass_fields__:
            return blank(schema, **{field: (blank(item_schema(schema, field)),)})
    if "topic_names" in schema.__dataclass_fields__:
        return blank(schema, topic_names=("a",))
    return blank(schema)
