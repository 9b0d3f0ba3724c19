"""UnregisterBroker: a broker leaves the cluster, with all that it led or was in sync of."""

from __future__ import annotations

from typing import Any

import pytest
from admin_asks import ALICE, ROOT, SECURED, ask_as, create_acls, creation
from controller_harness import Harness
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest

from nodes.kraft.controller import core
from nodes.kraft.metadata.image import Image
from nodes.kraft.metadata.snapshot import entities, image_of, records_of
from nodes.kraft.wire.codes import codes, with_code
from nodes.kraft.wire.heartbeats import BrokerState
from nodes.kraft.wire.records import (
    BrokerRecord,
    FenceBrokerRecord,
    IsrChangeRecord,
    RequestRecord,
    UnregisterBrokerRecord,
)

ALTER, CLUSTER = 7, 4
REQUEST_ID = b"0123456789abcdef"


@pytest.fixture
def harness() -> Harness:
    harness = Harness().claim()
    harness.activate(4, 5, 6)
    return harness


def unregister(broker: int) -> Any:
    return UnregisterBrokerRequest(broker_id=broker)  # type: ignore[arg-type]


def members(harness: Harness) -> Any:
    leadership = harness.state.leadership
    assert leadership is not None
    return leadership.members


def test_what_it_led_is_moved_before_it_goes(harness: Harness) -> None:
    """First out of leaderships and ISRs; the record of its epoch is the last one."""
    harness.create("t", assignment=[[4, 5], [5, 4]])
    epoch, start = harness.committed.brokers[4].epoch, len(harness.log)
    assert harness.ask(unregister(4)).error_code == 0
    *moved, last = harness.records(start)
    assert [type(each) for each in moved] == [IsrChangeRecord, IsrChangeRecord]
    assert last == UnregisterBrokerRecord(broker_id=4, broker_epoch=epoch)
    assert set(harness.committed.brokers) == {5, 6}
    for number in range(2):
        partition = harness.partition("t", number)
        assert (partition.leader, partition.isr) == (5, (5,))
    assert harness.last.source == {"broker_id": 4}


def test_the_last_of_an_isr_stays_in_it(harness: Harness) -> None:
    """Nobody leads; it may come back, and leads again."""
    harness.create("t", assignment=[[4]])
    assert harness.ask(unregister(4)).error_code == 0
    assert (harness.partition("t", 0).leader, harness.partition("t", 0).isr) == (-1, (4,))
    harness.activate(4)
    assert harness.partition("t", 0).leader == 4


def test_one_that_has_gone_already(harness: Harness) -> None:
    """A fenced broker has nothing to be moved: one record."""
    harness.create("t", assignment=[[4, 5]])
    harness.heartbeat(4, harness.committed.brokers[4].epoch, target=BrokerState.FENCED)
    start = len(harness.log)
    assert harness.ask(unregister(4)).error_code == 0
    (record,) = harness.records(start)
    assert isinstance(record, UnregisterBrokerRecord)


def test_an_unknown_broker(harness: Harness) -> None:
    """102, and nothing is appended; also the second time."""
    assert harness.ask(unregister(4)).error_code == 0
    start = len(harness.log)
    for broker in (4, 7, -1):
        answer = harness.ask(unregister(broker))
        assert (answer.error_code, bool(answer.error_message)) == (102, True)
    assert len(harness.log) == start


def test_its_heartbeats_are_refused_until_it_registers_anew(harness: Harness) -> None:
    """102 under the epoch that it had; then another epoch, greater than that."""
    epoch = harness.committed.brokers[4].epoch
    harness.ask(unregister(4))
    assert harness.heartbeat(4, epoch).error_code == 102
    assert 4 not in harness.committed.brokers
    answer = harness.heartbeat(4, previous=epoch)
    assert answer.error_code == 0
    assert answer.broker_epoch > epoch
    assert isinstance(harness.records()[-1], BrokerRecord)


def test_nothing_is_kept_of_it(harness: Harness) -> None:
    """Neither its lease, which would end, nor its shutdown, which would go on."""
    harness.create("t", assignment=[[4, 5]])
    epoch = harness.committed.brokers[4].epoch
    harness.heartbeat(4, epoch, target=BrokerState.SHUTDOWN)
    before = members(harness)
    assert 4 in before.leases
    assert 4 in before.shutting_down
    harness.ask(unregister(4))
    after = members(harness)
    known = (after.leases, after.shutting_down, after.reached, after.claims, after.lagging)
    assert not any(4 in each for each in known)
    assert 5 in after.leases
    start = len(harness.log)
    harness.tick(core.deadline_ms(harness.state) or 0)
    fenced = [each for each in harness.records(start) if isinstance(each, FenceBrokerRecord)]
    assert 4 not in {each.broker_id for each in fenced}


def test_who_may(harness: Harness) -> None:
    """ALTER on the cluster; 31 otherwise, and whether there is such a broker is not told."""
    secured = Harness(authorizer=SECURED).claim()
    secured.activate(4, 5)
    start = len(secured.log)
    for broker in (4, 7):
        assert ask_as(secured, ALICE, unregister(broker)).error_code == 31
    assert len(secured.log) == start
    allowed = creation("kafka-cluster", kind=CLUSTER, operation=ALTER)
    assert codes(ask_as(secured, ROOT, create_acls(allowed)))
    assert ask_as(secured, ALICE, unregister(4)).error_code == 0


def test_one_that_may_serve_is_kept_where_its_id_is_exclusive() -> None:
    """With deferred takeover: nothing else would keep the next process of the id waiting."""
    deferred = Harness(deferred_takeover=True).claim()
    epoch = deferred.activate(4, 5)[4]
    assert deferred.ask(unregister(4)).error_code == 42
    deferred.heartbeat(4, epoch, target=BrokerState.FENCED)
    assert deferred.ask(unregister(4)).error_code == 0


def test_a_retry_is_answered_what_the_first_attempt_did(harness: Harness) -> None:
    """B.9.4: not that the broker is unknown; also by the next controller."""
    first = ask_as(harness, ROOT, unregister(4), REQUEST_ID)
    assert isinstance(harness.records()[-1], RequestRecord)
    harness.fail_over()
    assert ask_as(harness, ROOT, unregister(4), REQUEST_ID) == first
    assert first.error_code == 0


def test_a_leader_that_falls_does_not_know(harness: Harness) -> None:
    """7 where the record may be committed yet; a refusal behind such an attempt is no better."""
    harness.settle = False
    assert harness.ask(unregister(4)) is None
    token = harness.token
    harness.fail_over()
    assert harness.answers[token].error_code == 7
    harness.settle = True
    refused = harness.ask(unregister(9))
    assert with_code(refused, 7).error_code == 7
    assert with_code(harness.answers[token], 0).error_code == 0


def snapshot_of(image: Image) -> Image:
    return image_of(records_of(image))


def test_snapshots_and_replay_agree(harness: Harness) -> None:
    """The state with the record applied is the one without the broker, by its checksum, too."""
    harness.create("t", assignment=[[4, 5]])
    harness.ask(unregister(4))
    image = harness.committed
    restored = snapshot_of(image)
    assert (restored.brokers, restored.checksum) == (image.brokers, image.checksum)
    registered = {each.broker_id for each in entities(image) if isinstance(each, BrokerRecord)}
    assert registered == {5, 6}
    harness.fail_over()
    assert harness.committed.checksum == image.checksum
