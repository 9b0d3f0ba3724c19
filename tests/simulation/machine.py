"""A simulated node: the real pure cores, glued together as the runtime glues them.

`Replica` mirrors runtime/replica.py, `Control` runtime/control.py, `Member` runtime/membership.py
(life cycle and heartbeats), `Machine` what server.py does with the three: one timer, and commits
told to the controller first, then to the broker. Where the runtime writes an event, this checks a
rule.
"""

from __future__ import annotations

import itertools
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from nodes.kraft.broker import lifecycle
from nodes.kraft.controller import core as controller
from nodes.kraft.controller import steps as control_steps
from nodes.kraft.metadata.image import EMPTY, Image
from nodes.kraft.metadata.snapshot import records_of
from nodes.kraft.raft import core as raft
from nodes.kraft.raft import messages, steps
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.snapshots import answer_range
from nodes.kraft.raft.state import Leader, QuorumState
from tests.simulation.disk import Disk, Snapshot
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

FOREVER: Final = 2**61
HEARTBEAT_RATIO: Final = 8
"""Heartbeats in a lease."""
REQUEST_TIMEOUT_MS: Final = 600
FETCH_WAIT_MS: Final = 250
FETCH_TIMEOUT_MS: Final = 1000
ELECTION_TIMEOUT_MS: Final = 500


class Clock:
    """A machine's monotonic clock: its own beginning, its own rate."""

    def __init__(self, world: World, offset_ms: int, drift_ppm: int) -> None:
        self._world = world
        self._offset_ms = offset_ms
        self.drift_ppm = drift_ppm

    def now_ms(self) -> int:
        return self._local(self._world.now)

    def _local(self, time: int) -> int:
        return self._offset_ms + time + time * self.drift_ppm // 1_000_000

    def when(self, local_ms: int) -> int:
        """The simulated time at which this clock shows `local_ms`."""
        time = (local_ms - self._offset_ms) * 1_000_000 // (1_000_000 + self.drift_ppm)
        while self._local(time) < local_ms:
            time += 1
        return time


class Machine:
    """A host with a disk, and the process on it while `replica` is not None."""

    def __init__(
        self,
        world: World,
        key: int,
        clock: Clock,
        *,
        controller_id: int | None = None,
        broker_id: int | None = None,
    ) -> None:
        self.world = world
        self.key = key
        self.clock = clock
        self.controller_id = controller_id
        self.broker_id = broker_id
        self.replica_id = controller_id if controller_id is not None else broker_id
        self.disk = Disk()
        self.incarnation = 0
        self.paused_until = 0
        self.replica: Replica | None = None
        self.control: Control | None = None
        self.member: Member | None = None
        self._timer = FOREVER

    def __repr__(self) -> str:
        names = [f"c{self.controller_id}"] if self.controller_id is not None else []
        if self.broker_id is not None:
            twin = "'" if self.key != self.broker_id and self.controller_id is None else ""
            names.append(f"b{self.broker_id}{twin}")
        return "/".join(names)

    @property
    def up(self) -> bool:
        return self.replica is not None

    def boot(self) -> None:
        """server.Node.__init__ and the first tick."""
        self.incarnation += 1
        self._timer = FOREVER
        self.replica = Replica(self)
        if self.controller_id is not None:
            self.control = Control(self)
        if self.broker_id is not None:
            self.member = Member(self)
        self.world.touched.add(self.key)

    def stop(self) -> None:
        """The process is gone, its memory with it."""
        self.replica = self.control = self.member = None
        self.paused_until = 0

    # --- time: server.Node._arm, _tick, _do_what_is_due -----------------------------------

    def arm(self) -> None:
        if self.replica is None:
            return
        deadline = raft.deadline_ms(self.replica.state)
        if self.control is not None:
            due = controller.deadline_ms(self.control.state)
            if due is not None and due < deadline:
                deadline = due
        if self.member is not None:
            deadline = min(deadline, lifecycle.deadline_ms(self.member.state))
        if deadline >= FOREVER:
            return
        time = max(self.world.now + 1, self.clock.when(deadline))
        if time < self._timer:
            self._timer = time
            self.world.at_machine(self, time - self.world.now, lambda: self._tick(time))

    def _tick(self, time: int) -> None:
        if self._timer != time:
            return
        self._timer = FOREVER
        self.world.touched.add(self.key)  # also where it was too early for anything
        now = self.clock.now_ms()
        replica, control, member = self.replica, self.control, self.member
        assert replica is not None
        if raft.deadline_ms(replica.state) <= now:
            replica.feed(steps.Tick())
        if control is not None:
            due = controller.deadline_ms(control.state)
            if due is not None and due <= now:
                control.feed(control_steps.Tick())
        if member is not None and lifecycle.deadline_ms(member.state) <= now:
            member.feed(lifecycle.Tick())

    # --- from the replica: server.Node's Watcher ------------------------------------------

    def committed(self, end_offset: int, image: Image) -> None:
        if self.control is not None:
            self.control.feed(control_steps.Commit(end_offset, image))
        if self.member is not None:
            self.member.feed(lifecycle.Applied(end_offset - 1))


