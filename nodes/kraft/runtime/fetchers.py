"""Replica fetchers: one loop for each broker that leads partitions which this one follows.

A fetcher asks in a fetch session (KIP-227; `sessions.py` is the other side of it), so that a
partition in which nothing happens costs nothing.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v16 import request as wire
from kio.schema.fetch.v16.response import PartitionData
from kio.schema.types import BrokerId
from kio.static.constants import uuid_zero
from kio.static.primitive import i32, i32Timedelta, i64

from nodes.kraft.ids import LeaderEpoch, Offset, PartitionIndex
from nodes.kraft.metadata.image import PartitionKey
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.net.secure import to_brokers
from nodes.kraft.partition import follower, steps
from nodes.kraft.partition.batches import InvalidBatch, replicated
from nodes.kraft.partition.state import Following
from nodes.kraft.runtime.hosted import Replicas
from nodes.kraft.runtime.planes import Plane

log: Final = logging.getLogger(__name__)

BACKOFF_S: Final = 0.1
"""How long a partition, or a leader that cannot be reached, is left alone after an error."""
GATHER_S: Final = 0.005
"""How long more partitions are waited for when one was added."""
MAX_NAMED: Final = 2000
"""Partitions in one request; the rest follows at once."""
MAX_BYTES: Final = 8 * 2**20
PARTITION_BYTES: Final = 2**20
_MAX_EPOCH: Final = 2**31 - 1

_Position: TypeAlias = tuple[LeaderEpoch, Offset, LeaderEpoch, Offset]
"""(leader epoch, offset, epoch of the last record, where the log begins on disk): where a replica
goes on."""


class Fetchers:
    """Which partition is fetched from whom."""

    def __init__(self, plane: Plane, partitions: Replicas) -> None:
        self._plane = plane
        self._partitions = partitions
        self._leaders: dict[PartitionKey, int] = {}
        self._fetchers: dict[int, _Fetcher] = {}

    def follow(self, key: PartitionKey, leader_id: BrokerId) -> None:
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
    """Fetches from one leader, in one session, one request at a time.

    `_named`: what the next request has to name. A partition of which an answer said more than
    a high watermark is named again, after an error not before some time."""

    def __init__(self, plane: Plane, partitions: Replicas, leader_id: BrokerId) -> None:
        self._plane = plane
        self._partitions = partitions
        self._leader_id = leader_id
        self._keys: dict[PartitionKey, None] = {}
        self._named: dict[PartitionKey, None] = {}
        self._forgotten: dict[PartitionKey, None] = {}
        self._put_off: dict[PartitionKey, float] = {}
        self._positions: dict[PartitionKey, _Position] = {}  # as they were named last
        self._session = (0, 0)
        self._epoch = -1
        self._wake = asyncio.Event()
        self._calling = False
        self._nudging: asyncio.Task[None] | None = None
        self._address: tuple[str, int] | None = None
        self._channels: tuple[Channel, Channel] | None = None
        self._task = plane.spawn(self._run())

    def add(self, key: PartitionKey) -> None:
        """Fetch it, or fetch it anew, from where it is now."""
        self._keys[key] = None
        self._named[key] = None
        self._put_off.pop(key, None)
        self._forgotten.pop(key, None)
        self._wake.set()
        if self._calling and (self._nudging is None or self._nudging.done()):
            self._nudging = self._plane.spawn(self._nudge())

    def remove(self, key: PartitionKey) -> None:
        self._keys.pop(key, None)
        self._named.pop(key, None)
        self._put_off.pop(key, None)
        self._positions.pop(key, None)
        self._forgotten[key] = None

    def close(self) -> None:
        self._task.cancel()
        for channel in self._channels or ():
            channel.close()

    async def _run(self) -> None:
        while True:
            if not self._keys:
                self._wake.clear()
                await self._wake.wait()
            elif not await self._fetch():
                self._restart()
                await asyncio.sleep(BACKOFF_S)

    def _restart(self) -> None:
        """Begin a new session: what the leader took of the last request is not known."""
        self._session = (0, 0)
        self._named = dict(self._keys)
        self._forgotten.clear()

    async def _nudge(self) -> None:
        """Something is to be added: make the request that waits at the leader return."""
        await asyncio.sleep(GATHER_S)
        channels = self._connected()
        if channels is None or not self._calling:
            return
        request = self._request({}, (), (0, -1), 0)
        try:
            await channels[1].call(request, self._plane.config.timing.request_timeout_ms / 1000)
        except (NotSent, FateUnknown) as error:
            log.debug("nudge of %d: %s", self._leader_id, error)

    # --- a round --------------------------------------------------------------------------

    async def _fetch(self) -> bool:
        """One request and its answer. False: it failed."""
        channels = self._connected()
        if channels is None:
            return False
        asked, forgotten, wait_ms = self._next()
        request = self._request(asked, forgotten, self._session, wait_ms)
        timeout_s = (wait_ms + self._plane.config.timing.request_timeout_ms) / 1000
        self._calling = True
        try:
            response = await channels[0].call(request, timeout_s)
        except (NotSent, FateUnknown) as error:
            log.debug("fetch from %d: %s", self._leader_id, error)
            return False
        finally:
            self._calling = False
        if response.error_code != ErrorCode.none or response.session_id == 0:
            return False  # the session is over, or the leader is fenced
        self._session = (int(response.session_id), self._session[1] % _MAX_EPOCH + 1)
        for topic in response.responses:
            for answer in topic.partitions:
                key = (topic.topic_id or uuid_zero, PartitionIndex(answer.partition_index))
                self._take(key, answer)
        return True

    def _next(self) -> tuple[dict[PartitionKey, _Position], list[PartitionKey], int]:
        """What the next request names and forgets, and how long it waits."""
        if self._epoch != self._plane.broker_epoch():
            self._epoch = self._plane.broker_epoch()
            self._restart()
        now = time.monotonic()
        for key in [key for key, after in self._put_off.items() if after <= now]:
            del self._put_off[key]
            self._named[key] = None
        keys = list(self._named)[:MAX_NAMED]
        asked = {}
        for key in keys:
            del self._named[key]
            position = self._position(key)
            if position is not None:
                asked[key] = self._positions[key] = position
        forgotten = list(self._forgotten)
        self._forgotten.clear()
        wait_ms = self._plane.config.replication.fetch_wait_ms
        if self._put_off:
            wait_ms = min(wait_ms, round(BACKOFF_S * 1000))
        return asked, forgotten, 0 if self._named else wait_ms

    def _position(self, key: PartitionKey) -> _Position | None:
        hosted = self._partitions.get(key)
        if hosted is None or not isinstance(hosted.state.role, Following):
            return None
        state, role = hosted.state, hosted.state.role
        return (role.leader_epoch, *follower.fetch_position(state), state.saved_start)

    def _take(self, key: PartitionKey, answer: PartitionData) -> None:
        """One partition's answer, to its replica."""
        hosted, position = self._partitions.get(key), self._positions.get(key)
        if key not in self._keys or hosted is None or position is None:
            return
        leader_epoch, offset, _, _ = position
        code = ErrorCode(answer.error_code)
        start_offset = Offset(answer.log_start_offset)
        event: steps.Input
        if code == ErrorCode.offset_out_of_range and start_offset >= 0:
            log.info("%s-%d begins anew at %d", *key, start_offset)
            self._named[key] = None
            event = steps.OutOfRange(leader_epoch, offset, start_offset)
        elif code != ErrorCode.none:
            log.debug("fetch of %s-%d from %d: %s", *key, self._leader_id, code.name)
            self._put_off[key] = time.monotonic() + BACKOFF_S
            return
        elif answer.diverging_epoch.epoch >= 0:
            epoch = LeaderEpoch(answer.diverging_epoch.epoch)
            end_offset = Offset(answer.diverging_epoch.end_offset)
            event = steps.Diverged(leader_epoch, offset, epoch, end_offset)
            log.info("%s-%d diverges: epoch %d ends at %d", *key, epoch, end_offset)
            self._named[key] = None
        else:
            try:
                batches = tuple(replicated(bytes(answer.records or b"")))
            except InvalidBatch as error:
                log.warning("fetch of %s-%d from %d: %s", *key, self._leader_id, error)
                self._put_off[key] = time.monotonic() + BACKOFF_S
                return
            high_watermark = Offset(answer.high_watermark)
            event = steps.Replicated(leader_epoch, offset, batches, high_watermark, start_offset)
            if batches:
                self._named[key] = None
        self._partitions.feed(key, hosted, event)

    # --- the wire -------------------------------------------------------------------------

    def _connected(self) -> tuple[Channel, Channel] | None:
        """Channels to where the leader's registration says that it is: one for fetches, which
        wait there, and one for nudges."""
        broker = self._plane.image().brokers.get(self._leader_id)
        name = self._plane.config.inter_broker_listener
        points = [] if broker is None else [each for each in broker.end_points if each.name == name]
        if not points:
            return None
        address = points[0].host, points[0].port
        if self._channels is None or address != self._address:
            for channel in self._channels or ():
                channel.close()
            self._address = address
            self._channels = self._channel(address), self._channel(address)
        return self._channels

    def _channel(self, address: tuple[str, int]) -> Channel:
        config = self._plane.config
        return Channel(*address, config.name, to_brokers(config))

    def _request(
        self,
        asked: Mapping[PartitionKey, _Position],
        forgotten: Sequence[PartitionKey],
        session: tuple[int, int],
        wait_ms: int,
    ) -> wire.FetchRequest:
        return wire.FetchRequest(
            replica_state=wire.ReplicaState(
                replica_id=BrokerId(self._partitions.broker_id),
                replica_epoch=i64(self._plane.broker_epoch()),
            ),
            max_wait=i32Timedelta.parse(datetime.timedelta(milliseconds=wait_ms)),
            min_bytes=i32(1),
            max_bytes=i32(MAX_BYTES),
            session_id=i32(session[0]),
            session_epoch=i32(session[1]),
            topics=tuple(
                wire.FetchTopic(topic_id=topic_id, partitions=tuple(partitions))
                for topic_id, partitions in _by_topic(asked).items()
            ),
            forgotten_topics_data=tuple(
                wire.ForgottenTopic(topic_id=topic_id, partitions=(i32(number),))
                for topic_id, number in forgotten
            ),
        )


def _by_topic(
    asked: Mapping[PartitionKey, _Position],
) -> dict[uuid.UUID, list[wire.FetchPartition]]:
    topics: dict[uuid.UUID, list[wire.FetchPartition]] = {}
    for (topic_id, number), (leader_epoch, offset, last_epoch, start) in asked.items():
        topics.setdefault(topic_id, []).append(
            wire.FetchPartition(
                partition=i32(number),
                current_leader_epoch=i32(leader_epoch),
                fetch_offset=i64(offset),
                last_fetched_epoch=i32(last_epoch),
                log_start_offset=i64(start),
                partition_max_bytes=i32(PARTITION_BYTES),
            )
        )
    return topics
