"""Broker processes and a controller core on a simulated clock and a lossy network.

Whatever is lost, late or replaced: life cycles follow the automaton of KIP-631, leases obey
D.12, and once the network is quiet a live broker is active again within a lease (D.13).
"""

import heapq
import itertools
import random
import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "controller"))

from controller_harness import Harness

from nodes.kraft.broker import lifecycle
from nodes.kraft.controller import core, steps
from nodes.kraft.wire.heartbeats import BrokerState as State

EDGES = {
    (State.INITIAL, State.ACTIVE),
    (State.ACTIVE, State.FENCED),
    (State.FENCED, State.ACTIVE),
    (State.ACTIVE, State.SHUTDOWN),
    (State.FENCED, State.SHUTDOWN),
}
LEASE_MS = 5000


class Process:
    def __init__(self, world, number):
        self.world = world
        self.alive = True
        incarnation_id = uuid.UUID(int=number)
        config = lifecycle.LifecycleConfig(broker_id=4, incarnation_id=incarnation_id)
        self.state = lifecycle.initial(config, world.now_ms)
        self.active_epochs = []
        self.timer = 0
        self.feed(lifecycle.Tick())

    def feed(self, event):
        if not self.alive:
            return
        before = self.state.broker_state
        self.state, effects = lifecycle.step(self.state, event, self.world.now_ms)
        for effect in effects:
            match effect:
                case lifecycle.SendHeartbeat(request):
                    self.world.send(self, request)
                case lifecycle.Transition(old, new, epoch, _):
                    assert (old, new) in EDGES and old == before
                    before = new
                    if new == State.ACTIVE:
                        assert epoch > max(self.active_epochs, default=-1)
                        self.active_epochs.append(epoch)
                case lifecycle.LeaseGranted(epoch, start_ms, end_ms, _):
                    assert end_ms == start_ms + LEASE_MS
                case lifecycle.Exit():
                    self.alive = False
        assert before == self.state.broker_state
        self.timer += 1
        armed = self.timer
        self.world.at(
            lifecycle.deadline_ms(self.state),
            lambda: self.feed(lifecycle.Tick()) if armed == self.timer else None,
        )


class World:
    """One broker id; an event queue; messages get lost with `loss`, else take their time."""

    def __init__(self, seed, **settings):
        self.random = random.Random(seed)
        self.now_ms = 0
        self.loss = 0.0
        self.late = 0.0
        self.queue = []
        self.order = itertools.count()
        self.controller = Harness(lease_ms=LEASE_MS, **settings).claim()
        self.processes = [Process(self, 1)]

    def at(self, ms, action):
        if ms < lifecycle.NEVER_MS:
            heapq.heappush(self.queue, (max(ms, self.now_ms), next(self.order), action))

    def run(self, until_ms):
        while self.queue and self.queue[0][0] <= until_ms:
            self.now_ms, _, action = heapq.heappop(self.queue)
            self.controller.now_ms = self.now_ms
            action()
            self.tick_controller()
            self.check_lease()
        self.now_ms = until_ms

    def tick_controller(self):
        due = core.deadline_ms(self.controller.state)
        if due is not None and due <= self.now_ms:
            self.controller.feed(steps.Tick())

    def check_lease(self):
        """D.12, epoch form: who serves under the registered epoch holds a lease there, too."""
        leadership = self.controller.state.leadership
        for process in self.processes:
            if process.alive and lifecycle.serving(process.state, self.now_ms):
                broker = leadership.speculative.brokers[4]
                if process.state.epoch == broker.epoch and not broker.fenced:
                    assert leadership.members.leases[4] >= process.state.lease_end_ms
                assert process.state.epoch <= broker.epoch

    def delay_ms(self):
        if self.random.random() < self.late:
            return self.random.randrange(1, 2 * LEASE_MS)
        return self.random.randrange(1, 20)

    def send(self, process, request):
        failed = self.random.random() < self.loss

        def arrive():
            response = self.controller.ask(request)
            lost = self.random.random() < self.loss
            self.at(
                self.now_ms + self.delay_ms(),
                lambda: process.feed(
                    lifecycle.HeartbeatAnswered(request, None if lost else response)
                ),
            )
            newest = len(self.controller.log) - 1
            self.at(self.now_ms + 30, lambda: process.feed(lifecycle.Applied(newest, 1)))

        if failed:
            answer = lifecycle.HeartbeatAnswered(request, None)
            self.at(self.now_ms + 1000, lambda: process.feed(answer))
        else:
            self.at(self.now_ms + self.delay_ms(), arrive)


@pytest.mark.parametrize("seed", range(40))
def test_recovers_from_a_bad_network(seed):
    """A.1.66, A.1.67, A.1.68, A.1.69, A.1.70, A.1.79, D.12, D.13, D.14."""
    world = World(seed)
    for _ in range(6):
        world.loss = world.random.choice([0.0, 0.3, 0.9])
        world.late = world.random.choice([0.0, 0.2, 0.6])
        world.run(world.now_ms + world.random.randrange(500, 12_000))
        if world.random.random() < 0.3:
            world.controller.now_ms = world.now_ms
            world.controller.fail_over()
    world.loss = world.late = 0.0
    world.run(world.now_ms + 4 * LEASE_MS)
    (process,) = world.processes
    assert lifecycle.serving(process.state, world.now_ms)
    broker = world.controller.committed.brokers[4]
    assert (broker.state, broker.epoch) == (State.ACTIVE, process.state.epoch)
    records = len(world.controller.log)
    world.run(world.now_ms + 2 * LEASE_MS)
    assert len(world.controller.log) == records  # settled: nothing flaps


