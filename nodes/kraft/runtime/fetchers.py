"""Replica fetchers: one loop for each broker that leads partitions which this one follows."""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v16 import request as wire
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i32Timedelta, i64

from nodes.kraft.metadata.image import PartitionKey
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.net.secure import to_brokers
from nodes.kraft.partition import follower, steps
from nodes.kraft.partition.batches import InvalidBatch, replicated
from nodes.kraft.partition.state import Following
from nodes.kraft.runtime.planes import Plane

if TYPE_CHECKING:
    from nodes.kraft.runtime.partitions import Hosted, Partitions

log: Final = logging.getLogger(__name__)

BACKOFF_S: Final = 0.1
"""How long a partition, or a leader that cannot be reached, is left alone after an error."""
GATHER_S: Final = 0.005
"""How long more partitions are waited for when one was added."""
MAX_BYTES: Final = 8 * 2**20
PARTITION_BYTES: Final = 2**20


class Fetchers:
    """Which partition is fetched from whom."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions
        self._leaders: dict[PartitionKey, int] = {}
        self._fetchers: dict[int, _Fetcher] = {}

    def follow(self, key: PartitionKey, leader_id: int) -> None:
        """Fetch a partition from that broker from now on; -1: from none."""
        before = self._leaders.get(key, -1)
        if before >= 0 and before != leader_id:
            self._fetchers[before].remove(key)
        if leader_id < 0:
            self._leaders.pop(key, None)
            return
        self._leaders[key] = leader_id
        if leader_id not in self._fetchers:
            self._fetchers[leader_id] = _Fetcher(self._plane, self._partitions, leader_id)
        self._fetchers[leader_id].add(key)

    def close(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.close()


class _Fetcher:
    """Fetches from one leader, all its partitions in one request, one request at a time."""

    def __init__(self, plane: Plane, partitions: Partitions, leader_id: int) -> None:
        self._plane = plane
        self._partitions = partitions
        self._leader_id = leader_id
        self._after: dict[PartitionKey, float] = {}  # not before this time
        self._wake = asyncio.Event()
        self._address: tuple[str, int] | None = None
        self._channel: Channel | None = None
        self._calling: asyncio.Task[Any] | None = None
        self._task = plane.spawn(self._run())

    def add(self, key: PartitionKey) -> None:
        """Fetch it, at once: a request that waits at the leader without it is given up."""
        self._after[key] = 0.0
        if not self._wake.is_set():
            self._wake.set()
            asyncio.get_running_loop().call_later(GATHER_S, self._interrupt)

    def remove(self, key: PartitionKey) -> None:
        self._after.pop(key, None)

    def close(self) -> None:
        self._task.cancel()
        self._interrupt()
        if self._channel is not None:
            self._channel.close()

    def _interrupt(self) -> None:
        if self._calling is not None:
            self._calling.cancel()

    async def _run(self) -> None:
        while True:
            now = time.monotonic()
            ready = [key for key, after in self._after.items() if after <= now]
            if not ready:
                await self._rest(now)
            elif not await self._fetch(ready):
                await asyncio.sleep(BACKOFF_S)

    async def _rest(self, now: float) -> None:
        """Until a partition is added, or one that failed is to be tried again."""
        self._wake.clear()
        soonest = min(self._after.values(), default=None)
        try:
            async with asyncio.timeout(None if soonest is None else max(0.0, soonest - now)):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _fetch(self, keys: list[PartitionKey]) -> bool:
        """One round. False: the leader could not be asked."""
        channel = self._connected()
        asked = self._positions(keys)
        if channel is None or not asked:
            return False
        settings = self._plane.config.replication
        request = _request(
            self._partitions.broker_id, self._plane.broker_epoch(), asked, settings.fetch_wait_ms
        )
        self._wake.clear()
        timeout_s = (settings.fetch_wait_ms + self._plane.config.timing.request_timeout_ms) / 1000
        self._calling = asyncio.ensure_future(channel.call(request, timeout_s))
        try:
            response = await self._calling
        except (NotSent, FateUnknown) as error:
            log.debug("fetch from %d: %s", self._leader_id, error)
            return False
        except asyncio.CancelledError:
            if not self._calling.cancelled() or self._task.cancelling():
                raise
            return True
        finally:
            self._calling = None
        if response.error_code != ErrorCode.none:
            return False
        for topic in response.responses:
            for answer in topic.partitions:
                key = (topic.topic_id, int(answer.partition_index))
                if key in asked:
                    self._take(key, asked[key], answer)
        return True

    def _positions(self, keys: list[PartitionKey]) -> dict[PartitionKey, _Position]:
        found = {}
        for key in keys:
            hosted = self._partitions.get(key)
            if hosted is not None and isinstance(hosted.state.role, Following):
                offset, last_epoch = follower.fetch_position(hosted.state)
                found[key] = (hosted, hosted.state.role.leader_epoch, offset, last_epoch)
        return found

    def _take(self, key: PartitionKey, asked: _Position, answer: Any) -> None:
        """One partition's answer, to the replica that asked."""
        hosted, leader_epoch, offset, _ = asked
        if self._partitions.get(key) is not hosted:
            return
        code = ErrorCode(answer.error_code)
        if code != ErrorCode.none:
            log.debug("fetch of %s-%d from %d: %s", *key, self._leader_id, code.name)
            self._put_off(key)
            return
        if answer.diverging_epoch.epoch >= 0:
            epoch, end_offset = answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset
            event: steps.Input = steps.Diverged(leader_epoch, offset, int(epoch), int(end_offset))
            log.info("%s-%d diverges: epoch %d ends at %d", *key, epoch, end_offset)
        else:
            try:
                batches = tuple(replicated(bytes(answer.records or b"")))
            except InvalidBatch as error:
                log.warning("fetch of %s-%d from %d: %s", *key, self._leader_id, error)
                self._put_off(key)
                return
            event = steps.Replicated(leader_epoch, offset, batches, int(answer.high_watermark))
        self._partitions.feed(key, hosted, event)

    def _put_off(self, key: PartitionKey) -> None:
        if key in self._after:
            self._after[key] = time.monotonic() + BACKOFF_S

    def _connected(self) -> Channel | None:
        """A channel to where the leader's registration says that it is."""
        broker = self._plane.image().brokers.get(self._leader_id)
        name = self._plane.config.inter_broker_listener
        points = [] if broker is None else [each for each in broker.end_points if each.name == name]
        if not points:
            return None
        address = points[0].host, points[0].port
        if self._channel is None or address != self._address:
            if self._channel is not None:
                self._channel.close()
            self._address = address
            security = to_brokers(self._plane.config)
            self._channel = Channel(*address, self._plane.config.name, security)
        return self._channel


