"""The client of both systems: requests of Kafka's protocol, one at a time on each connection."""

from __future__ import annotations

import datetime
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, Self

import tenacity
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.create_topics.v7 import request as create
from kio.schema.delete_topics.v6 import request as delete
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import request as offsets
from kio.schema.metadata.v12 import request as metadata
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64
from kio.static.protocol import RequestPayload

from benchmarks.beside_kafka.measuring import Failed
from framework.plugins.system import Cluster
from workloads.kafka.connection import Breakdown, Connection
from workloads.kafka.roles import BROKER, CONTROLLER, LISTENERS
from workloads.kafka.system import system_of

ANSWER_S: Final = 60.0
LOOK_S: Final = 0.05
DELETED_AT_ONCE: Final = 200
MADE_S: Final = 60.0
LATEST: Final = -1
TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(seconds=60))
HELLO: Final = ApiVersionsRequest(client_software_name="beside", client_software_version="1")


def connection(cluster: Cluster, node: str, role: str) -> Connection:
    """One to a node, opened when it is first used; small requests are not held back."""

    def opened(timeout_s: float) -> socket.socket:
        found = system_of(cluster).connect(cluster, node, LISTENERS[role], timeout_s)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    return Connection(opened, "beside")


class Way(Protocol):
    """What takes a request to a node and brings the answer."""

    def call(self, request: RequestPayload, deadline: float) -> Any:
        """Raises `Breakdown`, `Failed`. `deadline` is on the clock of `time.monotonic`."""

    def close(self) -> None:
        """Never raises."""


def call(to: Way, request: RequestPayload, within_s: float = ANSWER_S) -> Any:
    """The answer. Raises `Breakdown`."""
    return to.call(request, time.monotonic() + within_s)


_opening: Final = tenacity.Retrying(
    retry=tenacity.retry_if_exception_type(Breakdown),
    stop=tenacity.stop_after_delay(20),
    wait=tenacity.wait_fixed(LOOK_S),
    reraise=True,
)
"""A busy node may not take a connection at once."""


def open_all(ways: Iterable[Way]) -> None:
    """So that opening them is no part of what is measured. Raises `Breakdown`."""
    for each in ways:
        _opening(call, each, HELLO)


