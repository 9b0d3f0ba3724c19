"""The server.properties of a run's nodes, and what of it the command line may change."""

import base64
import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from framework.plugins.system import NodeSpec
from nodes.adapting.properties import of_layout, refuse
from nodes.kafka import features, quorum
from nodes.kafka.software import DEFECT, HOME, JAVA_HOME, VERSION

HEAP: Final = "heap"
FLAGS: Final = "java_flags"
OURS: Final = frozenset({DEFECT, FLAGS, HEAP, HOME, JAVA_HOME, VERSION, quorum.QUORUM})
"""Settings that are the adapter's own, not Kafka's."""
FIXED: Final = frozenset(
    {
        "broker.id",
        "controller.listener.names",
        quorum.SERVERS,
        quorum.VOTERS,
        "advertised.listeners",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "node.id",
        "process.roles",
    }
)
"""What the layout decides: another value would be another cluster than the run's plan says."""

AUTO_TOPICS: Final = "auto.create.topics.enable"
FORCING: Final = frozenset({"log.flush.interval.messages", "log.flush.interval.ms"})
"""By these brokers force partitions' logs to the disk between the beginnings of segments."""
SESSION: Final = "broker.session.timeout.ms"
SHORT: Final[Mapping[str, str]] = {
    # Time limits short enough for a run of a minute. Kafka's own are beside them in docs/kafka.md.
    SESSION: "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "500",
    "controller.quorum.request.timeout.ms": "1000",
    "request.timeout.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "replica.lag.time.max.ms": "2000",
    "replica.socket.timeout.ms": "2000",
    "replica.fetch.wait.max.ms": "200",
    "controlled.shutdown.retry.backoff.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # Often, so that even a short run sees snapshots.
    "metadata.log.max.record.bytes.between.snapshots": "10000",
    "metadata.log.max.snapshot.interval.ms": "4000",
}
SMALL: Final[Mapping[str, str]] = {
    # Many nodes on a small machine.
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    AUTO_TOPICS: "false",
    "log.index.size.max.bytes": "65536",  # else 20 MB a segment, if sparse ones
}
INTERNAL: Final = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")


def node_settings(
    node: str,
    nodes: Mapping[str, NodeSpec],
    addresses: Mapping[str, str],
    wanted: Mapping[str, str],
    *,
    workdir: str,
) -> dict[str, str]:
    """A node's server.properties: what a run gives it of its own accord, and over that what is
    `wanted`. `addresses`: node -> IPv4 address."""
    spec = nodes[node]
    brokers = sum("broker" in each.roles for each in nodes.values())
    copies = {f"{topic}.replication.factor": str(min(3, brokers)) for topic in INTERNAL}
    own = {
        **of_layout(node, nodes, addresses, workdir=workdir),
        "node.id": str(node_id(spec)),
        "inter.broker.listener.name": "CLIENT",
        "controller.listener.names": "CONTROLLER",
        **SHORT,
        **SMALL,
        **copies,
        "transaction.state.log.min.isr": str(min(2, brokers)),
        "share.coordinator.state.topic.min.isr": str(min(2, brokers)),
    }
    if quorum.is_dynamic(wanted):
        own[quorum.SERVERS] = quorum.bootstrap_servers(own.pop(quorum.VOTERS))
    return {**own, **{key: value for key, value in wanted.items() if _is_kafkas(key)}}


def _is_kafkas(key: str) -> bool:
    """A setting that a node's configuration has."""
    return key not in OURS and not features.is_of_format(key)


def text(settings: Mapping[str, str]) -> bytes:
    """As a file."""
    return "".join(f"{key}={value}\n" for key, value in settings.items()).encode()


def node_id(spec: NodeSpec) -> int:
    """A node has one id, whatever its roles."""
    return next(iter(spec.ids.values()))


def cluster_id(seed: int) -> str:
    """Of the run's cluster, as Kafka writes ids."""
    return _short(f"cluster {seed}")


def meta_properties(spec: NodeSpec, seed: int, disk: int = 0) -> str:
    """What a formatted data directory says of itself (KIP-631, KIP-858). `disk`: which one of the
    node's it is; the first one is 0."""
    return (
        f"version=1\ncluster.id={cluster_id(seed)}\nnode.id={node_id(spec)}\n"
        f"directory.id={directory_id(spec, seed, disk)}\n"
    )


def directory_id(spec: NodeSpec, seed: int, disk: int = 0) -> str:
    """Of the directory of its data, by which a dynamic quorum knows a voter, too."""
    which = f" disk {disk}" if disk else ""
    return _short(f"directory {seed} {spec.name}{which}")


def _short(seed: str) -> str:
    """An id in 22 letters. The first two bits are never those of Kafka's reserved ids, nor of the
    `-` that its tools take for an option."""
    made = bytearray(random.Random(seed).randbytes(16))
    made[0] &= 0x3F
    return base64.urlsafe_b64encode(uuid.UUID(bytes=bytes(made), version=4).bytes).decode()[:22]


def check(nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]) -> None:
    """Raises `UsageError` for settings (node -> key -> value) that the layout decides."""
    for spec in nodes:
        refuse(settings.get(spec.name, {}).keys(), FIXED)
