"""Checking stored runs: all checkers over all runs in one Spark job, or over some hundred."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.clauses import clauses_of
from framework.checking.contracts import contracts_of
from framework.checking.dealing import dealt, rows_looked_at
from framework.checking.judged import judged_as, loaded, named_by
from framework.checking.keyed import BUDGET_CONF, FAILED, OUTCOME_ARROW, budget_s
from framework.checking.outcomes_table import FOLDER as OUTCOMES_FOLDER
from framework.checking.outcomes_table import write_outcomes
from framework.checking.promised import attributed, judged_rows, promises_of, said_of
from framework.checking.results import (
    NO_FINDINGS,
    VERDICT_FILE,
    CheckerResult,
    RunResult,
    checker_result,
    failed_result,
    refuse_all,
    run_result,
    unread_result,
    write_verdict,
)
from framework.checking.runs import StoredRun, checkers_of, read_run, read_runs
from framework.checking.stored import Held, cited_among, hold, spread, tables
from framework.plugins.checker import Batch, Checker, DataFrame, SparkSession, Tables

Row = Mapping[str, Any]
WHOLE: Final = "whole-run"
"""The name under which a run is UNKNOWN that the framework's own failure cut short."""
Finish: TypeAlias = Callable[[RunResult], RunResult]
"""Adds to a result before it is written what only its run knows."""


def check_runs(
    spark: SparkSession,
    folders: Iterable[Path],
    checkers: Sequence[str] | None = None,
    *,
    budget_s: float | None = None,
    finish: Finish | None = None,
) -> list[RunResult]:
    """Checks runs, writes each one's verdict.json, and returns the results in the same order.

    Without names each run is checked by the checkers of its plan. Raises `UsageError` for a
    folder that is not a run's, or malformed, or an unknown checker name. A checker that fails is
    UNKNOWN with the error named, and stops no other.
    """
    results = check_stored(spark, read_runs(folders), checkers, budget_s=budget_s, finish=finish)
    if refused := [result.error for result in results if result.error]:
        refuse_all(refused)
    return results


def warm_up_checkers(spark: SparkSession, folder: Path, checkers: Sequence[str]) -> bool:
    """Checks what a run has recorded so far, and forgets the outcome: the verdict comes seconds
    sooner when Spark and its Python workers have seen every checker before, and evidence of every
    kind. Never raises; False where the folder could not be read."""
    with suppress(Exception), TemporaryDirectory(prefix="kraft-proof-") as aside:
        run = read_run(folder)
        plugins, _ = loaded(sorted(checkers), run.checker_options(()), strict=False)
        (held,) = hold(spark, [run.info], Path(aside))
        if isinstance(held, Held):
            _warm_up(tables(spark, [held]), plugins)
            return True
    return False


def check_stored(
    spark: SparkSession,
    runs: Sequence[StoredRun],
    checkers: Sequence[str] | None = None,
    *,
    options: Sequence[str] = (),
    budget_s: float | None = None,
    finish: Finish | None = None,
) -> list[RunResult]:
    """`check_runs` for runs whose plans were read already; one that is malformed is UNKNOWN, and
    says why. `options` of checkers (NAME:KEY=VALUE,...) go before those that a run's plan has."""
    given = check_each(spark, runs, checkers, options=options, budget_s=budget_s, finish=finish)
    results = dict(given)
    return [results[number] for number in range(len(runs))]


def check_each(
    spark: SparkSession,
    runs: Sequence[StoredRun],
    checkers: Sequence[str] | None = None,
    *,
    options: Sequence[str] = (),
    budget_s: float | None = None,
    finish: Finish | None = None,
) -> Iterator[tuple[int, RunResult]]:
    """The results of `check_stored`, one at a time, each with the place of its run: those of
    thousands of runs need not be there together."""
    began = monotonic()
    if budget_s is not None:
        spark.conf.set(BUDGET_CONF, str(budget_s))
    held = hold(spark, [run.info for run in runs])
    read_s = monotonic() - began
    alike: dict[tuple[tuple[tuple[str, str], ...], int], list[int]] = {}
    for number, (run, found) in enumerate(zip(runs, held, strict=True)):
        if isinstance(found, str):
            yield number, unread_result(Path(run.info.path), found)
        else:
            given = tuple(sorted(run.checker_options(options).items()))
            alike.setdefault((given, found.evidence_parts), []).append(number)
    most = _RUNS_PER_CORE * spark.sparkContext.defaultParallelism
    for (given, _), group in alike.items():
        for first in range(0, len(group), most):
            numbers = group[first : first + most]
            asked = [
                (runs[number], found)
                for number in numbers
                if isinstance(found := held[number], Held)
            ]
            results = _check_alike(spark, asked, checkers, dict(given), read_s, finish)
            yield from zip(numbers, results, strict=True)


