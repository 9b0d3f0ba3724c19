"""Brokers that administrators take off the cluster (KIP-631, where UnregisterBroker has another
name): who asked for that, what the log made of it, and who still tells of one that is gone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter
from typing import Final

from checkers.folds.cluster.departures import LIFE_CYCLES
from checkers.folds.cluster.observed import Judgement, ended_ns
from checkers.folds.history.sent_again import carried_out_once
from checkers.folds.history.values import cluster_view
from checkers.folds.metadata_log.committed_log import CommittedLog
from framework.checking.findings import finding
from framework.evidence.changes import BrokerRegistered, BrokerUnregistered, Change
from framework.evidence.machine import Machine
from framework.evidence.run_events import RunEvents, settled, unshown
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import EVENTS, Finding
from framework.plugins.outcomes import ABSENT

UNREGISTER: Final = "unregister"
"""Its key is `broker-<id>`, as of what is done to processes."""
LOOK: Final = "list-brokers"
UNREGISTERS: Final = (UNREGISTER, LOOK, *LIFE_CYCLES)
ENDS: Final = ("drain", "kill")
"""What leaves no process, of `LIFE_CYCLES`; the others leave one that serves."""
PATIENCE_NS: Final = 8_000_000_000
"""How long after a broker was unregistered others may still tell of it, in a cluster that has
settled."""
NOBODY_ASKED: Final = "nobody asked to unregister a broker"

# --- by the log ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Matched:
    """`compared`: records, and asks that were granted of brokers that the whole log has. `unasked`:
    records that no ask explains. `missing`: asks that were granted and have no record."""

    compared: int
    unasked: Sequence[BrokerUnregistered]
    missing: Sequence[Operation]


def matched(log: CommittedLog, asked: Iterable[Operation], *, once: bool) -> Matched:
    """Each record is of one ask for its broker that began before somebody had applied it, rather of
    one that was granted. `once`: a request has one effect, however often it was sent. Else one of
    which nobody knows what became of it may have been carried out again, after its broker had
    registered anew.

    What may have made a record may have made each that was applied later, so that the first that
    may is as good as any."""
    asks = [each for each in asked if not each.failed]
    left = sorted(asks, key=lambda ask: not ask.ok)
    compared, unasked = 0, list[BrokerUnregistered]()
    for change, by_ns in sorted(zip(log.records, log.by_ns, strict=True), key=itemgetter(1)):
        if not isinstance(change, BrokerUnregistered):
            continue
        compared += 1
        own = (each for each in left if each.key == _key(change) and each.began_ns <= by_ns)
        ask = next(own, None)
        if ask is None:
            unasked.append(change)
        elif ask.ok or once:
            left.remove(ask)
    whole = {_key(each) for each in log.records if isinstance(each, BrokerRegistered)}
    granted = [each for each in asks if each.ok and each.key in whole and log.gap is None]
    return Matched(compared + len(granted), unasked, [each for each in granted if each in left])


def _key(change: BrokerRegistered | BrokerUnregistered) -> str:
    return f"broker-{change.broker_id}"


def denied(operations: Iterable[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """What showed that a broker was registered, and an ask that was refused thereafter since it was
    not, though nobody had taken it off meanwhile, nor may have: nor that ask itself, of which the
    system has to say that nothing came of it."""
    for own in _by_key(operations).values():
        asks = [each for each in own if each.f == UNREGISTER and not each.failed]
        for refusal in own:
            if refusal.f != UNREGISTER or refusal.asserts != ABSENT:
                continue
            served = [each for each in own if _serves(each) and each.precedes(refusal)]
            others = [each for each in asks if not refusal.precedes(each)]
            if served and all(each.ok and each.precedes(served[-1]) for each in others):
                yield served[-1], refusal


def _by_key(operations: Iterable[Operation]) -> Mapping[str, list[Operation]]:
    """What was done to each broker's process, and what was asked about it."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if each.f == UNREGISTER or each.f in LIFE_CYCLES:
            found[str(each.key)].append(each)
    return found


def _serves(operation: Operation) -> bool:
    """A process of the broker did, when the operation ended."""
    return operation.ok and operation.f not in (UNREGISTER, *ENDS)


