"""How the framework lays out, installs, starts, asks and stops Python KRaft nodes."""

import json
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.static.primitive import i8

from framework.evidence.kinds import Evidence
from framework.history.event import Recorded
from framework.plugins.capabilities import (
    BROKER_LEASES,
    CHANGING_CONFIGS,
    CONFIGS_AT_ANY_BROKER,
    DRY_RUNS,
    ELECTIONS,
    FEATURE_LEVELS,
    KEPT_GROUPS,
    KEPT_LOG_STARTS,
    MEMBER_EPOCHS,
    REASSIGNMENTS,
    REPLICA_READS,
    REPLICA_REPORTS,
    TOLD_CONTROLLERS,
    TOPICS_ON_DEMAND,
    UNFORCED,
    WATCHED_LOG,
)
from framework.plugins.checker import Table
from framework.plugins.dialect import Dialect
from framework.plugins.host import Image
from framework.plugins.system import Cluster, NodeSpec, NodeState, System, Unforced
from nodes.adapting import processes
from nodes.adapting.layout import layout
from nodes.adapting.unforced import unforced
from nodes.kraft.adapter import image, security
from nodes.kraft.adapter.connecting import connect, exchange
from nodes.kraft.adapter.dialect import DIALECT
from nodes.kraft.adapter.disk import KEPT, PARTITIONS
from nodes.kraft.adapter.evidence import (
    EVIDENCE,
    ON_DISK,
    observe,
    observe_node,
    observe_run,
)
from nodes.kraft.adapter.extra_broker import KraftExtraBroker
from nodes.kraft.adapter.older import restated
from nodes.kraft.adapter.settings import AUTO_TOPICS, EVENTS, check, node_settings
from nodes.kraft.config import timing
from nodes.kraft.defects.catalogue import DEFECTS
from nodes.kraft.wire.codec import MalformedRequest
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse

FENCING_MARGIN_S: Final = 1.0
"""Within this time the record that fences a broker is committed, and every broker has read it."""
STOP_GRACE_S: Final = 0.5
"""Enough for a controller."""
_ANY_GROUP: Final = FindCoordinatorRequest(key="of-nobody", key_type=i8(0))


