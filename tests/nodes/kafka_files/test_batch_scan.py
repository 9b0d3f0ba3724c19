"""Record batches of files that may hold anything."""

import struct
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest
from batch_bytes import CODECS, HEADER_BYTES, Given, by_kio, compressed, resealed, with_payload
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.kafka_files.batches import BATCHES, Batches, scan
from nodes.kafka_files.records import RECORDS, records
from nodes.kraft.raft.messages import Batch
from nodes.kraft.wire.batches import encode_batch
from tests.cases import cases

TIMES = st.integers(0, 4_000_000_000_000).filter(lambda ms: int(ms / 1000 * 1000) == ms)
"""kio goes by a float of seconds, which loses a millisecond of some."""
SOME = st.one_of(st.none(), st.binary(max_size=200))


@st.composite
def logs(draw: Any) -> list[tuple[bytes, list[Given], dict[str, Any]]]:
    """Batches one after the other: their bytes, their records, and what their headers say."""
    made, offset, epoch = [], draw(st.integers(0, 2**60)), 0
    for _ in range(draw(st.integers(1, 4))):
        headers = st.lists(st.tuples(st.binary(max_size=5), SOME), max_size=2).map(tuple)
        given = []
        for _ in range(draw(st.integers(1, 4))):
            given.append(Given(offset, draw(TIMES), draw(SOME), draw(SOME), draw(headers)))
            offset += draw(st.integers(1, 3))  # of a compacted log
        epoch += draw(st.integers(0, 2))
        producer = draw(st.tuples(st.integers(-1, 2**40), st.integers(-1, 9), st.integers(-1, 9)))
        transactional, control = draw(st.booleans()), draw(st.booleans())
        codec = draw(st.sampled_from(CODECS))
        flags = 0x10 * transactional + 0x20 * control
        data = compressed(by_kio(*given, epoch=epoch, producer=producer, flags=flags), codec)
        reported = {
            "base_offset": given[0].offset,
            "end_offset": given[-1].offset + 1,
            "leader_epoch": epoch,
            "control": control,
            "transactional": transactional,
            "compression": codec,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "base_sequence": producer[2],
            "records": len(given),
            "size": len(data),
        }
        made.append((data, given, reported))
    return made


@settings(max_examples=cases(60), deadline=None)
@given(logs())
def test_what_others_write_is_read(log: list[tuple[bytes, list[Given], dict[str, Any]]]) -> None:
    found = scan(b"".join(data for data, _, _ in log))
    assert found.stop is None and found.table.schema == BATCHES
    rows = found.table.to_pylist()
    assert [{name: row[name] for name in log[0][2]} for row in rows] == [
        reported for *_, reported in log
    ]
    ends = list(accumulate(len(data) for data, _, _ in log))
    assert [row["position"] for row in rows] == [0, *ends[:-1]]
    assert all(row["crc"] == row["crc_computed"] for row in rows)
    assert read(found) == [each for _, given, _ in log for each in given]


def read(found: Batches) -> list[Given]:
    reported = records(found)
    assert reported.table.schema == RECORDS and not reported.unreadable
    return [
        Given(
            row["offset"],
            row["timestamp_ms"],
            row["key"],
            row["value"],
            tuple((each["key"], each["value"]) for each in row["headers"]),
        )
        for row in reported.table.to_pylist()
    ]


@settings(deadline=None)
@given(
    st.integers(0, 2**50),
    st.integers(0, 2**31 - 2),
    st.lists(st.binary(max_size=100), min_size=1, max_size=20),
    st.booleans(),
)
def test_what_our_node_writes_is_read(
    base: int, epoch: int, values: list[bytes], control: bool
) -> None:
    data = encode_batch(Batch(base, epoch, tuple(values), control), timestamp_ms=1234)
    found = scan(data)
    (row,) = found.table.to_pylist()
    assert (row["base_offset"], row["leader_epoch"], row["control"]) == (base, epoch, control)
    assert [each.value for each in read(found)] == values
    assert {each.timestamp_ms for each in read(found)} == {1234}


# --- what is cut short, damaged or a lie --------------------------------------------------


