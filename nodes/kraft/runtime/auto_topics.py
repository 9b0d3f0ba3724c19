"""Topics that clients ask for and that are not there: made on the way, as Kafka does with
`auto.create.topics.enable`. Lives on the data loop."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i16, i32, i32Timedelta

from nodes.kraft.group.config import OFFSETS_TOPIC, GroupConfig
from nodes.kraft.metadata.image import Image
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.forwarding import Forwarder
from nodes.kraft.runtime.planes import Plane
from nodes.kraft.security.authorizer import Requester
from nodes.kraft.wire.codes import item_codes

if TYPE_CHECKING:
    from kio.static.protocol import ResponsePayload

    from nodes.kraft.wire.metadata_requests import MetadataRequest

log: Final = logging.getLogger(__name__)

MOST: Final = 100
"""Topics that one broker makes at a time: clients ask again for the others."""
DEFAULT_REPLICATION: Final = 3


class AutoTopics:
    """Asks the controller, as the client, for topics that a client wants and nobody made."""

    def __init__(self, plane: Plane, forwarder: Forwarder) -> None:
        self._plane = plane
        self._forwarder = forwarder
        self._under_way: set[str] = set()

    def wanted(self, request: MetadataRequest) -> bool:
        """Whether topics that are not there are to be made: before version 4 no client could say
        that it does not want that."""
        allowed: bool = getattr(request, "allow_auto_topic_creation", True)
        return allowed and self._plane.config.auto_topics.enabled

    def missing(self, response: ResponsePayload) -> list[str]:
        """The topics of a Metadata response that are not there, and could be."""
        return [
            topic.name
            for topic in getattr(response, "topics", ())
            if topic.error_code == ErrorCode.unknown_topic_or_partition
        ]

    def make(self, context: RequestContext[MetadataRequest], names: Iterable[str]) -> None:
        """Have these made, each once at a time. The client is not kept waiting: it is told that
        there is no such topic, and asks again."""
        new = [name for name in dict.fromkeys(names) if name not in self._under_way]
        new = new[: max(0, MOST - len(self._under_way))]
        if new:
            self._under_way.update(new)
            requester = Requester(context.principal, context.host)
            self._plane.spawn(self._make(new, requester))

    async def _make(self, names: list[str], requester: Requester) -> None:
        timeout_ms = self._plane.config.timing.forward_timeout_ms
        request = create_request([self._topic(name) for name in names], timeout_ms)
        try:
            told = await self._forwarder.forward(request, timeout_ms / 1000, requester)
            codes = item_codes(told.response) if told.response is not None else ["no answer"]
            log.info("topics that clients asked for: %s: %s", ", ".join(names), codes)
        finally:
            self._under_way.difference_update(names)

    def _topic(self, name: str) -> CreatableTopic:
        config = self._plane.config
        if name == OFFSETS_TOPIC:
            return offsets_topic(config.groups, self._plane.image())
        return creatable(name, config.auto_topics.partitions, config.auto_topics.replication_factor)


def offsets_topic(config: GroupConfig, image: Image) -> CreatableTopic:
    """The internal topic of consumer groups."""
    replication = config.replication_factor
    if replication is None:
        replication = min(DEFAULT_REPLICATION, len(image.brokers))
    return creatable(OFFSETS_TOPIC, config.partitions, replication)


def creatable(name: str, partitions: int, replication_factor: int) -> CreatableTopic:
    """A topic as CreateTopics asks for it; -1: as the controller has it."""
    return CreatableTopic(
        name=TopicName(name),
        num_partitions=i32(partitions),
        replication_factor=i16(replication_factor),
        assignments=(),
        configs=(),
    )


def create_request(topics: Iterable[CreatableTopic], timeout_ms: int) -> CreateTopicsRequest:
    """CreateTopics for these."""
    timeout = i32Timedelta.parse(datetime.timedelta(milliseconds=timeout_ms))
    return CreateTopicsRequest(topics=tuple(topics), timeout=timeout)
