"""Brokers that leave, by what clients see of it: produces that are refused while one is let go, and
answers that show it as a leader once it has gone.

Of the latter no node is believed: a broker that was let go had handed over all that it led, and
every active broker had read that before it went. So an answer of one that is asked afterwards names
it as no leader, until it is started again. In peace no other reason is known for which a process
ends soon after it was asked to: one that is not let go waits for its controller.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from checkers.folds.history.observations import with_observations
from checkers.folds.history.peace import recovery_ns
from checkers.folds.history.roles import may_be_broker
from checkers.folds.history.values import drained, partitions_shown
from framework.checking.findings import finding
from framework.evidence.brokers import HeartbeatAnswered
from framework.evidence.clocks import Moment
from framework.evidence.kinds import Evidence
from framework.evidence.machine import Machine
from framework.evidence.run_events import RunEvents, settle_marks, settled, unhealed
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import Finding

LIFE_CYCLES: Final = ("start", "restart", "bounce", "replace", "drain", "kill")
"""Operations on a broker's process, by its key."""
READS: Final = ("describe", "metadata")
SOON_NS: Final = 3_000_000_000
"""A process of which nobody tells why it ended was let go if it ended within this time."""

# --- that are gone ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Departure:
    """A broker's process has gone. `back`: the operation that may have begun the next one."""

    broker: int
    drain: Operation
    back: Operation | None

    def is_gone(self, answer: Operation) -> bool:
        """All the time from which the answer may be."""
        return self.drain.precedes(answer) and (
            self.back is None or (answer.end is not None and answer.end < self.back.index)
        )


def departures(operations: Iterable[Operation]) -> Iterator[Departure]:
    """Those that were let go, by what their clients saw."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if each.f in LIFE_CYCLES:
            by_key[str(each.key)].append(each)
    for own in by_key.values():
        for place, drain in enumerate(own):
            before = own[place - 1] if place else None
            broker = drained(drain).get("broker_id") if isinstance(drain.result, dict) else None
            if broker is not None and _was_let_go(drain, before):
                back = own[place + 1] if place + 1 < len(own) else None
                yield Departure(broker, drain, back)


def _was_let_go(operation: Operation, before: Operation | None) -> bool:
    """`before`: the operation on it before. A process that did not serve yet has nothing to hand
    over, and leaves without asking anybody."""
    if operation.f != "drain" or not operation.ok or operation.completed_ns is None:
        return False
    granted = drained(operation).get("granted")
    served = before is not None and before.ok and before.precedes(operation)
    soon = operation.completed_ns - operation.began_ns < SOON_NS
    return bool(granted) or (granted is None and served and soon)


def shown_after(events: RunEvents, clause: str) -> tuple[int, list[Finding]]:
    """How many answers were asked for while a broker was gone that has a replica of what they show;
    and of each departure the first that shows it as a leader."""
    gone, machine = list(departures(events.operations)), events.machines.cluster
    reads = [each for each in with_observations(events).operations if _is_a_brokers(each, events)]
    compared, findings = 0, []
    for departure in gone:
        after = [each for each in reads if departure.is_gone(each)]
        calm = [each for each in after if _in_peace(events, machine, departure.drain, each)]
        compared += sum(_names(each, "replicas", departure.broker) for each in calm)
        wrong = [each for each in calm if _names(each, "leader", departure.broker)]
        if wrong:
            findings.append(_leads(departure, wrong, clause))
    return compared, findings


def _in_peace(events: RunEvents, machine: Machine, drain: Operation, answer: Operation) -> bool:
    """Whether no fault held, nor may have had an effect yet: it has none once the cluster was seen
    to settle."""
    if drain.phase == FINAL and settled(events.nemesis):
        return True
    ended_ns = answer.completed_ns or answer.began_ns
    return not disturbed(events, machine, drain.began_ns, ended_ns)


def _is_a_brokers(operation: Operation, events: RunEvents) -> bool:
    """Whether it is an answer of a node that is a broker, as far as the plan says."""
    answered = operation.f in READS and operation.ok and isinstance(operation.result, dict)
    return answered and may_be_broker(events.plan, operation.node)


def _names(answer: Operation, what: str, broker: int) -> bool:
    """As the leader, or among the replicas, of a partition."""
    shown = (each.get(what) for each in partitions_shown(answer))
    return any(broker in each if isinstance(each, list) else broker == each for each in shown)


def _leads(departure: Departure, answers: Sequence[Operation], clause: str) -> Finding:
    first, drain = answers[0], departure.drain
    return finding(
        f"broker {departure.broker} was let go, and gone by operation {drain.index}; asked after "
        f"that, {first.node} shows it as a leader of {first.key} (operation {first.index}), and so "
        f"do {len(answers) - 1} more answers",
        [drain, *answers[:5]],
        clause=clause,
    )


# --- that are let go ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grant:
    """`begin`: when the broker first asked. A synthetic broker's is an operation, another's the
    answer to its heartbeat."""

    broker: int
    epoch: int
    begin: Moment
    granted: Moment
    name: str
    answer: HeartbeatAnswered | None = None
    operation: Operation | None = None

    def witnesses(self) -> tuple[list[Operation], list[Evidence]]:
        operations = [self.operation] if self.operation is not None else []
        return operations, [self.answer] if self.answer is not None else []


class Bounds(Protocol):
    """`outage`: for how long, in s, a partition may refuse what is produced to it; `share`: how
    much of all that, at most. `afterwards`: for how long after a grant, in s."""

    @property
    def outage(self) -> float: ...
    @property
    def share(self) -> float: ...
    @property
    def afterwards(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Outage:
    """The longest time in which all of a partition's produces were refused."""

    operations: Sequence[Operation] = ()

    @property
    def span_ns(self) -> tuple[int, int]:
        """From when to when."""
        if not self.operations:
            return 0, 0
        return self.operations[0].began_ns, self.operations[-1].completed_ns or 0

    @property
    def lasted_ns(self) -> int:
        begin_ns, end_ns = self.span_ns
        return end_ns - begin_ns


