"""The cluster that real clients are tested against, and what is done to it meanwhile."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import kafka.admin as python_admin
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v1.request import FindCoordinatorRequest
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.offset_commit.v8 import request as offset_commit
from kio.static.primitive import i8, i32, i64

from tests.end_to_end.real_clients import WAIT_S, create_topics, until
from tests.nodes.kraft.loopback import Loopback, call


def metadata(port: int, topic: str | None) -> Any:
    """What a broker tells of a topic, or of all."""
    asked = None
    if topic is not None:
        asked = (MetadataRequestTopic(topic_id=None, name=topic),)  # type: ignore[arg-type]
    request = MetadataRequest(
        topics=asked,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    return call(port, request).topics


class Cluster(Loopback):
    """Three and three, with an authorizer that lets everybody be anybody."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            directory,
            controllers=3,
            brokers=3,
            authorizer_enabled="true",
            super_users="User:ANONYMOUS",
        )

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.client.values())

    def alive(self) -> list[str]:
        return [name for name in self.client if self.processes[name].poll() is None]

    def partitions(self, topic: str) -> dict[int, Any]:
        """The topic's partitions, as some living broker tells of them."""
        (reported,) = metadata(self.client[self.alive()[0]], topic)
        return {int(each.partition_index): each for each in reported.partitions}

    def create(self, topic: str, partitions: int = 3) -> None:
        """A topic whose partitions are led by one broker each."""
        admin = python_admin.KafkaAdminClient(bootstrap_servers=self.servers)
        brokers = [4, 5, 6]
        replicas = {
            number: brokers[number % 3 :] + brokers[: number % 3] for number in range(partitions)
        }
        admin.create_topics([python_admin.NewTopic(topic, replica_assignments=replicas)])
        admin.close()
        for name in self.client:
            until(lambda name=name: self.knows(name, topic))  # type: ignore[misc]

    def knows(self, name: str, topic: str) -> bool:
        (reported,) = metadata(self.client[name], topic)
        return bool(reported.partitions)

    def replicas(self, topic: str) -> set[tuple[int, ...]]:
        """Of its partitions, as some living broker tells them."""
        (reported,) = metadata(self.client[self.alive()[0]], topic)
        return {tuple(each.replica_nodes) for each in reported.partitions}

    def topics(self) -> set[str]:
        """All names, as some living broker tells them."""
        return {str(each.name) for each in metadata(self.client[self.alive()[0]], None)}

    def coordinator(self, group: str, asked: str | None = None) -> str:
        """The broker that coordinates the group; fails where there is none just now."""
        request = FindCoordinatorRequest(key=group, key_type=i8(0))
        answer = call(self.client[asked or self.alive()[0]], request)
        assert answer.error_code == 0, answer
        return f"b{answer.node_id - 3}"

    def pause(self, name: str) -> None:
        """Stop a process, and wait until it has stopped."""
        self.signal(name, signal.SIGSTOP)
        stat = Path(f"/proc/{self.processes[name].pid}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


def commit(port: int, offset: int) -> ErrorCode | None:
    """An offset for paused-0, from nobody's member; None: closed without an answer."""
    partition = offset_commit.OffsetCommitRequestPartition(
        partition_index=i32(0), committed_offset=i64(offset), committed_metadata=None
    )
    request = offset_commit.OffsetCommitRequest(
        group_id="paused",  # type: ignore[arg-type]
        member_id="",
        topics=(
            offset_commit.OffsetCommitRequestTopic(
                name="paused",  # type: ignore[arg-type]
                partitions=(partition,),
            ),
        ),
    )
    try:
        answer = call(port, request, WAIT_S)
    except ConnectionError:
        return None
    code: ErrorCode = answer.topics[0].partitions[0].error_code
    return code


def kill_the_controller(cluster: Cluster) -> None:
    """Topics are created all the while: each create succeeds, at once or under the next one."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        creating = pool.submit(create_topics, cluster.servers, stop, "meanwhile")
        try:
            until(lambda: cluster.knows("b1", "meanwhile-2"))
            active = until(cluster.active)
            cluster.kill(active)
            assert until(cluster.active) != active
            seen = len(cluster.topics())
            until(lambda: len(cluster.topics()) > seen + 2)
            cluster.start(active)
            until(lambda: cluster.state(active)["role"] == "follower")
        finally:
            stop.set()
        created, failed = creating.result(30)
    assert failed == []
    until(lambda: set(created) <= cluster.topics())


def kill_the_leader(cluster: Cluster, topic: str, victim: str, group: str) -> None:
    """The others take over what it led and coordinated; then it comes back."""
    ident = int(victim[1:]) + 3
    assert ident in {each.leader_id for each in cluster.partitions(topic).values()}
    assert cluster.coordinator(group) == victim
    cluster.kill(victim)

    def taken_over() -> bool:
        leaders = {each.leader_id for each in cluster.partitions(topic).values()}
        return not leaders & {ident, -1} and cluster.coordinator(group) != victim

    until(taken_over)
    start_again(cluster, victim, topic)


def drain(cluster: Cluster, name: str, topic: str) -> None:
    """A controlled shutdown, and back."""
    cluster.signal(name, signal.SIGTERM)
    assert cluster.processes[name].wait(WAIT_S) == 0
    start_again(cluster, name, topic)


def start_again(cluster: Cluster, name: str, topic: str) -> None:
    cluster.start(name)
    until(lambda: cluster.state(name)["broker_state"] == "ACTIVE")
    until(lambda: all(len(each.isr_nodes) == 3 for each in cluster.partitions(topic).values()))
