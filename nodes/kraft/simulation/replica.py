"""A simulated replica of the metadata log: runtime.replica.Replica without sockets and files.

The Raft core and the runtime's own `StateMachine`; effects in the core's order, inputs that arise
meanwhile after them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.metadata.image import Image
from nodes.kraft.metadata.snapshot import image_of, records_of
from nodes.kraft.raft import core as raft
from nodes.kraft.raft import messages, steps
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.raft.snapshots import answer_range
from nodes.kraft.raft.state import Leader, QuorumState
from nodes.kraft.runtime.state_machine import StateMachine
from nodes.kraft.simulation.disk import Snapshot
from nodes.kraft.simulation.violation import Violation

if TYPE_CHECKING:
    from nodes.kraft.simulation.machine import Machine
    from nodes.kraft.simulation.network import Answer

REQUEST_TIMEOUT_MS: Final = 600
FETCH_WAIT_MS: Final = 400
FETCH_TIMEOUT_MS: Final = 1000
ELECTION_TIMEOUT_MS: Final = 500


class Replica:
    """One process's replica; what it keeps is on the machine's disk."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.world = machine.world
        self.disk = machine.disk
        self._inbox: deque[steps.Input] = deque()
        self._pumping = False
        self._proposed: deque[int] = deque()
        self._tokens = itertools.count(1)
        self._waiting: dict[int, tuple[messages.Request, Answer[messages.Reply]]] = {}
        self._claim: tuple[LeaderEpoch, Offset] | None = None  # waits for a snapshot that loads
        self._writing = False
        self._download = bytearray()
        serves = machine.broker_id is not None
        self.states = StateMachine(lambda *_, **__: None, serves=serves, emit_many=lambda *_: None)
        newest = self.disk.recover()
        if newest is not None:
            self.world.ledger.snapshot_loaded(machine.key, newest)
            self.states.install(newest.id, image_of(newest.records()))
        for batch in self.disk.batches:
            self.states.append(batch)
        profile = self.world.profile
        assert machine.replica_id is not None
        config = RaftConfig(
            node_id=ReplicaId(machine.replica_id),
            voters=tuple(map(ReplicaId, profile.voter_keys)),
            seed=self.world.schedule.seed,
            fetch_timeout_ms=FETCH_TIMEOUT_MS,
            election_timeout_ms=ELECTION_TIMEOUT_MS,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            prevote=profile.prevote,
            snapshot_chunk_bytes=profile.chunk_bytes,
        )
        now = machine.clock.now_ms()
        self.state = raft.initial(config, self.disk.quorum, self.disk.index(), now)

    @property
    def leads(self) -> bool:
        return isinstance(self.state.role, Leader)

    @property
    def leader_id(self) -> int:
        return self.state.leader_id

    @property
    def image(self) -> Image:
        return self.states.image

    @property
    def applied(self) -> Offset:
        return self.states.applied

    @property
    def log_start(self) -> Offset:
        """Where the newest snapshot ends."""
        return self.state.log.snapshot.end_offset

    def feed(self, event: steps.Input) -> None:
        self._inbox.append(event)
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._inbox:
                self._step(self._inbox.popleft())
        finally:
            self._pumping = False

    def propose(self, epoch: LeaderEpoch, base_offset: Offset, records: tuple[bytes, ...]) -> None:
        self._proposed.append(base_offset)
        self.feed(steps.Propose(epoch, records))

    def ask(self, request: messages.Request, answer: Answer[messages.Reply]) -> None:
        token = next(self._tokens)
        self._waiting[token] = (request, answer)
        self.feed(steps.RequestReceived(token, request))

    def next_token(self) -> int:
        return next(self._tokens)

    # --- effects --------------------------------------------------------------------------

    def _step(self, event: steps.Input) -> None:
        before = self.state
        if isinstance(event, steps.Propose):
            base_offset = self._proposed.popleft()
            leads = self.leads and before.epoch == event.epoch
            if leads and base_offset != before.log.end_offset:
                raise Violation("log-end", f"{self.machine}: {base_offset} at {before.log}")
        self.state, effects = raft.step(before, event, self.machine.clock.now_ms())
        self.world.stepped(self.machine, event, effects)
        for effect in effects:
            self.machine.survive()
            self.carry_out(effect)

    def carry_out(self, effect: steps.Effect) -> None:
        machine, world, ledger = self.machine, self.world, self.world.ledger
        match effect:
            case steps.SaveQuorumState(epoch, leader_id, voted_id):
                saved = QuorumState(epoch, leader_id, voted_id)
                self.disk.quorum = saved
                ledger.saved(machine.key, saved)
            case steps.Append(batch):
                self.disk.append(batch)
                self.states.append(batch)
                ledger.appended(machine.key, batch, self.disk, leads=self.leads)
            case steps.Truncate(end_offset):
                ledger.truncated(machine.key, end_offset, self.state.high_watermark)
                self.disk.truncate(end_offset)
                self.states.truncate(end_offset)
            case steps.Flush():
                world.flush(machine, effect)
            case steps.Send(peer, request):
                self._send(peer, request)
            case steps.Answer(token, reply):
                self._answer(token, reply)
            case steps.AnswerFetch(token, request, reply, limit):
                batches = self.disk.read(request.offset, limit, world.profile.batches_a_fetch)
                self._answer(token, replace(reply, batches=batches))
            case steps.AnswerSnapshot(token, range_of, part):
                self._answer(token, self._range(range_of, part))
            case steps.StoreChunk(_, position, data):
                del self._download[position:]
                self._download += data
            case steps.InstallSnapshot(snapshot_id):
                self._install(Snapshot(snapshot_id, bytes(self._download)))
            case steps.TrimLog(snapshot_id):
                self.disk.begin_at(snapshot_id)
            case steps.Advanced(high_watermark):
                self._advanced(high_watermark)
            case steps.Elected(epoch):
                world.note(machine, "leads epoch %d", epoch)
                ledger.voted(machine.key, epoch, machine.key)
                ledger.elected(machine.key, epoch, self.disk)
            case steps.Claimed(epoch, end_offset):
                if not end_offset == self.state.log.end_offset == self.state.high_watermark:
                    raise Violation("claim", f"{machine} claims at {end_offset}: {self.state.log}")
                self._claim = epoch, end_offset
                self._claim_if_ready()
            case steps.Renounced(epoch):
                world.note(machine, "no longer leads epoch %d", epoch)
                self._claim = None
                machine.renounced()
            case steps.Confirmed(token, confirmed_epoch, _):
                machine.confirmed(token, confirmed_epoch is not None)
            case steps.Fatal(reason):
                raise Violation("fatal", f"{machine}: {reason}")

    def _send(self, peer: ReplicaId, request: messages.Request) -> None:
        me = self.machine.key
        if isinstance(request, messages.Vote) and not request.pre:
            self.world.ledger.voted(me, request.candidate_epoch, me)
        timeout_ms = REQUEST_TIMEOUT_MS
        if isinstance(request, messages.Fetch):
            timeout_ms += FETCH_WAIT_MS

        def ask(callee: Machine, answer: Answer[messages.Reply]) -> None:
            assert callee.replica is not None
            callee.replica.ask(request, answer)

        def settle(reply: messages.Reply | None, sent: bool) -> None:
            self.feed(steps.Replied(peer, request, reply))

        self.world.network.call(
            self.machine,
            self.world.machines[peer],
            ask,
            settle,
            timeout_ms=timeout_ms,
            may_repeat=True,
        )

    def _answer(self, token: int, reply: messages.Reply) -> None:
        request, answer = self._waiting.pop(token)
        granted = isinstance(reply, messages.VoteReply) and reply.granted
        if isinstance(request, messages.Vote) and granted:
            ledger, me = self.world.ledger, self.machine.key
            ledger.granted(me, self.disk.last, (request.last_epoch, request.last_offset))
            if not request.pre:
                ledger.voted(me, request.candidate_epoch, request.candidate_id)
        answer(reply)

    # --- the state machine ----------------------------------------------------------------

    def _advanced(self, high_watermark: Offset) -> None:
        machine, ledger = self.machine, self.world.ledger
        if self.leads:
            before = ledger.end
            ledger.committed_by_leader(
                machine.key, self.state.epoch, high_watermark, self.disk, self.world.durable_on
            )
            self.world.judge.committed(before)
        else:
            ledger.learned(machine.key, high_watermark, self.disk)
        self._advance(high_watermark)

    def _advance(self, high_watermark: Offset) -> None:
        if self.states.advance(high_watermark):
            self.world.ledger.published(self.machine.key, self.applied, self.image)
            self.machine.committed(self.applied, self.image)

    def _claim_if_ready(self) -> None:
        if self._claim is not None and self.states.loading is None:
            (epoch, end_offset), self._claim = self._claim, None
            self.machine.claimed(epoch, end_offset, self.image)

    # --- snapshots ------------------------------------------------------------------------

    def write_snapshot(self, done: Callable[[], None]) -> None:
        """A snapshot of what is applied, beside everything else; then the log begins behind it.
        It is durable a little before Raft hears of it."""
        at, ledger, me = self.states.at_batch_end, self.world.ledger, self.machine.key
        nothing_new = at.id.end_offset <= self.log_start
        if nothing_new or self._writing or self.states.loading is not None:
            done()
            return
        self._writing = True
        digest = self.disk.digest(at.id.end_offset)
        assert digest is not None
        snapshot = Snapshot.of(at.id, digest, records_of(at.image))

        def durable() -> None:
            ledger.snapshot_written(me, snapshot, self.state.high_watermark)
            self.world.note(self.machine, "has a snapshot of %d", at.id.end_offset)
            self.disk.keep(snapshot)
            self.world.at_machine(self.machine, 1, reported)

        def reported() -> None:
            self._writing = False
            self.feed(steps.SnapshotWritten(at.id))
            done()

        self.world.at_machine(self.machine, self.world.profile.sync_ms, durable)

    def _range(
        self, request: messages.FetchSnapshot, reply: messages.FetchSnapshotReply
    ) -> messages.FetchSnapshotReply:
        data = self.disk.snapshot_data(request.snapshot_id)
        size = None if data is None else len(data)
        return answer_range(request, reply, size, lambda at, most: (data or b"")[at : at + most])

    def _install(self, snapshot: Snapshot) -> None:
        """A fetched snapshot takes the log's place at once; its image follows."""
        self.world.note(self.machine, "installs the snapshot of %d", snapshot.id.end_offset)
        self.world.ledger.snapshot_loaded(self.machine.key, snapshot)
        self.disk.restart_at(snapshot)
        self.states.begin_loading(snapshot.id)
        delay = self.world.profile.sync_ms
        self.world.at_machine(self.machine, delay, lambda: self._load(snapshot))

    def _load(self, snapshot: Snapshot) -> None:
        if self.states.loading == snapshot.id:
            self.states.install(snapshot.id, image_of(snapshot.records()))
            self._advance(self.state.high_watermark)
            self._claim_if_ready()

    @property
    def loading(self) -> SnapshotId | None:
        return self.states.loading
