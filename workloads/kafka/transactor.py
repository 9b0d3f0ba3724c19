"""A program: a transactional producer, and a consumer of committed records by confluent-kafka.

    python -m workloads.kafka.transactor CONFIGURATION

It does what each line of its input asks, and answers with a line, as `group_member` does. Its
producer is librdkafka's, too, or one in our own codec (`librdkafka_producer`, `raw_producer`). It
reads, processes and writes: in one transaction it polls, sends to partitions one after the
other, each acknowledged before the next, commits how far it read, and ends as it is told. What went
wrong before it asked for the commit never takes effect, and after that nobody knows: it gives that
producer up, and the next one of its transactional id sees to what was left open.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, cast
from urllib.parse import urlsplit

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from framework.history.event import Json, Recorded
from workloads.kafka import librdkafka_producer, own_network, raw_producer
from workloads.kafka.librdkafka_producer import COMMON, LEAST_S, Record
from workloads.kafka.operations.partitions import partition_of
from workloads.kafka.producing import (
    Initialized,
    ProducerFailed,
    ProducerKind,
    Reader,
    TransactionalProducer,
)
from workloads.kafka.raw_producer import Brokers

COMMIT, ABORT, ABANDON = "commit", "abort", "abandon"
"""How a transaction ends. Abandoned ones are left open, for their time-out or the next producer."""
OPERATION_S: Final = 7.0
"""After which no new step is begun."""
INIT_S: Final = 4.0
SEND_S: Final = 3.0
POLL_S: Final = 0.2
ABORT_S: Final = 1.5
WRITES: Final = frozenset({"txn", "fence"})
CONSUMER: Final = {
    **COMMON,
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 50,
}


class NotDone(Exception):
    """The operation failed, and takes no effect. `code`: why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Transactor:
    """One transactional id, and a consumer that is assigned its partitions."""

    def __init__(
        self, servers: Mapping[str, str], transactional_id: str, initialized: Initialized
    ) -> None:
        """`servers`: librdkafka's settings that say where brokers are."""
        self._id, self._group = transactional_id, f"of-{transactional_id}"
        self._initialized = initialized
        self._producer: TransactionalProducer | None = None
        self._consumer = Consumer({**CONSUMER, **servers, "group.id": self._group})
        self._positions: dict[str, int] = {}
        self._at_end: set[str] = set()
        self._end_s = 0.0

    def _left(self, most_s: float) -> float:
        """How long a step may take."""
        return max(LEAST_S, min(most_s, self._end_s - time.monotonic()))

    # --- the consumer ---------------------------------------------------------------------

    def assign(self, keys: list[str], beginning: bool) -> Json:
        """Read these partitions: each from where the consumer is, or from what was committed; or
        all from the beginning."""
        new = [key for key in keys if beginning or key not in self._positions]
        known = {} if beginning else self._committed(new)
        at = {key: known.get(key, 0) for key in new}
        self._go_to({key: at[key] if key in at else self._positions[key] for key in keys})
        return keys

    def _committed(self, keys: Sequence[str]) -> dict[str, int]:
        if not keys:
            return {}
        found = self._consumer.committed([_partition(key) for key in keys], timeout=SEND_S)
        if wrong := next((each.error for each in found if each.error is not None), None):
            raise KafkaException(wrong)
        return {_key(each.topic, each.partition): max(each.offset, 0) for each in found}

    def _go_to(self, positions: Mapping[str, int]) -> None:
        self._consumer.assign([_partition(key, offset) for key, offset in positions.items()])
        self._positions, self._at_end = dict(positions), set()

    def poll(self) -> Json:
        """A micro-operation. It is only answered with nothing where all was read."""
        records: dict[str, list[Json]] = {}
        polled = cast("Sequence[Record]", self._consumer.consume(100, timeout=POLL_S))
        for message in polled:
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                continue  # the library goes on by itself
            key = _key(message.topic(), message.partition())
            if error is not None:
                self._at_end.add(key)
                self._positions[key] = message.offset()
                continue
            records.setdefault(key, []).append([message.offset(), int(message.value())])
            self._at_end.discard(key)
            self._positions[key] = message.offset() + 1
        if not records and not self._at_end.issuperset(self._positions):
            return ["poll"]
        return ["poll", records]

    # --- the producer ---------------------------------------------------------------------

    def txn(self, operations: Sequence[Recorded], end: str) -> Json:
        """The micro-operations as they were done, once they are committed."""
        self._end_s = time.monotonic() + OPERATION_S
        before = dict(self._positions)
        try:
            producer = self._ready()
            producer.begin()
            done = [self._step(producer, each) for each in operations]
            if any(each[0] == "poll" for each in operations):
                self._commit_offsets(producer)
            if end != COMMIT:
                raise NotDone(end.upper(), "as was asked for")
        except Exception as error:
            self._go_to(before)
            self._leave(abort=end != ABANDON)
            raise NotDone(*_code_and_message(error)) from error
        try:
            producer.commit(self._left(OPERATION_S))
        except Exception:
            self._producer = None
            raise
        return done

    def _ready(self) -> TransactionalProducer:
        if self._producer is None:
            self._producer = self._initialized(self._id, INIT_S)
        return self._producer

    def _step(self, producer: TransactionalProducer, operation: Recorded) -> Json:
        if operation[0] == "poll":
            return self.poll()
        _, key, value = operation
        return ["send", key, [producer.send(key, value, self._left(SEND_S)), value]]

    def _commit_offsets(self, producer: TransactionalProducer) -> None:
        reader = Reader(self._group, self._consumer.consumer_group_metadata())
        producer.send_offsets(self._positions, reader, self._left(SEND_S))

    def _leave(self, *, abort: bool) -> None:
        """Out of a transaction; a producer that cannot is given up."""
        producer, self._producer = self._producer, None
        if abort and producer is not None:
            with suppress(KafkaException, ProducerFailed):
                producer.abort(ABORT_S)
                self._producer = producer

    def fence(self, transactional_id: str) -> Json:
        """A second producer of somebody's id comes, and goes."""
        self._initialized(transactional_id, INIT_S)
        return None


