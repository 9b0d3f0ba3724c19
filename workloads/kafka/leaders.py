"""Who leads a partition, as a broker's metadata has it; remembered until it proves wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kio.schema.metadata.v12.response import MetadataResponse

from framework.generators import op
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.codec import expected
from workloads.kafka.connection import Breakdown
from workloads.kafka.messages import metadata_request
from workloads.kafka.operations.partitions import partition_of

LOOKUP_S: Final = 0.7
"""A broker that is paused or cut off must not take all of an operation's time."""


@dataclass(frozen=True, slots=True)
class Leader:
    """`node` leads in `epoch`, where the topic is still that of `topic_id`."""

    node: str
    epoch: int
    topic_id: str


class NoAnswer(Exception):
    """Something that an operation needs first could not be had: nothing of it was sent."""

    def __init__(self, code: str, message: str, node: str | None) -> None:
        super().__init__(message)
        self.error = (code, message)
        self.node = node


class Leaders:
    """Looks leaders up. For one thread at a time."""

    def __init__(self, lookup: BrokerClient, names: Mapping[int, str]) -> None:
        """`names`: broker id to the node's name."""
        self._lookup = lookup
        self._names = names
        self._known: dict[str, Leader] = {}

    def find(self, key: str) -> Leader:
        """The leader of a partition. Raises `NoAnswer`."""
        if key not in self._known:
            self._known[key] = self._ask(*partition_of(key))
        return self._known[key]

    def forget(self, key: str) -> None:
        """It was wrong: look again next time."""
        self._known.pop(key, None)

    def _ask(self, topic: str, number: int) -> Leader:
        request = metadata_request(op("metadata", key=topic))
        try:
            node, response = self._lookup.call(request, deadline_s=LOOKUP_S)
        except Breakdown as error:
            raise NoAnswer(error.code, str(error), error.node) from error
        for found in expected(MetadataResponse, response).topics:
            for each in found.partitions if found.name == topic else ():
                name = self._names.get(each.leader_id)
                if each.partition_index == number and name is not None:
                    return Leader(name, int(each.leader_epoch), str(found.topic_id))
        raise NoAnswer("LEADER_NOT_AVAILABLE", f"{node} knows no leader", node)
