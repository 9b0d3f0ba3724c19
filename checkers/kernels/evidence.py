"""What kernels look at: operations, node events, marks, injections - plain values.

Kernels order operations by the indices of their events, which are one total order; clocks
are used only where an operation meets a node event. A pending operation is an info.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from framework.checking.keyed import Outcome, judged
from framework.history.event import Json
from framework.history.pairing import Operation as Operation
from framework.plugins.checker import Finding
from framework.verdict import Verdict

MAX_FINDINGS: Final = 25
"""Findings kept for one key; the rest are counted in the figure `findings`."""

READ_FS: Final = frozenset({"describe", "metadata"})

ONE_CLOCK: Final = frozenset({"docker", "namespaces", "auto"})
"""Hosts whose nodes and harness share the machine's monotonic clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """A line of events.jsonl. `time_ns` is ns since the run began."""

    node: str
    incarnation: str
    seq: int
    time_ns: int
    type: str
    fields: Mapping[str, Any]

    def as_json(self) -> dict[str, Json]:
        """As in events.jsonl, for a finding."""
        return {
            "time_ns": self.time_ns,
            "node": self.node,
            "incarnation": self.incarnation,
            "seq": self.seq,
            "type": self.type,
            **self.fields,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An event of the nemesis process."""

    index: int
    time_ns: int
    type: str
    f: str
    value: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """One injection of the fault ledger."""

    id: int
    fault: str
    shape: str = ""
    victims: Json = None
    injected_ns: int | None = None
    healed_ns: int | None = None
    bit: bool | None = None
    healed: bool | None = None
    entries: Sequence[Mapping[str, Json]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a kernel is given of one run (or of one key of it)."""

    operations: Sequence[Operation] = ()
    events: Sequence[NodeEvent] = ()
    marks: Sequence[Mark] = ()
    injections: Sequence[Injection] = ()
    plan: Mapping[str, Json] = field(default_factory=dict)
    snapshots: Sequence[Mapping[str, Json]] = ()
    """The snapshot files that the run left; see `checkers.snapshot_files`."""

    def of(self, *types: str) -> Iterator[NodeEvent]:
        return (event for event in self.events if event.type in types)


def incarnations(events: Iterable[NodeEvent]) -> dict[str, list[list[NodeEvent]]]:
    """Node -> its incarnations in the order in which they began, each in the order of `seq`."""
    lives: dict[tuple[str, str], list[NodeEvent]] = defaultdict(list)
    for event in events:
        lives[event.node, event.incarnation].append(event)
    for life in lives.values():
        life.sort(key=lambda event: event.seq)
    nodes: dict[str, list[list[NodeEvent]]] = defaultdict(list)
    for (node, _), life in sorted(lives.items(), key=lambda item: (item[0][0], item[1][0].time_ns)):
        nodes[node].append(life)
    return dict(nodes)


def record_of(event: NodeEvent) -> Mapping[str, Any]:
    """The record of an `apply` event."""
    record = event.fields.get("record")
    return record if isinstance(record, Mapping) else event.fields


def node_ids(evidence: Evidence) -> dict[str, int]:
    """Node -> its id in the quorum, from its boots, else from the plan."""
    ids: dict[str, int] = {}
    for node, spec in (evidence.plan.get("nodes") or {}).items():
        named = spec.get("ids") or {}
        chosen = named.get("controller", named.get("broker"))
        if chosen is not None:
            ids[node] = int(chosen)
    for event in evidence.of("boot"):
        if event.fields.get("replica_id") is not None:
            ids[event.node] = int(event.fields["replica_id"])
    return ids


def one_clock(plan: Mapping[str, Json]) -> bool:
    """Whether times of different nodes, and of operations, may be compared."""
    return plan.get("hosts", "auto") in ONE_CLOCK


def mark_ns(marks: Iterable[Mark], phase: str) -> int | None:
    """When a phase began; None: it never did."""
    times = [mark.time_ns for mark in marks if mark.f == "phase" and mark.value == phase]
    return min(times, default=None)


def settled(marks: Iterable[Mark]) -> bool | None:
    """Whether the cluster was seen to agree after the faults; None: nobody looked."""
    answers = [
        bool(mark.value["settled"])
        for mark in marks
        if mark.f == "settle" and isinstance(mark.value, Mapping) and "settled" in mark.value
    ]
    return answers[-1] if answers else None


def unhealed(injections: Iterable[Injection]) -> list[Injection]:
    """Injections that are not known to be over."""
    return [each for each in injections if each.healed is not True]


def concluded(
    seen: int,
    findings: Sequence[Finding],
    figures: Mapping[str, float] | None = None,
    *,
    part: bool = False,
) -> Outcome:
    """`judged`, with the findings in a fixed order - those that name operations first - and no
    more of them than a reader can use. `part`: of one key of many, which may well show nothing:
    a run is UNKNOWN where no key of it does."""
    ordered = sorted(
        findings,
        key=lambda each: (not each.operations, list(each.operations)[:1], each.message),
    )
    numbers = dict(figures or {})
    if len(ordered) > MAX_FINDINGS:
        numbers["findings"] = len(ordered)
    if part and not seen and not ordered:
        return Outcome(verdict=Verdict.VALID, seen=0, figures=numbers)
    return judged(seen, ordered[:MAX_FINDINGS], numbers)


def finding(
    message: str, operations: Iterable[Operation] = (), events: Iterable[NodeEvent] = ()
) -> Finding:
    """A finding with its witnesses."""
    return Finding(
        message=message,
        operations=tuple(sorted({each.index for each in operations})),
        events=tuple(event.as_json() for event in events),
    )


def loads(text: str | None) -> Json:
    return None if text is None else json.loads(text)
