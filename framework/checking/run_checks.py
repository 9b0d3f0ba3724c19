"""Checkers that judge whole runs by a rule over typed evidence.

    class OneVote(RunChecker):
        name = "one-vote"
        summary = "Each voter gives one candidate at most its vote in an epoch"
        requires = evidence("voted")
        check_run = RunCheck(one_vote, evidence=(Booted, EpochSaved, Voted, Elected))

The rule is a pure function of `RunEvents`. A task of Spark's reads of a run what rules look at, and
judges it there by all such checkers of a pass: it is read once, and nothing of it is sent anywhere.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.cuts import Cut, Rows, as_part, parts
from framework.checking.keyed import OUTCOME_ARROW, Judged, Outcome, Row, failed, judged_together
from framework.checking.reading import SealedEvidence, rows_of
from framework.checking.sealing import EVENTS, RECORDS, parted
from framework.checking.workers import by_reference_counts
from framework.evidence.catalogue import KINDS, concrete
from framework.evidence.kinds import Evidence
from framework.evidence.lazy import LazyTable
from framework.evidence.narrow import narrow
from framework.evidence.rows import EvidenceRows
from framework.evidence.run_events import WHOLE_RUN, FaultRecord, NemesisEvent, Part, RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.history.rows import OperationRows
from framework.plugins.checker import Clause, DataFrame, RunData, Table, Tables

Rule = Callable[..., Outcome]
"""Of `RunEvents`, and perhaps options."""

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
    as_rows: bool = False
    """It reads columns of clients' operations, of all: they are `OperationRows`, and none is an
    object before the rule looks at it."""
    by: Cut | None = None
    """By what a long run may be cut: the rule judges those alone that `RunEvents.has`, and what
    parts find is together what the whole run has. None: by nothing."""
    parts: Callable[[RunEvents], Mapping[str, RunEvents]] | None = None
    """Where parts of a run are judged apart: those, by key. One that cannot be judged leaves the
    others as they are. A long run may be cut by them: each task judges some."""

    @property
    def can_be_cut(self) -> bool:
        """Whether several tasks may judge a run."""
        return self.by is not None or self.parts is not None

    def __call__(self, events: RunEvents) -> Judged:
        """Of a run of which more may be known than it looks at."""
        seen = replace(
            events,
            evidence=events.looked_at(tuple(self.evidence), tuple(self.disk)),
            operations=self._operations(events),
            rows=None,
            observations=events.observations if self.observations else (),
            nemesis=events.nemesis if self.nemesis else (),
            faults=events.faults if self.faults else (),
        )
        if isinstance(seen.evidence, EvidenceRows):
            with by_reference_counts():
                return self._judged(seen)
        return self._judged(seen)

    def _operations(self, events: RunEvents) -> Sequence[Operation]:
        if self.as_rows:
            return OperationRows.of(events.operations) if events.rows is None else events.rows
        return [each for each in events.operations if self.fs is None or each.f in self.fs]

    def _judged(self, seen: RunEvents) -> Judged:
        if self.parts is None:
            found = self.rule(seen)
            return found if seen.part == WHOLE_RUN else as_part(found)
        own = {key: part for key, part in self.parts(seen).items() if seen.has(key)}
        return {key: self._part(part) for key, part in own.items()}

    def _part(self, part: RunEvents) -> Outcome:
        try:
            return self.rule(part)
        except Exception as error:
            return failed(error)


@dataclass(frozen=True, slots=True)
class RunJudge:
    """Reads of a run what these checks look at, once, and judges it, or a part of it, by them."""

    checks: Mapping[str, RunCheck]
    part: Part

    @property
    def names(self) -> Sequence[str]:
        return list(self.checks)

    def rows(self, run: RunData) -> Iterator[Table]:
        return judged_run(run, self.checks, self.part)

    def apart(self) -> Sequence["RunJudge"]:
        return [RunJudge({name: check}, self.part) for name, check in self.checks.items()]


@dataclass(frozen=True, slots=True)
class RunBatch:
    """All `RunChecker`s: a run is read once for many of them."""

    def judges(self, checkers: Mapping[str, Any], parts: int) -> Sequence[RunJudge]:
        checks: dict[str, RunCheck] = {name: each.check_run for name, each in checkers.items()}
        return [RunJudge(own, part) for part, own in in_parts(checks, parts)]


@dataclass(frozen=True, slots=True)
class Kept:
    """Of operations that are over, those that what comes later can contradict, in any order, some
    perhaps twice. `reaches_back`: of one that comes later, or begins, whether it may contradict
    others, too; then all that there was is looked at once more."""

    operations: Sequence[Operation] = ()
    observations: Sequence[Operation] = ()
    reaches_back: Callable[[Operation], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class SoFar:
    """How a run that goes on is judged without all of it being looked at again and again.

    check: the rule of the clauses that are `live` alone, which sees operations, observations and
        the plan.
    keeps: what has to be kept of operations and observations that had ended before any began that
        may still end, or begin. Judged with what comes later it breaks a clause if and only if
        all of them do, but for what broke already, and what `reaches_back`.
    doubtful: clauses that are about something missing, by name: where something reaches back, it
        may be among what was forgotten, and all that there was is asked first.
    shown: the run as the rule takes it apart, where an answer tells of many things; the rest is
        given that.
    about: what an operation is about, or shows; nothing: the rule does not look at it. Those that
        have none of that in common, nor by way of others, are judged apart: the rule holds none of
        them against each other, and adds up what it compared. One that is pending is about what it
        asks for, and is about that when it has ended.
    """

    check: RunCheck
    keeps: Callable[[RunEvents], Kept]
    doubtful: frozenset[str] = frozenset()
    shown: Callable[[RunEvents], RunEvents] = lambda events: events
    about: Callable[[Operation], Iterable[Hashable]] = lambda _: ("",)


class RunChecker:
    """A checker that judges whole runs by one rule. Where it has a class `Options`, the rule takes
    an instance of it as `options`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    clauses: ClassVar[Sequence[Clause]] = ()
    live: ClassVar[Sequence[Clause]] = ()
    """Those of them that, once broken in what clients and observers have seen, no later event
    mends, nor the end of an operation that is pending (`framework.checking.prefixes`)."""
    so_far: ClassVar[SoFar | None] = None
    """How those are judged while a run goes on. None: by `check_run`, of all that there is."""
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
        judge = RunJudge({self.name: self.check_run}, WHOLE_RUN)
        return tables.each.map(judge.rows, OUTCOME_ARROW)


