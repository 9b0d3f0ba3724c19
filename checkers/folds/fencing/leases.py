"""A broker serves clients only under a lease (D.10's unlogged part; KIP-631, fencing).

That a broker served is told just after the answer was decided on, and a process may be stopped in
between. So an answer counts as given after the lease's end only where something shows that the
process began on it later: a client operation that was invoked after the lease's end, or an
earlier answer of the same process that is itself later than the lease's end. What else the process
did may be another thread's: it shows it where it is earlier by more than a thread can lag.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from framework.checking.findings import finding, named
from framework.evidence.brokers import LeaseGranted
from framework.evidence.clocks import (
    UNKNOWN_NS,
    Moment,
    latest_ns,
    moment_of,
    surely_before,
    surely_not_after,
)
from framework.evidence.kinds import Evidence
from framework.evidence.machine import Machine
from framework.evidence.processes import Stalled
from framework.evidence.relations import PROCESS, relation
from framework.evidence.requests import Served
from framework.evidence.run_events import RunEvents, incarnations
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

THREADS_LAG_NS: Final = 250_000_000
"""A process that runs lets each of its threads run within this time, or says that it stalled."""
FS: Final = ("metadata", "create", "delete", "produce", "fetch", "list-offsets")
"""Operations that a client sends to a broker."""
ASKED_ONCE: Final = ("metadata", "create", "delete")
"""Those of them that are one request. The others ask again until they are answered well, so an
answer that one of them had need not be the one that was under way at a moment."""


@dataclass(slots=True)
class Lease:
    """The grant; when the process was first seen to run after its end, and whether to serve (None,
    False: never)."""

    grant: LeaseGranted
    ran_ns: int | None = None
    served: bool = False

    @property
    def end_ns(self) -> int:
        return self.grant.end_ns

    def saw(self, each: Evidence) -> None:
        if each.at_ns > self.end_ns + self.grant.rounded_ns:
            self.served |= isinstance(each, Served)
            self.ran_ns = each.at_ns if self.ran_ns is None else self.ran_ns

    def was_over(self, served: Served, life: Iterable[Evidence], machine: Machine) -> bool:
        """Whether the process, of which all this is known, began on this answer after the end, by
        what it did before."""
        ran_ns, at_ns = self.ran_ns, served.at_ns
        return self.served or (
            ran_ns is not None and machine.gave_ns(ran_ns, at_ns) > lag_ns(life, ran_ns, at_ns)
        )


def lag_ns(life: Iterable[Evidence], begin_ns: int, end_ns: int) -> int:
    """For how long a thread of a process may not have got to say what it had done, in a time: also
    for as long as any part of it stood still then, as on a machine that has no time."""
    stalls = [each for each in life if isinstance(each, Stalled)]
    return THREADS_LAG_NS + sum(
        max(0, min(each.at_ns, end_ns) - max(each.at_ns - each.lasted_ns, begin_ns))
        for each in stalls
    )


def served_without_lease(events: RunEvents) -> tuple[int, list[Finding]]:
    """How many successes were judged, and those that no lease covers."""
    asked = by_node(events.operations)
    served = relation(events.of(Served), *PROCESS, "seq", "at_ns", "success").where(success=True)
    leases = relation(events.of(LeaseGranted), *PROCESS, "seq", "end_ns", "rounded_ns")
    lease = served.as_of(leases, per=PROCESS, on="seq")
    over_ns = np.append(leases["end_ns"] + leases["rounded_ns"], -UNKNOWN_NS)  # never: of `NONE`
    late = served.take(np.flatnonzero(served["at_ns"] > over_ns[lease]))
    processes = {(each.node, each.incarnation) for each in late.objects(late.first(*PROCESS))}
    findings = []
    for node, lives in incarnations(events.evidence).items() if processes else ():
        for life in lives:
            if (node, life[0].incarnation) in processes:
                machine = events.machines.of_node(node)
                findings += _without_lease(life, asked.get(node, []), machine)
    return len(served), findings


def _without_lease(
    life: Sequence[Evidence], operations: list[Operation], machine: Machine
) -> list[Finding]:
    """Of a process."""
    findings: list[Finding] = []
    lease: Lease | None = None
    for each in life:
        if isinstance(each, LeaseGranted):
            lease = Lease(each)
        elif isinstance(each, Served) and each.success:
            findings += _judge(each, lease, operations, life, machine)
        if lease is not None and not isinstance(each, Stalled):
            lease.saw(each)
    return findings


def serving(events: RunEvents) -> tuple[int, int]:
    """How many of the nodes that answered clients with success tell that they served, and how many
    there are: one that keeps silent of it may have served at any time."""
    answered = {each.node for each in events.operations if each.ok and each.f in FS and each.node}
    own = set(filter(events.has, answered))
    reported = {each.node for each in events.of(Served) if each.success}
    return len(own & reported if answered else reported), len(own)


def length_of(grants: Iterable[LeaseGranted]) -> int | None:
    """How long leases of a run are, ns: the commonest length, the shorter one of equals."""
    lengths = Counter(each.end_ns - each.start_ns for each in grants)
    return min(lengths, key=lambda length: (-lengths[length], length)) if lengths else None


def _judge(
    served: Served,
    lease: Lease | None,
    operations: list[Operation],
    life: Sequence[Evidence],
    machine: Machine,
) -> list[Finding]:
    if lease is None:
        return [_never_leased(served, operations)]
    rounded_ns = lease.grant.rounded_ns
    if served.at_ns <= lease.end_ns + rounded_ns:
        return []
    beside = under_way(served, operations)
    end = moment_of(lease.grant, lease.end_ns)
    after = [each for each in beside if surely_before(end, begin(each), rounded_ns)]
    if not after and not lease.was_over(served, life, machine):
        return []
    late_ms = (served.at_ns - lease.end_ns) / 1e6
    shown = after or beside
    return [
        finding(
            f"{served.node} served {served.api} {late_ms:.1f} ms after its lease had "
            f"ended {named(shown)}",
            shown,
            [lease.grant, served],
        )
    ]


def _never_leased(served: Served, operations: list[Operation]) -> Finding:
    beside = under_way(served, operations)
    return finding(
        f"{served.node} served {served.api} before it was granted any lease {named(beside)}",
        beside,
        [served],
    )


def begin(operation: Operation) -> Moment:
    """When it was invoked, by the harness's clock."""
    return Moment(operation.invoked_ns or 0)


def by_node(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Those that were completed, in the order of that."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.node is not None and operation.completed_ns is not None:
            found[operation.node].append(operation)
    for group in found.values():
        group.sort(key=ended_ns)
    return found


def ended_ns(operation: Operation) -> int:
    """When it was completed, of those that were."""
    return operation.completed_ns or 0


def under_way(served: Served, operations: list[Operation]) -> list[Operation]:
    """Client operations on that node, of one request each, that had this answer: those that were
    surely under way at that moment and ended well, else the last one whose client had given it up
    before."""
    at = moment_of(served)
    asked = [
        each
        for each in operations
        if each.f == served.f
        and each.f in ASKED_ONCE
        and served.topic in (None, each.key)
        and surely_not_after(begin(each), at)
    ]
    ended = bisect_left(asked, latest_ns(served), key=ended_ns)
    answered = [each for each in asked[ended:] if each.ok]
    given_up = [each for each in asked[:ended] if not each.ok]
    return answered or given_up[-1:]
