"""Fetch (key 1), of consumers and of follower replicas.

Consumers get no fetch sessions (KIP-227): every answer has session id 0 and says something of
each partition that was asked for. A fetch that finds less than it wants is parked until it finds
enough, its time is up, or one of its partitions has something else to say.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.constants import uuid_zero

from nodes.kraft.ids import NO_EPOCH, BrokerEpoch, PartitionIndex
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition.answers import response
from nodes.kraft.runtime.hosted import Hosted
from nodes.kraft.runtime.partitions import Partitions
from nodes.kraft.runtime.planes import Handler, Plane, Service, serves
from nodes.kraft.runtime.reading import Asked, Follower, Reading, asked
from nodes.kraft.runtime.sessions import Sessions
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire import api_keys

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import FetchRequest, FetchTopic

MAX_WAIT_MS: Final = 30_000
COMPARES: Final = -2
"""The replica id of a consumer that compares replicas (Kafka's ReplicaVerificationTool): each
answers it with what it has that is committed, as far as it knows."""


class Fetch(Service):
    """Serves consumers and followers."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions
        self._sessions = Sessions(plane, partitions)

    def handlers(self) -> Mapping[int, Handler]:
        return dict((serves(api_keys.FETCH, self.serve),))

    def serve(self, context: RequestContext[FetchRequest]) -> None:
        if not self._sessions.serve(context):
            _Fetching(self._plane, self._partitions, context).begin()


class _Fetching:
    """One request under way."""

    def __init__(
        self, plane: Plane, partitions: Partitions, context: RequestContext[FetchRequest]
    ) -> None:
        self._plane = plane
        self._partitions = partitions
        self._context = context
        request = context.request
        if hasattr(request, "replica_state"):
            state = request.replica_state
            self._follower = Follower(state.replica_id, BrokerEpoch(state.replica_epoch))
        else:
            self._follower = Follower(request.replica_id, NO_EPOCH)
        self._follows = self._follower.replica_id >= 0
        self._compares = self._follower.replica_id == COMPARES
        self._wait_ms = min(round(request.max_wait.total_seconds() * 1000), MAX_WAIT_MS)
        self._asked: list[Asked] = []
        self._parked: list[Hosted] = []
        self._timer: asyncio.TimerHandle | None = None
        self._poked = False

    # --- what is asked --------------------------------------------------------------------

    def begin(self) -> None:
        image = self._plane.image()
        for topic in self._context.request.topics:
            topic_id, code = self._topic(image, topic)
            for wire in topic.partitions:
                key = None if topic_id is None else (topic_id, PartitionIndex(wire.partition))
                wanted = asked(key, code, wire)
                if self._follows and code == ErrorCode.none:
                    code_of = self._follower.note(self._partitions, image, wanted)
                    wanted = replace(wanted, code=code_of)
                if self._compares:
                    wanted = replace(wanted, anywhere=True)
                self._asked.append(wanted)
        self._try(last=self._wait_ms <= 0)

    def _topic(self, image: Image, topic: FetchTopic) -> tuple[uuid.UUID | None, ErrorCode]:
        """The topic's id, and why it is not to be read."""
        if hasattr(topic, "topic"):
            known, unknown = image.topic(topic.topic), ErrorCode.unknown_topic_or_partition
            name = topic.topic
        else:
            topic_id = topic.topic_id or uuid_zero
            known, unknown = image.topics.get(topic_id), ErrorCode.unknown_topic_id
            name = None if known is None else known.name
        if name is not None and not self._allowed(name):
            return None, ErrorCode.topic_authorization_failed
        return (None, unknown) if known is None else (known.topic_id, ErrorCode.none)

    def _allowed(self, topic: str) -> bool:
        if self._follows:
            what = Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        else:
            what = Operation.READ, ResourceType.TOPIC, topic
        return self._plane.allowed(self._context, *what)

    # --- now or later ---------------------------------------------------------------------

    def _try(self, *, last: bool) -> None:
        """Answer, if there is enough to say or this is the last time; else park."""
        request = self._context.request
        reading = Reading(
            self._plane, self._partitions, int(request.max_bytes), follower=self._follows
        )
        said = iter([reading.of(wanted) for wanted in self._asked])
        if last or reading.urgent or reading.bytes >= request.min_bytes:
            self._leave()
            self._plane.reply(self._context, response(request, lambda _, __: next(said)))
        elif self._timer is None:
            self._park()

    def _park(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._wait_ms / 1000, self._again, True)
        for wanted in self._asked:
            hosted = None if wanted.key is None else self._partitions.get(wanted.key)
            if hosted is not None:
                hosted.waiters = hosted.waiters or set()
                hosted.waiters.add(self._poke)
                self._parked.append(hosted)

    def _poke(self) -> None:
        """Something happened to a partition: look again, once for all that happens now."""
        if not self._poked:
            self._poked = True
            asyncio.get_running_loop().call_soon(self._again, False)

    def _again(self, last: bool) -> None:
        """Outside of the listener's handler: whatever fails here has to be told."""
        self._poked = False
        if self._timer is None:
            return  # answered meanwhile
        try:
            self._try(last=last or not self._plane.serving())
        except Exception:
            self._leave()
            self._plane.reply(self._context, None)
            raise

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for hosted in self._parked:
            if hosted.waiters is not None:
                hosted.waiters.discard(self._poke)
        self._parked = []