# --- what rules look at -------------------------------------------------------------------


def in_parts(
    checks: Mapping[str, RunCheck], count: int
) -> Iterator[tuple[Part, Mapping[str, RunCheck]]]:
    """Which checks judge which part of a run: one that can be cut so many, the others all of it."""
    whole = {name: each for name, each in checks.items() if count == 1 or not each.can_be_cut}
    if whole:
        yield WHOLE_RUN, whole
    for name in checks.keys() - whole.keys():
        for part in parts(count):
            yield part, {name: checks[name]}


def judged_run(run: RunData, checks: Mapping[str, RunCheck], part: Part) -> Iterator[Table]:
    """What each check, by the name of its checker, finds in a run: `OUTCOME_ARROW`. One that fails
    is UNKNOWN, and stops no other."""
    yield judged_together(run.run, "", checks, lambda: looked_at(run, list(checks.values()), part))


def looked_at(run: RunData, checks: Sequence[RunCheck], part: Part = WHOLE_RUN) -> RunEvents:
    """What of a run, or a part of it, any of the checks looks at."""
    rows = rows_of(run) if any(check.as_rows or check.fs != () for check in checks) else None
    by_object = [check.fs for check in checks if not check.as_rows]
    operations: Iterable[Operation] = ()
    if rows is not None and None in by_object:
        operations = rows
    elif rows is not None and (fs := sorted({f for own in by_object for f in own or ()})):
        operations = _of_fs(rows, fs)
    observations: Sequence[Operation] = ()
    if any(check.observations for check in checks):
        observations = operations_of(run.observations)
    evidence = evidence_for(checks, run.evidence)
    if part != WHOLE_RUN:
        (cut,) = {check.by for check in checks}
        evidence = evidence if cut is None else cut.of(part, evidence)
    return RunEvents(
        operations=sorted(operations, key=lambda each: each.index),
        observations=sorted(observations, key=lambda each: each.index),
        evidence=evidence_of(evidence),
        nemesis=[*map(_nemesis_event, run.nemesis.to_pylist())]
        if any(check.nemesis for check in checks)
        else (),
        faults=[*map(_fault_record, run.faults.to_pylist())]
        if any(check.faults for check in checks)
        else (),
        plan=run.plan,
        part=part,
        rows=rows if any(check.as_rows for check in checks) else None,
    )


def _of_fs(rows: OperationRows, fs: Sequence[str]) -> Iterator[Operation]:
    wanted = pa.array(fs, pa.string())
    for table in rows.columns():
        yield from operations_of(table.filter(pc.is_in(table.column("f"), value_set=wanted)))


def evidence_for(checks: Iterable[RunCheck], evidence: Mapping[str, Table]) -> Iterator[Rows]:
    """The rows at which any of the checks looks, a table of some of one kind at a time; kinds by
    their names."""
    checks = list(checks)
    reported = set(concrete(each for check in checks for each in check.evidence))
    on_disk = set(concrete(each for check in checks for each in check.disk))
    for name in sorted(evidence.keys() & KINDS.keys()):
        kind = KINDS[name]
        wanted = (EVENTS, kind in reported), (RECORDS, kind in on_disk)
        for table in _pieces(evidence, name, [place for place, looks in wanted if looks]):
            yield kind, table


def _pieces(
    evidence: Mapping[str, Table], kind: str, places: Sequence[str]
) -> Iterator[Table | LazyTable]:
    """Where there are any, narrow."""
    if isinstance(evidence, SealedEvidence):
        yield from evidence.pieces(kind, places)
    elif places:
        yield from (narrow(rows) for place, rows in parted(evidence[kind]) if place in places)


def evidence_of(tables: Iterable[Rows]) -> EvidenceRows[Evidence]:
    """In the order in which rules are shown it."""
    tables = list(tables)
    few = sum(len(table) for _, table in tables) <= MOST_OBJECTS
    if not few:
        pa.default_memory_pool().release_unused()  # what it took to read them
    return EvidenceRows.of_tables(tables, kept=few)


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