def shown_by_drains(operations: Iterable[Operation], grants: Iterable[Grant]) -> Iterator[Grant]:
    """Those that were let go by what their clients saw, and of which no grant is known: they were
    from the client's question to its end."""
    known = list(grants)
    for departure in departures(operations):
        drain, end_ns = departure.drain, departure.drain.completed_ns or 0
        if not any(
            each.broker == departure.broker and drain.began_ns <= each.granted.at_ns <= end_ns
            for each in known
        ):
            begin, end = Moment(drain.began_ns), Moment(end_ns)
            yield Grant(departure.broker, -1, begin, end, str(drain.key), operation=drain)


def refused_beside(
    grants: Iterable[Grant], events: RunEvents, bounds: Bounds, clause: str
) -> tuple[int, int, list[Finding]]:
    """Produces, while a broker went in peace, to partitions that another replica could take over,
    how many of them were refused, and the partitions that refused most of theirs for too long."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for operation in events.operations:
        if operation.f == "produce" and _has_ended(operation):
            by_key[str(operation.key)].append(operation)
    machine, heirs = events.machines.cluster, Heirs.of(events)
    tried, refused, findings = 0, 0, []
    for grant in grants:
        begin = grant.begin.latest_ns
        end = grant.granted.earliest_ns + round(bounds.afterwards * 1e9)
        if not _calm(events, machine, begin, end):
            continue
        for key, operations in sorted(by_key.items()):
            within = _within(operations, begin, heirs.until_ns(key, grant.broker, begin, end))
            failed = [each for each in within if not each.ok]
            tried += len(within)
            refused += len(failed)
            outage = _longest(within)
            most = len(failed) >= bounds.share * len(within)
            if most and machine.gave_ns(*outage.span_ns) >= bounds.outage * 1e9:
                findings.append(_refused(grant, key, outage, len(failed), len(within), clause))
    return tried, refused, findings


def _calm(events: RunEvents, machine: Machine, begin_ns: int, end_ns: int) -> bool:
    """No fault was about; none is any more once the cluster was seen to settle."""
    marks = settle_marks(events.nemesis)
    over = settled(events.nemesis) is True and not unhealed(events.faults)
    if over and marks[-1].time_ns <= begin_ns:
        return True
    return not disturbed(events, machine, begin_ns, end_ns)


@dataclass(frozen=True, slots=True)
class Shown:
    """What an answer shows of a partition."""

    answer: Operation
    replicas: frozenset[int]
    isr: frozenset[int]


@dataclass(frozen=True, slots=True)
class Heirs:
    """Who could take a partition over from its leader, by what clients and observers were shown of
    it and by what clients did to brokers' processes."""

    shown: Mapping[str, Sequence[Shown]]
    handled: Mapping[str, Sequence[Operation]]
    """The key of a broker's process -> what was done to it."""

    @classmethod
    def of(cls, events: RunEvents) -> "Heirs":
        shown: dict[str, list[Shown]] = defaultdict(list)
        for answer in with_observations(events).operations:
            if answer.f in READS and answer.ok and isinstance(answer.result, dict):
                for partition in partitions_shown(answer):
                    replicas, isr = partition.get("replicas") or (), partition.get("isr") or ()
                    key = f"{answer.key}/{partition.get('partition')}"
                    shown[key].append(Shown(answer, frozenset(replicas), frozenset(isr)))
        handled: dict[str, list[Operation]] = defaultdict(list)
        for each in events.operations:
            if each.f in LIFE_CYCLES:
                handled[str(each.key)].append(each)
        return cls(shown, handled)

    def until_ns(self, key: str, broker: int, begin_ns: int, end_ns: int) -> int:
        """Till when, at most `end_ns`, one could from a broker that began to leave; `begin_ns`:
        nobody is known who could. A client that does something to the process of another replica
        may be why there is none."""
        before = [each for each in self.shown.get(key, ()) if _ended_ns(each.answer) <= begin_ns]
        last = max(before, key=lambda each: _ended_ns(each.answer), default=None)
        if last is None or broker not in last.replicas or not last.isr - {broker}:
            return begin_ns
        for other in last.replicas - {broker}:
            for each in self.handled.get(f"broker-{other}", ()):
                if each.began_ns >= begin_ns:
                    end_ns = min(end_ns, each.began_ns)
                elif each.completed_ns is None or each.completed_ns > last.answer.began_ns:
                    return begin_ns
        return end_ns