class Replica:
    """runtime.replica.Replica: effects in the core's order, inputs of meanwhile after them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.world = machine.world
        self.disk = machine.disk
        self.image: Image = EMPTY
        self.applied = 0
        self._inbox: deque[steps.Input] = deque()
        self._pumping = False
        self._proposed: deque[int] = deque()
        self._tokens = itertools.count(1)
        self._waiting: dict[int, tuple[messages.Request, Callable[[Any], None]]] = {}
        self._unapplied = deque(self.disk.batches)
        self._written: dict[messages.SnapshotId, Snapshot] = {}
        self._download = bytearray()
        if self.disk.snapshot is not None:
            self._load(self.disk.snapshot)
        profile = self.world.profile
        assert machine.replica_id is not None
        config = RaftConfig(
            node_id=machine.replica_id,
            voters=profile.voter_keys,
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

    def propose(self, epoch: int, base_offset: int, records: tuple[bytes, ...]) -> None:
        self._proposed.append(base_offset)
        self.feed(steps.Propose(epoch, records))

    def ask(self, request: messages.Request, answer: Callable[[Any], None]) -> None:
        token = next(self._tokens)
        self._waiting[token] = (request, answer)
        self.feed(steps.Asked(token, request))

    def next_token(self) -> int:
        return next(self._tokens)

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
            self._carry_out(effect)

    def _carry_out(self, effect: steps.Effect) -> None:
        machine, world, ledger = self.machine, self.world, self.world.ledger
        match effect:
            case steps.SaveQuorumState(epoch, leader_id, voted_id):
                saved = QuorumState(epoch, leader_id, voted_id)
                self.disk.quorum = saved
                ledger.saved(machine.key, saved)
            case steps.Append(batch):
                self.disk.append(batch)
                self._unapplied.append(batch)
                ledger.appended(machine.key, batch, self.disk, leads=self.leads)
            case steps.Truncate(end_offset):
                ledger.truncated(machine.key, end_offset, self.state.high_watermark)
                self.disk.truncate(end_offset)
                while self._unapplied and self._unapplied[-1].end_offset > end_offset:
                    self._unapplied.pop()
            case steps.Flush():
                world.flush(machine, effect)
            case steps.Send(peer, request):
                self._send(peer, request)
            case steps.Answer(token, reply):
                self._answer(token, reply)
            case steps.AnswerFetch(token, request, reply, limit):
                batches = self.disk.read(request.offset, limit, world.profile.batches_a_fetch)
                self._answer(token, replace(reply, batches=batches))
            case steps.AnswerSnapshot(token, request, reply):
                self._answer(token, self._range(request, reply))
            case steps.StoreChunk(_, position, data):
                del self._download[position:]
                self._download += data
            case steps.InstallSnapshot(snapshot_id):
                snapshot = Snapshot(snapshot_id, bytes(self._download))
                world.note(machine, "installs the snapshot of %d", snapshot_id.end_offset)
                self.disk.restart_at(snapshot)
                self._unapplied.clear()
                self._load(snapshot)
            case steps.TrimLog(snapshot_id):
                snapshot = self._written.pop(snapshot_id)
                self.disk.begin_at(snapshot)
            case steps.Advanced(high_watermark):
                self._advance(high_watermark)
            case steps.Elected(epoch):
                world.note(machine, "leads epoch %d", epoch)
                ledger.voted(machine.key, epoch, machine.key)
                ledger.elected(machine.key, epoch, self.disk)
            case steps.Claimed(epoch, end_offset):
                world.note(machine, "is the active controller of epoch %d", epoch)
                if not end_offset == self.applied == self.state.log.end_offset:
                    raise Violation("claim", f"{machine} claims at {end_offset}: {self.state.log}")
                assert machine.control is not None
                machine.control.feed(control_steps.Claim(epoch, end_offset, self.image))
            case steps.Renounced(epoch):
                world.note(machine, "no longer leads epoch %d", epoch)
                assert machine.control is not None
                machine.control.feed(control_steps.Renounce())
            case steps.Confirmed(token, epoch, _):
                assert machine.control is not None
                machine.control.feed(control_steps.BarrierPassed(token, epoch is not None))
            case steps.Fatal(reason):
                raise Violation("fatal", f"{machine}: {reason}")

    def _send(self, peer: int, request: messages.Request) -> None:
        me = self.machine.key
        if isinstance(request, messages.Vote) and not request.pre:
            self.world.ledger.voted(me, request.candidate_epoch, me)
        timeout_ms = REQUEST_TIMEOUT_MS
        if isinstance(request, messages.Fetch):
            timeout_ms += FETCH_WAIT_MS

        def settle(reply: Any | None, sent: bool) -> None:
            self.feed(steps.Replied(peer, request, reply))

        self.world.network.call(
            self.machine,
            self.world.machines[peer],
            lambda callee, answer: callee.replica.ask(request, answer),  # type: ignore[union-attr]
            settle,
            timeout_ms=timeout_ms,
            may_repeat=True,
        )

    def _answer(self, token: int, reply: messages.Reply) -> None:
        request, answer = self._waiting.pop(token)
        granted = isinstance(reply, messages.VoteReply) and reply.granted
        if isinstance(request, messages.Vote) and granted:
            candidates = (request.last_epoch, request.last_offset)
            self.world.ledger.granted(self.machine.key, self.disk.last, candidates)
            if not request.pre:
                self.world.ledger.voted(
                    self.machine.key, request.candidate_epoch, request.candidate_id
                )
        answer(reply)

    def _advance(self, high_watermark: int) -> None:
        machine, ledger = self.machine, self.world.ledger
        if self.leads:
            before = ledger.end
            ledger.committed_by_leader(
                machine.key, self.state.epoch, high_watermark, self.disk, self.world.durable_on
            )
            self.world.judge.committed(before)
        else:
            ledger.learned(machine.key, high_watermark, self.disk)
        while self._unapplied and self.applied < high_watermark:
            batch = self._unapplied[0]
            for offset in range(self.applied, min(batch.end_offset, high_watermark)):
                self.apply(batch, offset)
            if self.applied >= batch.end_offset:
                self._unapplied.popleft()
        ledger.published(machine.key, self.applied, self.image)
        machine.committed(self.applied, self.image)

    # --- snapshots ------------------------------------------------------------------------

    def write_snapshot(self) -> None:
        """A snapshot of what is applied: written beside everything else, then durable at once."""
        end = self.applied
        epoch = self.state.log.epoch_at(end - 1)
        digest = self.disk.digest(end)
        if end <= self.disk.start or epoch is None or digest is None:
            return
        snapshot = Snapshot.of(messages.SnapshotId(end, epoch), digest, records_of(self.image))

        def written() -> None:
            self.world.ledger.snapshot_written(
                self.machine.key, snapshot, self.state.high_watermark
            )
            self.world.note(self.machine, "has a snapshot of %d", end)
            self._written[snapshot.id] = snapshot
            self.feed(steps.SnapshotWritten(snapshot.id))

        self.world.at_machine(self.machine, 1 + self.world.profile.sync_ms, written)

    def _range(
        self, request: messages.FetchSnapshot, reply: messages.FetchSnapshotReply
    ) -> messages.FetchSnapshotReply:
        snapshot = self.disk.snapshot
        data = snapshot.data if snapshot and snapshot.id == request.snapshot_id else None
        return answer_range(
            request,
            reply,
            None if data is None else len(data),
            lambda position, most: (data or b"")[position : position + most],
        )

    def _load(self, snapshot: Snapshot) -> None:
        self.image = self.world.ledger.snapshot_loaded(self.machine.key, snapshot)
        self.applied = snapshot.id.end_offset

    def apply(self, batch: messages.Batch, offset: int) -> None:
        digest = self.disk.digest(offset + 1)
        assert digest is not None
        self.image = self.world.ledger.states.after(self.image, batch, offset, digest)
        self.applied = offset + 1


class Control:
    """runtime.control.ControlPlane."""

    def __init__(self, machine: Machine) -> None:
        assert machine.controller_id is not None
        profile = machine.world.profile
        self.machine = machine
        self.judge = machine.world.judge
        self.state = controller.initial(
            controller.ControllerConfig(
                controller_id=machine.controller_id,
                cluster_id="simulated",
                seed=machine.world.schedule.seed,
                lease_ms=profile.lease_ms,
                default_replication=min(3, profile.brokers),
                controller_ids=frozenset(profile.voter_keys),
            )
        )
        self._waiting: dict[int, tuple[Any, Callable[[Any], None]]] = {}

    def ask(
        self, request: Any, answer: Callable[[Any], None], request_id: bytes | None = None
    ) -> None:
        assert self.machine.replica is not None
        token = self.machine.replica.next_token()
        self._waiting[token] = (request, answer)
        self.judge.asked(self, token)
        self.feed(control_steps.Ask(token, request, request_id))

    def feed(self, event: control_steps.Input) -> None:
        machine = self.machine
        before = self.state
        self.state, effects = controller.step(before, event, machine.clock.now_ms())
        machine.world.stepped(machine, event, effects)
        if effects:
            self.judge.decided(self, before, event, effects)
        replica = machine.replica
        assert replica is not None
        for effect in effects:
            match effect:
                case control_steps.Propose(epoch, base_offset, records):
                    replica.propose(epoch, base_offset, records)
                case control_steps.Confirm(token):
                    replica.feed(steps.Confirm(token))
                case control_steps.Answer(token, response):
                    request, answer = self._waiting.pop(token)
                    self.judge.answered(self, token, request, response)
                    answer(response)


class Member:
    """runtime.membership.Membership: the broker's life cycle and its heartbeats."""

    def __init__(self, machine: Machine) -> None:
        assert machine.broker_id is not None
        self.machine = machine
        self._guess = 0
        config = lifecycle.LifecycleConfig(
            broker_id=machine.broker_id,
            incarnation_id=uuid.UUID(int=(machine.key << 32) + machine.incarnation),
            interval_ms=machine.world.profile.lease_ms // HEARTBEAT_RATIO,
        )
        self.state = lifecycle.initial(config, machine.clock.now_ms())

    def serving(self) -> bool:
        return lifecycle.serving(self.state, self.machine.clock.now_ms())

    def feed(self, event: lifecycle.Input) -> None:
        machine = self.machine
        self.state, effects = lifecycle.step(self.state, event, machine.clock.now_ms())
        machine.world.stepped(machine, event, effects)
        for effect in effects:
            match effect:
                case lifecycle.SendHeartbeat(request):
                    self._heartbeat(request)
                case lifecycle.Transition(before, after, epoch, why):
                    machine.world.note(
                        machine,
                        "%s -> %s, broker epoch %d: %s",
                        before.name,
                        after.name,
                        epoch,
                        why,
                    )
                case lifecycle.Exit(why):
                    machine.world.exited(machine, why)
                    return

    def _heartbeat(self, request: Any) -> None:
        assert self.machine.replica is not None
        known = self.machine.replica.state.leader_id
        voters = self.machine.world.profile.voter_keys
        target = known if known >= 0 else voters[self._guess % len(voters)]

        def settle(response: Any | None, sent: bool) -> None:
            if response is None or int(response.error_code) == 41:
                self._guess += 1
            self.feed(lifecycle.HeartbeatAnswered(request, response))

        self.machine.world.network.call(
            self.machine,
            self.machine.world.machines[target],
            lambda callee, answer: callee.control.ask(request, answer),  # type: ignore[union-attr]
            settle,
            timeout_ms=REQUEST_TIMEOUT_MS,
            may_repeat=True,
        )
