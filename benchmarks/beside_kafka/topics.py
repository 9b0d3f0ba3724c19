"""Topics created a second, with some under way at any time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from benchmarks.beside_kafka.client import Client, Way, call, codes, connection, open_all, topic
from benchmarks.beside_kafka.envelopes import AtController
from benchmarks.beside_kafka.measuring import (
    Failed,
    Figure,
    Running,
    Sizes,
    WithThreeBrokers,
    p99,
)
from benchmarks.beside_kafka.processes import cpu_s, until_quiet
from workloads.kafka.roles import BROKER, CONTROLLER

PLACES: Final = {BROKER: "through brokers", CONTROLLER: "at the controller"}


@dataclass(slots=True)
class Made:
    """By one thread: the topics, and how long each took, ms."""

    names: list[str] = field(default_factory=list)
    times_ms: list[float] = field(default_factory=list)


class Topics(WithThreeBrokers):
    """Of one partition with three replicas each. They are deleted again, which does not count."""

    name = "topics"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [
            figure
            for role in PLACES
            for under_way in sizes.under_way
            for figure in (
                Figure(_named(role, under_way), "/s", "more"),
                Figure(f"{_named(role, under_way)}: p99", "ms", "less"),
                Figure(f"{_named(role, under_way)}: processor time a topic", "ms", "less"),
            )
        ]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for role in PLACES:
            for under_way in sizes.under_way:
                found |= _created(running, role, under_way, sizes)
        return found


def _named(role: str, under_way: int) -> str:
    return f"topics created {PLACES[role]}, {under_way} under way"


def _created(running: Running, role: str, under_way: int, sizes: Sizes) -> dict[str, float]:
    """Raises `Failed`, `Breakdown`."""
    cluster = running.cluster
    with Client(cluster) as client, ExitStack() as stack:
        ways = _ways(client, role, under_way)
        for way in ways:
            stack.callback(way.close)
        open_all(ways)
        until_quiet(cluster, sizes.quiet_s)
        used_s, began = cpu_s(cluster), time.monotonic()
        with ThreadPoolExecutor(under_way) as pool:
            each = [
                pool.submit(_create, way, f"{role}-{under_way}-{number}-", began + sizes.seconds)
                for number, way in enumerate(ways)
            ]
            made = [future.result() for future in each]
        took_s, used_s = time.monotonic() - began, cpu_s(cluster) - used_s
        names = [name for some in made for name in some.names]
        client.delete(names)
    name = _named(role, under_way)
    return {
        name: len(names) / took_s,
        f"{name}: p99": p99([took for some in made for took in some.times_ms]),
        f"{name}: processor time a topic": 1000 * used_s / len(names),
    }


def _ways(client: Client, role: str, count: int) -> list[Way]:
    """To the active controller, or to all brokers in turn."""
    if role == CONTROLLER:
        active = client.active()
        return [AtController(client.cluster, active) for _ in range(count)]
    nodes = client.brokers
    return [connection(client.cluster, nodes[each % len(nodes)], role) for each in range(count)]


def _create(way: Way, prefix: str, until: float) -> Made:
    """One after the other, at least one."""
    made = Made()
    while not made.names or time.monotonic() < until:
        name, began = f"{prefix}{len(made.names)}", time.monotonic()
        if refused := codes(call(way, topic(name)).topics):
            raise Failed(f"a topic is refused: {refused[0]}")
        made.times_ms.append(1000 * (time.monotonic() - began))
        made.names.append(name)
    return made
