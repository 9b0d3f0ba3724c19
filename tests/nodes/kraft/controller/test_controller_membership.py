"""Broker membership by heartbeat, as the controller decides it (KIP-631's draft, KIP-380)."""

import uuid

import pytest
from controller_harness import CAUGHT_UP, Harness, State
from immutables import Map

from nodes.kraft.controller import core, steps

LEASE_MS = 5000
A, B = uuid.UUID(int=10), uuid.UUID(int=11)


@pytest.fixture
def harness():
    return Harness().claim()


@pytest.fixture
def led(harness):
    """Brokers 4, 5, 6 are active; topic t has partitions led by 4 (in sync: all) and by 5."""
    harness.epochs = harness.activate(4, 5, 6)
    harness.create("t", assignment=[[4, 5, 6], [5, 4, 6]])
    return harness


def answered(answer):
    return int(answer.error_code), State(answer.next_state), answer.broker_epoch


# --- registration -------------------------------------------------------------------------


def test_first_heartbeat_registers(harness):
    """A.1.47, A.1.66, A.3.12, A.3.13, A.6.3: an epoch, which is the record's own offset, and a
    lease; not active yet."""
    offset = len(harness.log)
    answer = harness.heartbeat(4)
    assert answered(answer) == (0, State.INITIAL, offset)
    broker = harness.committed.brokers[4]
    assert (broker.epoch, broker.state) == (offset, State.INITIAL)
    assert broker.end_points[0].port == 40000


@pytest.mark.parametrize("start_ms", [-1, 2**63 - 1])
def test_a_lease_that_no_clock_could_start_is_refused(harness, start_ms):
    end = len(harness.log)
    assert harness.heartbeat(4, start_ms=start_ms).error_code == 42
    assert len(harness.log) == end


def test_initial_until_its_registration_is_applied(harness):
    """A.1.48, A.6.7, B.1 (KAFKA-13959): active only with metadata that reaches its own
    registration."""
    epoch = harness.heartbeat(4).broker_epoch
    assert answered(harness.heartbeat(4, epoch, offset=epoch - 1)) == (0, State.INITIAL, epoch)
    assert answered(harness.heartbeat(4, epoch, offset=epoch)) == (0, State.ACTIVE, epoch)
    assert not harness.committed.brokers[4].fenced


def test_initial_stays_initial_with_target_fenced(harness):
    """A.1.70: no edge leads from INITIAL to FENCED."""
    epoch = harness.heartbeat(4).broker_epoch
    assert answered(harness.heartbeat(4, epoch, target=State.FENCED)) == (0, State.INITIAL, epoch)


def test_lost_answer_to_a_registration(harness):
    """A.1.66: the same process asking again is told its epoch; no second registration."""
    epoch = harness.heartbeat(4, incarnation=A).broker_epoch
    end = len(harness.log)
    assert answered(harness.heartbeat(4, incarnation=A)) == (0, State.INITIAL, epoch)
    assert len(harness.log) == end


def test_lease_counts_from_the_brokers_own_start(harness):
    """A.1.52, A.1.79: never from the controller's clock."""
    harness.now_ms = 123_456
    answer = harness.heartbeat(4, start_ms=1000)
    assert answer.lease_end_time_ms == 1000 + LEASE_MS
    assert answer.active_controller_id == 1


@pytest.mark.parametrize("target", [State.UNKNOWN, State.INITIAL, 9])
def test_targets_that_are_none(harness, target):
    """A.1.80: an unknown state is UNKNOWN, and nothing to strive for."""
    end = len(harness.log)
    assert answered(harness.heartbeat(4, target=target)) == (42, State.FENCED, -1)
    assert len(harness.log) == end


def test_controller_ids_are_no_broker_ids():
    """A.1.13: one space of ids."""
    harness = Harness(controller_ids=frozenset({1, 2, 3})).claim()
    assert harness.heartbeat(2).error_code == 42
    assert harness.heartbeat(-1).error_code == 42


# --- id conflicts -------------------------------------------------------------------------


