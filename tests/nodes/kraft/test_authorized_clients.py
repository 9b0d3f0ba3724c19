"""Access rules over the wire: admin clients, forwarded requests, logins, strangers (A.1.19)."""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from admin_clients import error_of, eventually, results
from confluent_kafka import admin as confluent
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
)
from kafka.admin import ResourceType as KafkaResourceType
from kio.schema.create_acls.v3.request import AclCreation, CreateAclsRequest
from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest
from kio.schema.delete_records.v2.request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.static.primitive import i8, i32Timedelta
from loopback import Loopback, call, until

from nodes.kraft.controller.answers import blank
from nodes.kraft.wire.codec import (
    decode_response,
    encode_entity,
    encode_request,
    request_schema,
)
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.forwarding import ForwardedPrincipal, packed_host

pytestmark = pytest.mark.xdist_group("authorized-clients")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """Nobody has to say who they are, so everyone is ANONYMOUS: above the rules at the
    controllers, where brokers are, under them at broker b1; b2's clients are above them."""
    cluster = Loopback(
        tmp_path_factory.mktemp("guarded"), controllers=1, brokers=2, authorizer_enabled="true"
    )
    for name in ("c1", "b2"):
        cluster.settings[name]["super.users"] = "User:ANONYMOUS;User:root"
    with cluster:
        cluster.ready()
        yield cluster


def forwarded(cluster: Loopback, request: Any, who: tuple[str, str], host: str = "") -> Any:
    """The answer to a request that a broker forwards for that principal."""
    principal = ForwardedPrincipal(type=who[0], name=who[1], request_id=uuid.uuid4())
    envelope = EnvelopeRequest(
        request_data=encode_request(request, correlation_id=1, client_id="test"),
        request_principal=encode_entity(principal),
        client_host_address=packed_host(host),
    )
    answer = call(cluster.control[1], envelope)
    assert int(answer.error_code) == 0
    return decode_response(request.__api_key__, request.__version__, answer.response_data)[1]


def create(name: str) -> CreateTopicsRequest:
    topic = blank(CreatableTopic, name=name, num_partitions=1, replication_factor=1)
    timeout = i32Timedelta.parse(datetime.timedelta(seconds=5))
    return CreateTopicsRequest(topics=(topic,), timeout=timeout)


def allow(cluster: Loopback, name: str, operation: int, who: str, kind: int = 2) -> None:
    rule = AclCreation(
        resource_type=kind,  # type: ignore[arg-type]
        resource_name=name,
        principal=who,
        host="*",
        operation=operation,  # type: ignore[arg-type]
        permission_type=3,  # type: ignore[arg-type]
    )
    reported = forwarded(cluster, CreateAclsRequest(creations=(rule,)), ("User", "root"))
    assert list(codes(reported)) == [0]


def test_a_forwarded_request_is_judged_as_the_client(guarded: Loopback) -> None:
    """A.1.19: over the wire; the rule counts once it is committed, which its answer says."""
    assert list(codes(forwarded(guarded, create("w1"), ("User", "alice")))) == [29]
    assert list(codes(forwarded(guarded, create("w1"), ("User", "root")))) == [0]
    allow(guarded, "w2", 5, "User:alice")
    assert list(codes(forwarded(guarded, create("w2"), ("User", "alice")))) == [0]
    assert list(codes(forwarded(guarded, create("w3"), ("User", "alice")))) == [29]


