"""Who serves clients while the committed log has it fenced, where a broker serves under a lease
alone (KIP-631): by disks, by what was shown of the log, and by clients' answers.

A broker is fenced from when somebody was shown the log beyond the record that says so, or that
registers it anew, until after the last question whose answer shows all that was committed, and not
yet the record that puts it into service. Under no lease it may serve meanwhile, but for one that a
process of its id had before, so a lease's length later there is none; whoever asks it then, and is
answered before it may have one, is to be refused.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.fencing.leases import FS, by_node, ended_ns
from checkers.folds.history.brokers import ids_of
from checkers.folds.history.peace import fencing_ns
from checkers.folds.history.values import heartbeat, heartbeat_answer
from checkers.folds.metadata_log.commit_dates import CommitDates
from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from checkers.folds.metadata_log.service import OF_BROKERS, Service, Standing
from framework.checking.findings import finding
from framework.evidence.changes import BrokerFenced, BrokerRegistered
from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.capabilities import BROKER_LEASES
from framework.plugins.checker import Finding

LEASES: Final = ("heartbeat",)
"""Operations by which clients that play brokers are granted leases."""
MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Lapse:
    """From `since_ns` until `until` was invoked a broker had no lease. `shown`: to whom it was then
    that it had been fenced, or registered and not unfenced."""

    record: BrokerFenced | BrokerRegistered
    shown: Operation
    since_ns: int
    until: Operation

    def __str__(self) -> str:
        how = "fenced" if isinstance(self.record, BrokerFenced) else "registered, fenced,"
        return (
            f"{how} by the record at offset {self.record.offset} of the metadata log, of which "
            f"operation {self.shown.index} was shown, and no more until operation "
            f"{self.until.index}"
        )


def served_while_fenced(
    events: RunEvents, left: CommittedOnDisks, dates: CommitDates
) -> tuple[int, list[Finding]]:
    """How many answers brokers gave to clients who asked them when they had no lease, and those
    that are successes. Only systems that say so serve under leases."""
    if BROKER_LEASES not in (events.plan.get("capabilities") or ()):
        return 0, []
    service = Service.of(each for each in left.records if isinstance(each, OF_BROKERS))
    asked = by_node(each for each in events.operations if each.f in FS)
    length_ns, judged, findings = _length_ns(events), 0, list[Finding]()
    for node, ids in ids_of(events.plan).items():
        for broker in ids:
            standings = service.standings.get(broker, ())
            for lapse in _lapses(standings, dates, left, length_ns):
                for operation in _meanwhile(asked.get(node, []), lapse):
                    judged += 1
                    if operation.ok:
                        findings.append(_served(operation, lapse))
    return judged, findings


def _length_ns(events: RunEvents) -> int:
    """Of a lease, as clients are granted them; else as long as fencing may take."""
    granted = [
        (heartbeat_answer(each)["lease_end_ms"] - heartbeat(each)["lease_start_ms"]) * MS
        for each in events.operations
        if each.f in LEASES and each.ok and _has(each.value) and _has(each.result)
    ]
    return max(granted, default=fencing_ns(events.plan))


def _has(said: Recorded) -> bool:
    return isinstance(said, Mapping) and not {"lease_end_ms", "lease_start_ms"}.isdisjoint(said)


def _lapses(
    standings: Sequence[Standing], dates: CommitDates, left: CommittedOnDisks, length_ns: int
) -> Iterator[Lapse]:
    """Of one broker. What is not in the log by its end was not committed."""
    for at, each in enumerate(standings):
        record = _fencing(each, standings[at - 1] if at else None, whole=0 in left.entries)
        if record is not None:
            again = (other.by.offset for other in standings[at:] if other.serves)
            shown, until = dates.by(record.offset), dates.after(next(again, left.end))
            if shown is None or until is None or shown.operation.completed_ns is None:
                continue
            since_ns = shown.operation.completed_ns + length_ns
            yield Lapse(record, shown.operation, since_ns, until.operation)


def _fencing(
    standing: Standing, before: Standing | None, *, whole: bool
) -> BrokerFenced | BrokerRegistered | None:
    """The record by which a broker is out of service, if it may have been in it before. A
    registration, where nobody knows what was before (the log is not `whole`), may amend that of one
    in service."""
    if standing.serves or (before is not None and not before.serves):
        return None
    match standing.by:
        case BrokerFenced() as record:
            return record
        case BrokerRegistered(fenced=True) as record if whole or before is not None:
            return record
    return None


def _meanwhile(operations: Sequence[Operation], lapse: Lapse) -> Iterable[Operation]:
    """`operations` of the broker, in the order of their ends."""
    first = bisect_left(operations, lapse.since_ns, key=ended_ns)
    for each in operations[first:]:
        if not each.precedes(lapse.until):
            return
        if each.began_ns > lapse.since_ns:
            yield each


def _served(operation: Operation, lapse: Lapse) -> Finding:
    return finding(
        f"operation {operation.index} ({operation.f} of {operation.key}) was answered ok by "
        f"{operation.node} without a lease: it was {lapse}",
        [operation, lapse.shown, lapse.until],
        [lapse.record],
    )
