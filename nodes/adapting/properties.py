"""What the layout of a cluster says in a node's server.properties."""

from collections.abc import Mapping, Set
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import NodeSpec

LISTENERS: Final = {"client": "CLIENT", "controller": "CONTROLLER"}
"""Port -> the listener's name in the configuration."""


def of_layout(
    node: str, nodes: Mapping[str, NodeSpec], addresses: Mapping[str, str], *, workdir: str
) -> dict[str, str]:
    """Roles, listeners, voters and the directory of the data. `addresses`: node -> IPv4 address."""
    spec = nodes[node]
    listeners = [
        f"{LISTENERS[name]}://{addresses[node]}:{port}" for name, port in spec.ports.items()
    ]
    voters = [
        f"{each.ids['controller']}@{addresses[name]}:{each.ports['controller']}"
        for name, each in sorted(nodes.items())
        if each.votes
    ]
    return {
        "process.roles": ",".join(sorted(spec.roles)),
        "listeners": ",".join(listeners),
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": f"{workdir}/data",
    }


def refuse(wanted: Set[str], fixed: Set[str]) -> None:
    """Raises `UsageError` for settings that the layout decides: another value would be another
    cluster than the run's plan says."""
    if found := sorted(fixed & wanted):
        raise UsageError(f"--set {found[0]}: the layout of the cluster decides that (--nodes)")
