"""Produce (key 0): a batch for each partition, answered when all of them are as `acks` asks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from nodes.kraft.group.config import INTERNAL_TOPICS
from nodes.kraft.ids import NO_OFFSET, PartitionIndex
from nodes.kraft.net.listener import NO_ANSWER, RequestContext
from nodes.kraft.partition.answers import Fields, refused, response
from nodes.kraft.partition.steps import ALL, Answer
from nodes.kraft.runtime.partitions import Partitions, patience_ms
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire import api_keys

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import (
        PartitionProduceData,
        ProduceRequest,
        TopicProduceData,
    )


class Produce(Service):
    """Serves producers."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions

    def handlers(self) -> Mapping[int, Handler]:
        return dict((serves(api_keys.PRODUCE, self.serve),))

    def serve(self, context: RequestContext[ProduceRequest]) -> None:
        request = context.request
        if request.acks not in (ALL, 0, 1):
            self._plane.reply(context, refused(request, ErrorCode.invalid_required_acks))
            return
        if request.transactional_id is not None:
            # There are no transactions here. Nothing is said where the producer hears nothing.
            code = ErrorCode.unsupported_version
            self._plane.reply(context, refused(request, code) if request.acks else None)
            return
        _Produced(self._plane, self._partitions, context).append()


class _Produced:
    """One request under way: what each of its partitions answered so far."""

    def __init__(
        self, plane: Plane, partitions: Partitions, context: RequestContext[ProduceRequest]
    ) -> None:
        self._plane = plane
        self._partitions = partitions
        self._context = context
        self._answers: dict[tuple[str, PartitionIndex], Answer] = {}
        self._left = 1  # the request itself, until all of its batches were handed on

    def append(self) -> None:
        request, image = self._context.request, self._plane.image()
        timeout_ms = patience_ms(request.timeout)
        for topic in request.topic_data:
            topic_id = image.topic_ids.get(topic.name)
            code = self._refusal(topic.name, topic_id is not None)
            for each in topic.partition_data:
                self._left += 1
                answered = partial(self._answered, (topic.name, PartitionIndex(each.index)))
                number = PartitionIndex(each.index)
                if code == ErrorCode.none and (topic_id, number) not in image.partitions:
                    answered(Answer(0, ErrorCode.unknown_topic_or_partition))
                elif code != ErrorCode.none or topic_id is None:
                    answered(Answer(0, code))
                else:
                    self._partitions.produce(
                        (topic_id, number), each.records, int(request.acks), timeout_ms, answered
                    )
        self._done_one()

    def _refusal(self, topic: str, known: bool) -> ErrorCode:
        allowed = self._plane.allowed(self._context, Operation.WRITE, ResourceType.TOPIC, topic)
        if not allowed:
            return ErrorCode.topic_authorization_failed
        if topic in INTERNAL_TOPICS:  # the coordinator's own; what it holds in memory is in there
            return ErrorCode.invalid_topic_exception
        return ErrorCode.none if known else ErrorCode.unknown_topic_or_partition

    def _answered(self, which: tuple[str, PartitionIndex], answer: Answer) -> None:
        self._answers[which] = answer
        self._done_one()

    def _done_one(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._reply()

    def _reply(self) -> None:
        context, request = self._context, self._context.request
        if request.acks == 0:
            # Nothing is said; but a producer whose batch went nowhere has to look again, so its
            # connection closes.
            failed = any(each.code != ErrorCode.none for each in self._answers.values())
            self._plane.reply(context, None if failed else NO_ANSWER)
            return
        self._plane.reply(context, response(request, self._tell))

    def _tell(self, topic: TopicProduceData, asked: PartitionProduceData) -> Fields:
        which = topic.name, PartitionIndex(asked.index)
        answer = self._answers[which]
        code = answer.code
        if answer.appended and not self._plane.serving():
            code = ErrorCode.request_timed_out  # a fenced broker vouches for nothing
        if code == ErrorCode.not_leader_or_follower:
            return {"error_code": code, "current_leader": self._leader(*which)}
        if code != ErrorCode.none:
            return {"error_code": code}
        return {
            "error_code": code,
            "base_offset": answer.base_offset,
            "log_start_offset": self._log_start(*which),
        }

    def _log_start(self, topic: str, number: PartitionIndex) -> int:
        topic_id = self._plane.image().topic_ids.get(topic)
        hosted = None if topic_id is None else self._partitions.get((topic_id, number))
        return NO_OFFSET if hosted is None else hosted.state.log.start_offset

    def _leader(self, topic: str, number: PartitionIndex) -> Fields:
        """Whom to ask instead (KIP-951)."""
        image = self._plane.image()
        partition = None
        if topic in image.topic_ids:
            partition = image.partitions.get((image.topic_ids[topic], number))
        if partition is None:
            return {}
        return {"leader_id": partition.leader, "leader_epoch": partition.leader_epoch}