def _key(topic: str, number: int) -> str:
    return f"{topic}/{number}"


def _partition(key: str, offset: int | None = None) -> TopicPartition:
    topic, number = partition_of(key)
    return (
        TopicPartition(topic, number) if offset is None else TopicPartition(topic, number, offset)
    )


def _code_and_message(error: Exception) -> tuple[str, str]:
    """(code, message)"""
    if isinstance(error, KafkaException):
        return error.args[0].name(), error.args[0].str()
    return getattr(error, "code", type(error).__name__), str(error)


def answer(transactor: Transactor, request: Mapping[str, Json]) -> Json:
    """{"ok": result}, or {"error": [code, message], "sent": whether it may take effect}."""
    operations: Mapping[str, Callable[..., Json]] = {
        "assign": transactor.assign,
        "poll": transactor.poll,
        "txn": transactor.txn,
        "fence": transactor.fence,
    }
    arguments = {name: value for name, value in request.items() if name != "do"}
    try:
        return {"ok": operations[str(request["do"])](**arguments)}
    except Exception as error:  # whatever the library raises
        sent = request["do"] in WRITES and not isinstance(error, NotDone)
        return {"error": _code_and_message(error), "sent": sent}


def _producers(kind: ProducerKind, ids: Sequence[int], brokers: Sequence[str]) -> Initialized:
    """How one is made that is a client of these brokers."""
    if kind == "librdkafka":
        return partial(librdkafka_producer.initialized, {"bootstrap.servers": ",".join(brokers)})
    return partial(raw_producer.initialized, Brokers(dict(zip(ids, brokers, strict=True))))


def main() -> None:
    configuration = json.loads(sys.argv[1])
    brokers = configuration["brokers"]
    if "relay" in configuration:
        relay = urlsplit(configuration["relay"])
        delay = own_network.Delay(**configuration["delay"])
        addresses = [(host, int(port)) for host, port in (each.split(":") for each in brokers)]
        own_network.enter((str(relay.hostname), int(relay.port or 0)), addresses, delay)
    servers = {"bootstrap.servers": ",".join(brokers)}
    initialized = _producers(configuration["producer"], configuration["ids"], brokers)
    transactor = Transactor(servers, configuration["id"], initialized)
    for line in sys.stdin:
        print(json.dumps(answer(transactor, json.loads(line))), flush=True)
    os._exit(0)  # no farewell


if __name__ == "__main__":
    main()
