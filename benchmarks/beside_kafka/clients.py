"""Megabytes a second by clients that people use: librdkafka, and Kafka's own tools for it."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.beside_kafka.batches import RECORD_BYTES
from benchmarks.beside_kafka.client import Client
from benchmarks.beside_kafka.measuring import Failed, Figure, Running, Sizes, WithThreeBrokers
from benchmarks.kafka_tools import TOOLS
from framework.errors import UsageError
from nodes.kafka import command_line

PARTITIONS: Final = 6
RECORDS_A_SECOND: Final = 20_000
"""About so many, so that a tool has work for the seconds that are wanted."""
_PRODUCED: Final = re.compile(
    r"^\d+ records sent.*\(([\d.]+) MB/sec\).* ([\d.]+) ms 99th", re.MULTILINE
)
_CONSUMED_COLUMN: Final = 3
MIB: Final = 1.048576
"""The tools' MB."""


class ConfluentKafka(WithThreeBrokers):
    """In a process of its own, in the nodes' network."""

    name = "confluent-kafka"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [
            Figure("confluent-kafka: produced with acks=all, its defaults", "MB/s", "more"),
            Figure("confluent-kafka: consumed, its defaults", "MB/s", "more"),
        ]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            module = [sys.executable, "-m", "benchmarks.beside_kafka.librdkafka"]
            with Client(running.cluster) as client, client.made("librdkafka", PARTITIONS):
                _inside(running, [*module, "librdkafka", str(sizes.seconds), str(result)])
            values = json.loads(result.read_text())
        return {each.name: value for each, value in zip(self.figures(sizes), values, strict=True)}


class KafkaTools(WithThreeBrokers):
    """ProducerPerformance and ConsumerPerformance with their defaults, each in a Java that has just
    been started."""

    name = "kafka-tools"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [
            Figure("ProducerPerformance, its defaults (acks=all)", "MB/s", "more"),
            Figure("ProducerPerformance, its defaults: p99", "ms", "less"),
            Figure("ConsumerPerformance, its defaults", "MB/s", "more"),
        ]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        try:
            command_line.tools()
        except UsageError as error:
            raise Failed(str(error)) from None
        records = str(max(100, int(sizes.seconds * RECORDS_A_SECOND)))
        with Client(running.cluster) as client, client.made("tools", PARTITIONS):
            size = f"--record-size {RECORD_BYTES} --throughput -1"
            said = _tool(running, "ProducerPerformance", f"--num-records {records} {size}")
            produced = _PRODUCED.findall(said)
            if not produced:
                raise Failed(f"ProducerPerformance says: {said[-200:]!r}")
            said = _tool(running, "ConsumerPerformance", f"--num-records {records}")
            consumed = said.strip().splitlines()[-1].split(",")
            if len(consumed) <= _CONSUMED_COLUMN:
                raise Failed(f"ConsumerPerformance says: {said[-200:]!r}")
        rate, latency = produced[-1]
        values = (float(rate) * MIB, float(latency), float(consumed[_CONSUMED_COLUMN]) * MIB)
        return {each.name: value for each, value in zip(self.figures(sizes), values, strict=True)}


def _tool(running: Running, main: str, arguments: str) -> str:
    """What it says."""
    brokers = running.cluster.system.environment(running.cluster)["BOOTSTRAP_SERVERS"]
    words = f"--bootstrap-server {brokers} --topic tools {arguments}".split()
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        argv = shlex.join(command_line.command(f"{TOOLS}{main}", *words))
        _inside(running, ["sh", "-c", f"exec {argv} > {said} 2>&1"])
        return said.read_text()


def _inside(running: Running, argv: Sequence[str]) -> None:
    cluster = running.cluster
    code = cluster.fleet.run_inside(argv, cluster.system.environment(cluster))
    if code != 0:
        raise Failed(f"{argv[-1]}: exit code {code}")
