"""PartitionRecord and IsrChangeRecord as bytes, written by hand.

A cluster's records are nearly all of these two types, and a broker's departure makes ten
thousands of them in one step. kio, which the tests hold this against, takes several times as long.
"""

import struct
from functools import lru_cache
from typing import Final

from nodes.kraft.wire.records import IsrChangeRecord, PartitionRecord
from nodes.kraft.wire.structure import write_unsigned_varint

_LEADER: Final = struct.Struct(">ii")
_NO_TAGS: Final = b"\x00"
_EPOCH_TAG: Final = b"\x01\x00\x04"  # one tagged field, number 0, of four bytes


def encode_partition(record: PartitionRecord | IsrChangeRecord, *, tagged: bool) -> bytes:
    """The record's body. `tagged`: of version 0, which has the partition epoch in a tagged field;
    in version 1 it is an ordinary one. Raises
    `OverflowError` or `struct.error` where a number does not fit."""
    topic_id = record.topic_id.bytes if record.topic_id is not None else bytes(16)
    if isinstance(record, PartitionRecord):
        members = (
            _numbers(tuple(record.replicas))
            + _numbers(tuple(record.isr))
            + _numbers(tuple(record.removing_replicas))
            + _numbers(tuple(record.adding_replicas))
        )
    else:
        members = _numbers(tuple(record.isr))
    leader = _LEADER.pack(record.leader, record.leader_epoch)
    epoch = _number(record.partition_epoch)
    if not tagged:
        epoch += _NO_TAGS
    elif record.partition_epoch:
        epoch = _EPOCH_TAG + epoch
    else:
        epoch = _NO_TAGS
    return b"".join((_number(record.partition_id), topic_id, members, leader, epoch))


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


@lru_cache(maxsize=10_000)  # of many partitions few differ in them
def _numbers(values: tuple[int, ...]) -> bytes:
    return write_unsigned_varint(len(values) + 1) + struct.pack(f">{len(values)}i", *values)
