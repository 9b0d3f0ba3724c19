"""etcd: how members are laid out, started and asked."""

from collections.abc import Mapping, Sequence
from typing import Final

from framework.errors import UsageError
from framework.plugins.host import Image
from framework.plugins.system import Cluster, NodeSpec, NodeState, System
from kraft_proof_etcd.gateway import BROKEN, PORT, AnsweredError, NotSentError, ask

PEER_PORT: Final = 2380
SETTINGS: Final = ("heartbeat-interval", "election-timeout", "snapshot-count", "pre-vote")
"""Flags that `--set` may give."""


class Etcd(System):
    """As Debian's package `etcd-server` has it. Nothing of it is ours, and nothing is changed."""

    name = "etcd"
    capabilities = frozenset({"etcd-kv"})

    def layout(self, nodes: str | None) -> Sequence[NodeSpec]:
        count = nodes or "3"
        if count not in ("3", "5"):
            raise UsageError(f"--nodes {count}: it is 3 or 5, the number of members")
        ports = {"client": PORT, "peer": PEER_PORT}
        return [
            NodeSpec(name=f"n{number}", roles=frozenset({"member"}), ports=ports, votes=True)
            for number in range(1, int(count) + 1)
        ]

    def image(self) -> Image:
        return Image(name="etcd", packages=["etcd-server"], commands=["etcd"])

    def check_settings(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> None:
        for key in {key for each in settings.values() for key in each} - set(SETTINGS):
            raise UsageError(f"--set {key}: etcd can be given {', '.join(SETTINGS)}")

    def start(self, cluster: Cluster, node: str) -> int:
        """After a kill, too: a member that finds its data does not look at `initial-cluster`."""
        host = cluster.host(node)
        peers = {each: f"http://{cluster.host(each).address}:{PEER_PORT}" for each in cluster.nodes}
        flags = {
            "name": node,
            "data-dir": f"{host.workdir}/data",
            "listen-client-urls": f"http://{host.address}:{PORT}",
            "advertise-client-urls": f"http://{host.address}:{PORT}",
            "listen-peer-urls": peers[node],
            "initial-advertise-peer-urls": peers[node],
            "initial-cluster": ",".join(f"{each}={url}" for each, url in peers.items()),
            **cluster.settings.get(node, {}),
        }
        argv = ["etcd", *(f"--{flag}={value}" for flag, value in flags.items())]
        return host.start(argv, log=f"{host.workdir}/etcd.log")

    def state(self, cluster: Cluster, node: str, timeout_s: float = 1.0) -> NodeState | None:
        try:
            said = ask(cluster, node, "maintenance/status", {}, timeout_s=timeout_s)
        except (*BROKEN, NotSentError, AnsweredError):
            return None
        leader = said.get("leader", "0")
        return NodeState(
            node=node,
            ready=leader != "0",
            leader=leader == said["header"]["member_id"],
            term=int(said["raftTerm"]),
            fields={"leader": leader},
        )

    def settled(self, cluster: Cluster) -> str | None:
        states = [self.state(cluster, node) for node in cluster.nodes]
        led = [state for state in states if state is not None and state.ready]
        if len(led) < len(states):
            return f"{len(led)} of {len(states)} members answer and know a leader"
        seen = {(state.term, state.fields["leader"]) for state in led}
        return None if len(seen) == 1 else "members differ in leader or term"

    def environment(self, cluster: Cluster) -> Mapping[str, str]:
        urls = [f"http://{cluster.host(node).address}:{PORT}" for node in cluster.nodes]
        return {"ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": ",".join(urls)}