class KraftSystem(System):
    """The Python KRaft node as a system under test."""

    name = "kraft"
    defects: Mapping[str, str] = DEFECTS
    capabilities = (
        frozenset(
            {
                "kafka-topics",
                "kafka-descriptions",
                "topic-configs",
                "linearizable-topic-read",
                "synthetic-brokers",
                "extra-brokers",
                "data-plane",
                "groups",
                "kept-votes",
                "metadata-log",
                "request-ids",
                "strict-metadata-log",
                "snapshots",
                MEMBER_EPOCHS,
                REASSIGNMENTS,
                ELECTIONS,
                FEATURE_LEVELS,
                CHANGING_CONFIGS,
                CONFIGS_AT_ANY_BROKER,
                BROKER_LEASES,
                KEPT_GROUPS,
                KEPT_LOG_STARTS,
                UNFORCED,
                WATCHED_LOG,
                TOLD_CONTROLLERS,
                REPLICA_REPORTS,
                REPLICA_READS,
                DRY_RUNS,
            }
        )
        | EVIDENCE
        | ON_DISK
    )

    def layout(self, nodes: str | None) -> Sequence[NodeSpec]:
        """`3+3`: controllers + brokers; `3`: nodes that are both."""
        return layout(nodes, one_id=False)

    def image(self) -> Image:
        return image.image()

    def install(self, cluster: Cluster, node: str) -> None:
        host = cluster.host(node)
        settings = self.settings(cluster, node)
        properties = "".join(f"{key}={value}\n" for key, value in settings.items())
        host.write(f"{host.workdir}/server.properties", properties.encode())
        made = security.files(settings, address=host.address, seed=cluster.seed)
        for name, data in made.items():
            host.write(f"{host.workdir}/{name}", data)

    def settings(self, cluster: Cluster, node: str) -> dict[str, str]:
        """The node's server.properties."""
        host = cluster.host(node)
        addresses = {name: each.address for name, each in cluster.fleet.hosts.items()}
        wanted = cluster.settings.get(node, {})
        return node_settings(
            node, cluster.nodes, addresses, wanted, workdir=host.workdir, seed=cluster.seed
        )

    def check_settings(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> None:
        check(nodes, settings)

    def capabilities_with(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> frozenset[str]:
        """Where no node writes events, disks alone give evidence. Topics are made on demand where
        brokers are told to."""
        given = [settings.get(spec.name, {}) for spec in nodes]
        found = self.capabilities
        if all(each.get(EVENTS) == "" for each in given):
            found -= EVIDENCE
        if all(each.get(AUTO_TOPICS) == "true" for each in given):
            found |= {TOPICS_ON_DEMAND}
        return found

    def recovery_s(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> float:
        """Of the slowest node: what was forwarded comes back, a lease runs out, followers miss
        their leader, and ten elections, of which most are split."""
        return (
            max(
                each.forward_timeout_ms
                + each.lease_ms
                + each.fetch_timeout_ms
                + 10 * each.election_timeout_ms
                for each in (timing(settings.get(spec.name, {})) for spec in nodes)
            )
            / 1000
        )

    def fencing_s(
        self, nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]
    ) -> float:
        """Of the slowest node: followers miss their leader, some elections are split, and a lease,
        which the new leader counts from its own begin, runs out."""
        slowest_ms = max(
            each.lease_ms + each.fetch_timeout_ms + 6 * each.election_timeout_ms
            for each in (timing(settings.get(spec.name, {})) for spec in nodes)
        )
        return FENCING_MARGIN_S + slowest_ms / 1000

    def start(self, cluster: Cluster, node: str) -> int:
        host = cluster.host(node)
        argv = self.command(cluster, node, f"{host.workdir}/server.properties")
        return host.start(argv, log=f"{host.workdir}/node.log")

    def command(self, cluster: Cluster, node: str, properties: str) -> list[str]:
        """The command line of a process with this configuration on the node's host."""
        defect = cluster.defect
        module = ["nodes.kraft.defects", defect] if defect else ["nodes.kraft"]
        return [*image.python(cluster.host(node)), "-m", *module, "--config", properties]

    def connect(
        self, cluster: Cluster, node: str, listener: str, timeout_s: float, port: int | None = None
    ) -> socket.socket:
        """A connection on which requests can be sent. `port`: another one with this listener, on
        the node's host. Raises `OSError`."""
        return connect(
            cluster.fleet,
            cluster.host(node).address,
            port or cluster.nodes[node].ports[listener],
            security.of_clients(cluster.settings.get(node, {}), listener, cluster.seed),
            timeout_s,
        )

    def describe(
        self,
        cluster: Cluster,
        node: str,
        listener: str,
        *,
        port: int | None = None,
        timeout_s: float = 1.0,
    ) -> Mapping[str, Any] | None:
        """What the process behind this listener says of itself; None where it does not answer."""
        deadline = time.monotonic() + timeout_s
        try:
            with self.connect(cluster, node, listener, timeout_s, port) as connection:
                response = exchange(connection, DescribeNodeRequest(), deadline)
            assert isinstance(response, DescribeNodeResponse)
            fields: dict[str, Any] = json.loads(response.state)
        except (OSError, MalformedRequest, ValueError):
            return None
        return fields

    def state(self, cluster: Cluster, node: str, timeout_s: float = 1.0) -> NodeState | None:
        listener = next(iter(cluster.nodes[node].ports))
        fields = self.describe(cluster, node, listener, timeout_s=timeout_s)
        if fields is None:
            return None
        brokers = fields["broker_state"] in (None, "ACTIVE")
        return NodeState(
            node=node,
            ready=fields["leader_id"] >= 0 and fields["high_watermark"] >= 0 and brokers,
            leader=fields["active_epoch"] is not None,
            term=fields["epoch"],
            fields=fields,
        )

    def settled(self, cluster: Cluster) -> str | None:
        states = {node: self.state(cluster, node) for node in cluster.nodes}
        silent = [node for node, state in states.items() if state is None]
        if silent:
            return f"{processes.names(silent)} did not answer"
        answered = [state for state in states.values() if state is not None]
        unready = [state.node for state in answered if not state.ready]
        if unready:
            return f"{processes.names(unready)} not ready"
        leaders = [state.node for state in answered if state.leader]
        if len(leaders) != 1:
            return f"{len(leaders)} nodes claim to lead"
        for what in ("epoch", "leader_id", "applied", "digest"):
            if len({state.fields[what] for state in answered}) != 1:
                return f"nodes differ in {what}"
        return self._coordinated(cluster)

    def _coordinated(self, cluster: Cluster, timeout_s: float = 1.0) -> str | None:
        """Whether groups can be: before a run begins, so that the topic of their offsets, which
        whoever asks first has made, comes to be on brokers that hold data, and not on those that
        clients play."""
        broker, *_ = cluster.with_role("broker")
        deadline = time.monotonic() + timeout_s
        try:
            with self.connect(cluster, broker, "client", timeout_s) as connection:
                answer = exchange(connection, _ANY_GROUP, deadline)
        except (OSError, MalformedRequest):
            return f"{broker} did not answer"
        assert isinstance(answer, FindCoordinatorResponse)
        nobody = answer.error_code == ErrorCode.coordinator_not_available
        return "groups have no coordinator" if nobody else None

    def stop(self, cluster: Cluster, node: str, pid: int) -> None:
        """A broker would ask the controllers first, which end with it: nobody waits for that. What
        it wrote is there, and what it has to say it says at once."""
        by_itself = "broker" not in cluster.nodes[node].roles
        processes.end(cluster.host(node), pid, STOP_GRACE_S if by_itself else 0)

    def environment(self, cluster: Cluster) -> Mapping[str, str]:
        broker = cluster.with_role("broker")[0]
        return {
            **processes.servers(cluster),
            **security.environment(cluster.settings.get(broker, {}), "client", cluster.seed),
        }

    def observe(self, folder: Path, plan: Mapping[str, Recorded]) -> Iterable[Evidence]:
        return observe(folder, plan)

    def observe_run(self, plan: Mapping[str, Recorded]) -> Iterable[Evidence]:
        return observe_run(plan)

    def observe_node(
        self, folder: Path, plan: Mapping[str, Recorded], node: str
    ) -> Iterable[Evidence]:
        return observe_node(folder, plan, node)

    def restated(self, operations: Table) -> Table:
        return restated(operations)

    def artifacts(self, cluster: Cluster, node: str) -> Sequence[str]:
        return [cluster.host(node).workdir]

    def keeps(self, cluster: Cluster, node: str) -> Sequence[str]:
        return KEPT

    def keeps_unforced(self, node: NodeSpec) -> bool:
        return "broker" in node.roles

    def unforced(self, cluster: Cluster, node: str) -> Sequence[Unforced]:
        """All of partitions' logs: the node forces them when it stops in good order, after which
        no run starts it again. The metadata log, which it forces, lies elsewhere."""
        return unforced(cluster.host(node), PARTITIONS)

    def dialect(self) -> Dialect:
        """What clients of Kafka's protocol must know to speak with these nodes."""
        return DIALECT

    def extra_broker(
        self, cluster: Cluster, *, broker_id: int, number: int, slot: int
    ) -> KraftExtraBroker:
        """A broker beside the cluster's own: the `number`th (from 0), in slot 0 or 1."""
        return KraftExtraBroker(cluster, broker_id, number, slot, self)