def test_new_process_wins_at_once(harness):
    """A.1.63, A.1.65, A.5.15, A.7.3 (i): after kill -9 and restart the id is back long before the
    lease."""
    old = harness.heartbeat(4, incarnation=A).broker_epoch
    harness.heartbeat(4, old)
    new = harness.heartbeat(4, incarnation=B).broker_epoch
    assert new > old
    assert answered(harness.heartbeat(4, new)) == (0, State.ACTIVE, new)


def test_old_process_is_reported(harness):
    """A.1.62, A.1.64, A.3.8, A.7.4: 77, FENCED, no effect."""
    old = harness.activate(4)[4]
    new = harness.activate(4)[4]
    end, deadline = len(harness.log), core.deadline_ms(harness.state)
    harness.now_ms = 100
    for target in (State.ACTIVE, State.FENCED, State.SHUTDOWN):
        assert answered(harness.heartbeat(4, old, target=target)) == (77, State.FENCED, -1)
    assert len(harness.log) == end
    assert core.deadline_ms(harness.state) == deadline
    assert harness.committed.brokers[4].epoch == new


def test_takeover_is_failure_first_then_startup(led):
    """A.3.12, A.3.13, A.3.14, A.6.6: a bounce is the old life's failure, then a registration, in
    one batch."""
    led.heartbeat(4)
    start, end = led.batches[-1]
    kinds = [type(record).__name__ for record in led.records(start)]
    expected = ["FenceBrokerRecord", "IsrChangeRecord", "IsrChangeRecord", "BrokerRecord"]
    assert kinds == expected
    assert led.records(start)[-1].broker_epoch == end - 1
    assert led.partition("t", 0).leader == 5
    assert 4 not in led.partition("t", 1).isr


def test_loser_gets_nothing_while_the_holder_lives(harness):
    """A.1.62, A.1.64: a process that had the id asks anew."""
    old = harness.heartbeat(4, incarnation=A).broker_epoch
    new = harness.heartbeat(4, incarnation=B).broker_epoch
    # B is INITIAL, with a lease.
    asked = {"incarnation": A, "previous": old}
    assert answered(harness.heartbeat(4, **asked)) == (77, State.FENCED, -1)
    harness.heartbeat(4, new)
    assert answered(harness.heartbeat(4, **asked)) == (77, State.FENCED, -1)


def test_loser_registers_anew_once_the_holder_is_fenced(harness):
    """A.1.55, A.1.64: nobody holds a lease of the id."""
    old = harness.heartbeat(4, incarnation=A).broker_epoch
    new = harness.heartbeat(4, incarnation=B).broker_epoch
    harness.heartbeat(4, new)
    harness.tick(LEASE_MS)
    answer = harness.heartbeat(4, incarnation=A, previous=old)
    assert answer.error_code == 0 and answer.broker_epoch > new


def test_loser_registers_anew_once_an_initial_holder_has_no_lease(harness):
    old = harness.heartbeat(4, incarnation=A).broker_epoch
    new = harness.heartbeat(4, incarnation=B).broker_epoch
    harness.tick(LEASE_MS)
    assert harness.heartbeat(4, incarnation=A, previous=old).broker_epoch > new


def test_refused_process_that_is_the_holder_is_reported_its_epoch(harness):
    """A.1.64: the answer that carried the new epoch was lost."""
    epoch = harness.heartbeat(4, incarnation=A).broker_epoch
    harness.heartbeat(4, epoch, incarnation=A)
    answer = harness.heartbeat(4, incarnation=A, previous=epoch - 1)
    assert answered(answer) == (0, State.ACTIVE, epoch)


def test_unknown_epoch_is_refused(harness):
    """A.3.8, A.6.4: exactly the registered epoch; one from the future is stale, too, and one of
    nobody is not registered."""
    epoch = harness.activate(4)[4]
    assert harness.heartbeat(4, epoch + 1).error_code == 77
    assert harness.heartbeat(5, 3).error_code == 102


# --- leases and fencing -------------------------------------------------------------------


