"""The partitions that a broker has replicas of: carries out what their cores decide.

Everything here runs on the data loop. What the metadata says is followed in slices, so that
10,000 partitions that come at once do not hold up the loop; a partition that nothing was ever
written to is a small object, without a file.
"""

from __future__ import annotations

import asyncio
import datetime
import itertools
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from kio.schema.errors import ErrorCode

from nodes.kraft.broker.lifecycle import Transition
from nodes.kraft.ids import LOG_START, NO_OFFSET, BrokerId, Offset, PartitionIndex
from nodes.kraft.metadata.config_keys import topic_number
from nodes.kraft.metadata.image import EMPTY, Image, PartitionKey
from nodes.kraft.partition import core, leader, steps
from nodes.kraft.partition.batches import Batch, InvalidBatch, produced
from nodes.kraft.partition.state import (
    Following,
    Leading,
    PartitionState,
    ReplicaConfig,
    recovered,
)
from nodes.kraft.runtime.changes import Changes
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.fetchers import Fetchers
from nodes.kraft.runtime.hosted import Change, Hosted
from nodes.kraft.runtime.isr import IsrChanges
from nodes.kraft.runtime.log_starts import LogStarts
from nodes.kraft.runtime.partition_events import PartitionEvents, Shown, shown
from nodes.kraft.runtime.planes import Plane, Service
from nodes.kraft.storage.partition_checkpoint import HIGH_WATERMARKS, Checkpoint, CleanShutdown
from nodes.kraft.storage.partition_files import Files
from nodes.kraft.storage.partition_log import PartitionLog, directory_of, partition_of

log: Final = logging.getLogger(__name__)

SLICE_S: Final = 0.02
"""How long the loop is held at a time while many partitions change."""
TICK_S: Final = 0.05
CHECKPOINT_S: Final = 5.0
REFUSED_S: Final = 1.0
"""How long an ISR that the controller refused is not proposed again."""
MAX_TIMEOUT_MS: Final = 600_000

NOTHING: Final = PartitionState()
LeaderWatch: TypeAlias = Callable[[uuid.UUID, PartitionIndex, bool, int], None]


