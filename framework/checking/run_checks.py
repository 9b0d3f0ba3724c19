"""Checkers that judge whole runs by a rule over typed evidence.

    class OneVote(RunChecker):
        name = "one-vote"
        summary = "Each voter gives one candidate at most its vote in an epoch"
        requires = evidence("voted")
        check_run = RunCheck(one_vote, evidence=(Booted, EpochSaved, Voted, Elected))

The rule is a pure function of `RunEvents`. What it looks at travels to Spark's workers as Arrow
tables, of one schema a source, packed; all such checkers share few passes over the runs, in which
each run is unpacked once.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.keyed import Judged, Outcome, Row, failed, keyed_together
from framework.checking.workers import by_reference_counts
from framework.evidence.catalogue import KINDS, concrete
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.rows import EvidenceRows
from framework.evidence.run_events import FaultRecord, NemesisEvent, RunEvents
from framework.evidence.schemas import rows_of
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.plugins.checker import Clause, DataFrame, RunTables, Table, Tables

Rule = Callable[..., Outcome]
"""Of `RunEvents`, and perhaps options."""

_PLAN: Final = "plan"
_OPERATIONS: Final = "operations"
_OBSERVATIONS: Final = "observations"
_NEMESIS: Final = "nemesis"
_FAULTS: Final = "faults"
_EVIDENCE: Final = "evidence/"
"""Sources; evidence is followed by its kind."""
_ROWS: Final = 65_536
"""Rows that are packed together."""
MOST_OBJECTS: Final = 300_000
"""So many are made once, for all rules of a pass; where there are more, whenever a rule looks."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """A rule, and what it looks at beside the plan: kinds of evidence (a base stands for all that
    are made of it), kinds that were read from the nodes' disks, `f`s of clients' operations (None:
    all), and whether observers', nemesis events and the ledger. What a disk tells of a kind that a
    rule looks at in `evidence` alone is kept from it: it would see everything twice."""

    rule: Rule
    evidence: Sequence[type[Evidence]] = ()
    disk: Sequence[type[Evidence]] = ()
    fs: Sequence[str] | None = ()
    observations: bool = False
    nemesis: bool = False
    faults: bool = False
    parts: Callable[[RunEvents], Mapping[str, RunEvents]] | None = None
    """Where parts of a run are judged apart: those, by key. One that cannot be judged leaves the
    others as they are."""

    def __call__(self, events: RunEvents) -> Judged:
        """Of a run of which more may be known than it looks at."""
        fs = self.fs
        seen = replace(
            events,
            evidence=events.looked_at(tuple(self.evidence), tuple(self.disk)),
            operations=[each for each in events.operations if fs is None or each.f in fs],
            observations=events.observations if self.observations else (),
            nemesis=events.nemesis if self.nemesis else (),
            faults=events.faults if self.faults else (),
        )
        if isinstance(seen.evidence, EvidenceRows):
            with by_reference_counts():
                return self._judged(seen)
        return self._judged(seen)

    def _judged(self, seen: RunEvents) -> Judged:
        if self.parts is None:
            return self.rule(seen)
        return {key: self._part(part) for key, part in self.parts(seen).items()}

    def _part(self, part: RunEvents) -> Outcome:
        try:
            return self.rule(part)
        except Exception as error:
            return failed(error)


@dataclass(frozen=True, slots=True)
class RunBatch:
    """All `RunChecker`s: runs are packed, shuffled and unpacked once for many of them."""

    def check(self, tables: Tables, checkers: Mapping[str, Any]) -> DataFrame:
        checks: dict[str, RunCheck] = {name: each.check_run for name, each in checkers.items()}
        rows = [row for run in tables.stored for row in packed(run, list(checks.values()))]
        frame = tables.spark.createDataFrame(pa.Table.from_pylist(rows, schema=PACKED))
        return keyed_together(frame, kernels=checks, prepare=unpacked, order=("source", "part"))


class RunChecker:
    """A checker that judges whole runs by one rule. Where it has a class `Options`, the rule takes
    an instance of it as `options`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    clauses: ClassVar[Sequence[Clause]] = ()
    parted_from: ClassVar[str] = ""
    """The checker that once made its promises: a run whose plan names that one, as it was recorded
    then, is checked by both."""
    check_run: RunCheck
    batch: ClassVar[RunBatch] = RunBatch()

    def __init__(self, options: Any = None) -> None:
        if options is not None:
            rule = partial(self.check_run.rule, options=options)
            self.check_run = replace(self.check_run, rule=rule)

    def check(self, tables: Tables) -> DataFrame:
        return self.batch.check(tables, {self.name: self})


# --- to the workers and back --------------------------------------------------------------

PACKED: Final = pa.schema(
    {"run": pa.string(), "source": pa.string(), "part": pa.int64(), "rows": pa.binary()}
)
"""`rows`: an Arrow stream of the source's own schema; of the plan: JSON."""


