"""What nodes say of themselves to anybody: the adapter knows no more of their state than that."""

import socket
import time
import uuid
from collections.abc import Callable, Iterable, Set
from typing import Any, Final, NamedTuple

from kio.schema.describe_cluster.v0.request import DescribeClusterRequest
from kio.schema.describe_quorum.v1 import request as quorum
from kio.schema.describe_quorum.v1 import response as described
from kio.schema.find_coordinator.v4.request import FindCoordinatorRequest
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.types import TopicName
from kio.static.primitive import i32
from kio.static.protocol import RequestPayload

from framework.plugins.system import NodeSpec, NodeState
from nodes.kafka.asking import exchange

METADATA_LOG: Final = TopicName("__cluster_metadata")
WHO_LEADS: Final = quorum.DescribeQuorumRequest(
    topics=(
        quorum.TopicData(
            topic_name=METADATA_LOG, partitions=(quorum.PartitionData(partition_index=i32(0)),)
        ),
    )
)
SILENT: Final = (OSError, ValueError)
CAUGHT_UP_MS: Final = 1_500
"""A replica that was that long not at the end of the metadata log lags behind."""

Connect = Callable[[str, float], socket.socket]
"""Listener, time-out in s -> a connection. Raises `OSError`."""


def state(connect: Connect, spec: NodeSpec, timeout_s: float) -> NodeState | None:
    """Ask a node in all its roles; None where it does not answer in all of them."""
    deadline = time.monotonic() + timeout_s
    leader, term, ready = False, 0, True
    try:
        if "controller" in spec.roles:
            log = _quorum(connect, deadline)
            leader = log is not None and log.leader_id == spec.ids["controller"]
            term = int(log.leader_epoch) if log is not None else 0
        if "broker" in spec.roles:
            known = _ask(
                connect,
                "client",
                DescribeClusterRequest(include_cluster_authorized_operations=False),
                deadline,
            ).brokers
            ready = spec.ids["broker"] in {each.broker_id for each in known}
    except SILENT:
        return None
    return NodeState(node=spec.name, ready=ready, leader=leader, term=term)


def lagging(connect: Connect, timeout_s: float) -> tuple[set[int], set[int]] | None:
    """By an active controller: the ids of those that follow its log, and those of them that lag.
    None where this is no active controller."""
    try:
        log = _quorum(connect, time.monotonic() + timeout_s)
    except SILENT:
        return None
    return None if log is None else followers(log)


def followers(log: described.PartitionData) -> tuple[set[int], set[int]]:
    """The ids of all replicas, and of those that lag: what is committed they do not have, or they
    have long not been at the end. A replica that was cut off a moment ago had caught up just
    before."""
    replicas = [*log.current_voters, *log.observers]
    now = max(_ms(each.last_fetch_timestamp) for each in replicas)
    lag = {
        int(each.replica_id)
        for each in replicas
        if each.replica_id != log.leader_id
        and (
            each.log_end_offset < log.high_watermark
            or _ms(each.last_caught_up_timestamp) < now - CAUGHT_UP_MS
        )
    }
    return {int(each.replica_id) for each in replicas}, lag


class PartitionView(NamedTuple):
    """As a broker shows it. `isr`, `replicas`: ids of brokers."""

    topic_id: uuid.UUID | None
    partition: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]
    replicas: frozenset[int]


def topics(connect: Connect, timeout_s: float) -> frozenset[PartitionView] | None:
    """By a broker: all partitions. None: no answer."""
    request = MetadataRequest(
        topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )
    try:
        answer = _ask(connect, "client", request, time.monotonic() + timeout_s)
    except SILENT:
        return None
    return frozenset(
        PartitionView(
            topic.topic_id,
            int(each.partition_index),
            int(each.leader_id),
            int(each.leader_epoch),
            frozenset(map(int, each.isr_nodes)),
            frozenset(map(int, each.replica_nodes)),
        )
        for topic in answer.topics
        for each in topic.partitions
    )


def otherwise(shown: Set[PartitionView], log: Set[PartitionView]) -> str:
    """What of it is not as the committed log has it, in a few words."""
    differ = {(each.topic_id, each.partition) for each in shown ^ log}
    return f"{len(differ)} partitions otherwise than the committed log"


def out_of_sync(shown: Iterable[PartitionView], brokers: Set[int]) -> int:
    """Of how many partitions that these brokers alone have, one of them is not in sync. While too
    few are, the high watermark stays where a new leader knew it to be, below what was told before
    (KIP-966): so does what can be read."""
    own = (each for each in shown if each.replicas <= brokers)
    return sum(each.isr != each.replicas for each in own)


def coordinated(connect: Connect, timeout_s: float) -> bool:
    """Whether a broker knows who coordinates groups. One that is asked has the topic of their
    offsets made, where there is none."""
    request = FindCoordinatorRequest(coordinator_keys=("of-nobody",))
    try:
        answer = _ask(connect, "client", request, time.monotonic() + timeout_s)
    except SILENT:
        return False
    return all(each.error_code == 0 for each in answer.coordinators)


def _quorum(connect: Connect, deadline: float) -> Any:
    """The metadata log as its leader has it; None where another one leads. Raises `SILENT`."""
    return led_log(_ask(connect, "controller", WHO_LEADS, deadline))


def led_log(answer: Any) -> Any:
    """The metadata log in an answer to `WHO_LEADS`; None: who answers does not lead."""
    found = [each for topic in answer.topics for each in topic.partitions]
    return found[0] if answer.error_code == 0 and found and found[0].error_code == 0 else None


def _ask(connect: Connect, listener: str, request: RequestPayload, deadline: float) -> Any:
    with connect(listener, max(0.001, deadline - time.monotonic())) as connection:
        return exchange(connection, request, deadline)


def _ms(timestamp: Any) -> float:
    """Of a time that kio may have read as a moment; -1: never."""
    return float(timestamp.timestamp() * 1000 if hasattr(timestamp, "timestamp") else timestamp)
