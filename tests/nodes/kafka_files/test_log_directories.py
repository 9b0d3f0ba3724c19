"""A log's directory: segments, gaps, overlaps."""

from pathlib import Path

from batch_bytes import Given, by_kio

from nodes.kafka_files.log_directory import SEGMENT_BATCHES, read_log


def write(directory: Path, base: int, *offsets: int, epoch: int = 1, more: bytes = b"") -> None:
    data = b"".join(by_kio(Given(offset), epoch=epoch) for offset in offsets)
    (directory / f"{base:020d}.log").write_bytes(data + more)


def test_segments_are_one_log(tmp_path: Path) -> None:
    write(tmp_path, 12)
    write(tmp_path, 10, 10, 11)
    write(tmp_path, 7, 7, 8, 9)
    (tmp_path / "00000000000000000007.index").write_bytes(b"x")
    log = read_log(tmp_path)
    assert (log.start_offset, log.end_offset, list(log.wrong())) == (7, 12, [])
    table = log.table()
    assert table.schema == SEGMENT_BATCHES
    assert table["base_offset"].to_pylist() == [7, 8, 9, 10, 11]
    assert table["segment"].to_pylist() == [7, 7, 7, 10, 10]


def test_gap_ends_what_can_be_read(tmp_path: Path) -> None:
    write(tmp_path, 0, 0, 1)
    write(tmp_path, 3, 3)
    log = read_log(tmp_path)
    assert log.end_offset == 2
    assert list(log.wrong()) == ["nothing from 2 to 3"]


def test_gap_within_a_segment_is_reported(tmp_path: Path) -> None:
    write(tmp_path, 0, 1, 2, 5)
    log = read_log(tmp_path)
    assert list(log.wrong()) == ["nothing from 0 to 1", "nothing from 3 to 5"]


def test_overlap_is_reported(tmp_path: Path) -> None:
    write(tmp_path, 0, 0, 1, 2)
    write(tmp_path, 2, 2)
    log = read_log(tmp_path)
    assert log.end_offset == 3
    assert list(log.wrong()) == ["two segments from 2 to 3"]


def test_torn_segment_is_reported(tmp_path: Path) -> None:
    write(tmp_path, 0, 0, more=b"half a batch")
    write(tmp_path, 1, 1)
    log = read_log(tmp_path)
    assert log.end_offset == 1
    (wrong,) = log.wrong()
    assert wrong.startswith("00000000000000000000.log is torn at byte 69")


def test_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").mkdir()
    log = read_log(tmp_path)
    assert log.end_offset == 0
    assert list(log.wrong()) == ["00000000000000000000.log cannot be read: Is a directory"]


def test_directory_that_is_not_there_has_no_log(tmp_path: Path) -> None:
    log = read_log(tmp_path / "none")
    assert (log.segments, log.start_offset, log.end_offset) == ((), 0, 0)
    assert len(log.table()) == 0
