"""What the nodes' processes take of the machine, by Linux's /proc."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, cast

import tenacity

from benchmarks.check_scale import processor_s, tree
from framework.plugins.host import OnThisMachine
from framework.plugins.system import Cluster

LOOK_S: Final = 0.5
QUIET: Final = 0.3
"""Of a core, all nodes together."""


def pids(cluster: Cluster) -> Iterator[int]:
    """Of all nodes: what descends from the agents of their hosts."""
    for agent in cast(OnThisMachine, cluster.fleet).roots().values():
        yield from islice(tree(agent), 1, None)


def cpu_s(cluster: Cluster) -> float:
    """Processor time that all nodes have used since they began, s."""
    return sum(map(processor_s, pids(cluster)))


def until_quiet(cluster: Cluster, patience_s: float) -> None:
    """Wait until the nodes have done what they put off, as removing what was deleted or compiling
    what was called often: until they take little of a core, or it is too late."""

    def idle() -> bool:
        before_s = cpu_s(cluster)
        time.sleep(LOOK_S)
        return cpu_s(cluster) - before_s < QUIET * LOOK_S

    tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda found: not found),
        stop=tenacity.stop_after_delay(patience_s),
        retry_error_callback=lambda _: None,
    )(idle)


def memory_mib(cluster: Cluster) -> dict[str, float]:
    """Of all nodes together: "Rss", what is in memory, and "Pss", in which what several processes
    share is counted once. MiB."""
    sums = {"Rss": 0.0, "Pss": 0.0}
    for pid in pids(cluster):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in sums:
                sums[name] += int(value.split()[0]) / 1024
    return sums
