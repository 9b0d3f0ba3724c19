"""A log of several segments that begins behind a snapshot (B.3)."""

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.raft.messages import Batch, SnapshotId
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.storage.segment import Segment
from nodes.kraft.wire.batches import decode_batches, encode_batch
from tests.cases import cases

SMALL = 300
"""Bytes a segment: three or four of the batches below."""


def batch(offset: int, epoch: int = 1, count: int = 2) -> Batch:
    return Batch(offset, epoch, tuple(b"%d" % number for number in range(offset, offset + count)))


def opened(directory: Path, snapshot: SnapshotId | None = None, **arguments: Any) -> MetadataLog:
    return MetadataLog(directory, snapshot=snapshot, segment_bytes=SMALL, **arguments)


def filled(directory: Path, batches: int = 20, **arguments: Any) -> MetadataLog:
    """Batches of two records; epoch 2 from offset 20 on."""
    log = opened(directory, **arguments)
    for number in range(batches):
        log.append(batch(2 * number, 1 if number < 10 else 2))
    return log


def contents(log: MetadataLog) -> list[int]:
    """The base offsets of all batches that are read."""
    found = decode_batches(log.read(log.start_offset, log.end_offset))
    return [each.base_offset for each in found if each.base_offset >= log.start_offset]


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*.log"))


# --- several segments ---------------------------------------------------------------------


