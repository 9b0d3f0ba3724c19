"""Who asked a node that was killed and is not yet back, to the nanosecond
(`folds/serving/away.py`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.folds.serving.asked import asked_of
from checkers.folds.serving.away import met_nobody
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from framework.plugins.outcomes import OF_NO_NODE

OVER, BOUND_S = 1_000, 2.0
DUE = OVER + 2_000_000_000
NOBODY, SILENT = "CONNECTION_FAILED", "CLIENT_TIMED_OUT"


def tried(
    began: int, ended: int | None, error: str | None, node: str = "b1", f: str = "write"
) -> Operation:
    return Operation(
        index=ended or 0,
        f=f,
        key="t",
        node=node,
        type="ok" if error is None else "fail",
        end=None if ended is None else ended + 1,
        error=None if error is None else (error, ""),
        invoked_ns=began,
        completed_ns=ended,
    )


KILL = FaultRecord(
    id=1, fault="kill", victims={"b1": None}, injected_ns=10, healed_ns=OVER, ends_processes=True
)


def met(
    *operations: Operation,
    faults: Sequence[FaultRecord] = (KILL,),
    observed: Sequence[Operation] = (),
) -> list[bool]:
    """Of operations in the order in which they ended."""
    plan: dict[str, Any] = {"nodes": {"b1": {}, "b2": {}}}
    events = RunEvents(
        operations=list(operations),
        observations=list(observed),
        evidence=[],
        nemesis=[],
        faults=list(faults),
        plan=plan,
    )
    return met_nobody(asked_of(OperationRows.of(operations), []), events, BOUND_S).tolist()


@pytest.mark.parametrize(
    ("began", "ended", "nobody"),
    [
        (OVER, OVER, True),
        (OVER, OVER + 1, True),
        (OVER - 1, OVER + 1, False),  # while the fault held
        (DUE - 1, DUE, True),
        (DUE - 1, DUE + 1, False),
        (DUE + 1, DUE + 2, False),
    ],
)
def test_from_the_end_of_the_fault_until_the_bound(began: int, ended: int, nobody: bool) -> None:
    assert met(tried(began, ended, NOBODY)) == [nobody]


def test_until_the_node_answers_somebody() -> None:
    """Also what is of the same moment was before."""
    vain = [tried(at, at, NOBODY) for at in (2_000, 3_000, 3_001)]
    assert met(*vain) == [True, True, True]
    assert met(vain[0], tried(3_000, 3_000, None), *vain[1:]) == [True, False, True, False]
    assert met(vain[0], tried(3_000, 3_000, None, "b2"), *vain[1:])[-1]
    assert met(*vain, observed=[tried(1, 3_000, None)]) == [True, True, False]
    assert met(*vain, observed=[tried(1, 3_000, "NOT_CONTROLLER")]) == [True, True, False]
    assert all(all(met(*vain, observed=[tried(1, 3_000, code)])) for code in OF_NO_NODE)
    assert met(*vain, observed=[tried(1, OVER, None)]) == [False, False, False]
    assert met(tried(OVER, OVER, None), *vain) == [False, False, False, False]


@pytest.mark.parametrize(
    "observed",
    [
        tried(1, 2_000, None, "b2"),  # another
        tried(1, 2_000, SILENT),
        tried(1, None, None),  # not yet answered
        tried(1, OVER - 1, None),  # of the process before
    ],
)
def test_what_does_not_tell_that_it_is_back(observed: Operation) -> None:
    assert met(tried(2_500, 2_500, NOBODY), observed=[observed]) == [True]


def test_other_faults_and_other_nodes() -> None:
    cut = replace(KILL, fault="partition", ends_processes=None)
    held = replace(KILL, healed_ns=None)
    vain = tried(2_000, 2_000, NOBODY)
    assert met(vain, faults=[cut]) == [False]
    assert met(vain, faults=[held]) == [False]
    assert met(vain, faults=[cut, held, KILL]) == [True]
    assert met(tried(2_000, 2_000, NOBODY, "b2")) == [False]
    assert met(tried(2_000, 2_000, SILENT)) == [False]


def test_each_of_two_that_were_killed_comes_back_by_itself() -> None:
    both = replace(KILL, victims={"b1": None, "b2": None})
    operations = (
        tried(2_000, 2_000, NOBODY),
        tried(2_001, 2_001, NOBODY, "b2"),
        tried(2_002, 2_002, None),
        tried(2_003, 2_003, NOBODY),
        tried(2_004, 2_004, NOBODY, "b2"),
    )
    assert met(*operations, faults=[both]) == [True, True, False, False, True]
