"""The broker's life cycle, heartbeat by heartbeat (KIP-631's draft, B.6)."""

import uuid

import pytest

from nodes.kraft.broker import lifecycle
from nodes.kraft.broker.lifecycle import (
    Applied,
    Exit,
    HeartbeatAnswered,
    LeaseGranted,
    LifecycleConfig,
    SendHeartbeat,
    ShutDown,
    Tick,
    Transition,
)
from nodes.kraft.config import from_settings
from nodes.kraft.wire.codec import encode_entity
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse
from nodes.kraft.wire.heartbeats import BrokerState as State

LEASE_MS = 5000
PROCESS = uuid.UUID(int=10)


class Broker:
    """A life cycle with a clock; `sent` are the heartbeats, `effects` all the rest."""

    def __init__(self, now_ms=1000):
        self.now_ms = now_ms
        config = LifecycleConfig(broker_id=4, incarnation_id=PROCESS)
        self.state = lifecycle.initial(config, now_ms)
        self.sent = []
        self.effects = []
        self.feed(Tick())

    def feed(self, event, after_ms=0):
        self.now_ms += after_ms
        self.state, effects = lifecycle.step(self.state, event, self.now_ms)
        for effect in effects:
            if isinstance(effect, SendHeartbeat):
                encode_entity(effect.request)
                self.sent.append(effect.request)
            else:
                self.effects.append(effect)
        return effects

    def answer(self, state=State.ACTIVE, epoch=7, error=0, lease_ms=LEASE_MS, after_ms=10):
        request = self.sent[-1]
        assert request == self.state.in_flight
        response = BrokerHeartbeatResponse(
            error_code=error,
            active_controller_id=1,
            next_state=state,
            broker_epoch=epoch,
            lease_end_time_ms=request.lease_start_time_ms + lease_ms,
        )
        return self.feed(HeartbeatAnswered(request, response), after_ms)

    def fail(self, after_ms=10):
        return self.feed(HeartbeatAnswered(self.sent[-1], None), after_ms)

    def next_beat(self):
        """Wait until the next heartbeat is sent; how long that took."""
        assert self.state.in_flight is None, "one is in flight"
        count, start = len(self.sent), self.now_ms
        while len(self.sent) == count:
            self.feed(Tick(), max(0, lifecycle.deadline_ms(self.state) - self.now_ms))
        return self.now_ms - start

    def moves(self):
        return [(e.before, e.after) for e in self.effects if isinstance(e, Transition)]

    @property
    def serving(self):
        return lifecycle.serving(self.state, self.now_ms)


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def active():
    """Registered under epoch 7 and active since."""
    broker = Broker()
    broker.answer(State.INITIAL, 7)
    broker.feed(Applied(9, 1))
    broker.answer(State.ACTIVE, 7)
    assert broker.serving
    return broker


def test_first_heartbeat_is_the_registration(broker):
    """A.1.47, A.1.77: no epoch yet; the lease's start is the broker's clock before sending."""
    (request,) = broker.sent
    assert (request.broker_epoch, request.previous_broker_epoch) == (-1, -1)
    assert (request.lease_start_time_ms, request.target_state) == (1000, State.ACTIVE)
    assert request.incarnation_id == PROCESS
    assert not broker.serving


def test_registered_but_not_active(broker):
    """A.1.57, A.7.2: INITIAL serves nobody, lease or not."""
    broker.answer(State.INITIAL, 7)
    assert broker.effects == [LeaseGranted(7, 1000, 6000, 1)]
    assert not broker.serving


def test_asks_again_once_its_registration_is_applied(broker):
    """A.1.48: with the highest offset that it applied."""
    broker.answer(State.INITIAL, 7)
    broker.feed(Applied(6, 1), 20)
    assert len(broker.sent) == 1
    broker.feed(Applied(7, 1), 20)
    assert broker.sent[-1].cur_metadata_offset == 7
    assert broker.sent[-1].broker_epoch == 7


def test_applied_before_the_answer_came(broker):
    broker.feed(Applied(8, 1))
    broker.answer(State.INITIAL, 7)
    assert broker.sent[-1].cur_metadata_offset == 8


def test_active(active):
    """A.1.66: INITIAL -> ACTIVE, with an epoch and a lease."""
    assert active.moves() == [(State.INITIAL, State.ACTIVE)]
    assert active.state.epoch == 7
    granted = [e for e in active.effects if isinstance(e, LeaseGranted)][-1]
    assert granted.end_ms - granted.start_ms == LEASE_MS


def test_one_heartbeat_in_flight(active):
    """B.6 (KAFKA-15950)."""
    active.next_beat()
    count = len(active.sent)
    active.feed(Tick(), 3000)
    active.feed(Applied(50, 1))
    assert len(active.sent) == count