def small_log() -> list[bytes]:
    return [
        by_kio(Given(5, key=b"k", value=b"one", headers=((b"h", b"x"),)), Given(6), epoch=1),
        compressed(by_kio(Given(7, value=b"two" * 9), epoch=1, producer=(9, 0, 0)), "gzip"),
        by_kio(Given(8, value=None), epoch=2, flags=0x20),
    ]


def assert_first(found: Batches, number: int, whole: pa.Table) -> None:
    """What is read are the first so many batches of three, each as it was written."""
    said = records(found)
    assert len(found.sound) == number and not said.unreadable
    assert said.table == whole.slice(0, (0, 2, 3, 4)[number])


def test_log_cut_at_any_byte_is_read_up_to_the_last_whole_batch() -> None:
    log = small_log()
    data = b"".join(log)
    whole = records(scan(data)).table
    ends = [0, *accumulate(map(len, log))]
    for size in range(len(data) + 1):
        found = scan(data[:size])
        assert_first(found, sum(0 < end <= size for end in ends), whole)
        if size in ends:
            assert found.stop is None
        else:
            assert found.stop is not None and found.stop.why == "torn"
            assert found.stop.position == max(end for end in ends if end <= size)


def test_no_bit_can_be_flipped_unseen_but_those_that_no_checksum_covers() -> None:
    log = small_log()
    data = b"".join(log)
    whole = records(scan(data)).table
    ends = [0, *accumulate(map(len, log))]
    for bit in range(8 * len(data)):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        found = scan(bytes(broken))
        batch = max(number for number, end in enumerate(ends) if end <= bit // 8)
        at = bit // 8 - ends[batch]
        if at < 8 or 12 <= at < 16:  # base offset, leader epoch
            records(found)
        else:
            assert found.stop is not None and found.stop.position == ends[batch], (batch, at)
            assert_first(found, batch, whole)


def test_batch_with_a_wrong_checksum_is_shown_and_not_believed() -> None:
    first, second, third = small_log()
    broken = second[:-1] + bytes([second[-1] ^ 1])
    found = scan(first + broken + third)
    assert len(found.table) == 2 and len(found.sound) == 1
    last = found.table.to_pylist()[-1]
    assert last["crc"] != last["crc_computed"]
    assert found.stop is not None and found.stop.why == "damaged"
    assert f"{last['crc']:#010x}" in found.stop.detail
    assert str(found.stop).startswith(f"damaged at byte {len(first)}: CRC-32C")


def headed(**fields: int) -> bytes:
    """A batch that says so in its header, under a right checksum."""
    where = {
        "base_offset": (0, ">q"),
        "epoch": (12, ">i"),
        "delta": (23, ">i"),
        "count": (57, ">i"),
    }
    data = bytearray(by_kio(Given(10), epoch=3))
    for name, value in fields.items():
        struct.pack_into(where[name][1], data, where[name][0], value)
    return resealed(bytes(data))


@pytest.mark.parametrize(
    "fields",
    [
        {"base_offset": -1},
        {"base_offset": 9},
        {"epoch": 2},
        {"base_offset": 2**63 - 1},
        {"base_offset": 2**63 - 2, "delta": 2},
        {"base_offset": 11, "delta": -1},
        {"base_offset": 11, "count": -1},
    ],
)
def test_batch_that_does_not_follow_ends_the_log(fields: dict[str, int]) -> None:
    first = by_kio(Given(9), Given(10), epoch=3)
    found = scan(first + headed(**({"base_offset": 11} | fields)) + by_kio(Given(12), epoch=3))
    assert found.table["base_offset"].to_pylist() == [9]
    assert found.stop is not None and found.stop.why == "out of order"
    assert found.stop.position == len(first)


def test_batch_below_where_its_file_begins_ends_the_log() -> None:
    data = by_kio(Given(9))
    assert scan(data, 9).stop is None
    found = scan(data, 10)
    assert len(found.table) == 0 and found.stop is not None
    assert "the file begins at 10" in found.stop.detail


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", None),
        (b"\0" * 30, "torn"),
        (b"\0" * 100, "damaged"),
        (b"\xff" * 100, "damaged"),
        (by_kio(Given(0))[:16] + b"\x01" + by_kio(Given(0))[17:], "damaged"),  # magic 1
        (struct.pack(">qiib", 0, 2**31 - 1, 0, 2) + b"\0" * 50, "torn"),
        (struct.pack(">qiib", 0, -(2**31), 0, 2) + b"\0" * 50, "damaged"),
        (struct.pack(">qiib", 0, 48, 0, 2) + b"\0" * 50, "damaged"),
    ],
)
def test_bytes_that_are_no_batch(data: bytes, why: str | None) -> None:
    found = scan(data)
    assert len(found.table) == 0 and len(records(found).table) == 0
    assert (found.stop.why if found.stop else None) == why


