"""Many partitions created: until that is committed, told by all brokers, and until they lead."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Final

from benchmarks.beside_kafka.client import Client, topic
from benchmarks.beside_kafka.measuring import Figure, Running, Sizes

OF_A_TOPIC: Final = 1000
SPARE: Final = 3000
"""Files that a broker has open beside those of partitions."""
ALL_S: Final = 600.0


class Partitions:
    """Brokers take up what is committed in its order, so the topic that was made last tells of all.
    One replica each: Apache Kafka has a file of each replica open, and a machine's limit of
    them (`ulimit -n`) is what sets the number of brokers."""

    name = "partitions"
    alone = True

    def brokers(self, sizes: Sizes) -> int:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        return max(3, math.ceil(sizes.partitions / max(1, most - SPARE)))

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [
            Figure(f"{sizes.partitions:,} partitions: {what}", "s", "less")
            for what in ("committed", "told by each broker", "each led")
        ]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        counts = _split(sizes.partitions)
        names = [f"many-{token_hex(3)}-{number}" for number in range(len(counts))]
        with Client(running.cluster) as client:
            began = time.monotonic()
            for name, count in zip(names, counts, strict=True):
                client.create(topic(name, count, replicas=1))
            committed_s = time.monotonic() - began
            for node in client.brokers:
                client.until(
                    lambda node=node: client.leads(node, names[-1], count=counts[-1]),  # type: ignore[misc]
                    ALL_S,
                    f"{node} tells all partitions",
                )
            told_s = time.monotonic() - began
            client.until(lambda: client.led(names[-1], counts[-1]), ALL_S, "each partition led")
            led_s = time.monotonic() - began
        values = (committed_s, told_s, led_s)
        return {each.name: value for each, value in zip(self.figures(sizes), values, strict=True)}


def _split(partitions: int) -> list[int]:
    """How many partitions each topic has."""
    whole, rest = divmod(partitions, OF_A_TOPIC)
    return [OF_A_TOPIC] * whole + ([rest] if rest else [])
