"""Answers and the leases that they were given under (`folds/fencing/leases.py`)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.folds.fencing.leases import (
    FS,
    THREADS_LAG_NS,
    _without_lease,
    by_node,
    lag_ns,
    length_of,
    served_without_lease,
    serving,
    under_way,
)
from framework.evidence.brokers import LeaseGranted
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Stalled, Ticked
from framework.evidence.requests import Served
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

LAG = 250_000_000


def leased(until: int, start: int = 0, rounded: int = 0) -> LeaseGranted:
    return LeaseGranted(
        node="b1",
        broker_id=4,  # type: ignore[arg-type]
        broker_epoch=7,  # type: ignore[arg-type]
        start_ns=start,
        end_ns=until,
        rounded_ns=rounded,
    )


def served(at: int, *, node: str = "b1", success: bool = True, topic: str | None = "t") -> Served:
    return Served(
        node=node,
        at_ns=at,
        api="Metadata",
        f="metadata",
        success=success,
        code="",
        state=None,
        broker_epoch=None,
        topic=topic,
    )


def stood_still(until: int, lasted: int) -> Stalled:
    return Stalled(node="b1", at_ns=until, part="loop", lasted_ns=lasted)


def ran(at: int) -> Ticked:
    return Ticked(node="b1", at_ns=at)


def asked(begin: int | None, end: int | None, **more: Any) -> Operation:
    """`index` is the begin."""
    known: dict[str, Any] = {"type": "ok", "end": 1 if end else None, "node": "b1", "key": "t"}
    known |= {"f": "metadata", "invoked_ns": begin, "completed_ns": end}
    return Operation(index=begin or 0, **{**known, **more})


def judged(*life: Evidence, clients: Iterable[Operation] = ()) -> tuple[int, list[Finding]]:
    """`life`: of one process, in order."""
    evidence = [replace(each, seq=seq) for seq, each in enumerate(life)]
    return served_without_lease(RunEvents(evidence=evidence, operations=list(clients)))


ONES = st.one_of(
    st.builds(leased, st.integers(0, 3).map(lambda each: each * LAG), rounded=st.just(10)),
    st.builds(served, st.integers(0, 9).map(lambda each: each * LAG), success=st.booleans()),
    st.builds(ran, st.integers(0, 9).map(lambda each: each * LAG)),
    st.builds(stood_still, st.integers(0, 9).map(lambda each: each * LAG), st.just(LAG)),
)


@given(st.lists(st.lists(ONES, min_size=1, max_size=9), max_size=3))
def test_all_processes_are_judged_as_each_is_event_by_event(lives: list[list[Evidence]]) -> None:
    """Those that the as-of join leaves out have nothing that the loop over all would find."""
    evidence: list[list[Evidence]] = [
        [replace(each, incarnation=f"b1#{life}", seq=seq) for seq, each in enumerate(own)]
        for life, own in enumerate(lives)
    ]
    events = RunEvents(evidence=[each for life in evidence for each in life])
    machine = events.machines.of_node("b1")
    count, found = served_without_lease(events)
    wanted = [each for life in evidence for each in _without_lease(life, [], machine)]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert count == sum(isinstance(each, Served) and each.success for each in events.evidence)


# --- under a lease ------------------------------------------------------------------------


def test_each_success_is_judged_by_the_lease_of_then() -> None:
    life = (leased(100), served(50), served(60, success=False), leased(200), served(150))
    assert judged(*life) == (2, [])


def test_before_any_lease() -> None:
    count, (found,) = judged(served(50), leased(100))
    assert count == 1 and "before it was granted any lease" in found.message


END, ROUNDED = 100, 10
OVER = END + ROUNDED


@pytest.mark.parametrize(
    ("seen", "at", "late"),
    [
        ([ran(OVER)], OVER + LAG + 5, False),
        ([ran(OVER + 1)], OVER + 1 + LAG, False),
        ([ran(OVER + 1)], OVER + 2 + LAG, True),
        ([ran(OVER + 1), ran(OVER + LAG)], OVER + 2 + LAG, True),
        ([stood_still(OVER + 50, 50)], OVER + 900 + 2 * LAG, False),
        ([ran(OVER + 1), stood_still(OVER + 60, 50)], OVER + 51 + LAG, False),
        ([ran(OVER + 1), stood_still(OVER + 60, 50)], OVER + 52 + LAG, True),
    ],
)
def test_what_the_process_did_before_shows_that_it_ran(
    seen: list[Evidence], at: int, late: bool
) -> None:
    """After the lease's end, and by more than its threads can lag behind each other."""
    _, found = judged(leased(END, rounded=ROUNDED), *seen, served(at))
    assert bool(found) == late


@pytest.mark.parametrize(("first", "late"), [(OVER, False), (OVER + 1, True)])
def test_an_answer_after_an_answer_that_was_late(first: int, late: bool) -> None:
    _, found = judged(leased(END, rounded=ROUNDED), served(first), served(OVER + 2))
    assert bool(found) == late


