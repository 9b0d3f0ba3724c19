"""kafka-python and confluent-kafka, unchanged, against three controllers and three brokers.

One cluster for all tests, in the order of the file: the last one kills nodes.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import confluent_kafka as confluent
import confluent_kafka.admin as confluent_admin
import kafka
import kafka.admin as python_admin
import pytest
from kio.schema.errors import ErrorCode

from nodes.kafka.command_line import command
from tests.end_to_end.real_clients import (
    READERS,
    WAIT_S,
    GroupConsumer,
    LibrdkafkaConsumer,
    LibrdkafkaProducer,
    Producer,
    PythonConsumer,
    PythonProducer,
    Record,
    read_all_librdkafka,
    until,
)
from tests.end_to_end.real_cluster import (
    Cluster,
    commit,
    drain,
    kill_the_controller,
    kill_the_leader,
)

LIBRARIES = [(PythonProducer, PythonConsumer), (LibrdkafkaProducer, LibrdkafkaConsumer)]
NAMES = ["kafka-python", "confluent-kafka"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("clients")) as cluster:
        until(cluster.active)
        cluster.ready()
        yield cluster


# --- administration -----------------------------------------------------------------------


def test_kafka_pythons_admin(cluster):
    """B.8: topics, partitions, configurations, cluster, quorum, access rules, groups."""
    admin = python_admin.KafkaAdminClient(bootstrap_servers=cluster.servers)
    topic = python_admin.NewTopic("python-admin", num_partitions=2, replication_factor=3)
    (made,) = admin.create_topics([topic])["topics"]
    assert (made["error_code"], made["num_partitions"], made["replication_factor"]) == (0, 2, 3)
    with pytest.raises(kafka.errors.TopicAlreadyExistsError):
        admin.create_topics([topic])
    assert "python-admin" in until(admin.list_topics)
    admin.create_partitions({"python-admin": python_admin.NewPartitions(total_count=4)})

    def described() -> Any:
        (topic,) = admin.describe_topics(["python-admin"])
        return topic if len(topic["partitions"]) == 4 else None

    reported = until(described)
    assert (reported["topic_id"], reported["is_internal"]) == (made["topic_id"], False)
    assert all(len(each["isr_nodes"]) == 3 for each in reported["partitions"])

    resource = python_admin.ConfigResource
    changed = {"min.insync.replicas": "2"}
    admin.alter_configs([resource("TOPIC", "python-admin", configs=changed)])

    def configured() -> Any:
        configs = admin.describe_configs([resource("TOPIC", "python-admin")])
        return configs["topic"]["python-admin"].get("min.insync.replicas")

    assert until(configured)["value"] == "2"
    assert {each["broker_id"] for each in admin.describe_cluster()["brokers"]} == {4, 5, 6}
    (quorum,) = admin.describe_metadata_quorum()["topics"]
    (partition,) = quorum["partitions"]
    assert {each["replica_id"] for each in partition["current_voters"]} == {1, 2, 3}

    rule = python_admin.ACL(
        "User:reader",
        "*",
        python_admin.ACLOperation.READ,
        python_admin.ACLPermissionType.ALLOW,
        python_admin.ResourcePattern(python_admin.ResourceType.TOPIC, "python-admin"),
    )
    assert admin.create_acls([rule])["succeeded"] == [rule]
    ours = python_admin.ACLFilter(
        "User:reader",
        None,
        python_admin.ACLOperation.ANY,
        python_admin.ACLPermissionType.ANY,
        python_admin.ResourcePatternFilter(
            python_admin.ResourceType.ANY, None, python_admin.ACLResourcePatternType.ANY
        ),
    )
    assert until(lambda: admin.describe_acls(ours)[0]) == [rule]
    ((_, removed, error),) = admin.delete_acls([ours])
    assert (removed, error) == ([rule], kafka.errors.NoError)

    admin.delete_topics(["python-admin"])
    until(lambda: "python-admin" not in admin.list_topics())
    admin.close()


def test_confluent_kafkas_admin(cluster):
    """B.8: the same with the other library's calls and versions."""
    admin = confluent_admin.AdminClient({"bootstrap.servers": cluster.servers})

    def done(futures: dict[Any, Any]) -> list[Any]:
        return [future.result(20) for future in futures.values()]

    done(admin.create_topics([confluent_admin.NewTopic("c-admin", 2, 3)]))
    with pytest.raises(confluent.KafkaException) as refused:
        done(admin.create_topics([confluent_admin.NewTopic("c-admin", 2, 3)]))
    assert refused.value.args[0].code() == confluent.KafkaError.TOPIC_ALREADY_EXISTS
    done(admin.create_partitions([confluent_admin.NewPartitions("c-admin", 4)]))
    until(lambda: len(admin.list_topics("c-admin", timeout=5).topics["c-admin"].partitions) == 4)

    kinds = confluent_admin.ConfigResource.Type
    change = confluent_admin.ConfigEntry(
        "min.insync.replicas",
        "2",
        incremental_operation=confluent_admin.AlterConfigOpType.SET,
    )
    resource = confluent_admin.ConfigResource(kinds.TOPIC, "c-admin", incremental_configs=[change])
    done(admin.incremental_alter_configs([resource]))

    def configured() -> bool:
        (configs,) = done(
            admin.describe_configs([confluent_admin.ConfigResource(kinds.TOPIC, "c-admin")])
        )
        return configs["min.insync.replicas"].value == "2"

    until(configured)
    described = admin.describe_cluster().result(20)
    assert {each.id for each in described.nodes} == {4, 5, 6}

    rule = confluent_admin.AclBinding(
        confluent_admin.ResourceType.TOPIC,
        "c-admin",
        confluent_admin.ResourcePatternType.LITERAL,
        "User:writer",
        "*",
        confluent_admin.AclOperation.WRITE,
        confluent_admin.AclPermissionType.ALLOW,
    )
    ours = confluent_admin.AclBindingFilter(
        confluent_admin.ResourceType.ANY,
        None,
        confluent_admin.ResourcePatternType.ANY,
        "User:writer",
        None,
        confluent_admin.AclOperation.ANY,
        confluent_admin.AclPermissionType.ANY,
    )
    done(admin.create_acls([rule]))
    assert until(lambda: admin.describe_acls(ours).result(20)) == [rule]
    assert done(admin.delete_acls([ours])) == [[rule]]

    done(admin.delete_topics(["c-admin"]))
    until(lambda: "c-admin" not in admin.list_topics(timeout=5).topics)