_RUNS_PER_CORE: Final = 64
"""Runs that a job judges, for each core: enough to keep all at work, while what the driver is given
of them, some 80 KB a run, does not grow with all that there are. Not all in one job, which gives
its rows when all its tasks have ended: who interrupts a check keeps the jobs that are done, and a
run on which workers die costs those of its job alone."""


def _check_alike(
    spark: SparkSession,
    runs: Sequence[tuple[StoredRun, Held]],
    checkers: Sequence[str] | None,
    options: Mapping[str, str],
    read_s: float,
    finish: Finish | None,
) -> Iterator[RunResult]:
    """Some runs whose checkers have the same options, and that are about as long, in one job."""
    began = monotonic()
    own = checkers_of(run for run, _ in runs)
    wanted = {
        run.info.run: names if checkers is None else set(checkers)
        for (run, _), names in zip(runs, own, strict=True)
    }
    names = sorted(set().union(*wanted.values()))
    plugins, unloaded = loaded(names, options, strict=checkers is not None)
    broken = {name: _why(error) for name, error in unloaded.items()}
    helds = [held for _, held in runs]
    with spread(spark, helds):
        rows, failed = _outcomes(tables(spark, helds), plugins, _loads(helds, plugins))
    broken |= failed
    timings = {"read_s": round(read_s, 3), "check_s": round(monotonic() - began, 3)}
    found = _by_run(rows)
    del rows
    known = {
        name: _judged(wanted[name], plugins, broken, options, held, found)
        for name, held in zip(wanted, helds, strict=True)
        if name in found and _has_findings(found[name])
    }
    cited = cited_among(spark, helds, {name: named_by(each) for name, each in known.items()})
    for run, held in runs:
        judged = known.pop(run.info.run, None)
        if judged is None:
            judged = _judged(wanted[run.info.run], plugins, broken, options, held, found)
        if ended_early := run.info.plan.get("ended_early"):
            note = f"the framework itself failed: {ended_early}"
            judged.append(failed_result(WHOLE, "The run came to its end", note))
        result = run_result(
            run.info.run,
            Path(run.info.path),
            judged,
            operations=cited.get(run.info.run, ()),
            notes=held.manifest.notes,
            timings=timings,
            not_applicable=_not_applicable(run, wanted[run.info.run]),
            judged=_judged_as(spark, held, wanted[run.info.run], plugins, options, judged),
        )
        yield _kept(finish(result) if finish else result)


def _judged(
    wanted: Iterable[str],
    plugins: Mapping[str, Checker],
    broken: Mapping[str, str],
    options: Mapping[str, str],
    held: Held,
    rows: Mapping[str, pa.Table],
) -> list[CheckerResult]:
    """What each checker says of one run."""
    of_checker: dict[str, list[Row]] = {}
    if held.info.run in rows:
        for row in rows[held.info.run].to_pylist():
            of_checker.setdefault(row["checker"], []).append(row)
    judged = []
    promises = promises_of(held.info.plan)
    for name in sorted(wanted):
        summary = plugins[name].summary if name in plugins else ""
        if name in broken:
            judged.append(failed_result(name, summary, broken[name]))
            continue
        contracts = contracts_of(plugins[name], held.manifest.counts)
        found, clauses = of_checker.get(name, []), clauses_of(plugins[name])
        given = options.get(name, "")
        said = said_of(name, clauses, promises)
        made = judged_rows(found, clauses, said)
        result = checker_result(name, summary, made, contracts, given, clauses)
        judged.append(attributed(result, clauses, said))
    return judged


def _by_run(rows: pa.Table) -> dict[str, pa.Table]:
    """Run -> its rows."""
    ordered = rows.sort_by("run")
    counted = pc.value_counts(ordered.column("run"))
    ends = np.cumsum(counted.field("counts").to_numpy()).tolist()
    names = counted.field("values").to_pylist()
    return {
        name: ordered.slice(begin, end - begin)
        for name, begin, end in zip(names, [0, *ends], ends, strict=False)
    }


def _has_findings(rows: pa.Table) -> bool:
    return not set(rows.column("findings").unique().to_pylist()) <= set(NO_FINDINGS)


def _judged_as(
    spark: SparkSession,
    held: Held,
    wanted: Iterable[str],
    plugins: Mapping[str, Checker],
    options: Mapping[str, str],
    judged: Sequence[CheckerResult],
) -> str:
    """What the verdict follows from; empty where a checker failed, which it may not do again."""
    if any(FAILED in each.note for each in judged):
        return ""
    checkers = {name: plugins[name] for name in wanted}
    return judged_as(held.manifest, checkers, options, budget_s(spark))


