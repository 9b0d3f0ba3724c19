"""quorum-state and meta.properties: durable replacement, refusals in one clear line."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.kafka.command_line import java
from nodes.kraft.raft.state import QuorumState
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.meta_properties import adopt
from nodes.kraft.storage.quorum_state import QuorumStateFile

CLUSTER = "6PMpHYL9QkeyXRj9Nrp4KA"


@dataclass(frozen=True)
class Identity:
    log_dir: Path
    cluster_id: str = CLUSTER
    broker_id: int | None = None
    controller_id: int | None = 1


# --- quorum-state -------------------------------------------------------------------------


def test_nothing_saved_is_none(tmp_path: Path) -> None:
    assert QuorumStateFile(tmp_path / "quorum-state", CLUSTER).load() is None


@given(st.integers(0, 2**31 - 1), st.integers(-1, 100), st.integers(-1, 100))
def test_saved_state_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, epoch: int, leader: int, voted: int
) -> None:
    """B.2.18, D.4: the vote, too."""
    path = tmp_path_factory.getbasetemp() / "quorum-state"
    state = QuorumState(epoch, leader, voted)
    QuorumStateFile(path, CLUSTER).save(state)
    assert QuorumStateFile(path, CLUSTER).load() == state


def test_saved_file_is_one_json_line(tmp_path: Path) -> None:
    """B.2.18: clusterId, leaderId, leaderEpoch, votedId, data_version."""
    path = tmp_path / "quorum-state"
    QuorumStateFile(path, CLUSTER).save(QuorumState(5, 2, 3))
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == {
        "clusterId": CLUSTER,
        "leaderId": 2,
        "leaderEpoch": 5,
        "votedId": 3,
        "data_version": 1,
    }


def test_save_syncs_then_renames_then_syncs_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B.2.18: a temporary file, whole on disk before it takes the name."""
    calls: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def watched_fsync(descriptor: int) -> None:
        kind = "directory" if Path(f"/proc/self/fd/{descriptor}").is_dir() else "file"
        calls.append(f"fsync {kind}")
        fsync(descriptor)

    def watched_rename(path: Path, target: Path) -> Any:
        assert json.loads(path.read_text())["leaderEpoch"] == 6, "whole before it takes the name"
        calls.append(f"rename {path.name} {target.name}")
        return rename(path, target)

    file = QuorumStateFile(tmp_path / "quorum-state", CLUSTER)
    file.save(QuorumState(5))
    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "rename", watched_rename)
    file.save(QuorumState(6))
    assert calls == ["fsync file", "rename quorum-state.tmp quorum-state", "fsync directory"]


def test_crash_before_the_rename_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = QuorumStateFile(tmp_path / "quorum-state", CLUSTER)
    file.save(QuorumState(5, -1, 2))

    def crash(path: Path, target: Path) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", crash)
    with pytest.raises(KeyboardInterrupt):
        file.save(QuorumState(6, -1, 3))
    assert file.load() == QuorumState(5, -1, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data_version": 2}, "data_version 2; expected 1"),
        ({"data_version": None}, "data_version None; expected 1"),
        ({"clusterId": "other"}, "of cluster other"),
        ({"leaderEpoch": -4}, "leaderEpoch is -4"),
        ({"votedId": "x"}, "votedId is 'x'"),
        ({"leaderId": True}, "leaderId is True"),
    ],
)
def test_unusable_state_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """B.2.18: an unknown data_version among others (KAFKA-15412)."""
    file = QuorumStateFile(tmp_path / "quorum-state", CLUSTER)
    file.save(QuorumState(5, 2, 3))
    file.path.write_text(json.dumps(json.loads(file.path.read_text()) | change))
    with pytest.raises(StorageError, match=message):
        file.load()


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_damaged_state_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "quorum-state"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(StorageError, match="JSON"):
        QuorumStateFile(path, CLUSTER).load()


# --- meta.properties ----------------------------------------------------------------------


def test_new_directory_is_adopted_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "data" / "meta.properties"
    found = []
    for _ in range(2):
        adopt(Identity(path.parent, broker_id=4, controller_id=1))
        found.append(path.read_text())
    assert found[0] == found[1]
    lines = dict(line.split("=", 1) for line in found[0].splitlines())
    assert re.fullmatch(r"[\w][\w-]{21}", lines.pop("directory.id"))
    assert lines == {
        "version": "1",
        "cluster.id": CLUSTER,
        "node.id": "4",
        "broker.id": "4",
        "controller.id": "1",
    }


