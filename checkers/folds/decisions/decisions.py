"""What controllers accepted, against what they had applied (D.10, logged part; no clocks).

A controller that accepts a request must not have applied, before it decided, a record with a
newer generation than the request carries; nor may such a record stand below the records that
it appended for the request, once those are committed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from framework.checking.findings import finding, named
from framework.evidence.changes import BrokerRegistered, Change, PartitionState
from framework.evidence.clocks import Moment, moment_of, surely_before
from framework.evidence.kinds import Evidence
from framework.evidence.requests import Decided, IsrDecided
from framework.evidence.run_events import RunEvents, incarnations
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

Kind: TypeAlias = tuple[str, object]
"""Which counter: ("broker epoch", broker id), ("leader epoch", (topic id, partition)),
("version", the same)."""
Decision: TypeAlias = Decided | IsrDecided
Applied: TypeAlias = Mapping[int, Change]
"""Offset -> the committed record there."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A decision, and the record that made what it rests on stale."""

    decision: Decision
    kind: Kind
    carried: int
    newest: int
    by: Change


def decided_on_stale(events: RunEvents) -> tuple[int, list[Finding]]:
    """How many acceptances were judged, and those that rest on something stale."""
    log: dict[int, Change] = {}
    for change in events.of(Change):
        log.setdefault(change.offset, change)
    reported: list[Decision] = [*events.of(Decided), *events.of(IsrDecided)]
    decisions = [each for each in reported if _rests(each, log)]
    found: dict[tuple[str, int], Stale] = {}
    for lives in incarnations(events.of(Change, Decided, IsrDecided)).values():
        for life in lives:
            for stale in _applied_before(life, log):
                found.setdefault((stale.decision.incarnation, stale.decision.seq), stale)
    for stale in _below_records(decisions, log):
        found.setdefault((stale.decision.incarnation, stale.decision.seq), stale)
    judged = {(each.incarnation, each.seq) for each in decisions}
    return len(judged), [_finding(stale, events.operations) for stale in found.values()]


def _rests(decision: Decision, log: Applied) -> bool:
    return any(True for _ in _carried(decision, log))


def _carried(decision: Decision, log: Applied) -> Iterator[tuple[Kind, int]]:
    """The generations on which what was accepted rests. A newcomer carries no broker epoch."""
    if isinstance(decision, Decided):
        if decision.accepted and None not in (decision.broker_id, decision.broker_epoch):
            yield ("broker epoch", decision.broker_id), decision.broker_epoch or 0
    elif decision.accepted or (decision.accepted is None and _made_by(decision, log)):
        yield ("leader epoch", decision.key), decision.leader_epoch
        yield ("version", decision.key), decision.partition_epoch


def _made_by(decision: IsrDecided, log: Applied) -> bool:
    """Whether a committed record shows that the change was accepted."""
    held = (log[offset] for offset in decision.records if offset in log)
    return any(
        isinstance(each, PartitionState)
        and each.epoch == decision.epoch
        and each.key == decision.key
        for each in held
    )


def begun_by(change: Change) -> Iterator[tuple[Kind, int]]:
    """The generations that a committed record begins."""
    if isinstance(change, BrokerRegistered):
        yield ("broker epoch", change.broker_id), change.broker_epoch
    elif isinstance(change, PartitionState):
        yield ("leader epoch", change.key), change.leader_epoch
        yield ("version", change.key), change.partition_epoch


class Newest:
    """The greatest generation of each kind among the records given so far."""

    def __init__(self) -> None:
        self._best: dict[Kind, tuple[int, Change]] = {}

    def add(self, change: Change) -> None:
        for kind, value in begun_by(change):
            if kind not in self._best or value > self._best[kind][0]:
                self._best[kind] = (value, change)

    def outdating(self, decision: Decision, log: Applied) -> Iterator[Stale]:
        for kind, carried in _carried(decision, log):
            if kind not in self._best:
                continue
            value, by = self._best[kind]
            # What it decided on ends at `as_of`: its own record may be applied already.
            if carried < value and by.offset < decision.as_of:
                yield Stale(decision, kind, carried, value, by)


def name_of(kind: Kind) -> str:
    """Whose counter it is."""
    if isinstance(kind[1], tuple):
        return "partition " + "/".join(map(str, kind[1]))
    return f"broker {kind[1]}"


def _applied_before(life: Iterable[Evidence], log: Applied) -> Iterator[Stale]:
    """By the order of what one incarnation did."""
    newest = Newest()
    for each in life:
        if isinstance(each, Change):
            newest.add(each)
        elif isinstance(each, Decided | IsrDecided):
            yield from newest.outdating(each, log)


def _below_records(decisions: Iterable[Decision], log: Applied) -> Iterator[Stale]:
    """By the order of the log, for decisions whose records were committed: what is committed
    below them is what their leader's log held below them."""
    at: dict[int, list[Decision]] = defaultdict(list)
    for decision in decisions:
        first = log.get(min(decision.records)) if decision.records else None
        if first is not None and first.epoch == decision.epoch:
            at[first.offset].append(decision)
    newest = Newest()
    for offset in sorted(log):
        for decision in at.get(offset, ()):
            yield from newest.outdating(decision, log)
        newest.add(log[offset])


def _finding(stale: Stale, operations: Iterable[Operation]) -> Finding:
    decision = stale.decision
    asking = [each for each in operations if may_have_asked(each, decision)]
    return finding(
        f"{decision.node} accepted {decision.api} with {stale.kind[0]} of "
        f"{name_of(stale.kind)} at {stale.carried}, which the record at offset "
        f"{stale.by.offset} had raised to {stale.newest} {named(asking)}",
        asking,
        [stale.by, decision],
    )


def may_have_asked(operation: Operation, decision: Decision) -> bool:
    """Whether this operation may have sent the request: same contents, under way then."""
    isr = isinstance(decision, IsrDecided)
    value = operation.value if isinstance(operation.value, dict) else {}
    f = "alter-isr" if isr else getattr(decision, "f", None)
    if operation.f != f or operation.invoked_ns is None:
        return False
    at, end = moment_of(decision), operation.completed_ns
    if surely_before(at, Moment(operation.invoked_ns)):
        return False
    if end is not None and operation.type != "info" and surely_before(Moment(end), at):
        return False
    names = ["broker_id", "broker_epoch"]
    if isr:
        names += ["leader_epoch", "partition_epoch", "partition"]
    carried = {name: getattr(decision, name) for name in names}
    return all(
        value.get(name) == known
        for name, known in carried.items()
        if known is not None and name in value
    )
