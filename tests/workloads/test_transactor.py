"""The program behind the `txn` workload's client, against the mock cluster that librdkafka brings.
(It knows transactions, but shows aborted records, and fences nobody.)"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from workloads.kafka import librdkafka_producer
from workloads.kafka.librdkafka_producer import LibrdkafkaProducer
from workloads.kafka.transactor import Transactor, answer

KEYS = ["t/0", "t/1"]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock:1", "log_level": 0})
    (broker,) = cluster.list_topics("t", timeout=20).brokers.values()
    yield {"bootstrap.servers": f"{broker.host}:{broker.port}"}
    del cluster


@pytest.fixture
def one(servers: dict[str, str]) -> Transactor:
    return Transactor(servers, "one", partial(librdkafka_producer.initialized, servers))


def done(who: Transactor, do: str, **arguments: Any) -> Any:
    reported = answer(who, {"do": do, **arguments})
    assert "ok" in reported, reported
    return reported["ok"]


def failed(who: Transactor, do: str, **arguments: Any) -> Any:
    reported = answer(who, {"do": do, **arguments})
    return reported["error"][0], reported["sent"]


def all_of(who: Transactor) -> dict[str, list[Any]]:
    """All records from the beginning, by key."""
    done(who, "assign", keys=KEYS, beginning=True)
    found: dict[str, list[Any]] = {key: [] for key in KEYS}
    for _ in range(100):
        polled = done(who, "poll")
        if polled == ["poll", {}]:
            return found
        for key, records in polled[1].items() if len(polled) > 1 else ():
            found[key] += records
    raise AssertionError("it never came to the end")


def test_a_committed_transaction_tells_where_its_records_are(one: Transactor) -> None:
    done(one, "assign", keys=KEYS, beginning=True)
    sends = [["send", "t/0", 1], ["send", "t/1", 2], ["send", "t/0", 3]]
    result = done(one, "txn", operations=[["poll"], *sends], end="commit")
    assert [[each[0], each[1], each[2][1]] for each in result[1:]] == sends
    found = all_of(one)
    assert all(each[2] in found[each[1]] for each in result[1:])
    assert [value for _, value in found["t/0"]][-2:] == [1, 3]


def test_an_uncommitted_one_failed_and_its_consumer_is_where_it_was(one: Transactor) -> None:
    done(one, "assign", keys=KEYS, beginning=True)
    done(one, "txn", operations=[["send", "t/0", 10]], end="commit")
    for end, code in (("abort", "ABORT"), ("abandon", "ABANDON")):
        before = dict(one._positions)
        assert failed(one, "txn", operations=[["poll"]] * 3, end=end) == (code, False)
        assert one._positions == before
    assert [value for _, value in all_of(one)["t/0"]][-1] == 10


def test_an_assignment_keeps_the_places_of_the_partitions_that_stay(one: Transactor) -> None:
    all_of(one)
    before = dict(one._positions)
    assert before["t/0"] > 0
    done(one, "assign", keys=["t/0"], beginning=False)
    assert one._positions == {"t/0": before["t/0"]}
    done(one, "assign", keys=["t/0"], beginning=True)
    assert one._positions == {"t/0": 0}


class Stub:
    """A producer whose commits fail with these errors in turn. `offsets`: what it was to commit of
    those that were read."""

    def __init__(self, *errors: KafkaError) -> None:
        self.errors = list(errors)
        self.offsets: dict[str, int] = {}

    def send_offsets_to_transaction(self, offsets: Any, member: Any, _: float) -> None:
        self.offsets |= {f"{each.topic}/{each.partition}": each.offset for each in offsets}

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, _: float) -> None:
        if self.errors:
            raise KafkaException(self.errors.pop(0))


def test_how_far_a_transaction_read_is_committed_with_it(one: Transactor) -> None:
    done(one, "txn", operations=[["send", key, 20] for key in KEYS], end="commit")
    all_of(one)
    done(one, "assign", keys=KEYS, beginning=True)
    stub = Stub()
    one._producer = LibrdkafkaProducer(stub)  # type: ignore[arg-type]
    done(one, "txn", operations=[], end="commit")
    assert stub.offsets == {}, "it read nothing"
    done(one, "txn", operations=[["poll"]] * 5, end="commit")
    assert stub.offsets == one._positions and all(stub.offsets.values())


def test_a_commit_is_repeated_where_it_may_be(one: Transactor) -> None:
    again = KafkaError(KafkaError._TIMED_OUT, "again", retriable=True)
    one._producer = LibrdkafkaProducer(Stub(again, again))  # type: ignore[arg-type]
    assert done(one, "txn", operations=[], end="commit") == []


def test_what_became_of_a_commit_that_failed_nobody_knows(one: Transactor) -> None:
    stub = Stub(KafkaError(KafkaError._FENCED, "fenced", fatal=True))
    one._producer = LibrdkafkaProducer(stub)  # type: ignore[arg-type]
    assert failed(one, "txn", operations=[], end="commit") == ("_FENCED", True)
    assert one._producer is None, "another producer takes its place"


def test_without_a_producer_nothing_is_sent(
    one: Transactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no"))

    monkeypatch.setattr(librdkafka_producer, "Producer", none)
    assert failed(one, "txn", operations=[["send", "t/0", 1]], end="commit") == (
        "_TIMED_OUT",
        False,
    )
    assert failed(one, "fence", transactional_id="other") == ("_TIMED_OUT", True)