def packed(run: RunTables, checks: Sequence[RunCheck]) -> Iterator[Row]:
    """What the checks look at in one run. There is always a row, so that a run in which nothing
    was seen still gets an outcome."""
    yield {"run": run.run, "source": _PLAN, "part": 0, "rows": _json_bytes(run.plan)}
    for source, table in _wanted(run, checks):
        for part, first in enumerate(range(0, len(table), _ROWS)):
            rows = _stream(table.slice(first, _ROWS))
            yield {"run": run.run, "source": source, "part": part, "rows": rows}


def _wanted(run: RunTables, checks: Sequence[RunCheck]) -> Iterator[tuple[str, Table]]:
    operations = run.operations
    if all(check.fs is not None for check in checks):
        fs = sorted({f for check in checks for f in check.fs or ()})
        wanted = pc.is_in(operations.column("f"), value_set=pa.array(fs, pa.string()))
        operations = operations.filter(wanted)
    yield _OPERATIONS, operations
    if any(check.observations for check in checks):
        yield _OBSERVATIONS, run.observations
    if any(check.nemesis for check in checks):
        yield _NEMESIS, run.nemesis
    if any(check.faults for check in checks):
        yield _FAULTS, run.faults
    for kind, table in evidence_for(checks, run.evidence):
        yield _EVIDENCE + kind, table


def evidence_for(
    checks: Iterable[RunCheck], evidence: Mapping[str, Table]
) -> Iterator[tuple[str, Table]]:
    """Kind -> the rows of it at which any of the checks looks, where there are some."""
    checks = list(checks)
    reported = set(concrete(each for check in checks for each in check.evidence))
    on_disk = set(concrete(each for check in checks for each in check.disk))
    for kind in KINDS.values():
        if kind.kind not in evidence or kind not in reported | on_disk:
            continue
        table = evidence[kind.kind]
        if not (kind in reported and kind in on_disk):
            from_disk = pc.equal(table.column("source"), DISK)
            table = table.filter(from_disk if kind in on_disk else pc.invert(from_disk))
        if len(table):
            yield kind.kind, table


def _json_bytes(plan: Mapping[str, Recorded]) -> bytes:
    return json.dumps(dict(plan), default=str).encode()


def _stream(table: Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpacked(rows: Iterable[Row]) -> RunEvents:
    """What a run's packed rows say."""
    plan: Mapping[str, Recorded] = {}
    operations: list[Operation] = []
    observations: list[Operation] = []
    nemesis: list[NemesisEvent] = []
    faults: list[FaultRecord] = []
    evidence: dict[type[Evidence], list[Table]] = defaultdict(list)
    for row in rows:
        source = row["source"]
        if source == _PLAN:
            plan = json.loads(row["rows"])
            continue
        table = pa.ipc.open_stream(row["rows"]).read_all()
        if source == _OPERATIONS:
            operations += operations_of(table)
        elif source == _OBSERVATIONS:
            observations += operations_of(table)
        elif source == _NEMESIS:
            nemesis += map(_nemesis_event, table.to_pylist())
        elif source == _FAULTS:
            faults += map(_fault_record, table.to_pylist())
        else:
            evidence[KINDS[source.removeprefix(_EVIDENCE)]].append(table)
    return RunEvents(
        operations=sorted(operations, key=lambda each: each.index),
        observations=sorted(observations, key=lambda each: each.index),
        evidence=evidence_of({kind: pa.concat_tables(own) for kind, own in evidence.items()}),
        nemesis=nemesis,
        faults=faults,
        plan=plan,
    )


def evidence_of(tables: Mapping[type[Evidence], Table]) -> Sequence[Evidence]:
    """In the order in which rules are shown it: as objects, or where those would be too many, as
    rows that become objects as they are looked at."""
    if sum(map(len, tables.values())) > MOST_OBJECTS:
        return EvidenceRows.of_tables(tables.items())
    objects = (each for kind, table in tables.items() for each in rows_of(kind, table))
    return sorted(objects, key=lambda each: each.place)


def _nemesis_event(row: Row) -> NemesisEvent:
    return NemesisEvent(
        index=row["index"],
        time_ns=row["time_ns"] or 0,
        type=row["type"],
        f=row["f"],
        value=_loads(row["value"]),
    )


def _fault_record(row: Row) -> FaultRecord:
    return FaultRecord(
        id=row["id"],
        fault=row["fault"],
        shape=row["shape"] or "",
        victims=_loads(row["victims"]),
        injected_ns=row["injected_ns"],
        healed_ns=row["healed_ns"],
        effective=row["effective"],
        healed=row["healed"],
        ends_processes=row["ends_processes"],
        entries=_loads(row["entries"]) or (),
    )


def _loads(text: str | None) -> Recorded:
    return None if text is None else json.loads(text)
