"""The metadata log on disk: reads, truncation, recovery of torn tails, the order of syncs."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kraft.raft.messages import Batch
from nodes.kraft.storage import segment
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.wire.batches import decode_batches, encode_batch
from tests.cases import cases

FILE = "00000000000000000000.log"
BATCHES = (
    Batch(0, 1, (b"leader",), control=True),
    Batch(1, 1, (b"a", b"b", b"c")),
    Batch(4, 3, (b"d",)),
    Batch(5, 3, (b"e", b"f")),
)


def filled(directory: Path, emit: Callable[..., None] | None = None) -> MetadataLog:
    log = MetadataLog(directory, emit) if emit else MetadataLog(directory)
    for batch in BATCHES:
        log.append(batch)
    return log


def contents(log: MetadataLog) -> list[Batch]:
    return decode_batches(log.read(0, log.end_offset))


def test_reopened_log_has_everything(tmp_path: Path) -> None:
    log = filled(tmp_path / "log")
    assert log.index.flushed == 0, "nothing is durable before a flush"
    assert log.flush() == 7
    log.close()
    log = MetadataLog(tmp_path / "log")
    assert contents(log) == list(BATCHES)
    assert log.index.runs == ((1, 0), (3, 4))
    assert (log.start_offset, log.end_offset, log.index.flushed) == (0, 7, 7)
    assert log.dropped_bytes == 0


def test_append_refuses_gaps_and_older_epochs(tmp_path: Path) -> None:
    log = filled(tmp_path / "log")
    for batch in (Batch(8, 3, (b"x",)), Batch(7, 2, (b"x",)), Batch(6, 3, (b"x",))):
        with pytest.raises(ValueError, match="does not follow"):
            log.append(batch)
    assert contents(log) == list(BATCHES)


# --- reads --------------------------------------------------------------------------------


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(
    ("first", "limit", "max_bytes", "max_records", "expected"),
    [
        (0, 7, 10**6, None, [0, 1, 4, 5]),
        (1, 7, 10**6, None, [1, 4, 5]),
        (2, 7, 10**6, None, [1, 4, 5]),  # the batch that holds the offset
        (1, 5, 10**6, None, [1, 4]),
        (1, 3, 10**6, None, []),  # the limit is inside the batch
        (7, 7, 10**6, None, []),
        (0, 7, 10**6, 1, [0]),
        (1, 7, 10**6, 1, [1]),  # never split
        (0, 7, 10**6, 5, [0, 1, 4]),
        (0, 7, 1, None, [0]),
    ],
)
def test_reads_give_whole_batches(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cached: bool,
    first: int,
    limit: int,
    max_bytes: int,
    max_records: int | None,
    expected: list[int],
) -> None:
    if not cached:
        monkeypatch.setattr(segment, "_CACHE_BYTES", 1)
    log = filled(tmp_path / "log")
    read = decode_batches(log.read(first, limit, max_bytes, max_records))
    assert [batch.base_offset for batch in read] == expected


# --- truncation ---------------------------------------------------------------------------


@pytest.mark.parametrize("end", [0, 1, 4, 5, 7, 9])
def test_truncation_is_durable_and_appends_go_on(tmp_path: Path, end: int) -> None:
    log = filled(tmp_path / "log")
    log.truncate(end)
    kept = [batch for batch in BATCHES if batch.end_offset <= end]
    assert contents(log) == kept
    log.append(more := Batch(log.end_offset, 9, (b"new",)))
    log.close()
    assert contents(MetadataLog(tmp_path / "log")) == [*kept, more]


def test_truncation_inside_a_batch_is_refused(tmp_path: Path) -> None:
    log = filled(tmp_path / "log")
    with pytest.raises(ValueError, match="inside a batch"):
        log.truncate(2)
    assert contents(log) == list(BATCHES)


# --- recovery -----------------------------------------------------------------------------


@settings(max_examples=cases(60), deadline=None)
@given(kept=st.integers(0, 400))
def test_torn_tail_is_dropped_at_a_batch_boundary(
    tmp_path_factory: pytest.TempPathFactory, kept: int
) -> None:
    directory = tmp_path_factory.mktemp("torn") / "log"
    filled(directory).close()
    data = (directory / FILE).read_bytes()
    kept = min(kept, len(data))
    (directory / FILE).write_bytes(data[:kept])
    log = MetadataLog(directory)
    whole, size = [], 0
    for batch in BATCHES:
        size += len(encode_batch(batch, 1_700_000_000_000))
        if size <= kept:
            whole.append(batch)
    assert contents(log) == whole
    assert log.dropped_bytes == kept - (directory / FILE).stat().st_size
    log.append(Batch(log.end_offset, 9, (b"new",)))
    log.close()
    assert contents(MetadataLog(directory))[:-1] == whole


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff" * 100, b"x"])
def test_garbage_after_the_last_batch_is_dropped(tmp_path: Path, tail: bytes) -> None:
    filled(tmp_path / "log").close()
    with (tmp_path / "log" / FILE).open("ab") as file:
        file.write(tail)
    log = MetadataLog(tmp_path / "log")
    assert contents(log) == list(BATCHES)
    assert log.dropped_bytes == len(tail)


def test_damaged_batch_ends_the_log(tmp_path: Path) -> None:
    filled(tmp_path / "log").close()
    path = tmp_path / "log" / FILE
    data = bytearray(path.read_bytes())
    data[len(encode_batch(BATCHES[0], 1_700_000_000_000)) + 70] ^= 1
    path.write_bytes(data)
    assert contents(MetadataLog(tmp_path / "log")) == list(BATCHES[:1])


def test_batch_out_of_place_ends_the_log(tmp_path: Path) -> None:
    filled(tmp_path / "log").close()
    with (tmp_path / "log" / FILE).open("ab") as file:
        file.write(encode_batch(Batch(9, 3, (b"gap",)), 1000))
    assert contents(MetadataLog(tmp_path / "log")) == list(BATCHES)


# --- durability ---------------------------------------------------------------------------


class Calls:
    """The order of the system calls that make things durable."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        for name in ("fsync", "ftruncate", "write"):
            monkeypatch.setattr(os, name, self._recording(name, getattr(os, name)))

    def _recording(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.names.append(name)
            return real(*arguments)

        return call


def test_truncate_syncs_and_append_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path / "log")
    calls = Calls(monkeypatch)
    log.append(Batch(7, 4, (b"x",)))
    assert calls.names == ["write"]
    log.truncate(5)
    assert calls.names == ["write", "ftruncate", "fsync"]
    log.flush()
    assert calls.names[3:] == ["fsync"]


