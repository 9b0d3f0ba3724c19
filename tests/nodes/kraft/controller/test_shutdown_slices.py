"""A broker that shuts down is emptied in parts: no step of the controller takes long."""

import pytest
from controller_harness import Harness, State

from nodes.kraft.controller import core, membership

LEASE_MS = 5000


@pytest.fixture
def led(monkeypatch):
    """Broker 4 is in 40 ISRs, and leads 20 of these partitions; ten are moved at once."""
    monkeypatch.setattr(membership, "MOVED_AT_ONCE", 10)
    harness = Harness().claim()
    harness.epochs = harness.activate(4, 5, 6)
    harness.create("t", assignment=[[4, 5], [5, 6], [6, 4]] * 20)
    return harness


def in_sync(led):
    return len(led.committed.partitions_in_sync(4))


def test_a_part_at_each_step_until_nothing_is_left(led):
    batches = len(led.batches)
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert in_sync(led) == 30
    for left in (20, 10, 0):
        assert core.deadline_ms(led.state) == 0, "the next part is due at once"
        led.tick(led.now_ms)
        assert in_sync(led) == left
    assert core.deadline_ms(led.state) > led.now_ms
    assert [end - base for base, end in led.batches[batches:]] == [10, 10, 10, 10]
    answer = led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert answer.next_state == State.SHUTDOWN


def test_it_is_not_granted_before_the_last_part_is_committed(led):
    """A.1.61, D.15."""
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN).next_state == State.ACTIVE
    assert in_sync(led) == 20, "each request goes on with it"
    led.tick(led.now_ms)
    led.settle = False
    led.tick(led.now_ms)
    assert in_sync(led) == 10
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.settle = True
    led.commit()
    led.pass_barriers()
    assert led.answers[led.token].next_state == State.ACTIVE
    assert led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN).next_state == State.SHUTDOWN


def test_nothing_comes_back_meanwhile(led):
    """It joins no ISR and is given nothing, moved already or not."""
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.create("u", assignment=[[4, 5]])
    assert led.partition("u").isr == (5,)
    moved = next(
        key
        for key, each in led.committed.partitions.items()
        if 4 in each.replicas and 4 not in each.isr
    )
    leader = led.committed.partitions[moved].leader
    topic_id = led.committed.topic_ids["t"]
    before = led.committed.partitions[moved]
    answer = led.alter(
        topic_id,
        leader,
        led.epochs[leader],
        [leader, 4],
        partition=moved[1],
        leader_epoch=before.leader_epoch,
        partition_epoch=before.partition_epoch,
    )
    assert answer.error_code == 107, "INELIGIBLE_REPLICA"
    assert led.committed.partitions[moved] == before


def test_called_off_midway(led):
    """What was moved stays where it is; the rest stays, too."""
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.heartbeat(4, led.epochs[4], target=State.ACTIVE)
    left = in_sync(led)
    led.tick(led.now_ms)
    assert in_sync(led) == left
    assert core.deadline_ms(led.state) > led.now_ms


def test_a_lease_that_ends_midway_moves_the_rest_at_once(led):
    """Fencing is one batch: no fenced broker leads."""
    led.settle = False
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    led.settle = True
    led.commit()
    led.now_ms = LEASE_MS - 1
    for broker_id in (5, 6):
        led.settle = False
        led.heartbeat(broker_id, led.epochs[broker_id])
    led.settle = True
    led.tick(LEASE_MS)
    assert led.committed.brokers[4].fenced
    assert in_sync(led) == 0
    led.tick(LEASE_MS)
    assert core.deadline_ms(led.state) > LEASE_MS