def test_clients_see_what_the_rules_let_them(guarded: Loopback) -> None:
    """29 where a hidden topic is named, and not a word of it where all are asked for."""
    for name in ("seen", "hidden"):
        assert list(codes(forwarded(guarded, create(name), ("User", "root")))) == [0]
    allow(guarded, "seen", 8, "User:ANONYMOUS")

    def ask(broker: str, *names: str) -> dict[str, int]:
        topics = tuple(MetadataRequestTopic(topic_id=None, name=name) for name in names)  # type: ignore[arg-type]
        request = MetadataRequest(
            topics=topics or None,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        reported = call(guarded.client[broker], request).topics
        return {str(each.name): int(each.error_code) for each in reported}

    eventually(lambda: {"seen", "hidden"} <= set(ask("b2")))
    eventually(lambda: ask("b1") == {"seen": 0})
    assert ask("b1", "seen", "hidden", "missing") == {"seen": 0, "hidden": 29, "missing": 29}


def test_config_resources_are_listed_to_whom_the_rules_let(guarded: Loopback) -> None:
    """DESCRIBE_CONFIGS on the cluster, as in Kafka; b2 serves a super user."""
    assert list(codes(forwarded(guarded, create("listed"), ("User", "root")))) == [0]

    def ask(broker: str, *types: int) -> Any:
        request = ListConfigResourcesRequest(resource_types=tuple(map(i8, types)))
        answer = call(guarded.client[broker], request)
        found = {(each.resource_type, each.resource_name) for each in answer.config_resources}
        return int(answer.error_code), found

    eventually(lambda: (2, "listed") in ask("b2")[1])
    assert ask("b2", 4) == (0, {(4, str(broker)) for broker in brokers(guarded)})
    assert ask("b2", 3) == (35, set())
    assert ask("b1") == (31, set())
    allow(guarded, "kafka-cluster", 10, "User:ANONYMOUS", kind=4)
    eventually(lambda: (2, "listed") in ask("b1", 2)[1])


def brokers(cluster: Loopback) -> list[int]:
    ids = (settings.get("broker.id") for settings in cluster.settings.values())
    return [int(each) for each in ids if each is not None]


def test_records_are_deleted_by_whom_the_rules_let(guarded: Loopback) -> None:
    """DELETE on the topic, as in Kafka; who may not is not told whether the topic is there."""
    assert list(codes(forwarded(guarded, create("kept"), ("User", "root")))) == [0]

    def ask(broker: str, topic: str) -> int:
        partition = blank(DeleteRecordsPartition, partition_index=0, offset=-1)
        wanted = blank(DeleteRecordsTopic, name=topic, partitions=(partition,))
        timeout = i32Timedelta.parse(datetime.timedelta(seconds=5))
        request = DeleteRecordsRequest(topics=(wanted,), timeout=timeout)
        return int(call(guarded.client[broker], request).topics[0].partitions[0].error_code)

    eventually(lambda: {ask("b1", "kept"), ask("b2", "kept")} <= {29, 0, 6})
    assert (ask("b1", "kept"), ask("b1", "missing"), ask("b2", "missing")) == (29, 29, 3)
    allow(guarded, "kept", 6, "User:ANONYMOUS")
    eventually(lambda: ask("b1", "kept") in (0, 6))
    assert 0 in (ask("b1", "kept"), ask("b2", "kept"))


def may_see_rules(cluster: Loopback) -> None:
    """Clients ask any broker for the rules; at b1 that takes one, too."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    def reported() -> bool:
        return call(cluster.client["b1"], request).cluster_authorized_operations > 0

    if not reported():
        allow(cluster, "kafka-cluster", 8, "User:ANONYMOUS", kind=4)
    until(reported)


def test_kafka_python_access_rules(guarded: Loopback) -> None:
    """B.8: CreateAcls, DescribeAcls, DeleteAcls (A.1.92)."""
    may_see_rules(guarded)
    admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{guarded.client['b2']}")
    try:
        python_access_rules(admin)
    finally:
        admin.close()


def python_access_rules(admin: Any) -> None:
    rules = [
        ACL(
            principal="User:bob",
            host="*",
            operation=ACLOperation.READ,
            permission_type=ACLPermissionType.ALLOW,
            resource_pattern=ResourcePattern(KafkaResourceType.TOPIC, name),
        )
        for name in ("*", "p-rule")
    ]
    reported = admin.create_acls(rules)
    assert (len(reported["succeeded"]), reported["failed"]) == (2, [])
    anything = ACLFilter(
        principal="User:bob",
        host=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
        resource_pattern=ResourcePatternFilter(
            KafkaResourceType.ANY, None, pattern_type=ACLResourcePatternType.ANY
        ),
    )
    eventually(lambda: len(admin.describe_acls(anything)[0]) == 2)
    names = {rule.resource_pattern.resource_name for rule in admin.describe_acls(anything)[0]}
    assert names == {"*", "p-rule"}
    ((_, matched, _),) = admin.delete_acls([anything])
    assert len(matched) == 2
    eventually(lambda: admin.describe_acls(anything)[0] == [])


def test_confluent_access_rules(guarded: Loopback) -> None:
    may_see_rules(guarded)
    admin = confluent.AdminClient({"bootstrap.servers": f"127.0.0.1:{guarded.client['b2']}"})
    rule = confluent.AclBinding(
        confluent.ResourceType.TOPIC,
        "c-rule",
        confluent.ResourcePatternType.PREFIXED,
        "User:carol",
        "*",
        confluent.AclOperation.WRITE,
        confluent.AclPermissionType.DENY,
    )
    results(admin.create_acls([rule]))
    wanted = confluent.AclBindingFilter(
        confluent.ResourceType.ANY,
        None,
        confluent.ResourcePatternType.ANY,
        "User:carol",
        None,
        confluent.AclOperation.ANY,
        confluent.AclPermissionType.ANY,
    )
    eventually(lambda: admin.describe_acls(wanted).result(120) == [rule])
    assert results(admin.delete_acls([wanted])) == [[rule]]
    eventually(lambda: admin.describe_acls(wanted).result(120) == [])


def test_a_controller_refuses_strangers(tmp_path: Path) -> None:
    """A.1.19: 31 to every operation, over the wire, and the log stays as it is."""
    with Loopback(tmp_path, controllers=1, authorizer_enabled="true") as cluster:
        until(cluster.active)
        end = cluster.state("c1")["log_end"]
        for key, version in ((50, 0), (51, 0), (52, 2), (56, 3), (58, 0), (67, 0), (10000, 0)):
            reported = call(cluster.control[1], blank(request_schema(key, version)))
            assert list(codes(reported)) == [31], (key, version)
        time.sleep(0.1)
        assert cluster.state("c1")["log_end"] == end


def test_principals_of_a_login_are_judged(tmp_path: Path) -> None:
    """A.1.19: who logged in at the broker is who the controller judges, through the envelope."""
    cluster = Loopback(tmp_path, controllers=1, brokers=1, authorizer_enabled="true")
    cluster.settings["c1"]["super.users"] = "User:ANONYMOUS;User:admin"
    cluster.settings["b1"] |= {
        "super.users": "User:admin",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
        "controller.listeners": "CONTROLLER",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.users": "admin=secret;alice=secret",
        "sasl.username": "admin",
        "sasl.password": "secret",
    }
    with cluster:
        admin, alice = (login(cluster, who) for who in ("admin", "alice"))
        topics = [confluent.NewTopic("mine", 1, 1)]
        eventually(lambda: admin.list_topics(timeout=2).brokers)
        assert error_of(alice.create_topics(topics)) == "TOPIC_AUTHORIZATION_FAILED"
        rules = [
            confluent.AclBinding(
                confluent.ResourceType.TOPIC,
                "mine",
                confluent.ResourcePatternType.LITERAL,
                "User:alice",
                "127.0.0.1",
                operation,
                confluent.AclPermissionType.ALLOW,
            )
            for operation in (confluent.AclOperation.CREATE, confluent.AclOperation.READ)
        ]
        assert error_of(alice.create_acls(rules)) == "CLUSTER_AUTHORIZATION_FAILED"
        results(admin.create_acls(rules))
        results(alice.create_topics(topics))
        results(admin.create_topics([confluent.NewTopic("hidden", 1, 1)]))
        eventually(lambda: {"mine", "hidden"} <= set(admin.list_topics(timeout=2).topics))
        assert set(alice.list_topics(timeout=60).topics) == {"mine"}


def login(cluster: Loopback, who: str) -> confluent.AdminClient:
    return confluent.AdminClient(
        {
            "bootstrap.servers": f"127.0.0.1:{cluster.client['b1']}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": who,
            "sasl.password": "secret",
        }
    )
