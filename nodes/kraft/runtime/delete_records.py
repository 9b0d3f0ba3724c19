"""DeleteRecords (key 21, KIP-107): logs begin later, answered when they do on all that are in sync.

Kafka waits for every replica whose broker lives, in sync or not; here one that is not may not come
into the ISR before its log begins where the leader's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from nodes.kraft.group.config import INTERNAL_TOPICS
from nodes.kraft.ids import Offset, PartitionIndex
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition.answers import Fields, response
from nodes.kraft.partition.steps import Deleted
from nodes.kraft.runtime.partitions import Partitions, patience_ms
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire import api_keys

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import (
        DeleteRecordsPartition,
        DeleteRecordsRequest,
        DeleteRecordsTopic,
    )


class DeleteRecords(Service):
    """Serves administrators."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions

    def handlers(self) -> Mapping[int, Handler]:
        return dict((serves(api_keys.DELETE_RECORDS, self.serve),))

    def serve(self, context: RequestContext[DeleteRecordsRequest]) -> None:
        _Deleting(self._plane, self._partitions, context).begin()


class _Deleting:
    """One request under way: what each of its partitions answered so far."""

    def __init__(
        self, plane: Plane, partitions: Partitions, context: RequestContext[DeleteRecordsRequest]
    ) -> None:
        self._plane = plane
        self._partitions = partitions
        self._context = context
        self._answers: dict[tuple[str, PartitionIndex], Deleted] = {}
        self._left = 1  # the request itself, until all of its partitions were handed on

    def begin(self) -> None:
        request, image = self._context.request, self._plane.image()
        timeout_ms = patience_ms(request.timeout)
        for topic in request.topics:
            topic_id = image.topic_ids.get(topic.name)
            code = self._refusal(topic.name)
            for each in topic.partitions:
                self._left += 1
                number = PartitionIndex(each.partition_index)
                answered = partial(self._answered, (topic.name, number))
                if code != ErrorCode.none:
                    answered(Deleted(0, code))
                elif topic_id is None or (topic_id, number) not in image.partitions:
                    answered(Deleted(0, ErrorCode.unknown_topic_or_partition))
                else:
                    before = Offset(each.offset)
                    self._partitions.delete_records(
                        (topic_id, number), before, timeout_ms, answered
                    )
        self._done_one()

    def _refusal(self, topic: str) -> ErrorCode:
        allowed = self._plane.allowed(self._context, Operation.DELETE, ResourceType.TOPIC, topic)
        if not allowed:
            return ErrorCode.topic_authorization_failed
        if topic in INTERNAL_TOPICS:  # a coordinator reads all of it
            return ErrorCode.invalid_topic_exception
        return ErrorCode.none

    def _answered(self, which: tuple[str, PartitionIndex], answer: Deleted) -> None:
        self._answers[which] = answer
        self._done_one()

    def _done_one(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._plane.reply(self._context, response(self._context.request, self._tell))

    def _tell(self, topic: DeleteRecordsTopic, asked: DeleteRecordsPartition) -> Fields:
        answer = self._answers[topic.name, PartitionIndex(asked.partition_index)]
        return {"error_code": answer.code, "low_watermark": answer.low_watermark}