def test_renewal_appends_nothing(harness):
    """A.1.51, A.1.53: a later heartbeat, and nothing else, renews."""
    epoch = harness.activate(4)[4]
    end = len(harness.log)
    harness.now_ms = 4000
    assert answered(harness.heartbeat(4, epoch)) == (0, State.ACTIVE, epoch)
    harness.tick(LEASE_MS + 3999)
    assert len(harness.log) == end
    harness.tick(LEASE_MS + 4000)
    assert harness.committed.brokers[4].state == State.FENCED


def test_renewal_needs_proof_of_leadership(harness):
    """A.5.10, A.5.11, A.6.2, D.12: a deposed controller grants no lease."""
    epoch = harness.activate(4)[4]
    harness.settle = False
    assert harness.heartbeat(4, epoch) is None
    harness.pass_barriers(confirmed=False)
    assert harness.answers[harness.token].error_code == 41


def test_expiry_fences_and_moves_in_one_batch(led):
    """A.1.54, A.1.55, A.3.12, A.3.13, A.5.2, A.6.11, B.6: fenced, out of every ISR and leadership,
    at once."""
    led.now_ms = 1000
    for broker_id in (5, 6):
        led.heartbeat(broker_id, led.epochs[broker_id])
    batches = len(led.batches)
    led.tick(LEASE_MS)
    assert len(led.batches) == batches + 1
    assert led.committed.brokers[4].state == State.FENCED
    partition = led.partition("t", 0)
    assert (partition.leader, partition.isr) == (5, (5, 6))
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 1)
    partition = led.partition("t", 1)
    assert (partition.leader, partition.isr) == (5, (5, 6))
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 1)


def test_last_in_sync_member_is_kept(led):
    """D.23: an ISR is never empty; nobody leads until its last member is back."""
    led.tick(LEASE_MS)
    partition = led.partition("t", 0)
    assert (partition.leader, partition.isr) == (-1, (6,))
    led.heartbeat(5, led.epochs[5])
    assert led.partition("t", 0) == partition
    epoch = led.heartbeat(6, led.epochs[6]).broker_epoch
    after = led.partition("t", 0)
    assert (after.leader, after.isr) == (6, (6,))
    assert after.leader_epoch == partition.leader_epoch + 1
    assert after.partition_epoch == partition.partition_epoch + 1
    assert led.committed.brokers[6].epoch == epoch


def test_fenced_to_active_has_a_new_epoch(harness):
    """A.1.68, A.3.1: registration and unfencing in one batch."""
    epoch = harness.activate(4)[4]
    harness.tick(LEASE_MS)
    start = len(harness.log)
    answer = harness.heartbeat(4, epoch, incarnation=A)
    assert answered(answer) == (0, State.ACTIVE, start)
    kinds = [type(record).__name__ for record in harness.records(start)]
    assert kinds == ["BrokerRecord", "UnfenceBrokerRecord"]
    assert harness.committed.brokers[4].end_points[0].host == "b4"
    assert harness.heartbeat(4, epoch).error_code == 77


def test_heartbeat_after_expiry_is_no_renewal(harness):
    """A.1.55: also where no tick came between the expiry and the heartbeat."""
    epoch = harness.activate(4)[4]
    harness.now_ms = LEASE_MS
    answer = harness.heartbeat(4, epoch)
    assert (answer.error_code, answer.next_state) == (0, State.ACTIVE)
    assert answer.broker_epoch > epoch


def test_fenced_stays_fenced_until_caught_up(harness):
    """A.1.48, A.1.58: the way out of fenced is an answer that says ACTIVE."""
    epoch = harness.activate(4)[4]
    harness.tick(LEASE_MS)
    answer = harness.heartbeat(4, epoch, offset=epoch - 1)
    assert answered(answer) == (0, State.FENCED, epoch)
    assert answer.lease_end_time_ms == harness.now_ms  # no lease: over as it begins
    assert 4 not in harness.state.leadership.members.leases


