"""A recorded run in memory, judged again with some of its answers replaced, or some of what its
disks say: by all checkers of its plan that look at such, in this process, without Spark."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from checkers.kafka_log import LOOKED_AT, KafkaLog, judge_runs
from checkers.linearizability.encoding.models import KAFKA_TOPICS
from checkers.topic_linearizability import TopicLinearizability, check_names
from framework.checking.clauses import clauses_of
from framework.checking.keyed import FAILED, Outcome, outcome_row
from framework.checking.promised import judged_rows, promises_of, said_of
from framework.checking.reading import read_unsealed
from framework.checking.results import CheckerResult, checker_result
from framework.checking.run_checks import RunChecker, looked_at
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.processes import ProcessEnded
from framework.evidence.run_events import RunEvents
from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.history.rows import OperationRows
from framework.plugins import registry
from framework.plugins.checker import Checker, RunData
from framework.plugins.promise import Promised
from framework.verdict import Verdict

Teller: TypeAlias = Literal["client", "observer", "disk"]
Kind: TypeAlias = tuple[Teller, str]
"""Who was told, and `f`; or of what a disk tells, the kind of evidence."""
Replaced: TypeAlias = Mapping[int, Operation]
"""By index, what is shown instead."""
Retold: TypeAlias = Mapping[int, Sequence[Evidence]]
"""By number among `Judged.left`, what is there instead: nothing, one row, or more."""
Looks: TypeAlias = Callable[[Checker], bool]
BUDGET_S: Final = 5.0
EVENT: Final = "event"


class Rows(Protocol):
    """Outcome rows of a checker that is no rule over whole runs."""

    def __call__(self, table: pa.Table) -> Sequence[Mapping[str, Any]]: ...


def _of_logs(table: pa.Table) -> Sequence[Mapping[str, Any]]:
    return list(judge_runs(table).to_pylist())


def _of_names(table: pa.Table) -> Sequence[Mapping[str, Any]]:
    named = table.filter(pc.is_valid(table["key"]))
    return list(check_names(named, budget_s=BUDGET_S).to_pylist())


BY_KEY: Final[Mapping[str, tuple[Sequence[str], Rows]]] = {
    KafkaLog.name: (LOOKED_AT, _of_logs),
    TopicLinearizability.name: (KAFKA_TOPICS.fs, _of_names),
}
"""Checkers by key: at which kinds of operations they look, and how they judge them here."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a run: the first who finds it INVALID, by the names of checker and clauses;
    where nobody does, who is UNKNOWN, and who failed on it."""

    invalid: frozenset[tuple[str, str]]
    unknown: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()


class Judged:
    """A run. What nodes say of themselves as it happens is set aside: they are the accused."""

    def __init__(self, run: RunData, checkers: Mapping[str, Checker]) -> None:
        self.operations = _in_order(operations_of(run.operations))
        self.observations = _in_order(operations_of(run.observations))
        self.system = str(run.plan.get("system", ""))
        self._checkers = checkers
        self._promises: Mapping[str, Promised] = promises_of(run.plan)
        rules = [each.check_run for each in checkers.values() if isinstance(each, RunChecker)]
        events = looked_at(run, [replace(each, fs=(), as_rows=False) for each in rules])
        said = [each for each in events.evidence if each.source != EVENT]
        self.left: Sequence[Evidence] = [each for each in said if _is_left(each)]
        """What lies on disks, and how processes ended."""
        self._other = [each for each in said if not _is_left(each)]
        self._events = replace(
            events,
            evidence=said,
            operations=self.operations,
            observations=self.observations,
            rows=None,
        )
        self._before: dict[str, CheckerResult] = {}
        self._finders: list[str] = []

    @classmethod
    def of(cls, folder: Path) -> "Judged":
        """A recorded run, sealed or not. Raises `UsageError`."""
        run = read_unsealed(folder.name, str(folder))
        names = sorted(run.plan["checkers"])
        return cls(run, {name: registry.load("checkers", name) for name in names})

    def kinds(self) -> Mapping[Kind, Sequence[Operation]]:
        """All operations."""
        found: dict[Kind, list[Operation]] = {}
        tellers: Mapping[Teller, Sequence[Operation]] = {
            "client": self.operations,
            "observer": self.observations,
        }
        for teller, operations in tellers.items():
            for each in operations:
                found.setdefault((teller, each.f), []).append(each)
        return dict(sorted(found.items()))

    def judge(self, kind: Kind, replaced: Replaced) -> Judgement:
        """By those that look at operations of this kind, until one finds what it did not before."""
        events = replace(
            self._events,
            operations=[replaced.get(each.index, each) for each in self.operations],
            observations=[replaced.get(each.index, each) for each in self.observations],
        )
        return self._judgement(events, lambda checker: _looks_at(checker, kind))

    def judge_disks(self, retold: Retold) -> Judgement:
        """Likewise by those that look at any of what is there instead, or was there."""
        left = [row for number, each in enumerate(self.left) for row in retold.get(number, (each,))]
        touched = [self.left[number] for number in retold]
        touched += [row for rows in retold.values() for row in rows]
        kinds = {(type(each), each.source == DISK) for each in touched}
        events = replace(
            self._events, evidence=sorted([*left, *self._other], key=lambda each: each.place)
        )
        return self._judgement(
            events, lambda checker: any(_reads(checker, *each) for each in kinds)
        )

    def _judgement(self, events: RunEvents, looks: Looks) -> Judgement:
        unknown, failed = set[str](), set[str]()
        for name in self._looking(looks):
            before, result = self._clean(name), self._result(name, events)
            found = _broken(result) - _broken(before)
            if found:
                self._finders = [name, *(each for each in self._finders if each != name)]
                return Judgement(frozenset((name, clause) for clause in found))
            if result.verdict is Verdict.UNKNOWN and before.verdict is Verdict.VALID:
                (failed if FAILED in result.note else unknown).add(name)
        return Judgement(frozenset(), frozenset(unknown), frozenset(failed))

    def _looking(self, looks: Looks) -> list[str]:
        """Who looks at it; whoever found something last comes first."""
        named = dict.fromkeys([*self._finders, *self._checkers])
        return [name for name in named if looks(self._checkers[name])]

    def _clean(self, name: str) -> CheckerResult:
        """Of the run as it was recorded."""
        if name not in self._before:
            self._before[name] = self._result(name, self._events)
        return self._before[name]

    def clean(self) -> Mapping[str, CheckerResult]:
        """What all checkers say of the run as it was recorded."""
        return {name: self._clean(name) for name in self._checkers}

    def _result(self, name: str, events: RunEvents) -> CheckerResult:
        checker = self._checkers[name]
        clauses = clauses_of(checker)
        rows = judged_rows(_rows(checker, events), clauses, said_of(name, clauses, self._promises))
        return checker_result(name, checker.summary, rows, clauses=clauses)


def _rows(checker: Checker, events: RunEvents) -> Sequence[Mapping[str, Any]]:
    if not isinstance(checker, RunChecker):
        fs, judge = BY_KEY[checker.name]
        return judge(_table([each for each in events.operations if each.f in fs]))
    try:
        found = checker.check_run(events)
    except Exception as error:
        found = Outcome(verdict=Verdict.UNKNOWN, seen=0, note=f"{FAILED}: {error!r}")
    parts = {"": found} if isinstance(found, Outcome) else found
    return [outcome_row("", checker.name, key, outcome) for key, outcome in parts.items()]


def _table(operations: Iterable[Operation]) -> pa.Table:
    (table,) = OperationRows.of(operations).columns()
    run = pa.array([""] * len(table), pa.string())
    return table.set_column(table.schema.get_field_index("run"), "run", run).select(
        OPERATIONS.names
    )


def _looks_at(checker: Checker, kind: Kind) -> bool:
    teller, f = kind
    if not isinstance(checker, RunChecker):
        return teller == "client" and checker.name in BY_KEY and f in BY_KEY[checker.name][0]
    check = checker.check_run
    return check.observations if teller == "observer" else check.fs is None or f in check.fs


def _reads(checker: Checker, kind: type[Evidence], on_disk: bool) -> bool:
    if not isinstance(checker, RunChecker):
        return False
    check = checker.check_run
    return issubclass(kind, tuple(check.disk if on_disk else check.evidence))


def _is_left(each: Evidence) -> bool:
    return each.source == DISK or isinstance(each, ProcessEnded)


def _broken(result: CheckerResult) -> set[str]:
    """The clauses with findings, of one that is INVALID."""
    invalid = result.verdict is Verdict.INVALID
    return {each.clause for each in result.findings if invalid}


def _in_order(operations: Iterable[Operation]) -> list[Operation]:
    return sorted(operations, key=lambda each: each.index)
