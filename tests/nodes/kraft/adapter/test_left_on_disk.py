"""What nodes left on their disks, as evidence."""

import json
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.evidence import changes, processes, quorum
from framework.evidence.kinds import Evidence
from framework.evidence.partitions import (
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
    PartitionTruncated,
)
from nodes.kafka_files.log_directory import Log, read_log
from nodes.kraft.adapter.disk import left_on_disk
from nodes.kraft.adapter.evidence import observe
from nodes.kraft.events import EventLog
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.metadata.snapshot import image_of
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


def log_of(home: Path) -> quorum.LogOnDisk:
    (log,) = evidence(home, quorum.LogOnDisk)
    found: quorum.LogOnDisk = log
    return found


def test_disk_says_what_events_say(home: Path) -> None:
    reported = [
        each for each in observe(home.parents[1], PLAN) if isinstance(each, quorum.Appended)
    ]
    by_events, by_disk = (
        [
            replace(each, leading=None, incarnation="", seq=0, at_ns=0, within_ns=0, ref="")
            for each in reported
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
    assert isinstance(leader, changes.LeaderAnnounced)
    assert (leader.leader, leader.votes, leader.voters) == (1, (1,), (1, 2))
    assert isinstance(topic, changes.TopicCreated)
    assert (topic.name, topic.topic_id, topic.offset, topic.epoch) == ("t", str(TOPIC), 1, 1)
    assert isinstance(config, changes.ConfigSet) and config.value == "1"
    assert isinstance(other, changes.OtherChange) and other.name == "NoOpRecord"
    assert [(each.offset, each.epoch) for each in rest] == [(at, 2) for at in range(4, 9)]
    assert len({each.seq for each in evidence(home)}) == len(evidence(home))


def test_ref_names_the_file_and_the_byte(home: Path) -> None:
    first, second, *_ = evidence(home, quorum.Appended)
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
    assert damaged.end_offset == evidence(home, quorum.Appended)[-1].end_offset


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
    assert len(evidence(home, quorum.Appended)) == 1


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
    (saved,) = evidence(home, quorum.EpochSaved)
    assert (saved.epoch, saved.leader, saved.vote) == (4, 2, None)
    (snapshot,) = evidence(home, quorum.SnapshotFile)
    assert (snapshot.end_offset, snapshot.epoch, snapshot.records) == (4, 1, 2)
    assert snapshot.wrong == () and snapshot.digest == digest(image_of(entities))
    (failed,) = evidence(home, processes.Failed)
    assert (failed.where, failed.message) == ("asyncio", "oh: KeyError: 1")
    assert failed.ref == "nodes/c1/node.log:1"


def test_a_snapshot_of_ours_has_no_control_records_inside(home: Path) -> None:
    """As Apache Kafka's of a dynamic quorum have: who votes is in no log of these nodes."""
    name = "00000000000000000000-0000000000.checkpoint"
    stored = Path(__file__).parents[2] / "kafka" / "stored" / "dynamic" / name
    shutil.copy(stored, metadata(home))
    (snapshot,) = evidence(home, quorum.SnapshotFile)
    assert snapshot.wrong == ("has a control record between header and footer",)


def test_partition_logs(home: Path) -> None:
    partitions = home / "data" / "partitions"
    for name in (f"{TOPIC}-3", "no-partition", f"{TOPIC}-x"):
        (partitions / name).mkdir(parents=True)
        data = min(metadata(home).glob("*.log")).read_bytes()
        (partitions / name / f"{0:020d}.log").write_bytes(data)
    first, *_ = found = evidence(home, PartitionAppended)
    assert {(each.topic_id, each.partition) for each in found} == {(str(TOPIC), 3)}
    assert (first.base_offset, first.end_offset, first.epoch) == (0, 1, 1)
    assert first.producer_id is None and first.base_sequence is None


def test_state_of_partition_logs(home: Path) -> None:
    partition = home / "data" / "partitions" / f"{TOPIC}-3"
    partition.mkdir(parents=True)
    path = partition / f"{0:020d}.log"
    path.write_bytes(min(metadata(home).glob("*.log")).read_bytes())
    (whole,) = evidence(home, PartitionLogOnDisk)
    assert (whole.topic_id, whole.partition, whole.start_offset) == (str(TOPIC), 3, 0)
    assert whole.end_offset == 1 and not whole.torn and not whole.wrong and whole.epochs is None
    copy(home, 1)
    assert len(evidence(home, PartitionLogOnDisk)) == 1, "nothing came of it"
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n4 2\n")
    path.write_bytes(path.read_bytes() + b"\0" * 9)
    _, torn = evidence(home, PartitionLogOnDisk)
    assert torn.incarnation == "2" and torn.torn and not torn.wrong
    assert [(each.epoch, each.start_offset) for each in torn.epochs] == [(1, 0), (4, 2)]
    (partition / "leader-epoch-checkpoint").write_text("0\n9\n1 0\n4 2\n")
    assert evidence(home, PartitionLogOnDisk)[-1].epochs is None
    path.write_bytes(b"\1" * 80)
    assert evidence(home, PartitionLogOnDisk)[-1].wrong


def test_where_partition_logs_begin(home: Path) -> None:
    """Within a segment, or without any; what is beyond a log's end is another log's."""
    partitions = home / "data" / "partitions"
    data = min(metadata(home).glob("*.log")).read_bytes()
    for number in (0, 1):
        (partitions / f"{TOPIC}-{number}").mkdir(parents=True)
        (partitions / f"{TOPIC}-{number}" / f"{0:020d}.log").write_bytes(data)
    (partitions / f"{TOPIC}-2").mkdir()
    lines = "".join(f"{TOPIC} {number} {at}\n" for number, at in ((0, 1), (1, 2), (2, 7)))
    (partitions / "log-start-offset-checkpoint").write_text(f"0\n3\n{lines}")
    found = evidence(home, PartitionLogOnDisk)
    assert [(each.partition, each.start_offset, each.end_offset) for each in found] == [
        (0, 1, 1),
        (1, 0, 1),
        (2, 7, 7),
    ]


def test_offsets_that_were_written_down(home: Path) -> None:
    partitions = home / "data" / "partitions"
    partitions.mkdir()
    for name, offset in (("replication", 7), ("recovery-point", 5), ("log-start", 2)):
        (partitions / f"{name}-offset-checkpoint").write_text(f"0\n1\n{TOPIC} 3 {offset}\n")
    found = evidence(home, PartitionOffsetSaved)
    assert {(each.what, each.offset) for each in found} == {
        ("high-watermark", 7),
        ("recovery-point", 5),
        ("log-start", 2),
    }
    assert {(each.topic_id, each.partition) for each in found} == {(str(TOPIC), 3)}
    (partitions / "log-start-offset-checkpoint").write_text("0\n1\nno-id 3 2\n")
    assert len(evidence(home, PartitionOffsetSaved)) == 2


def test_how_processes_ended(home: Path) -> None:
    copy(home, 1)
    (home / "kept" / "1" / "process.json").write_text('{"process": 1, "exit_code": -9}')
    last = home / "process.json"
    last.write_text('{"pid": 7, "ended": true, "exit_code": null}')
    assert [(each.process, each.exit_code) for each in ended(home)] == [(1, -9), (2, None)]
    for text in ('{"ended": false, "exit_code": null}', "[]", "{", '{"pid": 7}'):
        last.write_text(text)
        assert [each.process for each in ended(home)] == [1]
    assert {each.source for each in ended(home)} == {"harness"}


def ended(home: Path) -> list[processes.ProcessEnded]:
    return [
        each for each in left_on_disk(home.parents[1]) if isinstance(each, processes.ProcessEnded)
    ]


def test_process_of_a_workload_has_the_name_it_was_given(home: Path) -> None:
    extra = home / "extra" / "301a"
    MetadataLog(metadata(extra)).close()
    assert {each.node for each in evidence(home, quorum.LogOnDisk)} == {"c1", "301a"}
    (extra / "server.properties").write_text("node.name=g301a\nprocess.roles=broker\n")
    assert {each.node for each in evidence(home, quorum.LogOnDisk)} == {"c1", "g301a"}


# --- what several processes left ----------------------------------------------------------


def copy(home: Path, number: int) -> None:
    """As the harness does when a process has ended."""
    shutil.copytree(home / "data", home / "kept" / str(number) / "data")


def batch(offset: int, epoch: int, records: int = 1) -> Batch:
    return Batch(offset, epoch, (encode_record(RECORDS[2]),) * records)


def test_second_process_left_what_it_added(home: Path) -> None:
    copy(home, 1)
    log = MetadataLog(metadata(home))
    log.append(batch(9, 3))
    log.close()
    found = evidence(home, quorum.Appended)
    assert [(each.incarnation, each.base_offset) for each in found] == [
        *(("1", offset) for offset in (0, 1, 4, 5, 6, 7, 8)),
        ("2", 9),
    ]
    assert found[0].ref.startswith("nodes/c1/kept/1/data/")
    assert [each.end_offset for each in evidence(home, quorum.LogOnDisk)] == [9, 10]
    assert not evidence(home, quorum.Truncated) and not evidence(home, quorum.LogBegan)


def test_what_a_later_process_cut_off_is_still_reported(home: Path) -> None:
    copy(home, 1)
    log = MetadataLog(metadata(home), segment_bytes=200)
    log.truncate(6)
    log.append(batch(6, 3))
    log.close()
    (cut,) = evidence(home, quorum.Truncated)
    assert (cut.incarnation, cut.end_offset) == ("2", 6)
    entries = {
        (each.incarnation, each.base_offset, each.epoch) for each in evidence(home, quorum.Appended)
    }
    assert {("1", 8, 2), ("2", 6, 3)} <= entries and ("2", 5, 2) not in entries


def test_log_that_begins_later_had_what_was_below(home: Path) -> None:
    copy(home, 1)
    min(metadata(home).glob("*.log")).unlink()
    (began,) = evidence(home, quorum.LogBegan)
    assert began.offset > 0 and not began.dropped and began.incarnation == "2"
    assert not [each for each in evidence(home, quorum.Appended) if each.incarnation == "2"]


def test_log_of_another_node_took_the_place_of_all(home: Path) -> None:
    copy(home, 1)
    log = MetadataLog(metadata(home))
    log.restart(SnapshotId(20, 3))
    log.append(batch(20, 3))
    log.close()
    (began,) = evidence(home, quorum.LogBegan)
    assert (began.offset, began.dropped) == (20, True)
    assert evidence(home, quorum.Appended)[-1].base_offset == 20


def test_log_of_another_node_that_begins_where_an_own_batch_did(home: Path) -> None:
    """What was below may be another's as well, and is told of no more."""
    copy(home, 1)
    log = MetadataLog(metadata(home), segment_bytes=200)
    log.restart(SnapshotId(6, 3))
    log.append(batch(6, 3))
    log.close()
    (began,) = evidence(home, quorum.LogBegan)
    assert (began.offset, began.dropped) == (6, True)
    assert not evidence(home, quorum.Truncated)


def test_wiped_disk_lost_all(home: Path) -> None:
    copy(home, 1)
    shutil.rmtree(home / "data")
    (cut,) = evidence(home, quorum.Truncated)
    assert (cut.incarnation, cut.end_offset) == ("2", 0)


def test_last_process_has_a_number_where_its_forerunners_are_known(home: Path) -> None:
    assert {each.incarnation for each in evidence(home)} == {""}
    for number in (1, 2, 10):
        copy(home, number)
    assert [each.incarnation for each in evidence(home, quorum.LogOnDisk)] == ["1", "2", "10", "11"]


def test_snapshot_is_reported_of_once(home: Path) -> None:
    store = SnapshotStore(metadata(home))
    store.write(SnapshotId(4, 1), [], timestamp_ms=1, high_watermark=9, digest="")
    copy(home, 1)
    store.write(SnapshotId(5, 1), [], timestamp_ms=1, high_watermark=9, digest="")
    found = [(each.incarnation, each.end_offset) for each in evidence(home, quorum.SnapshotFile)]
    assert found == [("1", 4), ("2", 5)]


def test_saved_epochs_of_all_processes(home: Path) -> None:
    for number, vote in enumerate((2, 3), 1):
        QuorumStateFile(metadata(home) / "quorum-state", "x").save(QuorumState(number, -1, vote))
        copy(home, number)
    found = evidence(home, quorum.EpochSaved)
    assert [(each.incarnation, each.epoch, each.vote) for each in found] == [
        ("1", 1, 2),
        ("2", 2, 3),
        ("3", 2, 3),
    ]


def test_partition_log_that_was_cut_back(home: Path) -> None:
    directory = home / "data" / "partitions" / f"{TOPIC}-3"
    directory.mkdir(parents=True)
    first, second, *_ = sorted(metadata(home).glob("*.log"))
    for path in (first, second):
        (directory / path.name).write_bytes(path.read_bytes())
    copy(home, 1)
    (directory / second.name).unlink()
    (cut,) = evidence(home, PartitionTruncated)
    assert cut.end_offset == int(second.stem) and (cut.topic_id, cut.partition) == (str(TOPIC), 3)
    assert {each.incarnation for each in evidence(home, PartitionAppended)} == {"1"}


Step = tuple[str, int]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "truncate", "trim", "restart", "copy"]), st.integers(0, 9)
        ),
        max_size=25,
    )
)
def test_what_came_of_each_copy_is_the_next_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    home = tmp_path_factory.mktemp("run") / "nodes" / "c1"
    log = MetadataLog(metadata(home), segment_bytes=200)
    epoch = copies = 1
    wanted: list[list[tuple[int, int]]] = []
    for what, number in [*steps, ("copy", 0)]:
        match what:
            case "append":
                log.append(batch(log.end_offset, epoch, 1 + number % 3))
            case "truncate" | "trim":
                place = boundary(log, number)
                if what == "truncate":
                    log.truncate(place)
                    epoch += 1
                elif place > log.start_offset:
                    last = log.index.epoch_at(place - 1)
                    log.trim(SnapshotId(place, last))
            case "restart":
                epoch += 1
                log.restart(SnapshotId(log.end_offset + number, epoch))
            case "copy":
                copy(home, copies)
                copies += 1
                wanted.append(held(read_log(metadata(home))))
    log.close()
    fold: list[tuple[int, int]] = []
    found: dict[str, list[tuple[int, int]]] = {}
    for each in evidence(home):
        match each:
            case quorum.LogBegan(offset=start, dropped=dropped):
                fold = [] if dropped else [entry for entry in fold if entry[0] >= start]
            case quorum.Truncated(end_offset=end):
                fold = [entry for entry in fold if entry[0] < end]
            case quorum.Appended(base_offset=base, epoch=of):
                fold.append((base, of))
            case quorum.LogOnDisk():
                found[each.incarnation] = list(fold)
    assert [found[str(number)] for number in range(1, copies)] == wanted
    assert found[str(copies)] == wanted[-1]


def held(log: Log) -> list[tuple[int, int]]:
    rows = log.table().select(("base_offset", "leader_epoch")).to_pylist()
    return [(row["base_offset"], row["leader_epoch"]) for row in rows]


def boundary(log: MetadataLog, number: int) -> int:
    """Where a batch begins, or the end."""
    data = [offset for offset, _ in held(read_log(log._directory)) if offset >= log.start_offset]
    places = [*data, log.end_offset]
    return places[number % len(places)]


def files(home: Path) -> Iterator[Path]:
    yield from metadata(home).glob("*.log")
    yield metadata(home) / "quorum-state"
    yield metadata(home) / "00000000000000000004-0000000001.checkpoint"
    yield home / "data" / "partitions" / f"{TOPIC}-0" / f"{0:020d}.log"
    yield home / "data" / "partitions" / f"{TOPIC}-0" / "leader-epoch-checkpoint"
    yield home / "data" / "partitions" / "replication-offset-checkpoint"
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
