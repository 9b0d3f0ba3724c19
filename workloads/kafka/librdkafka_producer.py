"""A transactional producer that is librdkafka's (confluent-kafka).

It sends EndTxn in version 1 whatever the broker, as of 2.16: the epoch of its transactions is not
raised from one to the next.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

import tenacity
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from workloads.kafka.operations.partitions import partition_of
from workloads.kafka.producing import REQUEST_MS, TRANSACTION_MS, ProducerFailed, Reader

LEAST_S: Final = 0.1
COMMON: Final = {
    "socket.timeout.ms": REQUEST_MS,
    "socket.connection.setup.timeout.ms": 1000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 300,
    "retry.backoff.ms": 50,
    "topic.metadata.refresh.fast.interval.ms": 100,
    "log_level": 0,
}
"""Of consumers as well."""
PRODUCER: Final = {
    **COMMON,
    "linger.ms": 0,
    "request.timeout.ms": REQUEST_MS,
    "delivery.timeout.ms": 2500,
    "transaction.timeout.ms": TRANSACTION_MS,
}


class Record(Protocol):
    """What the library says of a message that was stored somewhere; of others it may say less."""

    def error(self) -> KafkaError | None: ...
    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def value(self) -> bytes: ...


def initialized(
    servers: Mapping[str, str], transactional_id: str, most_s: float
) -> "LibrdkafkaProducer":
    """As `Initialized`. `servers`: settings that say where brokers are."""
    made = Producer({**PRODUCER, **servers, "transactional.id": transactional_id})
    made.init_transactions(most_s)
    return LibrdkafkaProducer(made)


class LibrdkafkaProducer:
    """Implements `TransactionalProducer`. Raises what the library does."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, key: str, value: int, most_s: float) -> int:
        reports: list[tuple[KafkaError | None, Record]] = []
        topic, partition = partition_of(key)
        self._producer.produce(
            topic,
            str(value).encode(),
            partition=partition,
            on_delivery=lambda error, message: reports.append((error, cast("Record", message))),
        )
        self._producer.flush(most_s)
        if not reports:
            raise ProducerFailed("NOT_DELIVERED", f"{value} to {key} within {most_s:.2g} s")
        error, message = reports[0]
        if error is not None:
            raise KafkaException(error)
        return int(message.offset())

    def send_offsets(self, positions: Mapping[str, int], reader: Reader, most_s: float) -> None:
        offsets = [TopicPartition(*partition_of(key), offset) for key, offset in positions.items()]
        self._producer.send_offsets_to_transaction(offsets, reader.metadata, most_s)

    def commit(self, most_s: float) -> None:
        """As the library's users do it: again, as long as it says that it may be."""
        end_s = time.monotonic() + most_s
        again = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_retriable),
            stop=lambda _: time.monotonic() > end_s,
            reraise=True,
        )
        commit: Callable[[float], None] = self._producer.commit_transaction
        again(lambda: commit(max(LEAST_S, end_s - time.monotonic())))

    def abort(self, most_s: float) -> None:
        self._producer.abort_transaction(most_s)


def _is_retriable(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and bool(error.args[0].retriable())
