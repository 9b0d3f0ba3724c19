"""Consumer groups on a broker: which of them it coordinates, and their clients' requests.

A group belongs to the broker that leads its partition of `__consumer_offsets`. The topic is
made when somebody first looks for a coordinator.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from immutables import Map
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.broker.lifecycle import Transition
from nodes.kraft.group import api, asked
from nodes.kraft.group.config import MAX_METADATA_CHARS, OFFSETS_TOPIC, partition_of
from nodes.kraft.group.state import Group, Phase, TopicPartition
from nodes.kraft.group.steps import Ask, Delete, Result, ResultT
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.auto_topics import create_request, offsets_topic
from nodes.kraft.runtime.forwarding import Forwarder
from nodes.kraft.runtime.group_shard import Led, PartitionService, Shard
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire import api_keys
from nodes.kraft.wire.heartbeats import BrokerState

if TYPE_CHECKING:
    from nodes.kraft.wire.group_requests import (
        DeleteGroupsRequest,
        DescribeGroupsRequest,
        FindCoordinatorRequest,
        GroupRequest,
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        ListGroupsRequest,
        OffsetCommitRequest,
        OffsetDeleteRequest,
        OffsetFetchRequest,
        SyncGroupRequest,
    )

R = TypeVar("R", bound="GroupRequest")

log: Final = logging.getLogger(__name__)

GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1
"""FindCoordinator's types of keys."""


@dataclass(frozen=True, slots=True)
class _Lasting:
    """The topics of an image that are not new ones under the names of an earlier image's."""

    before: Map[str, uuid.UUID]
    now: Map[str, uuid.UUID]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        topic_id = self.now.get(name)
        return topic_id is not None and self.before.get(name, topic_id) == topic_id


