"""How the framework lays out, installs, starts, asks and stops nodes of Apache Kafka."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from framework.evidence.clocks import Clocks
from framework.evidence.kinds import Evidence, disk_of
from framework.evidence.processes import Stalled
from framework.history.event import Recorded
from framework.plugins.capabilities import (
    CHANGING_VOTERS,
    FORMATTED_DISKS,
    SHRINKING_RAISES,
    TOLD_CONTROLLERS,
    TOPICS_ON_DEMAND,
    UNFORCED,
)
from framework.plugins.dialect import Dialect
from framework.plugins.host import Image
from framework.plugins.promise import Promised
from framework.plugins.system import Cluster, NodeSpec, NodeState, System, Unforced
from nodes.adapting import processes
from nodes.adapting.layout import layout
from nodes.adapting.unforced import unforced
from nodes.kafka import (
    archive,
    command_line,
    disk,
    features,
    formatting,
    java,
    quorum,
    releases,
    settings,
    software,
    states,
)
from nodes.kafka.committed import committed
from nodes.kafka.defects import agent, tools
from nodes.kafka.defects.catalogue import BREAKS
from nodes.kafka.dialect import DIALECT
from nodes.kafka.extra_broker import PROPERTIES, KafkaExtraBroker
from nodes.kafka.log_rules import SOFTWARE, features_of, releases_of, rules_of
from nodes.kafka.promises.made import EXTRA_BROKERS
from nodes.kafka.promises.table import capabilities_on, promised
from nodes.kafka.settings import cluster_id

FENCING_MARGIN_S: Final = 1.0
"""Within this time the record that fences a broker is committed, and every broker has read it."""
STOP_GRACE_S: Final = 1.0
ANSWER_S: Final = 1.0


class KafkaSystem(System):
    """Apache Kafka in KRaft mode, as it was released."""

    name = "kafka"
    costly: Mapping[str, str] = {
        EXTRA_BROKERS: "a Java each, again and again",
        CHANGING_VOTERS: "less is owed under faults",
    }
    defects: Mapping[str, str] = BREAKS
    capabilities = (
        capabilities_on((releases.newest(),)) | {UNFORCED, FORMATTED_DISKS} | disk_of(Stalled)
    )
    disk = disk.PARTITIONS

    def layout(self, nodes: str | None) -> Sequence[NodeSpec]:
        return layout(nodes, one_id=True)

    def image(self) -> Image:
        """The newest release, where it is on this machine."""
        return self.image_with((), {})

    def image_with(
        self, nodes: Sequence[NodeSpec], settings_of: Mapping[str, Mapping[str, str]]
    ) -> Image:
        """A Java, and the jars of each release that a node is of."""
        asked = [settings_of.get(spec.name, {}) for spec in nodes]
        needed = [software.asked_for(wanted) for wanted in asked]
        return java.image(asked, needed, agent.files(asked))

    def capabilities_with(
        self, nodes: Sequence[NodeSpec], settings_of: Mapping[str, Mapping[str, str]]
    ) -> frozenset[str]:
        """Those that all of the nodes' releases promise, and are asked for. Of logs that are forced
        to the disk now and then, nobody knows how far they are. Topics are made on demand where
        brokers are told to. Who votes in a static quorum never
        changes. At older levels of features controllers tell nothing of each other, and an ISR
        that shrinks begins a leader epoch."""
        given = [settings_of.get(spec.name, {}) for spec in nodes]
        versions = [software.asked_for(each).version for each in given]
        found = capabilities_on(versions) | {FORMATTED_DISKS} | disk_of(Stalled)
        if any(map(features.shrinking_raises, versions, given)):
            found |= {SHRINKING_RAISES}
        if not all(map(quorum.is_dynamic, given)):
            found -= {CHANGING_VOTERS}
        if not all(map(features.registers_controllers, given)):
            found -= {TOLD_CONTROLLERS}
        if all(each.get(settings.AUTO_TOPICS) == "true" for each in given):
            found |= {TOPICS_ON_DEMAND}
        forced = any(settings.FORCING & each.keys() for each in given)
        return found if forced else found | {UNFORCED}

    def promises(self, plan: Mapping[str, Recorded]) -> Mapping[str, Promised]:
        return promised(releases_of(plan), on=features_of(plan))

    def versions(
        self, nodes: Sequence[NodeSpec], settings_of: Mapping[str, Mapping[str, str]]
    ) -> Mapping[str, str]:
        found = {software.asked_for(settings_of.get(spec.name, {})).version for spec in nodes}
        return {SOFTWARE: ", ".join(sorted(found))}

    def get(self, version: str | None) -> str:
        found = software.get(version or releases.newest())
        tools.get()
        command_line.get()
        return f"Apache Kafka {found.version} is in {found.home}"

    def check_settings(
        self, nodes: Sequence[NodeSpec], settings_of: Mapping[str, Mapping[str, str]]
    ) -> None:
        settings.check(nodes, settings_of)
        asked = [settings_of.get(spec.name, {}) for spec in nodes]
        needed = [software.asked_for(wanted) for wanted in asked]
        versions = [found.version for found in needed]
        quorum.check(asked, versions)
        features.check(asked, versions)
        for wanted, found in zip(asked, needed, strict=True):
            java.check(wanted, found.version)
            agent.agent_for(wanted)
            if (levels := features.asked_for(wanted)).asked:
                dynamic = quorum.is_dynamic(wanted)
                formatting.check(found, java.command(wanted), levels, dynamic=dynamic)

    def defect_settings(self, defect: str) -> Sequence[str]:
        return (f"{software.DEFECT}={defect}",)

    def recovery_s(
        self, nodes: Sequence[NodeSpec], settings_of: Mapping[str, Mapping[str, str]]
    ) -> float:
        """Of the slowest node: a session runs out, followers miss their leader, some elections are
        split, and what was under way is given up."""
        waits = {
            "broker.session.timeout.ms": 1,
            "controller.quorum.fetch.timeout.ms": 2,
            "controller.quorum.election.timeout.ms": 5,
            "request.timeout.ms": 2,
        }
        return self._slowest_s(nodes, settings_of, waits)

    def fencing_s(
        self, nodes: Sequence[NodeSpec], settings_of: Mapping[str, Mapping[str, str]]
    ) -> float:
        """Of the slowest node: followers miss their leader, some elections are split, and a
        session, which the new controller counts from its own begin, runs out. Controllers look for
        that four times a session."""
        waits = {
            "broker.session.timeout.ms": 1.25,
            "controller.quorum.fetch.timeout.ms": 1,
            "controller.quorum.election.timeout.ms": 5,
        }
        return FENCING_MARGIN_S + self._slowest_s(nodes, settings_of, waits)

    def _slowest_s(
        self,
        nodes: Sequence[NodeSpec],
        settings_of: Mapping[str, Mapping[str, str]],
        waits: Mapping[str, float],
    ) -> float:
        """Of all nodes, the most that these settings, each so many times, come to."""
        return max(
            sum(
                times * int(settings_of.get(spec.name, {}).get(key, settings.SHORT[key]))
                for key, times in waits.items()
            )
            / 1000
            for spec in nodes
        )

    def install(self, cluster: Cluster, node: str) -> None:
        host = cluster.host(node)
        files = self.formatted(cluster, node, cluster.nodes[node])
        files[PROPERTIES] = settings.text(self.settings(cluster, node, host.workdir))
        for name, data in files.items():
            host.write(f"{host.workdir}/{name}", data)

    def settings(self, cluster: Cluster, node: str, workdir: str) -> dict[str, str]:
        """Its server.properties, where its directory is this one."""
        wanted = cluster.settings.get(node, {})
        return settings.node_settings(
            node, cluster.nodes, _addresses(cluster), wanted, workdir=workdir
        )

    def formatted(
        self, cluster: Cluster, node: str, spec: NodeSpec, number: int = 0
    ) -> dict[str, bytes]:
        """What the directory of a `spec` that runs the software of this node holds before the first
        start on a disk of that number: path -> content."""
        wanted = cluster.settings.get(node, {})
        found, command = software.asked_for(wanted), java.command(wanted)
        levels = features.asked_for(wanted)
        meta = settings.meta_properties(spec, cluster.seed, number)
        files = {f"{disk.PARTITIONS}/meta.properties": meta.encode()}
        made = formatting.bootstrap(found, command, levels)
        if made is not None:
            files[f"{disk.PARTITIONS}/{formatting.BOOTSTRAP}"] = made
        if quorum.is_dynamic(wanted) and spec.votes:
            voters = formatting.first_voters(found, command, self._controllers(cluster), levels)
            files[f"{disk.PARTITIONS}/{formatting.FIRST_VOTERS}"] = voters
        return files

    def _controllers(self, cluster: Cluster) -> str:
        """The first voters of a dynamic quorum."""
        directories = {
            name: settings.directory_id(spec, cluster.seed) for name, spec in cluster.nodes.items()
        }
        return quorum.initial_controllers(cluster.nodes, _addresses(cluster), directories)

    def start(self, cluster: Cluster, node: str) -> int:
        host = cluster.host(node)
        argv = self.command(cluster, node, f"{host.workdir}/{PROPERTIES}")
        return host.start(argv, log=f"{host.workdir}/node.log")

    def command(self, cluster: Cluster, node: str, properties: str) -> list[str]:
        """The command line of a process of this node's software, with this configuration."""
        host, wanted = cluster.host(node), cluster.settings.get(node, {})
        java_command, found = java.command(wanted), software.asked_for(wanted)
        flags = agent.flags(host, wanted) or archive.flags(host, found, java_command)
        own = java.pauses(str(PurePosixPath(properties).parent))
        return java.broker(
            java_command,
            java.libs(host, found),
            properties,
            heap=wanted.get(settings.HEAP, java.HEAP),
            flags=[*flags, own, *wanted.get(settings.FLAGS, "").split()],
        )

    def connect(
        self, cluster: Cluster, node: str, listener: str, timeout_s: float
    ) -> socket.socket:
        """A connection on which requests can be sent. Raises `OSError`."""
        address, port = cluster.host(node).address, cluster.nodes[node].ports[listener]
        return cluster.fleet.connect(address, port, timeout_s)

    def state(self, cluster: Cluster, node: str, timeout_s: float = ANSWER_S) -> NodeState | None:
        return states.state(partial(self.connect, cluster, node), cluster.nodes[node], timeout_s)

    def settled(self, cluster: Cluster) -> str | None:
        found = {node: self.state(cluster, node) for node in cluster.nodes}
        if silent := [node for node, state in found.items() if state is None]:
            return f"{processes.names(silent)} did not answer"
        if unready := [node for node, state in found.items() if state and not state.ready]:
            return f"{processes.names(unready)} not registered, or fenced"
        leaders = [node for node, state in found.items() if state and state.leader]
        if len(leaders) != 1:
            return f"{len(leaders)} nodes claim to lead"
        return (
            self._followed(cluster, leaders[0])
            or self._coordinated(cluster)
            or self._shown(cluster, leaders[0])
        )

    def _followed(self, cluster: Cluster, leader: str) -> str | None:
        """Whether all nodes have the metadata log to its end, as the active controller sees it."""
        seen = states.lagging(partial(self.connect, cluster, leader), ANSWER_S)
        if seen is None:
            return f"{leader} leads no more"
        following, lag = seen
        behind = [
            name
            for name, spec in cluster.nodes.items()
            if settings.node_id(spec) not in following or settings.node_id(spec) in lag
        ]
        return f"{processes.names(behind)} behind in the metadata log" if behind else None

    def _coordinated(self, cluster: Cluster) -> str | None:
        """Whether groups can be: before a run begins, so that their topic comes to be on brokers
        that hold data, and not on those that clients play."""
        broker, *_ = cluster.with_role("broker")
        able = states.coordinated(partial(self.connect, cluster, broker), ANSWER_S)
        return None if able else "groups have no coordinator"

    def _shown(self, cluster: Cluster, leader: str) -> str | None:
        """Whether all brokers show all partitions as the committed log of the active controller
        has them, and all are in sync by it. Of others than the plan's nobody knows whether they
        should be."""
        log = committed(partial(self.connect, cluster, leader), cluster_id(cluster.seed), ANSWER_S)
        if log is None:
            return f"{leader} did not give the committed log"
        brokers = cluster.with_role("broker")
        for node in brokers:
            shown = states.topics(partial(self.connect, cluster, node), ANSWER_S)
            if shown is None:
                return f"{node} did not answer"
            if shown != log:
                return f"{node} shows {states.otherwise(shown, log)}"
        ids = {settings.node_id(cluster.nodes[node]) for node in brokers}
        behind = states.out_of_sync(log, ids)
        return f"replicas of {behind} partitions not in sync" if behind else None

    def stop(self, cluster: Cluster, node: str, pid: int) -> None:
        processes.end(cluster.host(node), pid, STOP_GRACE_S)

    def environment(self, cluster: Cluster) -> Mapping[str, str]:
        return processes.servers(cluster)

    def observe(self, folder: Path, plan: Mapping[str, Recorded]) -> Iterable[Evidence]:
        yield rules_of(plan)
        yield from disk.left_on_disk(folder, Clocks.of(plan))

    def keeps(self, cluster: Cluster, node: str) -> Sequence[str]:
        return disk.KEPT

    def keeps_unforced(self, node: NodeSpec) -> bool:
        return "broker" in node.roles

    def unforced(self, cluster: Cluster, node: str) -> Sequence[Unforced]:
        """The metadata log is forced by voters before they count it (KafkaRaftClient)."""
        return unforced(cluster.host(node), disk.PARTITIONS, {Path(disk.METADATA).name})

    def newly_formatted(self, cluster: Cluster, node: str, number: int) -> Mapping[str, bytes]:
        """As StorageTool makes it, with an id of its own for the directory (KIP-858)."""
        files = self.formatted(cluster, node, cluster.nodes[node], number)
        return {path.removeprefix(f"{self.disk}/"): data for path, data in files.items()}

    def extra_broker(
        self, cluster: Cluster, *, broker_id: int, number: int, slot: int
    ) -> KafkaExtraBroker:
        """A broker beside the cluster's own: the `number`th (from 0), in slot 0 or 1."""
        return KafkaExtraBroker(cluster, broker_id, number, slot, self)

    def dialect(self) -> Dialect:
        """What clients of Kafka's protocol must know to speak with these nodes."""
        return DIALECT


def _addresses(cluster: Cluster) -> dict[str, str]:
    """By node."""
    return {name: each.address for name, each in cluster.fleet.hosts.items()}
