"""Requests to the active controller, alone and beside a flood of produces to all brokers."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from statistics import median
from typing import Final

from kio.schema.produce.v9 import request as produce
from kio.schema.types import TopicName
from kio.static.primitive import Records, i16, i32
from kio.static.protocol import RequestPayload

from benchmarks.beside_kafka.batches import batch
from benchmarks.beside_kafka.client import HELLO, TIMEOUT, Client, Way, call, codes, topic
from benchmarks.beside_kafka.envelopes import AtController
from benchmarks.beside_kafka.measuring import (
    Failed,
    Figure,
    Running,
    Sizes,
    WithThreeBrokers,
    p99,
)
from workloads.kafka.codec import Codec
from workloads.kafka.flooder import BEGUN, Target, started
from workloads.kafka.roles import BROKER, LISTENERS
from workloads.kafka.system import system_of

TOPIC: Final = "flooded"
RECORDS: Final = 4
CONNECT_S: Final = 10.0
PAUSE_S: Final = 0.01
FOR_EVER_S: Final = 3600.0
KINDS: Final[Mapping[str, RequestPayload]] = {
    "ApiVersions": HELLO,
    "CreateTopics, validated only": topic("nobodys", check_only=True),
}


class Flood(WithThreeBrokers):
    """Each connection has a produce of 4 kB with acks=all under way at any time."""

    name = "flood"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [
            Figure(f"{kind} at the controller, {when}: {which}", "ms", "less")
            for kind in KINDS
            for when in ("quiet", "beside the flood")
            for which in ("p50", "p99")
        ] + [Figure("produces of 4 kB answered in the flood", "/s", "more")]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        with Client(running.cluster) as client, ExitStack() as stack:
            stack.enter_context(client.made(TOPIC, len(client.brokers)))
            way = stack.enter_context(closing(AtController(running.cluster, client.active())))
            _produce_to_all(client)  # no leader's first one is the flood's
            quiet = _asked(way, sizes.seconds)
            with _flood(running, client.leaders(TOPIC), sizes.flood) as answered:
                began = time.monotonic()
                flooded = _asked(way, sizes.seconds)
                _produce_to_all(client)  # at least for as long as one takes that comes in the end
                lasted_s = time.monotonic() - began
        values = [
            value
            for kind in KINDS
            for times_ms in (quiet[kind], flooded[kind])
            for value in (median(times_ms), p99(times_ms))
        ]
        figures = self.figures(sizes)
        return {
            each.name: value
            for each, value in zip(figures, [*values, sum(answered) / lasted_s], strict=True)
        }


def _asked(way: Way, seconds: float) -> dict[str, list[float]]:
    """Kind of request -> how long each took, ms."""
    times_ms: dict[str, list[float]] = defaultdict(list)
    until = time.monotonic() + seconds
    while not times_ms or time.monotonic() < until:
        for kind, request in KINDS.items():
            began = time.monotonic()
            answer = call(way, request)
            times_ms[kind].append(1000 * (time.monotonic() - began))
            if refused := codes(getattr(answer, "topics", ())):
                raise Failed(f"{kind} is refused: {refused[0]}")
        time.sleep(PAUSE_S)
    return times_ms


@contextmanager
def _flood(
    running: Running, leaders: Mapping[str, Sequence[int]], count: int
) -> Iterator[list[int]]:
    """The flood in a process of its own. The list has the number of answers once it is over."""
    cluster, answered = running.cluster, list[int]()
    with ExitStack() as stack:
        targets = []
        for node, (number, *_others) in leaders.items():
            ways = [
                stack.enter_context(
                    system_of(cluster).connect(cluster, node, LISTENERS[BROKER], CONNECT_S)
                )
                for _ in range(count)
            ]
            sent = Codec().encode_request(_produce(number), correlation_id=1, client_id="flood")
            targets.append(Target(ways, sent))
        process = started(targets, FOR_EVER_S)
    assert process.stdout is not None
    try:
        if process.stdout.readline().decode().strip() != BEGUN:
            raise Failed("the flood's process did not begin")
        yield answered
        said, _ = process.communicate()  # the end of its input is the flood's
        answered += [each["answered"] for each in json.loads(said.splitlines()[-1])]
    finally:
        process.kill()
        process.wait()


def _produce_to_all(client: Client) -> None:
    """One to each leader. Raises `Breakdown`."""
    for node, (number, *_others) in client.leaders(TOPIC).items():
        for found in client.ask(_produce(number), node).responses:
            if refused := codes(found.partition_responses):
                raise Failed(f"a produce is refused: {refused[0]}")


def _produce(number: int) -> produce.ProduceRequest:
    part = produce.PartitionProduceData(index=i32(number), records=Records(batch(RECORDS)))
    data = produce.TopicProduceData(name=TopicName(TOPIC), partition_data=(part,))
    return produce.ProduceRequest(acks=i16(-1), timeout=TIMEOUT, topic_data=(data,))