def test_interval(active):
    """B.6: from one sending to the next."""
    active.next_beat()
    start = active.now_ms
    active.answer()
    active.next_beat()
    assert active.now_ms - start == 500


def test_backoff(active):
    """B.6: from 100 ms, doubled, up to the interval; a success ends it."""
    active.next_beat()
    waits = []
    for _ in range(5):
        active.fail()
        waits.append(active.next_beat())
    assert waits == [100, 200, 400, 500, 500]
    active.answer()
    active.next_beat()
    active.fail()
    assert active.next_beat() == 100


def test_a_new_leader_is_asked_at_once(active):
    """A broker that nobody could answer waits for no backoff once a leader of a later epoch
    commits; for the one that it knew it does."""
    active.next_beat()
    for _ in range(3):
        active.fail()
        active.next_beat()
    active.fail()
    sent = len(active.sent)
    active.feed(Applied(20, 1))
    assert len(active.sent) == sent
    active.feed(Applied(21, 2))
    assert len(active.sent) == sent + 1
    active.fail()
    assert active.next_beat() == 100


def test_a_new_leader_is_no_reason_to_renew_early(active):
    active.feed(Applied(20, 2))
    assert active.next_beat() > 400


@pytest.mark.parametrize("error", [41, 7, 31])
def test_errors_change_nothing(active, error):
    """A.1.53: only an accepted heartbeat renews."""
    active.next_beat()
    end_ms = active.state.lease_end_ms
    active.answer(State.UNKNOWN, -1, error=error)
    assert (active.state.lease_end_ms, active.state.epoch) == (end_ms, 7)
    assert active.serving


def test_renewal(active):
    active.next_beat()
    start = active.now_ms
    active.answer(after_ms=100)
    assert active.state.lease_end_ms == start + LEASE_MS


def test_lease_ends_by_the_clock_at_that_moment(active):
    """A.1.55, A.1.56, A.6.11, A.7.7: no tick is needed to stop serving."""
    active.now_ms = active.state.lease_end_ms - 1
    assert active.serving
    active.now_ms += 1
    assert not active.serving
    assert active.state.broker_state == State.ACTIVE  # nobody told it yet


def test_expiry_is_due(active):
    active.next_beat()
    assert lifecycle.deadline_ms(active.state) == active.state.lease_end_ms
    active.feed(Tick(), LEASE_MS)
    assert active.moves()[-1] == (State.ACTIVE, State.FENCED)


def test_answer_after_expiry_does_not_revive(active):
    """A.1.68: the controller renewed in time, the answer came too late: same epoch, so no."""
    active.next_beat()
    active.answer(State.ACTIVE, 7, lease_ms=3 * LEASE_MS, after_ms=2 * LEASE_MS)
    assert active.moves()[-1] == (State.ACTIVE, State.FENCED)
    assert not active.serving
    assert active.sent[-1].target_state == State.FENCED
    active.answer(State.FENCED, 7)
    assert active.sent[-1].target_state == State.ACTIVE
    active.answer(State.ACTIVE, 12)
    assert active.moves()[-1] == (State.FENCED, State.ACTIVE)
    assert active.serving and active.state.epoch == 12


def test_answer_whose_lease_is_over(broker):
    """A.1.55: a lease that ended on the way is none."""
    broker.answer(State.INITIAL, 7)
    broker.next_beat()
    broker.answer(State.ACTIVE, 7, after_ms=LEASE_MS)
    assert not broker.serving
    assert broker.moves() == []


def test_fenced_by_the_controller(active):
    """A.1.54, A.1.67: refused renewal without an error."""
    active.next_beat()
    active.answer(State.FENCED, 7, lease_ms=0)
    assert active.moves()[-1] == (State.ACTIVE, State.FENCED)
    assert not active.serving
    active.next_beat()
    assert (active.sent[-1].target_state, active.sent[-1].broker_epoch) == (State.ACTIVE, 7)


def test_fenced_and_taken_back_unnoticed(active):
    """A.1.68: the answer FENCED was lost; a new epoch means that it was fenced between."""
    active.next_beat()
    active.answer(State.ACTIVE, 12)
    assert active.moves()[-2:] == [(State.ACTIVE, State.FENCED), (State.FENCED, State.ACTIVE)]
    assert active.state.epoch == 12


def test_stale(active):
    """A.1.62, A.1.64, A.3.9: told that the id is another's; asks as one who had it."""
    active.next_beat()
    active.answer(State.FENCED, -1, error=77)
    assert active.moves()[-1] == (State.ACTIVE, State.FENCED)
    assert not active.serving
    assert active.next_beat() == 100
    request = active.sent[-1]
    assert (request.broker_epoch, request.previous_broker_epoch) == (-1, 7)
    active.answer(State.FENCED, -1, error=77)
    active.next_beat()
    assert active.sent[-1].previous_broker_epoch == 7