def test_too_stale_metadata(led):
    """A.1.48, A.1.54, A.7.4: no error, NextState FENCED, and fenced it is."""
    led.state = core.initial(
        core.ControllerConfig(controller_id=1, cluster_id="test", max_metadata_lag_offsets=3)
    )
    led.fail_over()
    newest = len(led.log) - 1
    epoch = led.epochs[4]
    assert answered(led.heartbeat(4, epoch, offset=newest - 3)) == (0, State.ACTIVE, epoch)
    for now_ms in (1000, 1000 + LEASE_MS - 1):
        led.now_ms = now_ms
        assert answered(led.heartbeat(4, epoch, offset=newest - 4)) == (0, State.ACTIVE, epoch)
        led.heartbeat(5, led.epochs[5])
    led.now_ms = 1000 + LEASE_MS
    assert answered(led.heartbeat(4, epoch, offset=newest - 4)) == (0, State.FENCED, epoch)
    assert led.committed.brokers[4].fenced
    assert led.partition("t", 0).leader == 5


def test_one_long_batch_fences_nobody(led):
    """A.1.48: what comes at once cannot be read at once; who reads it within a lease's length
    was never too stale."""
    led.state = core.initial(
        core.ControllerConfig(controller_id=1, cluster_id="test", max_metadata_lag_offsets=3)
    )
    led.fail_over()
    before = len(led.log) - 1
    led.create("long", partitions=20)
    for now_ms, offset in ((100, before), (4000, before), (4500, len(led.log) - 1), (9000, before)):
        led.now_ms = now_ms
        assert led.heartbeat(4, led.epochs[4], offset=offset).next_state == State.ACTIVE


def test_target_fenced(led):
    """A.1.67: a broker may ask to be fenced; agreeing twice appends once."""
    epoch = led.epochs[4]
    assert answered(led.heartbeat(4, epoch, target=State.FENCED)) == (0, State.FENCED, epoch)
    end = len(led.log)
    assert answered(led.heartbeat(4, epoch, target=State.FENCED)) == (0, State.FENCED, epoch)
    assert len(led.log) == end
    assert led.partition("t", 0).leader == 5


def test_new_controller_grants_full_leases(led):
    """A.7.6, D.12: nobody is fenced earlier than a lease after the new controller's claim."""
    led.now_ms = 4900
    led.fail_over()
    led.tick(4900 + LEASE_MS - 1)
    assert not any(broker.fenced for broker in led.committed.brokers.values())
    led.tick(4900 + LEASE_MS)
    assert all(broker.fenced for broker in led.committed.brokers.values())


def test_inactive_controller_fences_nobody(led):
    """A.5.10: a controller that woke up late does no damage."""
    led.feed(steps.Renounce())
    end = len(led.log)
    led.tick(10 * LEASE_MS)
    assert len(led.log) == end


def test_epochs_rise_across_failovers(harness):
    """A.3.1, A.6.3, D.8: with the log."""
    epochs = []
    for _ in range(4):
        epochs.append(harness.heartbeat(4).broker_epoch)
        harness.fail_over()
    assert epochs == sorted(set(epochs))


# --- controlled shutdown ------------------------------------------------------------------


def test_shutdown_moves_everything_then_grants(led):
    """A.1.59, A.1.60, A.1.61, A.6.5: NextState SHUTDOWN only when it leads nothing; then it is
    fenced."""
    epoch = led.epochs[4]
    answer = led.heartbeat(4, epoch, target=State.SHUTDOWN)
    assert answered(answer) == (0, State.ACTIVE, epoch)
    assert not led.committed.leads(4)
    assert led.committed.partitions_in_sync(4) == []
    answer = led.heartbeat(4, epoch, target=State.SHUTDOWN)
    assert answered(answer) == (0, State.SHUTDOWN, epoch)
    assert led.committed.brokers[4].fenced
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.SHUTDOWN


def test_shutdown_waits_for_the_commit(led):
    """A.1.61, D.15: it leads nothing in the committed state."""
    led.settle = False
    epoch = led.epochs[4]
    led.heartbeat(4, epoch, target=State.SHUTDOWN)
    led.heartbeat(4, epoch, target=State.SHUTDOWN)
    led.commit()
    led.pass_barriers()
    assert led.answers[led.token].next_state == State.ACTIVE
    led.settle = True
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.SHUTDOWN


