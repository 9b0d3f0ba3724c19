"""A broker's partition replicas in simulation: the real cores, glued as on the data loop.

Mirrors runtime/partitions.py (what the metadata says, effects, ticks), runtime/isr.py (one
AlterPartition under way, the same proposal again until it is decided) and, without sessions and
parking, runtime/fetchers.py and runtime/reading.py. Every rule that the metadata log has to keep
is checked of every partition's log: D.3, D.5, D.6, D.7.

A process that dies keeps what it wrote to a partition's log, as after kill -9: appends are not
synced one by one, here as in Kafka, and a machine that loses them loses what only it had.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kio.schema.alter_partition.v3.response import AlterPartitionResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import ResponsePayload

from nodes.kraft.ids import (
    LOG_START,
    NO_EPOCH,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
)
from nodes.kraft.metadata.image import EMPTY, Image, PartitionKey
from nodes.kraft.partition import core, follower, leader, steps
from nodes.kraft.partition.batches import HEADER_BYTES, Batch
from nodes.kraft.partition.producers import Producers, remember
from nodes.kraft.partition.state import (
    NO_LOG,
    Following,
    Leading,
    PartitionState,
    Proposal,
    ReplicaConfig,
    recovered,
)
from nodes.kraft.runtime.isr import DEFINITE, _request, answer_to
from nodes.kraft.simulation.replica import REQUEST_TIMEOUT_MS
from nodes.kraft.simulation.violation import Violation

if TYPE_CHECKING:
    from nodes.kraft.simulation.machine import Machine
    from nodes.kraft.simulation.network import Answer
    from nodes.kraft.simulation.world import World

LAG_MS: Final = 600
TICK_MS: Final = 100
RETRY_MS: Final = 50
IDLE_MS: Final = 60
PRODUCE_TIMEOUT_MS: Final = 1500

Position = tuple[LeaderEpoch, Offset, LeaderEpoch]
"""(leader epoch, offset, epoch of the last record)."""
Replies = dict[PartitionKey, steps.Input]
"""What a leader answers, as what the follower makes of it."""


@dataclass
class Stored:
    """A partition's log on a disk, and the high watermark written down last."""

    batches: list[Batch] = field(default_factory=list)
    checkpoint: Offset = LOG_START


class PartitionLedger:
    """The truth of all partition logs. A batch is known by its `crc`, unique in a world."""

    def __init__(self) -> None:
        self.acknowledged: dict[PartitionKey, dict[int, int]] = {}
        self._committed: dict[PartitionKey, list[int]] = {}
        self._committed_in: dict[PartitionKey, dict[int, int]] = {}
        self._written: dict[tuple[PartitionKey, int, int], int] = {}
        self._leaders: dict[tuple[PartitionKey, int], int] = {}

    def appended(self, broker: int, key: PartitionKey, batch: Batch, *, leads: bool) -> None:
        """D.3: one broker appends in a leader epoch. D.5: one batch at an (epoch, offset)."""
        if leads and self._leaders.setdefault((key, batch.epoch), broker) != broker:
            raise Violation("partition-leader", f"{broker} appends to {key} in {batch.epoch}, too")
        place = (key, batch.epoch, batch.base_offset)
        if self._written.setdefault(place, batch.crc) != batch.crc:
            raise Violation("partition-matching", f"{broker} at {place}")

    def leads(self, broker: int, key: PartitionKey, epoch: int, stored: list[Batch]) -> None:
        """D.6 (b): who comes to lead has all that leaders of earlier epochs have committed. (One
        whose metadata is old may come to lead an epoch that is over.)"""
        ends = (end for by, end in self._committed_in.get(key, {}).items() if by < epoch)
        earlier = max(ends, default=0)
        committed = self._committed.get(key, [])[:earlier]
        if [batch.crc for batch in stored[:earlier]] != committed:
            raise Violation("partition-lost", f"{broker} leads {key} without {earlier}")

    def advanced(
        self, broker: int, key: PartitionKey, epoch: int, high_watermark: int, stored: list[Batch]
    ) -> None:
        """D.6 (a): what is below a leader's high watermark never changes."""
        ends = self._committed_in.setdefault(key, {})
        ends[epoch] = max(high_watermark, ends.get(epoch, 0))
        committed = self._committed.setdefault(key, [])
        known = min(high_watermark, len(committed))
        if [batch.crc for batch in stored[:known]] != committed[:known]:
            raise Violation("partition-lost", f"{broker} commits other batches of {key}")
        committed += [batch.crc for batch in stored[len(committed) : high_watermark]]

    def answered(self, broker: int, key: PartitionKey, crc: int, offset: int) -> None:
        """D.7: acks=all is answered for what is committed."""
        committed = self._committed.get(key, [])
        if committed[offset : offset + 1] != [crc]:
            raise Violation("partition-lost", f"{broker} acknowledges {offset} of {key}")
        self.acknowledged.setdefault(key, {})[offset] = crc

    def check(self, key: PartitionKey, stored: list[Batch]) -> None:
        """At the end, of a leader's log."""
        for offset, crc in self.acknowledged.get(key, {}).items():
            if [batch.crc for batch in stored[offset : offset + 1]] != [crc]:
                raise Violation("partition-lost", f"{offset} of {key} was acknowledged, is gone")


