"""Which contracts a verdict rests on: what clients saw, what the harness did and saw, what nodes
left on their disks, what they said of themselves.

A verdict from clients alone needs no word of the system's own. Each finding says what proved it;
what a checker looked at in a run, and was there, is what its verdict rests on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from framework.checking.run_checks import RunCheck
from framework.checking.sealing import Counts
from framework.evidence.catalogue import concrete
from framework.evidence.kinds import DISK, HARNESS
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Checker

ALL: Final = (CLIENTS, LEDGER, DISKS, EVENTS)


def contracts_of(checker: Checker, there: Counts) -> Sequence[str]:
    """Those that it looked at, of what the run has. Of a checker that does not say what it looks
    at, clients' operations. What the harness knows of a system, of every run, proves nothing."""
    check = getattr(checker, "check_run", None)
    if not isinstance(check, RunCheck):
        return (CLIENTS,)
    sources = evidence_looked_at(check, there).keys()
    found = {
        CLIENTS: _has_operations(check, there),
        LEDGER: _has_ledger(check, there),
        DISKS: DISK in sources,
        EVENTS: bool(sources - {DISK, HARNESS}),
    }
    return tuple(contract for contract in ALL if found[contract])


def evidence_looked_at(check: RunCheck, there: Counts) -> Mapping[str, int]:
    """How many rows of evidence a rule looks at, by source, where there are any."""
    in_events = {each.kind for each in concrete(check.evidence)}
    on_disk = {each.kind for each in concrete(check.disk)}
    rows = Counter[str]()
    for kind, counts in there.evidence.items():
        for source, count in counts.items():
            if kind in (on_disk if source == DISK else in_events):
                rows[source] += count
    return rows


def _has_ledger(check: RunCheck, there: Counts) -> bool:
    return bool(
        (check.nemesis and there.nemesis)
        or (check.faults and there.faults)
        or (check.observations and there.observations)
    )


def _has_operations(check: RunCheck, there: Counts) -> bool:
    wanted = there.operations if check.fs is None else set(check.fs).intersection(there.operations)
    return bool(wanted)