def test_shutdown_of_a_broker_that_leads_nothing(led):
    led.delete("t")
    answer = led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert answer.next_state == State.SHUTDOWN


def test_shutdown_of_the_last_member(led):
    """D.23, A.1.61: it keeps its place in the ISR and leads no more."""
    led.create("u", assignment=[[4]])
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    partition = led.partition("u")
    assert (partition.leader, partition.isr) == (-1, (4,))
    answer = led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert answer.next_state == State.SHUTDOWN


def test_no_leadership_during_shutdown(led):
    """D.15: none is given to a broker that is on its way out."""
    led.create("u", assignment=[[5, 4]])
    led.create("v", assignment=[[4]])
    led.settle = False
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.heartbeat(5, led.epochs[5], target=State.FENCED)
    led.settle = True
    led.commit()
    assert led.partition("u").leader == -1
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert led.partition("v").leader == -1


def test_fenced_broker_may_leave_at_once(led):
    """A.1.69: FENCED -> SHUTDOWN."""
    led.tick(LEASE_MS)
    answer = led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert answered(answer) == (0, State.SHUTDOWN, led.epochs[4])


def test_shutdown_request_of_a_former_life(led):
    """A.3.10, A.3.15 (b), A.6.5: it drains nothing of the restarted broker."""
    old = led.epochs[4]
    led.activate(4)
    led.create("u", assignment=[[4]])
    end = len(led.log)
    assert led.heartbeat(4, old, target=State.SHUTDOWN).error_code == 77
    assert len(led.log) == end
    assert led.partition("u").leader == 4


def test_shutdown_goes_on_under_the_new_epoch(led):
    """A.3.11: a broker that lost its lease meanwhile asks again with its new epoch."""
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.tick(LEASE_MS)
    epoch = led.heartbeat(4, led.epochs[4]).broker_epoch
    assert led.state.leadership.members.shutting_down == Map()
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.SHUTDOWN


def test_a_process_that_leaves_takes_no_id(harness):
    """A.3.11: who asks anew while it shuts down is told its own epoch, or that it has none: the
    id, which nobody holds a lease of, is not given to it."""
    old = harness.heartbeat(4, incarnation=A).broker_epoch
    asked = {"incarnation": A, "previous": old, "target": State.SHUTDOWN}
    assert answered(harness.heartbeat(4, **asked)) == (0, State.INITIAL, old)
    harness.heartbeat(4, incarnation=B)
    harness.tick(LEASE_MS)
    end = len(harness.log)
    assert answered(harness.heartbeat(4, **asked)) == (77, State.FENCED, -1)
    assert len(harness.log) == end


def test_shutdown_called_off(led):
    """The target is what the broker wants now; what nobody leads, it leads again."""
    led.create("u", assignment=[[4]])
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.heartbeat(4, led.epochs[4], target=State.ACTIVE, offset=CAUGHT_UP)
    assert led.partition("u").leader == 4


def test_shutdown_after_failover(led):
    """A.1.59: soft state; the broker repeats its wish, the new controller learns it anew."""
    led.create("u", assignment=[[4, 5]])
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.fail_over()
    assert led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN).next_state == State.ACTIVE
    for broker_id in (5, 6):  # how far they have read is soft state, too
        led.heartbeat(broker_id, led.epochs[broker_id])
    answer = led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert answer.next_state == State.SHUTDOWN
    assert led.partition("u").isr == (5,)


def test_shutdown_waits_until_the_others_have_read_of_it(led):
    """A.5.6, B.6, D.15 (KAFKA-14292): every other active broker has reached the offset at which the
    shutdown's records ended; that is noted once, and not with each heartbeat anew."""
    epoch = led.epochs[4]
    led.heartbeat(4, epoch, target=State.SHUTDOWN)
    ended = len(led.log) - 1
    led.create("u", assignment=[[5, 6]])  # more records, which are none of the shutdown's
    led.heartbeat(5, led.epochs[5], offset=ended)
    led.heartbeat(6, led.epochs[6], offset=ended - 1)
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.ACTIVE
    led.heartbeat(6, led.epochs[6], offset=ended)
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.SHUTDOWN


