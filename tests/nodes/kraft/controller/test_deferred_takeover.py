"""`broker.takeover=deferred`: a new process waits until the one that held its id serves no more.

A.7.3 (ii); what it gives up is A.1.65.
"""

import uuid

import pytest
from controller_harness import Harness, State

from nodes.kraft.wire.records import BrokerRecord, FenceBrokerRecord, IsrChangeRecord

LEASE_MS = 5000
OLD, NEW = uuid.UUID(int=10), uuid.UUID(int=11)


@pytest.fixture
def harness():
    """Broker 4 is active as process OLD, and leads topic t; 5 follows it."""
    led = Harness(deferred_takeover=True).claim()
    led.epoch_of_4 = led.heartbeat(4, incarnation=OLD).broker_epoch
    led.heartbeat(4, led.epoch_of_4, incarnation=OLD)
    led.activate(5)
    led.create("t", assignment=[[4, 5]])
    return led


def answered(answer):
    return int(answer.error_code), State(answer.next_state), answer.broker_epoch


def test_the_newcomer_stays_fenced_until_the_leases_end(harness):
    """A.7.3: FENCED, without an epoch and without a lease."""
    harness.now_ms = 1000
    harness.heartbeat(4, harness.epoch_of_4, incarnation=OLD)
    end = len(harness.log)
    for now_ms in (1000, 3000, 1000 + LEASE_MS - 1):
        harness.now_ms = now_ms
        answer = harness.heartbeat(4, incarnation=NEW)
        assert answered(answer) == (0, State.FENCED, -1)
        assert answer.lease_end_time_ms == now_ms
        harness.heartbeat(5, harness.committed.brokers[5].epoch)
        assert len(harness.log) == end
    harness.now_ms = 1000 + LEASE_MS
    answer = harness.heartbeat(4, incarnation=NEW)
    assert (answer.error_code, answer.next_state) == (0, State.INITIAL)
    records = harness.records(end)
    assert [type(each) for each in records] == [FenceBrokerRecord, IsrChangeRecord, BrokerRecord]


def test_the_old_process_is_reported_and_not_renewed(harness):
    """A.1.62, A.7.3: from the newcomer's claim on its heartbeats are refused."""
    harness.heartbeat(4, incarnation=NEW)
    harness.now_ms = 1000
    answer = harness.heartbeat(4, harness.epoch_of_4, incarnation=OLD)
    assert answered(answer) == (77, State.FENCED, -1)
    harness.now_ms = LEASE_MS
    assert harness.heartbeat(4, incarnation=NEW).next_state == State.INITIAL


def test_the_old_process_that_was_reported_says_so(harness):
    """A.7.3: until the old process has been told - its asking anew is the proof of it."""
    harness.heartbeat(4, incarnation=NEW)
    harness.heartbeat(4, harness.epoch_of_4, incarnation=OLD)
    answer = harness.heartbeat(4, incarnation=OLD, previous=harness.epoch_of_4)
    assert answered(answer) == (0, State.FENCED, -1)
    assert harness.committed.brokers[4].fenced and harness.partition("t").leader == 5
    # It asks on; the one that waits is the first.
    answer = harness.heartbeat(4, incarnation=OLD, previous=harness.epoch_of_4)
    assert answered(answer) == (77, State.FENCED, -1)
    assert harness.heartbeat(4, incarnation=NEW).next_state == State.INITIAL


def test_a_newcomer_that_died_keeps_nobody_out(harness):
    """Its claim is good for a lease's length; the old process is told until then."""
    harness.heartbeat(4, incarnation=NEW)
    harness.heartbeat(4, harness.epoch_of_4, incarnation=OLD)
    harness.heartbeat(4, incarnation=OLD, previous=harness.epoch_of_4)
    harness.now_ms = LEASE_MS - 1
    asked = {"incarnation": OLD, "previous": harness.epoch_of_4}
    assert harness.heartbeat(4, **asked).error_code == 77
    harness.now_ms = LEASE_MS
    epoch = harness.heartbeat(4, harness.epoch_of_4, incarnation=OLD).broker_epoch
    assert epoch > harness.epoch_of_4


@pytest.mark.parametrize("fenced", [True, False])
def test_nobody_waits_for_one_that_cannot_serve(harness, fenced):
    """A holder that is fenced, or was never active, serves nobody."""
    if fenced:
        harness.heartbeat(4, harness.epoch_of_4, target=State.FENCED, incarnation=OLD)
    else:
        harness.heartbeat(6, incarnation=OLD)
    answer = harness.heartbeat(4 if fenced else 6, incarnation=NEW)
    assert (answer.error_code, answer.next_state) == (0, State.INITIAL)


def test_after_a_failover_the_newcomer_waits_a_full_term(harness):
    """A.7.6: leases that another controller granted are honoured, as if granted at the claim."""
    harness.now_ms = LEASE_MS - 1
    harness.fail_over()
    harness.now_ms = 2 * LEASE_MS - 2
    assert harness.heartbeat(4, incarnation=NEW).next_state == State.FENCED
    harness.now_ms = 2 * LEASE_MS - 1
    assert harness.heartbeat(4, incarnation=NEW).next_state == State.INITIAL


def test_its_own_lost_answer_is_no_conflict(harness):
    answer = harness.heartbeat(4, incarnation=OLD)
    assert answered(answer) == (0, State.ACTIVE, harness.epoch_of_4)
