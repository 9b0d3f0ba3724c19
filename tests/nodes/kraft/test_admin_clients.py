"""kafka-python's and confluent-kafka's admin clients against a cluster of real processes (B.8)."""

from __future__ import annotations

import datetime
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import admin as confluent
from kafka import errors
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewPartitions,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
)
from kafka.admin import ResourceType as KafkaResourceType
from kio.schema.create_acls.v3.request import AclCreation, CreateAclsRequest
from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest
from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.static.primitive import i32Timedelta
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

pytestmark = pytest.mark.xdist_group("admin-clients")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """The authorizer is off; one controller may be lost. Brokers look for the next one for long:
    elections are slow on a machine that does much else."""
    directory = tmp_path_factory.mktemp("open")
    longer = {"broker_forward_timeout_ms": "15000"}
    with Loopback(directory, controllers=3, brokers=2, **longer) as cluster:
        cluster.ready()
        yield cluster


def bootstrap(cluster: Loopback) -> list[str]:
    return [f"127.0.0.1:{port}" for port in cluster.client.values()]


def eventually(condition: Callable[[], Any]) -> None:
    """Wait until the brokers' caches have it (B.9.10); until then they may say anything."""

    def holds() -> bool:
        try:
            return bool(condition())
        except (KafkaException, errors.KafkaError):
            return False

    until(holds)


def results(futures: dict[Any, Any]) -> list[Any]:
    return [future.result(10) for future in futures.values()]


# --- kafka-python -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def python_admin(cluster: Loopback) -> Iterator[Any]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap(cluster))
    yield admin
    admin.close()


def test_kafka_python_topics(python_admin: Any) -> None:
    """B.8, B.9.9: CreateTopics, Metadata, CreatePartitions, DeleteTopics."""
    made = python_admin.create_topics([NewTopic("p-topic", 2, 2)])
    (topic,) = made["topics"]
    assert (topic["error_code"], topic["num_partitions"]) == (0, 2)
    assert uuid.UUID(str(topic["topic_id"])).int != 0
    python_admin.create_partitions({"p-topic": NewPartitions(5)})

    def described() -> bool:
        (told,) = python_admin.describe_topics(["p-topic"])
        return len(told.get("partitions", ())) == 5

    eventually(described)
    with pytest.raises(errors.InvalidPartitionsError):
        python_admin.create_partitions({"p-topic": NewPartitions(5)})
    python_admin.delete_topics(["p-topic"])
    eventually(lambda: "p-topic" not in python_admin.list_topics())


def test_kafka_python_configs(python_admin: Any) -> None:
    """B.8: DescribeConfigs v4, IncrementalAlterConfigs v1."""
    python_admin.create_topics([NewTopic("p-configs", 1, 1, topic_configs={"retention.ms": "5"})])

    def resource(**configs: str) -> Any:
        return ConfigResource(ConfigResourceType.TOPIC, "p-configs", configs=configs or None)

    def value(name: str) -> str | None:
        told = python_admin.describe_configs([resource()])
        found = told["topic"]["p-configs"].get(name)
        return None if found is None else str(found["value"])

    eventually(lambda: value("retention.ms") == "5")
    python_admin.alter_configs([resource(**{"min.insync.replicas": "2"})])
    eventually(lambda: value("min.insync.replicas") == "2")
    assert value("retention.ms") == "5"
    told = python_admin.alter_configs([resource(**{"retention.ms": "soon"})])
    assert told["topic"]["p-configs"].startswith("[Error 40] InvalidConfigurationError")


def test_kafka_python_describes_the_cluster_and_the_quorum(
    cluster: Loopback, python_admin: Any
) -> None:
    """B.8: DescribeCluster, DescribeQuorum v2 (A.7.13: it asks for __cluster_metadata)."""
    told = python_admin.describe_cluster()
    assert {each["broker_id"] for each in told["brokers"]} == {4, 5}
    assert told["controller_id"] in (4, 5)
    assert "ALTER_CONFIGS" in told["authorized_operations"]
    quorum = python_admin.describe_metadata_quorum()
    (partition,) = quorum["topics"][0]["partitions"]
    assert f"c{partition['leader_id']}" == cluster.active()
    assert {each["replica_id"] for each in partition["current_voters"]} == {1, 2, 3}


