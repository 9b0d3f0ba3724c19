"""Keyed checkers: one pure kernel for each group of rows, run by Spark's Python workers.

A kernel takes the rows of one group as dictionaries, in order, and returns an `Outcome`. It
knows nothing of Spark, so that it can be tested as a plain function. Kernels travel to the
workers by reference: define them at the top level of a module, and bind parameters with
`functools.partial`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa

from framework.checking.workers import settle_in
from framework.history.event import Json
from framework.plugins.checker import OUTCOME_SCHEMA, Count, DataFrame, Finding, SparkSession
from framework.plugins.options import need_positive
from framework.verdict import Verdict

Row = dict[str, Any]
Kernel = Callable[[list[Row]], "Outcome"]
T = TypeVar("T")

BUDGET_CONF: Final = "kraftproof.budget_s"
DEFAULT_BUDGET_S: Final = 30.0

NOTHING: Final = "nothing to check was seen"
FAILED: Final = "the checker failed"
"""How the note begins of one that did."""
_PLAIN: Final = re.compile(r'"(?!(?:true|false|null|NaN|Infinity)")([A-Za-z_][A-Za-z0-9_.:/-]*)"')
"""A string that is no other key without its quotes; most are."""
_BUCKET: Final = "_bucket"
_TABLES_PER_PARTITION: Final = 4
"""So that a worker has a part of its partition in memory at a time."""

OUTCOME_ARROW: Final = pa.schema(
    [
        (name, pa.int64() if name == "seen" else pa.string())
        for name in (
            *("run", "checker", "key", "verdict", "seen"),
            *("findings", "figures", "note", "clauses"),
        )
    ]
)
"""`OUTCOME_SCHEMA` in Arrow's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a kernel found in one group. `seen` counts the observations that it judged."""

    verdict: Verdict
    seen: int
    findings: Sequence[Finding] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    """Why UNKNOWN."""
    clauses: Mapping[str, Count] | None = None
    """By clause, what was compared. None: `seen`, of the only clause."""


Judged: TypeAlias = Outcome | Mapping[str, Outcome]
"""Of a group, or of each part of it by key."""


def judged(
    seen: int, findings: Sequence[Finding] = (), figures: Mapping[str, float] | None = None
) -> Outcome:
    """INVALID if there are findings, else VALID; UNKNOWN if nothing was seen."""
    if findings:
        verdict, note = Verdict.INVALID, ""
    elif seen:
        verdict, note = Verdict.VALID, ""
    else:
        verdict, note = Verdict.UNKNOWN, NOTHING
    return Outcome(verdict=verdict, seen=seen, findings=findings, figures=figures or {}, note=note)


def outcome_row(run: str, checker: str, key: str, outcome: Outcome) -> Row:
    """A row of `OUTCOME_SCHEMA`, in its order."""
    return {
        "run": run,
        "checker": checker,
        "key": key,
        "verdict": outcome.verdict.value,
        "seen": outcome.seen,
        "findings": json.dumps([asdict(finding) for finding in outcome.findings])
        if outcome.findings
        else "[]",
        "figures": json.dumps(dict(outcome.figures)),
        "note": outcome.note,
        "clauses": None if outcome.clauses is None else json.dumps(dict(outcome.clauses)),
    }


def keyed(
    rows: DataFrame,
    *,
    checker: str,
    kernel: Kernel,
    by: Sequence[str] = (),
    order: Sequence[str] = (),
) -> DataFrame:
    """Outcome rows of `kernel` for each group of `rows` with the same `run` and `by`.

    The rows of a group are sorted by the columns `order` (nulls first). The outcome's key is the
    group's values of `by` joined with "/", JSON strings without their quotes; without `by` a
    group is a whole run, and the key is empty. A kernel that raises makes its own group UNKNOWN,
    with the error as the note; other groups go on.
    """

    def run_group(group: pa.Table) -> pa.Table:
        return _run_group(checker, kernel, tuple(by), tuple(order), group)

    return rows.groupBy("run", *by).applyInArrow(run_group, OUTCOME_SCHEMA)


