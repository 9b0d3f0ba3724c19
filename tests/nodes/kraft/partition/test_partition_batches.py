"""Record batches: what is taken from a producer, and what a leader makes of it."""

import struct
import time
from dataclasses import replace

import pytest
from kio.records.readers import read_batch as kio_read_batch
from kio.schema.errors import ErrorCode

from nodes.kraft.partition.batches import (
    HEADER_BYTES,
    InvalidBatch,
    offset_at,
    placed,
    produced,
    read_batch,
    replicated,
)
from tests.nodes.kraft.partition.batch_making import batch, encoded, zigzag

MAX = 1_000_000


def refusal(data: bytes | None, max_bytes: int = MAX) -> ErrorCode:
    with pytest.raises(InvalidBatch) as caught:
        produced(data, max_bytes)
    return caught.value.code


def test_a_leader_sets_offset_and_epoch_outside_of_the_checksum() -> None:
    """B.9.7: nothing is computed anew, and an independent reader finds the batch whole."""
    stored = placed(produced(encoded(3), MAX), 17, 5)
    again = read_batch(stored.data)
    assert (again.base_offset, again.end_offset, again.epoch, again.crc) == (17, 20, 5, stored.crc)
    decoded, size = kio_read_batch(stored.data, 0)
    assert size == len(stored.data)
    assert [each.offset for each in decoded.records] == [17, 18, 19]
    assert decoded.partition_leader_epoch == 5


def test_what_is_no_batch_is_refused_by_its_error() -> None:
    good = encoded(2)
    assert refusal(None) == refusal(b"") == ErrorCode.invalid_record
    assert refusal(good[:40]) == ErrorCode.corrupt_message
    assert refusal(good[:-1]) == ErrorCode.corrupt_message
    damaged = bytearray(good)
    damaged[-1] ^= 1
    assert refusal(bytes(damaged)) == ErrorCode.corrupt_message
    assert refusal(good, len(good) - 1) == ErrorCode.message_too_large
    assert refusal(good + encoded()) == ErrorCode.invalid_record
    assert refusal(encoded(attributes=0x20)) == ErrorCode.invalid_record
    assert refusal(encoded(attributes=0x10)) == ErrorCode.invalid_record
    assert refusal(encoded(producer=(7, 0, -1))) == ErrorCode.invalid_record


@pytest.mark.parametrize("magic", [0, 1])
def test_older_message_formats_are_refused(magic: int) -> None:
    assert refusal(encoded(magic=magic)) == ErrorCode.unsupported_for_message_format
    short = struct.pack(">qiIbb", 0, 20, 0, magic, 0) + bytes(14)
    assert refusal(short) == ErrorCode.unsupported_for_message_format


def test_codecs_pass_through_untouched() -> None:
    data = encoded(2, attributes=4)  # zstd, says the header; nobody looks inside
    assert produced(data, MAX).data == data


def test_a_cut_tail_of_an_answer_is_left_out_and_damage_is_reported() -> None:
    first, second = encoded(2), encoded(1)
    assert [each.data for each in replicated(first + second[:-3])] == [first]
    damaged = bytearray(first + second)
    damaged[-1] ^= 1
    with pytest.raises(InvalidBatch):
        list(replicated(bytes(damaged)))


def test_the_first_record_at_a_time() -> None:
    stored = placed(batch(4, times=(10, 30, 20, 40)), 100, 0)
    assert offset_at(stored, 5) == (100, 10)
    assert offset_at(stored, 11) == (101, 30)
    assert offset_at(stored, 40) == (103, 40)
    assert offset_at(placed(batch(2, times=(10, 30), attributes=1), 7, 0), 30) == (7, 10)


@pytest.mark.parametrize("length", [-1, -2, 0])
def test_records_that_lead_nowhere_are_left_at_once(length: int) -> None:
    """A producer's checksum may be right over anything, and its header may promise a time that
    no record has."""
    stored = placed(batch(1, times=(10,)), 100, 0)
    data = stored.data[:HEADER_BYTES] + zigzag(length) + b"\0" * 20
    liar = replace(stored, max_timestamp_ms=50, data=data)
    assert offset_at(liar, 40) == (100, 10)


def test_a_number_without_an_end_is_not_read_to_its_end() -> None:
    stored = placed(batch(1, times=(10,)), 100, 0)
    liar = replace(stored, max_timestamp_ms=50, data=stored.data[:HEADER_BYTES] + b"\xff" * 10**6)
    began = time.process_time()  # which other processes do not lengthen
    assert offset_at(liar, 40) == (100, 10)
    assert time.process_time() - began < 1
