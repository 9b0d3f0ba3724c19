"""Serves DescribeLogDirs and DescribeProducers, from the replicas of this broker. Lives on the data
loop."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload

from nodes.kraft.broker.replica_reports import log_dir, log_dirs_refusal, producers
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition.producers import Producers
from nodes.kraft.runtime.partitions import Partitions
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire import api_keys

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import DescribeLogDirsRequest, DescribeProducersRequest


class ReplicaReports(Service):
    """Sizes of logs, and the producers of partitions that are led here."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions

    def handlers(self) -> Mapping[int, Handler]:
        return dict(
            (
                serves(api_keys.DESCRIBE_LOG_DIRS, self._log_dirs),
                serves(api_keys.DESCRIBE_PRODUCERS, self._describe_producers),
            )
        )

    def _log_dirs(self, context: RequestContext[DescribeLogDirsRequest]) -> None:
        request = context.request
        allowed = self._plane.allowed(
            context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME
        )
        if not allowed:
            response = log_dirs_refusal(request, ErrorCode.cluster_authorization_failed)
        else:
            path = self._plane.config.log_dir
            disk = shutil.disk_usage(path)
            response = log_dir(request, str(path), self._sizes(request), disk.total, disk.free)
        self._plane.reply(context, response)

    def _sizes(
        self, request: DescribeLogDirsRequest
    ) -> dict[str, list[tuple[PartitionIndex, int, int]]]:
        """What was asked for and is here, by topic; null asks for everything."""
        image = self._plane.image()
        wanted = None
        if request.topics is not None:
            wanted = {
                (str(each.topic), int(number))
                for each in request.topics
                for number in each.partitions
            }
        found: defaultdict[str, list[tuple[PartitionIndex, int, int]]] = defaultdict(list)
        for (topic_id, number), hosted in self._partitions.replicas():
            topic = image.topics.get(topic_id)
            if topic is not None and (wanted is None or (topic.name, number) in wanted):
                lag = max(0, hosted.state.high_watermark - hosted.state.log.end_offset)
                size = 0 if hosted.log is None else hosted.log.size
                found[topic.name].append((number, size, lag))
        return found

    def _describe_producers(self, context: RequestContext[DescribeProducersRequest]) -> None:
        self._plane.reply(context, producers(context.request, partial(self._producers, context)))

    def _producers(
        self, context: RequestContext[RequestPayload], topic: str, number: PartitionIndex
    ) -> Producers | ErrorCode:
        """Of the partition, if this broker leads it; or why it says nothing of it."""
        if not self._plane.allowed(context, Operation.READ, ResourceType.TOPIC, topic):
            return ErrorCode.topic_authorization_failed
        image = self._plane.image()
        topic_id = image.topic_ids.get(topic)
        if topic_id is None or (topic_id, number) not in image.partitions:
            return ErrorCode.unknown_topic_or_partition
        hosted = self._partitions.get((topic_id, number))
        if hosted is None or hosted.leading() is None:
            return ErrorCode.not_leader_or_follower
        return hosted.state.log.producers
