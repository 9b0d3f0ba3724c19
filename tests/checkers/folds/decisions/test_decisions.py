"""Which operations a decision may have been about."""

from dataclasses import replace
from typing import Any

import pytest
from planted_runs import MS, Story, change

from checkers.folds.decisions.decisions import Decision, decided_on_stale, may_have_asked
from framework.evidence.requests import Decided, IsrDecided
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

ASKED = {"broker_id": 4, "broker_epoch": 7, "target": "active"}


def decided(asked_at_ms: int, answered_at_ms: int | None) -> tuple[Operation, Decision]:
    """At 10 ms, on a heartbeat that was under way at these times."""
    story = Story()
    operation = story.invoke("heartbeat", "broker-4", ASKED)
    if answered_at_ms is not None:
        operation = story.complete(operation, "ok", {})
    story.decide("BrokerHeartbeat", {"broker_id": 4, "broker_epoch": 7}, [])
    (decision,) = story.run_events().of(Decided)
    completed_ns = None if answered_at_ms is None else answered_at_ms * MS
    times = {"invoked_ns": asked_at_ms * MS, "completed_ns": completed_ns}
    return replace(operation, **times), replace(decision, at_ns=10 * MS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked_at_ms", "answered_at_ms", "may"),
    [(9, 11, True), (9, None, True), (11, 12, False), (8, 9, False), (11, None, False)],
)
def test_operation_was_under_way(asked_at_ms: int, answered_at_ms: int | None, may: bool) -> None:
    operation, decision = decided(asked_at_ms, answered_at_ms)
    assert may_have_asked(operation, decision) == may


def test_operation_that_was_given_up_may_be_decided_on_later() -> None:
    operation, decision = decided(8, 9)
    assert may_have_asked(replace(operation, type="info"), decision)


def test_clocks_that_are_off_leave_it_open() -> None:
    for times in ((11, 12), (8, 9)):
        operation, decision = decided(*times)
        assert may_have_asked(operation, replace(decision, within_ns=2 * MS))


@pytest.mark.parametrize(
    ("value", "may"),
    [
        (ASKED, True),
        ({"broker_id": 4}, True),
        (None, True),
        (ASKED | {"broker_epoch": 8}, False),
        (ASKED | {"broker_id": 5}, False),
    ],
)
def test_operation_says_the_same_as_far_as_it_says_it(value: Any, may: bool) -> None:
    operation, decision = decided(9, 11)
    assert may_have_asked(replace(operation, value=value), decision) == may


def test_process_without_an_epoch_is_any_of_its_broker() -> None:
    operation, decision = decided(9, 11)
    assert isinstance(decision, Decided)
    assert may_have_asked(operation, replace(decision, broker_epoch=None))


def test_operation_of_another_kind_or_of_no_known_begin_is_none() -> None:
    operation, decision = decided(9, 11)
    assert not may_have_asked(replace(operation, f="create"), decision)
    assert not may_have_asked(replace(operation, invoked_ns=None), decision)


@pytest.mark.parametrize("name", ["leader_epoch", "partition_epoch", "partition", "broker_epoch"])
def test_change_of_an_isr_says_more(name: str) -> None:
    story = Story()
    asked = story.invoke("alter-isr", "t/0", change(3, [4]))
    story.decide("AlterPartition", change(3, [4]), [])
    (decision,) = story.run_events().of(IsrDecided)
    assert may_have_asked(asked, decision)
    assert not may_have_asked(replace(asked, value={**asked.value, name: 99}), decision)
    assert not may_have_asked(replace(asked, f="heartbeat"), decision)


# --- what older nodes told ----------------------------------------------------------------


def test_acceptance_shows_in_a_record_of_the_partition() -> None:
    """Nobody told of a verdict on it: the records that the request made do."""
    story = Story()
    story.partition(0, 0, [4, 5])
    story.partition(1, 1, [4])
    story.decide("AlterPartition", change(0, [4]), [2, 3], as_of=2)
    assert not on_stale(story)
    story.broker(2, 5, 2)
    assert not on_stale(story)
    story.partition(3, 2, [4, 5])
    (found,) = on_stale(story)
    assert "version of partition" in found.message and "raised to 1" in found.message


def on_stale(story: Story) -> list[Finding]:
    events = story.run_events()
    evidence = [
        replace(each, accepted=None) if isinstance(each, IsrDecided) else each
        for each in events.evidence
    ]
    return decided_on_stale(replace(events, evidence=evidence))[1]


def test_only_a_record_of_its_own_leader_shows_an_acceptance() -> None:
    """The next leader put another change in that place."""
    story = Story()
    story.partition(0, 0, [4, 5])
    story.partition(1, 1, [4])
    story.decide("AlterPartition", change(0, [4]), [2], as_of=2)
    story.partition(2, 2, [4, 5], epoch=2)
    assert not on_stale(story)


def test_what_was_refused_rests_on_nothing() -> None:
    """Whatever stands where its records are told to be."""
    story = Story()
    story.partition(0, 0, [4, 5])
    story.partition(1, 1, [4])
    story.partition(2, 2, [4, 5])
    story.decide("AlterPartition", change(0, [4]), [2], as_of=2)
    (found,) = decided_on_stale(story.run_events())[1]
    assert "raised to 1" in found.message
    story.events.pop()
    story.decide("AlterPartition", change(0, [4]), [2], as_of=2, verdict=95)
    assert decided_on_stale(story.run_events()) == (0, [])


def test_a_counter_that_goes_back_stays_where_it_was() -> None:
    story = Story()
    story.partition(0, 5, [4, 5])
    story.partition(1, 3, [4])
    story.decide("AlterPartition", change(4, [4]), [2], as_of=2)
    (found,) = decided_on_stale(story.run_events())[1]
    assert "at 4, which the record at offset 0 had raised to 5" in found.message


def test_where_a_decision_stands_is_where_its_first_record_does() -> None:
    """The second one is of a kind that nobody reads; nobody applied what is below."""
    story = Story()
    story.partition(3, 2, [4, 5], node="c2")
    story.partition(1, 1, [4], node="c2")
    story.decide("AlterPartition", change(0, [4]), [3, 4], as_of=2)
    (found,) = decided_on_stale(story.run_events())[1]
    assert "the record at offset 1 had raised to 1" in found.message
