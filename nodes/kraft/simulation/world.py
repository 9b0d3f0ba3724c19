"""A whole control plane on a simulated network, disks and clocks: one seed, one history.

    World(draw(seed)).run()          # raises `Violation`

Controllers and brokers run the node's own pure cores (`machine.py`). Faults and operations come
from the schedule; while it lasts the network is hostile, too. Then there is peace: the cluster has
to recover, and the clients' history has to be linearizable.
"""

from __future__ import annotations

import heapq
import itertools
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from nodes.kraft.broker import lifecycle
from nodes.kraft.raft import steps
from nodes.kraft.simulation import traffic
from nodes.kraft.simulation.clients import Clients
from nodes.kraft.simulation.judge import Judge
from nodes.kraft.simulation.ledger import Ledger, States
from nodes.kraft.simulation.machine import Clock, Died, Machine
from nodes.kraft.simulation.network import Network
from nodes.kraft.simulation.partitions import PartitionLedger
from nodes.kraft.simulation.schedule import (
    LEADER,
    TOPICS,
    TWIN,
    Administer,
    Crash,
    Cut,
    Drain,
    IsrChange,
    Item,
    Operation,
    Pause,
    Produce,
    Replace,
    Resign,
    Schedule,
    StaleHeartbeat,
    TakeSnapshot,
)
from nodes.kraft.simulation.violation import Violation
from nodes.kraft.wire.heartbeats import BrokerState

RECOVERY_MS: Final = 10_000
"""How long the cluster may take to be whole again: several leases."""
LOOK_EVERY_MS: Final = 200
ATTEMPTS: Final = 20
HAND_OVER_MS: Final = 400
MAX_STEPS: Final = 60_000

Note = Callable[[int, str, str], None]