def test_shutdown_does_not_wait_for_the_fenced(led):
    """B.6: of active brokers it is asked, and of nobody else."""
    epoch = led.epochs[4]
    led.heartbeat(6, led.epochs[6], offset=0)
    led.heartbeat(4, epoch, target=State.SHUTDOWN)
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.ACTIVE
    led.heartbeat(6, led.epochs[6], target=State.FENCED)
    assert led.heartbeat(4, epoch, target=State.SHUTDOWN).next_state == State.SHUTDOWN


def test_two_that_leave_at_a_time_do_not_wait_for_ever(led):
    """A.1.59: each tells of what it has read while it asks."""
    for broker_id in (4, 5):
        led.heartbeat(broker_id, led.epochs[broker_id], target=State.SHUTDOWN)
    for broker_id in (4, 5):
        answer = led.heartbeat(broker_id, led.epochs[broker_id], target=State.SHUTDOWN)
        assert answer.next_state == State.SHUTDOWN
    assert led.partition("t", 0).isr == (6,)


def test_the_shutdown_is_committed_before_it_is_answered(led):
    """A.5.6: new leaders are persisted first, and the broker is told last."""
    led.settle = False
    assert led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN) is None
    assert led.partition("t", 0).leader == 4
    led.commit()
    assert led.partition("t", 0).leader == 5
    assert led.answers[led.token].next_state == State.ACTIVE


def test_another_clusters_broker_is_refused(harness):
    """A.7.4: 104, and no effect."""
    end = len(harness.log)
    answer = harness.heartbeat(4, cluster_id="other")
    assert answered(answer) == (104, State.FENCED, -1)
    assert len(harness.log) == end
    assert harness.heartbeat(4, cluster_id="test").error_code == 0


def test_the_rack_is_registered(harness):
    """A.1.86."""
    epoch = harness.heartbeat(4, rack="r1").broker_epoch
    assert harness.committed.brokers[4].rack == "r1"
    harness.heartbeat(4, epoch, rack="r1")
    harness.tick(LEASE_MS)
    harness.heartbeat(4, epoch, rack="r1")
    assert harness.committed.brokers[4].rack == "r1"


def test_one_of_two_processes_is_accepted_and_the_other_is_reported(harness):
    """A.1.49, A.1.51, A.1.62: whoever has the registered epoch; the other gets 77 and FENCED."""
    old = harness.activate(4)[4]
    new = harness.heartbeat(4, incarnation=B).broker_epoch
    harness.heartbeat(4, new, incarnation=B)
    answers = [answered(harness.heartbeat(4, epoch)) for epoch in (old, new)]
    assert answers == [(77, State.FENCED, -1), (0, State.ACTIVE, new)]


def test_a_bounce_too_quick_to_be_seen_is_detected(led):
    """A.3.14, A.3.15 (d): no lease ran out in between; the generation tells, and the broker is
    initialised: it starts anew, INITIAL and without what it led."""
    epoch = led.heartbeat(4, incarnation=B).broker_epoch
    assert epoch > led.epochs[4]
    assert led.committed.brokers[4].state == State.INITIAL
    assert led.partition("t", 0).leader == 5
    led.heartbeat(4, epoch, incarnation=B)
    assert led.committed.brokers[4].state == State.ACTIVE


def test_a_former_lifes_isr_change_is_refused(led):
    """A.3.8, A.3.15, A.5.14: the broker epoch tells, and nothing changes."""
    old = led.epochs[4]
    topic_id = led.committed.topic_ids["t"]
    led.activate(4)
    end = len(led.log)
    assert led.alter(topic_id, 4, old, [4]).error_code == 77
    assert len(led.log) == end
