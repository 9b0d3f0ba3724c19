"""Which process of a node answered (`folds/history/lives.py`)."""

from dataclasses import replace

import pytest

from checkers.folds.history.lives import Lives
from framework.evidence.run_events import FaultRecord
from framework.history.pairing import Operation

KILL = FaultRecord(
    id=1,
    fault="kill",
    victims={"n1": "SIGKILL"},
    injected_ns=10,
    healed_ns=20,
    ends_processes=True,
)


def life(begin: int | None, end: int | None, *faults: FaultRecord, node: str | None = "n1") -> int:
    """How often its process had been started anew; -1: that cannot be told."""
    asked = Operation(index=0, node=node, invoked_ns=begin, completed_ns=end)
    found = Lives(faults).of(asked)
    assert found is None or found[0] == node
    return -1 if found is None else found[1]


@pytest.mark.parametrize(
    ("begin", "end", "found"),
    [(1, 9, 0), (1, 10, -1), (12, 15, -1), (5, 25, -1), (20, 25, -1), (21, 25, 1)],
)
def test_who_answered_beside_a_kill(begin: int, end: int, found: int) -> None:
    assert life(begin, end, KILL) == found


def test_each_start_counts() -> None:
    assert life(50, 60, KILL, replace(KILL, id=2, injected_ns=30, healed_ns=40)) == 2


def test_a_kill_of_another_node() -> None:
    assert life(12, 15, KILL, node="n2") == 0


def test_an_operation_of_no_node_or_without_an_end() -> None:
    assert life(1, 9, KILL, node=None) == life(1, None, KILL) == life(None, 9, KILL) == -1


def test_a_ledger_that_does_not_say_when() -> None:
    assert life(1, 2, replace(KILL, injected_ns=None)) == -1
    assert life(70, 80, replace(KILL, healed_ns=None)) == -1


def test_faults_that_may_have_ended_processes() -> None:
    assert life(12, 15, replace(KILL, ends_processes=None)) == -1
    assert life(12, 15, replace(KILL, ends_processes=False)) == 0
    assert life(12, 15, replace(KILL, victims=None)) == 0, "whom it met is not told"
