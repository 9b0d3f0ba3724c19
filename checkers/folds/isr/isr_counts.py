"""How much of a run's ISR changes there was to compare, or why there was nothing."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from checkers.folds.history.brokers import ISR_FS, LIFE_FS, nothing_done
from checkers.folds.history.roles import BROKER, with_roles
from checkers.folds.isr.isr import keys_of, sights
from framework.evidence.run_events import RunEvents, unreported
from framework.plugins.checker import Count


@dataclass(slots=True)
class Counts:
    """What was compared; `_known`: of how many that there were."""

    records: int = 0
    chain: int = 0
    """Of records."""
    answers: list[int] = field(default_factory=list)
    """Operations, for each partition of which they show what a record made."""
    decisions: int = 0
    accepted: int = 0
    accepted_known: int = 0
    accepted_owed: int = 0
    """Those whose record is there, or nothing excuses that it is not."""
    elections: list[Hashable] = field(default_factory=list)
    """A topic, for the first leader of each of its partitions; of others partition and record."""
    joins: int = 0
    joins_known: int = 0
    joined: int = 0
    members: int = 0


def requests_known(counts: Counts, events: RunEvents) -> Count:
    """Those of clients, if there are any: each one that was accepted; where nodes tell nothing,
    those whose record neither a snapshot nor a disk that nobody has may have taken away."""
    if counts.accepted:
        owed = counts.accepted_owed if unreported(events.plan) else counts.accepted
        return counts.accepted_known, owed
    return counts.decisions or _no_occasion(events) or unreported(events.plan) or 0


def joins_known(counts: Counts, events: RunEvents) -> Count:
    """Where nodes tell nothing, by the plan, only what clients asked for is known."""
    if counts.records and (why := unreported(events.plan)):
        return counts.joins_known or why
    if not counts.joins:
        return _no_occasion(events) or 0
    return counts.joins_known, counts.joins


def members_known(counts: Counts, events: RunEvents) -> Count:
    """Of real brokers nobody may have joined, as records tell; of those that did, nodes that tell
    nothing may have left nothing of what was before."""
    if counts.members or counts.accepted:
        return counts.members
    if counts.joined:
        return unreported(events.plan) or 0
    if any(each.f == "alter-isr" for each in events.operations):
        return 0
    return _no_occasion(events) or ("no client asked for an ISR change" if counts.records else 0)


def _no_occasion(events: RunEvents) -> str:
    """Why no ISR changed, where clients and the ledger say so."""
    if nothing := nothing_done(events):
        return nothing
    if any(each.f == "alter-isr" for each in events.operations):
        return ""
    versions = {
        sight.version
        for operation in events.operations
        for key in keys_of(operation)
        for sight in sights([operation], key)
    }
    return "clients were shown the first version of each partition alone" if versions == {0} else ""


def one_occasion(events: RunEvents) -> str:
    """Why an ISR may have changed but once, where clients and the ledger say so: a broker that is
    gone comes back to its ISRs, and that happened to one."""
    brokers = with_roles(events.plan, BROKER)
    met = sum(not brokers.isdisjoint(each.gone or each.nodes) for each in events.faults)
    if met > 1 or any(each.f in (*ISR_FS, *LIFE_FS) for each in events.operations):
        return ""
    return f"{met} faults met a broker, and no client asked for an ISR change"
