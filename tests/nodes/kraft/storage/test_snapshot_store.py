"""Snapshot files: whole and durable under their names, or not there (B.3)."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.records.readers import read_batch

from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.storage.snapshots import (
    CorruptSnapshot,
    SnapshotNotFound,
    SnapshotStore,
    file_name,
)
from tests.cases import cases

ID = SnapshotId(7, 3)
VALUES = [b"one", b"two", b"three"]


class Events(list):
    def __call__(self, type, **fields):
        self.append((type, fields))


def write(store, id=ID, values=VALUES, high_watermark=100):
    return store.write(
        id, values, timestamp_ms=1_000, high_watermark=high_watermark, digest="d" * 64
    )


def test_a_snapshot_is_named_by_end_offset_and_epoch(tmp_path: Path) -> None:
    """A.4.17, B.3.1: 20 digits of end offset, 10 of epoch."""
    store = SnapshotStore(tmp_path)
    size = write(store)
    path = tmp_path / "00000000000000000007-0000000003.checkpoint"
    assert path.name == file_name(ID)
    assert path.stat().st_size == size == store.size(ID)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_records_are_read_back_also_by_a_store_opened_later(tmp_path: Path) -> None:
    write(SnapshotStore(tmp_path))
    store = SnapshotStore(tmp_path)
    assert store.latest() == ID
    assert list(store.records(ID)) == VALUES


def test_an_empty_store_has_no_latest(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "made")
    assert store.latest() is None and store.ids() == ()
    with pytest.raises(SnapshotNotFound):
        store.size(ID)
    with pytest.raises(SnapshotNotFound):
        store.read(ID, 0, 10)
    with pytest.raises(SnapshotNotFound):
        list(store.records(ID))


def test_header_first_footer_last_as_control_records(tmp_path: Path) -> None:
    """B.3.2: control records of types 3 and 4."""
    write(SnapshotStore(tmp_path))
    data = (tmp_path / file_name(ID)).read_bytes()
    batches, position = [], 0
    while position < len(data):
        batch, size = read_batch(data, position)
        batches.append(batch)
        position += size
    assert [bool(batch.attributes & 0x20) for batch in batches] == [True, False, True]
    keys = [batch.records[0].key for batch in (batches[0], batches[-1])]
    assert keys == [struct.pack(">hh", 0, 3), struct.pack(">hh", 0, 4)]
    assert struct.unpack(">hq", batches[0].records[0].value[:10]) == (0, 1_000)
    assert [record.offset for batch in batches for record in batch.records] == [0, 1, 2, 3, 4]


def test_it_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B.3.4: KAFKA-15312; then the directory."""
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def note_sync(descriptor: int) -> None:
        done.append("sync " + Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    def note_rename(self: Path, target: Path) -> Path:
        done.append("rename " + target.name)
        return rename(self, target)

    store = SnapshotStore(tmp_path)
    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "rename", note_rename)
    write(store)
    name = file_name(ID)
    assert done == [f"sync {name}.writing", f"rename {name}", f"sync {tmp_path.name}"]


def test_temporary_files_of_a_crash_are_removed_at_start(tmp_path: Path) -> None:
    """B.3.4: what had no name yet is nothing."""
    left = [tmp_path / (file_name(ID) + suffix) for suffix in (".writing", ".receiving")]
    for path in left:
        path.write_bytes(b"half")
    (tmp_path / "quorum-state").write_text("{}")
    store = SnapshotStore(tmp_path)
    assert store.latest() is None
    assert [path.name for path in tmp_path.iterdir()] == ["quorum-state"]


def test_a_snapshot_above_the_high_watermark_is_refused(tmp_path: Path) -> None:
    """B.3.3, D.16: never above the high watermark at creation."""
    store = SnapshotStore(tmp_path)
    with pytest.raises(ValueError, match="high watermark 6"):
        write(store, high_watermark=6)
    assert list(tmp_path.iterdir()) == []


def test_the_event_tells_what_is_in_it(tmp_path: Path) -> None:
    events = Events()
    size = write(SnapshotStore(tmp_path, events))
    assert events == [
        (
            "snap_write",
            {
                "end_offset": 7,
                "epoch": 3,
                "bytes": size,
                "records": 3,
                "digest": "d" * 64,
                "high_watermark": 100,
            },
        )
    ]


def test_one_state_under_one_id_is_one_sequence_of_bytes(tmp_path: Path) -> None:
    """D.16: no two snapshots with one id differ."""
    for name in ("a", "b"):
        write(SnapshotStore(tmp_path / name))
    first, second = ((tmp_path / name / file_name(ID)).read_bytes() for name in ("a", "b"))
    assert first == second