def test_segments_are_rolled_by_size_and_recovered(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert len(files(tmp_path)) > 4
    assert all((tmp_path / name).stat().st_size <= SMALL for name in files(tmp_path))
    log.close()
    log = opened(tmp_path)
    assert contents(log) == list(range(0, 40, 2))
    assert log.index.runs == ((1, 0), (2, 20))
    log.append(batch(40, 2))
    assert contents(log)[-1] == 40


def test_a_batch_larger_than_a_segment_has_one_of_its_own(tmp_path: Path) -> None:
    log = filled(tmp_path, 1)
    log.append(Batch(2, 1, (b"x" * 1000,)))
    log.append(batch(3))
    assert files(tmp_path) == [f"{base:020d}.log" for base in (0, 2, 3)]
    assert contents(log) == [0, 2, 3]


@given(first=st.integers(0, 41), limit=st.integers(0, 45), most=st.integers(1, 50))
@settings(max_examples=cases(80), deadline=None)
def test_reads_go_over_segments(
    tmp_path_factory: pytest.TempPathFactory, first: int, limit: int, most: int
) -> None:
    log = filled(tmp_path_factory.mktemp("log"))
    found = [each.base_offset for each in decode_batches(log.read(first, limit, 10**6, most))]
    expected: list[int] = []
    for base in range(first - first % 2, 40, 2):
        too_many = 2 * len(expected) + 2 > most and expected
        if base + 2 > limit or too_many:
            break
        expected.append(base)
    assert found == expected
    log.close()


@pytest.mark.parametrize("end", range(0, 42, 2))
def test_truncation_goes_over_segments(tmp_path: Path, end: int) -> None:
    log = filled(tmp_path)
    log.truncate(end)
    log.append(batch(min(end, 40), 7))
    log.close()
    log = opened(tmp_path)
    assert contents(log) == [*range(0, min(end, 40), 2), min(end, 40)]
    assert log.index.last_epoch == 7


def test_a_segment_is_durable_before_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So only the last one may be torn."""
    order: list[str] = []
    healthy = Segment.sync
    monkeypatch.setattr(Segment, "sync", lambda self: (order.append("sync"), healthy(self)))
    log = opened(tmp_path)
    made = Segment.__init__
    monkeypatch.setattr(
        Segment, "__init__", lambda self, *a, **k: (order.append("new"), made(self, *a, **k))[1]
    )
    for number in range(8):
        log.append(batch(2 * number))
    assert order == ["sync", "new"] * (len(order) // 2)
    assert order


def test_a_torn_last_segment_loses_its_tail_alone(tmp_path: Path) -> None:
    filled(tmp_path).close()
    last = tmp_path / files(tmp_path)[-1]
    last.write_bytes(last.read_bytes()[:-3])
    log = opened(tmp_path)
    assert contents(log) == list(range(0, 38, 2))
    assert log.dropped_bytes > 0


def test_damage_in_an_earlier_segment_is_one_clear_line(tmp_path: Path) -> None:
    filled(tmp_path).close()
    damaged = tmp_path / files(tmp_path)[1]
    data = bytearray(damaged.read_bytes())
    data[70] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(StorageError, match="more of the log follows") as raised:
        opened(tmp_path)
    assert "\n" not in str(raised.value)
    assert damaged.read_bytes() == data, "nothing was cut off"


def test_a_missing_segment_is_one_clear_line(tmp_path: Path) -> None:
    filled(tmp_path).close()
    (tmp_path / files(tmp_path)[2]).unlink()
    with pytest.raises(StorageError, match="next is") as raised:
        opened(tmp_path)
    assert "\n" not in str(raised.value)


# --- behind a snapshot --------------------------------------------------------------------


def test_trimming_drops_whole_segments(tmp_path: Path) -> None:
    """A.4.18, B.3.10: the log's start is the snapshot's end, wherever the files begin."""
    events: list[tuple[str, Any]] = []
    log = filled(tmp_path, emit=lambda type, **fields: events.append((type, fields)))
    before = files(tmp_path)
    snapshot = SnapshotId(22, 2)
    log.trim(snapshot)
    assert (log.start_offset, log.index.snapshot) == (22, snapshot)
    assert contents(log) == list(range(22, 40, 2))
    gone = set(before) - set(files(tmp_path))
    assert gone
    assert all(int(name[:20]) < 22 for name in gone)
    assert events[-1] == ("log_start", {"offset": 22, "dropped": False})
    log.close()
    again = opened(tmp_path, snapshot)
    assert contents(again) == list(range(22, 40, 2))
    assert again.index.runs == ((2, 22),)


def test_trimming_to_the_end_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.trim(SnapshotId(40, 2))
    assert (contents(log), log.index.last) == ([], (2, 40))
    log.append(batch(40, 2))
    log.close()
    assert contents(opened(tmp_path, SnapshotId(40, 2))) == [40]


@pytest.mark.parametrize(
    ("snapshot", "why"),
    [
        (SnapshotId(21, 2), "inside a batch"),  # KAFKA-17713
        (SnapshotId(22, 1), "not of this log"),
        (SnapshotId(50, 2), "not of this log"),
    ],
)
def test_a_log_begins_at_no_other_place(tmp_path: Path, snapshot: SnapshotId, why: str) -> None:
    """B.3.3: on a batch boundary, and valid against the log's epochs."""
    log = filled(tmp_path)
    with pytest.raises(ValueError, match=why):
        log.trim(snapshot)
    assert contents(log) == list(range(0, 40, 2))


def test_a_log_start_needs_its_snapshot(tmp_path: Path) -> None:
    """B.3.7: log start > 0 implies a snapshot of that end offset (KAFKA-14240)."""
    log = filled(tmp_path)
    log.trim(SnapshotId(30, 2))
    log.close()
    for snapshot in (None, SnapshotId(4, 1)):
        with pytest.raises(StorageError, match="no snapshot of what is below") as raised:
            opened(tmp_path, snapshot)
        assert "\n" not in str(raised.value)


def test_a_snapshot_written_just_before_the_crash_counts(tmp_path: Path) -> None:
    """The log had not been trimmed yet."""
    filled(tmp_path).close()
    log = opened(tmp_path, SnapshotId(20, 1))
    assert (log.start_offset, log.index.runs) == (20, ((2, 20),))


@pytest.mark.parametrize(
    "snapshot",
    [
        SnapshotId(60, 2),  # the log is shorter
        SnapshotId(40, 3),  # as long, but another history
        SnapshotId(30, 3),  # longer, but another history
    ],
)
def test_a_snapshot_fetched_just_before_the_crash_takes_the_logs_place(
    tmp_path: Path, snapshot: SnapshotId
) -> None:
    """Its records are committed; where the log has others, those are not. And none of them is
    found again by the next start, which would take what was appended since for theirs."""
    filled(tmp_path).close()
    log = opened(tmp_path, snapshot)
    assert (contents(log), log.index.last) == ([], (snapshot.epoch, snapshot.end_offset))
    log.append(batch(snapshot.end_offset, 3))
    log.close()
    assert contents(opened(tmp_path, snapshot)) == [snapshot.end_offset]


def test_restart_drops_everything(tmp_path: Path) -> None:
    """B.3.6: after the last chunk the log is fully truncated and begins at the snapshot's end."""
    events: list[str] = []
    log = filled(tmp_path, emit=lambda type, **_: events.append(type))
    log.restart(SnapshotId(100, 5))
    assert files(tmp_path) == [f"{100:020d}.log"]
    assert (log.start_offset, log.end_offset, log.index.flushed) == (100, 100, 100)
    assert events[-1] == "log_start"
    log.append(batch(100, 5))
    assert log.flush() == 102
    log.close()
    assert contents(opened(tmp_path, SnapshotId(100, 5))) == [100]


def test_a_flush_may_begin_amid_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the old segments are gone, and the new one is not there yet."""
    log = filled(tmp_path)
    vouched: list[int] = []
    flusher = threading.Thread(target=lambda: vouched.append(log.flush()))

    def amid(directory: Path) -> None:
        if not log._segments:
            flusher.start()
            flusher.join(0.2)

    monkeypatch.setattr("nodes.kraft.storage.log.sync_directory", amid)
    log.restart(SnapshotId(100, 3))
    flusher.join(60)
    assert vouched == [100]
    log.close()


def test_restart_waits_for_a_flush_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file must not be closed, and its number reused, under an fsync."""
    log = filled(tmp_path)
    syncing, go_on, vouched = threading.Event(), threading.Event(), list[int]()
    from nodes.kraft.storage import segment

    healthy = segment.os.fsync

    def slow(descriptor: int) -> None:
        if threading.current_thread() is flusher:
            syncing.set()
            assert go_on.wait(60)
        healthy(descriptor)

    flusher = threading.Thread(target=lambda: vouched.append(log.flush()))
    monkeypatch.setattr(segment.os, "fsync", slow)
    flusher.start()
    assert syncing.wait(60)
    restarter = threading.Thread(target=lambda: log.restart(SnapshotId(100, 5)))
    restarter.start()
    restarter.join(0.1)
    assert restarter.is_alive()
    go_on.set()
    for thread in (flusher, restarter):
        thread.join(60)
    assert vouched == [0], "what was cut off is not vouched for"
    assert files(tmp_path) == [f"{100:020d}.log"]


def test_a_follower_keeps_its_leaders_time_stamps(tmp_path: Path) -> None:
    """Equal records under one snapshot id make equal bytes on every node."""
    log = opened(tmp_path)
    written = log.append(batch(0))
    assert written.timestamp_ms > 1_600_000_000_000
    (sent,) = decode_batches(log.read(0, 2))
    copy = opened(tmp_path / "copy")
    assert copy.append(sent).timestamp_ms == written.timestamp_ms
    assert copy.read(0, 2) == log.read(0, 2) == encode_batch(batch(0), written.timestamp_ms)