def test_kafka_python_access_rules_need_an_authorizer(python_admin: Any) -> None:
    """54, as in Kafka: nobody enforces them."""
    rule = ACL(
        principal="User:alice",
        host="*",
        operation=ACLOperation.READ,
        permission_type=ACLPermissionType.ALLOW,
        resource_pattern=ResourcePattern(KafkaResourceType.TOPIC, "t"),
    )
    told = python_admin.create_acls([rule])
    assert told["succeeded"] == []
    assert told["failed"] == [errors.SecurityDisabledError]


# --- confluent-kafka ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def confluent_admin(cluster: Loopback) -> confluent.AdminClient:
    return confluent.AdminClient({"bootstrap.servers": ",".join(bootstrap(cluster))})


def error_of(futures: dict[Any, Any]) -> str:
    with pytest.raises(KafkaException) as caught:
        results(futures)
    return str(caught.value.args[0].name())


def test_confluent_topics(confluent_admin: confluent.AdminClient) -> None:
    """B.8: CreateTopics v4, Metadata, CreatePartitions v2, DeleteTopics v4."""
    admin = confluent_admin
    results(admin.create_topics([confluent.NewTopic("c-topic", 2, 2)]))
    again = admin.create_topics([confluent.NewTopic("c-topic", 2, 2)])
    assert error_of(again) == "TOPIC_ALREADY_EXISTS"
    results(admin.create_partitions([confluent.NewPartitions("c-topic", 3)]))
    eventually(
        lambda: len(admin.list_topics("c-topic", timeout=5).topics["c-topic"].partitions) == 3
    )
    results(admin.delete_topics(["c-topic"]))
    eventually(lambda: "c-topic" not in admin.list_topics(timeout=5).topics)


def test_confluent_configs(confluent_admin: confluent.AdminClient) -> None:
    """B.8: DescribeConfigs v1, IncrementalAlterConfigs v1, and the legacy AlterConfigs v2."""
    admin = confluent_admin
    results(admin.create_topics([confluent.NewTopic("c-configs", 1, 1)]))

    def resource(**how: Any) -> confluent.ConfigResource:
        return confluent.ConfigResource(confluent.ConfigResource.Type.TOPIC, "c-configs", **how)

    def values() -> dict[str, str]:
        (told,) = results(admin.describe_configs([resource()]))
        return {name: entry.value for name, entry in told.items()}

    eventually(lambda: values()["cleanup.policy"] == "delete")
    append = confluent.ConfigEntry(
        "cleanup.policy", "compact", incremental_operation=confluent.AlterConfigOpType.APPEND
    )
    results(admin.incremental_alter_configs([resource(incremental_configs=[append])]))
    eventually(lambda: values()["cleanup.policy"] == "delete,compact")
    with pytest.warns(DeprecationWarning):
        results(admin.alter_configs([resource(set_config={"retention.ms": "77"})]))
    eventually(lambda: values()["retention.ms"] == "77")
    assert values()["cleanup.policy"] == "delete"
    wrong = confluent.ConfigEntry(
        "retention.ms", "soon", incremental_operation=confluent.AlterConfigOpType.SET
    )
    refused = admin.incremental_alter_configs([resource(incremental_configs=[wrong])])
    assert error_of(refused) == "INVALID_CONFIG"


def test_confluent_broker_configs(confluent_admin: confluent.AdminClient) -> None:
    """Each broker is asked for its own."""
    admin = confluent_admin
    broker = confluent.ConfigResource.Type.BROKER

    def told(ident: str) -> Any:
        (entries,) = results(admin.describe_configs([confluent.ConfigResource(broker, ident)]))
        return entries

    for ident in ("4", "5"):
        entry = confluent.ConfigEntry(
            "log.roll.ms", f"12345{ident}", incremental_operation=confluent.AlterConfigOpType.SET
        )
        resource = confluent.ConfigResource(broker, ident, incremental_configs=[entry])
        results(admin.incremental_alter_configs([resource]))
        eventually(lambda i=ident: told(i)["log.roll.ms"].value == f"12345{i}")  # type: ignore[misc]
        assert told(ident)["broker.id"].value == ident
        assert told(ident)["broker.id"].is_read_only


