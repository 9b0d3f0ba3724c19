"""Checkpoints, quorum states and properties, whatever is in them."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kafka_files.checkpoints import EPOCHS, OFFSETS, read_epochs, read_offsets
from nodes.kafka_files.properties import read_properties
from nodes.kafka_files.quorum_state import QUORUM_STATE, QuorumState, read_quorum_state
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.raft.state import QuorumState as OurState
from nodes.kraft.storage.partition_checkpoint import HIGH_WATERMARKS, Checkpoint
from nodes.kraft.storage.quorum_state import QuorumStateFile
from tests.cases import cases

# --- checkpoints --------------------------------------------------------------------------


def test_leader_epochs_are_read() -> None:
    found = read_epochs(b"0\n2\n3 0\n5 17\n")
    assert found.wrong is None and found.table.schema == EPOCHS
    assert found.table.to_pylist() == [
        {"epoch": 3, "start_offset": 0},
        {"epoch": 5, "start_offset": 17},
    ]


def test_offsets_are_read() -> None:
    found = read_offsets(b"0\n2\n__consumer_offsets 7 123\nt-1.x 0 0\n")
    assert found.wrong is None and found.table.schema == OFFSETS
    assert [tuple(row.values()) for row in found.table.to_pylist()] == [
        ("__consumer_offsets", 7, 123),
        ("t-1.x", 0, 0),
    ]


def test_what_our_node_checkpoints_is_read(tmp_path: Path) -> None:
    offsets = {(uuid.UUID(int=n), PartitionIndex(n)): n * 2**40 for n in range(5)}
    Checkpoint(tmp_path, HIGH_WATERMARKS).save(offsets)
    found = read_offsets((tmp_path / "replication-offset-checkpoint").read_bytes())
    assert found.wrong is None
    assert [tuple(row.values()) for row in found.table.to_pylist()] == [
        (str(topic), number, at) for (topic, number), at in offsets.items()
    ]


@pytest.mark.parametrize(
    ("data", "rows", "wrong"),
    [
        (b"", 0, "version '', expected 0"),
        (b"1\n0\n", 0, "version '1', expected 0"),
        (b"0\n", 0, "0 lines, it says ''"),
        (b"0\n2\n1 2\n", 1, "1 lines, it says '2'"),
        (b"0\n2\n1 2\n3", 1, "line 4 is '3'"),
        (b"0\n1\n1 -2\n", 0, "line 3 is '1 -2'"),
        (b"0\n1\n1 99999999999999999999999\n", 0, "line 3 is '1 99999999999999999999999'"),
        ("0\n1\n1 ²\n".encode(), 0, "line 3 is '1 ²'"),
        (b"0\n2\n2 0\n1 5\n", 2, "epochs and their offsets do not rise"),
        (b"0\n2\n1 5\n2 5\n", 2, "epochs and their offsets do not rise"),
        (b"\xff\xfe", 0, "version '\ufffd\ufffd', expected 0"),
    ],
)
def test_checkpoint_that_is_none_is_reported(data: bytes, rows: int, wrong: str) -> None:
    found = read_epochs(data)
    assert (len(found.table), found.wrong) == (rows, wrong)


# --- quorum states ------------------------------------------------------------------------

OLD = {
    "clusterId": "",
    "leaderId": 1,
    "leaderEpoch": 9,
    "votedId": -1,
    "appliedOffset": 0,
    "currentVoters": [{"voterId": 1}, {"voterId": 2}],
    "data_version": 0,
}
NEW = {
    "leaderId": -1,
    "leaderEpoch": 9,
    "votedId": 2,
    "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
    "data_version": 1,
}


def test_quorum_states_of_both_versions_are_read() -> None:
    old, new = (read_quorum_state(json.dumps(each).encode()) for each in (OLD, NEW))
    assert old == QuorumState(0, 9, leader_id=1, voters=(1, 2))
    assert new == QuorumState(1, 9, voted_id=2, voted_directory_id="AAAAAAAAAAAAAAAAAAAAAA")
    assert isinstance(old, QuorumState) and old.table().schema == QUORUM_STATE
    assert old.table()["voters"].to_pylist() == [[1, 2]]


def test_our_nodes_quorum_state_is_read(tmp_path: Path) -> None:
    file = QuorumStateFile(tmp_path / "quorum-state", "a-cluster")
    file.save(OurState(epoch=7, leader_id=-1, voted_id=3))
    assert read_quorum_state(file.path.read_bytes()) == QuorumState(
        1, 7, voted_id=3, cluster_id="a-cluster"
    )


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"", "Expecting value"),
        (b"[1]", "no JSON object"),
        (b"\xff", "codec can't decode"),
        (b"[" * 100_000, "recursion"),
        (NEW | {"data_version": 2}, "data_version is 2"),
        (NEW | {"data_version": True}, "data_version is True"),
        (NEW | {"leaderEpoch": -1}, "leaderEpoch is -1"),
        (NEW | {"votedId": "2"}, "votedId is '2'"),
        (NEW | {"leaderId": 2**31}, "leaderId is 2147483648"),
        (NEW | {"votedDirectoryId": 3}, "votedDirectoryId is 3"),
        (OLD | {"currentVoters": 3}, "currentVoters is 3"),
        (OLD | {"currentVoters": [1]}, "a voter is 1"),
    ],
)
def test_quorum_state_that_is_none_is_reported(data: Any, wrong: str) -> None:
    reported = read_quorum_state(data if isinstance(data, bytes) else json.dumps(data).encode())
    assert isinstance(reported, str) and wrong in reported


@settings(max_examples=cases(100), deadline=None)
@given(st.binary(max_size=100))
def test_no_small_file_raises(data: bytes) -> None:
    for read in (read_epochs, read_offsets, read_properties):
        read(data)
    assert isinstance(read_quorum_state(data), str)


# --- properties ---------------------------------------------------------------------------


def test_properties_are_read() -> None:
    lines = [
        "#Sun Nov 22 11:00:00 UTC 2026",
        "! more",
        "node.id=1",
        "cluster.id=a\\:b\\=c",
        "",
        " version : 1 ",
        "directory.id=",
        "node.id=2",
    ]
    assert read_properties("\n".join(lines).encode()) == {
        "node.id": "2",
        "cluster.id": "a:b=c",
        "version": "1",
        "directory.id": "",
    }
