"""Which partitions the committed records touched, from the control loop to the data loop.

An image says what is, not what changed, and looking through all partitions of a cluster at each
commit would cost more than the changes do.
"""

from __future__ import annotations

import uuid
from collections import deque
from typing import Final, TypeAlias

from nodes.kraft.ids import PartitionIndex
from nodes.kraft.metadata.image import Image, PartitionKey
from nodes.kraft.runtime.state_machine import Applied
from nodes.kraft.wire import records as wire

MAX_KEPT: Final = 200_000

_Touched: TypeAlias = tuple[int, uuid.UUID, PartitionIndex]
"""(offset of the record, topic id, partition)."""


class Changes:
    """The control loop notes each record that it applies, in order; the data loop takes what
    there is below an offset. Neither waits for the other."""

    def __init__(self) -> None:
        self._end_offset = 0
        self._touched: deque[_Touched] = deque()
        self._gaps: deque[int] = deque()

    def note(self, offset: int, record: Applied, before: Image) -> None:
        """`record` at `offset` was applied to `before`."""
        if offset != self._end_offset or len(self._touched) > MAX_KEPT:
            self._gaps.append(offset)  # a snapshot lies between, or nobody takes
            self._touched.clear()
        self._end_offset = offset + 1
        match record:
            case wire.IsrChangeRecord() | wire.PartitionRecord() if record.topic_id is not None:
                self._touched.append((offset, record.topic_id, record.partition_id))
            case wire.ReassignmentRecord() if record.topic_id is not None:
                self._touched.append((offset, record.topic_id, record.partition_id))
            case wire.RemoveTopicRecord() if record.topic_id is not None:
                topic = before.topics.get(record.topic_id)
                for number in topic.indexes() if topic is not None else ():
                    self._touched.append((offset, record.topic_id, number))

    def take(self, end_offset: int) -> set[PartitionKey] | None:
        """What records below `end_offset` touched since the last call; None: any partition."""
        everything = self._end_offset < end_offset
        while self._gaps and self._gaps[0] < end_offset:
            self._gaps.popleft()
            everything = True
        found = set()
        try:
            while self._touched[0][0] < end_offset:
                _, topic_id, number = self._touched.popleft()
                found.add((topic_id, number))
        except IndexError:  # no more, or dropped meanwhile: there is a gap, then
            pass
        return None if everything else found
