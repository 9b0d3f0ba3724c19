"""Sequence checks of idempotent producers (KIP-98)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.partition.batches import Batch, placed
from nodes.kraft.partition.producers import FRESH, Producers, check, remember
from tests.nodes.kraft.partition.batch_making import batch

NOTHING: Producers = Map()


def sent(sequence: int, count: int = 1, epoch: int = 0, producer: int = 7) -> Batch:
    return batch(count, producer=(producer, epoch, sequence))


def after(*batches: Batch) -> Producers:
    producers, end = NOTHING, 0
    for each in batches:
        assert check(producers, each) == FRESH
        stored = placed(each, end, 0)
        producers, end = remember(producers, stored), stored.end_offset
    return producers


def test_the_next_sequence_is_taken() -> None:
    assert check(after(sent(0, 3)), sent(3)) == FRESH
    assert check(after(sent(0, 3)), sent(4)).code == ErrorCode.out_of_order_sequence_number


def test_a_batch_that_is_there_is_answered_with_its_offset() -> None:
    """B.9.8: a retry after a lost answer appends nothing."""
    producers = after(*(sent(2 * number, 2) for number in range(7)))
    for number in range(2, 7):
        verdict = check(producers, sent(2 * number, 2))
        assert verdict.code == ErrorCode.none
        assert verdict.written is not None
        assert verdict.written.base_offset == 2 * number
    assert check(producers, sent(0, 2)).code == ErrorCode.duplicate_sequence_number
    assert check(producers, sent(12, 1)).code == ErrorCode.duplicate_sequence_number
    assert check(producers, sent(12, 4)).code == ErrorCode.out_of_order_sequence_number


def test_epochs_of_producers() -> None:
    producers = after(sent(0, 3, epoch=4))
    assert check(producers, sent(3, epoch=3)).code == ErrorCode.invalid_producer_epoch
    assert check(producers, sent(3, epoch=5)).code == ErrorCode.out_of_order_sequence_number
    assert check(producers, sent(0, epoch=5)) == FRESH
    bumped = remember(producers, placed(sent(0, epoch=5), 3, 0))
    assert check(bumped, sent(3, epoch=4)).code == ErrorCode.invalid_producer_epoch
    assert check(bumped, sent(1, epoch=5)) == FRESH


def test_an_unknown_producer_may_begin_anywhere() -> None:
    """KIP-360: its earlier batches may be gone."""
    assert check(NOTHING, sent(90)) == FRESH
    assert check(after(sent(0)), sent(90, producer=8)) == FRESH


def test_sequences_wrap() -> None:
    producers = after(sent(2**31 - 2, 2))
    assert check(producers, sent(0)) == FRESH
    wrapped = after(sent(2**31 - 2, 5))
    assert check(wrapped, sent(3)) == FRESH
    assert check(wrapped, sent(2**31 - 2, 5)).written is not None


def test_batches_without_idempotence_are_not_looked_at() -> None:
    assert check(NOTHING, batch(2)) == FRESH
    assert remember(NOTHING, batch(2)) == NOTHING


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=12),
    st.lists(st.integers(0, 14), max_size=40),
)
def test_whatever_is_sent_again_nothing_is_twice_or_in_the_wrong_place(
    sizes: list[int], order: list[int]
) -> None:
    """B.9.8: a producer's batches, sent in any order and any number of times, are in the log
    once each at most, in their order, without gaps."""
    firsts = [sum(sizes[:number]) for number in range(len(sizes))]
    producers, log = after(sent(0, sizes[0])), [0]
    end = sizes[0]
    for number in order:
        if number >= len(sizes):
            continue
        each = sent(firsts[number], sizes[number])
        verdict = check(producers, each)
        if verdict == FRESH:
            log.append(number)
            producers = remember(producers, placed(each, end, 0))
            end += sizes[number]
        elif verdict.written is not None:
            assert number in log
            assert verdict.written.base_offset == firsts[number]
        elif verdict.code == ErrorCode.duplicate_sequence_number:
            assert number in log
        else:
            assert number not in log
    assert log == list(range(len(log)))
