"""Who votes: those that each node's configuration lists, or those that the metadata log does.

A dynamic quorum (KIP-853) is formatted with its first voters, each an id, an address and the id of
the directory that holds its log; nodes are told where they may ask for the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import NodeSpec
from nodes.kafka.releases import is_since

QUORUM: Final = "quorum"
STATIC, DYNAMIC = "static", "dynamic"
DYNAMIC_SINCE: Final = "3.9"
VOTERS: Final = "controller.quorum.voters"
SERVERS: Final = "controller.quorum.bootstrap.servers"


def is_dynamic(wanted: Mapping[str, str]) -> bool:
    """Whether a node's settings say so; by themselves they do not."""
    return wanted.get(QUORUM) == DYNAMIC


def check(wanted: Sequence[Mapping[str, str]], versions: Sequence[str]) -> None:
    """`wanted`: each node's settings, of which `versions` are the releases. Raises `UsageError` for
    a quorum that these cannot be."""
    asked = {each.get(QUORUM, STATIC) for each in wanted}
    if unknown := sorted(asked - {STATIC, DYNAMIC}):
        raise UsageError(f"--set {QUORUM}={unknown[0]}: it is {STATIC} or {DYNAMIC}")
    if len(asked) > 1:
        raise UsageError(f"--set {QUORUM}: all nodes have one quorum, so it is of no node or role")
    old = [version for version in versions if not is_since(version, DYNAMIC_SINCE)]
    if DYNAMIC in asked and old:
        raise UsageError(
            f"--set {QUORUM}={DYNAMIC}: Apache Kafka {old[0]} has none, releases from "
            f"{DYNAMIC_SINCE} on have (KIP-853)"
        )


def bootstrap_servers(voters: str) -> str:
    """Of those that `controller.quorum.voters` would list, where they listen."""
    return ",".join(each.partition("@")[2] for each in voters.split(","))


def initial_controllers(
    nodes: Mapping[str, NodeSpec], addresses: Mapping[str, str], directories: Mapping[str, str]
) -> str:
    """As StorageTool takes them: `<id>@<address>:<port>:<directory id>` of each that votes.
    `addresses`, `directories`: by node."""
    return ",".join(
        f"{spec.ids['controller']}@{addresses[name]}:{spec.ports['controller']}:{directories[name]}"
        for name, spec in sorted(nodes.items())
        if spec.votes
    )
