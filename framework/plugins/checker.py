"""A checker: one property, over any number of runs at once, on Spark."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from framework.history.columns import OPERATIONS
from framework.history.event import Json, Recorded

Table = Any
"""A `pyarrow.Table`."""
DataFrame = Any
SparkSession = Any
"""A `pyspark.sql.DataFrame`; pyspark is imported only where a session is needed."""

OUTCOME_SCHEMA: Final = (
    "run string, checker string, key string, verdict string, seen long, "
    "findings string, figures string, note string, clauses string"
)
"""A row says what one checker found for one key of one run. `seen`: how many observations it
had; `findings`: JSON list of `Finding`; `figures`: JSON object of numbers; `note`: why UNKNOWN;
`clauses`: JSON object of `Count`s by the clause's name, null where `seen` is the count of the only
clause."""


CLIENTS: Final = "clients"
"""Contract: what clients asked for and were answered."""
LEDGER: Final = "ledger"
"""Contract: what the harness did and saw: faults, phases, whether the cluster settled, what nodes
told its observer."""
DISKS: Final = "disks"
"""Contract: what nodes left on their disks (`framework.evidence`, `source` disk)."""
EVENTS: Final = "events"
"""Contract: what nodes said of themselves as it happened. The weakest: a node that lies says so
here."""

Count: TypeAlias = int | tuple[int, int] | str | Mapping[str, int]
"""Of a clause in one run: how many comparisons were made, each of which could have broken it; with
a second number, how many this run must have, as where every node of the plan has to be heard; by
what each was a sighting of (`Clause.seen`); or why the run gave no occasion to make one. That must
rest on what clients, the plan or the ledger say: a silent node is no occasion missed, it is a count
of 0."""
OTHERS: Final = ""
"""In a count by sightings: comparisons of further sightings than are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One sentence of what a checker promises. Where no finding names it, it is VALID if at least
    `floor` comparisons could have broken it, and else UNKNOWN.

    name: two or three words with hyphens, unique in its checker.
    says: what holds, as a sentence.
    compares: what is counted, as words that follow a number: "votes in an epoch".
    floor: so many of them at least; never 1, for nothing is shown by one sighting: an answer, a
        record, an injection, whatever it shows, does not fill it (`sightings`, `seen`).
    because: why so many, and no more.
    sources: the contracts that it is judged by, the most trusted first.
    blind: what would break it and is not seen; empty if nothing is known.
    """

    name: str
    says: str
    compares: str
    floor: int
    because: str
    sources: Sequence[str]
    blind: str = ""

    def sightings(self, compared: Iterable[Hashable]) -> int:
        """How much was compared; for each comparison: what it is a sighting of. No sighting makes
        up for more than half of what is enough."""
        return sum(min(each, self.floor // 2) for each in Counter(compared).values())

    def seen(self, compared: Iterable[Hashable]) -> Mapping[str, int]:
        """Likewise, of one part of a run: so that what is a sighting of several parts, as an answer
        about several partitions, is one of the run. As many sightings as are enough are told."""
        counts = Counter(map(str, compared))
        found = dict(counts.most_common(self.floor))
        others = counts.total() - sum(found.values())
        return found | {OTHERS: others} if others else found

    def enough(self, seen: Mapping[str, int]) -> int:
        """What such a count, of all parts, comes to."""
        return sum(
            number if each == OTHERS else min(number, self.floor // 2)
            for each, number in seen.items()
        )

    def count(self, compared: int, why: str) -> Count:
        """What was compared; where that is below the floor because there was no occasion, why."""
        return why if why and compared < self.floor else compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A violation with the evidence for it."""

    message: str
    """What a stranger can verify by hand: a sentence; more lines after it say why, step by step."""
    operations: Sequence[int] = ()
    """Indices of the history events that prove it (invocations)."""
    events: Sequence[Mapping[str, Json]] = ()
    """Evidence of nodes that proves it, as `Evidence.as_json` has it."""
    contracts: Sequence[str] = ()
    """Which contracts proved it. Empty: all that its checker used."""
    picture: Mapping[str, Json] | None = None
    """What the report draws beside it, as `framework.report.linearization` reads it."""
    clause: str = ""
    """The clause that it breaks; may be empty where its checker has but one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A stored run: its id in the tables, its folder, its plan.json."""

    run: str
    path: str
    plan: Mapping[str, Recorded]


