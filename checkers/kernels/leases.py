"""A broker serves clients only under a lease (D.10's unlogged part; KIP-631, fencing).

A `serve` event is written just after the answer was decided on, and a process may be stopped in
between. So an answer counts as given after the lease's end only where something shows that the
process began on it later: a client operation that was invoked after the lease's end, or an
earlier `serve` of the same process that is itself later than the lease's end. Other events may
be another thread's: they show it where they are earlier by more than a thread can lag.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from checkers.kernels.decisions import succeeded
from checkers.kernels.evidence import Evidence, NodeEvent, Operation, finding, incarnations
from framework.plugins.checker import Finding

EXEMPT: Final = frozenset({"DescribeNode", "ApiVersions"})
"""They tell of the process, not of the cluster."""
OF_TOPICS: Final = frozenset({"Produce", "Fetch", "ListOffsets", "OffsetForLeaderEpoch"})
UNKNOWN_TOPIC: Final = 3
"""UNKNOWN_TOPIC_OR_PARTITION."""
THREADS_LAG_NS: Final = 250_000_000
"""A process that runs lets each of its threads run within this time; see `stall`."""
ROUNDING_NS: Final = 2_000_000
"""Leases are kept in whole ms."""
_OPERATIONS: Final = {"Metadata": "metadata", "CreateTopics": "create", "DeleteTopics": "delete"}


@dataclass(slots=True)
class Lease:
    """When it ends, ns since the run began; the event that granted it; when the process was
    first seen to run after the end, and whether to serve (None, False: never)."""

    end_ns: int
    event: NodeEvent
    ran_ns: int | None = None
    served: bool = False

    def saw(self, event: NodeEvent) -> None:
        if event.time_ns > self.end_ns + ROUNDING_NS:
            self.served |= event.type == "serve"
            self.ran_ns = event.time_ns if self.ran_ns is None else self.ran_ns

    def was_over(self, serve: NodeEvent) -> bool:
        """Whether the process began on this answer after the end, by its earlier events."""
        return self.served or (
            self.ran_ns is not None and serve.time_ns - self.ran_ns > THREADS_LAG_NS
        )


def served_without_lease(evidence: Evidence) -> tuple[int, list[Finding]]:
    """How many successes were judged, and those that no lease covers. None are where the plan
    does not tie the nodes' clock, in which leases end, to the run's."""
    zero = evidence.plan.get("time_zero_ns")
    if zero is None:
        return 0, []
    asked = by_node(evidence.operations)
    judged, findings = 0, []
    for node, lives in incarnations(evidence.events).items():
        for life in lives:
            lease: Lease | None = None
            for event in life:
                if event.type == "lease":
                    lease = Lease(event.fields["end_ns"] - zero, event)
                elif event.type == "serve" and is_success(event):
                    judged += 1
                    findings += _judge(event, lease, asked.get(node, []))
                if lease is not None:
                    lease.saw(event)
    return judged, findings


def is_success(serve: NodeEvent) -> bool:
    """Of several topics, one is enough. That a topic is unknown is, to Metadata, an answer from
    the image as well. A request for the data of no topic has nothing that could be refused."""
    api, codes = serve.fields["api"], [serve.fields["code"], *serve.fields.get("codes", ())]
    about = serve.fields.get("topic") or serve.fields.get("topic_id")
    if api in EXEMPT or (api in OF_TOPICS and not about):
        return False
    return succeeded(serve) or (api == "Metadata" and UNKNOWN_TOPIC in codes)


def _judge(serve: NodeEvent, lease: Lease | None, operations: list[Operation]) -> list[Finding]:
    if lease is None:
        return [_never_leased(serve, operations)]
    if serve.time_ns <= lease.end_ns + ROUNDING_NS:
        return []
    beside = under_way(serve, operations)
    after = [each for each in beside if (each.invoked_ns or 0) > lease.end_ns + ROUNDING_NS]
    if not after and not lease.was_over(serve):
        return []
    late_ms = (serve.time_ns - lease.end_ns) / 1e6
    named = after or beside
    who = ", ".join(str(each.index) for each in named) or "none recorded"
    return [
        finding(
            f"{serve.node} served {serve.fields['api']} {late_ms:.1f} ms after its lease had "
            f"ended (operations: {who})",
            named,
            [lease.event, serve],
        )
    ]


def _never_leased(serve: NodeEvent, operations: list[Operation]) -> Finding:
    named = under_way(serve, operations)
    who = ", ".join(str(each.index) for each in named) or "none recorded"
    return finding(
        f"{serve.node} served {serve.fields['api']} before it was granted any lease "
        f"(operations: {who})",
        named,
        [serve],
    )


def by_node(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.node is not None and operation.completed_ns is not None:
            found[operation.node].append(operation)
    for group in found.values():
        group.sort(key=lambda each: each.completed_ns or 0)
    return found


def under_way(serve: NodeEvent, operations: list[Operation]) -> list[Operation]:
    """Client operations on that node that had this answer: those that were under way at that
    moment and ended well, else the last one whose client had given it up before."""
    f, topic = _OPERATIONS.get(serve.fields["api"]), serve.fields.get("topic")
    asked = [
        each
        for each in operations
        if each.f == f and topic in (None, each.key) and (each.invoked_ns or 0) <= serve.time_ns
    ]
    ended = bisect_left(asked, serve.time_ns, key=lambda each: each.completed_ns or 0)
    answered = [each for each in asked[ended:] if each.ok]
    given_up = [each for each in asked[:ended] if not each.ok]
    return answered or given_up[-1:]