class Groups(Service):
    """Serves the group requests of clients."""

    def __init__(self, plane: Plane, partitions: PartitionService, forwarder: Forwarder) -> None:
        self._plane = plane
        self._config = plane.config.groups
        self._partitions = partitions
        self._forwarder = forwarder
        self._led: dict[int, Led] = {}
        self._shards: dict[int, Shard] = {}
        self._creating: asyncio.Task[None] | None = None
        self._made = asyncio.Event()
        self._topic_ids = plane.image().topic_ids

    def handlers(self) -> Mapping[int, Handler]:
        return dict(
            (
                serves(api_keys.OFFSET_COMMIT, self._commit),
                serves(api_keys.OFFSET_FETCH, self._fetch),
                serves(api_keys.FIND_COORDINATOR, self._find),
                serves(api_keys.JOIN_GROUP, self._join),
                serves(api_keys.HEARTBEAT, self._beat),
                serves(api_keys.LEAVE_GROUP, self._leave),
                serves(api_keys.SYNC_GROUP, self._sync),
                serves(api_keys.DESCRIBE_GROUPS, self._describe),
                serves(api_keys.LIST_GROUPS, self._list),
                serves(api_keys.DELETE_GROUPS, self._delete),
                serves(api_keys.OFFSET_DELETE, self._delete_offsets),
            )
        )

    # --- leadership -----------------------------------------------------------------------

    async def start(self) -> None:
        self._partitions.watch(self._moved_leader)

    async def close(self) -> None:
        for partition in list(self._shards):
            self._resign(partition)

    def _moved_leader(
        self, topic_id: uuid.UUID, partition: PartitionIndex, leads: bool, leader_epoch: int
    ) -> None:
        topic = self._plane.image().topic(OFFSETS_TOPIC)
        ours = topic is not None and topic.topic_id == topic_id
        led = self._led.get(partition)
        if leads and ours:
            self._led[partition] = Led(topic_id, partition, leader_epoch)
            self._begin(partition)
        elif led is not None and led.topic_id == topic_id:
            del self._led[partition]
            self._resign(partition)

    def _begin(self, partition: int) -> None:
        self._resign(partition)
        shard = Shard(
            self._led[partition],
            self._config,
            self._partitions,
            self._plane.spawn,
            lambda: self._plane.image().topic_ids,
        )
        self._shards[partition] = shard
        self._plane.spawn(shard.load())

    def _resign(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.resign()

    def committed(self, end_offset: int, image: Image) -> None:
        if image.topic(OFFSETS_TOPIC) is None:
            self._made.clear()
        else:
            self._made.set()
        if image.topic_ids is not self._topic_ids:
            lasting = _Lasting(self._topic_ids, image.topic_ids)
            self._topic_ids = image.topic_ids
            for shard in list(self._shards.values()):
                shard.forget_topics(lasting)

    def moved(self, transition: Transition) -> None:
        """Without a lease nobody is coordinated; with one again, from the log anew."""
        if transition.after != BrokerState.ACTIVE:
            for partition in list(self._shards):
                self._resign(partition)
        else:
            for partition in self._led.keys() - self._shards.keys():
                self._begin(partition)

    # --- who coordinates ------------------------------------------------------------------

    def _shard(self, group_id: str) -> Shard | ErrorCode:
        """The shard of a group, or why it cannot be asked."""
        topic = self._plane.image().topic(OFFSETS_TOPIC)
        if topic is None or not topic.partitions:
            return ErrorCode.coordinator_not_available
        shard = self._shards.get(partition_of(group_id, topic.partitions))
        if shard is None:
            return ErrorCode.not_coordinator
        return ErrorCode.coordinator_load_in_progress if shard.state is None else shard

    def _find(self, context: RequestContext[FindCoordinatorRequest]) -> None:
        if self._plane.image().topic(OFFSETS_TOPIC) is None and self._asks_for_group(context):
            self._plane.spawn(self._find_first(context))
        else:
            self._found(context)

    def _asks_for_group(self, context: RequestContext[FindCoordinatorRequest]) -> bool:
        """Whether it asks for any group that its sender may know of."""
        return self._kind(context.request) == GROUP_KEY and any(
            self._may(context, Operation.DESCRIBE, ResourceType.GROUP, key)
            for key in asked.sought(context.request)
        )

    async def _find_first(self, context: RequestContext[FindCoordinatorRequest]) -> None:
        """The first to look for any coordinator waits until there is a topic: not all clients
        ask again when they are told that it is on its way."""
        if self._creating is None:
            self._creating = self._plane.spawn(self._create_topic())
        timeout_s = self._plane.config.timing.forward_timeout_ms / 1000
        await asyncio.wait([self._creating], timeout=timeout_s)
        self._found(context)

    def _found(self, context: RequestContext[FindCoordinatorRequest]) -> None:
        request = context.request
        found = [
            (key, self._coordinator_of(context, self._kind(request), key))
            for key in asked.sought(request)
        ]
        self._answer(context, api.coordinators(request, found), ErrorCode.coordinator_not_available)

    @staticmethod
    def _kind(request: FindCoordinatorRequest) -> int:
        return int(getattr(request, "key_type", GROUP_KEY))

    def _coordinator_of(
        self, context: RequestContext[RequestPayload], kind: int, key: str
    ) -> api.Found:
        if kind == TRANSACTION_KEY:
            return ErrorCode.unsupported_version  # there are no transactions here
        if kind != GROUP_KEY:
            return ErrorCode.invalid_request
        if not self._may(context, Operation.DESCRIBE, ResourceType.GROUP, key):
            return ErrorCode.group_authorization_failed
        image = self._plane.image()
        topic = image.topic(OFFSETS_TOPIC)
        if topic is None:
            return ErrorCode.coordinator_not_available
        leader = image.partitions[
            topic.topic_id, PartitionIndex(partition_of(key, topic.partitions))
        ].leader
        broker = image.brokers.get(leader)
        if broker is not None and not broker.fenced:
            for point in broker.end_points:
                if point.name == context.listener:
                    return leader, point.host, point.port
        return ErrorCode.coordinator_not_available

    async def _create_topic(self) -> None:
        """Ask the controller for the topic, and wait until it is in our image."""
        timeout_ms = self._plane.config.timing.forward_timeout_ms
        topic = offsets_topic(self._config, self._plane.image())
        request = create_request([topic], timeout_ms)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                told = await self._forwarder.forward(request, timeout_ms / 1000)
                code = ErrorCode.request_timed_out
                if isinstance(told.response, CreateTopicsResponse):
                    code = told.response.topics[0].error_code
                log.info("%s asked for: %s", OFFSETS_TOPIC, code.name)
                if code in (ErrorCode.none, ErrorCode.topic_already_exists):
                    await self._made.wait()
        except TimeoutError:
            log.info("%s is not there yet", OFFSETS_TOPIC)
        finally:
            self._creating = None

    # --- who may --------------------------------------------------------------------------

    def _may(
        self,
        context: RequestContext[RequestPayload],
        operation: Operation,
        kind: ResourceType,
        name: str,
    ) -> bool:
        return self._plane.allowed(context, operation, kind, name)

    def _to_group(
        self,
        context: RequestContext[R],
        request: Ask[ResultT],
        answer: Callable[[R, ResultT], ResponsePayload],
        operation: Operation = Operation.READ,
    ) -> None:
        """Give the request to its group's core; `answer(request, result)` makes the response."""
        group_id = request.group_id
        if not self._may(context, operation, ResourceType.GROUP, group_id):
            shard: Shard | ErrorCode = ErrorCode.group_authorization_failed
        else:
            shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            self._plane.reply(context, api.refused(context.request, shard))
            return
        shard.ask(request, lambda result: self._answer(context, answer(context.request, result)))

    def _answer(
        self,
        context: RequestContext[GroupRequest],
        response: ResponsePayload,
        fenced: ErrorCode = ErrorCode.not_coordinator,
    ) -> None:
        if not self._plane.serving():
            # The lease ended meanwhile: a fenced broker vouches for nothing.
            response = api.refused(context.request, fenced)
        self._plane.reply(context, response)

    # --- members --------------------------------------------------------------------------

    def _join(self, context: RequestContext[JoinGroupRequest]) -> None:
        request = context.request
        client_id = context.header.client_id or ""
        stem = getattr(request, "group_instance_id", None) or client_id
        join = asked.join_of(
            request,
            client_id=client_id,
            host=f"/{context.host}",
            fresh_id=f"{stem}-{uuid.uuid4()}",
        )
        self._to_group(context, join, api.joined)

    def _sync(self, context: RequestContext[SyncGroupRequest]) -> None:
        self._to_group(context, asked.sync_of(context.request), api.synced)

    def _beat(self, context: RequestContext[HeartbeatRequest]) -> None:
        self._to_group(
            context,
            asked.beat_of(context.request),
            lambda ask, reported: api.answered(ask, reported.error),
        )

    def _leave(self, context: RequestContext[LeaveGroupRequest]) -> None:
        self._to_group(context, asked.leave_of(context.request), api.left)

    # --- offsets --------------------------------------------------------------------------

    def _commit(self, context: RequestContext[OffsetCommitRequest]) -> None:
        refused = self._refused(context)
        self._to_group(
            context,
            asked.commit_of(context.request, refused),
            lambda ask, reported: api.committed(ask, reported.error, refused),
        )

    def _refused(
        self, context: RequestContext[OffsetCommitRequest]
    ) -> Map[TopicPartition, ErrorCode]:
        """The partitions of a commit that cannot be: unknown, not for this client, or with too
        much text."""
        image = self._plane.image()
        refused = {}
        for name, partition, metadata in asked.commits(context.request):
            topic = image.topic(name)
            if not self._may(context, Operation.READ, ResourceType.TOPIC, name):
                refused[name, partition] = ErrorCode.topic_authorization_failed
            elif topic is None or not 0 <= partition < topic.partitions:
                refused[name, partition] = ErrorCode.unknown_topic_or_partition
            elif len(metadata) > MAX_METADATA_CHARS:
                refused[name, partition] = ErrorCode.offset_metadata_too_large
        return Map(refused)

    def _fetch(self, context: RequestContext[OffsetFetchRequest]) -> None:
        def verdict(topic: str, _: int) -> ErrorCode:
            if self._may(context, Operation.DESCRIBE, ResourceType.TOPIC, topic):
                return ErrorCode.none
            return ErrorCode.topic_authorization_failed

        def group(group_id: str) -> Group | ErrorCode:
            return self._group(context, group_id)

        self._plane.reply(context, api.fetched(context.request, group, verdict))

    def _group(self, context: RequestContext[RequestPayload], group_id: str) -> Group | ErrorCode:
        """A group as it is, "Dead" where there is none; or why it cannot be told."""
        if not self._may(context, Operation.DESCRIBE, ResourceType.GROUP, group_id):
            return ErrorCode.group_authorization_failed
        shard = self._shard(group_id)
        if isinstance(shard, ErrorCode):
            return shard
        assert shard.state is not None
        return shard.state.groups.get(group_id) or Group(group_id=group_id, phase=Phase.DEAD)

    # --- administration -------------------------------------------------------------------

    def _describe(self, context: RequestContext[DescribeGroupsRequest]) -> None:
        found = [(name, self._group(context, name)) for name in context.request.groups]
        self._plane.reply(context, api.described(context.request, found))

    def _list(self, context: RequestContext[ListGroupsRequest]) -> None:
        groups: list[Group] = []
        error = ErrorCode.none
        for partition in sorted(self._shards):
            state = self._shards[partition].state
            if state is None:
                error = ErrorCode.coordinator_load_in_progress
            else:
                groups += [state.groups[group_id] for group_id in sorted(state.groups)]
        visible = [
            each
            for each in groups
            if self._may(context, Operation.DESCRIBE, ResourceType.GROUP, each.group_id)
        ]
        self._plane.reply(context, api.listed(context.request, visible, error))

    def _delete(self, context: RequestContext[DeleteGroupsRequest]) -> None:
        wanted = list(dict.fromkeys(context.request.groups_names))
        codes: dict[str, ErrorCode] = {}

        def tell(group_id: str, code: ErrorCode) -> None:
            codes[group_id] = code
            if len(codes) == len(wanted):
                results = [(each, codes[each]) for each in wanted]
                self._answer(context, api.deleted(context.request, results))

        def deleted(group_id: str, reported: Result) -> None:
            tell(group_id, reported.error)

        if not wanted:
            self._plane.reply(context, api.deleted(context.request, ()))
        for group_id in wanted:
            shard = self._shard(group_id)
            if not self._may(context, Operation.DELETE, ResourceType.GROUP, group_id):
                tell(group_id, ErrorCode.group_authorization_failed)
            elif isinstance(shard, ErrorCode):
                tell(group_id, shard)
            else:
                shard.ask(Delete(group_id=group_id), partial(deleted, group_id))

    def _delete_offsets(self, context: RequestContext[OffsetDeleteRequest]) -> None:
        image = self._plane.image()
        refused: dict[TopicPartition, ErrorCode] = {}
        for asked_topic in context.request.topics:
            name = asked_topic.name
            topic = image.topic(name)
            may = self._may(context, Operation.READ, ResourceType.TOPIC, name)
            for number in (int(each.partition_index) for each in asked_topic.partitions):
                if not may:
                    refused[str(name), number] = ErrorCode.topic_authorization_failed
                elif topic is None or not 0 <= number < topic.partitions:
                    refused[str(name), number] = ErrorCode.unknown_topic_or_partition
        refusals: Map[TopicPartition, ErrorCode] = Map(refused)
        self._to_group(
            context,
            asked.offsets_to_delete(context.request, refusals),
            lambda ask, reported: api.offsets_deleted(ask, reported, refusals),
            Operation.DELETE,
        )
