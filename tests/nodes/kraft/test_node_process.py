"""Real node processes: elections, forwarding, leases, restarts, drains."""

import datetime
import signal
import socket
import uuid
from pathlib import Path
from typing import Any

import pytest
from kio.schema.create_topics.v7 import request as create
from kio.schema.delete_topics.v6 import request as delete
from kio.schema.describe_cluster.v1.request import DescribeClusterRequest
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.static.constants import uuid_zero
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from nodes.kraft.wire.debug import ReadTopicsRequest
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest
from tests.nodes.kraft.loopback import Loopback, NodeFailed, call, free_ports, until

TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=3))


def create_topic(port: int, name: str, partitions: int = 1, replication: int = 1) -> Any:
    topic = create.CreatableTopic(
        name=name,  # type: ignore[arg-type]
        num_partitions=i32(partitions),
        replication_factor=i16(replication),
        assignments=(),
        configs=(),
    )
    return call(port, create.CreateTopicsRequest(topics=(topic,), timeout=TIMEOUT)).topics[0]


def delete_topic(port: int, name: str) -> Any:
    topic = delete.DeleteTopicState(name=name, topic_id=uuid_zero)  # type: ignore[arg-type]
    return call(port, delete.DeleteTopicsRequest(topics=(topic,), timeout=TIMEOUT)).responses[0]


def read_topic(port: int, name: str) -> Any:
    return call(port, ReadTopicsRequest(names=(name,)))


def metadata(port: int, *names: str) -> Any:
    topics = tuple(
        MetadataRequestTopic(topic_id=uuid_zero, name=name)  # type: ignore[arg-type]
        for name in names
    )
    request = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    return call(port, request)