def test_confluent_describes_the_cluster(confluent_admin: confluent.AdminClient) -> None:
    told = confluent_admin.describe_cluster(include_authorized_operations=True).result(10)
    assert sorted(node.id for node in told.nodes) == [4, 5]
    assert confluent.AclOperation.ALTER in told.authorized_operations


# --- the controller changes ---------------------------------------------------------------


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_clients_do_not_see_the_controller_change(
    cluster: Loopback, confluent_admin: confluent.AdminClient, fault: str
) -> None:
    """B.9.3: librdkafka hands 41 to the application, so the broker absorbs the change: every
    create succeeds while the controller is killed or stands still."""
    failures: list[str] = []
    stop = threading.Event()
    done = [0]

    def create() -> None:
        while not stop.is_set():
            name = f"{fault}-{done[0]}"
            options = {"operation_timeout": 20, "request_timeout": 25}
            try:
                topic = confluent.NewTopic(name, 1, 1)
                for future in confluent_admin.create_topics([topic], **options).values():
                    future.result(25)
            except KafkaException as error:
                failures.append(error.args[0].name())
            done[0] += 1

    worker = threading.Thread(target=create)
    worker.start()
    victim = cluster.active()
    try:
        until(lambda: done[0] >= 3)
        if fault == "kill":
            cluster.kill(victim)
        else:
            cluster.signal(victim, signal.SIGSTOP)
        before = done[0]
        until(lambda: done[0] >= before + 5)
    finally:
        stop.set()
        worker.join(30)
        if fault == "kill":
            cluster.start(victim)
        else:
            cluster.signal(victim, signal.SIGCONT)
    assert "NOT_CONTROLLER" not in failures
    assert failures == []
    names = {f"{fault}-{number}" for number in range(done[0])}
    eventually(lambda: names <= set(confluent_admin.list_topics(timeout=5).topics))
    cluster.ready()


# --- the authorizer -----------------------------------------------------------------------


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
    told = forwarded(cluster, CreateAclsRequest(creations=(rule,)), ("User", "root"))
    assert list(codes(told)) == [0]


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
        told = call(guarded.client[broker], request).topics
        return {str(each.name): int(each.error_code) for each in told}

    eventually(lambda: {"seen", "hidden"} <= set(ask("b2")))
    eventually(lambda: ask("b1") == {"seen": 0})
    assert ask("b1", "seen", "hidden", "missing") == {"seen": 0, "hidden": 29, "missing": 29}


def may_see_rules(cluster: Loopback) -> None:
    """Clients ask any broker for the rules; at b1 that takes one, too."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    def told() -> bool:
        return call(cluster.client["b1"], request).cluster_authorized_operations > 0

    if not told():
        allow(cluster, "kafka-cluster", 8, "User:ANONYMOUS", kind=4)
    until(told)


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
    told = admin.create_acls(rules)
    assert (len(told["succeeded"]), told["failed"]) == (2, [])
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
    eventually(lambda: admin.describe_acls(wanted).result(10) == [rule])
    assert results(admin.delete_acls([wanted])) == [[rule]]
    eventually(lambda: admin.describe_acls(wanted).result(10) == [])


def test_a_controller_refuses_strangers(tmp_path: Path) -> None:
    """A.1.19: 31 to every operation, over the wire, and the log stays as it is."""
    with Loopback(tmp_path, controllers=1, authorizer_enabled="true") as cluster:
        until(cluster.active)
        end = cluster.state("c1")["log_end"]
        for key, version in ((50, 0), (51, 0), (52, 2), (56, 3), (58, 0), (67, 0), (10000, 0)):
            told = call(cluster.control[1], blank(request_schema(key, version)))
            assert list(codes(told)) == [31], (key, version)
        time.sleep(0.1)
        assert cluster.state("c1")["log_end"] == end