def test_each_directory_has_an_id_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "other"):
        adopt(Identity(tmp_path / name))
    one, other = ((tmp_path / name / "meta.properties").read_text() for name in ("one", "other"))
    assert one != other


def test_a_directory_of_an_earlier_node_is_found_again(tmp_path: Path) -> None:
    text = f"version=2\ncluster.id={CLUSTER}\ncontroller.id=1\n"
    (tmp_path / "meta.properties").write_text(text)
    adopt(Identity(tmp_path))
    assert (tmp_path / "meta.properties").read_text() == text
    with pytest.raises(StorageError, match=r"controller.id is 1; this node's is 2"):
        adopt(Identity(tmp_path, controller_id=2))


CONFIGURATION = """\
process.roles=broker
node.id=4
controller.quorum.bootstrap.servers=c:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092
log.dirs={}
"""


def storage_tool(directory: Path) -> tuple[int, str]:
    """Exit code of Kafka's `StorageTool info`, and what it finds in a data directory."""
    configuration = directory.parent / "server.properties"
    configuration.write_text(CONFIGURATION.format(directory))
    argv = [*java(), "kafka.tools.StorageTool", "info", "-c", str(configuration)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("ids", "node_id"),
    [
        ({"controller_id": 1}, 1),
        ({"controller_id": None, "broker_id": 4}, 4),
        ({"controller_id": 1, "broker_id": 4}, 4),
    ],
)
def test_kafkas_storage_tool_reads_it(tmp_path: Path, ids: dict[str, Any], node_id: int) -> None:
    directory = tmp_path / "data"
    adopt(Identity(directory, **ids))
    code, said = storage_tool(directory)
    assert (code, "Found problem" in said) == (0, False), said
    assert f"Found metadata: {{cluster.id={CLUSTER}, directory.id=" in said
    assert f"node.id={node_id}, version=1}}" in said


def test_what_kafkas_storage_tool_cannot_read_it_says(tmp_path: Path) -> None:
    """As it did of what earlier nodes wrote."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text(f"version=2\ncluster.id={CLUSTER}\n")
    code, said = storage_tool(tmp_path / "data")
    assert code == 1 and "Unknown meta.properties version number 2" in said


def test_directory_with_files_of_the_launcher_is_adopted(tmp_path: Path) -> None:
    for name in ("server.properties", "events.jsonl", "node.log"):
        (tmp_path / name).touch()
    adopt(Identity(tmp_path))
    assert (tmp_path / "meta.properties").exists()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"cluster_id": "other"}, "cluster.id is 6PMpHYL9QkeyXRj9Nrp4KA; this node's is other"),
        ({"controller_id": 2}, "controller.id is 1; this node's is 2"),
        ({"controller_id": None, "broker_id": 1}, "broker.id is absent; this node's is 1"),
    ],
)
def test_directory_of_another_node_is_refused(
    tmp_path: Path, other: dict[str, Any], message: str
) -> None:
    adopt(Identity(tmp_path))
    with pytest.raises(StorageError, match=message):
        adopt(Identity(tmp_path, **other))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version=0\nbroker.id=1\n", "ZooKeeper mode"),
        (f"version=1\nnode.id=1\ncluster.id={CLUSTER}\n", "it is Apache Kafka's; not adopted"),
        (f"version=3\ncontroller.id=1\ncluster.id={CLUSTER}\n", "version is 3; expected 1"),
        ("", "version is absent"),
    ],
)
def test_legacy_directory_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """A.1.4: nothing of a ZooKeeper cluster is adopted."""
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(StorageError, match=message):
        adopt(Identity(tmp_path))
    assert (tmp_path / "meta.properties").read_text() == text


@pytest.mark.parametrize("name", ["orders-0", "quorum-state", "recovery-point-offset-checkpoint"])
def test_nameless_directory_with_logs_is_refused(tmp_path: Path, name: str) -> None:
    """A.1.4: logs that nobody says whose they are."""
    (tmp_path / name).mkdir()
    with pytest.raises(StorageError, match=f"holds {name} but no meta.properties"):
        adopt(Identity(tmp_path))