def keyed_tables(
    rows: DataFrame, *, kernel: Callable[[pa.Table], pa.Table], by: Sequence[str] = ("key",)
) -> DataFrame:
    """Outcome rows of a kernel that takes Arrow tables: each has all rows of some groups with the
    same `run` and `by`, in any order, and it returns a row of `OUTCOME_ARROW` for each group.

    So thousands of small groups cost no call each. What a group's row is must not depend on
    which others are in its table.
    """
    tables = _TABLES_PER_PARTITION * int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    names = ", ".join(f"`{name}`" for name in ("run", *by))
    bucketed = rows.selectExpr("*", f"pmod(hash({names}), {tables}) as {_BUCKET}")

    def run_table(table: pa.Table) -> pa.Table:
        settle_in()
        return kernel(table.drop_columns([_BUCKET]))

    return bucketed.groupBy(_BUCKET).applyInArrow(run_table, OUTCOME_SCHEMA)


def _run_group(
    checker: str, kernel: Kernel, by: tuple[str, ...], order: tuple[str, ...], group: pa.Table
) -> pa.Table:
    settle_in()
    rows: list[Row] = group.to_pylist()
    rows.sort(key=lambda row: [(row[name] is not None, row[name]) for name in order])
    run, key = rows[0]["run"], "/".join(unquoted(rows[0][name]) for name in by)
    return judged_together(run, key, {checker: kernel}, lambda: rows)


def judged_together(
    run: str, key: str, kernels: Mapping[str, Callable[[T], "Judged"]], prepare: Callable[[], T]
) -> pa.Table:
    """Outcome rows of what each kernel, by the name of its checker, finds in one group."""
    try:
        prepared = prepare()
        outcomes = {name: _outcome(kernel, prepared) for name, kernel in kernels.items()}
    except Exception as error:
        outcomes = {name: failed(error) for name in kernels}
    made = [
        outcome_row(run, name, part, outcome)
        for name, found in outcomes.items()
        for part, outcome in ({key: found} if isinstance(found, Outcome) else found).items()
    ]
    return pa.Table.from_pylist(made, schema=OUTCOME_ARROW)


def _outcome(kernel: Callable[[T], "Judged"], prepared: T) -> "Judged":
    try:
        return kernel(prepared)
    except Exception as error:
        return failed(error)


def failed(error: Exception) -> "Outcome":
    """Of what could not be judged."""
    return unknown(note_of(error))


def unknown(note: str) -> "Outcome":
    """Of what could not be judged, and why."""
    return Outcome(verdict=Verdict.UNKNOWN, seen=0, note=note)


def budget_s(spark: SparkSession) -> float:
    """Seconds that a search may spend on one key: `--budget`, through the session."""
    return float(spark.conf.get(BUDGET_CONF, str(DEFAULT_BUDGET_S)))


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Of a checker that searches. `budget`: seconds that it may spend on one key; None: what
    `--budget` says."""

    budget: float | None = None

    def __post_init__(self) -> None:
        need_positive(budget=self.budget)

    def budget_s(self, spark: SparkSession) -> float:
        return self.within(budget_s(spark))

    def within(self, budget_s: float) -> float:
        """`budget_s` is what `--budget` says."""
        return budget_s if self.budget is None else self.budget


def unquoted(value: Json) -> str:
    """A key for people: the JSON string `"t1"` becomes t1, anything else its text. So does a
    string that without its quotes would be another key (`""`, `"1"`, `"true"`), or that holds
    what terminals obey (`"a\\nb"`)."""
    if not (isinstance(value, str) and value[:1] == '"'):
        return str(value)
    if plain := _PLAIN.fullmatch(value):
        return plain[1]
    name: str = json.loads(value)
    return name if name and name.isprintable() and not _is_json(name) else value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def note_of(error: Exception) -> str:
    """Why something is UNKNOWN."""
    return f"{FAILED}: {type(error).__name__}: {error}".splitlines()[0]


def reason(error: Exception) -> str:
    """As `note_of`, of what Spark raises: it says what matters in its last lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("File ", "at ", "SQLSTATE"))]
    return f"{FAILED}: {type(error).__name__}: {(telling or ['?'])[-1]}"[:500]
