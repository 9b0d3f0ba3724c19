"""ListOffsets (key 2) and OffsetForLeaderEpoch (key 23): where a log is, at a time or an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload

from nodes.kraft.ids import LeaderEpoch, Offset, PartitionIndex
from nodes.kraft.metadata.image import PartitionKey
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition import epochs, leader
from nodes.kraft.partition.answers import Fields, response
from nodes.kraft.partition.state import Leading
from nodes.kraft.runtime.hosted import Hosted
from nodes.kraft.runtime.partitions import Partitions
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire import api_keys

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import (
        ListOffsetsPartition,
        ListOffsetsRequest,
        ListOffsetsTopic,
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
        OffsetForLeaderTopic,
    )

LATEST: Final = -1
EARLIEST: Final = (-2, -4)
"""The latter is that of the local log (KIP-405), which is all of it here."""
MAX_TIMESTAMP: Final = -3
SINCE: Final = {MAX_TIMESTAMP: 7, -4: 8}
"""The version of ListOffsets that a place came with: KIP-734, KIP-405."""


class Offsets(Service):
    """Serves consumers that look for a place to begin, or for where an epoch ended."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions

    def handlers(self) -> Mapping[int, Handler]:
        return dict(
            (
                serves(api_keys.LIST_OFFSETS, self.list_offsets),
                serves(api_keys.OFFSET_FOR_LEADER_EPOCH, self.end_of_epoch),
            )
        )

    def list_offsets(self, context: RequestContext[ListOffsetsRequest]) -> None:
        request = context.request

        def tell(topic: ListOffsetsTopic, asked: ListOffsetsPartition) -> Fields:
            key, hosted, code = self._find(
                context, topic.name, PartitionIndex(asked.partition_index)
            )
            if hosted is not None:
                code = leader.check_epoch(
                    hosted.state, LeaderEpoch(getattr(asked, "current_leader_epoch", -1))
                )
            if code != ErrorCode.none or key is None or hosted is None:
                return {"error_code": code}
            with self._partitions.reading():
                return _offset(hosted, int(asked.timestamp), int(request.__version__))

        self._plane.reply(context, response(request, tell))

    def end_of_epoch(self, context: RequestContext[OffsetForLeaderEpochRequest]) -> None:
        """Where the largest epoch ended that is not above the one asked for (KIP-101)."""

        def tell(topic: OffsetForLeaderTopic, asked: OffsetForLeaderPartition) -> Fields:
            _, hosted, code = self._find(context, topic.topic, PartitionIndex(asked.partition))
            if hosted is not None:
                code = leader.check_epoch(hosted.state, LeaderEpoch(asked.current_leader_epoch))
            if code != ErrorCode.none or hosted is None:
                return {"error_code": code}
            log = hosted.state.log
            wanted = LeaderEpoch(asked.leader_epoch)
            epoch, end = epochs.end_offset_for(log.epochs, wanted, log.end_offset)
            return {"error_code": code, "leader_epoch": epoch, "end_offset": end}

        self._plane.reply(context, response(context.request, tell))

    def _find(
        self, context: RequestContext[RequestPayload], topic: str, number: PartitionIndex
    ) -> tuple[PartitionKey | None, Hosted | None, ErrorCode]:
        """The replica here, or why it is not to be asked."""
        if not self._plane.allowed(context, Operation.DESCRIBE, ResourceType.TOPIC, topic):
            return None, None, ErrorCode.topic_authorization_failed
        image = self._plane.image()
        topic_id = image.topic_ids.get(topic)
        if topic_id is None or (topic_id, number) not in image.partitions:
            return None, None, ErrorCode.unknown_topic_or_partition
        key = (topic_id, number)
        hosted = self._partitions.get(key)
        return key, hosted, ErrorCode.none if hosted else ErrorCode.not_leader_or_follower


def _offset(hosted: Hosted, timestamp_ms: int, version: int) -> Fields:
    """The offset for a timestamp, of committed records alone."""
    state = hosted.state
    role, high_watermark = state.role, state.high_watermark
    assert isinstance(role, Leading)
    start_offset = state.log.start_offset
    if version < SINCE.get(timestamp_ms, 0):
        return {"error_code": ErrorCode.unsupported_version}
    if timestamp_ms in EARLIEST:
        return _found(state.log.epochs, start_offset, -1)
    if high_watermark < role.start_offset:
        # A new leader's high watermark may be below one that was told before (KIP-207).
        old = version < 5
        return {
            "error_code": ErrorCode.leader_not_available if old else ErrorCode.offset_not_available
        }
    if timestamp_ms < MAX_TIMESTAMP:
        return {"error_code": ErrorCode.unsupported_version}
    if timestamp_ms == LATEST:
        return _found(state.log.epochs, high_watermark, -1)
    if hosted.log is None:
        place = None
    elif timestamp_ms == MAX_TIMESTAMP:
        place = hosted.log.latest_time(start_offset, high_watermark)
    else:
        place = hosted.log.find_time(timestamp_ms, start_offset, high_watermark)
    if place is None:
        return {"error_code": ErrorCode.none}
    return _found(state.log.epochs, *place)


def _found(known: epochs.Epochs, offset: Offset, timestamp_ms: int) -> Fields:
    return {
        "error_code": ErrorCode.none,
        "offset": offset,
        "timestamp": timestamp_ms,
        "leader_epoch": epochs.epoch_at(known, offset),
    }
