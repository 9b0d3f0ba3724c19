"""What nodes left on their disks, as evidence."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.evidence import changes, kinds
from framework.evidence.kinds import Evidence
from nodes.kraft.adapter.disk import left_on_disk
from nodes.kraft.adapter.evidence import observe
from nodes.kraft.events import EventLog
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.raft.leader_change import encode_leader_change
from nodes.kraft.raft.messages import Batch, SnapshotId
from nodes.kraft.raft.state import QuorumState
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.storage.quorum_state import QuorumStateFile
from nodes.kraft.storage.snapshots import SnapshotStore
from nodes.kraft.wire import records as wire

TOPIC = uuid.UUID(int=7)
PLAN: dict[str, Any] = {"time_zero_ns": 0, "nodes": {"c1": {}}}
RECORDS = (
    wire.TopicRecord(name="t", topic_id=TOPIC, deleting=False),
    wire.ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"),
    wire.NoOpRecord(),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node's, who told of its log as it wrote it: segments of two batches each."""
    home = tmp_path / "nodes" / "c1"
    events = EventLog(home / "events.jsonl", "c1")
    log = MetadataLog(metadata(home), events.emit, segment_bytes=200)
    log.append(Batch(0, 1, (encode_leader_change(1, (1, 2), (1,)),), control=True), leader=True)
    values = tuple(map(encode_record, RECORDS))
    log.append(Batch(1, 1, values), leader=True)
    for offset in range(4, 9):
        log.append(Batch(offset, 2, values[2:]))
    log.close()
    return home


def metadata(home: Path) -> Path:
    return home / "data" / "__kafka_metadata-0"


def evidence(home: Path, kind: type[Evidence] = Evidence) -> list[Any]:
    folder = home.parents[1]
    found = left_on_disk(folder)
    assert all(each.source == "disk" for each in found)
    return [each for each in left_on_disk(folder) if isinstance(each, kind)]


def log_of(home: Path) -> kinds.LogOnDisk:
    (log,) = evidence(home, kinds.LogOnDisk)
    found: kinds.LogOnDisk = log
    return found


def test_disk_says_what_events_say(home: Path) -> None:
    told = [each for each in observe(home.parents[1], PLAN) if isinstance(each, kinds.Appended)]
    by_events, by_disk = (
        [
            replace(each, leading=None, incarnation="", seq=0, at_ns=0, within_ns=0, ref="")
            for each in told
            if each.source == source
        ]
        for source in ("event", "disk")
    )
    assert len(by_disk) == 7
    assert by_disk == [replace(each, source="disk") for each in by_events]
    assert len(list(metadata(home).glob("*.log"))) > 1
    assert (log_of(home).start_offset, log_of(home).end_offset) == (0, 9)
    assert not log_of(home).torn and not log_of(home).wrong


def test_records_are_changes(home: Path) -> None:
    leader, topic, config, other, *rest = evidence(home, changes.Change)
    assert isinstance(leader, changes.LeaderAnnounced) and leader.leader == 1
    assert isinstance(topic, changes.TopicCreated)
    assert (topic.name, topic.topic_id, topic.offset, topic.epoch) == ("t", str(TOPIC), 1, 1)
    assert isinstance(config, changes.ConfigSet) and config.value == "1"
    assert isinstance(other, changes.OtherChange) and other.name == "NoOpRecord"
    assert [(each.offset, each.epoch) for each in rest] == [(at, 2) for at in range(4, 9)]
    assert len({each.seq for each in evidence(home)}) == len(evidence(home))


def test_ref_names_the_file_and_the_byte(home: Path) -> None:
    first, second, *_ = evidence(home, kinds.Appended)
    assert first.ref == "nodes/c1/data/__kafka_metadata-0/00000000000000000000.log:0"
    file, _, position = second.ref.rpartition(":")
    data = (home.parents[1] / file).read_bytes()
    assert int.from_bytes(data[int(position) :][:8], "big") == second.base_offset


def last_segment(home: Path) -> Path:
    return max(metadata(home).glob("*.log"))


def test_half_a_batch_at_the_end_is_torn(home: Path) -> None:
    path = last_segment(home)
    path.write_bytes(path.read_bytes() + b"\0" * 20)
    assert log_of(home).torn and not log_of(home).wrong
    assert log_of(home).end_offset == 9


