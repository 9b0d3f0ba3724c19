"""Idempotent producers: which batch comes next, and which one came before (KIP-98, KIP-360).

A leader remembers the last five batches of each producer id. Sequence numbers count records,
from 0 in each producer epoch, and wrap from 2^31-1 to 0.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.ids import Offset
from nodes.kraft.partition.batches import Batch

REMEMBERED: Final = 5
_WRAP: Final = 2**31


@dataclass(frozen=True, slots=True)
class Written:
    """A batch that is in the log."""

    first_sequence: int
    last_sequence: int
    base_offset: Offset
    end_offset: Offset


@dataclass(frozen=True, slots=True)
class Producer:
    """The newest epoch of a producer id, and its last batches in that epoch, oldest first."""

    epoch: int
    written: tuple[Written, ...]


Producers: TypeAlias = Map[int, Producer]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` not 0: refused. `written`: the batch is in the log already, there."""

    code: ErrorCode = ErrorCode.none
    written: Written | None = None


FRESH: Final = Verdict()


def check(producers: Producers, batch: Batch) -> Verdict:
    """Whether a producer's batch may be appended."""
    producer = producers.get(batch.producer_id)
    if batch.producer_id < 0 or producer is None:
        return FRESH  # nothing is known of it: any sequence will do (KIP-360)
    if batch.producer_epoch < producer.epoch:
        return Verdict(ErrorCode.invalid_producer_epoch)
    if batch.producer_epoch > producer.epoch:
        fresh = batch.base_sequence == 0
        return FRESH if fresh else Verdict(ErrorCode.out_of_order_sequence_number)
    first, last = batch.base_sequence, last_sequence(batch)
    for written in producer.written:
        if (written.first_sequence, written.last_sequence) == (first, last):
            return Verdict(written=written)
    newest = producer.written[-1].last_sequence if producer.written else -1
    if first == following(newest):
        return FRESH
    if _behind(last, newest):
        return Verdict(ErrorCode.duplicate_sequence_number)
    return Verdict(ErrorCode.out_of_order_sequence_number)


def remember(producers: Producers, batch: Batch) -> Producers:
    """The producers after `batch`, which is in the log and has its place there."""
    if batch.producer_id < 0 or batch.base_sequence < 0:
        return producers
    known = producers.get(batch.producer_id)
    before = known.written if known is not None and known.epoch == batch.producer_epoch else ()
    written = Written(
        batch.base_sequence, last_sequence(batch), batch.base_offset, batch.end_offset
    )
    producer = Producer(batch.producer_epoch, (*before[1 - REMEMBERED :], written))
    return producers.set(batch.producer_id, producer)


def last_sequence(batch: Batch) -> int:
    """The sequence number of its last record."""
    return (batch.base_sequence + batch.count - 1) % _WRAP


def following(sequence: int) -> int:
    """The sequence number after `sequence`."""
    return (sequence + 1) % _WRAP


def _behind(sequence: int, newest: int) -> bool:
    """Whether `sequence` is at or before `newest`, by at most half of the circle."""
    return (newest - sequence) % _WRAP < _WRAP // 2