def taken_off(events: RunEvents, log: CommittedLog) -> Judgement:
    """Of records and asks."""
    asks = [each for each in events.operations if each.f == UNREGISTER]
    found = matched(log, asks, once=carried_out_once(events))
    findings = [
        *(_unasked(each, asks) for each in found.unasked),
        *(_missing(each) for each in found.missing),
        *(_lie(since, refusal) for since, refusal in denied(events.operations)),
    ]
    if not any(each.ok for each in asks):
        return "no broker was unregistered for sure" if asks else NOBODY_ASKED, findings
    return unshown(events.plan, Change) or found.compared, findings


def _unasked(change: BrokerUnregistered, asks: Iterable[Operation]) -> Finding:
    return finding(
        f"the record at offset {change.offset} unregisters broker {change.broker_id}, and nobody "
        "asked for that, or not so often",
        [each for each in asks if each.key == _key(change)],
        [change],
    )


def _missing(ask: Operation) -> Finding:
    what = f"operation {ask.index} was granted that {ask.key} is unregistered"
    return finding(f"{what}, and the log has no record of that for it", [ask], by=[EVENTS])


def _lie(since: Operation, refusal: Operation) -> Finding:
    return finding(
        f"operation {refusal.index} was refused, since {refusal.key} is not registered; it served "
        f"by operation {since.index}, and nobody has unregistered it since",
        [since, refusal],
    )


# --- who tells of it ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Away:
    """A broker was unregistered while it was down, and `back` may have begun its next process."""

    broker: int
    ask: Operation
    back: Operation | None

    def holds(self, look: Operation) -> bool:
        """All the time from which the answer may be."""
        return self.ask.precedes(look) and (self.back is None or look.precedes(self.back))


def away(operations: Iterable[Operation]) -> Iterator[Away]:
    """Each, from when that was acknowledged."""
    for key, own in _by_key(operations).items():
        for at, ask in enumerate(own):
            if ask.f != UNREGISTER or not ask.ok:
                continue
            last = next((each for each in reversed(own[:at]) if each.f != UNREGISTER), None)
            if last is not None and last.ok and last.f in ENDS and last.precedes(ask):
                later = (each for each in own[at:] if each.f not in (UNREGISTER, *ENDS))
                yield Away(int(key.removeprefix("broker-")), ask, next(later, None))


def still_told(events: RunEvents) -> Judgement:
    """How many times a broker, once asked in the final phase who is there, told no more of one that
    was away."""
    looks = [each for each in events.operations if each.f == LOOK and each.phase == FINAL]
    quiet, asked, findings = 0, 0, list[Finding]()
    for each in away(events.operations) if settled(events.nemesis) is True else ():
        by_node: dict[str | None, list[Operation]] = defaultdict(list)
        for look in looks:
            if look.ok and each.holds(look):
                by_node[look.node].append(look)
        asked += len(by_node)
        for own in by_node.values():
            last = _told_last(each, own, events.machines.cluster)
            if last is not None:
                findings.append(_told(each, last))
            elif not _tells(own[-1], each.broker):
                quiet += 1
    return quiet if asked > 1 else _no_look(events), findings


def _told_last(gone: Away, own: Sequence[Operation], machine: Machine) -> Operation | None:
    """The last of a broker's answers that tells of one that is gone though it should not: after
    one that did not, or when there was time enough."""
    telling = [each for each in own if _tells(each, gone.broker)]
    first = list(takewhile(lambda look: _tells(look, gone.broker), own))
    if not telling:
        return None
    waited_ns = machine.gave_ns(ended_ns(gone.ask), telling[-1].began_ns)
    again, long = len(telling) > len(first), waited_ns >= PATIENCE_NS
    return telling[-1] if again or long else None


def _tells(look: Operation, broker: int) -> bool:
    return any(each["id"] == broker for each in cluster_view(look)["brokers"])


def _no_look(events: RunEvents) -> str:
    if not any(each.f == UNREGISTER for each in events.operations):
        return NOBODY_ASKED
    if settled(events.nemesis) is not True:
        return "the cluster was not seen to settle"
    return "hardly a broker was asked, in the end, while another was unregistered"


def _told(gone: Away, look: Operation) -> Finding:
    return finding(
        f"{look.node} tells of broker {gone.broker} by operation {look.index}, "
        f"{(look.began_ns - ended_ns(gone.ask)) / 1e9:.1f} s after that was unregistered "
        f"by operation {gone.ask.index}",
        [gone.ask, look],
    )
