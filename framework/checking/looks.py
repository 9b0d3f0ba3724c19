"""Looking at a run again and again while it goes on, each time at what is new and what of all
before it can still be contradicted.

A worker of Spark's keeps what it knew at its last look. It is normally the same one the next time;
another one, or one that finds another history, begins at the first byte. Either way a look comes to
what a judgement of the whole beginning (`prefixes`) comes to.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.clauses import held_against_floors
from framework.checking.findings import compared
from framework.checking.keyed import OUTCOME_ARROW, Outcome, Row, judged_together, outcome_row
from framework.checking.prefixes import (
    JudgesPrefixes,
    LiveCheckers,
    judged_prefix,
    prefix,
)
from framework.checking.remembered import MEMORY, Memory, Part, Parts, in_order
from framework.checking.run_checks import RunChecker, SoFar
from framework.checking.runs import FAULTS, HISTORY, read_run
from framework.checking.workers import by_reference_counts
from framework.evidence.run_events import RunEvents
from framework.history.event import is_observer
from framework.history.growing import Growing, Grown
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.plugins.checker import RunTables
from framework.verdict import Verdict

_CHUNKS: Final = 64


_NOTHING: Final = "{}"
"""Was compared: what an outcome that is shown again tells of clauses."""
Whole: TypeAlias = Callable[[], RunTables]
"""All that there is so far."""
Judge: TypeAlias = "_Rule | _ByKey | _Whole"


@dataclass(frozen=True, slots=True)
class _New:
    """What a look finds that the last one did not know, and what is open. `first`: the index of the
    first event that is new."""

    grown: Grown
    ended: RunEvents
    pending: RunEvents
    first: int
    events: int

    def horizon(self, lately: int) -> int:
        """What ended before was over before anything began that is open, or of the last events."""
        begun = (each.index for each in (*self.pending.operations, *self.pending.observations))
        return min([self.events - lately, *begun])


class Looks:
    """At one run, by one worker."""

    def __init__(self, folder: Path, checkers: LiveCheckers, memory: Memory = MEMORY) -> None:
        self._folder, self._checkers = folder, checkers
        self._growing = Growing(folder / HISTORY)
        self._plan = read_run(folder).info.plan
        self._judges: list[Judge] = [
            _judge(folder.name, each, memory) for each in checkers.values()
        ]

    @property
    def events(self) -> int:
        """So many were looked at."""
        return self._growing.events

    def can_go_on(self, checkers: LiveCheckers, end: int) -> bool:
        """Whether what it knows is of this history, and judged by these."""
        grown = self._growing
        return checkers.keys() == self._checkers.keys() and grown.end <= end and grown.is_as_read()

    def look(self, end: int) -> Iterator[pa.Table]:
        """`OUTCOME_ARROW` of the first `end` bytes of the history. Raises `UsageError`."""
        with by_reference_counts():  # what is kept need not be looked through for garbage
            yield from self._look(end)

    def _look(self, end: int) -> Iterator[pa.Table]:
        first = self._growing.events
        grown = self._growing.read(end)
        new = _New(
            grown=grown,
            ended=self._events(grown.ended),
            pending=self._events(grown.pending),
            first=first,
            events=self._growing.events,
        )

        @cache
        def whole() -> RunTables:
            return prefix(self._folder.name, self._folder, end)

        for judge in self._judges:
            yield from judge.look(new, whole)

    def _events(self, table: pa.Table) -> RunEvents:
        both = operations_of(table)
        return RunEvents(
            operations=[each for each in both if not is_observer(each.process)],
            observations=[each for each in both if is_observer(each.process)],
            plan=self._plan,
        )


_KNOWN: Final[dict[Path, Looks]] = {}
"""Of this process; of one run."""


def looked_again(folder: Path, checkers: LiveCheckers, end: int) -> list[pa.Table]:
    """What a look at the first `end` bytes comes to, with what this process knows. Raises
    `UsageError`; nothing is known then."""
    known = _KNOWN.pop(folder, None)
    if known is None or not known.can_go_on(checkers, end):
        known = Looks(folder, checkers)
    found = list(known.look(end))
    _KNOWN.clear()
    _KNOWN[folder] = known
    return found


# --- by whom ------------------------------------------------------------------------------


def _judge(run: str, checker: RunChecker | JudgesPrefixes, memory: Memory) -> Judge:
    if not isinstance(checker, RunChecker):
        return _ByKey(run, checker)
    if checker.so_far is None:
        return _Whole(checker)
    return _Rule(run, checker, checker.so_far, memory)


@dataclass(slots=True)
class _Whole:
    """One of which nothing is known but its rule: it is shown everything, at each look."""

    checker: RunChecker

    def look(self, new: _New, whole: Whole) -> Iterator[pa.Table]:
        return judged_prefix(whole(), {self.checker.name: self.checker})


@dataclass(slots=True)
class _ByKey:
    """One that judges keys apart: those of which there is something new."""

    run: str
    checker: JudgesPrefixes
    _ended: pa.Table | None = None
    _dirty: set[str] = field(default_factory=set)
    _rows: dict[str, Row] = field(default_factory=dict)
    """By the key of the outcome."""

    def look(self, new: _New, whole: Whole) -> Iterator[pa.Table]:
        ended, pending = self._own(new.grown.ended), self._own(new.grown.pending)
        self._ended = ended if self._ended is None else pa.concat_tables([self._ended, ended])
        if self._ended.column(0).num_chunks > _CHUNKS:
            self._ended = self._ended.combine_chunks()
        begun = pending.filter(pc.field("index") >= new.first)
        self._dirty |= {key for own in (ended, begun) for key in own.column("key").to_pylist()}
        if self._dirty:
            of_dirty = pc.field("key").isin(list(self._dirty))
            both = pa.concat_tables([self._ended, pending]).filter(of_dirty).sort_by("index")
            run = RunTables(
                run=self.run,
                plan={},
                operations=both,
                observations=both.slice(0, 0),
                nemesis=new.grown.nemesis.slice(0, 0),
                faults=FAULTS.empty_table(),
                evidence={},
            )
            for table in judged_prefix(run, {self.checker.name: self.checker}):
                self._rows |= {row["key"]: row for row in table.to_pylist()}
                self._dirty.clear()
        yield pa.Table.from_pylist([*self._rows.values()], schema=OUTCOME_ARROW)

    def _own(self, table: pa.Table) -> pa.Table:
        return table.filter(pc.field("f").isin(list(self.checker.fs)))


class _Rule:
    """One that says what it has to keep of what is over."""

    def __init__(self, run: str, checker: RunChecker, so_far: SoFar, memory: Memory) -> None:
        self._run, self._checker, self._so_far = run, checker, so_far
        self._live = {each.name for each in checker.live}
        self._memory, self._parts = memory, Parts(so_far, memory)
        self._owes_whole = False
        """Something reaches back that was not judged with all there was."""
        self._broken: dict[str, Row] = {}
        """By clause, the outcome that first said so."""
        self._held: set[str] = set()
        """Clauses of which enough was compared, some of which may have been forgotten."""

    def look(self, new: _New, whole: Whole) -> Iterator[pa.Table]:
        ended, pending = self._own(new.ended), self._own(new.pending)
        begun = [each for each in pending.operations if each.index >= new.first]
        touched = self._parts.add(ended, begun, new.events)
        broke = False
        for part, events in self._parts.events(touched, pending):
            rows = self._judged(events)
            part.rows = [_unbroken(row) for row in rows if self._counts(row)]
            doubtful = self._so_far.doubtful if part.back else ()
            broke |= self._note_broken(rows, but=doubtful)
            doubted = any(each in doubtful for row in rows for each in self._new_in(row))
            self._owes_whole |= part.owes or doubted
            part.owes = False
        if self._owes_whole and not broke:  # what broke is said first: this takes time
            checkers = {self._checker.name: self._checker}
            self._note_broken(_rows(judged_prefix(whole(), checkers)))
            self._owes_whole = False
        found = [*self._broken.values(), *self._counted(), self._held_row()]
        yield pa.Table.from_pylist(found, schema=OUTCOME_ARROW)
        if not self._waits(found):
            self._forget(touched, new)

    def _own(self, events: RunEvents) -> RunEvents:
        check = self._so_far.check
        own = [each for each in events.operations if check.fs is None or each.f in check.fs]
        observations = events.observations if check.observations else ()
        return self._so_far.shown(replace(events, operations=own, observations=observations))

    def _judged(self, events: RunEvents) -> list[Row]:
        checks = {self._checker.name: self._so_far.check}
        return _rows([judged_together(self._run, "", checks, lambda: events)])

    def _new_in(self, row: Row) -> list[str]:
        return [clause for clause in _broken_in(row) if clause not in self._broken]

    def _note_broken(self, rows: Iterable[Row], but: Collection[str] = ()) -> bool:
        """Whether a clause is broken that was not."""
        before = len(self._broken)
        for row in rows:
            for clause in self._new_in(row):
                if clause not in but:
                    self._broken[clause] = _of_clause(row, clause)
        return len(self._broken) > before

    def _counted(self) -> Iterable[Row]:
        """What all parts compared, for as long as somebody has to count."""
        if self._held >= self._live:
            return ()
        return (row for part in self._parts for row in part.rows)

    def _counts(self, row: Row) -> bool:
        """Whether something was compared of which there was not enough yet."""
        if row["clauses"] is None:  # of the only one
            return bool(row["seen"])
        found = json.loads(row["clauses"])
        return any(compared(found.get(each, 0)) for each in self._live - self._held)

    def _held_row(self) -> Row:
        """As if each clause that held had been compared just often enough."""
        enough = {each.name: each.floor for each in self._checker.live if each.name in self._held}
        held = Outcome(verdict=Verdict.VALID, seen=0, clauses=enough)
        return outcome_row(self._run, self._checker.name, "", held)

    def _waits(self, rows: Sequence[Row]) -> bool:
        """Whether something was compared, and not enough: then it is not time yet to forget."""
        results = held_against_floors(self._checker.clauses, rows, self._broken)
        live = [each for each in results if each.name in self._live]
        self._held |= {each.name for each in live if each.verdict is Verdict.VALID}
        return any(each.verdict is Verdict.UNKNOWN and each.compared for each in live)

    def _forget(self, touched: Iterable[Part], new: _New) -> None:
        """What can be."""
        horizon = new.horizon(self._memory.lately)
        for part in self._parts.due(touched, horizon):
            over = part.over(horizon, new.ended)
            kept = self._so_far.keeps(over)
            alone = replace(
                over,
                operations=in_order(_once(kept.operations)),
                observations=in_order(_once(kept.observations)),
            )
            if not any(map(self._new_in, self._judged(alone))):
                part.keep(alone, kept.reaches_back, horizon)
            # else it has more of what reached back than of what that is held against


def _rows(tables: Iterable[pa.Table]) -> list[Row]:
    return [row for table in tables for row in table.to_pylist()]


def _unbroken(row: Row) -> Row:
    """What it compared: what it breaks is told by itself."""
    if row["verdict"] != Verdict.INVALID.value:
        return row
    return row | {"verdict": Verdict.VALID.value, "findings": "[]"}


def _of_clause(row: Row, clause: str) -> Row:
    """What it breaks of one clause, and nothing of what it compared."""
    findings = json.loads(row["findings"])
    own = [each for each in findings if (each.get("clause") or "") == clause]
    return row | {"findings": json.dumps(own), "clauses": _NOTHING}


def _broken_in(row: Row) -> list[str]:
    """The clauses that an outcome breaks."""
    if row["verdict"] != Verdict.INVALID.value:
        return []
    return [each.get("clause") or "" for each in json.loads(row["findings"] or "[]")]


def _once(operations: Iterable[Operation]) -> Iterable[Operation]:
    return {id(each): each for each in operations}.values()