def value(number: int) -> Batch:
    """A producer's batch of one record."""
    return Batch(
        LOG_START, Offset(1), LeaderEpoch(-1), number, 0, 0, 0, -1, -1, -1, bytes(HEADER_BYTES)
    )


def producers_of(batches: list[Batch]) -> Producers:
    found = NO_LOG.producers
    for batch in batches:
        found = remember(found, batch)
    return found


@dataclass
class Hosted:
    """A partition here; `stored` is on the machine's disk."""

    state: PartitionState
    stored: Stored


class Partitions:
    """All replicas of a broker's process."""

    def __init__(self, machine: Machine) -> None:
        assert machine.broker_id is not None
        self.machine = machine
        self.world: World = machine.world
        self.broker_id = BrokerId(machine.broker_id)
        self.hosted: dict[PartitionKey, Hosted] = {}
        self._core = ReplicaConfig(self.broker_id, LAG_MS)
        self._image: Image = EMPTY
        self._acting = False
        self._tokens = itertools.count(1)
        self._waiting: dict[int, tuple[PartitionKey, int]] = {}
        self._proposals: dict[PartitionKey, Proposal] = {}
        self._sending = False
        self._fetching: set[int] = set()
        self._later(TICK_MS, self._tick)

    def _later(self, delay: int, action: Callable[[], object]) -> None:
        self.world.at_machine(self.machine, delay, action)

    def _now(self) -> int:
        return self.machine.clock.now_ms()

    def _serving(self) -> bool:
        return self.machine.member is not None and self.machine.member.serving()

    def _epoch(self) -> BrokerEpoch:
        return NO_EPOCH if self.machine.member is None else self.machine.member.state.epoch

    # --- metadata -------------------------------------------------------------------------

    def committed(self, image: Image) -> None:
        self._image = image
        if self._acting:
            self._reconcile_all()
        else:
            self.act_if_registered()

    def act_if_registered(self) -> None:
        """Not on an image from before our own registration (A.3.15)."""
        broker, epoch = self._image.brokers.get(self.broker_id), self._epoch()
        if not self._acting and broker is not None and epoch >= 0 and broker.epoch == epoch:
            self._acting = True
            self._reconcile_all()

    def _reconcile_all(self) -> None:
        ours = [
            key
            for key, partition in self._image.partitions.items()
            if self.broker_id in partition.replicas
        ]
        for key in sorted({*ours, *self.hosted, *self.machine.stored}):
            self._reconcile(key)

    def _reconcile(self, key: PartitionKey) -> None:
        partition = self._image.partitions.get(key)
        if partition is not None and self.broker_id not in partition.replicas:
            partition = None
        hosted = self.hosted.get(key)
        if hosted is None:
            if partition is None:
                self.machine.stored.pop(key, None)
                return
            stored = self.machine.stored.setdefault(key, Stored())
            log = NO_LOG
            for batch in stored.batches:
                log = log.append(batch)
            hosted = self.hosted[key] = Hosted(recovered(log, stored.checkpoint), stored)
        self.feed(key, hosted, steps.Assigned(partition))
        if partition is None:
            del self.hosted[key]
            self.machine.stored.pop(key, None)

    # --- the cores ------------------------------------------------------------------------

    def feed(self, key: PartitionKey, hosted: Hosted, event: steps.Input) -> None:
        before = hosted.state
        hosted.state, effects = core.step(self._core, before, event, self._now())
        self.world.stepped(self.machine, event, effects)
        ledger, stored = self.world.partitions, hosted.stored
        for effect in effects:
            match effect:
                case steps.Append(batch, leads):
                    stored.batches.append(batch)
                    ledger.appended(self.broker_id, key, batch, leads=leads)
                case steps.Truncate(end_offset):
                    del stored.batches[end_offset:]
                    self.feed(key, hosted, steps.Reread(producers_of(stored.batches)))
                case steps.Restart():
                    stored.batches.clear()  # nobody deletes records here: it begins at 0 again
                case steps.Answer():
                    self._advanced(key, before, hosted)
                    self._answer(effect)
                case steps.Propose(proposal):
                    self._proposals[key] = proposal
                    self._send_proposals()
        if hosted.state is not before:
            self._observe(key, before, hosted)

    def _observe(self, key: PartitionKey, before: PartitionState, hosted: Hosted) -> None:
        was, role, stored = before.role, hosted.state.role, hosted.stored.batches
        ledger = self.world.partitions
        if isinstance(role, Leading):
            if not isinstance(was, Leading) or was.leader_epoch != role.leader_epoch:
                self.world.note(
                    self.machine, "leads %s-%d in epoch %d", *_short(key), role.leader_epoch
                )
                ledger.leads(self.broker_id, key, role.leader_epoch, stored)
            self._advanced(key, before, hosted)
        elif isinstance(role, Following) and role.leader_id >= 0:
            self._follow(role.leader_id)

    def _advanced(self, key: PartitionKey, before: PartitionState, hosted: Hosted) -> None:
        """A leader's high watermark has risen."""
        high_watermark, role = hosted.state.high_watermark, hosted.state.role
        if isinstance(role, Leading) and high_watermark > before.high_watermark:
            self.world.partitions.advanced(
                self.broker_id, key, role.leader_epoch, high_watermark, hosted.stored.batches
            )

    def _tick(self) -> None:
        brokers = self._image.brokers.items()
        event = steps.Tick({ident: each.epoch for ident, each in brokers if not each.fenced})
        for key, hosted in list(self.hosted.items()):
            role = hosted.state.role
            hosted.stored.checkpoint = hosted.state.high_watermark
            if isinstance(role, Leading) and (role.waiting or len(role.replicas) > 1):
                self.feed(key, hosted, event)
        self._later(TICK_MS, self._tick)

    # --- producers ------------------------------------------------------------------------

    def produce(self, pick: int) -> None:
        """acks=all, to one of the partitions that this broker leads, or thinks that it does."""
        led = [key for key, each in self.hosted.items() if isinstance(each.state.role, Leading)]
        if not led or not self._serving():
            return
        key, token = led[pick % len(led)], next(self._tokens)
        batch = value(self.world.next_value())
        self._waiting[token] = (key, batch.crc)
        deadline = self._now() + PRODUCE_TIMEOUT_MS
        min_isr = self.world.profile.min_isr
        self.feed(key, self.hosted[key], steps.Produce(token, batch, -1, min_isr, deadline))

    def _answer(self, effect: steps.Answer) -> None:
        key, crc = self._waiting.pop(effect.token)
        if effect.code == ErrorCode.none and self._serving():
            self.world.partitions.answered(self.broker_id, key, crc, effect.base_offset)

    # --- the ISR: runtime.isr.IsrChanges --------------------------------------------------

    def _send_proposals(self) -> None:
        assert self.machine.replica is not None
        if self._sending or not self._proposals:
            return
        self._sending = True
        controller, epoch = self.machine.replica.leader_id, self._epoch()
        if controller < 0 or epoch < 0:
            self._later(RETRY_MS, self._again)
            return
        sent = dict(self._proposals)
        request = _request(self._image, self.broker_id, epoch, sent)

        def settle(response: ResponsePayload | None, _: bool) -> None:
            assert response is None or isinstance(response, AlterPartitionResponse)
            if response is None or response.error_code != ErrorCode.none:
                self._later(RETRY_MS, self._again)
            else:
                self._later(0 if self._take(sent, response) else RETRY_MS, self._again)

        self.world.network.call(
            self.machine,
            self.world.machines[controller],
            lambda callee, answer: callee.controller.ask(request, answer),
            settle,
            timeout_ms=REQUEST_TIMEOUT_MS,
        )

    def _again(self) -> None:
        self._sending = False
        self._send_proposals()

    def _take(self, sent: dict[PartitionKey, Proposal], response: AlterPartitionResponse) -> bool:
        left = set(sent)
        for topic in response.topics:
            for reported in topic.partitions:
                key, code = (
                    (topic.topic_id, int(reported.partition_index)),
                    ErrorCode(reported.error_code),
                )
                if key not in sent or code not in DEFINITE:
                    continue
                left.discard(key)
                if self._proposals.get(key) == sent[key]:
                    del self._proposals[key]
                hosted = self.hosted.get(key)
                if hosted is not None:
                    self.feed(key, hosted, answer_to(sent[key], reported))
        return not left

    # --- replication: runtime.fetchers, runtime.reading -----------------------------------

    def _follow(self, leader_id: int) -> None:
        if leader_id not in self._fetching:
            self._fetching.add(leader_id)
            self._later(0, lambda: self._fetch(leader_id))

    def _fetch(self, leader_id: int) -> None:
        """One request at a time to each leader, of all that is followed there."""
        asked: dict[PartitionKey, Position] = {}
        for key, hosted in self.hosted.items():
            role = hosted.state.role
            if isinstance(role, Following) and role.leader_id == leader_id:
                asked[key] = (role.leader_epoch, *follower.fetch_position(hosted.state))
        if not asked:
            self._fetching.discard(leader_id)
            return
        epoch = self._epoch()

        def handle(callee: Machine, answer: Answer[Replies]) -> None:
            assert callee.partitions is not None
            answer(callee.partitions.serve(self.broker_id, epoch, asked))

        def settle(replies: Replies | None, _: bool) -> None:
            more = False
            for key, event in (replies or {}).items():
                hosted = self.hosted.get(key)
                if hosted is not None:
                    before = hosted.state
                    self.feed(key, hosted, event)
                    more = more or hosted.state.log != before.log
            self._later(1 if more else IDLE_MS, lambda: self._fetch(leader_id))

        self.world.network.call(
            self.machine,
            self.world.brokers(leader_id)[0],
            handle,
            settle,
            timeout_ms=REQUEST_TIMEOUT_MS,
            may_repeat=True,
        )

    def serve(
        self, replica_id: BrokerId, broker_epoch: BrokerEpoch, asked: dict[PartitionKey, Position]
    ) -> Replies:
        """What each partition's leader answers, as what the follower makes of it; nothing of
        those that are refused."""
        said: Replies = {}
        for key, (leader_epoch, offset, last_epoch) in asked.items():
            hosted = self.hosted.get(key)
            if hosted is None or not self._note(key, hosted, replica_id, broker_epoch, asked[key]):
                continue
            judged = leader.judge(hosted.state, leader_epoch, offset, last_epoch)
            if judged.code != ErrorCode.none or not self._serving():
                continue
            if judged.diverging is not None:
                said[key] = steps.Diverged(leader_epoch, offset, *judged.diverging)
                continue
            end = offset + self.world.profile.batches_a_fetch
            batches = tuple(hosted.stored.batches[offset:end])
            high_watermark = hosted.state.high_watermark
            said[key] = steps.Replicated(leader_epoch, offset, batches, high_watermark)
        return said

    def _note(
        self,
        key: PartitionKey,
        hosted: Hosted,
        replica_id: BrokerId,
        broker_epoch: BrokerEpoch,
        position: Position,
    ) -> bool:
        """runtime.reading.Follower.note: whether the fetch is of the process that there is."""
        broker = self._image.brokers.get(replica_id)
        event = steps.Fetched(
            replica_id,
            broker_epoch,
            position[1],
            registered=NO_EPOCH if broker is None else broker.epoch,
            active=broker is not None and not broker.fenced,
        )
        if leader.check_replica(hosted.state, event) != ErrorCode.none:
            return False
        if leader.judge(hosted.state, *position) == leader.VALID:
            self.feed(key, hosted, event)
        return True


def _short(key: PartitionKey) -> tuple[str, int]:
    return str(key[0])[:8], key[1]
