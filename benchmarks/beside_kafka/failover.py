"""The active controller is killed: from the last commit to the first one of the next."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any, Final

from benchmarks.beside_kafka.client import Client, call, codes, open_all, topic
from benchmarks.beside_kafka.envelopes import AtController
from benchmarks.beside_kafka.measuring import (
    Failed,
    Figure,
    Running,
    Sizes,
    WithThreeBrokers,
)
from benchmarks.beside_kafka.systems import settle
from framework.plugins.system import Cluster
from workloads.kafka.connection import Breakdown
from workloads.kafka.roles import CONTROLLER

LONGEST_S: Final = 30.0
PAUSE_S: Final = 0.01
BEFORE: Final = 5


class Failover(WithThreeBrokers):
    """A thread for each controller that is left asks it for topics until one has made one; what
    was killed is started again, and all have settled, before it ends."""

    name = "failover"
    alone = True
    _NAME = "failover of the active controller: last commit to first commit"

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [Figure(self._NAME, "ms", "less")]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        cluster = running.cluster
        with Client(cluster) as client, ExitStack() as stack:
            killed = client.active()
            way = stack.enter_context(closing(AtController(cluster, killed)))
            left = [node for node in cluster.with_role(CONTROLLER) if node != killed]
            names = [f"before-{number}" for number in range(BEFORE)]
            with ThreadPoolExecutor(len(left)) as pool:
                made, gone = threading.Event(), threading.Event()
                others = [pool.submit(_first, cluster, node, gone, made) for node in left]
                for name in names:
                    _need(call(way, topic(name)))
                last = time.monotonic()
                pid = cluster.pid(killed)
                assert pid is not None
                cluster.host(killed).signal(pid, signal.SIGKILL)
                gone.set()
                firsts = [at for future in others if (at := future.result())]
            if not firsts:
                raise Failed(f"no controller made a topic within {LONGEST_S:.0f} s")
            cluster.start(killed)
            settle(cluster)
            client.delete(names)
        return {self._NAME: 1000 * (min(firsts) - last)}


def _need(answer: Any) -> None:
    """Raises `Failed`."""
    if refused := codes(answer.topics):
        raise Failed(f"a topic is refused: {refused[0]}")


def _first(
    cluster: Cluster, node: str, gone: threading.Event, made: threading.Event
) -> float | None:
    """When this controller had made a topic, unless another one had before."""
    with closing(AtController(cluster, node)) as way:
        open_all([way])
        gone.wait(LONGEST_S)
        began = time.monotonic()
        while not made.is_set() and time.monotonic() < began + LONGEST_S:
            with suppress(Breakdown, Failed):
                name = f"after-{node}-{time.monotonic_ns()}"
                _need(call(way, topic(name, replicas=1), 2.0))
                made.set()
                return time.monotonic()
            time.sleep(PAUSE_S)
    return None
