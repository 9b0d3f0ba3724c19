"""Brokers of nodes that a fault killed, stopped or cut off: their leases end, and a controller
fences them.

Judged at the moment by which the others must have missed such a node: by then its broker is fenced,
and leads nothing that another could."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checkers.folds.history.brokers import ids_of
from checkers.folds.history.peace import fencing_ns, missed_by_ns, owed_in
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.replayed.replay import Replay
from framework.checking.findings import finding
from framework.evidence.changes import BrokerRegistered, BrokerUnfenced, PartitionState
from framework.evidence.clocks import earliest_ns
from framework.evidence.run_events import FaultRecord, RunEvents, voters
from framework.plugins.checker import LEDGER, Count, Finding


@dataclass(frozen=True, slots=True)
class Silence:
    """Nobody heard of a broker from then until then, and at `due_ns` it should have been fenced."""

    node: str
    broker: int
    since_ns: int
    due_ns: int
    until_ns: int


def unfenced(events: RunEvents, log: CommittedLog, enough: int = 1) -> tuple[Count, list[Finding]]:
    """How many silent brokers were judged, or why there were not enough of them, and what is
    wrong."""
    votes = set(voters(events.plan))
    brokers = {each.broker_id for each in log.records if isinstance(each, BrokerRegistered)}
    silences = [
        each
        for each in sorted(silences_of(events), key=lambda each: each.due_ns)
        if each.broker in brokers or each.node not in votes  # a voter need be no broker
    ]
    heard = (each for each in events.evidence if each.node in votes)
    reported_ns = max(map(earliest_ns, heard), default=0)
    state, compared, findings = Replay(), 0, list[Finding]()
    for silence in silences:
        if reported_ns <= silence.due_ns:  # of a log of which nobody tells nothing is missing
            break
        for record, by_ns in list(zip(log.records, log.by_ns, strict=True))[state.end :]:
            if by_ns > silence.due_ns:
                break
            state.feed(record)
        if silence.broker in state.brokers:
            compared += 1
            findings += _wrong(silence, state, log)
    if len(silences) >= enough:
        return compared, findings
    long_s = fencing_ns(events.plan) / 1e9
    few = "hardly a" if silences else "no"
    given = f"{long_s:g} s of what the machine gave those who vote"
    return f"{few} broker's node was gone for {given} while the others worked", findings


def silences_of(events: RunEvents) -> Iterator[Silence]:
    """Of brokers' nodes that were gone for long enough while most nodes were left alone."""
    ids, stretches = ids_of(events.plan), owed_in(events)
    votes = voters(events.plan)
    for gone, begin_ns, end_ns in _absences(events.faults):
        for stretch in stretches:
            since_ns = max(begin_ns, stretch.begin_ns)
            due_ns = missed_by_ns(events, votes, since_ns)  # who fences is one of them
            until_ns = min(end_ns, stretch.end_ns)
            if due_ns > until_ns:
                continue
            for node in gone:
                for broker in ids.get(node, ()):
                    yield Silence(node, broker, since_ns, due_ns, until_ns)


def _absences(faults: Iterable[FaultRecord]) -> Iterator[tuple[Iterable[str], int, int]]:
    """Of nodes, from then till then."""
    for fault in faults:
        begin_ns, end_ns = fault.injected_ns, fault.healed_ns
        if fault.effective and begin_ns is not None and end_ns is not None:
            yield sorted(fault.gone), begin_ns, end_ns


def _wrong(silence: Silence, state: Replay, log: CommittedLog) -> Iterator[Finding]:
    broker = silence.broker
    lasted_s = (silence.due_ns - silence.since_ns) / 1e9
    what = f"{silence.node} had been gone for {lasted_s:.0f} s, and broker {broker}"
    records = reversed(log.records[: state.end])
    if state.live(broker):
        served = (each for each in records if isinstance(each, BrokerUnfenced))
        last = next(each for each in served if each.broker_id == broker)
        yield finding(f"{what} was not fenced", evidence=[last], by=[LEDGER])
        return
    led = {key for key, each in state.partitions.items() if each.leader == broker}
    given = (each for each in records if isinstance(each, PartitionState) and each.key in led)
    for each in given:
        where = f"{each.topic_id}/{each.partition}"
        yield finding(f"{what} still led {where}", evidence=[each], by=[LEDGER])
        return
