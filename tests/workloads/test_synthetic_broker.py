"""One synthetic broker id: how it leaves, and when it may be in no ISR."""

from dataclasses import replace

from framework.history.event import Completion, Event
from framework.plugins.outcomes import STALE
from workloads.kafka.operations.brokers import NO_EPOCH, Lease
from workloads.synthetic.broker import (
    FENCED,
    LATE_NS,
    LEAVING,
    RETRY_NS,
    Broker,
    heartbeat,
    learn,
    sent,
)

SEED, NOW_NS, PERIOD_NS, REST_NS = 7, 10**9, 10**9, 800_000_000
SERVES = Broker(broker_id=4, epoch=7, newest=7, active=True, tried=True, rest_ns=REST_NS)
LEAVER = replace(SERVES, active=False, ends_ns=NOW_NS + 4 * 10**9)


def answered(broker: Broker, state: str | None, epoch: int = 7, now_ns: int = NOW_NS) -> Broker:
    """After its next heartbeat was answered with that state; None: as stale."""
    asked = heartbeat(broker, SEED, now_ns)
    head = {"process": 0, "f": "heartbeat", "index": 1, "time": now_ns, "key": "broker-4"}
    event: Event = Completion(
        type="fail", value=None, error=("E", ""), node=None, ext={"asserts": STALE}, **head
    )
    if state is not None:
        lease = Lease(broker_epoch=epoch, next_state=state, lease_end_ms=5_000)
        event = replace(event, type="ok", value=lease.to_json(), error=None, ext=None)
    return learn(sent(broker, asked), asked, event, seed=SEED, now_ns=now_ns, period_ns=PERIOD_NS)


def test_one_that_leaves_asks_for_that_until_it_is_let_go() -> None:
    assert heartbeat(SERVES, SEED, NOW_NS).target == "active"
    assert heartbeat(LEAVER, SEED, NOW_NS).target == "leaving"
    waits = answered(LEAVER, "active")
    assert (waits.epoch, waits.active, waits.due_ns) == (7, False, NOW_NS + REST_NS)
    assert waits.out_of_service(NOW_NS) == (7, LEAVING)
    heir = answered(waits, "leaving")
    assert (heir.number, heir.epoch, heir.due_ns) == (1, NO_EPOCH, NOW_NS + REST_NS)
    assert heir.out_of_service(NOW_NS) == (7, LEAVING), "until it has an epoch of its own"
    assert heartbeat(heir, SEED, NOW_NS).target == "active"


def test_one_that_is_not_let_go_ends_all_the_same() -> None:
    assert LEAVER.ends_ns is not None
    assert answered(LEAVER, "active", now_ns=LEAVER.ends_ns - 1).number == 0
    assert answered(LEAVER, "active", now_ns=LEAVER.ends_ns).number == 1


def test_one_that_lost_its_epoch_while_it_leaves_has_ended() -> None:
    assert answered(LEAVER, None).number == 1
    assert answered(SERVES, None).number == 0, "it asks anew"


def test_who_has_registered_is_out_of_service_until_it_asks_to_be_active() -> None:
    heir = SERVES.restarted(NOW_NS)
    assert heir.out_of_service(NOW_NS) is None, "it has no epoch"
    rests = answered(heir, "starting", epoch=9)
    assert rests.due_ns == NOW_NS + REST_NS
    assert rests.out_of_service(NOW_NS) == (9, FENCED)
    asks = sent(rests, heartbeat(rests, SEED, NOW_NS))
    assert asks.out_of_service(NOW_NS) is None
    unanswered = replace(asks, asking=False)
    assert unanswered.out_of_service(NOW_NS) is None, "it may be active"
    assert answered(rests, "active", epoch=9).out_of_service(NOW_NS) is None


def test_one_that_sleeps_is_probably_fenced_once_its_session_is_over() -> None:
    end_ns = NOW_NS + LATE_NS
    asleep = replace(SERVES, active=False, lease_end_ns=NOW_NS, due_ns=end_ns + 2 * RETRY_NS)
    assert asleep.out_of_service(end_ns) is None
    assert asleep.out_of_service(end_ns + 1) == (7, FENCED)
    assert asleep.out_of_service(asleep.due_ns) is None, "it is back"
