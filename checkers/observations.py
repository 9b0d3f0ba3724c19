"""From Spark's tables to kernels: the rows that a checker needs, of one shape, in one shuffle.

Operations, node events, nemesis events, injections and the plan of a run become rows of one
table, told apart by `source`; only what a checker asks for is read. In the worker, `observed`
turns a group's rows back into an `Evidence` and calls the kernel.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, ClassVar, Final

from checkers.kernels.evidence import Evidence, Injection, Mark, NodeEvent, loads
from framework.checking.keyed import Outcome, Row, keyed, keyed_together
from framework.evidence.kinds import SnapshotFile
from framework.evidence.schemas import rows_of
from framework.history.pairing import Operation
from framework.plugins.checker import DataFrame, Tables

EvidenceKernel = Callable[[Evidence], Outcome]

COLUMNS: Final[Mapping[str, str]] = {
    "run": "string",
    "source": "string",
    "number": "long",
    "end": "long",
    "f": "string",
    "type": "string",
    "key": "string",
    "value": "string",
    "result": "string",
    "error_code": "string",
    "ext": "string",
    "phase": "string",
    "process": "string",
    "node": "string",
    "incarnation": "string",
    "from_ns": "long",
    "to_ns": "long",
    "yes": "boolean",
    "no": "boolean",
}
"""What each column holds differs by source; see the functions below."""


ORDER: Final = ("source", "node", "incarnation", "number")


def operation_rows(tables: Tables, fs: Sequence[str] | None = None) -> DataFrame:
    """Client operations, of the given `f`s (None: all)."""
    rows = tables.operations
    if fs is not None:
        rows = rows.where(f"f in ({quoted(fs)})")
    renamed = {"number": "op", "from_ns": "invoked_ns", "to_ns": "completed_ns"}
    return _shaped(rows, "operation", renamed)


def event_rows(tables: Tables, types: Sequence[str]) -> DataFrame:
    """Node events of the given types; `value` holds their fields."""
    rows = tables.events.where(f"type in ({quoted(types)})")
    return _shaped(rows, "event", {"number": "seq", "from_ns": "time_ns", "value": "fields"})


def mark_rows(tables: Tables) -> DataFrame:
    return _shaped(tables.nemesis, "mark", {"number": "index", "from_ns": "time_ns"})


def injection_rows(tables: Tables) -> DataFrame:
    """Injections; `yes`: it bit, `no`: it healed, `value`: victims, `result`: its entries."""
    renamed = {
        "number": "id",
        "f": "fault",
        "type": "shape",
        "value": "victims",
        "result": "entries",
        "from_ns": "injected_ns",
        "to_ns": "healed_ns",
        "yes": "effective",
        "no": "healed",
    }
    return _shaped(tables.faults, "injection", renamed)


def plan_rows(tables: Tables) -> DataFrame:
    """One row a run, so that a run in which nothing was seen still gets an outcome."""
    plans = [(info.run, json.dumps(dict(info.plan), default=str)) for info in tables.runs]
    rows = tables.spark.createDataFrame(plans, "run string, value string")
    return _shaped(rows, "plan", {})


def snapshot_rows(tables: Tables) -> DataFrame:
    """One row a snapshot file; `value` says what is in it. Read here and now: small files."""
    found = [
        (stored.run, each.ref, json.dumps(each.as_json() | {"file": each.ref}))
        for stored in tables.stored
        if SnapshotFile.kind in stored.evidence
        for each in rows_of(SnapshotFile, stored.evidence[SnapshotFile.kind])
    ]
    rows = tables.spark.createDataFrame(found, "run string, node string, value string")
    return _shaped(rows, "snapshot", {})


def together(*parts: DataFrame) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right), parts)


def _shaped(rows: DataFrame, source: str, renamed: Mapping[str, str]) -> DataFrame:
    """One call to Spark, in SQL: a call for each column would take seconds."""
    have = set(rows.columns)

    def column(name: str, kind: str) -> str:
        origin = renamed.get(name, name)
        value = f"'{source}'" if name == "source" else f"`{origin}`" if origin in have else "null"
        return f"cast({value} as {kind}) as `{name}`"

    return rows.selectExpr(*(column(name, kind) for name, kind in COLUMNS.items()))


def quoted(names: Sequence[str]) -> str:
    """A list of SQL strings."""
    return ", ".join(f"'{name}'" for name in names) or "null"


@dataclass(frozen=True, slots=True)
class Judge:
    """A kernel that judges whole runs, and what it looks at beside the plan: types of node
    events, `f`s of operations (None: all), and whether marks, injections and snapshot files."""

    kernel: EvidenceKernel
    events: Sequence[str] = ()
    fs: Sequence[str] | None = ()
    marks: bool = False
    injections: bool = False
    snapshots: bool = False

    def __call__(self, evidence: Evidence) -> Outcome:
        """Of evidence that may hold more than it looks at."""
        types, fs = frozenset(self.events), self.fs
        return self.kernel(
            replace(
                evidence,
                events=[event for event in evidence.events if event.type in types],
                operations=[each for each in evidence.operations if fs is None or each.f in fs],
                marks=evidence.marks if self.marks else (),
                injections=evidence.injections if self.injections else (),
                snapshots=evidence.snapshots if self.snapshots else (),
            )
        )


@dataclass(frozen=True, slots=True)
class RunBatch:
    """All `RunChecker`s: rows are read, shuffled and parsed once for many of them."""

    def check(self, tables: Tables, checkers: Mapping[str, Any]) -> DataFrame:
        judges: dict[str, Judge] = {name: each.judge for name, each in checkers.items()}
        wanted = judges.values()
        fs = [judge.fs for judge in wanted if judge.fs is not None]
        parts = [
            plan_rows(tables),
            operation_rows(tables, _all(fs) if len(fs) == len(wanted) else None),
            event_rows(tables, _all(judge.events for judge in wanted)),
        ]
        if any(judge.marks for judge in wanted):
            parts.append(mark_rows(tables))
        if any(judge.injections for judge in wanted):
            parts.append(injection_rows(tables))
        if any(judge.snapshots for judge in wanted):
            parts.append(snapshot_rows(tables))
        return keyed_together(together(*parts), kernels=judges, prepare=evidence_of, order=ORDER)


def _all(groups: Iterable[Iterable[str]]) -> list[str]:
    return sorted(set().union(*groups))


class RunChecker:
    """A checker that judges whole runs by one kernel."""

    name: ClassVar[str]
    summary: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    judge: ClassVar[Judge]
    batch: ClassVar[RunBatch] = RunBatch()

    def check(self, tables: Tables) -> DataFrame:
        return self.batch.check(tables, {self.name: self})


def check_keys(
    rows: DataFrame, checker: str, kernel: EvidenceKernel, by: Sequence[str]
) -> DataFrame:
    """One outcome for each group of rows with equal `by`."""
    return keyed(
        rows,
        checker=checker,
        kernel=partial(observed, kernel),
        by=by,
        order=ORDER,
    )


def observed(kernel: EvidenceKernel, rows: list[Row]) -> Outcome:
    """Call a kernel of evidence with rows."""
    return kernel(evidence_of(rows))


def evidence_of(rows: Sequence[Row]) -> Evidence:
    by_source: dict[str, list[Row]] = {}
    for row in rows:
        by_source.setdefault(row["source"], []).append(row)
    plans = by_source.get("plan", [])
    return Evidence(
        operations=sorted(
            map(_operation, by_source.get("operation", [])), key=lambda each: each.index
        ),
        events=[_event(row) for row in by_source.get("event", [])],
        marks=[_mark(row) for row in by_source.get("mark", [])],
        injections=[_injection(row) for row in by_source.get("injection", [])],
        plan=loads(plans[0]["value"]) if plans else {},
        snapshots=[loads(row["value"]) for row in by_source.get("snapshot", [])],
    )


def _operation(row: Row) -> Operation:
    return Operation(
        index=row["number"],
        end=row["end"],
        f=row["f"],
        key=loads(row["key"]),
        value=loads(row["value"]),
        type=row["type"] or "info",
        result=loads(row["result"]),
        error=None if row["error_code"] is None else (row["error_code"], ""),
        node=row["node"],
        ext=loads(row["ext"]),
        invoked_ns=row["from_ns"],
        completed_ns=row["to_ns"],
        phase=row["phase"] or "main",
        process=row["process"] or "",
    )


def _event(row: Row) -> NodeEvent:
    return NodeEvent(
        node=row["node"],
        incarnation=row["incarnation"],
        seq=row["number"],
        time_ns=row["from_ns"],
        type=row["type"],
        fields=loads(row["value"]) or {},
    )


def _mark(row: Row) -> Mark:
    return Mark(
        index=row["number"],
        time_ns=row["from_ns"] or 0,
        type=row["type"],
        f=row["f"],
        value=loads(row["value"]),
    )


def _injection(row: Row) -> Injection:
    return Injection(
        id=row["number"],
        fault=row["f"],
        shape=row["type"] or "",
        victims=loads(row["value"]),
        injected_ns=row["from_ns"],
        healed_ns=row["to_ns"],
        bit=row["yes"],
        healed=row["no"],
        entries=loads(row["result"]) or (),
    )
