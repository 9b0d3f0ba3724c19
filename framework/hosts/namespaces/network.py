"""The private network of a run: a bridge, and a pair of virtual interfaces a node.

It lives in the hub's network namespace, which has no way out. Every run therefore has the same
addresses, and histories of different runs can be compared.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyroute2 import IPRoute

BRIDGE: Final = "kraft-proof"
SUBNET: Final = IPv4Network("10.87.0.0/16")
GATEWAY: Final = str(SUBNET[1])
LOOPBACK: Final = 1


def addresses(names: Sequence[str]) -> dict[str, str]:
    """An address for each node, in order."""
    return {name: str(SUBNET[11 + position]) for position, name in enumerate(names)}


def make_bridge() -> None:
    """Make the bridge in the current network namespace, with an address for the harness."""
    with _route() as net:
        net.link("add", ifname=BRIDGE, kind="bridge")
        (bridge,) = net.link_lookup(ifname=BRIDGE)
        net.addr("add", index=bridge, address=GATEWAY, prefixlen=SUBNET.prefixlen)
        net.link("set", index=bridge, state="up")
        net.link("set", index=LOOPBACK, state="up")


def plug_in(node: str, pid: int, address: str) -> None:
    """Join the network namespace of process `pid` to the bridge, as eth0 with this address."""
    outer = f"v{pid}"
    with _route() as net:
        net.link("add", ifname=outer, kind="veth", peer={"ifname": "eth0", "net_ns_pid": pid})
        (bridge,) = net.link_lookup(ifname=BRIDGE)
        (port,) = net.link_lookup(ifname=outer)
        net.link("set", index=port, master=bridge, state="up", ifalias=node)
    with _route(netns=f"/proc/{pid}/ns/net") as net:
        (inner,) = net.link_lookup(ifname="eth0")
        net.addr("add", index=inner, address=address, prefixlen=SUBNET.prefixlen)
        net.link("set", index=inner, state="up")
        net.link("set", index=LOOPBACK, state="up")


def _route(**where: str) -> "IPRoute":
    """Imported by the one process that needs it: it takes as long as all else that a hub, or an
    agent, loads."""
    from pyroute2 import IPRoute

    return IPRoute(**where)
