"""Static members of kafka-python and of confluent-kafka over their restarts (KIP-345), on real
processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import confluent_kafka as confluent
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient, KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition
from loopback import Loopback, until

pytestmark = pytest.mark.xdist_group("static-clients")

TOPIC = "t"
INSTANCES = ("one", "two")
PARTITIONS = frozenset(range(4))
SESSION_MS = 60_000
"""Nobody is given up by a slow machine."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """Of two brokers one may be lost, and the other then coordinates all groups. They may serve for
    long: the machine may have much else to do."""
    settings = {"broker_lease_ms": "80000", "offsets_topic_num_partitions": "1"}
    with Loopback(tmp_path_factory.mktemp("static"), controllers=1, brokers=2, **settings) as it:
        it.ready()
        admin = AdminClient({"bootstrap.servers": servers(it)})
        for made in admin.create_topics([NewTopic(TOPIC, 4, 2)]).values():
            made.result(60)
        yield it


def servers(cluster: Loopback) -> str:
    return ",".join(f"127.0.0.1:{port}" for port in cluster.client.values())


class Librdkafka:
    """One process of an instance. `rebalances`: how often it was given a part. Closed, it is gone
    without a word, as static members are."""

    def __init__(self, servers: str, group: str, instance: str) -> None:
        self.rebalances = 0
        self.consumer = confluent.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "group.instance.id": instance,
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 200,
                "enable.auto.commit": False,
            }
        )
        self.consumer.subscribe([TOPIC], on_assign=self._given)

    def _given(self, *_: object) -> None:
        self.rebalances += 1

    def part(self) -> frozenset[int]:
        """What it reads, after a moment. Raises `KafkaException` where it is fenced."""
        polled = self.consumer.poll(0.05)
        error = None if polled is None else polled.error()
        if error is not None and error.fatal():
            raise confluent.KafkaException(error)
        return frozenset(each.partition for each in self.consumer.assignment())

    def commit(self) -> None:
        """Raises `KafkaException` where it is no member of the present generation."""
        offsets = [confluent.TopicPartition(TOPIC, each, 0) for each in self.part()]
        self.consumer.commit(offsets=offsets, asynchronous=False)


def gathered(*members: Librdkafka) -> list[frozenset[int]]:
    """The parts, once each has one and all partitions are somebody's."""

    def parts() -> list[frozenset[int]] | None:
        found = [each.part() for each in members]
        whole = sum(map(len, found)) == 4 and frozenset().union(*found) == PARTITIONS
        return found if whole and all(found) else None

    found = until(parts)
    assert found is not None
    return found


def described(cluster: Loopback, group: str) -> dict[str, str]:
    """Of a stable group: the id of each instance's process."""
    admin = KafkaAdminClient(bootstrap_servers=servers(cluster).split(","))
    try:
        found: Any = admin.describe_groups([group])[group]
    finally:
        admin.close()
    assert found["group_state"] == "Stable", found
    return {each["group_instance_id"]: each["member_id"] for each in found["members"]}


@pytest.mark.parametrize("restarted", [0, 1])
def test_a_restart_of_librdkafka_keeps_its_part_and_disturbs_nobody(
    cluster: Loopback, restarted: int
) -> None:
    """Whether it leads the group or not: of two one does."""
    group = f"librdkafka-{restarted}"
    members = [Librdkafka(servers(cluster), group, each) for each in INSTANCES]
    parts = gathered(*members)
    before = described(cluster, group)
    other = members[1 - restarted]
    undisturbed = other.rebalances
    members[restarted].consumer.close()
    members[restarted] = again = Librdkafka(servers(cluster), group, INSTANCES[restarted])
    assert gathered(*members) == parts
    again.commit()
    other.commit()
    assert (again.rebalances, other.rebalances) == (1, undisturbed)
    changed = {name for name, each in described(cluster, group).items() if each != before[name]}
    assert changed == {INSTANCES[restarted]}
    for each in members:
        each.consumer.close()


def python_consumer(cluster: Loopback, group: str) -> KafkaConsumer:
    """It is told its part while it polls, and only then."""
    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=servers(cluster).split(","),
        group_id=group,
        group_instance_id="one",
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=200,
        enable_auto_commit=False,
    )
    until(lambda: consumer.poll(timeout_ms=5000) or consumer.assignment())
    assert {each.partition for each in consumer.assignment()} == PARTITIONS
    return consumer


def test_a_restart_of_kafka_python_goes_on_in_its_generation(cluster: Loopback) -> None:
    first = python_consumer(cluster, "python")
    before = first.group_metadata()
    first.commit({TopicPartition(TOPIC, 3): OffsetAndMetadata(7, "", -1)})
    first.close(autocommit=False)
    second = python_consumer(cluster, "python")
    after = second.group_metadata()
    assert after.generation_id == before.generation_id
    assert after.member_id != before.member_id
    assert second.committed(TopicPartition(TOPIC, 3)) == 7
    second.close(autocommit=False)


def test_of_two_processes_of_an_instance_the_first_one_is_fenced(cluster: Loopback) -> None:
    first = Librdkafka(servers(cluster), "fenced", "one")
    gathered(first)
    second = Librdkafka(servers(cluster), "fenced", "one")
    gathered(second)
    with pytest.raises(confluent.KafkaException) as refused:
        first.commit()
    # The latter where a heartbeat was refused before the commit was asked for.
    told = {confluent.KafkaError.FENCED_INSTANCE_ID, confluent.KafkaError._FATAL}
    assert refused.value.args[0].code() in told
    second.commit()
    for each in (first, second):
        each.consumer.close()