class World:
    """`run()` plays a schedule to its end. `trace(time, who, what)` hears what goes on."""

    def __init__(
        self, schedule: Schedule, *, trace: Note | None = None, max_steps: int = MAX_STEPS
    ) -> None:
        self.schedule = schedule
        self.profile = schedule.profile
        self.now = 0
        self.steps = 0
        self.digest = 0
        self.hostile = True
        self.touched: set[int] = set()  # machines that took a step, or started: timers to set
        self._trace = trace
        self._max_steps = max_steps
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._rng = random.Random(f"{schedule.seed}/world")
        self.network = Network(self, schedule)
        self.ledger = Ledger(self.profile.voter_keys, States())
        self.judge = Judge(self)
        self.clients = Clients(self)
        self.partitions = PartitionLedger()
        self._values = itertools.count(1)
        self.machines: dict[int, Machine] = {}
        for key in self.profile.voter_keys:
            host = 10 + key if self.profile.combined and key <= self.profile.brokers else None
            self._add(key, controller_id=key, broker_id=host)
        for broker_id in self.profile.broker_ids:
            if not self.brokers(broker_id):
                self._add(broker_id, broker_id=broker_id)
        for machine in tuple(self.machines.values()):
            machine.boot()
            machine.arm()
        for item in schedule.items:
            self.later(item.at, lambda item=item: self._do(item))  # type: ignore[misc]

    def _add(
        self, key: int, *, controller_id: int | None = None, broker_id: int | None = None
    ) -> Machine:
        drift = self.profile.drift_ppm
        clock = Clock(self, self._rng.randrange(10_000), self._rng.randint(-drift, drift))
        machine = Machine(self, key, clock, controller_id=controller_id, broker_id=broker_id)
        self.machines[key] = machine
        return machine

    def brokers(self, broker_id: int) -> list[Machine]:
        """The machines whose processes claim this broker id."""
        return [each for each in self.machines.values() if each.broker_id == broker_id]

    # --- time -----------------------------------------------------------------------------

    def later(self, delay: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._queue, (self.now + delay, next(self._order), action))

    def at_machine(self, machine: Machine, delay: int, action: Callable[[], object]) -> None:
        """Later, on a process: never if it dies first, and not while it stands still."""
        incarnation = machine.incarnation

        def act() -> None:
            if machine.incarnation != incarnation or not machine.up:
                return
            if machine.paused_until > self.now:
                self.at_machine(machine, machine.paused_until - self.now, action)
            else:
                action()

        self.later(delay, act)

    def deliver(
        self,
        machine: Machine,
        delay: int,
        action: Callable[[], object],
        refuse: Callable[[], None] | None,
    ) -> None:
        """A message arrives at whichever process runs there then."""

        def arrive() -> None:
            if not machine.up:
                if refuse is not None:
                    refuse()
            elif machine.paused_until > self.now:
                self.at_machine(machine, machine.paused_until - self.now, action)
            else:
                action()

        self.later(delay, arrive)

    def run(self) -> None:
        """Play it. Raises `Violation`; what else a core raises is one, too."""
        try:
            self._run_until(self.profile.duration_ms)
            self._make_peace()
            self._recover()
            self._read_all()
            self._check_end()
        except Violation:
            raise
        except Exception as error:
            raise Violation("exception", f"{type(error).__name__}: {error}") from error

    def _run_until(self, time: int) -> None:
        queue, touched = self._queue, self.touched
        while queue and queue[0][0] <= time:
            self.now, _, action = heapq.heappop(queue)
            try:
                action()
            except Died as died:
                self._crash_as(died.machine, died.crash)
            if touched:
                for key in touched:
                    if key in self.machines:
                        self.machines[key].arm()
                touched.clear()
        self.now = time

    def stepped(self, machine: Machine, event: object, effects: Sequence[object]) -> None:
        """A core took a step. `digest` is that of all of them so far."""
        self.steps += 1
        self.touched.add(machine.key)
        if self.steps > self._max_steps:
            raise Violation("livelock", f"more than {self._max_steps} steps")
        line = f"{self.now} {machine.key} {type(event).__name__}"
        for effect in effects:
            line += type(effect).__name__
        self.digest = zlib.crc32(line.encode(), self.digest)

    def note(self, machine: Machine, text: str, *values: object) -> None:
        if self._trace is not None:
            self._trace(self.now, repr(machine), text % values if values else text)

    # --- disks ----------------------------------------------------------------------------

    def flush(self, machine: Machine, effect: steps.Flush) -> None:
        def flushed() -> None:
            assert machine.replica is not None
            if machine.replica.state.truncations == effect.truncations:
                machine.disk.durable = max(machine.disk.durable, effect.end_offset)
            machine.replica.feed(steps.Flushed(effect.end_offset, effect.truncations))

        self.at_machine(machine, self._rng.randint(0, self.profile.sync_ms), flushed)

    def durable_on(self, end_offset: int, digest: int) -> int:
        disks = (self.machines[key].disk for key in self.profile.voter_keys)
        return sum(
            disk.durable >= end_offset
            and (disk.start > end_offset or disk.digest(end_offset) == digest)
            for disk in disks
        )

    # --- the schedule ---------------------------------------------------------------------

    def _do(self, item: Item) -> None:
        match item:
            case Operation():
                self.clients.operate(item)
            case Produce():
                self._produce(item)
            case IsrChange():
                traffic.change_isr(self, item)
            case StaleHeartbeat():
                traffic.stale_heartbeat(self, item)
            case Administer():
                traffic.administer(self, item)
            case Cut():
                self.network.cut(self._links(item), item.for_ms)
                self.note(self._victim(item.victim), "is cut off (%s)", item.shape)
            case Replace():
                self._replace(item.victim)
            case _:
                machine = self._victim(item.victim)
                if machine.up:
                    self._hit(machine, item)

    def next_value(self) -> int:
        """Of which there is only one."""
        return next(self._values)

    def _produce(self, item: Produce) -> None:
        machine = self.brokers(item.victim)[0]
        if machine.up and machine.paused_until <= self.now and machine.partitions is not None:
            machine.partitions.produce(item.pick)

    def _victim(self, key: int) -> Machine:
        if key == LEADER:
            led = [
                machine
                for machine in self.machines.values()
                if machine.replica is not None and machine.replica.leads
            ]
            if led:
                return max(led, key=lambda machine: machine.replica.state.epoch)  # type: ignore[union-attr]
            return self.machines[self.profile.voter_keys[0]]
        if key in self.machines:
            return self.machines[key]
        return self.brokers(key)[0]

    def _hit(self, machine: Machine, item: Item) -> None:
        assert machine.replica is not None
        match item:
            case Crash(amid=-1):
                self._crash_as(machine, item)
            case Crash():
                machine.doom, machine.effects_left = item, item.amid
            case Pause():
                self.note(machine, "stands still for %d ms", item.for_ms)
                machine.paused_until = max(machine.paused_until, self.now + item.for_ms)
            case TakeSnapshot():
                assert machine.snapshots is not None
                machine.snapshots.start()
            case Resign():
                machine.replica.feed(steps.Resign())
            case Drain():
                self.note(machine, "is told to shut down")
                if machine.member is not None:
                    machine.member.feed(lifecycle.ShutDown())
                else:
                    self._close(machine, item.down_ms)

    def _crash_as(self, machine: Machine, item: Crash) -> None:
        wipe = item.wipe and machine.controller_id is None
        self.crash(machine, item.keep, item.down_ms, wipe=wipe)

    def crash(self, machine: Machine, keep: float, down_ms: int, *, wipe: bool = False) -> None:
        """The process dies; another one starts there after `down_ms`."""
        machine.stop()
        machine.disk.crash(keep)
        self.note(machine, "dies; its log ends at %d", machine.disk.end)
        if wipe:
            machine.disk.wipe()
            self.ledger.wiped(machine.key)
        incarnation = machine.incarnation
        self.later(down_ms, lambda: self._boot(machine, incarnation))

    def _boot(self, machine: Machine, incarnation: int) -> None:
        if not machine.up and machine.incarnation == incarnation:
            self.note(machine, "starts")
            machine.boot()

    def exited(self, machine: Machine, why: str) -> None:
        """The life cycle ends the process; it is started again a little later."""
        self.note(machine, "ends: %s", why)
        self.at_machine(machine, 0, lambda: self._close(machine, 300))

    def _close(self, machine: Machine, down_ms: int) -> None:
        """server.Node._close: answer no more fetches, hand leadership over."""
        assert machine.replica is not None
        wait_ms = HAND_OVER_MS if machine.replica.leads else 0
        machine.replica.feed(steps.ShutDown())
        self.at_machine(machine, wait_ms, lambda: self.crash(machine, 1.0, down_ms))

    def _replace(self, broker_id: int) -> None:
        key = broker_id + TWIN
        twin = self.machines.get(key)
        if twin is None:
            twin = self._add(key, broker_id=broker_id)
        if twin.up:
            self.crash(twin, 0.0, 50, wipe=True)
        else:
            twin.boot()
            self.note(twin, "starts")

    def _links(self, item: Cut) -> set[tuple[int, int]]:
        keys, victim = list(self.machines), self._victim(item.victim).key
        others = [key for key in keys if key != victim]
        if item.shape == "out":
            return {(victim, other) for other in others}
        if item.shape == "in":
            return {(other, victim) for other in others}
        side = {key for place, key in enumerate(keys) if item.mask >> place & 1}
        if item.shape == "isolate":
            side = {victim}
        return {(a, b) for a in keys for b in keys if (a in side) != (b in side)}

    # --- the end --------------------------------------------------------------------------

    def _make_peace(self) -> None:
        """No more faults; each broker id has one process; the dead start. Who stands still goes
        on when its time has come."""
        self.hostile = False
        self.network.heal()
        for machine in tuple(self.machines.values()):
            machine.doom = None
            if machine.key >= TWIN:
                machine.stop()
                machine.incarnation += 1
                del self.machines[machine.key]
        for machine in self.machines.values():
            if not machine.up:
                self._boot(machine, machine.incarnation)

    def _recover(self) -> None:
        """D.13: all have the same state, and all brokers are active."""
        limit = self.now + RECOVERY_MS
        while (missing := self._missing()) is not None:
            if self.now >= limit:
                raise Violation("recovery", missing)
            self._run_until(self.now + LOOK_EVERY_MS)

    def _missing(self) -> str | None:
        """What the cluster still lacks."""
        active = [m for m in self.machines.values() if m.control and m.control.state.leadership]
        if len(active) != 1:
            return f"active controllers: {active}"
        for machine in self.machines.values():
            if machine.paused_until > self.now:
                return f"{machine} stands still"
            if machine.replica is None or machine.replica.applied < self.ledger.end:
                return f"{machine} has not applied everything"
            if machine.replica.state.log.end_offset != self.ledger.end:
                return f"the log of {machine} ends elsewhere"
            if machine.member is not None and not machine.member.serving():
                return f"{machine} does not serve"
        image = self.ledger.images[-1]
        if self.profile.data and (behind := self._behind()):
            return behind
        if any(broker.state != BrokerState.ACTIVE for broker in image.brokers.values()):
            return f"not all brokers are active: {image.brokers}"
        return f"no leader: {sorted(image.leaderless)}" if image.leaderless else None

    def _behind(self) -> str | None:
        """A partition that is not in sync."""
        for key, partition in self.ledger.images[-1].partitions.items():
            logs = [self.brokers(each)[0].stored.get(key) for each in partition.replicas]
            if len(partition.isr) < len(partition.replicas) or None in logs:
                return f"{key} has ISR {partition.isr} of {partition.replicas}"
            if any(log.batches != logs[0].batches for log in logs if log and logs[0]):
                return f"the logs of {key} differ"
        return None

    def _read_all(self) -> None:
        """Each topic is read, and one is created: answered by now, whoever is asked."""
        self._run_until_idle()
        for via, topic in enumerate(TOPICS):
            self._operate(Operation(at=0, client=0, f="describe", topic=topic, via=via))
        self._operate(Operation(at=0, client=0, f="create", topic="canary", via=0))

    def _operate(self, operation: Operation) -> None:
        """Until it succeeds; another topic is created each time, for the fate of one may be
        unknown."""
        for attempt in range(ATTEMPTS):
            fresh = replace(operation, topic=f"{operation.topic}{attempt or ''}")
            self.clients.operate(fresh if operation.f == "create" else operation)
            self._run_until_idle()
            if self.clients.rows[-1]["type"] == "ok":
                return
            self._run_until(self.now + LOOK_EVERY_MS)
        raise Violation("recovery", f"{operation.f} of {operation.topic} is never answered")

    def _run_until_idle(self) -> None:
        while not self.clients.idle:
            self._run_until(self.now + 20)

    def _check_end(self) -> None:
        """D.6 (d): every log holds what is committed. D.7 by way of D.1."""
        self._recover()
        truth = self.ledger.images[self.ledger.end]
        for machine in self.machines.values():
            assert machine.replica is not None
            if machine.replica.image != truth:
                raise Violation("uncommitted", f"{machine} ends in another state")
            if not self.ledger.holds(machine.disk, self.ledger.end):
                raise Violation("committed-lost", f"{machine} lacks {self.ledger.end} at the end")
        self._compare_fold()
        self._check_partitions()
        self.clients.check()

    def _check_partitions(self) -> None:
        """D.7: what was acknowledged is in the leader's log."""
        for key, partition in self.ledger.images[-1].partitions.items():
            if self.profile.data and partition.leader >= 0:
                self.partitions.check(key, self.brokers(partition.leader)[0].stored[key].batches)

    def _compare_fold(self) -> None:
        """The independent fold and the node's own image agree."""
        fold, image = self.ledger.fold, self.ledger.images[-1]
        ours = {
            key: (p.replicas, p.isr, p.leader, p.leader_epoch, p.version)
            for key, p in fold.partitions.items()
        }
        theirs = {
            key: (p.replicas, p.isr, p.leader, p.leader_epoch, p.partition_epoch)
            for key, p in image.partitions.items()
        }
        brokers = {key: (b.epoch, b.fenced) for key, b in fold.brokers.items()}
        reported = {key: (b.epoch, b.fenced) for key, b in image.brokers.items()}
        if ours != theirs or brokers != reported or fold.names != dict(image.topic_ids):
            raise Violation("replay", "the image is not what the log makes")
