"""The two systems, what each is given so that both have the same, and a cluster of either."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.beside_kafka.client import Client
from benchmarks.beside_kafka.measuring import Failed, Running
from framework.errors import EngineError
from framework.hosts.choose import choose
from framework.plugins import registry
from framework.plugins.system import Cluster, System
from framework.run import cluster as clusters
from framework.run.faults import await_settled
from framework.run.settings import node_settings

HOSTS: Final = "namespaces"
NAMES: Final = {"kraft": "the node", "kafka": "Apache Kafka"}
ALIKE: Final = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.request.timeout.ms": "1000",
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "500",
}
"""Durability is alike by both's defaults: voters sync the metadata log before they count, and
nobody syncs partitions' logs, which the replicas in sync are there for."""
FLAGS: Final = (
    "-server -XX:TieredStopAtLevel=4 -XX:-UseSerialGC -XX:+UseG1GC -XX:MaxGCPauseMillis=20 "
    "-XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"
)
"""Those of Kafka's own start script, where runs have flags for a small machine."""
OWN: Final[Mapping[str, Mapping[str, str]]] = {
    # No snapshot amid a measurement, no log of events, which the other has not.
    "kraft": {
        "events.file": "",
        "broker.lease.ms": "5000",
        "metadata.snapshot.interval.ms": "3600000",
        "metadata.snapshot.degraded.interval.ms": "7200000",
    },
    # Kafka's own values, where runs have smaller ones; an hour without a snapshot is its default.
    "kafka": {
        "java_flags": FLAGS,
        "heap": "1g",
        "broker.session.timeout.ms": "5000",
        "num.network.threads": "3",
        "num.io.threads": "8",
        "metadata.log.max.record.bytes.between.snapshots": "1000000000",
        "metadata.log.max.snapshot.interval.ms": "3600000",
        "request.timeout.ms": "30000",
        "replica.socket.timeout.ms": "30000",
    },
}
STARTED_S: Final = 120.0
SETTLED_S: Final = 120.0


def settings(name: str, more: Sequence[str] = ()) -> list[str]:
    """What each node of a system is given, as `--set` has it; `more` comes last, and counts."""
    return [f"{key}={value}" for key, value in {**ALIKE, **OWN[name]}.items()] + list(more)


@contextmanager
def running(name: str, brokers: int, more: Sequence[str] = ()) -> Iterator[Running]:
    """A cluster with three controllers. It is gone on exit. Raises `UsageError`, `EngineError`."""
    system: System = registry.load("systems", name)
    specs = system.layout(f"3+{brokers}")
    wanted = node_settings(settings(name, more), specs)
    system.check_settings(specs, wanted)
    image = system.image_with(specs, wanted)
    provider, _ = choose(HOSTS, image, len(specs))
    with (
        tempfile.TemporaryDirectory(prefix="kraft-proof-") as scratch,
        provider.fleet(
            f"beside-{secrets.token_hex(4)}", [spec.name for spec in specs], Path(scratch), image
        ) as fleet,
    ):
        nodes = {spec.name: spec for spec in specs}
        cluster = Cluster(system=system, fleet=fleet, nodes=nodes, seed=1, settings=wanted)
        clusters.on_all(cluster, lambda node: system.install(cluster, node))
        began = time.monotonic()
        clusters.on_all(cluster, cluster.start)
        try:
            _until_serving(cluster)
        except Failed as error:
            raise EngineError(f"{NAMES[name]} does not serve: {error}") from None
        started_s = time.monotonic() - began
        settle(cluster)
        yield Running(cluster, started_s)


def _until_serving(cluster: Cluster) -> None:
    """Until a topic with a replica on three brokers is made, and each broker tells its leader."""
    with Client(cluster) as client:
        client.until(lambda: client.could_create("started"), STARTED_S, "no topic is made")
        for node in client.brokers:
            client.until(lambda node=node: client.leads(node, "started"), STARTED_S, node)  # type: ignore[misc]


def settle(cluster: Cluster) -> None:
    """Until all nodes agree. Raises `EngineError`."""
    if missing := await_settled(cluster, SETTLED_S):
        raise EngineError(f"the cluster did not settle in {SETTLED_S:.0f} s: {missing}")