def test_unregistered(active):
    """Told that it is registered no more: serves no more, and registers anew."""
    active.next_beat()
    active.answer(State.FENCED, -1, error=102)
    assert active.moves()[-1] == (State.ACTIVE, State.FENCED)
    assert not active.serving
    assert active.next_beat() == 100
    request = active.sent[-1]
    assert (request.broker_epoch, request.previous_broker_epoch) == (-1, 7)
    active.answer(State.INITIAL, 30)
    active.feed(Applied(30, 1))
    active.answer(State.ACTIVE, 30)
    assert active.moves()[-1] == (State.FENCED, State.ACTIVE)


def test_unregistered_while_it_shuts_down(active):
    """Nothing is left to hand over: it does not register for that."""
    active.feed(ShutDown(), 50)
    active.answer(State.FENCED, -1, error=102)
    assert isinstance(active.effects[-1], Exit)
    sent = len(active.sent)
    active.feed(Tick(), 10_000)
    assert len(active.sent) == sent


def test_registered_anew(active):
    """A.1.58, A.1.68: back by a new registration."""
    active.next_beat()
    active.answer(State.FENCED, -1, error=77)
    active.next_beat()
    active.answer(State.INITIAL, 30)
    assert active.state.broker_state == State.FENCED
    active.feed(Applied(30, 1))
    request = active.sent[-1]
    assert (request.broker_epoch, request.previous_broker_epoch) == (30, -1)
    active.answer(State.ACTIVE, 30)
    assert active.moves()[-1] == (State.FENCED, State.ACTIVE)


def test_stale_before_ever_active(broker):
    """A.1.70: no edge leads from INITIAL to FENCED."""
    broker.answer(State.INITIAL, 7)
    broker.next_beat()
    broker.answer(State.FENCED, -1, error=77)
    assert broker.moves() == []
    broker.next_beat()
    assert broker.sent[-1].previous_broker_epoch == 7


def test_controlled_shutdown(active):
    """A.1.59, A.1.61, A.1.69, A.6.5: asks at once, again until granted, and exits only then."""
    active.feed(ShutDown(), 50)
    assert active.sent[-1].target_state == State.SHUTDOWN
    active.answer(State.ACTIVE, 7)
    assert active.serving
    active.next_beat()
    assert active.sent[-1].target_state == State.SHUTDOWN
    active.answer(State.SHUTDOWN, 7, lease_ms=0)
    assert active.moves()[-1] == (State.ACTIVE, State.SHUTDOWN)
    assert isinstance(active.effects[-1], Exit)
    assert not active.serving


def test_nothing_follows_shutdown(active):
    """A.1.70: no SHUTDOWN -> anything."""
    active.feed(ShutDown(), 500)
    active.answer(State.SHUTDOWN, 7)
    assert active.feed(Tick(), 10_000) == []
    assert lifecycle.deadline_ms(active.state) == lifecycle.NEVER_MS


def test_unasked_shutdown_is_ignored(active):
    active.next_beat()
    active.answer(State.SHUTDOWN, 7)
    assert active.state.broker_state == State.ACTIVE


def test_shutdown_while_fenced(active):
    """A.1.69: FENCED -> SHUTDOWN."""
    active.next_beat()
    active.fail()
    active.feed(Tick(), LEASE_MS)
    active.fail()
    active.feed(ShutDown())
    active.answer(State.SHUTDOWN, 7)
    assert active.moves()[-1] == (State.FENCED, State.SHUTDOWN)


def test_shutdown_before_registration(broker):
    """A.1.70: no edge leads from INITIAL to SHUTDOWN; there is nothing to hand over."""
    broker.feed(ShutDown())
    assert broker.moves() == []
    assert isinstance(broker.effects[-1], Exit)


def test_shutdown_without_the_id(active):
    """A.1.62, A.3.9, A.3.11: refused, it asks anew once; another process has the id, and nothing is
    left to shut down."""
    active.feed(ShutDown(), 500)
    active.answer(State.FENCED, -1, error=77)
    assert not active.state.over and not active.serving
    active.next_beat()
    request = active.sent[-1]
    assert (request.broker_epoch, request.previous_broker_epoch) == (-1, 7)
    assert request.target_state == State.SHUTDOWN
    active.answer(State.FENCED, -1, error=77)
    assert isinstance(active.effects[-1], Exit)