@settings(max_examples=cases(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_damaged_byte_is_noticed(tmp_path: Path, at: float, flip: int) -> None:
    store = SnapshotStore(tmp_path)
    write(store)
    path = tmp_path / file_name(ID)
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= flip
    path.write_bytes(data)
    with pytest.raises(CorruptSnapshot):
        list(store.records(ID))


@settings(max_examples=cases(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True))
def test_a_shortened_file_is_noticed(tmp_path: Path, at: float) -> None:
    store = SnapshotStore(tmp_path)
    write(store)
    path = tmp_path / file_name(ID)
    path.write_bytes(path.read_bytes()[: int(at * path.stat().st_size)])
    with pytest.raises(CorruptSnapshot):
        list(store.records(ID))


def test_a_snapshot_without_its_footer_is_noticed(tmp_path: Path) -> None:
    """B.3.2: a file without its end is none."""
    store = SnapshotStore(tmp_path)
    write(store, values=[b"x"])
    path = tmp_path / file_name(ID)
    data = path.read_bytes()
    header = read_batch(data, 0)[1]
    body = read_batch(data, header)[1]
    path.write_bytes(data[: header + body])
    with pytest.raises(CorruptSnapshot):
        list(store.records(ID))


def test_another_epoch_than_the_name_says_is_noticed(tmp_path: Path) -> None:
    """B.3.1: the name's epoch is that of the last record."""
    write(SnapshotStore(tmp_path))
    other = SnapshotId(7, 4)
    (tmp_path / file_name(ID)).rename(tmp_path / file_name(other))
    with pytest.raises(CorruptSnapshot, match="another epoch"):
        list(SnapshotStore(tmp_path).records(other))


def test_retain_keeps_the_newest_and_never_removes_the_last(tmp_path: Path) -> None:
    """B.3.9: however few are to be kept."""
    store = SnapshotStore(tmp_path)
    ids = [SnapshotId(offset, 1) for offset in (3, 9, 27)]
    for id in ids:
        write(store, id)
    store.retain(2)
    assert store.ids() == tuple(ids[1:])
    assert sorted(path.name for path in tmp_path.iterdir()) == [file_name(id) for id in ids[1:]]
    store.retain(0)
    assert store.ids() == (ids[2],)
    assert list(store.records(ids[2])) == VALUES


# --- from another replica -----------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chunk=st.integers(1, 400))
def test_a_snapshot_is_carried_over_in_ranges(tmp_path: Path, chunk: int) -> None:
    """B.3.5: ranges of any size make the same file."""
    source, target = SnapshotStore(tmp_path / "source"), SnapshotStore(tmp_path / "target")
    size = write(source)
    position = 0
    while position < size:
        data = source.read(ID, position, chunk)
        target.receive(ID, position, data)
        position += len(data)
        assert ID not in SnapshotStore(tmp_path / "elsewhere").ids()
    assert source.read(ID, size, chunk) == b""
    target.finish(ID)
    assert target.latest() == ID
    assert list(target.records(ID)) == VALUES
    assert [path.name for path in (tmp_path / "target").iterdir()] == [file_name(ID)]


def test_what_is_half_received_has_no_name(tmp_path: Path) -> None:
    source, target = SnapshotStore(tmp_path / "source"), SnapshotStore(tmp_path / "target")
    size = write(source)
    target.receive(ID, 0, source.read(ID, 0, size - 1))
    assert target.latest() is None
    with pytest.raises(CorruptSnapshot):
        target.finish(ID)
    assert list((tmp_path / "target").iterdir()) == []


def test_pieces_have_to_follow_each_other(tmp_path: Path) -> None:
    source, target = SnapshotStore(tmp_path / "source"), SnapshotStore(tmp_path / "target")
    size = write(source)
    with pytest.raises(ValueError, match="at 10, where -1"):
        target.receive(ID, 10, b"x")
    target.receive(ID, 0, source.read(ID, 0, 10))
    with pytest.raises(ValueError, match="at 11, where 10"):
        target.receive(ID, 11, b"x")
    target.receive(ID, 0, source.read(ID, 0, size))  # anew
    target.finish(ID)
    assert list(target.records(ID)) == VALUES


def test_close_drops_what_is_half_received(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    store.receive(ID, 0, b"half")
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_one_is_fetched_at_a_time(tmp_path: Path) -> None:
    """Of a snapshot that the leader has replaced meanwhile, nothing stays behind."""
    source, target = SnapshotStore(tmp_path / "source"), SnapshotStore(tmp_path / "target")
    newer = SnapshotId(9, 3)
    size = write(source, newer)
    target.receive(ID, 0, b"half")
    target.receive(newer, 0, source.read(newer, 0, size))
    assert [path.name for path in (tmp_path / "target").iterdir()] == [
        file_name(newer) + ".receiving"
    ]
    target.finish(newer)
    assert target.ids() == (newer,)
