"""A partition's log on disk: segments, recovery, look-ups; checkpoints; bounded descriptors."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nodes.kraft.partition.batches import Batch, batch_size, placed, read_batch
from nodes.kraft.partition.state import NO_LOG, empty_log
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.partition_checkpoint import HIGH_WATERMARKS, Checkpoint, CleanShutdown
from nodes.kraft.storage.partition_files import Files
from nodes.kraft.storage.partition_log import PartitionLog, directory_of, partition_of
from tests.cases import cases
from tests.nodes.kraft.partition.batch_making import batch

TOPIC = uuid.UUID(int=77)


def opened(
    path: Path, *, segment_bytes: int = 400, check: bool = True, start: int = 0
) -> PartitionLog:
    return PartitionLog(
        Files(),
        directory_of(path, TOPIC, 0),
        segment_bytes=segment_bytes,
        check=check,
        start_offset=start,
    )


def segments(path: Path) -> list[int]:
    """The offsets with which the files begin."""
    return sorted(int(each.stem) for each in directory_of(path, TOPIC, 0).glob("*.log"))


def filled(log: PartitionLog, *sizes: int, epoch: int = 0) -> list[Batch]:
    made = []
    for size in sizes:
        made.append(placed(batch(size, producer=(7, 0, log.end_offset)), log.end_offset, epoch))
        log.append(made[-1])
    return made


def contents(log: PartitionLog) -> list[bytes]:
    """All batches, read one after the other."""
    found, offset = [], 0
    while data := log.read(offset, log.end_offset, 200):
        position = 0
        while position < len(data):
            each = read_batch(data, position)
            found.append(each.data)
            offset, position = each.end_offset, position + batch_size(data, position)
    return found


def test_nothing_is_on_disk_before_the_first_batch(tmp_path: Path) -> None:
    log = PartitionLog(Files(), directory_of(tmp_path, TOPIC, 0), exists=False)
    assert log.read(0, 10, 100) == b""
    assert list(tmp_path.iterdir()) == []
    filled(log, 1)
    (directory,) = tmp_path.iterdir()
    assert partition_of(directory) == (TOPIC, 0)
    assert partition_of(Path("lost+found")) is None


def test_batches_are_read_whole_by_offset_across_segments(tmp_path: Path) -> None:
    log = opened(tmp_path)
    made = filled(log, *(1 + number % 3 for number in range(40)))
    assert len(list(tmp_path.glob("*/*.log"))) > 5
    assert contents(log) == [each.data for each in made]
    for each in made:
        for offset in range(each.base_offset, each.end_offset):
            assert log.read(offset, log.end_offset, 1) == each.data
        assert log.read(each.base_offset, each.end_offset - 1, 1000) == b""
    assert log.read(log.end_offset, log.end_offset, 1000) == b""


def test_a_batch_larger_than_was_asked_for_is_read_whole(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=10**6)
    small, large, last = batch(), batch(value=b"x" * 50_000), batch()
    for each in (small, large, last):
        log.append(placed(each, log.end_offset, 0))
    assert read_batch(log.read(1, 3, 10)).end_offset == 2
    assert len(log.read(1, 3, 10)) > 50_000
    assert read_batch(log.read(2, 3, 10)).base_offset == 2
    assert len(log.read(0, 3, 10**6)) == len(small.data) + len(large.data) + len(last.data)


def test_recovery_finds_epochs_and_producers_in_the_batches(tmp_path: Path) -> None:
    """B.9.8: producer state is rebuilt from the log."""
    log = opened(tmp_path)
    filled(log, 3, 2)
    filled(log, 1, epoch=4)
    again = opened(tmp_path)
    assert again.recovered.end_offset == 6
    assert again.recovered.epochs == ((0, 0), (4, 5))
    assert [each.base_offset for each in again.recovered.producers[7].written] == [0, 3, 5]
    assert opened(tmp_path, check=False).recovered == again.recovered


@settings(max_examples=cases(60), deadline=None)
@example([1, 1, 2, 1, 1], 283, True)  # the epoch of a segment's last batch
@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(0, 2000), st.booleans())
def test_a_torn_or_damaged_tail_is_dropped_and_what_is_before_it_stays(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], at: int, damage: bool
) -> None:
    path = tmp_path_factory.mktemp("torn")
    log = opened(path)
    made = filled(log, *sizes)
    files = sorted(path.glob("*/*.log"))
    whole = b"".join(file.read_bytes() for file in files)
    position = at = at % len(whole)
    for file in files:
        size = file.stat().st_size
        if position < size:
            content = bytearray(file.read_bytes())
            if damage:
                content[position] ^= 0x40
            else:
                del content[position:]
            file.write_bytes(content)
            break
        position -= size
    again = opened(path)
    kept, end = [], 0
    for each in made:
        end += len(each.data)
        if end > at:
            break
        kept.append(each.data)
    found = contents(again)
    if damage and len(found) > len(kept):
        # Base offset and epoch are outside of the checksum; an epoch may look like a later one.
        kept = found
    assert found == kept
    filled(again, 2, epoch=2**30 + 1)
    assert opened(path).recovered.end_offset == again.end_offset


def test_truncation_at_every_batch_and_appending_after_it(tmp_path: Path) -> None:
    for cut in range(12):
        path = tmp_path / str(cut)
        log = opened(path)
        made = filled(log, *(1 + number % 3 for number in range(12)))
        producers = log.truncate(made[cut].base_offset)
        assert contents(log) == [each.data for each in made[:cut]]
        assert opened(path).recovered.producers == producers
        if made[cut].count > 1:
            log.append(made[cut])
            with pytest.raises(ValueError, match="inside a batch"):
                log.truncate(made[cut].base_offset + 1)
        filled(log, 2, epoch=1)
        assert opened(path).recovered.end_offset == log.end_offset


def test_offsets_by_time(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for times in ((10, 20), (15, 40), (30,), (35, 40)):
        log.append(placed(batch(len(times), times=times), log.end_offset, 0))
    assert log.find_time(0, 0, 7) == (0, 10)
    assert log.find_time(11, 0, 7) == (1, 20)
    assert log.find_time(21, 0, 7) == (3, 40)
    assert log.find_time(41, 0, 7) is None
    assert log.find_time(21, 0, 2) is None
    assert log.latest_time(0, 7) == (3, 40)
    assert log.latest_time(0, 2) == (1, 20)
    assert log.latest_time(0, 0) is None


def test_descriptors_are_bounded(tmp_path: Path) -> None:
    files = Files(capacity=8)
    logs = [PartitionLog(files, directory_of(tmp_path, TOPIC, n), exists=False) for n in range(50)]
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        for log in logs:
            filled(log, 1)
    assert files.open_files == 8
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 8
    assert all(len(contents(log)) == 3 for log in logs)
    files.sync()
    files.close()
    assert files.open_files == 0


def test_deleting_leaves_nothing(tmp_path: Path) -> None:
    log = opened(tmp_path)
    filled(log, 3, 3, 3, 3, 3, 3)
    log.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_segment_behind_a_gap_is_dropped(tmp_path: Path) -> None:
    log = opened(tmp_path)
    filled(log, *(2,) * 20)
    files = sorted(tmp_path.glob("*/*.log"))
    files[1].unlink()
    again = opened(tmp_path)
    assert again.recovered.end_offset == int(files[1].stem)
    assert len(list(tmp_path.glob("*/*.log"))) == 1


def test_segments_below_the_start_are_deleted_but_for_the_last(tmp_path: Path) -> None:
    log = opened(tmp_path)
    filled(log, *[1] * 20)
    bases = segments(tmp_path)
    assert len(bases) > 3
    log.drop_below(bases[2] - 1)
    assert segments(tmp_path) == bases[1:]
    assert read_batch(log.read(bases[2] - 1, 20, 10)).base_offset == bases[2] - 1
    log.drop_below(20)
    assert segments(tmp_path) == bases[-1:]
    assert log.end_offset == 20


def test_a_log_is_recovered_from_its_start_on(tmp_path: Path) -> None:
    log = opened(tmp_path)
    made = filled(log, *[1] * 10, epoch=2) + filled(log, *[1] * 10, epoch=3)
    bases, start = segments(tmp_path), 8
    recovered = opened(tmp_path, start=start).recovered  # the node died before it deleted anything
    assert (recovered.start_offset, recovered.end_offset) == (start, 20)
    assert recovered.epochs == ((2, start), (3, 10))
    assert segments(tmp_path) == bases[bases.index(max(b for b in bases if b <= start)) :]
    again = opened(tmp_path, start=start)
    assert again.recovered == recovered
    assert again.read(start, 20, 1) == made[start].data


def test_a_log_that_lost_all_from_its_start_on_begins_anew(tmp_path: Path) -> None:
    filled(opened(tmp_path), *[1] * 10)
    log = opened(tmp_path, start=15)
    assert log.recovered == empty_log(15)
    assert segments(tmp_path) == []
    filled(log, 1)
    assert segments(tmp_path) == [15]
    assert opened(tmp_path, start=15).recovered.end_offset == 16
    # Without its start nothing says that what is missing was deleted.
    assert opened(tmp_path).recovered == NO_LOG


def test_a_log_that_begins_anew_and_one_cut_back_to_its_start(tmp_path: Path) -> None:
    log = opened(tmp_path)
    filled(log, *[1] * 10)
    log.restart(50)
    assert (segments(tmp_path), log.end_offset) == ([], 50)
    filled(log, 2)
    log.truncate(50)
    assert log.end_offset == 50
    filled(log, 3)
    assert (segments(tmp_path), log.end_offset) == ([50], 53)


def test_times_are_looked_for_from_the_start_on(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(placed(batch(3, times=(30, 10, 20)), 0, 0))
    log.append(placed(batch(1, times=(15,)), 3, 0))
    assert log.find_time(25, 0, 4) == (0, 30)
    assert log.find_time(25, 1, 4) is None
    assert log.find_time(12, 1, 4) == (2, 20)
    assert log.find_time(12, 3, 4) == (3, 15)
    assert log.latest_time(0, 4) == (0, 30)
    assert log.latest_time(3, 4) == (3, 15)


def test_the_checkpoint_of_high_watermarks(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, HIGH_WATERMARKS)
    assert checkpoint.load() == {}
    offsets = {(TOPIC, 3): 17, (uuid.UUID(int=5), 0): 1}
    checkpoint.save(offsets)
    assert Checkpoint(tmp_path, HIGH_WATERMARKS).load() == offsets
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\nx y z\n")
    with pytest.raises(StorageError):
        checkpoint.load()


def test_the_mark_of_a_clean_shutdown_is_good_once(tmp_path: Path) -> None:
    mark = CleanShutdown(tmp_path)
    assert not mark.take()
    mark.put()
    assert mark.take()
    assert not mark.take()


def test_kill_9_in_the_middle_of_appends_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    """What was handed to the operating system is there after kill -9, in its order."""
    program = textwrap.dedent(
        f"""
        from pathlib import Path
        from tests.nodes.kraft.storage.test_partition_storage import filled, opened
        log = opened(Path({str(tmp_path)!r}), segment_bytes=5000)
        while True:
            filled(log, 3)
            print(log.end_offset, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    reported = 0
    while reported < 900:
        reported = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split("\n")[:-1]
    process.wait()
    reported = max([reported, *map(int, rest)])
    log = opened(tmp_path, segment_bytes=5000)
    assert log.end_offset >= reported
    assert len(contents(log)) == log.end_offset // 3
