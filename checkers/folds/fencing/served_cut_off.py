"""Who serves clients though the ledger says that no controller heard of it for longer than a lease
lasts, where a broker serves under a lease alone (KIP-631): by faults and clients' answers.

By when the others must have fenced such a broker its lease is over, whoever had granted it. Until
the fault begins to be healed it gets no other one; whoever asks it then is to be refused.
"""

from collections.abc import Iterable
from typing import Final

from checkers.folds.fencing.leases import FS, by_node, ended_ns
from checkers.folds.fencing.silent_brokers import Silence, silences_of
from framework.checking.findings import finding
from framework.evidence.run_events import NemesisEvent, RunEvents
from framework.plugins.capabilities import BROKER_LEASES
from framework.plugins.checker import LEDGER, Finding

HEAL: Final = "heal"
STOPS: Final = "stop-"
"""What begins to heal a fault: the end of the main phase, or the nemesis whose it is."""


def served_cut_off(events: RunEvents) -> tuple[int, list[Finding]]:
    """How many answers brokers gave to clients who asked them when they had no lease, and those
    that are successes. Only systems that say so serve under leases."""
    if BROKER_LEASES not in (events.plan.get("capabilities") or ()):
        return 0, []
    asked = by_node(each for each in events.operations if each.f in FS)
    judged, findings = 0, list[Finding]()
    for silence in silences_of(events):
        until_ns = min(silence.until_ns, _healing_ns(silence, events.nemesis))
        for operation in asked.get(silence.node, ()):
            if operation.began_ns < silence.due_ns or ended_ns(operation) > until_ns:
                continue
            judged += 1
            if operation.ok:
                findings.append(
                    finding(
                        f"operation {operation.index} ({operation.f} of {operation.key}) was "
                        f"answered ok by {silence.node} without a lease: since "
                        f"{silence.since_ns / 1e9:.1f} s no controller had heard of it",
                        [operation],
                        by=[LEDGER],
                    )
                )
    return judged, findings


def _healing_ns(silence: Silence, marks: Iterable[NemesisEvent]) -> int:
    """From when on it may be heard again; where nobody told, it may have been all along."""
    begun = (each for each in marks if each.type == "invoke" and each.time_ns > silence.since_ns)
    return min(
        (each.time_ns for each in begun if each.f == HEAL or each.f.startswith(STOPS)), default=0
    )
