"""When a system owed its clients service, by what the harness knows alone: in peace, and under
faults that leave most of it alone; not where the machine starved it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from framework.evidence.machine import Machine
from framework.evidence.run_events import (
    FaultRecord,
    RunEvents,
    settle_marks,
    settled,
    unhealed,
)
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.capabilities import VOTER_CHANGES
from framework.plugins.observer import OBSERVE_S
from framework.plugins.system import RECOVERY_S

FOREVER_NS: Final = 1 << 62
LAPSE_NS: Final = 3_000_000_000
"""A machine that gives less than a third of a time that is so long may cost brokers their leases,
and leaders those that follow them."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which no fault began or ended. `calm`: none held; else a majority of those who
    vote, and of each role, was left alone and connected. `left`: who was."""

    begin_ns: int
    end_ns: int
    calm: bool
    left: frozenset[str] = frozenset()


def held_ns(fault: FaultRecord) -> tuple[int, int]:
    """From when till when it may hold; `FOREVER_NS`: nothing says that it does not still."""
    return fault.since_ns, FOREVER_NS if fault.over_ns is None else fault.over_ns


def owed_in(events: RunEvents, faults: Sequence[FaultRecord] | None = None) -> list[Stretch]:
    """`owed` in a run, under these of its faults; None: under all."""
    nodes: Mapping[str, Mapping[str, Recorded]] = events.plan.get("nodes") or {}
    away = int(VOTER_CHANGES in (events.plan.get("provides") or ()))
    return owed(events.faults if faults is None else faults, nodes, away)


def owed(
    faults: Sequence[FaultRecord], nodes: Mapping[str, Mapping[str, Recorded]], away: int = 0
) -> list[Stretch]:
    """The stretches in which service was owed, in order, from the run's begin on; the last one has
    no end. `nodes`: of the plan. Of several faults at a time each takes away what it does not
    spare. `away`: so many of the plan's voters clients may have removed at any time, whoever they
    are."""
    held = [held_ns(each) for each in faults]
    moments = sorted({0, FOREVER_NS, *(moment for pair in held for moment in pair)})
    found = []
    for begin, end in pairwise(moments):
        active = [
            fault
            for fault, (since, over) in zip(faults, held, strict=True)
            if since <= begin and end <= over
        ]
        left = set(nodes).intersection(*(fault.spared(nodes) for fault in active))
        if not active or _most(left, nodes, away):
            found.append(Stretch(begin, end, not active, frozenset(left)))
    return found


@dataclass(frozen=True, slots=True)
class Quiet:
    """No fault holds, and at `since_ns` the system has recovered from those before. `settled`: it
    was seen to, then."""

    since_ns: int
    end_ns: int
    settled: bool = False

    def holds(self, operation: Operation) -> bool:
        """All of it lies where what is owed is owed."""
        asked_ns = operation.invoked_ns or 0
        return self.since_ns <= asked_ns and (operation.completed_ns or asked_ns) <= self.end_ns


def quiet_times(events: RunEvents) -> Sequence[Quiet]:
    """A run begins with a cluster that has settled."""
    marks = settle_marks(events.nemesis)
    seen = settled(events.nemesis) is True and not unhealed(events.faults)
    mark_ns = marks[-1].time_ns if seen else FOREVER_NS
    machine, needed_ns = events.machines.cluster, recovery_ns(events.plan)
    found = []
    for each in owed_in(events):
        if each.calm:
            since_ns = machine.until_ns(each.begin_ns, needed_ns) if each.begin_ns else 0
            found.append(Quiet(since_ns, min(mark_ns, each.end_ns)))
            if each.begin_ns <= mark_ns < each.end_ns:
                found.append(Quiet(mark_ns, each.end_ns, settled=True))
    return [each for each in found if each.since_ns < each.end_ns]


def recovery_ns(plan: Mapping[str, Recorded]) -> int:
    """How long what is owed may fail, by what the system says of itself."""
    return round(_said_s(plan, "recovery_s", RECOVERY_S) * 1e9)


def fencing_ns(plan: Mapping[str, Recorded]) -> int:
    """How long a node of which the others hear nothing may be taken for one that works. Older plans
    do not say: then as long as anything may take."""
    return round(_said_s(plan, "fencing_s", recovery_ns(plan) / 1e9) * 1e9)


def observe_ns(plan: Mapping[str, Recorded]) -> int:
    """How often each node is asked what it would tell anybody."""
    options = plan.get("options")
    asked = options if isinstance(options, Mapping) else {}
    return round(_said_s(asked, "observe_s", OBSERVE_S) * 1e9)


def _said_s(plan: Mapping[str, Recorded], name: str, otherwise: float) -> float:
    said = plan.get(name)
    return said if isinstance(said, int | float) and said > 0 else otherwise


def missed_by_ns(events: RunEvents, nodes: Iterable[str], since_ns: int) -> int:
    """The moment by which these nodes, of which most have been left alone since then, miss those
    who are gone: if a fault ended shortly before, they may first have had to get over that."""
    plan, machine = events.plan, events.machines.among(*nodes)
    ended = [
        each.over_ns
        for each in events.faults
        if each.over_ns is not None and each.over_ns <= since_ns
    ]
    recovered_ns = machine.until_ns(max(ended), recovery_ns(plan)) if ended else 0
    return max(machine.until_ns(since_ns, fencing_ns(plan)), recovered_ns)


@dataclass(frozen=True, slots=True)
class Upset:
    """What the machine may have done to a system that had settled. `recovery_ns`: within what time
    it gets over that."""

    machine: Machine
    recovery_ns: int

    @classmethod
    def of(cls, events: RunEvents) -> "Upset":
        nodes = events.plan.get("nodes") or {}
        return cls(events.machines.of_node(*nodes), recovery_ns(events.plan))

    def at(self, at_ns: int) -> bool:
        """Whether it need not have got over it at that moment."""
        since_ns = self.machine.since_ns(at_ns, self.recovery_ns)
        return self.machine.least_ns(since_ns, at_ns, LAPSE_NS) < LAPSE_NS // 3


def _most(left: set[str], nodes: Mapping[str, Mapping[str, Recorded]], away: int) -> bool:
    """Whether these are more than half of the nodes with each role, and of the voters, also where
    so many of them are `away`."""
    voters = {name for name, node in nodes.items() if node.get("votes")} or set(nodes)
    if 2 * (len(voters & left) - away) <= len(voters) - away:
        return False
    groups = []
    for role in _roles(nodes.values()):
        groups.append({name for name, node in nodes.items() if role in (node.get("roles") or ())})
    return all(2 * len(group & left) > len(group) for group in groups)


def _roles(nodes: Iterable[Mapping[str, Recorded]]) -> set[str]:
    return {str(role) for node in nodes for role in node.get("roles") or ()}
