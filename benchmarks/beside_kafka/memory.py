"""What all nodes take of the machine while nobody asks anything of them."""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.beside_kafka.measuring import Figure, Running, Sizes, WithThreeBrokers
from benchmarks.beside_kafka.processes import cpu_s, memory_mib, until_quiet

IDLE: Final = "processor time of all nodes, idle"


class Memory(WithThreeBrokers):
    """After what was measured before."""

    name = "memory"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        memory = [Figure(_named(kind), "MiB", "less") for kind in ("Pss", "Rss")]
        return [*memory, Figure(IDLE, "% of a core", "less")]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        until_quiet(running.cluster, sizes.quiet_s)
        used_s, began = cpu_s(running.cluster), time.monotonic()
        time.sleep(sizes.seconds)  # it is time that is measured
        used_s, took_s = cpu_s(running.cluster) - used_s, time.monotonic() - began
        found = {_named(kind): value for kind, value in memory_mib(running.cluster).items()}
        return {**found, IDLE: 100 * used_s / took_s}


def _named(kind: str) -> str:
    return f"memory of all nodes: {kind}"