@pytest.mark.parametrize(("begin", "late"), [(OVER, False), (OVER + 1, True)])
def test_a_client_that_began_after_the_end(begin: int, late: bool) -> None:
    clients = [asked(begin, OVER + 9)]
    _, found = judged(leased(END, rounded=ROUNDED), served(OVER + 5), clients=clients)
    assert bool(found) == late


def test_how_late_it_was_and_who_was_answered() -> None:
    end, late = 1_000_000_000, 600_000_000_000
    clients = [asked(50, end + late + 9), asked(end + 1, end + late + 9)]
    _, (found,) = judged(leased(end), served(end + late), clients=clients)
    assert "served Metadata 600000.0 ms after its lease had ended" in found.message
    assert found.operations == (end + 1,)


def test_a_late_answer_whose_client_began_before() -> None:
    clients = [asked(50, END + 2 * LAG)]
    _, (found,) = judged(leased(END), ran(END + 1), served(END + 2 + LAG), clients=clients)
    assert found.operations == (50,)


# --- threads ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "lasted", "of_it"),
    [(120, 30, 30), (40, 5, 0), (60, 20, 10), (210, 40, 30), (300, 50, 0), (300, 280, 150)],
)
def test_a_stall_counts_as_far_as_it_lies_within(until: int, lasted: int, of_it: int) -> None:
    life = [ran(1), stood_still(until, lasted)]
    assert lag_ns(life, 50, 200) == THREADS_LAG_NS + of_it


# --- who tells ----------------------------------------------------------------------------


@pytest.mark.parametrize("f", ["metadata", "create", "delete", "produce", "fetch", "list-offsets"])
def test_what_clients_send_to_brokers(f: str) -> None:
    assert f in FS
    operations = [asked(1, 2, f=f), asked(3, 4, f=f, node="b2")]
    assert serving(RunEvents(operations=operations, evidence=[served(2)])) == (1, 2)


@pytest.mark.parametrize(
    "more",
    [
        {"f": "heartbeat", "node": "b2"},
        {"type": "fail", "node": "b2"},
        {"node": None},
        {"node": ""},
    ],
)
def test_what_shows_nobody_who_answered(more: dict[str, Any]) -> None:
    events = RunEvents(operations=[asked(1, 2, **more), asked(3, 4)], evidence=[served(2)])
    assert serving(events) == (1, 1)


def test_of_those_that_answered_some_tell() -> None:
    evidence = [served(2, success=False), served(2, node="b2"), served(3, node="b3")]
    assert serving(RunEvents(evidence=evidence)) == (2, 0)
    operations = [asked(1, 2), asked(1, 2, node="b2")]
    assert serving(RunEvents(operations=operations, evidence=evidence)) == (1, 2)


def test_the_commonest_length_is_that_of_the_run() -> None:
    grants = [leased(100), leased(150, start=50), leased(300, start=50)]
    assert length_of(grants) == 100
    assert length_of([leased(300), leased(100)]) == 100, "the shorter of equals"
    assert length_of([]) is None


# --- clients ------------------------------------------------------------------------------


def test_operations_by_their_node_and_end() -> None:
    second, first = asked(1, 30), asked(2, 20)
    nobody, pending = asked(3, 4, node=None), asked(5, None)
    assert by_node([second, first, nobody, pending]) == {"b1": [first, second]}


@pytest.mark.parametrize(
    ("operations", "found"),
    [
        ([asked(50, 150)], [50]),
        ([asked(50, 100)], [50]),
        ([asked(100, 150)], [100]),
        ([asked(None, 150)], [0]),
        ([asked(50, 99)], []),
        ([asked(101, 150)], []),
        ([asked(50, 150, type="fail")], []),
        ([asked(50, 90, type="fail")], [50]),
        ([asked(40, 80, type="fail"), asked(50, 90, type="fail")], [50]),
        ([asked(40, 80, type="fail"), asked(45, 85), asked(50, 150)], [50]),
        ([asked(50, 150, f="fetch")], []),
        ([asked(50, 150, key="u")], []),
    ],
)
def test_who_had_the_answer_of_that_moment(operations: list[Operation], found: list[int]) -> None:
    assert [each.index for each in under_way(served(100), operations)] == found


@pytest.mark.parametrize("f", ["metadata", "create", "delete"])
def test_an_answer_is_of_the_operation_that_asked_for_it(f: str) -> None:
    operations = [asked(50, 150, f=other) for other in ("metadata", "create", "delete")]
    (found,) = under_way(replace(served(100), f=f), operations)
    assert found.f == f


def test_an_answer_that_does_not_say_of_which_topic() -> None:
    assert under_way(served(100, topic=None), [asked(50, 150, key="u")])


@pytest.mark.parametrize("f", ["produce", "fetch", "list-offsets"])
def test_an_answer_of_an_operation_that_asks_again_may_be_another_request_s(f: str) -> None:
    answer = replace(served(100, topic=None), f=f)
    assert not under_way(answer, [asked(50, 150, f=f, key="t/0")])
