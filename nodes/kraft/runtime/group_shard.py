"""One partition of `__consumer_offsets` that this broker leads: its core, its log, its clock."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from collections.abc import Callable, Container, Coroutine
from dataclasses import dataclass
from typing import Final, Protocol, cast

import tenacity
from kio.schema.errors import ErrorCode

from nodes.kraft.group import core
from nodes.kraft.group.config import OFFSETS_TOPIC, GroupConfig
from nodes.kraft.group.records import decode_changes, encode_changes
from nodes.kraft.group.state import State
from nodes.kraft.group.steps import (
    Answer,
    Append,
    Ask,
    Change,
    Input,
    Request,
    RequestReceived,
    Resign,
    Result,
    ResultT,
    Tick,
    TopicsGone,
    Written,
)
from nodes.kraft.ids import LOG_START, Offset, PartitionIndex
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.partitions import NotLeader

log: Final = logging.getLogger(__name__)

APPEND_TIMEOUT_MS: Final = 5000
"""Kafka's default of offsets.commit.timeout.ms."""
RETRY_S: Final = 0.05
"""How long to wait before the partition is asked again: for replicas to come, mostly."""
ALL: Final = -1


class Appended(Protocol):
    """The end of an append: where its first record is, and where the log begins."""

    @property
    def error(self) -> ErrorCode: ...
    @property
    def base_offset(self) -> Offset: ...
    @property
    def log_start(self) -> Offset: ...


class PartitionService(Protocol):
    """What groups need of `runtime.partitions.Partitions`."""

    async def append(
        self,
        topic_id: uuid.UUID,
        partition: PartitionIndex,
        records: bytes,
        acks: int,
        timeout_ms: int,
    ) -> Appended: ...

    def read_committed(
        self, topic_id: uuid.UUID, partition: PartitionIndex, from_offset: Offset
    ) -> bytes: ...

    def watch(self, callback: Callable[[uuid.UUID, PartitionIndex, bool, int], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Led:
    """A partition of the topic, and the epoch in which this broker leads it."""

    topic_id: uuid.UUID
    partition: PartitionIndex
    leader_epoch: int


class Shard:
    """The coordinator of the groups of one partition, from `load` to `resign`."""

    def __init__(
        self,
        led: Led,
        config: GroupConfig,
        partitions: PartitionService,
        spawn: Callable[[Coroutine[object, object, None]], object],
        topics: Callable[[], Container[str]],
    ) -> None:
        self.led = led
        self.state: State | None = None  # None while it loads
        self._config = config
        self._partitions = partitions
        self._spawn = spawn
        self._topics = topics
        self._resigned = False
        self._missed: list[Container[str]] = []  # while it loaded
        self._tokens = itertools.count()
        self._waiting: dict[int, Callable[[Result], None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    # --- beginning and end ----------------------------------------------------------------

    async def load(self) -> None:
        """Read what the partition holds, then serve.

        A record of our own epoch goes first: when it is committed, so is all that an earlier
        leader may have acknowledged, and no earlier leader acknowledges anything any more.
        """
        try:
            await self._load()
        except NotLeader:
            log.info("%s: another broker leads it meanwhile", self)

    async def _load(self) -> None:
        end_offset, offset = await self._mark()
        state = core.initial(self._config)
        while offset < end_offset and not self._resigned:
            data = self._partitions.read_committed(self.led.topic_id, self.led.partition, offset)
            decoded = decode_changes(data)
            if decoded.unreadable:
                log.warning("%s: no records of ours: offsets %s", self, decoded.unreadable)
            if decoded.end_offset is None:  # nothing to read at the moment
                await asyncio.sleep(RETRY_S)
                continue
            state = core.replay(state, decoded.changes)
            offset = Offset(decoded.end_offset)
            await asyncio.sleep(0)
        if not self._resigned:
            self.state = core.activate(state, now_ms())
            log.info("%s: coordinates %d groups", self, len(state.groups))
            self._arm()
            for known in (*self._missed, self._topics()):
                self.forget_topics(known)
            self._missed.clear()

    async def _mark(self) -> tuple[Offset, Offset]:
        """Commit a record that changes nothing; the offset behind it, and the log's start."""

        async def attempt() -> Appended | None:
            return None if self._resigned else await self._append(_records(()))

        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(_failed),
            wait=tenacity.wait_fixed(RETRY_S),
            before_sleep=lambda _: log.debug("%s: loading waits", self),
        )
        appended: Appended | None = await attempts(attempt)
        if appended is None:
            return LOG_START, LOG_START
        return Offset(appended.base_offset + 1), appended.log_start

    def resign(self) -> None:
        """Serve no more; everybody who waits is sent to the next coordinator."""
        if self.state is not None:
            self.feed(Resign())
        self._resigned = True
        if self._timer is not None:
            self._timer.cancel()

    def __str__(self) -> str:
        return f"{OFFSETS_TOPIC}-{self.led.partition} (epoch {self.led.leader_epoch})"

    # --- the core -------------------------------------------------------------------------

    def ask(self, request: Ask[ResultT], answer: Callable[[ResultT], None]) -> None:
        """A client's request; `answer` is called once, now or later. Loaded shards only."""
        token = next(self._tokens)
        self._waiting[token] = cast("Callable[[Result], None]", answer)
        self.feed(RequestReceived(token, cast("Request", request)))

    def feed(self, event: Input) -> None:
        assert self.state is not None
        self.state, effects = core.step(self.state, event, now_ms())
        for effect in effects:
            match effect:
                case Append(write, changes):
                    self._spawn(self._write(write, changes))
                case Answer(token, result):
                    self._waiting.pop(token)(result)
        self._arm()

    def forget_topics(self, known: Container[str]) -> None:
        """Drop the offsets of topics that there are no more; `known`: those that there are."""
        if self.state is None:
            self._missed.append(known)
        else:
            gone = frozenset(name for name in core.topics_of(self.state) if name not in known)
            if gone:
                self.feed(TopicsGone(gone))

    async def _write(self, write: int, changes: tuple[Change, ...]) -> None:
        error, offset = ErrorCode.unknown_server_error, -1
        try:
            records = _records(changes)
        except Exception as why:  # a request has room for longer names than a record
            log.warning("%s: what no record can hold: %s", self, why)
        else:
            appended = await self._append(records)
            error, offset = appended.error, appended.base_offset
        if not self._resigned:
            self.feed(Written(write, error, offset))

    async def _append(self, records: bytes) -> Appended:
        return await self._partitions.append(
            self.led.topic_id, self.led.partition, records, ALL, APPEND_TIMEOUT_MS
        )

    # --- time -----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Set the timer to the core's deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._resigned or self.state is None:
            return
        due_ms = core.deadline_ms(self.state)
        if due_ms is not None:
            wait_s = max(0, due_ms - now_ms()) / 1000 + 0.0005
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._tick)

    def _tick(self) -> None:
        self._spawn(self._ticked())  # where that fails, the node stops

    async def _ticked(self) -> None:
        if not self._resigned:
            self.feed(Tick())


def _failed(appended: Appended | None) -> bool:
    return appended is not None and appended.error != ErrorCode.none


def _records(changes: tuple[Change, ...]) -> bytes:
    return encode_changes(changes, time.time_ns() // 1_000_000)
