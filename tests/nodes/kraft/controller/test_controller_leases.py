"""What renews a lease, and what a shutdown costs."""

import pytest
from controller_harness import Harness, State

LEASE_MS = 5000


@pytest.fixture
def led():
    """Brokers 4, 5, 6 are active; each leads 20 partitions of t, alone with the next one."""
    harness = Harness().claim()
    harness.epochs = harness.activate(4, 5, 6)
    pairs = [[4, 5], [5, 6], [6, 4]] * 20
    harness.create("t", assignment=pairs)
    return harness


def test_nothing_but_a_heartbeat_renews(led):
    """A.1.53: a broker that changes ISRs, and that others fetch metadata for, is heard of all the
    while; its lease ends all the same, and so does that of a process with a wrong epoch."""
    topic_id = led.committed.topic_ids["t"]
    led.now_ms = LEASE_MS - 1
    assert led.alter(topic_id, 4, led.epochs[4], [4]).error_code == 0
    assert led.heartbeat(5, led.epochs[5] - 1).error_code == 77
    assert led.heartbeat(6, led.epochs[6]).error_code == 0
    led.tick(LEASE_MS)
    states = {ident: led.committed.brokers[ident].state for ident in (4, 5, 6)}
    assert states == {4: State.FENCED, 5: State.FENCED, 6: State.ACTIVE}


def test_a_shutdown_costs_what_the_broker_has(led):
    """A.5.8, A.5.17: a record for each partition that it leads or is in sync of, in one batch;
    of the others nothing is touched, and its end costs one record more."""
    before = {key: each for key, each in led.committed.partitions.items() if 4 not in each.isr}
    batches, end = len(led.batches), len(led.log)
    led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    kinds = [type(record).__name__ for record in led.records(end)]
    assert kinds == ["IsrChangeRecord"] * 40
    assert led.batches[batches:] == [(end, end + 40)]
    assert {key: led.committed.partitions[key] for key in before} == before
    assert {each.leader for each in led.committed.partitions.values()} == {5, 6}
    answer = led.heartbeat(4, led.epochs[4], target=State.SHUTDOWN)
    assert answer.next_state == State.SHUTDOWN
    assert [type(record).__name__ for record in led.records(end + 40)] == ["FenceBrokerRecord"]
