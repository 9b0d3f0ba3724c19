"""Clusters of small echo servers on real hosts, and clusters that exist only on paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import tenacity

from framework.plugins.system import Cluster, NodeSpec, System, Unforced

PORT: Final = 7000

ECHO: Final = f"""
import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
Server(("", {PORT}), Echo).serve_forever()
"""


WRITTEN: Final = "it's written"
FORCED: Final = 100


class EchoSystem(System):
    """A node that echoes: as much of a system as faults against processes need. Of the file
    `WRITTEN`, where its directory has one, `FORCED` bytes are forced to the disk: one record of
    nine. A disk of its own it has where a test makes one."""

    name = "echo"
    disk = "its disk"

    def newly_formatted(self, cluster: Cluster, node: str, number: int) -> Mapping[str, bytes]:
        return {"format": f"disk {number}".encode(), "log/first": b""}

    def keeps_unforced(self, node: NodeSpec) -> bool:
        return "broker" in node.roles

    def unforced(self, cluster: Cluster, node: str) -> Sequence[Unforced]:
        host = cluster.host(node)
        done = host.run(["stat", "-c", "%s", f"{host.workdir}/{WRITTEN}"], check=False)
        if done.code != 0:
            return []
        size = int(done.out)
        return [Unforced(WRITTEN, FORCED, size, "log/0", [(0, 0), (FORCED, 1), (size, 9)])]

    def start(self, cluster: Cluster, node: str) -> int:
        host = cluster.host(node)
        return host.start([host.python, "-c", ECHO], log=f"{host.workdir}/node.log")


@dataclass
class Echoes:
    """A running cluster of echo servers, c1 to c3."""

    cluster: Cluster

    def start(self) -> None:
        for node in self.cluster.nodes:
            self.cluster.start(node)
        for node in self.cluster.nodes:
            tenacity.retry(stop=tenacity.stop_after_delay(60), wait=tenacity.wait_fixed(0.05))(
                self.answers
            )(node)

    def answers(self, node: str, timeout_s: float = 2.0) -> None:
        """Raises `OSError` where the node does not echo."""
        address = self.cluster.host(node).address
        with self.cluster.fleet.connect(address, PORT, timeout_s) as peer:
            peer.sendall(b"hello")
            assert peer.recv(5) == b"hello"


def specs(controllers: int, brokers: int) -> dict[str, NodeSpec]:
    nodes = {
        f"c{number}": NodeSpec(
            name=f"c{number}",
            roles=frozenset({"controller"}),
            ports={"controller": PORT},
            votes=True,
        )
        for number in range(1, controllers + 1)
    }
    return nodes | {
        f"b{number}": NodeSpec(
            name=f"b{number}", roles=frozenset({"broker"}), ports={"client": PORT}
        )
        for number in range(1, brokers + 1)
    }


def on_paper(nodes: dict[str, NodeSpec]) -> Cluster:
    """A cluster without hosts: enough to plan with."""
    hosts: dict[str, Any] = {
        name: SimpleNamespace(name=name, address=f"10.0.0.{position}", workdir=f"/node/{name}")
        for position, name in enumerate(nodes)
    }
    fleet: Any = SimpleNamespace(kind="paper", hosts=hosts)
    system: Any = EchoSystem()
    return Cluster(system=system, fleet=fleet, nodes=nodes, seed=0)