@settings(max_examples=cases(100), deadline=None)
@given(st.binary(max_size=300), st.integers(0, 7), st.integers(0, 5))
def test_nothing_raises_for_what_is_inside_a_batch(payload: bytes, codec: int, count: int) -> None:
    batch = bytearray(with_payload(by_kio(Given(0), Given(5)), payload, codec))
    struct.pack_into(">i", batch, 57, count)
    found = scan(resealed(bytes(batch)))
    reported = records(found)
    assert len(found.sound) == 1
    assert len(reported.table) == (0 if reported.unreadable else count)


@settings(max_examples=cases(100), deadline=None)
@given(st.binary(max_size=400))
def test_nothing_raises_for_any_bytes(data: bytes) -> None:
    records(scan(data))


# --- inside a batch -----------------------------------------------------------------------


def unreadable(payload: bytes, flags: int = 0, given: tuple[Given, ...] = (Given(0),)) -> str:
    found = records(scan(with_payload(by_kio(*given), payload, flags)))
    assert len(found.table) == 0
    (stop,) = found.unreadable
    assert stop.why == "unreadable"
    return stop.detail


def test_other_batches_are_read_beside_one_that_is_unreadable() -> None:
    odd = with_payload(by_kio(Given(1)), b"\x02")
    data = by_kio(Given(0, value=b"a")) + odd + by_kio(Given(2, value=b"b"))
    found = records(scan(data))
    assert found.table["value"].to_pylist() == [b"a", b"b"]
    assert [each.position for each in found.unreadable] == [len(by_kio(Given(0, value=b"a")))]


def test_records_that_are_not_what_the_header_says() -> None:
    payload = by_kio(Given(0))[HEADER_BYTES:]
    assert "after the last record" in unreadable(payload + b"\0")
    assert "are left" in unreadable(payload[:-2])
    later = by_kio(Given(0), Given(9))[HEADER_BYTES:]
    assert "offset 9" in unreadable(later, given=(Given(0), Given(5)))
    (row,) = scan(compressed(by_kio(Given(0)), "gzip")).table.to_pylist()
    assert row["compression"] == "gzip"
    for codec, name in enumerate(CODECS):
        if codec:
            assert name in unreadable(b"not compressed at all", codec)
    assert "unknown" in unreadable(payload, 7)


def test_bare_snappy_block_is_read_as_librdkafka_writes_it() -> None:
    batch = by_kio(Given(0, value=b"x" * 500))
    block = pa.Codec("snappy").compress(batch[HEADER_BYTES:], asbytes=True)
    assert [each.value for each in read(scan(with_payload(batch, block, 2)))] == [b"x" * 500]


def test_what_would_fill_the_memory_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.kafka_files.compression.MAX_BYTES", 1000)
    for codec in CODECS[1:]:
        small, large = (
            compressed(by_kio(Given(0, value=b"x" * size)), codec) for size in (900, 1100)
        )
        assert len(read(scan(small))) == 1
        (stop,) = records(scan(large)).unreadable
        assert "more than" in stop.detail


def test_leaders_time_is_that_of_the_batch() -> None:
    batch = by_kio(Given(0, 1000), Given(1, 3000), Given(2, 2000), flags=0x08)
    assert [each.timestamp_ms for each in read(scan(batch))] == [3000, 3000, 3000]