def test_shutdown_under_an_epoch_that_it_did_not_know_of(active):
    """A.3.11: it was registered anew, and the answer was lost. Asked, the controller tells it its
    epoch, and it is let go under that one only."""
    active.feed(ShutDown(), 500)
    active.answer(State.FENCED, -1, error=77)
    active.next_beat()
    active.fail()
    active.next_beat()
    assert active.sent[-1].broker_epoch == -1  # not asked yet: that one was lost
    active.answer(State.ACTIVE, 14)
    assert active.serving
    active.next_beat()
    request = active.sent[-1]
    assert (request.target_state, request.broker_epoch) == (State.SHUTDOWN, 14)
    active.answer(State.SHUTDOWN, 14, lease_ms=0)
    assert isinstance(active.effects[-1], Exit)


def test_shutdown_between_the_loss_of_the_id_and_the_next_heartbeat(active):
    """A.3.11: it may be registered under a newer epoch then, too."""
    active.next_beat()
    active.answer(State.FENCED, -1, error=77)
    active.feed(ShutDown())
    assert not active.state.over
    request = active.sent[-1]
    assert (request.broker_epoch, request.target_state) == (-1, State.SHUTDOWN)


def test_shutdown_while_another_process_waits_for_the_id(active):
    """A.7.3: it said that it lost the id; the controller fenced it, and it has no epoch."""
    active.feed(ShutDown(), 500)
    active.answer(State.FENCED, -1, error=77)
    active.next_beat()
    active.answer(State.FENCED, -1, lease_ms=0)
    assert isinstance(active.effects[-1], Exit)


def test_answer_to_another_heartbeat_is_dropped(active):
    """B.2.17 in spirit: answers belong to the one request in flight."""
    old = active.sent[-1]
    active.next_beat()
    response = BrokerHeartbeatResponse(error_code=77, next_state=State.FENCED, lease_end_time_ms=0)
    active.feed(HeartbeatAnswered(old, response))
    assert active.serving and active.state.in_flight is not None


def test_unknown_state_is_tolerated(active):
    """A.1.80, D.14."""
    active.next_beat()
    active.answer(9, 7)
    assert active.serving


@pytest.mark.parametrize("error", [35, 42, 104])
def test_a_refused_renewal_fences(active, error):
    """A.1.54, A.1.67: the active controller will not have it; it serves nobody from there on,
    and comes back by target FENCED, for the controller may still take it for active."""
    active.next_beat()
    active.answer(State.FENCED, -1, error=error)
    assert active.moves()[-1] == (State.ACTIVE, State.FENCED)
    assert not active.serving
    assert active.state.epoch == 7
    active.next_beat()
    assert active.sent[-1].target_state == State.FENCED
    active.answer(State.FENCED, 7)
    assert active.sent[-1].target_state == State.ACTIVE


def test_a_refused_newcomer_stays_initial(broker):
    """A.1.70: no edge leads from INITIAL to FENCED; it asks on."""
    broker.answer(State.FENCED, -1, error=35)
    assert broker.moves() == [] and not broker.serving
    assert broker.next_beat() == 100
    assert broker.sent[-1].target_state == State.ACTIVE


def test_a_deferred_newcomer_asks_on(broker):
    """A.7.3: told FENCED and no epoch, it stays as it is and asks again after an interval."""
    broker.answer(State.FENCED, -1, lease_ms=0)
    assert broker.moves() == [] and not broker.serving
    broker.next_beat()
    request = broker.sent[-1]
    assert (request.broker_epoch, request.previous_broker_epoch) == (-1, -1)
    broker.answer(State.INITIAL, 9)
    broker.feed(Applied(9, 1))
    broker.answer(State.ACTIVE, 9)
    assert broker.serving


def test_the_start_of_a_lease_is_stamped_before_sending(active):
    """A.7.7: however long the answer takes, the lease counts from before the question."""
    active.next_beat()
    stamp = active.now_ms
    assert active.sent[-1].lease_start_time_ms == stamp
    active.answer(after_ms=700)
    assert active.state.lease_end_ms == stamp + LEASE_MS


def test_what_a_heartbeat_says_of_the_process():
    """A.1.50, A.1.77: listeners, rack, cluster, and the levels of features that it supports."""
    config = from_settings(
        {
            "process.roles": "broker",
            "broker.id": "4",
            "cluster.id": "c",
            "controller.quorum.voters": "1@h:1",
            "listeners": "CLIENT://h:9092",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT",
            "log.dirs": "/nowhere",
            "broker.rack": "r1",
        }
    )
    _, effects = lifecycle.step(
        lifecycle.initial(LifecycleConfig.of(config, PROCESS), 5), Tick(), 5
    )
    (request,) = (effect.request for effect in effects)
    assert (request.rack, request.cluster_id) == ("r1", "c")
    assert [(each.name, each.host, each.port) for each in request.listeners] == [
        ("CLIENT", "h", 9092)
    ]
    assert [(each.name, each.min_level, each.max_level) for each in request.features] == [
        ("metadata.format", 1, 2)
    ]