def test_damage_is_wrong(home: Path) -> None:
    path = sorted(metadata(home).glob("*.log"))[1]
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    damaged = log_of(home)
    assert not damaged.torn and any("is damaged at byte" in each for each in damaged.wrong)
    assert 0 < damaged.end_offset < 9
    assert damaged.end_offset == evidence(home, kinds.Appended)[-1].end_offset


def test_gap_is_wrong(home: Path) -> None:
    first, second, *_ = sorted(metadata(home).glob("*.log"))
    second.unlink()
    assert any(each.startswith("nothing from") for each in log_of(home).wrong)
    first.unlink()
    assert log_of(home).start_offset > 0 and not log_of(home).wrong


def test_record_of_no_kind_is_wrong(tmp_path: Path) -> None:
    home = tmp_path / "nodes" / "c1"
    log = MetadataLog(metadata(home))
    log.append(Batch(0, 1, (b"\x63\x00",)))
    log.close()
    assert log_of(home).wrong == ("the record at offset 0 is none of this node's",)
    assert len(evidence(home, kinds.Appended)) == 1


def test_emptied_directory_has_an_empty_log(home: Path) -> None:
    for path in metadata(home).iterdir():
        path.unlink()
    assert (log_of(home).start_offset, log_of(home).end_offset) == (0, 0)


def test_what_lies_beside_the_log(home: Path) -> None:
    QuorumStateFile(metadata(home) / "quorum-state", "x").save(QuorumState(4, 2, -1))
    store = SnapshotStore(metadata(home))
    entities = [encode_record(each) for each in RECORDS[:2]]
    store.write(SnapshotId(4, 1), entities, timestamp_ms=1, high_watermark=9, digest="")
    (home / "node.log").write_text(
        "2026-11-22 11:19:27,000 ERROR asyncio: oh\n"
        "Traceback (most recent call last):\nKeyError: 1\n"
    )
    (saved,) = evidence(home, kinds.EpochSaved)
    assert (saved.epoch, saved.leader, saved.vote) == (4, 2, None)
    (snapshot,) = evidence(home, kinds.SnapshotFile)
    assert (snapshot.end_offset, snapshot.epoch, snapshot.records) == (4, 1, 2)
    assert snapshot.wrong == ()
    (failed,) = evidence(home, kinds.Failed)
    assert (failed.where, failed.message) == ("asyncio", "oh: KeyError: 1")
    assert failed.ref == "nodes/c1/node.log:1"


def test_partition_logs(home: Path) -> None:
    partitions = home / "data" / "partitions"
    for name in (f"{TOPIC}-3", "no-partition", f"{TOPIC}-x"):
        (partitions / name).mkdir(parents=True)
        data = min(metadata(home).glob("*.log")).read_bytes()
        (partitions / name / f"{0:020d}.log").write_bytes(data)
    first, *_ = found = evidence(home, kinds.PartitionAppended)
    assert {(each.topic_id, each.partition) for each in found} == {(str(TOPIC), 3)}
    assert (first.base_offset, first.end_offset, first.epoch) == (0, 1, 1)
    assert first.producer_id is None and first.base_sequence is None


def test_process_of_a_workload_has_the_name_it_was_given(home: Path) -> None:
    guest = home / "extra" / "301a"
    MetadataLog(metadata(guest)).close()
    assert {each.node for each in evidence(home, kinds.LogOnDisk)} == {"c1", "301a"}
    (guest / "server.properties").write_text("node.name=g301a\nprocess.roles=broker\n")
    assert {each.node for each in evidence(home, kinds.LogOnDisk)} == {"c1", "g301a"}


def files(home: Path) -> Iterator[Path]:
    yield from metadata(home).glob("*.log")
    yield metadata(home) / "quorum-state"
    yield metadata(home) / "00000000000000000004-0000000001.checkpoint"
    yield home / "data" / "partitions" / f"{TOPIC}-0" / f"{0:020d}.log"
    yield from (home / name for name in ("node.log", "server.properties"))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_nothing_that_a_disk_holds_raises(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("run") / "nodes" / "c1"
    log = MetadataLog(metadata(home), segment_bytes=200)
    for offset in range(4):
        log.append(Batch(offset, 1, (encode_record(RECORDS[0]),)))
    log.close()
    for path in files(home):
        path.parent.mkdir(parents=True, exist_ok=True)
        was = path.read_bytes() if path.exists() else b""
        cut = data.draw(st.integers(0, len(was)))
        path.write_bytes(was[:cut] + data.draw(st.binary(max_size=30)) + was[cut:])
    for each in evidence(home):
        json.dumps(each.as_json())