# --- producers, consumers by assignment ---------------------------------------------------


@pytest.mark.parametrize("producer", [PythonProducer, LibrdkafkaProducer], ids=NAMES)
def test_what_is_produced_is_read_once_and_in_order(cluster, producer):
    """A.5.3, B.8, B.9.7: with idempotence, read by both libraries by assignment."""
    topic = f"plain-{producer.__name__}"
    cluster.create(topic)
    with producer(cluster.servers, topic, 3) as sending:
        sending.until_heard(60)
    assert sending.heard.errors == []
    for read in READERS:
        check_log(read(cluster.servers, topic, 3), sending)


def test_producers_without_idempotence(cluster):
    """B.8: acks 0, 1 and all without producer ids."""
    cluster.create("plain")
    for acks in (0, 1, "all"):
        producer = kafka.KafkaProducer(
            bootstrap_servers=cluster.servers, acks=acks, enable_idempotence=False
        )
        for number in range(5):
            producer.send("plain", f"{acks}-{number}".encode(), partition=0)
        producer.flush(20)
        producer.close()
    wanted = [f"{acks}-{number}".encode() for acks in (0, 1, "all") for number in range(5)]

    def read() -> list[bytes]:
        return [each.value for each in read_all_librdkafka(cluster.servers, "plain", 3)]

    until(lambda: len(read()) == 15)
    assert read() == wanted


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_handed_on_as_they_came(cluster, codec):
    topic = f"compressed-{codec}"
    cluster.create(topic, 1)
    producer = confluent.Producer(
        {"bootstrap.servers": cluster.servers, "compression.type": codec, "linger.ms": 50}
    )
    values = [b"%d-" % number + b"x" * 500 for number in range(40)]
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(20) == 0
    assert [each.value for each in read_all_librdkafka(cluster.servers, topic, 1)] == values


def test_offsets_by_time_and_seeking(cluster):
    """B.8: what a timestamp is at, and reading on from there."""
    cluster.create("timed", 1)
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.servers)
    for number in range(10):
        producer.send("timed", b"%d" % number, partition=0, timestamp_ms=1_000_000 + number).get(20)
    producer.close()
    consumer = kafka.KafkaConsumer(bootstrap_servers=cluster.servers)
    partition = kafka.TopicPartition("timed", 0)
    consumer.assign([partition])
    assert consumer.beginning_offsets([partition])[partition] == 0
    assert consumer.end_offsets([partition])[partition] == 10
    found = consumer.offsets_for_times({partition: 1_000_004})[partition]
    assert (found.offset, found.timestamp) == (4, 1_000_004)
    consumer.seek(partition, found.offset)
    values: list[bytes] = []

    def read() -> bool:
        for records in consumer.poll(timeout_ms=200).values():
            values.extend(each.value for each in records)
        return len(values) >= 6

    until(read)
    assert values == [b"%d" % number for number in range(4, 10)]
    consumer.close()


