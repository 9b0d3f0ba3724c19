"""Checking stored runs: all checkers over all runs, in one job of Spark's."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final, TypeAlias

import pyarrow as pa

from framework.checking.asked import Asked, Asking
from framework.checking.clauses import clauses_of
from framework.checking.contracts import contracts_of
from framework.checking.gathering import Gathered, dealt_out, gathered
from framework.checking.judged import judged_as, named_by
from framework.checking.keyed import BUDGET_CONF, FAILED, budget_s
from framework.checking.one_job import judged_in_one_job
from framework.checking.outcomes_table import FOLDER as OUTCOMES_FOLDER
from framework.checking.outcomes_table import write_outcomes
from framework.checking.promised import attributed, judged_rows, promises_of, said_of
from framework.checking.results import (
    VERDICT_FILE,
    CheckerResult,
    RunResult,
    by_checker,
    checker_result,
    failed_result,
    refuse_all,
    run_result,
    unread_result,
    write_verdict,
)
from framework.checking.runs import StoredRun, checkers_of, read_run, read_runs
from framework.checking.stored import Held, cited_among, hold
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.plugins.checker import SparkSession, Table

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
        (held,) = hold(spark, [run.info], Path(aside))
        if isinstance(held, Held):
            _practise(spark, Asking().of(0, run, held, checkers))
            return True
    return False


def _practise(spark: SparkSession, asked: Asked) -> None:
    """Whichever worker is given which checkers in the end, it has seen them all: each core judges
    the run by all of them, at the same time, behind a check as it will be."""
    deque(gathered(spark, [asked]), maxlen=0)
    every, _ = dealt_out(spark, [asked], 1)
    deque(judged_in_one_job(spark, every * spark.sparkContext.defaultParallelism), maxlen=0)


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
    """The results of `check_stored`, one at a time, as they come, each with the place of its run:
    those of thousands of runs need not be there together."""
    began = monotonic()
    if budget_s is not None:
        spark.conf.set(BUDGET_CONF, str(budget_s))
    held = hold(spark, [run.info for run in runs])
    read_s = monotonic() - began
    asking = Asking(options, strict=checkers is not None)
    asked = []
    own = checkers_of(runs) if checkers is None else [set(checkers)] * len(runs)
    for number, (run, found, names) in enumerate(zip(runs, held, own, strict=True)):
        if isinstance(found, str):
            yield number, unread_result(Path(run.info.path), found)
        else:
            asked.append(asking.of(number, run, found, names))
    began = monotonic()
    for some in gathered(spark, asked):
        took = {"read_s": round(read_s, 3), "check_s": round(monotonic() - began, 3)}
        for each, result in zip(some, _results(spark, some, took), strict=True):
            yield each.asked.number, _kept(finish(result) if finish else result)


# --- what comes of them -------------------------------------------------------------------


def _results(
    spark: SparkSession, some: Sequence[Gathered], timings: Mapping[str, float]
) -> Iterator[RunResult]:
    """Of runs of which all is there. What findings of frames name is read once more, by tasks."""
    judged = [_verdicts(each) for each in some]
    cited = [_cited(each.cited) for each in some]
    named = [
        named_by(own) - {operation.index for operation in known}
        for own, known in zip(judged, cited, strict=True)
    ]
    more = cited_among(
        spark,
        [each.asked.held for each in some],
        {each.asked.run.info.run: own for each, own in zip(some, named, strict=True)},
    )
    for each, own, known in zip(some, judged, cited, strict=True):
        also = more.get(each.asked.run.info.run, ())
        yield _result(spark, each.asked, own, [*known, *also], timings)


def _cited(tables: Sequence[Table]) -> list[Operation]:
    there = [each for each in tables if len(each)]
    return [*operations_of(pa.concat_tables(there))] if there else []


def _result(
    spark: SparkSession,
    asked: Asked,
    judged: list[CheckerResult],
    cited: Sequence[Operation],
    timings: Mapping[str, float],
) -> RunResult:
    run = asked.run
    if ended_early := run.info.plan.get("ended_early"):
        note = f"the framework itself failed: {ended_early}"
        judged = [*judged, failed_result(WHOLE, "The run came to its end", note)]
    return run_result(
        run.info.run,
        Path(run.info.path),
        judged,
        operations=cited,
        notes=asked.held.manifest.notes,
        timings=timings,
        not_applicable=_not_applicable(run, asked.wanted),
        judged=_judged_as(spark, asked, judged),
    )


def _verdicts(found: Gathered) -> list[CheckerResult]:
    """What each checker says of one run."""
    asked, of_checker = found.asked, by_checker(found.outcomes)
    judged = []
    promises = promises_of(asked.held.info.plan)
    for name, options in asked.wanted.items():
        if name in asked.broken:
            judged.append(failed_result(name, "", asked.broken[name]))
            continue
        plugin = asked.plugins[name]
        contracts, clauses = contracts_of(plugin, asked.held.manifest.counts), clauses_of(plugin)
        said = said_of(name, clauses, promises)
        made = judged_rows(of_checker.get(name, []), clauses, said)
        result = checker_result(name, plugin.summary, made, contracts, options, clauses)
        judged.append(attributed(result, clauses, said))
    return judged


def _judged_as(spark: SparkSession, asked: Asked, judged: Sequence[CheckerResult]) -> str:
    """What the verdict follows from; empty where a checker failed, which it may not do again."""
    if any(FAILED in each.note for each in judged):
        return ""
    return judged_as(asked.held.manifest, asked.plugins, asked.wanted, budget_s(spark))


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


def _not_applicable(run: StoredRun, wanted: Collection[str]) -> dict[str, str]:
    """What the run's plan says of checkers that were not asked; older plans say nothing."""
    said = run.info.plan.get("not_applicable")
    if not isinstance(said, Mapping):
        return {}
    return {name: str(reason) for name, reason in said.items() if name not in wanted}
