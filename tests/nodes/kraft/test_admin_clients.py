"""kafka-python's and confluent-kafka's admin clients against a cluster of real processes (B.8)."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from admin_clients import error_of, eventually, results
from confluent_kafka import KafkaException
from confluent_kafka import admin as confluent
from kafka import errors
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewPartitions,
    NewTopic,
    ResourcePattern,
)
from kafka.admin import ResourceType as KafkaResourceType
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.metadata.v12.request import MetadataRequest
from kio.static.primitive import i8
from loopback import Loopback, call, until

from nodes.kraft.runtime.auto_topics import creatable, create_request
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest

pytestmark = pytest.mark.xdist_group("admin-clients")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """The authorizer is off; one controller may be lost. Brokers look for the next one for long,
    and may serve as long: elections are slow on a machine that does much else."""
    directory = tmp_path_factory.mktemp("open")
    longer = {"broker_forward_timeout_ms": "80000", "broker_lease_ms": "80000"}
    with Loopback(directory, controllers=3, brokers=2, **longer) as cluster:
        cluster.ready()
        yield cluster


def bootstrap(cluster: Loopback) -> list[str]:
    return [f"127.0.0.1:{port}" for port in cluster.client.values()]


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
        (reported,) = python_admin.describe_topics(["p-topic"])
        return len(reported.get("partitions", ())) == 5

    eventually(described)
    with pytest.raises(errors.InvalidPartitionsError):
        python_admin.create_partitions({"p-topic": NewPartitions(5)})
    python_admin.delete_topics(["p-topic"])
    eventually(lambda: "p-topic" not in python_admin.list_topics())


def test_kafka_python_configs(python_admin: Any) -> None:
    """B.8: DescribeConfigs v4, IncrementalAlterConfigs v1."""
    python_admin.create_topics(
        [NewTopic("p-configs", 1, 1, topic_configs={"max.message.bytes": "5"})]
    )

    def resource(**configs: str) -> Any:
        return ConfigResource(ConfigResourceType.TOPIC, "p-configs", configs=configs or None)

    def value(name: str) -> str | None:
        reported = python_admin.describe_configs([resource()])
        found = reported["topic"]["p-configs"].get(name)
        return None if found is None else str(found["value"])

    eventually(lambda: value("max.message.bytes") == "5")
    python_admin.alter_configs([resource(**{"min.insync.replicas": "2"})])
    eventually(lambda: value("min.insync.replicas") == "2")
    assert value("max.message.bytes") == "5"
    reported = python_admin.alter_configs([resource(**{"max.message.bytes": "soon"})])
    assert reported["topic"]["p-configs"].startswith("[Error 40] InvalidConfigurationError")


def test_kafka_python_describes_the_cluster_and_the_quorum(
    cluster: Loopback, python_admin: Any
) -> None:
    """B.8: DescribeCluster, DescribeQuorum v2 (A.7.13: it asks for __cluster_metadata)."""
    reported = python_admin.describe_cluster()
    assert {each["broker_id"] for each in reported["brokers"]} == {4, 5}
    assert reported["controller_id"] in (4, 5)
    assert "ALTER_CONFIGS" in reported["authorized_operations"]
    quorum = python_admin.describe_metadata_quorum()
    (partition,) = quorum["topics"][0]["partitions"]
    assert f"c{partition['leader_id']}" == until(cluster.active)
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
    reported = python_admin.create_acls([rule])
    assert reported["succeeded"] == []
    assert reported["failed"] == [errors.SecurityDisabledError]


# --- confluent-kafka ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def confluent_admin(cluster: Loopback) -> confluent.AdminClient:
    return confluent.AdminClient({"bootstrap.servers": ",".join(bootstrap(cluster))})


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
        (reported,) = results(admin.describe_configs([resource()]))
        return {name: entry.value for name, entry in reported.items()}

    eventually(lambda: values()["cleanup.policy"] == "delete")
    append = confluent.ConfigEntry(
        "cleanup.policy", "compact", incremental_operation=confluent.AlterConfigOpType.APPEND
    )
    refused = admin.incremental_alter_configs([resource(incremental_configs=[append])])
    assert error_of(refused) == "INVALID_CONFIG"  # nothing is compacted here
    two = confluent.ConfigEntry(
        "min.insync.replicas", "2", incremental_operation=confluent.AlterConfigOpType.SET
    )
    results(admin.incremental_alter_configs([resource(incremental_configs=[two])]))
    eventually(lambda: values()["min.insync.replicas"] == "2")
    with pytest.warns(DeprecationWarning):
        results(admin.alter_configs([resource(set_config={"max.message.bytes": "77"})]))
    eventually(lambda: values()["max.message.bytes"] == "77")
    assert values()["min.insync.replicas"] == "1"
    wrong = confluent.ConfigEntry(
        "max.message.bytes", "soon", incremental_operation=confluent.AlterConfigOpType.SET
    )
    refused = admin.incremental_alter_configs([resource(incremental_configs=[wrong])])
    assert error_of(refused) == "INVALID_CONFIG"


def test_confluent_broker_configs(confluent_admin: confluent.AdminClient) -> None:
    """Each broker is asked for its own."""
    admin = confluent_admin
    broker = confluent.ConfigResource.Type.BROKER

    def reported(ident: str) -> Any:
        (entries,) = results(admin.describe_configs([confluent.ConfigResource(broker, ident)]))
        return entries

    for ident in ("4", "5"):
        entry = confluent.ConfigEntry(
            "log.segment.bytes",
            f"12345{ident}",
            incremental_operation=confluent.AlterConfigOpType.SET,
        )
        resource = confluent.ConfigResource(broker, ident, incremental_configs=[entry])
        results(admin.incremental_alter_configs([resource]))
        eventually(lambda i=ident: reported(i)["log.segment.bytes"].value == f"12345{i}")  # type: ignore[misc]
        assert reported(ident)["broker.id"].value == ident
        assert reported(ident)["broker.id"].is_read_only


def test_confluent_describes_the_cluster(confluent_admin: confluent.AdminClient) -> None:
    reported = confluent_admin.describe_cluster(include_authorized_operations=True).result(120)
    assert sorted(node.id for node in reported.nodes) == [4, 5]
    assert confluent.AclOperation.ALTER in reported.authorized_operations


def test_a_change_is_answered_when_the_broker_shows_it(cluster: Loopback) -> None:
    """Asked once, right behind the answer, at the broker that answered: none is told that there is
    no such topic. (A client's library asks any broker that it knows of.)"""
    port = cluster.client["b1"]
    everything = MetadataRequest(
        topics=None,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    for name in (f"shown-{number}" for number in range(10)):
        answer = call(port, create_request([creatable(name, 1, 1)], 60_000))
        assert answer.topics[0].error_code == 0
        assert name in [topic.name for topic in call(port, everything).topics]


def test_what_changes_nothing_is_answered_at_once(cluster: Loopback) -> None:
    """A value that is set again: no record, no image to wait for, which would take all of the time
    that brokers look for answers here. The quickest of ten: others may be kept from the machine."""
    port = cluster.client["b1"]
    call(port, create_request([creatable("unchanged", 1, 1)], 60_000))
    same = alter_topic("unchanged", "max.message.bytes", "1000")
    assert call(port, same).responses[0].error_code == 0
    took_s = []
    for _ in range(10):
        began = time.monotonic()
        assert call(port, same).responses[0].error_code == 0
        took_s.append(time.monotonic() - began)
    assert min(took_s) < 0.4


def alter_topic(name: str, key: str, value: str) -> IncrementalAlterConfigsRequest:
    entry = AlterableConfig(name=key, config_operation=i8(0), value=value)
    resource = AlterConfigsResource(resource_type=i8(2), resource_name=name, configs=(entry,))
    return IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)


# --- the controller changes ---------------------------------------------------------------


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_clients_do_not_see_the_controller_change(
    cluster: Loopback, confluent_admin: confluent.AdminClient, fault: str
) -> None:
    """A.5.10, B.9.3: librdkafka hands 41 to the application, so the broker absorbs the change:
    every create succeeds while the controller is killed or stands still."""
    failures: list[str] = []
    stop = threading.Event()
    done = [0]

    def create() -> None:
        while not stop.is_set():
            name = f"{fault}-{done[0]}"
            options = {"operation_timeout": 90, "request_timeout": 100}
            try:
                topic = confluent.NewTopic(name, 1, 1)
                for future in confluent_admin.create_topics([topic], **options).values():
                    future.result(120)
            except KafkaException as error:
                failures.append(error.args[0].name())
            done[0] += 1

    worker = threading.Thread(target=create)
    worker.start()
    victim = until(cluster.active)
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
        worker.join(120)
        if fault == "kill":
            cluster.start(victim)
        else:
            cluster.signal(victim, signal.SIGCONT)
    assert "NOT_CONTROLLER" not in failures
    assert failures == []
    names = {f"{fault}-{number}" for number in range(done[0])}
    eventually(lambda: names <= set(confluent_admin.list_topics(timeout=5).topics))
    cluster.ready()
    if fault == "pause":
        woken_does_no_damage(cluster, victim)


def woken_does_no_damage(cluster: Loopback, victim: str) -> None:
    """It leads no more, refuses what is asked of it, and holds what the others hold."""
    number = int(cluster.state(victim)["replica_id"])
    beat: Any = ControllerHeartbeatRequest(controller_id=number % 3 + 1, last_snapshot_offset=0)  # type: ignore[arg-type]
    until(lambda: call(cluster.port(victim), beat).error_code == ErrorCode.not_controller)
    assert cluster.state(victim)["active_epoch"] is None

    def held(name: str) -> tuple[int, str]:
        state = cluster.state(name)
        return state["applied"], state["digest"]

    until(lambda: held(victim) == held(cluster.active()))