def check_log(log: list[Record], *producers: Producer) -> None:
    """The log holds each acknowledged record where its producer was told, each value once, all
    in the order of their producers, and each partition's offsets without gap."""
    at = {(each.partition, each.offset): each.value for each in log}
    assert len(at) == len(log), "an offset was read twice"
    twice = [value for value, times in Counter(each.value for each in log).items() if times > 1]
    assert twice == [], "duplicates of an idempotent producer"
    for producer in producers:
        assert len(producer.heard.records) == producer.sent, "not all were acknowledged"
        for each in producer.heard.records:
            assert at.get((each.partition, each.offset)) == each.value, f"lost: {each}"
    assert len(log) == sum(producer.sent for producer in producers)
    next_offset: Counter[int] = Counter()
    last: Counter[tuple[int, bytes]] = Counter()
    for each in sorted(log, key=lambda each: (each.partition, each.offset)):
        assert each.offset == next_offset[each.partition]
        next_offset[each.partition] += 1
        name, _, number = each.value.rpartition(b"-")
        assert int(number) >= last[each.partition, name], f"out of order: {each}"
        last[each.partition, name] = int(number)


def test_transactions_are_refused_for_good(cluster):
    """No transactions here: both clients say at once that this is not supported."""
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.servers, transactional_id="x")
    with pytest.raises(kafka.errors.KafkaError, match="UnsupportedVersionError"):
        producer.init_transactions()
    producer.close()
    librdkafka = confluent.Producer({"bootstrap.servers": cluster.servers, "transactional.id": "x"})
    with pytest.raises(confluent.KafkaException) as refused:
        librdkafka.init_transactions(60)
    assert refused.value.args[0].code() == confluent.KafkaError._UNSUPPORTED_FEATURE


# --- Kafka's own tools --------------------------------------------------------------------


def tool(main: str, *arguments: str) -> str:
    """What one of Kafka's command line tools says; it must end well."""
    argv = command(f"org.apache.kafka.tools.{main}", *arguments)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_kafkas_own_tools(cluster, tmp_path):
    """Java's clients: a topic, records of an idempotent producer, a group that reads them all, and
    the topic moves to other replicas."""
    at = ("--bootstrap-server", cluster.servers)
    asked = ("--create", "--topic", "tools", "--partitions", "3", "--replication-factor", "3")
    assert "Created topic tools" in tool("TopicCommand", *at, *asked)
    for name in cluster.client:
        until(lambda name=name: cluster.knows(name, "tools"))
    assert "PartitionCount: 3" in tool("TopicCommand", *at, "--describe", "--topic", "tools")
    sent = tool("VerifiableProducer", *at, "--topic", "tools", "--max-messages", "30")
    acknowledged = {
        (each["partition"], each["offset"])
        for line in sent.splitlines()
        if (each := json.loads(line))["name"] == "producer_send_success"
    }
    assert len(acknowledged) == 30
    group = ("--topic", "tools", "--group-id", "tools", "--max-messages", "30")
    read = [json.loads(line) for line in tool("VerifiableConsumer", *at, *group).splitlines()]
    consumed = {
        (part["partition"], offset)
        for each in read
        if each["name"] == "records_consumed"
        for part in each["partitions"]
        for offset in range(part["minOffset"], part["maxOffset"] + 1)
    }
    assert consumed == acknowledged
    assert all(each["success"] for each in read if each["name"] == "offsets_committed")
    plan = tmp_path / "plan.json"
    moves = [{"topic": "tools", "partition": number, "replicas": [6, 4]} for number in range(3)]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    execute, verify = (
        (*at, each, "--reassignment-json-file", str(plan)) for each in ("--execute", "--verify")
    )
    assert "Successfully started" in tool("reassign.ReassignPartitionsCommand", *execute)
    until(lambda: cluster.replicas("tools") == {(6, 4)})
    said = tool("reassign.ReassignPartitionsCommand", *verify)
    assert said.count("is completed") == 3