def _kept(result: RunResult) -> RunResult:
    """The result, written; where it cannot be, in somebody else's folder, it says so."""
    what = VERDICT_FILE
    try:
        document = write_verdict(result)
        what = f"{OUTCOMES_FOLDER}/"
        write_outcomes(result.path, document)
    except OSError as error:
        note = (
            f"{what} was not written: {error.strerror}; when that is mended: "
            f"python -m framework check --again {result.path}"
        )
        return replace(result, notes=[*result.notes, note])
    return result


def _not_applicable(run: StoredRun, wanted: set[str]) -> dict[str, str]:
    """What the run's plan says of checkers that were not asked; older plans say nothing."""
    said = run.info.plan.get("not_applicable")
    if not isinstance(said, Mapping):
        return {}
    return {name: str(reason) for name, reason in said.items() if name not in wanted}


_MAX_PASSES: Final = 4
"""Beside the passes of other checkers, more of them cost more than their parallelism gains."""
Members: TypeAlias = Mapping[str, Checker]
"""The checkers of one pass over the tables, by name."""


def _loads(runs: Sequence[Held], plugins: Members) -> Mapping[str, int]:
    """Checker -> the rows that it looks at in all these runs."""
    counts = [run.manifest.counts for run in runs]
    return {
        name: sum(rows_looked_at(plugin, each) for each in counts)
        for name, plugin in plugins.items()
    }


def _outcomes(
    stored: Tables, plugins: Members, loads: Mapping[str, int]
) -> tuple[pa.Table, dict[str, str]]:
    """All outcome rows in one job; if that fails, in a job for each pass, then each checker."""
    broken: dict[str, str] = {}
    frames: list[tuple[Members, DataFrame]] = []
    passes = _passes(stored, plugins, loads)
    for members in passes:
        try:
            frames.append((members, _frame(stored, members)))
        except Exception as error:
            _apart(members, passes, broken, error)
    if not frames:
        return OUTCOME_ARROW.empty_table(), broken
    with suppress(Exception):
        return _collect(_union(each for _, each in frames)), broken
    tables = [OUTCOME_ARROW.empty_table()]
    passes = [members for members, _ in frames]
    for members in passes:
        try:
            tables.append(_collect(_frame(stored, members)))
        except Exception as error:
            _apart(members, passes, broken, error)
    return pa.concat_tables(tables), broken


def _warm_up(stored: Tables, plugins: Members) -> None:
    """Whichever worker is given which checkers in the end, it has seen them all: each batch is
    judged whole by each core, at the same time, and so is what is in none."""
    _outcomes(stored, plugins, {})
    cores = stored.spark.sparkContext.defaultParallelism
    for members in _passes(stored, plugins, {}, most=1):
        _collect(_union(_frame(stored, members) for _ in range(cores)))


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionAll(right), frames)


def _apart(
    members: Members, passes: list[Members], broken: dict[str, str], error: Exception
) -> None:
    """Of a pass that failed, each checker gets one of its own; one alone is broken."""
    if len(members) == 1:
        broken |= {name: _why(error) for name in members}
    else:
        passes += [{name: checker} for name, checker in members.items()]


def _passes(
    stored: Tables, plugins: Members, loads: Mapping[str, int], most: int = _MAX_PASSES
) -> list[Members]:
    """Checkers of one batch together, dealt out by their loads to as many passes as there are cores
    that runs alone would leave idle; each of the others by itself, and all where runs are long:
    what one looks at is enough for a task."""
    passes: list[Members] = []
    batches: dict[Batch, list[str]] = {}
    for name, checker in sorted(plugins.items()):
        batch = getattr(checker, "batch", None)
        if batch is None or stored.parts > 1:
            passes.append({name: checker})
        else:
            batches.setdefault(batch, []).append(name)
    for names in batches.values():
        cores = stored.spark.sparkContext.defaultParallelism // max(1, len(stored.runs))
        shares = dealt(names, loads, max(1, min(most, cores)))
        passes += [{name: plugins[name] for name in each} for each in shares]
    return passes


def _frame(stored: Tables, members: Members) -> DataFrame:
    if len(members) == 1:
        ((name, checker),) = members.items()
        frame = checker.check(stored)
        counted = "clauses" if "clauses" in frame.columns else "cast(null as string) as clauses"
        return frame.selectExpr(f"'{name}' as checker", *_COLUMNS, counted)
    batch: Batch = getattr(next(iter(members.values())), "batch")  # noqa: B009 - optional
    return batch.check(stored, members).selectExpr("checker", *_COLUMNS, "clauses")


_COLUMNS = (
    "run",
    "key",
    "verdict",
    "cast(seen as long) as seen",
    "findings",
    "figures",
    "note",
)


def _collect(frame: DataFrame) -> pa.Table:
    return frame.toArrow().select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW)


def _why(error: Exception) -> str:
    """One line that names an error; Spark's say what matters in their last lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("File ", "at ", "SQLSTATE"))]
    return f"{FAILED}: {type(error).__name__}: {(telling or ['?'])[-1]}"[:500]
