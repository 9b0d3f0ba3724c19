"""Nodes' processes and where they listen."""

import signal
from collections.abc import Iterable
from typing import Final

import tenacity

from framework.plugins.host import Host
from framework.plugins.system import Cluster

GONE_S: Final = 1.0
"""So long who was killed is waited for."""


def end(host: Host, pid: int, grace_s: float) -> None:
    """SIGTERM, and where that is not enough in so many s, SIGKILL; without any grace, that at
    once."""
    if grace_s > 0:
        host.signal(pid, signal.SIGTERM)
        if not _lives(host, pid, grace_s):
            return
    host.signal(pid, signal.SIGKILL)
    _lives(host, pid, GONE_S)


def _lives(host: Host, pid: int, patience_s: float) -> bool:
    """Whether it still does after so many s."""
    waiting = tenacity.Retrying(
        retry=tenacity.retry_if_result(bool),
        stop=tenacity.stop_after_delay(patience_s),
        wait=tenacity.wait_fixed(0.05),
        retry_error_callback=lambda _: True,
    )
    return bool(waiting(host.alive, pid))


def servers(cluster: Cluster) -> dict[str, str]:
    """BOOTSTRAP_SERVERS and CONTROLLER_SERVERS, as Kafka's clients take them."""
    return {
        "BOOTSTRAP_SERVERS": _listening(cluster, "broker", "client"),
        "CONTROLLER_SERVERS": _listening(cluster, "controller", "controller"),
    }


def _listening(cluster: Cluster, role: str, listener: str) -> str:
    return ",".join(
        f"{cluster.host(node).address}:{cluster.nodes[node].ports[listener]}"
        for node in cluster.with_role(role)
    )


def names(nodes: Iterable[str]) -> str:
    """For people."""
    return ", ".join(sorted(nodes))
