"""A simulated node: the real pure cores, glued together as the runtime glues them.

`Replica` (in replica.py) mirrors runtime/replica.py, `Control` runtime/control.py, `Member`
runtime/membership.py (life cycle and heartbeats), `Snapshots` runtime/snapshots.py, `Machine` what
server.py does with them: one timer, and commits told to the controller first, then to the broker.
Where the runtime writes an event, this checks a rule.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from kio.static.primitive import i16, i32, i64
from kio.static.protocol import ResponsePayload

from nodes.kraft.broker import lifecycle
from nodes.kraft.config import SnapshotPolicy
from nodes.kraft.controller import core as controller
from nodes.kraft.controller import steps as control_steps
from nodes.kraft.controller.snapshots import Report, due
from nodes.kraft.ids import BrokerId, LeaderEpoch, Offset
from nodes.kraft.metadata.features import SUPPORTED
from nodes.kraft.metadata.image import Image, PartitionKey
from nodes.kraft.raft import core as raft
from nodes.kraft.raft import steps
from nodes.kraft.simulation.disk import Disk
from nodes.kraft.simulation.partitions import Partitions, Stored
from nodes.kraft.simulation.replica import REQUEST_TIMEOUT_MS, Replica
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    ControllerHeartbeatRequest,
    ControllerHeartbeatResponse,
    SupportedFeature,
)

if TYPE_CHECKING:
    from nodes.kraft.simulation.network import Answer
    from nodes.kraft.simulation.schedule import Crash, Profile
    from nodes.kraft.simulation.world import World
    from nodes.kraft.wire.requests import DecidedRequest

FOREVER: Final = 2**61
HEARTBEAT_RATIO: Final = 5
"""Heartbeats in a lease."""
FEATURES: Final = tuple(
    SupportedFeature(name=name, min_level=i16(low), max_level=i16(high))
    for name, (low, high) in SUPPORTED.items()
)


class Died(Exception):
    """A process died in the middle of a step."""

    def __init__(self, machine: Machine, crash: Crash) -> None:
        super().__init__(repr(machine))
        self.machine = machine
        self.crash = crash


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
        self.stored: dict[PartitionKey, Stored] = {}
        self.incarnation = 0
        self.paused_until = 0
        self.doom: Crash | None = None  # dies when `effects_left` more are carried out
        self.effects_left = 0
        self.replica: Replica | None = None
        self.control: Control | None = None
        self.member: Member | None = None
        self.snapshots: Snapshots | None = None
        self.partitions: Partitions | None = None
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

    @property
    def controller(self) -> Control:
        """That of a machine that is up, and has one."""
        assert self.control is not None
        return self.control

    def boot(self) -> None:
        """server.Node.__init__ and the first tick."""
        self.incarnation += 1
        self._timer = FOREVER
        self.replica = Replica(self)
        if self.controller_id is not None:
            self.control = Control(self)
        self.snapshots = Snapshots(self)
        if self.broker_id is not None:
            self.member = Member(self)
            if self.world.profile.data:
                self.partitions = Partitions(self)
        self.world.touched.add(self.key)

    def stop(self) -> None:
        """The process is gone, its memory with it."""
        self.replica = self.control = self.member = self.snapshots = self.partitions = None
        self.paused_until = 0
        self.doom = None

    def survive(self) -> None:
        """Before an effect is carried out. Raises `Died`."""
        if self.doom is not None:
            if self.effects_left == 0:
                raise Died(self, self.doom)
            self.effects_left -= 1

    # --- time: server.Node._arm, _tick, _do_what_is_due -----------------------------------

    def arm(self) -> None:
        if self.replica is None or self.snapshots is None:
            return
        deadline = min(raft.deadline_ms(self.replica.state), self.snapshots.next_ms)
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
        assert replica is not None and self.snapshots is not None
        if raft.deadline_ms(replica.state) <= now:
            replica.feed(steps.Tick())
        if control is not None:
            due = controller.deadline_ms(control.state)
            if due is not None and due <= now:
                control.feed(control_steps.Tick())
        if member is not None and lifecycle.deadline_ms(member.state) <= now:
            member.feed(lifecycle.Tick())
        self.snapshots.tick()

    # --- from the replica: server.Node's Watcher ------------------------------------------

    def committed(self, end_offset: Offset, image: Image) -> None:
        if self.control is not None:
            self.control.feed(control_steps.Commit(end_offset, image))
        if self.member is not None:
            if self.partitions is not None:
                self.world.at_machine(self, 0, partial(self.partitions.committed, image))
            assert self.replica is not None
            self.member.feed(lifecycle.Applied(end_offset - 1, self.replica.state.epoch))

    def claimed(self, epoch: LeaderEpoch, end_offset: Offset, image: Image) -> None:
        assert self.control is not None
        self.world.note(self, "is the active controller of epoch %d", epoch)
        self.control.feed(control_steps.Claim(epoch, end_offset, image))

    def renounced(self) -> None:
        assert self.control is not None
        self.control.feed(control_steps.Renounce())

    def confirmed(self, token: int, confirmed: bool) -> None:
        assert self.control is not None
        self.control.feed(control_steps.BarrierPassed(token, confirmed))


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
                heartbeat_interval_ms=profile.lease_ms // HEARTBEAT_RATIO,
                snapshots=policy(profile),
                deferred_takeover=profile.deferred_takeover,
                metadata_format=profile.metadata_format,
                default_replication=min(3, profile.brokers),
                controller_ids=frozenset(profile.voter_keys),
            )
        )
        self._waiting: dict[int, tuple[DecidedRequest, Answer[ResponsePayload]]] = {}

    def ask(
        self,
        request: DecidedRequest,
        answer: Answer[ResponsePayload],
        request_id: bytes | None = None,
    ) -> None:
        assert self.machine.replica is not None
        token = self.machine.replica.next_token()
        self._waiting[token] = (request, answer)
        self.judge.asked(self, token)
        self.feed(control_steps.ControllerRequest(token, request, request_id))

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
                case control_steps.Resign(why):
                    machine.world.note(machine, "resigns: %s", why)
                    replica.feed(steps.Resign(why))
                case control_steps.StartSnapshot():
                    assert machine.snapshots is not None
                    machine.snapshots.start()
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
            broker_id=BrokerId(machine.broker_id),
            incarnation_id=uuid.UUID(int=(machine.key << 32) + machine.incarnation),
            interval_ms=machine.world.profile.lease_ms // HEARTBEAT_RATIO,
            cluster_id="simulated",
            features=FEATURES,
        )
        self.state = lifecycle.initial(config, machine.clock.now_ms())

    def serving(self) -> bool:
        return lifecycle.serving(self.state, self.machine.clock.now_ms())

    def feed(self, event: lifecycle.Input) -> None:
        machine = self.machine
        self.state, effects = lifecycle.step(self.state, event, machine.clock.now_ms())
        machine.world.stepped(machine, event, effects)
        machine.world.judge.served(machine)
        for effect in effects:
            match effect:
                case lifecycle.SendHeartbeat(request):
                    self._heartbeat(request)
                case lifecycle.Transition(before, after, epoch, why):
                    machine.world.judge.moved(machine, before, after, epoch)
                    machine.world.note(
                        machine,
                        "%s -> %s, broker epoch %d: %s",
                        before.name,
                        after.name,
                        epoch,
                        why,
                    )
                    if machine.partitions is not None:
                        machine.world.at_machine(machine, 0, machine.partitions.act_if_registered)
                case lifecycle.Exit(why):
                    machine.world.exited(machine, why)
                    return

    def _heartbeat(self, request: BrokerHeartbeatRequest) -> None:
        assert self.machine.replica is not None
        known = self.machine.replica.state.leader_id
        voters = self.machine.world.profile.voter_keys
        target = known if known >= 0 else voters[self._guess % len(voters)]

        def settle(response: ResponsePayload | None, sent: bool) -> None:
            assert response is None or isinstance(response, BrokerHeartbeatResponse)
            if response is None or int(response.error_code) == 41:
                self._guess += 1
            self.feed(lifecycle.HeartbeatAnswered(request, response))

        self.machine.world.network.call(
            self.machine,
            self.machine.world.machines[target],
            lambda callee, answer: callee.controller.ask(request, answer),
            settle,
            timeout_ms=REQUEST_TIMEOUT_MS,
            may_repeat=True,
        )


def policy(profile: Profile) -> SnapshotPolicy:
    """Snapshots are due often: every half second, after some records."""
    return SnapshotPolicy(
        interval_ms=500,
        min_records=profile.snapshot_records,
        degraded_interval_ms=1500,
        degraded_min_records=2 * profile.snapshot_records,
    )


class Snapshots:
    """runtime.snapshots.Snapshots: controllers by coordination, brokers on their own."""

    def __init__(self, machine: Machine) -> None:
        assert machine.replica is not None
        self.machine = machine
        self._replica = machine.replica
        self._asking = False
        self._report = Report(machine.clock.now_ms(), self._replica.log_start)
        self._reported: control_steps.Snapshots | None = None
        self.next_ms = machine.clock.now_ms()

    def tick(self) -> None:
        now = self.machine.clock.now_ms()
        if now < self.next_ms:
            return
        profile = self.machine.world.profile
        self.next_ms = now + profile.lease_ms // HEARTBEAT_RATIO
        self._note(self._report.writing)
        if self.machine.control is None:
            if due(policy(profile), self._report, self._replica.applied, now):
                self.start()
        elif not self._replica.leads and self._replica.leader_id >= 0 and not self._asking:
            self._asking = True
            self._heartbeat(self._replica.leader_id)

    def start(self) -> None:
        """Take a snapshot, unless one is being written."""
        if not self._report.writing:
            self._note(True)
            self._replica.write_snapshot(lambda: self._note(False))

    def _note(self, writing: bool) -> None:
        before, offset = self._report, self._replica.log_start
        if offset > before.snapshot_offset:
            self._report = Report(self.machine.clock.now_ms(), offset, writing=writing)
        else:
            self._report = replace(before, writing=writing)
        stand = control_steps.Snapshots(offset, writing)
        if self.machine.control is not None and stand != self._reported:
            self._reported = stand
            self.machine.control.feed(stand)

    def _heartbeat(self, controller_id: int) -> None:
        report = self._report
        assert self.machine.controller_id is not None
        request = ControllerHeartbeatRequest(
            controller_id=i32(self.machine.controller_id),
            last_snapshot_offset=i64(report.snapshot_offset),
            snapshot_age_ms=i64(self.machine.clock.now_ms() - report.at_ms),
            metadata_end=i64(self._replica.applied),
            writing=report.writing,
        )

        def settle(response: ResponsePayload | None, sent: bool) -> None:
            assert response is None or isinstance(response, ControllerHeartbeatResponse)
            self._asking = False
            if response is not None and int(response.error_code) == 0 and response.start_snapshot:
                self.start()

        self.machine.world.network.call(
            self.machine,
            self.machine.world.machines[controller_id],
            lambda callee, answer: callee.controller.ask(request, answer),
            settle,
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
