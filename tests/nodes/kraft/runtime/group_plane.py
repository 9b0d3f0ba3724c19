"""A data plane and a partition service by hand, for the services on top of them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kio.records.readers import read_batch
from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from replica_harness import config_of

from nodes.kraft.controller.answers import make
from nodes.kraft.group.config import OFFSETS_TOPIC
from nodes.kraft.metadata.image import EMPTY, Image, apply
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.partitions import NotLeader
from nodes.kraft.wire.codec import request_schema
from nodes.kraft.wire.records import (
    BrokerRecord,
    EndPoint,
    PartitionRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

TOPIC_ID = uuid.UUID(int=7)
ME = 4


def image_of(*topics: tuple[str, int], brokers: int = 3, leader: int = ME) -> Image:
    """Active brokers from `ME` on, and topics of that many partitions, all led by one."""
    records: list[Any] = []
    for broker_id in range(ME, ME + brokers):
        point = EndPoint(name="CLIENT", host=f"h{broker_id}", port=9092, security_protocol=0)
        records.append(
            BrokerRecord(
                broker_id=broker_id, broker_epoch=len(records), end_points=(point,), rack=None
            )
        )
        records.append(UnfenceBrokerRecord(broker_id=broker_id, broker_epoch=len(records) - 1))
    for name, partitions in topics:
        topic_id = TOPIC_ID if name == OFFSETS_TOPIC else uuid.uuid5(uuid.NAMESPACE_DNS, name)
        records.append(TopicRecord(name=name, topic_id=topic_id, deleting=False))
        records += [
            PartitionRecord(
                partition_id=number,
                topic_id=topic_id,
                replicas=(leader,),
                isr=(leader,),
                leader=leader,
                leader_epoch=0,
            )
            for number in range(partitions)
        ]
    image = EMPTY
    for offset, record in enumerate(records):
        image = apply(image, record, offset)
    return image


class FakePlane:
    """`runtime.planes.Plane`: answers are in `replies`, in the order of `ask`."""

    def __init__(self, directory: Path, image: Image, **settings: str) -> None:
        self.config = config_of(directory, ME, 3, **settings)
        self.watchers: list[Any] = []
        self.now = image
        self.active = True
        self.leader = 1
        self.epoch = 9
        self.denied: set[tuple[int, int, str]] = set()
        self.tasks: list[asyncio.Task[None]] = []

    def serving(self) -> bool:
        return self.active

    def image(self) -> Image:
        return self.now

    def leader_id(self) -> int:
        return self.leader

    def broker_epoch(self) -> int:
        return self.epoch

    def allowed(self, context: Any, operation: int, resource_type: int, name: str) -> bool:
        return (int(operation), int(resource_type), name) not in self.denied

    def reply(self, context: RequestContext, response: Any | None) -> None:
        context.answer(response)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.append(task)
        return task

    def emit(self, type: str, **fields: Any) -> None: ...

    async def settle(self) -> None:
        """Let everything go on that waits for nothing but its turn."""
        for _ in range(20):
            await asyncio.sleep(0)
        for task in self.tasks:
            if task.done():
                task.result()


def ask(service: Any, key: int, version: int, /, **values: Any) -> asyncio.Future[Any]:
    """A client's request to a service; the answer."""
    request = make(request_schema(key, version), **values)
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=1, client_id="c"
    )
    service.handlers()[key](RequestContext("CLIENT", "peer", header, request, answer.set_result))
    return answer


@dataclass(frozen=True)
class Appended:
    error: ErrorCode
    base_offset: int = -1
    log_start: int = 0


class FakePartitions:
    """Logs by partition; `error` is told of appends, `held` keeps them waiting."""

    def __init__(self) -> None:
        self.logs: dict[int, list[bytes]] = {}
        self.led: set[int] = set()
        self.error = ErrorCode.none
        self.held: asyncio.Event | None = None
        self._watches: list[Callable[[uuid.UUID, int, bool, int], None]] = []
        self.epoch = 0

    def watch(self, callback: Callable[[uuid.UUID, int, bool, int], None]) -> None:
        self._watches.append(callback)

    def lead(self, *partitions: int, leads: bool = True) -> None:
        self.epoch += 1
        for number in partitions:
            (self.led.add if leads else self.led.discard)(number)
            for watch in self._watches:
                watch(TOPIC_ID, number, leads, self.epoch)

    async def append(
        self, topic_id: uuid.UUID, partition: int, records: bytes, acks: int, timeout_ms: int
    ) -> Appended:
        assert acks == -1
        if partition not in self.led:
            return Appended(ErrorCode.not_leader_or_follower)
        log = self.logs.setdefault(partition, [])
        base_offset = sum(read_batch(each, 0)[0].last_offset_delta + 1 for each in log)
        log.append(base_offset.to_bytes(8, "big") + records[8:])
        if self.held is not None:
            await self.held.wait()
        return Appended(self.error, base_offset)

    def read_committed(self, topic_id: uuid.UUID, partition: int, from_offset: int) -> bytes:
        """One batch at a time."""
        if partition not in self.led:
            raise NotLeader
        for data in self.logs.get(partition, []):
            if int.from_bytes(data[:8], "big") >= from_offset:
                return data
        return b""
