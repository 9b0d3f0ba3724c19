"""Controlled shutdown of a broker that leads many partitions."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Final

from benchmarks.beside_kafka.client import Client, topic
from benchmarks.beside_kafka.measuring import Failed, Figure, Running, Sizes
from benchmarks.beside_kafka.systems import settle

OF_A_TOPIC: Final = 1000
LONGEST_S: Final = 300.0
PAUSE_S: Final = 0.1


class Shutdown:
    """Each of the other brokers has a replica of every partition. The last broker in the order of
    names leaves; the next time it is started again before."""

    name = "shutdown"
    alone = True

    def brokers(self, sizes: Sizes) -> int:
        return 3

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        what = f"controlled shutdown of a broker that leads {sizes.led:,}"
        return [
            Figure(f"{what}: others told as leaders by all", "s", "less"),
            Figure(f"{what}: process ended", "s", "less"),
        ]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        cluster = running.cluster
        with Client(cluster) as client:
            *others, leaver = client.brokers
            if not cluster.is_running(leaver):  # it left before, to warm up
                cluster.start(leaver)
                settle(cluster)
            topics = _create(client, leaver, sizes.led)
            pid = cluster.pid(leaver)
            assert pid is not None
            left = [(node, name) for node in others for name in topics]
            led_s = ended_s = None
            began = time.monotonic()
            cluster.host(leaver).signal(pid, signal.SIGTERM)
            while led_s is None or ended_s is None:
                while left and _left(client, *left[-1], topics, leaver):
                    left.pop()
                if not left and led_s is None:
                    led_s = time.monotonic() - began
                if ended_s is None and not cluster.host(leaver).alive(pid):
                    ended_s = time.monotonic() - began
                if time.monotonic() > began + LONGEST_S:
                    raise Failed(f"no end within {LONGEST_S:.0f} s: {led_s=}, {ended_s=}")
                time.sleep(PAUSE_S)
        told, ended = self.figures(sizes)
        return {told.name: led_s, ended.name: ended_s}


def _create(client: Client, leaver: str, led: int) -> dict[str, int]:
    """Topic -> partitions. Each is in sync on all brokers when this returns."""
    first = client.ids[leaver]
    others = [ident for node, ident in client.ids.items() if node != leaver]
    rows = ([first, *others], [first, *reversed(others)])
    topics: dict[str, int] = {}
    while (missing := led - sum(topics.values())) > 0:
        name, count = f"led-{token_hex(3)}-{len(topics)}", min(missing, OF_A_TOPIC)
        client.create(topic(name, assigned=[rows[number % 2] for number in range(count)]))
        topics[name] = count
    for name, count in topics.items():
        client.until(
            lambda name=name, count=count: _in_sync(client, name, count),  # type: ignore[misc]
            LONGEST_S,
            f"{name} in sync on all brokers",
            PAUSE_S,
        )
    return topics


def _in_sync(client: Client, name: str, count: int) -> bool:
    found = [each for node in client.brokers for each in client.partitions(node, name)]
    return len(found) == count * len(client.brokers) and all(
        len(each.isr_nodes) == len(client.brokers) for each in found
    )


def _left(client: Client, node: str, name: str, topics: Mapping[str, int], leaver: str) -> bool:
    return client.leads(node, name, count=topics[name], but=client.ids[leaver])
