"""A cluster that runs: hosts made, nodes installed and started, the barrier passed."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, TypeVar

import tenacity

from framework.errors import EngineError
from framework.history.event import Json
from framework.plugins.host import Fleet, HostProvider
from framework.plugins.kept import conclude
from framework.plugins.system import Cluster, NodeSpec, System
from framework.run.faults import await_settled

log: Final = logging.getLogger(__name__)
T = TypeVar("T")

BARRIER_TIMEOUT_S: Final = 180.0
"""Nodes that live may still be starting: six JVMs took 80 s beside thirty other processes."""
LOOK_S: Final = 10.0
"""So often a cluster that has not settled is looked at: maybe nobody is left who could."""


def on_all(cluster: Cluster, action: Callable[[str], T]) -> dict[str, T]:
    """Do something on every node at once. The first error is raised, after all have ended."""
    with ThreadPoolExecutor(len(cluster.nodes)) as pool:
        return dict(zip(cluster.nodes, pool.map(action, cluster.nodes), strict=True))


@contextmanager
def cluster_of(
    system: System,
    provider: HostProvider,
    specs: Sequence[NodeSpec],
    *,
    run_id: str,
    seed: int,
    scratch: Path,
    settings: Mapping[str, Mapping[str, str]] | None = None,
    defect: str | None = None,
    stop: Callable[[], bool] = lambda: False,
    failed_start_logs: Callable[[str], Path] | None = None,
    phase: Callable[[str], None] = lambda _: None,
) -> Iterator[Cluster]:
    """A cluster in which all nodes serve and agree. Hosts and network are gone on exit.

    Raises `EngineError` when a node ends instead, or it does not settle within three minutes; what
    the nodes wrote is then copied to `failed_start_logs(node)`. `phase` is called with the name of
    each step as it begins.
    """
    phase("hosts")
    names = [spec.name for spec in specs]
    with provider.fleet(run_id, names, scratch, system.image_with(specs, settings or {})) as fleet:
        cluster = Cluster(
            system=system,
            fleet=fleet,
            nodes={spec.name: spec for spec in specs},
            seed=seed,
            settings=settings or {},
            defect=defect,
        )
        phase("install")
        on_all(cluster, lambda node: system.install(cluster, node))
        phase("start")
        on_all(cluster, cluster.start)
        phase("barrier")
        wrong = _barrier(cluster, stop)
        if wrong is not None and not stop():
            if failed_start_logs is not None:
                collect(cluster, failed_start_logs)
                wrong += f"; what the nodes wrote is in {failed_start_logs(specs[0].name).parent}"
            raise EngineError(wrong)
        yield cluster


def _barrier(cluster: Cluster, stop: Callable[[], bool]) -> str | None:
    """None once all nodes serve and agree; else why they never will."""
    deadline = monotonic() + BARRIER_TIMEOUT_S
    while (missing := await_settled(cluster, LOOK_S, stop)) is not None and not stop():
        if ended := [node for node in cluster.nodes if not cluster.is_running(node)]:
            return f"{', '.join(ended)} ended at the start"
        if monotonic() >= deadline:
            return f"the cluster did not settle in {BARRIER_TIMEOUT_S:.0f} s: {missing}"
    return missing


def stop_all(cluster: Cluster) -> None:
    """End every node that still runs, politely first. Failures are logged."""
    on_all(cluster, partial(_stop, cluster))


def _stop(cluster: Cluster, node: str) -> None:
    try:
        cluster.stop(node)
    except Exception as error:
        log.warning("%s could not be stopped: %s", node, error)


def collect(
    cluster: Cluster, into: Callable[[str], Path], *, stop: bool = False
) -> Mapping[str, str]:
    """Copy what nodes wrote. Node -> why that could not be done: a verdict never hangs on it.
    `stop`: each is ended first, and none waits for another."""
    lost: dict[str, str] = {}

    def collect_one(node: str) -> None:
        if stop:
            _stop(cluster, node)
        host = cluster.host(node)
        try:
            _again(conclude, host, host.workdir, cluster.pid(node))
            for directory in cluster.system.artifacts(cluster, node):
                _again(host.fetch, directory, into(node))
        except Exception as error:
            lost[node] = f"{type(error).__name__}: {error}"

    on_all(cluster, collect_one)
    return lost


def so_far(cluster: Cluster, into: Callable[[str], Path]) -> None:
    """Copy what nodes have written by now, while they go on. What cannot be had is not missed."""

    def copy(node: str) -> None:
        for directory in cluster.system.artifacts(cluster, node):
            with suppress(Exception):
                cluster.host(node).fetch(directory, into(node))

    on_all(cluster, copy)


_again: Final = tenacity.Retrying(
    stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(0.5), reraise=True
)
"""A connection may be lost in the middle, and the next one be good."""


def describe(fleet: Fleet, specs: Sequence[NodeSpec]) -> dict[str, dict[str, Json]]:
    """Nodes as plan.json has them."""
    return {
        spec.name: {
            "roles": sorted(spec.roles),
            "ports": dict(spec.ports),
            "ids": dict(spec.ids),
            "votes": spec.votes,
            "address": fleet.hosts[spec.name].address,
        }
        for spec in specs
    }
