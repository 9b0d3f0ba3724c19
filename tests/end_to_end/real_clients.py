"""Ordinary Kafka clients at work in threads: what was acknowledged to them, what they read.

Both libraries behind one face, each unchanged and with the defaults that its users have, but
for what the tests name.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer as ConfluentProducer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaConnectionError

from tests.nodes.kraft import loopback

T = TypeVar("T")

PAUSE_S = 0.01
"""Between two records of a producer."""
WAIT_S = 120
"""How long anything may take on a machine that has much else to do."""


@dataclass(frozen=True)
class Record:
    partition: int
    offset: int
    value: bytes


@dataclass
class Heard:
    """What clients were told. Appended to in their threads; a list's append is atomic."""

    records: list[Record] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def until(condition: Callable[[], T]) -> T:
    """Wait for a true value, `WAIT_S` at most."""
    return loopback.until(condition, WAIT_S)


class Worker(ABC):
    """A client that does its work in a thread until it is stopped."""

    def __init__(self, servers: str, topic: str) -> None:
        self.servers = servers
        self.topic = topic
        self.heard = Heard()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def finish(self) -> None:
        """Stop, and wait for what is on its way."""
        self._stop.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive(), f"{type(self).__name__} does not end"

    def _guarded(self) -> None:
        try:
            self.work()
        except Exception as error:
            self.heard.errors.append(f"{type(self).__name__}: {error!r}")

    @abstractmethod
    def work(self) -> None: ...

    def until_heard(self, count: int) -> None:
        """Wait until that many more records went through."""
        goal = len(self.heard.records) + count
        until(lambda: len(self.heard.records) >= goal or self.heard.errors)


# --- producers ----------------------------------------------------------------------------


class Producer(Worker):
    """Sends numbered values to the partitions in turn; `sent` counts them."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        super().__init__(servers, topic)
        self.partitions = partitions
        self.sent = 0

    def next(self) -> tuple[bytes, int]:
        number, self.sent = self.sent, self.sent + 1
        return f"{type(self).__name__}-{number}".encode(), number % self.partitions

    def acked(self, partition: int, offset: int, value: bytes) -> None:
        self.heard.records.append(Record(partition, offset, value))


class PythonProducer(Producer):
    """kafka-python's, with its defaults: idempotent."""

    def work(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self.servers)
        while not self._stop.wait(PAUSE_S):
            value, partition = self.next()
            future = producer.send(self.topic, value=value, partition=partition)
            future.add_callback(
                lambda reported, value=value: self.acked(reported.partition, reported.offset, value)
            )
            future.add_errback(lambda error: self.heard.errors.append(f"delivery: {error!r}"))
        producer.flush(WAIT_S)
        producer.close(10)


class LibrdkafkaProducer(Producer):
    """confluent-kafka's, told to be idempotent."""

    def work(self) -> None:
        producer = ConfluentProducer(
            {"bootstrap.servers": self.servers, "enable.idempotence": True}
        )
        while not self._stop.wait(PAUSE_S):
            value, partition = self.next()
            producer.produce(self.topic, value, partition=partition, on_delivery=self._reported)
            producer.poll(0)
        left = producer.flush(WAIT_S)
        if left:
            self.heard.errors.append(f"{left} records were not delivered")

    def _reported(self, error: Any, message: Any) -> None:
        if error is not None:
            self.heard.errors.append(f"delivery: {error}")
        else:
            self.acked(message.partition(), message.offset(), message.value())


# --- consumers ----------------------------------------------------------------------------


class GroupConsumer(Worker):
    """A member of a group, which commits on its own as users' do. `assigned`: what it reads."""

    def __init__(self, servers: str, topic: str, group: str) -> None:
        super().__init__(servers, topic)
        self.group = group
        self.assigned: frozenset[int] = frozenset()

    def read(self, partition: int, offset: int, value: bytes) -> None:
        self.heard.records.append(Record(partition, offset, value))


class PythonConsumer(GroupConsumer):
    """kafka-python 3.0.12 forgets an assignment that comes while no `poll` waits, where it joined
    because it learned of partitions; then it neither reads nor beats (docs/operating.md). So it
    learns of them first, and polls for long. Now and then it hands a connection that a dead
    coordinator refuses to who polls, though it says that this can be tried again: so it is."""

    def work(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self.servers,
            group_id=self.group,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=500,
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
        )
        until(lambda: consumer.partitions_for_topic(self.topic))
        consumer.subscribe([self.topic])
        try:
            while not self._stop.is_set():
                with suppress(KafkaConnectionError):
                    polled = consumer.poll(timeout_ms=1000)
                    for each in chain.from_iterable(polled.values()):
                        self.read(each.partition, each.offset, each.value)
                self.assigned = frozenset(each.partition for each in consumer.assignment())
        finally:
            consumer.close()


class LibrdkafkaConsumer(GroupConsumer):
    def work(self) -> None:
        consumer = ConfluentConsumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": self.group,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 500,
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 500,
            }
        )
        consumer.subscribe([self.topic])
        try:
            while not self._stop.is_set():
                for message in consumer.consume(100, timeout=0.2):
                    if message.error() is not None:
                        self.heard.errors.append(f"consume: {message.error()}")
                    else:
                        self.read(message.partition(), message.offset(), message.value())
                self.assigned = frozenset(each.partition for each in consumer.assignment())
        finally:
            consumer.close()


# --- one after another --------------------------------------------------------------------


def create_topics(servers: str, stop: threading.Event, prefix: str) -> tuple[list[str], list[str]]:
    """Create one topic after another until told to stop: (those created, errors)."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    created: list[str] = []
    errors: list[str] = []
    while not stop.wait(5 * PAUSE_S):
        name = f"{prefix}-{len(created) + len(errors)}"
        try:
            admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=3)])
        except Exception as error:
            errors.append(f"create {name}: {error!r}")
        else:
            created.append(name)
    admin.close()
    return created, errors


def read_all_python(servers: str, topic: str, partitions: int) -> list[Record]:
    """Everything in the topic, by assignment and from the beginning to its present end."""
    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
    assigned = [TopicPartition(topic, number) for number in range(partitions)]
    consumer.assign(assigned)
    consumer.seek_to_beginning()
    ends = consumer.end_offsets(assigned)
    found: list[Record] = []

    def done() -> bool:
        for records in consumer.poll(timeout_ms=200).values():
            found.extend(Record(each.partition, each.offset, each.value) for each in records)
        return all(consumer.position(each) >= ends[each] for each in assigned)

    until(done)
    consumer.close()
    return found


def read_all_librdkafka(servers: str, topic: str, partitions: int) -> list[Record]:
    """The same with the other library."""
    consumer = ConfluentConsumer(
        {"bootstrap.servers": servers, "group.id": f"{topic}-reader", "enable.auto.commit": False}
    )
    assigned = [ConfluentPartition(topic, number, 0) for number in range(partitions)]
    ends = {each.partition: consumer.get_watermark_offsets(each)[1] for each in assigned}
    consumer.assign(assigned)
    found: list[Record] = []
    next_offset = dict.fromkeys(ends, 0)

    def done() -> bool:
        for message in consumer.consume(500, timeout=0.2):
            assert message.error() is None, message.error()
            found.append(Record(message.partition(), message.offset(), message.value()))
            next_offset[message.partition()] = message.offset() + 1
        return all(next_offset[number] >= end for number, end in ends.items())

    until(done)
    consumer.close()
    return found


READERS: list[Callable[[str, str, int], list[Record]]] = [read_all_python, read_all_librdkafka]
