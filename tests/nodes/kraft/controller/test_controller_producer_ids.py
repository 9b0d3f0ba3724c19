"""AllocateProducerIds: blocks of ids that no failover hands out twice."""

import itertools

import pytest
from controller_harness import Harness
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.errors import ErrorCode

from nodes.kraft.controller import core, steps
from nodes.kraft.controller.producer_ids import BLOCK_SIZE
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.image import EMPTY, StaleRecord, apply
from nodes.kraft.metadata.records import decode_record, encode_record
from nodes.kraft.wire.records import ProducerIdsRecord


def allocate(harness: Harness, broker_id: int, epoch: int):
    return harness.ask(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))


def block(answer) -> range:
    assert answer.error_code == ErrorCode.none
    assert answer.producer_id_len == BLOCK_SIZE
    return range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)


def test_blocks_of_1000_follow_each_other():
    harness = Harness().claim()
    epochs = harness.activate(4, 5)
    first = block(allocate(harness, 4, epochs[4]))
    second = block(allocate(harness, 5, epochs[5]))
    assert second.start == first.stop
    assert harness.records()[-1] == ProducerIdsRecord(
        broker_id=5, broker_epoch=epochs[5], next_producer_id=second.stop
    )
    assert harness.committed.next_producer_id == second.stop


def test_the_answer_waits_for_the_record():
    """D.19: a block is told when it is committed, not before."""
    harness = Harness().claim()
    epochs = harness.activate(4)
    harness.settle = False
    assert allocate(harness, 4, epochs[4]) is None
    harness.commit()
    assert block(harness.answers[harness.token])


@pytest.mark.parametrize("broker_id, ahead", [(4, -1), (4, 1), (9, 0)])
def test_stale_broker_epochs_get_nothing(broker_id, ahead):
    """A.5.14: 77 for a broker's earlier life, and for a broker that is not registered."""
    harness = Harness().claim()
    epochs = harness.activate(4)
    end = len(harness.log)
    answer = allocate(harness, broker_id, epochs[4] + ahead)
    assert answer.error_code == ErrorCode.stale_broker_epoch
    assert len(harness.log) == end


def test_a_controller_that_does_not_lead_refuses():
    harness = Harness()
    assert allocate(harness, 4, 0).error_code == ErrorCode.not_controller


def test_a_deposed_controller_tells_no_block():
    """A.5.11: the record's fate is unknown, so the answer is 7 and no ids."""
    harness = Harness().claim()
    epochs = harness.activate(4)
    harness.settle = False
    allocate(harness, 4, epochs[4])
    harness.feed(steps.Renounce())
    assert harness.answers[harness.token].error_code == ErrorCode.request_timed_out


@given(st.lists(st.sampled_from(["allocate", "fail over", "truncate"]), max_size=12))
def test_no_block_is_taken_twice(plan):
    """D.19: not even a block whose record a failover truncated."""
    harness = Harness().claim()
    epochs = harness.activate(4)
    harness.settle = False
    taken: list[int] = []

    def sight(start: int) -> None:
        for data in harness.log[start:]:
            record = decode_record(data)
            if isinstance(record, ProducerIdsRecord):
                taken.append(int(record.next_producer_id))

    for action in plan:
        start = len(harness.log)
        if action == "allocate":
            allocate(harness, 4, epochs[4])
        else:
            if action == "fail over":
                harness.commit()
            harness.fail_over()
        sight(start)
    assert len(set(taken)) == len(taken)
    assert all(b - a >= BLOCK_SIZE for a, b in itertools.pairwise(taken))


def test_the_image_takes_rising_ids_only():
    record = ProducerIdsRecord(broker_id=4, broker_epoch=1, next_producer_id=2000)
    assert decode_record(encode_record(record)) == record
    image = apply(EMPTY, record, 5)
    assert digest(image) != digest(EMPTY)
    with pytest.raises(StaleRecord, match="2000 after 2000"):
        apply(image, record, 6)


def test_an_inactive_core_keeps_its_state():
    state = core.initial(Harness().state.config)
    after, _ = core.step(
        state,
        steps.ControllerRequest(1, AllocateProducerIdsRequest(broker_id=4, broker_epoch=0)),
        0,
    )
    assert after == state
