"""Brokers that clients drained and that are gone, by what clients and observers are shown then.

No node is believed: a broker that was let go had handed over all that it led, and every active
broker had read that before it went. So an answer of one that is asked afterwards names it as no
leader, until it is started again. In peace no other reason is known for which a process ends soon
after it was asked to: one that is not let go waits for its controller.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.observations import with_observations
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

LIFE_CYCLES: Final = ("start", "restart", "bounce", "replace", "drain")
"""Operations on a broker's process, by its key."""
READS: Final = ("describe", "metadata")
SOON_NS: Final = 3_000_000_000
"""A process of which nobody tells why it ended was let go if it ended within this time."""

Peace = Callable[[int, int], bool]
"""Whether no fault held between two times, nor may have had an effect yet."""


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
            broker = drain.result.get("broker_id") if isinstance(drain.result, dict) else None
            if broker is not None and _was_let_go(drain, before):
                back = own[place + 1] if place + 1 < len(own) else None
                yield Departure(broker, drain, back)


def _was_let_go(operation: Operation, before: Operation | None) -> bool:
    """`before`: the operation on it before. A process that did not serve yet has nothing to hand
    over, and leaves without asking anybody."""
    if operation.f != "drain" or not operation.ok or operation.completed_ns is None:
        return False
    granted = operation.result.get("granted")
    served = before is not None and before.ok and before.precedes(operation)
    soon = operation.completed_ns - operation.began_ns < SOON_NS
    return bool(granted) or (granted is None and served and soon)


def shown_after(events: RunEvents, in_peace: Peace, clause: str) -> tuple[int, list[Finding]]:
    """How many answers were asked for while a broker was gone that has a replica of what they show;
    and of each departure the first that shows it as a leader."""
    gone = list(departures(events.operations))
    reads = [each for each in with_observations(events).operations if _is_a_brokers(each, events)]
    compared, findings = 0, []
    for departure in gone:
        after = [each for each in reads if departure.is_gone(each)]
        calm = [
            each
            for each in after
            if in_peace(departure.drain.began_ns, each.completed_ns or each.began_ns)
        ]
        compared += sum(_names(each, "replicas", departure.broker) for each in calm)
        wrong = [each for each in calm if _names(each, "leader", departure.broker)]
        if wrong:
            findings.append(_leads(departure, wrong, clause))
    return compared, findings


def _is_a_brokers(operation: Operation, events: RunEvents) -> bool:
    """Whether it is an answer of a node that is a broker, as far as the plan says."""
    node = (events.plan.get("nodes") or {}).get(operation.node) or {}
    answered = operation.f in READS and operation.ok and isinstance(operation.result, dict)
    return answered and "broker" in (node.get("roles") or ("broker",))


def _names(answer: Operation, what: str, broker: int) -> bool:
    """As the leader, or among the replicas, of a partition."""
    shown = (each.get(what) for each in answer.result.get("partitions") or ())
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