_Position = tuple["Hosted", int, int, int]
"""(replica, leader epoch, offset, epoch of its last record): as they were when it asked."""


def _request(
    broker_id: int, broker_epoch: int, asked: dict[PartitionKey, _Position], wait_ms: int
) -> wire.FetchRequest:
    topics: dict[uuid.UUID, list[wire.FetchPartition]] = {}
    for (topic_id, number), (_, leader_epoch, offset, last_epoch) in asked.items():
        topics.setdefault(topic_id, []).append(
            wire.FetchPartition(
                partition=i32(number),
                current_leader_epoch=i32(leader_epoch),
                fetch_offset=i64(offset),
                last_fetched_epoch=i32(last_epoch),
                log_start_offset=i64(0),
                partition_max_bytes=i32(PARTITION_BYTES),
            )
        )
    return wire.FetchRequest(
        replica_state=wire.ReplicaState(
            replica_id=BrokerId(broker_id), replica_epoch=i64(broker_epoch)
        ),
        max_wait=i32Timedelta.parse(datetime.timedelta(milliseconds=wait_ms)),
        min_bytes=i32(1),
        max_bytes=i32(MAX_BYTES),
        topics=tuple(
            wire.FetchTopic(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in topics.items()
        ),
        forgotten_topics_data=(),
    )