# --- groups -------------------------------------------------------------------------------


@pytest.mark.parametrize("producer, consumer", LIBRARIES, ids=NAMES)
def test_a_group_shares_and_takes_over(cluster, producer, consumer):
    """B.8: two members, each its part; what one left the other reads on from what was
    committed; and a later member goes on from there."""
    topic, group = f"shared-{consumer.__name__}", f"group-{consumer.__name__}"
    cluster.create(topic, 4)
    with (
        producer(cluster.servers, topic, 4) as sending,
        consumer(cluster.servers, topic, group) as first,
    ):
        until(lambda: len(first.assigned) == 4)
        with consumer(cluster.servers, topic, group) as second:
            until(lambda: len(first.assigned) == 2 == len(second.assigned))
            assert first.assigned | second.assigned == {0, 1, 2, 3}
            first.until_heard(10)
            second.until_heard(10)
        until(lambda: len(first.assigned) == 4)
        left = len(first.heard.records)
        until(lambda: {each.partition for each in first.heard.records[left:]} == {0, 1, 2, 3})
    workers = (sending, first, second)
    assert [error for each in workers for error in each.heard.errors] == []
    with consumer(cluster.servers, topic, group) as third:
        until(lambda: len(third.assigned) == 4)
        admin = python_admin.KafkaAdminClient(bootstrap_servers=cluster.servers)
        (reported,) = admin.describe_groups([group]).values()
        assert (reported["group_state"], len(reported["members"])) == ("Stable", 1)
        until(lambda: read_of(first, second, third) >= set(sending.heard.records))
    admin.close()
    # All three closed, and so committed, before the next one began: nothing was read twice.
    counts = Counter(each for worker in (first, second, third) for each in worker.heard.records)
    assert [record for record, times in counts.items() if times > 1] == []


def test_cooperative_members_and_static_ones(cluster):
    """Incremental rebalances, and an instance that comes back as a new process in its place."""
    cluster.create("cooperative", 4)

    def member(instance: str) -> confluent.Consumer:
        consumer = confluent.Consumer(
            {
                "bootstrap.servers": cluster.servers,
                "group.id": "cooperative",
                "group.instance.id": instance,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 300,
            }
        )
        consumer.subscribe(["cooperative"])
        return consumer

    def shares(*consumers: confluent.Consumer) -> list[int]:
        for each in consumers:
            assert each.poll(0.1) is None
        return [len(each.assignment()) for each in consumers]

    one, two = member("one"), member("two")
    until(lambda: shares(one, two) == [2, 2])
    held = {each.partition for each in one.assignment()}
    again = member("one")
    until(lambda: shares(again, two) == [2, 2])
    assert len(held) == 2
    admin = confluent_admin.AdminClient({"bootstrap.servers": cluster.servers})
    reported = admin.describe_consumer_groups(["cooperative"])["cooperative"].result(20)
    assert sorted(each.group_instance_id for each in reported.members) == ["one", "two"]
    error = until(lambda: (reported := one.poll(0.1)) is not None and reported.error())
    assert error.code() == confluent.KafkaError._FATAL and "fenced" in error.str()
    for each in (again, two, one):
        each.close()


def read_of(*consumers: GroupConsumer) -> set[Record]:
    return {each for consumer in consumers for each in consumer.heard.records}


def check_order(consumer: GroupConsumer) -> None:
    """Of the only member of a group: no record is passed over. From one to the next of a
    partition the offset rises by one, but where it began anew at what was committed."""
    next_offset: dict[int, int] = {}
    for each in consumer.heard.records:
        assert each.offset <= next_offset.get(each.partition, each.offset), f"gap before {each}"
        next_offset[each.partition] = each.offset + 1


def test_groups_are_listed_and_deleted(cluster):
    admin = python_admin.KafkaAdminClient(bootstrap_servers=cluster.servers)
    cluster.create("to-delete", 1)
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=cluster.servers, group_id="deleted", enable_auto_commit=False
    )
    partition = kafka.TopicPartition("to-delete", 0)
    consumer.assign([partition])
    consumer.commit({partition: kafka.OffsetAndMetadata(7, "note", -1)})
    assert consumer.committed(partition) == 7
    consumer.close()
    admin.alter_group_offsets("deleted", {partition: kafka.OffsetAndMetadata(8, "note", -1)})
    (offsets,) = admin.list_group_offsets("deleted").values()
    assert (offsets[partition].offset, offsets[partition].metadata) == (8, "note")
    assert "deleted" in {each["group_id"] for each in admin.list_groups()}
    assert admin.delete_groups(["deleted"])["deleted"] == "OK"
    assert "deleted" not in {each["group_id"] for each in admin.list_groups()}
    admin.close()


