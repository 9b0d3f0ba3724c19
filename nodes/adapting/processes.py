"""Nodes' processes and where they listen."""

import signal
from collections.abc import Iterable

import tenacity

from framework.plugins.host import Host
from framework.plugins.system import Cluster


def end(host: Host, pid: int, grace_s: float) -> None:
    """SIGTERM, and where that is not enough in so many s, SIGKILL."""
    host.signal(pid, signal.SIGTERM)
    ended = tenacity.Retrying(
        retry=tenacity.retry_if_result(bool),
        stop=tenacity.stop_after_delay(grace_s),
        wait=tenacity.wait_fixed(0.05),
        retry_error_callback=lambda _: True,
    )
    if ended(host.alive, pid):
        host.signal(pid, signal.SIGKILL)
        ended(host.alive, pid)


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
