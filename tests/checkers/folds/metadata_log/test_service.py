"""Who is in service, and under which epoch, by the records below an offset."""

from dataclasses import replace

import pytest

from checkers.folds.metadata_log.service import OfBroker, Service
from framework.evidence.changes import (
    BrokerFenced,
    BrokerLeaving,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
)
from framework.evidence.ids import BrokerEpoch, BrokerId, LeaderEpoch, Offset

Kind = type[OfBroker]
IN, OUT, NEW, GONE = BrokerUnfenced, BrokerFenced, BrokerRegistered, BrokerUnregistered
LEAVES = BrokerLeaving


def record(offset: int, kind: Kind, epoch: int, broker: int = 4) -> OfBroker:
    return kind(
        node="c1",
        incarnation="c1-0",
        seq=offset,
        at_ns=offset,
        ref=f"c1:{offset}",
        offset=Offset(offset),
        epoch=LeaderEpoch(1),
        broker_id=BrokerId(broker),
        broker_epoch=BrokerEpoch(epoch),
    )


def stands(service: Service, offset: int, broker: int = 4) -> tuple[int, bool] | None:
    """(epoch, whether it serves)."""
    found = service.before(offset, broker)
    return None if found is None else (found.epoch, found.serves)


def test_what_stands_below_an_offset() -> None:
    service = Service.of([record(3, NEW, 7), record(5, IN, 7), record(9, OUT, 7)])
    assert [stands(service, offset) for offset in (3, 4, 5, 6, 9, 10)] == [
        None,
        (7, False),
        (7, False),
        (7, True),
        (7, True),
        (7, False),
    ]
    assert stands(service, 10, broker=5) is None


def test_of_each_offset_the_first_counts_and_the_log_is_in_order() -> None:
    service = Service.of([record(5, IN, 7), record(3, NEW, 7), record(5, OUT, 7)])
    assert stands(service, 9) == (7, True)


def test_who_is_no_longer_registered_serves_nobody() -> None:
    service = Service.of([record(5, IN, 7), record(6, GONE, 7), record(7, NEW, 7)])
    assert [stands(service, offset) for offset in (6, 7, 8)] == [(7, True), (7, False), (7, False)]


def test_brokers_stand_by_themselves() -> None:
    service = Service.of([record(3, NEW, 7), record(4, NEW, 8, 5), record(5, IN, 8, 5)])
    assert stands(service, 9) == (7, False)
    assert stands(service, 9, broker=5) == (8, True)


@pytest.mark.parametrize(
    ("last", "epoch", "serves"),
    [(IN, 7, True), (OUT, 7, False), (IN, 8, False), (OUT, 8, False)],
    ids=["as it served", "as it was fenced", "another process", "another, after a fence"],
)
def test_a_process_that_registers_again_stays_what_it_was(
    last: Kind, epoch: int, serves: bool
) -> None:
    """What was before its last record says nothing."""
    before = OUT if last is IN else IN
    earlier = [record(3, before, 6), record(4, before, 6)]
    service = Service.of([*earlier, record(5, last, 7), record(9, NEW, epoch)])
    assert stands(service, 10) == (epoch, serves)


@pytest.mark.parametrize(
    ("unknown", "known"),
    [([], True), ([2, 4], True), ([6], False), ([2, 9], False), ([10], True), ([2, 11], True)],
)
def test_what_nobody_has_the_record_of_may_have_changed_it(unknown: list[int], known: bool) -> None:
    service = Service.of([record(5, IN, 7)], unknown)
    assert stands(service, 10) == ((7, True) if known else None)


def test_records_that_register_another_process_begin_at_its_epoch() -> None:
    before, new = [record(3, NEW, 3), record(5, IN, 3)], [record(9, NEW, 7), record(10, IN, 7)]
    service = Service.of([*before, *new])
    anew = [offset for offset in range(12) if service.comes_anew(offset, 4)]
    assert anew == [7, 8]
    assert not any(service.comes_anew(offset, 5) for offset in range(12))


def test_the_first_process_of_a_broker_takes_nobodys_place() -> None:
    """The one right behind it does, though no other record tells of the first."""
    service = Service.of([record(3, NEW, 2), record(9, NEW, 7)])
    assert [offset for offset in range(12) if service.comes_anew(offset, 4)] == [7, 8]


@pytest.mark.parametrize(
    ("kind", "epoch"), [(NEW, 3), (OUT, 7), (GONE, 7)], ids=["the same process", "fenced", "gone"]
)
def test_other_records_of_a_broker_bring_no_other_process(kind: Kind, epoch: int) -> None:
    service = Service.of([record(3, NEW, 3), record(5, IN, 3), record(9, kind, epoch)])
    assert not any(service.comes_anew(offset, 4) for offset in range(12))


@pytest.mark.parametrize(
    ("records", "serves", "joins"),
    [
        ([(NEW, 7), (IN, 7)], True, True),
        ([(NEW, 7), (IN, 7), (LEAVES, 7)], True, False),
        ([(IN, 7), (LEAVES, 7), (OUT, 7)], False, False),
        ([(IN, 7), (LEAVES, 7), (OUT, 7), (IN, 7)], True, False),
        ([(IN, 7), (LEAVES, 7), (NEW, 7)], True, False),
        ([(IN, 7), (LEAVES, 7), (NEW, 8), (IN, 8)], True, True),
        ([(LEAVES, 7)], True, False),
        ([(NEW, 7), (LEAVES, 7)], False, False),
    ],
    ids=["in", "leaves", "gone", "back", "same process", "next process", "seen late", "fenced"],
)
def test_who_leaves_serves_and_joins_nothing_until_its_next_process(
    records: list[tuple[Kind, int]], serves: bool, joins: bool
) -> None:
    log = [record(offset, kind, epoch) for offset, (kind, epoch) in enumerate(records)]
    found = Service.of(log).before(len(log), 4)
    assert found is not None
    assert (found.serves, found.may_join) == (serves, joins)


def test_a_registration_may_say_that_a_process_leaves() -> None:
    amended = record(6, NEW, 7)
    assert isinstance(amended, BrokerRegistered)
    service = Service.of([record(5, IN, 7), replace(amended, leaving=True)])
    found = service.before(7, 4)
    assert found is not None and found.serves and not found.may_join