def test_the_offsets_topic_is_the_coordinators_own(cluster):
    """It is said to be internal, and clients cannot write into it."""
    assert until(lambda: cluster.coordinator("anybody"))
    admin = python_admin.KafkaAdminClient(bootstrap_servers=cluster.servers)
    (reported,) = admin.describe_topics(["__consumer_offsets"])
    assert reported["is_internal"]
    admin.close()
    reported_of: list[Any] = []
    producer = confluent.Producer({"bootstrap.servers": cluster.servers})
    producer.produce(
        "__consumer_offsets",
        b"x",
        partition=0,
        on_delivery=lambda error, _: reported_of.append(error),
    )
    assert producer.flush(20) == 0
    assert [error.code() for error in reported_of] == [confluent.KafkaError.TOPIC_EXCEPTION]


def test_a_coordinator_that_was_paused_acknowledges_nothing(cluster):
    """A.5.10, A.5.11, A.1.56: it wakes after its lease, with a commit waiting for it that its
    successor has not seen: the commit is refused (by one that no longer coordinates, or that loads
    the group anew), and what the successor took stays."""
    cluster.create("paused", 1)
    victim = until(lambda: cluster.coordinator("paused"))
    until(lambda: commit(cluster.client[victim], 1) == ErrorCode.none)
    (other,) = [name for name in cluster.client if name != victim][:1]
    with ThreadPoolExecutor(1) as pool:
        cluster.pause(victim)
        try:
            late = pool.submit(commit, cluster.client[victim], 2)
            until(lambda: cluster.coordinator("paused", other) != victim)
            successor = cluster.coordinator("paused", other)
            until(lambda: commit(cluster.client[successor], 3) == ErrorCode.none)
        finally:
            cluster.signal(victim, signal.SIGCONT)
        refusals = (ErrorCode.not_coordinator, ErrorCode.coordinator_load_in_progress)
        assert late.result(WAIT_S) in (*refusals, None)
    consumer = kafka.KafkaConsumer(bootstrap_servers=cluster.servers, group_id="paused")
    assert consumer.committed(kafka.TopicPartition("paused", 0)) == 3
    consumer.close()
    until(lambda: cluster.state(victim)["broker_state"] == "ACTIVE")


# --- while nodes die ----------------------------------------------------------------------


def test_clients_go_on_while_nodes_are_killed(cluster):
    """A.5.4, A.5.6, A.5.16, B.9.3, B.9.8: the active controller is killed, then a broker that leads
    a partition and coordinates the groups, each with kill -9; then all brokers are drained and
    started again in turn. Nothing acknowledged is lost, nothing is doubled, and no client sees an
    error that its own retries are for."""
    topic = "killed"
    cluster.create(topic)
    victim = until(lambda: cluster.coordinator("killed-0"))
    names = (f"killed-{number}" for number in range(100))
    groups = [name for name in names if cluster.coordinator(name) == victim]
    producers = [each(cluster.servers, topic, 3) for each in (PythonProducer, LibrdkafkaProducer)]
    consumers: list[GroupConsumer] = [
        PythonConsumer(cluster.servers, topic, groups[0]),
        LibrdkafkaConsumer(cluster.servers, topic, groups[1]),
    ]
    workers = [*producers, *consumers]
    with producers[0], producers[1], consumers[0], consumers[1]:
        all_go_on(workers)
        kill_the_controller(cluster)
        all_go_on(workers)
        kill_the_leader(cluster, topic, victim, groups[0])
        all_go_on(workers)
        for name in cluster.client:
            drain(cluster, name, topic)
        all_go_on(workers)
        for each in producers:
            each.finish()
        acked = {record for each in producers for record in each.heard.records}
        until(lambda: all(read_of(each) >= acked for each in consumers) or errors(workers))
    assert errors(workers) == []
    for read in READERS:
        check_log(read(cluster.servers, topic, 3), *producers)
    for consumer in consumers:
        check_order(consumer)


def errors(workers: list[Any]) -> list[str]:
    return [error for each in workers for error in each.heard.errors]


def all_go_on(workers: list[Any]) -> None:
    for each in workers:
        each.until_heard(20)
    assert errors(workers) == []
