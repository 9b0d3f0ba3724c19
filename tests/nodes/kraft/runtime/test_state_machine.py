"""What is committed is applied once, in order, whoever made it, all at once or bit by bit."""

import math
import time
import uuid
from typing import Any

import pytest
from kio.static.primitive import i32

from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.metadata.change import Change
from nodes.kraft.metadata.image import EMPTY, Image, apply_all
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.raft.messages import Batch
from nodes.kraft.runtime.state_machine import StateMachine
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.wire.records import PartitionRecord, RemoveTopicRecord, TopicRecord

EPOCH = 3


class Reports:
    """A state machine whose events and notes are kept."""

    def __init__(self) -> None:
        self.applied: list[tuple[int, str]] = []
        self.notes: list[tuple[int, Any, Image]] = []
        self.machine = StateMachine(self._emit, serves=False)
        self.machine.note = lambda *each: self.notes.append(each)

    def _emit(self, type: str, **fields: Any) -> None:
        if type == "apply":
            self.applied.append((fields["offset"], fields["kind"]))


def topic(image: Image, base_offset: int, name: str, partitions: int = 3) -> RecordBatchBuilder:
    """A record batch that creates a topic."""
    builder = RecordBatchBuilder(image, base_offset)
    topic_id = uuid.uuid5(uuid.NAMESPACE_DNS, name)
    builder.add(TopicRecord(name=name, topic_id=topic_id, deleting=False))
    one = (i32(1),)
    builder.add_all(
        [
            PartitionRecord(
                partition_id=i32(number),
                topic_id=topic_id,
                replicas=one,
                isr=one,
                leader=one[0],
                leader_epoch=i32(0),
            )
            for number in range(partitions)
        ]
    )
    return builder


def batch_of(builder: RecordBatchBuilder) -> Batch:
    return Batch(builder.base_offset, EPOCH, builder.encoded())


def test_who_made_a_batch_and_who_reads_it_come_to_the_same() -> None:
    maker, reader = Reports(), Reports()
    image, end = EMPTY, 0
    for name in ("a", "b", "c"):
        builder = topic(image, end, name)
        image, end = builder.image, builder.next_offset
        maker.machine.append(batch_of(builder), builder.change())
        reader.machine.append(batch_of(builder))
    for reported in (maker, reader):
        assert reported.machine.advance(end)
    assert maker.machine.image == reader.machine.image == image
    assert maker.machine.image is image, "what it made itself it takes as it made it"
    assert maker.applied == reader.applied and len(maker.applied) == end
    assert [each[:2] for each in maker.notes] == [each[:2] for each in reader.notes]


def test_a_change_of_another_state_than_the_committed_one_counts_for_nothing() -> None:
    reported = Reports()
    builder = topic(EMPTY, 0, "a")
    elsewhere = topic(EMPTY, 0, "elsewhere")
    reported.machine.append(batch_of(builder))
    second = topic(builder.image, builder.next_offset, "b")
    made = Change(elsewhere.image, tuple(second.records), elsewhere.image)
    reported.machine.append(batch_of(second), made)
    reported.machine.advance(second.next_offset)
    assert reported.machine.image == second.image


def test_in_slices_each_of_whole_batches() -> None:
    reported = Reports()
    image, end, ends = EMPTY, 0, []
    for name in ("a", "b", "c"):
        builder = topic(image, end, name)
        image, end = builder.image, builder.next_offset
        ends.append(end)
        reported.machine.append(batch_of(builder))
    for expected in ends:
        assert reported.machine.advance(end, time.monotonic())
        assert reported.machine.applied == expected
    assert reported.machine.image == image
    assert [offset for offset, _ in reported.applied] == list(range(end))


def test_a_high_watermark_inside_of_a_batch() -> None:
    reported = Reports()
    builder = topic(EMPTY, 0, "a")
    reported.machine.append(batch_of(builder), builder.change())
    reported.machine.advance(2, math.inf)
    assert reported.machine.applied == 2
    assert reported.machine.image == apply_all(EMPTY, builder.records[:2], 0)
    reported.machine.advance(4)
    assert reported.machine.image == builder.image


def test_a_record_that_does_not_fit_is_named() -> None:
    reported = Reports()
    builder = topic(EMPTY, 0, "a")
    unknown = RemoveTopicRecord(topic_id=uuid.uuid4())
    values = (*builder.encoded(), encode_record(unknown))
    reported.machine.append(Batch(0, EPOCH, values))
    with pytest.raises(StorageError, match=f"committed record at {builder.next_offset}:"):
        reported.machine.advance(len(values))