def test_recovery_makes_what_it_found_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "log").close()
    with (tmp_path / "log" / FILE).open("ab") as file:
        file.write(b"torn")
    calls = Calls(monkeypatch)
    MetadataLog(tmp_path / "log")
    assert calls.names.index("ftruncate") < calls.names.index("fsync", 1)


def slow_sync(log: MetadataLog, monkeypatch: pytest.MonkeyPatch, during: Callable[[], None]) -> int:
    """Flush in another thread, and call `during` while the sync is under way."""
    syncing, go_on, results = threading.Event(), threading.Event(), list[int]()

    def sync() -> None:
        syncing.set()
        assert go_on.wait(60)

    monkeypatch.setattr(log._last, "sync", sync)
    thread = threading.Thread(target=lambda: results.append(log.flush()))
    thread.start()
    assert syncing.wait(60)
    during()
    go_on.set()
    thread.join(60)
    return results[0]


def test_flush_vouches_only_for_what_came_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path / "log")
    assert slow_sync(log, monkeypatch, lambda: log.append(Batch(7, 4, (b"x",)))) == 7


def test_flush_does_not_vouch_for_what_was_cut_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path / "log")

    def rewrite() -> None:
        log.truncate(4)
        log.append(Batch(4, 8, (b"x", b"y", b"z")))

    assert slow_sync(log, monkeypatch, rewrite) == 4


def test_flush_that_begins_amid_a_truncation_does_not_vouch_for_what_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path / "log")
    vouched: list[int] = []
    healthy = log._last.truncate

    def truncate(end_offset: int) -> None:
        thread = threading.Thread(target=lambda: vouched.append(log.flush()))
        thread.start()
        thread.join(60)
        healthy(end_offset)

    monkeypatch.setattr(log._last, "truncate", truncate)
    log.truncate(4)
    assert vouched == [4]


# --- events -------------------------------------------------------------------------------


def test_storage_tells_what_it_did(tmp_path: Path) -> None:
    events: list[tuple[str, dict[str, Any]]] = []
    log = MetadataLog(tmp_path / "log", lambda type, **fields: events.append((type, fields)))
    log.append(BATCHES[0], leader=True)
    log.append(BATCHES[1])
    log.flush()
    log.truncate(1)
    log.truncate(1)
    assert events == [
        (
            "append",
            {
                "base_offset": 0,
                "end_offset": 1,
                "epoch": 1,
                "control": True,
                "crcs": [crc32c(b"leader")],
                "leader": True,
            },
        ),
        (
            "append",
            {
                "base_offset": 1,
                "end_offset": 4,
                "epoch": 1,
                "control": False,
                "crcs": [crc32c(b"a"), crc32c(b"b"), crc32c(b"c")],
                "leader": False,
            },
        ),
        ("flush", {"end_offset": 4}),
        ("truncate", {"end_offset": 1}),
    ]