def test_a_node_whose_port_is_taken_says_so_and_is_not_waited_for(tmp_path: Path) -> None:
    cluster = Loopback(tmp_path, combined=1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", cluster.client["n1"]))
        said = r"(?s)n1 ended with 1: .*address already in use"
        with cluster, pytest.raises(NodeFailed, match=said):
            cluster.ready()


def test_create_read_fail_over_and_delete(tmp_path: Path) -> None:
    """A.1.20, A.4.3: a topic created through a broker is read at the active controller, survives
    its kill -9, and is deleted for good."""
    with Loopback(tmp_path, controllers=3, brokers=2) as cluster:
        leader = cluster.ready()
        created = create_topic(cluster.client["b1"], "t", partitions=2, replication=2)
        assert created.error_code == 0
        assert create_topic(cluster.client["b2"], "t").error_code == 36
        seen = read_topic(cluster.port(leader), "t")
        assert seen.topics[0].topic_id == created.topic_id
        assert [len(each.isr) for each in seen.topics[0].partitions] == [2, 2]
        others = [name for name in ("c1", "c2", "c3") if name != leader]
        assert read_topic(cluster.port(others[0]), "t").error_code == 41

        cluster.kill(leader)
        successor = until(cluster.active)
        assert successor != leader
        again = read_topic(cluster.port(successor), "t")
        assert again.topics[0].topic_id == created.topic_id
        assert again.epoch > seen.epoch
        assert delete_topic(cluster.client["b2"], "t").error_code == 0
        assert delete_topic(cluster.client["b1"], "t").error_code == 3

        cluster.start(leader)
        until(lambda: cluster.state(leader)["applied"] == cluster.state(successor)["applied"])
        assert cluster.state(leader)["digest"] == cluster.state(successor)["digest"]
        assert read_topic(cluster.port(until(cluster.active)), "t").topics[0].error_code == 3


def test_a_combined_process_serves_on_separate_listeners(tmp_path: Path) -> None:
    """A.1.7, A.1.16, A.1.82, A.2.1, A.4.1: heartbeats on the client listener are answered
    NOT_CONTROLLER."""
    with Loopback(tmp_path, combined=3) as cluster:
        leader = cluster.ready()
        assert create_topic(cluster.client["n1"], "t", replication=3).error_code == 0
        control = cluster.control[int(leader[1:])]
        assert call(control, ReadTopicsRequest(names=())).topics[0].name == "t"
        heartbeat = BrokerHeartbeatRequest(
            target_state=i8(3),
            broker_id=i32(4),
            lease_start_time_ms=i64(0),
            cur_metadata_offset=i64(0),
            listeners=(),
        )
        assert call(cluster.client[leader], heartbeat).error_code == 41
        with pytest.raises(OSError):
            metadata(control, "t")


def test_a_broker_without_controllers_is_fenced_when_its_lease_ends(tmp_path: Path) -> None:
    """A.1.54, A.1.55, A.1.56, A.7.5: and it comes back under a new epoch (A.1.68)."""
    with Loopback(
        tmp_path, controllers=1, brokers=1, broker_heartbeat_interval_ms="100"
    ) as cluster:
        cluster.ready()
        broker = cluster.client["b1"]
        until(lambda: metadata(broker).brokers)
        epoch = cluster.state("b1")["broker_epoch"]
        cluster.signal("c1", signal.SIGSTOP)
        until(lambda: cluster.state("b1")["broker_state"] == "FENCED")
        with pytest.raises(OSError):
            metadata(broker, "t")
        assert (
            call(
                broker, DescribeClusterRequest(include_cluster_authorized_operations=False)
            ).error_code
            != 0
        )
        assert create_topic(broker, "t").error_code == 41
        cluster.signal("c1", signal.SIGCONT)
        until(lambda: cluster.state("b1")["broker_state"] == "ACTIVE")
        assert cluster.state("b1")["broker_epoch"] > epoch
        states = [each["after"] for each in cluster.events("b1", "bstate")]
        # On a machine that gives nobody the time its lease may end once more.
        assert states[:3] == ["ACTIVE", "FENCED", "ACTIVE"]


def test_a_killed_broker_regains_its_id_at_once(tmp_path: Path) -> None:
    """A.1.65, A.5.15: long before the old lease would have ended."""
    with Loopback(tmp_path, controllers=1, brokers=1, broker_lease_ms="600000") as cluster:
        cluster.ready()
        epoch = cluster.state("b1")["broker_epoch"]
        cluster.kill("b1")
        cluster.start("b1")
        until(lambda: cluster.state("b1")["broker_state"] == "ACTIVE")
        assert cluster.state("b1")["broker_epoch"] > epoch


def test_sigterm_drains_a_broker(tmp_path: Path) -> None:
    """A.1.59, A.1.60, A.1.61, A.5.6: leaderships move before it exits."""
    with Loopback(tmp_path, controllers=1, brokers=2) as cluster:
        leader = cluster.ready()
        assert create_topic(cluster.client["b1"], "t", 4, 2).error_code == 0
        cluster.signal("b2", signal.SIGTERM)
        assert cluster.processes["b2"].wait(120) == 0
        seen = read_topic(cluster.port(leader), "t").topics[0]
        assert {each.leader for each in seen.partitions} == {2}
        assert {tuple(each.isr) for each in seen.partitions} == {(2,)}


def test_every_acknowledged_topic_survives_a_restart_of_everything(tmp_path: Path) -> None:
    with Loopback(tmp_path, controllers=3, brokers=1) as cluster:
        cluster.ready()
        ids = {}
        for number in range(10):
            created = create_topic(cluster.client["b1"], f"t{number}")
            assert created.error_code == 0
            ids[f"t{number}"] = created.topic_id
        for name in list(cluster.settings):
            cluster.kill(name)
        for name in cluster.settings:
            cluster.start(name)
        leader = cluster.ready()
        seen = call(cluster.port(leader), ReadTopicsRequest(names=()))
        assert {topic.name: topic.topic_id for topic in seen.topics} == ids


def test_a_node_with_a_bad_configuration_says_so_in_one_line(tmp_path: Path) -> None:
    cluster = Loopback(tmp_path, controllers=1)
    cluster.settings["c1"]["process.roles"] = "king"
    cluster.start("c1")
    assert cluster.processes["c1"].wait(120) == 254
    lines = (tmp_path / "c1.log").read_text().splitlines()
    assert len(lines) == 1
    assert "process.roles=king" in lines[0]


def test_a_directory_in_which_another_process_works_is_refused(tmp_path: Path) -> None:
    """Whatever ports it has; until that one is gone, in whatever way."""
    with Loopback(tmp_path, controllers=1) as cluster:
        cluster.ready()
        first = cluster.processes["c1"]
        cluster.settings["c1"]["listeners"] = f"CONTROLLER://127.0.0.1:{free_ports(1)[0]}"
        before = (tmp_path / "c1.log").stat().st_size
        cluster.start("c1")
        assert cluster.processes["c1"].wait(120) == 1
        said = (tmp_path / "c1.log").read_bytes()[before:].decode()
        assert "another process works in this directory" in said
        assert first.poll() is None
        first.kill()
        first.wait()
        cluster.start("c1")
        until(lambda: "listening" in (tmp_path / "c1.log").read_text().rpartition("another")[2])


def test_a_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    """B.2.1, for what is on disk."""
    with Loopback(tmp_path, controllers=1) as cluster:
        cluster.ready()
        cluster.kill("c1")
        cluster.settings["c1"]["cluster.id"] = str(uuid.uuid4())
        cluster.start("c1")
        assert cluster.processes["c1"].wait(120) == 1