class RunData(Protocol):
    """One run as Arrow tables, where a task of Spark's reads it, for checkers that judge whole
    runs. What is not looked at is not read.

    operations, nemesis, faults: as in `Tables`, without `run`; processes are JSON.
    observations: what observers asked and were answered, as `operations`.
    evidence: kind -> the rows of that kind (`framework.evidence`), for kinds that there are.
    """

    @property
    def run(self) -> str: ...
    @property
    def plan(self) -> Mapping[str, Recorded]: ...
    @property
    def operations(self) -> Table: ...
    @property
    def observations(self) -> Table: ...
    @property
    def nemesis(self) -> Table: ...
    @property
    def faults(self) -> Table: ...
    @property
    def evidence(self) -> Mapping[str, Table]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTables:
    """`RunData` in memory."""

    run: str
    plan: Mapping[str, Recorded]
    operations: Table
    nemesis: Table
    faults: Table
    evidence: Mapping[str, Table]
    observations: Table = field(default_factory=OPERATIONS.empty_table)


class EachRun(Protocol):
    """The runs, to be read by Spark's workers, some by each."""

    def map(self, make: Callable[[RunData], Iterable[Table]], schema: Any) -> DataFrame:
        """The rows, of an Arrow schema, that `make` makes of every run. It is pickled: define it at
        the top level of a module, and bind parameters with `functools.partial`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What checkers read. Every table has a string column `run`; JSON columns are strings.

    operations: run, index (index of the invocation), end (index of the completion, null: none),
        process (as text), f, key (JSON), value (JSON, of the invocation), type (ok, fail, info),
        result (JSON, value of the completion), error_code, error_message, node, ext (JSON),
        invoked_ns, completed_ns (null: none), phase ("main" or "final"). Client operations only.
    nemesis: run, index, time_ns, type, f, value (JSON).
    faults: run, id, fault, shape, victims (JSON), started_ns, injected_ns, healed_ns,
        effective (bool, null unknown), healed (bool, null unknown), ends_processes (bool, null
        unknown), entries (JSON list of the ledger's lines).
    """

    spark: SparkSession
    runs: Sequence[RunInfo]
    operations: DataFrame
    nemesis: DataFrame
    faults: DataFrame
    each: EachRun
    """The same, and the typed evidence, run by run."""
    operation_parts: int = 1
    """With more than one, no task should have to judge all operations of the longest run."""


class Checker(Protocol):
    """Entry-point group `framework.checkers`. Built without arguments, or with an instance of its
    `Options` where it has such a class: a frozen dataclass with defaults, filled from
    `--checker NAME:KEY=VALUE` (`framework.plugins.options`)."""

    name: str
    summary: str
    """What it proves, in a sentence, for the report."""
    requires: frozenset[str]
    """Capabilities and observations (`framework.plugins.capabilities`) without which it is NOT
    APPLICABLE. One that requires nothing, or faults alone, judges the run, not the system."""
    clauses: Sequence[Clause]
    """What it promises, sentence by sentence. The engine holds their floors."""

    def check(self, tables: Tables) -> DataFrame:
        """Rows of `OUTCOME_SCHEMA`. Lazy: the engine unions all checkers' rows and runs one
        job. A run without rows, or below the floor of a clause, is UNKNOWN for this checker."""


class JudgesRuns(Protocol):
    """What a checker may have beside `check`: it judges one run, whoever has it at hand. The engine
    asks so of a run that is short, which one task reads whole, and of one that goes on
    (`framework.checking.prefixes`)."""

    def judge_run(self, run: RunData, budget_s: float) -> Table:
        """The rows of `check`, in Arrow (`OUTCOME_ARROW`). `budget_s`: seconds that a search may
        spend on a key, where the checker's own options do not say."""


class Judge(Protocol):
    """What a task does with a run that it reads. It travels to workers."""

    @property
    def names(self) -> Sequence[str]:
        """The checkers by which it judges."""

    def rows(self, run: RunData) -> Iterable[Table]:
        """`OUTCOME_ARROW`, each under the name of its checker here."""

    def apart(self) -> Sequence["Judge"]:
        """The same, a checker at a time."""


class Batch(Protocol):
    """Checkers that judge a run where one task reads it, several at once, which costs less than to
    read it for each. A checker that can take part has this as its attribute `batch`; those with
    equal ones are asked together, and have to find what they would find alone."""

    def judges(self, checkers: Mapping[str, Any], parts: int) -> Sequence[Judge]:
        """Of a run that is cut into so many parts, if more than one: what tasks are to do, each by
        itself, so that together it is judged by all of them."""
