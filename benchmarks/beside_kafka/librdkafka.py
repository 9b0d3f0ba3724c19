"""Produce and consume by confluent-kafka for some seconds each; the process that `clients` starts.

BOOTSTRAP_SERVERS=... python -m benchmarks.beside_kafka.librdkafka TOPIC SECONDS RESULT
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from benchmarks.beside_kafka.batches import RECORD_BYTES

ANSWER_S: Final = 30.0
AT_ONCE: Final = 1000


def main() -> None:
    topic, seconds, result = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    servers = os.environ["BOOTSTRAP_SERVERS"]
    result.write_text(
        json.dumps([produced(servers, topic, seconds), consumed(servers, topic, seconds)])
    )


def produced(servers: str, topic: str, seconds: float) -> float:
    """MB/s of records that were acknowledged by all. Raises `RuntimeError` for one that was not."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    producer.list_topics(topic, timeout=ANSWER_S)
    value, sent = bytes(RECORD_BYTES), 0
    began = time.monotonic()
    while not sent or time.monotonic() < began + seconds:
        for _ in range(AT_ONCE):
            try:
                producer.produce(topic, value)
                sent += 1
            except BufferError:
                producer.poll(0.05)
        producer.poll(0)
    if left := producer.flush(ANSWER_S):
        raise RuntimeError(f"{left} records were not acknowledged")
    return sent * RECORD_BYTES / 1e6 / (time.monotonic() - began)


def consumed(servers: str, topic: str, seconds: float) -> float:
    """MB/s from the first record on, the partitions from their beginning as often as there is
    time."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "beside",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    numbers = consumer.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions
    beginning = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers]
    consumer.assign(beginning)
    size, began, ended = 0, None, set[int]()
    until = time.monotonic() + ANSWER_S
    while time.monotonic() < until:
        for message in consumer.consume(AT_ONCE, timeout=1.0):
            if (error := message.error()) is None:
                size += len(message.value() or b"")
            elif error.name() == "_PARTITION_EOF":
                ended.add(message.partition() or 0)
            else:
                raise KafkaException(error)
        if size and began is None:
            began = time.monotonic()
            size, until = 0, began + seconds
        if len(ended) == len(beginning):
            ended.clear()
            consumer.assign(beginning)
    consumer.close()
    if began is None:
        raise RuntimeError("nothing was read")
    return size / 1e6 / (time.monotonic() - began)


if __name__ == "__main__":
    main()