class NotLeader(Exception):
    """This broker does not lead the partition."""


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of an append. `base_offset` -1: nothing was appended as far as is told."""

    error: ErrorCode
    base_offset: Offset = NO_OFFSET
    log_start: Offset = LOG_START


def patience_ms(timeout: datetime.timedelta) -> int:
    """How long whoever asks partitions waits for their answers, as a request says it."""
    return max(0, min(round(timeout.total_seconds() * 1000), MAX_TIMEOUT_MS))


class Partitions(Service):
    """All replicas of this broker. Other parts of the data plane append and read through it."""

    def __init__(self, plane: Plane, changes: Changes) -> None:
        assert plane.config.broker_id is not None
        self._plane = plane
        self._changes = changes
        self.broker_id = BrokerId(plane.config.broker_id)
        settings = plane.config.replication
        self._core = ReplicaConfig(self.broker_id, settings.lag_max_ms)
        self._root = plane.config.log_dir / "partitions"
        self._files = Files()
        self._checkpoint = Checkpoint(plane.config.log_dir, HIGH_WATERMARKS)
        self._starts = LogStarts(plane, self._root, self._start_saved)
        self._clean_mark = CleanShutdown(plane.config.log_dir)
        self._clean = False
        self._checkpointed: dict[PartitionKey, Offset] = {}
        self._saved: dict[PartitionKey, Offset] = {}
        self._on_disk: set[PartitionKey] = set()
        self._unchecked: set[PartitionKey] = set()  # logs of an unclean shutdown, not opened yet
        self._hosted: dict[PartitionKey, Hosted] = {}
        self._image: Image = EMPTY
        self._acting = False
        self._failed = False
        # Its first item costs the same however many there were before, which a dict's does not.
        self._due: OrderedDict[PartitionKey, None] = OrderedDict()
        self._slicing: asyncio.Task[None] | None = None
        self._waited_for: set[PartitionKey] = set()  # by clients
        self._lagging: set[PartitionKey] = set()  # a member of the ISR is not at the end
        self._small: dict[PartitionKey, float] = {}  # an ISR that may grow: when to look at it
        self._leader_watches: list[LeaderWatch] = []
        self._change_watches: list[Callable[[PartitionKey, Change], None]] = []
        self._tokens = itertools.count(1)
        self._answers: dict[int, Callable[[steps.Answer], None]] = {}
        self._deletes: dict[int, Callable[[steps.Deleted], None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._events = PartitionEvents(plane.emit)
        self.isr = IsrChanges(plane, self._isr_answered)
        self.fetchers = Fetchers(plane, self)

    # --- life -----------------------------------------------------------------------------

    async def start(self) -> None:
        """See what is on disk. Logs are opened when the metadata says what they are."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._clean = self._clean_mark.take()
        self._checkpointed = self._checkpoint.load()
        self._saved = dict(self._checkpointed)
        self._starts.load()
        self._on_disk = {key for each in self._root.iterdir() if (key := partition_of(each))}
        self._unchecked = set() if self._clean else set(self._on_disk)
        self._tasks = [self._plane.spawn(self._tick()), self._plane.spawn(self._save_often())]
        self.isr.start()

    async def close(self) -> None:
        """Sync what was written; only then is the shutdown a clean one. Without a start nothing
        is known of what is on disk, and nothing of it changes."""
        if not self._tasks:
            return
        for task in (*self._tasks, *([self._slicing] if self._slicing else ())):
            task.cancel()
        self.isr.close()
        self.fetchers.close()
        await self._starts.close()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._files.sync)
        await loop.run_in_executor(None, self._checkpoint.save, self._high_watermarks())
        self._files.close()
        if not self._unchecked and not self._failed:
            self._clean_mark.put()

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(CHECKPOINT_S)
            offsets = self._high_watermarks()
            if offsets != self._saved:
                await asyncio.get_running_loop().run_in_executor(
                    None, self._checkpoint.save, offsets
                )
                self._saved = offsets

    def _high_watermarks(self) -> dict[PartitionKey, Offset]:
        """Of the partitions that have one, also of those not opened yet."""
        found = dict(self._checkpointed)
        for key, hosted in self._hosted.items():
            if hosted.state.high_watermark:
                found[key] = hosted.state.high_watermark
        return found

    # --- metadata -------------------------------------------------------------------------

    def committed(self, end_offset: int, image: Image) -> None:
        before, self._image = self._image, image
        if image.brokers is not before.brokers:
            self._look_at_small()
        touched = self._changes.take(end_offset)
        if not self._acting:
            self._act_if_registered()
        elif touched is None:
            self._look_at_all()
        else:
            self._look_at(touched)

    def moved(self, transition: Transition) -> None:
        self._act_if_registered()

    def _act_if_registered(self) -> None:
        """An image from before our own registration may be about our life before (A.3.15)."""
        epoch = self._plane.broker_epoch()
        broker = self._image.brokers.get(self.broker_id)
        if not self._acting and broker is not None and epoch >= 0 and broker.epoch == epoch:
            self._acting = True
            self._look_at_all()

    def _look_at_small(self) -> None:
        """A broker came or went: who has come up before may join an ISR now."""
        for key, hosted in self._hosted.items():
            role = hosted.leading()
            if role is not None and len(role.isr) < len(role.replicas):
                self._small[key] = 0.0

    def _look_at_all(self) -> None:
        ours = {
            key: None
            for key, partition in self._image.partitions.items()
            if self.broker_id in partition.replicas
        }
        self._look_at({*ours, *self._hosted, *self._on_disk})

    def _look_at(self, keys: set[PartitionKey]) -> None:
        self._due |= dict.fromkeys(keys)
        if self._due and (self._slicing is None or self._slicing.done()):
            self._slice()
            if self._due:
                self._slicing = self._plane.spawn(self._slices())

    async def _slices(self) -> None:
        while self._due:
            await asyncio.sleep(0)
            self._slice()

    def _slice(self) -> None:
        end = time.monotonic() + SLICE_S
        while self._due and time.monotonic() < end:
            key, _ = self._due.popitem(last=False)
            self._reconcile(key)

    def _reconcile(self, key: PartitionKey) -> None:
        """Make a replica be what the newest image says."""
        partition = self._image.partitions.get(key)
        if partition is not None and self.broker_id not in partition.replicas:
            partition = None
        hosted = self._hosted.get(key)
        if hosted is None:
            if partition is None:
                self._delete_files(key)
                return
            hosted = self._open(key)
        self.feed(key, hosted, steps.Assigned(partition))
        if partition is None:
            del self._hosted[key]
            self._on_disk.discard(key)
            self._checkpointed.pop(key, None)
            self._starts.forget(key)
            if hosted.log is not None:
                hosted.log.delete()

    def _open(self, key: PartitionKey) -> Hosted:
        """The replica, with what is on disk of it."""
        self._unchecked.discard(key)
        on_disk = key in self._on_disk
        written = on_disk or self._starts.of(key)  # a log that begins later may hold nothing
        log = self._open_log(key, exists=on_disk) if written else None
        checkpoint = self._checkpointed.pop(key, LOG_START)
        state = NOTHING if log is None else recovered(log.recovered, checkpoint)
        hosted = self._hosted[key] = Hosted(state, log)
        return hosted

    def _open_log(self, key: PartitionKey, *, exists: bool) -> PartitionLog:
        return PartitionLog(
            self._files,
            directory_of(self._root, *key),
            segment_bytes=self.number(key[0], "segment.bytes"),
            check=not self._clean,
            exists=exists,
            start_offset=self._starts.of(key),
        )

    def _delete_files(self, key: PartitionKey) -> None:
        """Of a partition that is gone, or not ours any more."""
        self._starts.forget(key)
        if key in self._on_disk:
            self._on_disk.discard(key)
            self._unchecked.discard(key)
            self._checkpointed.pop(key, None)
            PartitionLog(self._files, directory_of(self._root, *key), exists=False).delete()

    # --- the cores ------------------------------------------------------------------------

    def feed(self, key: PartitionKey, hosted: Hosted, event: steps.Input) -> None:
        """Give a replica's core an input, and carry out what it decides. Where that cannot be
        done the node stops: the core takes it for done. Raises what was in the way."""
        if self._failed:
            raise RuntimeError("the node stops: a partition failed")
        before = hosted.state
        try:
            hosted.state, effects = core.step(self._core, before, event, now_ms())
            for effect in effects:
                self._carry_out(key, hosted, effect, before.high_watermark)
            if hosted.state is not before:
                self._observe(key, hosted, before)
        except Exception as error:
            self._give_up(error)
            raise

    def _give_up(self, error: Exception) -> None:
        self._failed = True
        self._plane.spawn(_raise(error))  # whose failure stops the node

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around what reads logs. Where the disk fails the node stops: others may lead what this
        broker cannot show."""
        try:
            yield
        except OSError as error:
            self._give_up(error)
            raise

    def _carry_out(
        self, key: PartitionKey, hosted: Hosted, effect: steps.Effect, committed: Offset
    ) -> None:
        match effect:
            case steps.Append(batch, leads):
                if hosted.log is None:
                    hosted.log = self._open_log(key, exists=False)
                hosted.log.append(batch)
                self._events.appended(key, batch, leads=leads)
            case steps.Truncate(end_offset):
                assert hosted.log is not None
                if end_offset < committed:  # by no error of its own
                    log.warning("%s-%d truncated to %d, below what was committed", *key, end_offset)
                producers = hosted.log.truncate(end_offset)
                self._events.truncated(key, end_offset)
                self.feed(key, hosted, steps.Reread(producers))
            case steps.Restart(start_offset):
                if hosted.log is None:
                    hosted.log = self._open_log(key, exists=False)
                hosted.log.restart(start_offset)
                self._events.began(key, start_offset, dropped=True)
            case steps.SaveStart(start_offset):
                self._starts.save(key, start_offset)
            case steps.DropBelow(start_offset):
                if hosted.log is not None:
                    hosted.log.drop_below(start_offset)
            case steps.Answer(token):
                answer = self._answers.pop(token, None)
                if answer is not None:
                    answer(effect)
            case steps.Deleted(token):
                self._deletes.pop(token)(effect)
            case steps.Propose(proposal):
                self.isr.propose(key, proposal)

    def _observe(self, key: PartitionKey, hosted: Hosted, before: PartitionState) -> None:
        """Tell of what changed: events, fetchers, watches, and those who wait."""
        after = hosted.state
        was, now = shown(before), shown(after)
        if was != now:
            self._role_changed(key, was, now)
        moved = before.high_watermark != after.high_watermark
        begins_later = before.log.start_offset != after.log.start_offset
        if before.saved_start != after.saved_start:
            self._events.began(key, after.saved_start, dropped=False)
            if isinstance(after.role, Following):  # its leader waits to hear of that
                self.fetchers.follow(key, after.role.leader_id)
        if isinstance(after.role, Leading):
            if moved:
                self._events.high_watermark(key, after.high_watermark, now.leader_epoch)
            self._look_after(key, before, after, after.role)
        grown = before.log.end_offset != after.log.end_offset
        if moved or grown or begins_later or was != now:
            log_changed = grown or begins_later or was != now
            change = Change.LOG if log_changed else Change.HIGH_WATERMARK
            for watch in self._change_watches:
                watch(key, change)
            for waiter in list(hosted.waiters or ()):
                waiter()

    def _look_after(
        self, key: PartitionKey, before: PartitionState, after: PartitionState, role: Leading
    ) -> None:
        """Note what a leader has to be ticked for."""
        if leader.waited_for(after):
            self._waited_for.add(key)
        if key not in self._lagging and leader.lagging(after):
            self._lagging.add(key)
        decided = leader.proposes(before) and role.pending is None
        if decided and len(role.isr) < len(role.replicas):
            refused = shown(before).partition_epoch == role.partition_epoch
            self._small[key] = time.monotonic() + (REFUSED_S if refused else 0.0)

    def _role_changed(self, key: PartitionKey, was: Shown, now: Shown) -> None:
        topic = self._image.topics.get(key[0])
        self._events.role(key, topic.name if topic is not None else None, now)
        if (was.role, was.leader_id, was.leader_epoch) == (
            now.role,
            now.leader_id,
            now.leader_epoch,
        ):
            return
        self.fetchers.follow(key, now.leader_id)
        leads = now.role == "leader"
        if leads or was.role == "leader":
            for watch in self._leader_watches:
                watch(*key, leads, now.leader_epoch)

    def _start_saved(self, key: PartitionKey, offset: Offset) -> None:
        hosted = self._hosted.get(key)
        if hosted is not None:
            self.feed(key, hosted, steps.StartSaved(offset))

    def _isr_answered(self, key: PartitionKey, event: steps.IsrAnswered) -> None:
        hosted = self._hosted.get(key)
        if hosted is not None:
            self.feed(key, hosted, event)

    async def _tick(self) -> None:
        """Soon for those who wait, and for an ISR that may grow; rarely for those who lag."""
        lag_s = self._core.lag_max_ms / 2000
        lagging_at = time.monotonic() + lag_s
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            due = {key for key, at in self._small.items() if at <= now}
            for key in due:
                del self._small[key]
            due |= self._waited_for
            if now >= lagging_at:
                lagging_at = now + lag_s
                due |= self._lagging
            await self._tick_all(due)

    async def _tick_all(self, keys: set[PartitionKey]) -> None:
        event, end = steps.Tick(self._active()), time.monotonic() + SLICE_S
        for key in keys:
            hosted = self._hosted.get(key)
            if hosted is not None:
                self.feed(key, hosted, event)
            if hosted is None or not leader.waited_for(hosted.state):
                self._waited_for.discard(key)
            if hosted is None or not leader.lagging(hosted.state):
                self._lagging.discard(key)
            if time.monotonic() >= end:
                await asyncio.sleep(0)
                event, end = steps.Tick(self._active()), time.monotonic() + SLICE_S

    def _active(self) -> dict[int, int]:
        brokers = self._image.brokers.items()
        return {ident: broker.epoch for ident, broker in brokers if not broker.fenced}

    # --- for the rest of the data plane ---------------------------------------------------

    def get(self, key: PartitionKey) -> Hosted | None:
        """The replica here; None: there is none."""
        return self._hosted.get(key)

    def number(self, topic_id: uuid.UUID, name: str) -> int:
        """A topic's configuration that is a whole number."""
        topic = self._image.topics.get(topic_id)
        return topic_number(self._image, topic.name if topic else "", name, self.broker_id)

    def watch(self, callback: LeaderWatch) -> None:
        """Call `callback(topic_id, partition, leads, leader_epoch)` at each change of
        leadership here; at once for what this broker leads already."""
        self._leader_watches.append(callback)
        for (topic_id, number), hosted in self._hosted.items():
            role = hosted.leading()
            if role is not None:
                callback(topic_id, number, True, role.leader_epoch)

    def on_change(self, callback: Callable[[PartitionKey, Change], None]) -> None:
        """Call `callback` at each change of any partition here."""
        self._change_watches.append(callback)

    def replicas(self) -> Iterator[tuple[PartitionKey, Hosted]]:
        """All replicas of this broker that are open."""
        yield from self._hosted.items()

    def produce(
        self,
        key: PartitionKey,
        records: bytes | None,
        acks: int,
        timeout_ms: int,
        answer: Callable[[steps.Answer], None],
    ) -> None:
        """Append a producer's batch; `answer` is called once, now or when it is replicated."""
        hosted = self._hosted.get(key)
        token = next(self._tokens)
        if hosted is None:
            answer(steps.Answer(token, ErrorCode.not_leader_or_follower))
            return
        try:
            batch: Batch = produced(records, self.number(key[0], "max.message.bytes"))
        except InvalidBatch as error:
            answer(steps.Answer(token, error.code))
            return
        self._answers[token] = answer
        event = steps.Produce(
            token, batch, acks, self.number(key[0], "min.insync.replicas"), now_ms() + timeout_ms
        )
        self.feed(key, hosted, event)

    def delete_records(
        self,
        key: PartitionKey,
        before: Offset,
        timeout_ms: int,
        answer: Callable[[steps.Deleted], None],
    ) -> None:
        """Let a log begin at `before`; `answer` is called once, now or when it does on all that
        are in sync."""
        hosted = self._hosted.get(key)
        token = next(self._tokens)
        if hosted is None:
            answer(steps.Deleted(token, ErrorCode.not_leader_or_follower))
            return
        self._deletes[token] = answer
        self.feed(key, hosted, steps.DeleteRecords(token, before, now_ms() + timeout_ms))

    async def append(
        self,
        topic_id: uuid.UUID,
        partition: PartitionIndex,
        records: bytes,
        acks: int,
        timeout_ms: int,
    ) -> Appended:
        """Append one batch, and wait for what `acks` asks for (0, 1 or -1)."""
        future: asyncio.Future[steps.Answer] = asyncio.get_running_loop().create_future()

        def done(answer: steps.Answer) -> None:
            if not future.done():
                future.set_result(answer)

        self.produce((topic_id, partition), records, acks, timeout_ms, done)
        answer = await future
        hosted = self._hosted.get((topic_id, partition))
        start = LOG_START if hosted is None else hosted.state.log.start_offset
        return Appended(answer.code, answer.base_offset, start)

    def read_committed(
        self, topic_id: uuid.UUID, partition: PartitionIndex, from_offset: Offset
    ) -> bytes:
        """Whole batches from the one that holds `from_offset`, below the high watermark: 1 MiB
        at most, but for a larger batch; b"" at the end. Raises `NotLeader`."""
        hosted = self._hosted.get((topic_id, partition))
        if hosted is None or hosted.leading() is None:
            raise NotLeader(f"{topic_id}-{partition}")
        if hosted.log is None:
            return b""
        return hosted.log.read(from_offset, hosted.state.high_watermark, 2**20)


async def _raise(error: Exception) -> None:
    raise error