def _ended_ns(operation: Operation) -> int:
    return operation.began_ns if operation.completed_ns is None else operation.completed_ns


def _refused(
    grant: Grant, key: str, outage: Outage, failed: int, tried: int, clause: str
) -> Finding:
    _, evidence = grant.witnesses()
    return finding(
        f"{failed} of {tried} produces to {key} failed while {grant.name} (broker "
        f"{grant.broker}) left, all for {outage.lasted_ns / 1e9:.1f} s",
        outage.operations,
        evidence,
        clause=clause,
    )


def _has_ended(operation: Operation) -> bool:
    """Also one that nobody answered in time: what the machine took of that is not counted."""
    return operation.invoked_ns is not None and operation.completed_ns is not None


def _longest(operations: Iterable[Operation]) -> Outage:
    """Of produces in the order in which they began."""
    longest, failed = Outage(), list[Operation]()
    for each in operations:
        failed = [] if each.ok else [*failed, each]
        longest = max(longest, Outage(tuple(failed)), key=lambda outage: outage.lasted_ns)
    return longest


def _within(operations: Sequence[Operation], begin: int, end: int) -> list[Operation]:
    ordered = sorted(operations, key=lambda each: each.began_ns)
    first = bisect_left(ordered, begin, key=lambda each: each.began_ns)
    return [each for each in ordered[first:] if (each.completed_ns or 0) <= end]


def disturbed(events: RunEvents, machine: Machine, begin: int, end: int) -> bool:
    """Whether a fault held meanwhile, or the system may still have been getting over one, by what
    the cluster was given of the machine."""
    long_ns = recovery_ns(events.plan)
    return any(
        (each.injected_ns or 0) <= end
        and (each.healed_ns is None or machine.until_ns(each.healed_ns, long_ns) >= begin)
        for each in events.faults
    )
