"""What was refused while a system recovered, to the nanosecond (`folds/serving/recovering.py`)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from test_away import tried

from checkers.folds.serving.asked import asked_of
from checkers.folds.serving.recovering import refused_at_first
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.history.rows import OperationRows

OVER, BOUND_S = 1_000, 2.0
DUE = OVER + 2_000_000_000
DONE, NO, NOBODY = None, "NO", "CONNECTION_FAILED"
CUT = FaultRecord(id=1, fault="partition", injected_ns=10, healed_ns=OVER)


def early(*operations: Operation, faults: Sequence[FaultRecord] = (CUT,)) -> list[bool]:
    """Of operations in the order in which they ended."""
    events = RunEvents(
        operations=list(operations),
        observations=[],
        evidence=[],
        nemesis=[],
        faults=list(faults),
        plan={"nodes": {"b1": {}}},
    )
    return refused_at_first(asked_of(OperationRows.of(operations), []), events, BOUND_S).tolist()


@pytest.mark.parametrize(
    ("began", "ended", "is_early"),
    [
        (OVER - 1, OVER + 5, False),  # asked while it held
        (OVER, OVER + 5, True),
        (OVER, OVER, True),
        (DUE - 5, DUE, True),
        (DUE - 5, DUE + 1, False),
    ],
)
def test_it_takes_from_the_end_of_a_fault_as_long_as_the_bound(
    began: int, ended: int, is_early: bool
) -> None:
    assert early(tried(began, ended, NO)) == [is_early]


def test_what_nobody_answered_was_not_refused() -> None:
    assert early(tried(OVER, OVER + 1, NOBODY), tried(OVER, OVER + 2, DONE)) == [False, False]


def test_once_its_kind_is_done_again_it_has_recovered() -> None:
    at = OVER + 100
    done, before, beside, later = (at - 9, at, DONE), (at - 8, at - 1, NO), (at - 7, at, NO), at + 1
    operations = [tried(*each) for each in (before, beside, done, (later, later, NO))]
    assert early(*operations) == [True, True, False, False]


def test_what_was_done_in_answer_to_who_asked_before_is_no_recovery() -> None:
    before = tried(OVER - 1, OVER + 1, DONE)
    assert early(before, tried(OVER, OVER + 2, NO)) == [False, True]


def test_each_kind_recovers_by_itself() -> None:
    operations = [
        tried(OVER + 1, OVER + 1, NO, f="read"),
        tried(OVER + 2, OVER + 2, DONE, f="read"),
        tried(OVER + 3, OVER + 3, NO, f="read"),
        tried(OVER + 4, OVER + 4, NO, f="write"),
        tried(OVER + 5, OVER + 5, DONE, f="write"),
        tried(OVER + 6, OVER + 6, NO, f="write"),
    ]
    assert early(*operations) == [True, False, False, True, False, False]


def test_of_a_fault_that_is_not_over_nothing_recovers_and_others_count() -> None:
    lasting = replace(CUT, id=2, healed_ns=None)
    refused = tried(OVER, OVER + 1, NO)
    assert early(refused, faults=[lasting]) == [False]
    assert early(refused, faults=[lasting, CUT]) == [True]


def test_after_the_next_fault_it_recovers_again() -> None:
    second = replace(CUT, id=2, injected_ns=OVER + 10, healed_ns=OVER + 20)
    operations = [
        tried(OVER + 1, OVER + 2, DONE),
        tried(OVER + 5, OVER + 6, NO),
        tried(OVER + 21, OVER + 22, NO),
        tried(OVER + 23, OVER + 24, DONE),
    ]
    assert early(*operations, faults=[CUT, second]) == [False, False, True, False]
