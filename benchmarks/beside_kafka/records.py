"""Megabytes a second to all replicas and back, by the raw client: a connection a partition, with
one request under way on each."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from kio.schema.fetch.v12 import request as fetch
from kio.schema.produce.v9 import request as produce
from kio.schema.types import TopicName
from kio.static.primitive import Records as Bytes
from kio.static.primitive import i16, i32, i32Timedelta, i64

from benchmarks.beside_kafka.batches import RECORD_BYTES, after, batch
from benchmarks.beside_kafka.client import TIMEOUT, Client, call, codes, connection, open_all
from benchmarks.beside_kafka.measuring import (
    Failed,
    Figure,
    Running,
    Sizes,
    WithThreeBrokers,
    p99,
)
from benchmarks.beside_kafka.processes import cpu_s, until_quiet
from workloads.kafka.connection import Connection
from workloads.kafka.roles import BROKER

PARTITIONS: Final = 6
FETCH_BYTES: Final = 1024 * 1024
ALL: Final = -1
WAIT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=500))


@dataclass(slots=True)
class Moved:
    """By one thread: bytes, and how long each request took, ms."""

    size: int = 0
    times_ms: list[float] = field(default_factory=list)


class Records(WithThreeBrokers):
    """Produced with acks=all to six partitions of three replicas, and read from their beginning, as
    often as there is time."""

    name = "records"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        produced = [
            figure
            for records in sizes.batches
            for figure in _figures(f"produced with acks=all, {records} records of 1 kB a request")
        ]
        return [*produced, *_figures("consumed, up to 1 MiB an answer")]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        values: list[float] = []
        with Client(running.cluster) as client:
            for records in sizes.batches:
                with client.made("bytes", PARTITIONS):
                    leaders = client.leaders("bytes")
                    values += _moved(running, leaders, _producing(records), sizes)
                    if records == sizes.batches[-1]:
                        values += _moved(running, leaders, _consume, sizes)
        return {
            figure.name: value for figure, value in zip(self.figures(sizes), values, strict=True)
        }


def _figures(what: str) -> Sequence[Figure]:
    return (
        Figure(what, "MB/s", "more"),
        Figure(f"{what}: p99 of requests", "ms", "less"),
        Figure(f"{what}: processor time a MB", "ms", "less"),
    )


def _moved(
    running: Running,
    leaders: Mapping[str, Sequence[int]],
    move: Callable[[Connection, int, float], Moved],
    sizes: Sizes,
) -> tuple[float, float, float]:
    """MB/s, p99 of the requests in ms, processor time of all nodes in ms a MB."""
    ways = {
        number: connection(running.cluster, node, BROKER)
        for node, numbers in leaders.items()
        for number in numbers
    }
    try:
        open_all(ways.values())
        until_quiet(running.cluster, sizes.quiet_s)
        used_s, began = cpu_s(running.cluster), time.monotonic()
        with ThreadPoolExecutor(len(ways)) as pool:
            each = [
                pool.submit(move, way, number, began + sizes.seconds)
                for number, way in ways.items()
            ]
            moved = [future.result() for future in each]
        took_s, used_s = time.monotonic() - began, cpu_s(running.cluster) - used_s
    finally:
        for way in ways.values():
            way.close()
    megabytes = sum(each.size for each in moved) / 1e6
    times_ms = [took for each in moved for took in each.times_ms]
    return megabytes / took_s, p99(times_ms), 1000 * used_s / megabytes


def _producing(records: int) -> Callable[[Connection, int, float], Moved]:
    data = batch(records)

    def move(way: Connection, number: int, until: float) -> Moved:
        part = produce.PartitionProduceData(index=i32(number), records=Bytes(data))
        request = produce.ProduceRequest(
            acks=i16(ALL),
            timeout=TIMEOUT,
            topic_data=(produce.TopicProduceData(name=TopicName("bytes"), partition_data=(part,)),),
        )
        moved = Moved()
        while not moved.size or time.monotonic() < until:
            began = time.monotonic()
            for found in call(way, request).responses:
                _need_none(codes(found.partition_responses))
            moved.times_ms.append(1000 * (time.monotonic() - began))
            moved.size += records * RECORD_BYTES
        return moved

    return move


def _consume(way: Connection, number: int, until: float) -> Moved:
    moved, offset = Moved(), 0
    while not moved.size or time.monotonic() < until:
        began = time.monotonic()
        (found,) = call(way, _fetch(number, offset)).responses
        _need_none(codes(found.partitions))
        moved.times_ms.append(1000 * (time.monotonic() - began))
        (part,) = found.partitions
        offset, size = after(part.records or b"", offset)
        moved.size += size
        if offset >= part.high_watermark:
            offset = 0
    return moved


def _fetch(number: int, offset: int) -> fetch.FetchRequest:
    part = fetch.FetchPartition(
        partition=i32(number), fetch_offset=i64(offset), partition_max_bytes=i32(FETCH_BYTES)
    )
    return fetch.FetchRequest(
        max_wait=WAIT,
        min_bytes=i32(1),
        max_bytes=i32(FETCH_BYTES),
        topics=(fetch.FetchTopic(topic=TopicName("bytes"), partitions=(part,)),),
        forgotten_topics_data=(),
    )


def _need_none(errors: Sequence[str]) -> None:
    if errors:
        raise Failed(f"a request is refused: {errors[0]}")