@pytest.mark.parametrize("seed", range(20))
def test_restarted_process_takes_over_at_once(seed):
    """A.1.62, A.1.63, A.1.64, A.1.65: the new process is active long before the old lease ends;
    the old one, alive (it was paused), is told and never serves again while the new one lives."""
    world = World(seed)
    world.run(2000)
    (old,) = world.processes
    assert lifecycle.serving(old.state, world.now_ms)
    new = Process(world, 2)
    world.processes.append(new)
    world.run(world.now_ms + 200)
    assert lifecycle.serving(new.state, world.now_ms)
    world.run(world.now_ms + 600)
    assert not lifecycle.serving(old.state, world.now_ms)
    world.run(world.now_ms + 5 * LEASE_MS)
    assert lifecycle.serving(new.state, world.now_ms)
    assert len(new.active_epochs) == 1 and len(old.active_epochs) == 1


def test_the_paused_one_gets_the_id_back():
    """A.1.64: once the process that took it is dead and its lease over."""
    world = World(1)
    world.run(2000)
    (old,) = world.processes
    new = Process(world, 2)
    world.processes.append(new)
    world.run(world.now_ms + 1000)
    new.alive = False
    world.run(world.now_ms + 3 * LEASE_MS)
    assert lifecycle.serving(old.state, world.now_ms)
    assert old.active_epochs[-1] > new.active_epochs[-1]


@pytest.mark.parametrize("seed", range(20))
def test_shutdown_is_granted(seed):
    """A.1.59, A.1.60, A.1.61, over a network that loses a third."""
    world = World(seed)
    world.run(2000)
    world.controller.create("t", assignment=[[4]])
    world.loss = 0.3
    (process,) = world.processes
    process.feed(lifecycle.ShutDown())
    world.run(world.now_ms + 10 * LEASE_MS)
    assert not process.alive
    assert world.controller.committed.brokers[4].fenced
    assert world.controller.partition("t").leader == -1


def test_shutdown_hands_over_what_it_leads_under_an_epoch_that_it_never_heard_of():
    """A.3.11 (KIP-380): its lease ran out, its next heartbeat registered it anew, it leads again,
    and the answer was lost. Told to end, it is refused under the epoch that it knows, asks anew,
    and is drained under the newer one before it exits."""
    world = World(3)
    world.run(2000)
    world.controller.create("t", assignment=[[4]])
    (process,) = world.processes
    known = process.state.epoch
    world.loss = 1.0
    world.run(world.now_ms + LEASE_MS + 2000)
    assert world.controller.partition("t").leader == -1
    answer = world.controller.heartbeat(4, known, incarnation=uuid.UUID(int=1))  # lost as well
    assert answer.next_state == State.ACTIVE and answer.broker_epoch > known
    assert world.controller.partition("t").leader == 4
    process.feed(lifecycle.ShutDown())
    world.loss = 0.0
    world.run(world.now_ms + LEASE_MS // 2)
    assert not process.alive
    broker = world.controller.committed.brokers[4]
    assert (broker.fenced, broker.epoch) == (True, answer.broker_epoch)
    assert world.controller.partition("t").leader == -1


@pytest.mark.parametrize("seed", range(40))
def test_deferred_takeover_never_lets_two_serve(seed):
    """A.7.3 (ii), D.12 in its strict form: whatever is lost or late, however many processes come
    with the one id and across failovers, at most one of them serves at any moment; and when all
    is quiet the newest one does."""
    world = World(seed, deferred_takeover=True)
    strict = world.check_lease

    def check():
        strict()
        assert sum(lifecycle.serving(each.state, world.now_ms) for each in world.processes) <= 1

    world.check_lease = check
    for number in range(2, 7):
        world.loss = world.random.choice([0.0, 0.3, 0.7])
        world.late = world.random.choice([0.0, 0.3])
        world.run(world.now_ms + world.random.randrange(500, 9000))
        if world.random.random() < 0.3:
            world.controller.now_ms = world.now_ms
            world.controller.fail_over()
        if world.random.random() < 0.7:
            world.processes.append(Process(world, number))
        if world.random.random() < 0.3:
            world.random.choice(world.processes).alive = False
    world.loss = world.late = 0.0
    world.processes.append(Process(world, 9))
    world.run(world.now_ms + 4 * LEASE_MS)
    assert sum(lifecycle.serving(each.state, world.now_ms) for each in world.processes) == 1


def test_a_late_word_of_a_former_loss_yields_nothing():
    """A.7.3: only that process knows of its loss that says so of the epoch which it holds."""
    harness = Harness(lease_ms=LEASE_MS, deferred_takeover=True).claim()
    process = uuid.UUID(int=1)
    first = harness.heartbeat(4, incarnation=process).broker_epoch
    harness.heartbeat(4, first, incarnation=process, target=State.FENCED)
    harness.tick(LEASE_MS)
    again = harness.heartbeat(4, incarnation=process, previous=first)
    epoch = again.broker_epoch
    harness.heartbeat(4, epoch, incarnation=process)
    harness.heartbeat(4, incarnation=uuid.UUID(int=2))  # waits
    assert harness.heartbeat(4, incarnation=process, previous=first - 1).error_code == 77
    assert not harness.committed.brokers[4].fenced
