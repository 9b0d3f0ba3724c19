"""What controllers decide and answer, held against what is committed.

D.9 (a): no success before its records are committed. D.2, D.10: nothing is accepted from an
older generation. D.12: a lease that a broker holds is not cut short. D.1: a confirmed read sees
all that was committed when it was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kio.schema.allocate_producer_ids.v0.response import AllocateProducerIdsResponse
from kio.schema.alter_partition.v3.response import AlterPartitionResponse
from kio.schema.create_topics.v7.response import CreateTopicsResponse
from kio.schema.delete_topics.v6.response import DeleteTopicsResponse
from kio.static.protocol import RequestPayload, ResponsePayload

from nodes.kraft.controller import reads, steps
from nodes.kraft.controller.core import ControllerState
from nodes.kraft.controller.partitions import AlterPartitionRequest
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.metadata.image import Image
from nodes.kraft.simulation.fold import TopicId
from nodes.kraft.simulation.violation import Violation
from nodes.kraft.wire.debug import ReadTopicsRequest, ReadTopicsResponse
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
)
from nodes.kraft.wire.records import FenceBrokerRecord, IsrChangeRecord, ReassignmentRecord

if TYPE_CHECKING:
    from nodes.kraft.simulation.machine import Control, Machine
    from nodes.kraft.simulation.world import World

JUDGED: Final = frozenset(
    int(each.__api_key__)
    for each in (
        ReadTopicsResponse,
        CreateTopicsResponse,
        DeleteTopicsResponse,
        BrokerHeartbeatResponse,
        AlterPartitionResponse,
        AllocateProducerIdsResponse,
    )
)
"""Requests whose answers are judged."""
EDGES: Final = frozenset(
    {
        (BrokerState.INITIAL, BrokerState.ACTIVE),
        (BrokerState.ACTIVE, BrokerState.FENCED),
        (BrokerState.FENCED, BrokerState.ACTIVE),
        (BrokerState.ACTIVE, BrokerState.SHUTDOWN),
        (BrokerState.FENCED, BrokerState.SHUTDOWN),
    }
)


class Judge:
    """One for a world; `asked`, `decided` and `answered` are called where the runtime writes its
    events."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.answers = 0
        self._asked: dict[tuple[int, int, int], int] = {}
        self._records: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self._fences: dict[tuple[int, int], tuple[Machine, FenceBrokerRecord]] = {}
        self._blocks: list[tuple[int, int]] = []
        self._active: dict[tuple[int, int], int] = {}
        self._versions: set[tuple[TopicId, int, int]] = set()

    def _key(self, control: Control, token: int) -> tuple[int, int, int]:
        return control.machine.key, control.machine.incarnation, token

    def asked(self, control: Control, token: int) -> None:
        self._asked[self._key(control, token)] = self.world.ledger.end

    # --- decisions ------------------------------------------------------------------------

    def decided(
        self,
        control: Control,
        before: ControllerState,
        event: steps.Input,
        effects: list[steps.Effect],
    ) -> None:
        place = None
        for number, effect in enumerate(effects):
            if isinstance(effect, steps.Decided):
                place = number
                self._records[self._key(control, effect.token)] = effect.records
                if isinstance(event, steps.ControllerRequest) and effect.verdict == 0:
                    assert before.leadership is not None
                    accepted = self._changed(effects[number:])
                    self._fencing(control, before.leadership.speculative, event.request, accepted)
        for effect in effects[: len(effects) if place is None else place]:
            if isinstance(effect, steps.Propose):
                self._expired(control, effect)

    def _changed(self, effects: list[steps.Effect]) -> set[tuple[TopicId, PartitionIndex]]:
        """The partitions whose ISR these effects change."""
        values = [
            value
            for effect in effects
            if isinstance(effect, steps.Propose)
            for value in effect.records
        ]
        records = map(self.world.ledger.states.record, values)
        changes = (
            each for each in records if isinstance(each, IsrChangeRecord | ReassignmentRecord)
        )
        return {(each.topic_id, PartitionIndex(each.partition_id)) for each in changes}

    def _fencing(
        self,
        control: Control,
        image: Image,
        request: RequestPayload,
        accepted: set[tuple[TopicId, PartitionIndex]],
    ) -> None:
        """D.10: what was accepted named the newest generations that the controller knew."""
        if not isinstance(request, AlterPartitionRequest | BrokerHeartbeatRequest):
            return
        if request.broker_epoch < 0:
            return
        broker = image.brokers.get(request.broker_id)
        if broker is None or broker.epoch != request.broker_epoch:
            raise Violation("fencing", f"{control.machine} accepts {request} of {broker}")
        if isinstance(request, AlterPartitionRequest):
            for topic in request.topics:
                if topic.topic_id is None:
                    continue  # refused
                for asked in topic.partitions:
                    place = topic.topic_id, PartitionIndex(asked.partition_index)
                    if place not in accepted:
                        continue
                    now = image.partitions[place]
                    newest = (now.leader, int(now.leader_epoch), int(now.partition_epoch))
                    named = (
                        request.broker_id,
                        int(asked.leader_epoch),
                        int(asked.partition_epoch),
                    )
                    if newest != named:
                        raise Violation("fencing", f"{control.machine}: {named}, not {newest}")

    def _expired(self, control: Control, proposed: steps.Propose) -> None:
        """A controller takes a lease for over; judged once that is committed."""
        for number, value in enumerate(proposed.records):
            record = self.world.ledger.states.record(value)
            if isinstance(record, FenceBrokerRecord):
                place = proposed.epoch, proposed.base_offset + number
                self._fences[place] = control.machine, record

    def committed(self, first: int) -> None:
        """All from `first` on is committed now. D.12: a broker that is fenced because its lease
        is over holds none, by its own clock."""
        ledger = self.world.ledger
        for offset in range(first, ledger.end):
            found = self._fences.pop((ledger.epochs[offset], offset), None)
            if found is not None:
                self._lease_over(*found)

    def served(self, machine: Machine) -> None:
        """D.11, D.12: a broker serves while its lease lasts, by its own clock, and no longer."""
        member = machine.member
        if member is not None and member.serving():
            end_ms = member.state.lease_end_ms
            if end_ms is None or end_ms <= machine.clock.now_ms():
                raise Violation("lease", f"{machine} serves without a lease")
            if self.world.profile.deferred_takeover and self.world.profile.drift_ppm == 0:
                self._alone(machine)

    def _alone(self, machine: Machine) -> None:
        """D.12, strict: with deferred takeover two processes of one id never both serve."""
        assert machine.broker_id is not None
        for other in self.world.brokers(machine.broker_id):
            if other is not machine and other.member is not None and other.member.serving():
                raise Violation("lease", f"{machine} and {other} both serve")

    def moved(self, machine: Machine, before: BrokerState, after: BrokerState, epoch: int) -> None:
        """D.14: along the automaton's edges; active under an epoch of its own each time."""
        if (before, after) not in EDGES:
            raise Violation("life-cycle", f"{machine}: {before.name} -> {after.name}")
        if after == BrokerState.ACTIVE:
            process = machine.key, machine.incarnation
            if epoch <= self._active.get(process, -1):
                raise Violation("life-cycle", f"{machine} is active again under epoch {epoch}")
            self._active[process] = epoch

    def _lease_over(self, controller: Machine, record: FenceBrokerRecord) -> None:
        for machine in self.world.brokers(record.broker_id):
            member = machine.member
            if member is None or member.state.epoch != record.broker_epoch or not member.serving():
                continue
            assert member.state.lease_end_ms is not None
            left_ms = machine.clock.when(member.state.lease_end_ms) - self.world.now
            drift = abs(machine.clock.drift_ppm) + abs(controller.clock.drift_ppm)
            if left_ms > 3 + self.world.profile.lease_ms * drift // 1_000_000:
                raise Violation(
                    "lease", f"{controller} fences {machine}, whose lease has {left_ms} ms"
                )

    # --- answers --------------------------------------------------------------------------

    def answered(
        self, control: Control, token: int, request: RequestPayload, response: ResponsePayload
    ) -> None:
        asked_at = self._asked.pop(self._key(control, token))
        records = self._records.pop(self._key(control, token), ())
        self.answers += 1
        match response:
            case ReadTopicsResponse():
                assert isinstance(request, ReadTopicsRequest)
                if int(response.error_code) == 0:
                    self._read(control, request, response, asked_at)
            case CreateTopicsResponse():
                self._created(control, response, records)
            case DeleteTopicsResponse():
                self._deleted(control, response, records)
            case BrokerHeartbeatResponse():
                assert isinstance(request, BrokerHeartbeatRequest)
                if int(response.error_code) == 0:
                    self._committed(control, records)
                    self._heartbeat(control, request, response)
            case AlterPartitionResponse():
                if int(response.error_code) == 0:
                    self._isr(control, response)
            case AllocateProducerIdsResponse():
                if int(response.error_code) == 0:
                    self._committed(control, records)
                    start, length = response.producer_id_start, response.producer_id_len
                    self._block(control, int(start), int(length))
            case _:
                # Of another version than clients here speak, it would pass unjudged.
                assert int(request.__api_key__) not in JUDGED

    def _created(
        self, control: Control, response: CreateTopicsResponse, records: tuple[int, ...]
    ) -> None:
        succeeded = [each for each in response.topics if int(each.error_code) == 0]
        created = self.world.ledger.fold.facts.created
        for topic in succeeded:
            if topic.topic_id is None or created.get(topic.topic_id) != topic.name:
                raise Violation("uncommitted", f"{control.machine} answers {topic}")
        self._committed(control, records if succeeded else ())

    def _deleted(
        self, control: Control, response: DeleteTopicsResponse, records: tuple[int, ...]
    ) -> None:
        succeeded = [each for each in response.responses if int(each.error_code) == 0]
        for topic in succeeded:
            if topic.topic_id not in self.world.ledger.fold.facts.removed:
                raise Violation("uncommitted", f"{control.machine} answers {topic}")
        self._committed(control, records if succeeded else ())

    def _committed(self, control: Control, records: tuple[int, ...]) -> None:
        """The records of a success are on the log that is committed, there and nowhere else."""
        if not records:
            return
        ledger, end = self.world.ledger, records[-1] + 1
        if end > ledger.end or control.machine.disk.digest(end) != ledger.digests[end]:
            raise Violation("uncommitted", f"{control.machine} answers for {end} of {ledger.end}")

    def _read(
        self,
        control: Control,
        request: ReadTopicsRequest,
        response: ReadTopicsResponse,
        asked_at: int,
    ) -> None:
        ledger, offset = self.world.ledger, int(response.offset)
        if offset < asked_at:
            raise Violation("stale-read", f"{control.machine} reads {offset}, after {asked_at}")
        if offset > ledger.end:
            raise Violation("uncommitted", f"{control.machine} reads {offset} of {ledger.end}")
        truth = reads.read_topics(ledger.images[offset], request, int(response.epoch), offset)
        if truth != response:
            raise Violation("uncommitted", f"{control.machine} reads another state at {offset}")

    def _heartbeat(
        self, control: Control, request: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse
    ) -> None:
        """D.9, D.19: the epoch told is committed, and this process's own."""
        facts, epoch = self.world.ledger.fold.facts, int(response.broker_epoch)
        if epoch < 0 and BrokerState(response.next_state) == BrokerState.FENCED:
            return  # a takeover that waits for another's lease
        owner = facts.registered.get(epoch)
        if owner is None:
            raise Violation("uncommitted", f"{control.machine} grants broker epoch {epoch}")
        if owner != (int(request.broker_id), request.incarnation_id):
            raise Violation("identity", f"{control.machine} gives epoch {epoch} of {owner} away")
        active = BrokerState(response.next_state) == BrokerState.ACTIVE
        if active and epoch not in facts.unfenced:
            raise Violation("uncommitted", f"{control.machine} says that {owner} is active")
        if BrokerState(response.next_state) == BrokerState.SHUTDOWN:
            self._drained(control, owner[0])

    def _drained(self, control: Control, broker_id: int) -> None:
        """D.15: who is let go leads nothing, and is in no ISR that has another member."""
        for key, partition in self.world.ledger.fold.partitions.items():
            alone = partition.isr == (broker_id,)
            if partition.leader == broker_id or (broker_id in partition.isr and not alone):
                raise Violation("shutdown", f"{control.machine} lets {broker_id} go from {key}")

    def _block(self, control: Control, start: int, length: int) -> None:
        """D.19: blocks of producer ids do not overlap."""
        for first, end in self._blocks:
            if start < end and first < start + length:
                raise Violation("identity", f"{control.machine} gives producer ids {start} again")
        self._blocks.append((start, start + length))

    def _isr(self, control: Control, response: AlterPartitionResponse) -> None:
        """D.2: each ok answer is one committed record, and no two of them the same one."""
        versions = self.world.ledger.fold.facts.versions
        for topic in response.topics:
            for reported in topic.partitions:
                if int(reported.error_code) != 0:
                    continue
                key = (topic.topic_id, int(reported.partition_index), int(reported.partition_epoch))
                state = (tuple(reported.isr), int(reported.leader_id), int(reported.leader_epoch))
                if versions.get(key) != state:
                    raise Violation("uncommitted", f"{control.machine} answers {reported}")
                if key in self._versions:
                    raise Violation("fencing", f"{control.machine} answers {key} twice")
                self._versions.add(key)
