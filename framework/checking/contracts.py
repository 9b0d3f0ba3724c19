"""Which contracts a verdict rests on: what clients saw, what the harness did and saw, what nodes
left on their disks, what they said of themselves.

A verdict from clients alone needs no word of the system's own. Each finding says what proved it;
what a checker looked at in a run, and was there, is what its verdict rests on.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.run_checks import RunCheck, evidence_for
from framework.evidence.kinds import DISK, HARNESS
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Checker, RunTables

ALL: Final = (CLIENTS, LEDGER, DISKS, EVENTS)


def contracts_of(checker: Checker, run: RunTables) -> Sequence[str]:
    """Those that it looked at, of what the run has. Of a checker that does not say what it looks
    at, clients' operations. What the harness knows of a system, of every run, proves nothing."""
    check = getattr(checker, "check_run", None)
    if not isinstance(check, RunCheck):
        return (CLIENTS,)
    evidence = [table.column("source") for _, table in evidence_for([check], run.evidence)]
    sources = {source for column in evidence for source in pc.unique(column).to_pylist()}
    there = {
        CLIENTS: _has_operations(check, run),
        LEDGER: _has_ledger(check, run),
        DISKS: DISK in sources,
        EVENTS: bool(sources - {DISK, HARNESS}),
    }
    return tuple(contract for contract in ALL if there[contract])


def _has_ledger(check: RunCheck, run: RunTables) -> bool:
    return bool(
        (check.nemesis and len(run.nemesis))
        or (check.faults and len(run.faults))
        or (check.observations and len(run.observations))
    )


def _has_operations(check: RunCheck, run: RunTables) -> bool:
    if check.fs is None:
        return len(run.operations) > 0
    wanted = pc.is_in(run.operations.column("f"), value_set=pa.array(check.fs, pa.string()))
    return bool(pc.any(wanted).as_py())