class Client:
    """A connection to each broker and controller. For one thread at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.brokers = cluster.with_role(BROKER)
        self.ids = {node: cluster.nodes[node].ids[BROKER] for node in self.brokers}
        self._at = {
            (node, role): connection(cluster, node, role)
            for role in (BROKER, CONTROLLER)
            for node in cluster.with_role(role)
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._at.values():
            each.close()

    def ask(
        self, request: RequestPayload, node: str, role: str = BROKER, within_s: float = ANSWER_S
    ) -> Any:
        """The answer. Raises `Breakdown`."""
        return call(self._at[node, role], request, within_s)

    def until(
        self, condition: Callable[[], bool], within_s: float, what: str, pause_s: float = LOOK_S
    ) -> None:
        """Wait. A node that does not answer has it not. Raises `Failed`."""
        try:
            tenacity.Retrying(
                retry=tenacity.retry_if_result(lambda found: not found)
                | tenacity.retry_if_exception_type(Breakdown),
                stop=tenacity.stop_after_delay(within_s),
                wait=tenacity.wait_fixed(pause_s),
            )(condition)
        except tenacity.RetryError:
            raise Failed(f"not within {within_s:.0f} s: {what}") from None

    def active(self) -> str:
        """The active controller. Raises `Failed`."""
        found: list[str] = []

        def look() -> bool:
            states = {
                node: self.cluster.system.state(self.cluster, node)
                for node in self.cluster.with_role(CONTROLLER)
            }
            found[:] = [node for node, state in states.items() if state and state.leader]
            return len(found) == 1

        self.until(look, ANSWER_S, "no controller is active")
        return found[0]

    def create(self, request: create.CreateTopicsRequest, node: str | None = None) -> None:
        """Through a broker. Raises `Failed`, `Breakdown`."""
        refused = codes(self.ask(request, node or self.brokers[0]).topics)
        if refused:
            raise Failed(f"a topic is refused: {refused[0]}")

    def could_create(self, name: str) -> bool:
        """Whether it is there now. Raises `Breakdown`."""
        answer = self.ask(topic(name), self.brokers[0], within_s=2.0)
        return set(codes(answer.topics)) <= {ErrorCode.topic_already_exists.name}

    def delete(self, names: Sequence[str]) -> None:
        """Through a broker. Raises `Failed`, `Breakdown`."""
        for at in range(0, len(names), DELETED_AT_ONCE):
            some = names[at : at + DELETED_AT_ONCE]
            states = tuple(
                delete.DeleteTopicState(name=TopicName(each), topic_id=None) for each in some
            )
            request = delete.DeleteTopicsRequest(topics=states, timeout=TIMEOUT)
            refused = codes(self.ask(request, self.brokers[0]).responses)
            if refused:
                raise Failed(f"a topic is not deleted: {refused[0]}")

    def partitions(self, node: str, *names: str) -> list[Any]:
        """Of these topics, as a broker's metadata has them; of one that it has not, none. Raises
        `Breakdown`."""
        asked = tuple(
            metadata.MetadataRequestTopic(topic_id=None, name=TopicName(name)) for name in names
        )
        request = metadata.MetadataRequest(
            topics=asked,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        return [each for found in self.ask(request, node).topics for each in found.partitions]

    def leads(self, node: str, *names: str, count: int = 1, but: int = -1) -> bool:
        """Whether a broker tells of `count` partitions in all, each with a leader that is not
        `but`. Raises `Breakdown`."""
        found = self.partitions(node, *names)
        return len(found) == count and all(each.leader_id not in (but, -1) for each in found)

    def led(self, name: str, count: int) -> bool:
        """Whether each broker tells of all partitions of a topic, and each one's leader tells where
        it ends: some know who leads before whoever does has begun to. Raises `Breakdown`."""
        if not all(self.leads(node, name, count=count) for node in self.brokers):
            return False
        answers = [
            part
            for node, numbers in self.leaders(name).items()
            for found in self.ask(_ends(name, numbers), node).topics
            for part in found.partitions
        ]
        return all(each.error_code == 0 for each in answers)

    def leaders(self, name: str) -> dict[str, list[int]]:
        """Node -> the partitions that it leads, as one broker has it. Raises `Breakdown`."""
        nodes = {ident: node for node, ident in self.ids.items()}
        found: dict[str, list[int]] = {}
        for each in self.partitions(self.brokers[0], name):
            found.setdefault(nodes[each.leader_id], []).append(int(each.partition_index))
        return found

    @contextmanager
    def made(self, name: str, partitions: int) -> Iterator[None]:
        """A topic with three replicas of each partition, all in sync, as long as it is needed.
        Raises `Failed`, `Breakdown`."""
        self.create(topic(name, partitions))
        try:
            self.until(lambda: self.led(name, partitions), MADE_S, f"{name} is led")
            self.until(lambda: self._in_sync(name), MADE_S, f"{name} is in sync")
            yield
        finally:
            self.delete([name])

    def _in_sync(self, name: str) -> bool:
        return all(
            len(each.isr_nodes) == len(each.replica_nodes)
            for node in self.brokers
            for each in self.partitions(node, name)
        )


def _ends(name: str, numbers: Sequence[int]) -> offsets.ListOffsetsRequest:
    parts = tuple(
        offsets.ListOffsetsPartition(
            partition_index=i32(number), current_leader_epoch=i32(-1), timestamp=i64(LATEST)
        )
        for number in numbers
    )
    return offsets.ListOffsetsRequest(
        replica_id=BrokerId(-1),
        isolation_level=i8(0),
        topics=(offsets.ListOffsetsTopic(name=TopicName(name), partitions=parts),),
    )


def codes(answers: Iterable[Any]) -> list[str]:
    """The names of errors in an answer, without those that are none."""
    return [ErrorCode(each.error_code).name for each in answers if each.error_code != 0]


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 3,
    assigned: Sequence[Sequence[int]] = (),
    *,
    check_only: bool = False,
) -> create.CreateTopicsRequest:
    """The creation of one, by numbers, or by `assigned`: for each partition its brokers."""
    made = create.CreatableTopic(
        name=TopicName(name),
        num_partitions=i32(-1 if assigned else partitions),
        replication_factor=i16(-1 if assigned else replicas),
        assignments=tuple(
            create.CreatableReplicaAssignment(
                partition_index=i32(number), broker_ids=tuple(map(BrokerId, each))
            )
            for number, each in enumerate(assigned)
        ),
        configs=(),
    )
    return create.CreateTopicsRequest(topics=(made,), timeout=TIMEOUT, validate_only=check_only)
