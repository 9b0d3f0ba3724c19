"""`check`: stored runs again, or histories that anyone recorded against a model."""

import json
import resource
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final

from framework.checking import spark as spark_session
from framework.checking.blocks import cores
from framework.checking.clauses import share
from framework.checking.engine import check_each
from framework.checking.foreign import (
    LARGE,
    SMALL,
    Given,
    check_histories,
    find_histories,
    find_jepsens,
    found_at,
    need_model,
    operations_about,
)
from framework.checking.judged import judged_before
from framework.checking.junit import need_target, write_junit
from framework.checking.keyed import DEFAULT_BUDGET_S
from framework.checking.packed import Packed
from framework.checking.precompile import Precompiling
from framework.checking.results import (
    VERDICT_FILE,
    KeyedFinding,
    RunResult,
    refuse_all,
    unread_result,
    verdict_document,
)
from framework.checking.runs import StoredRun, read_each, runs_at
from framework.cli.annotations import annotate, listening
from framework.errors import EngineError, UsageError
from framework.history.event import Json, Recorded
from framework.history.jepsen import MODELS as JEPSEN_MODELS
from framework.history.jepsen import our_model
from framework.history.pairing import Operation
from framework.plugins.options import need_options, options_of
from framework.report.histories import draw as draw_results
from framework.report.render import draw
from framework.verdict import EXIT_CODE, Verdict, worst

FORMATS = ("jsonl", "jepsen")
_NEWS_S: Final = 10.0
_FINDINGS_SHOWN = 10
_OPERATIONS_SHOWN = 12


def check(
    paths: Sequence[Path],
    model: str | None = None,
    budget: float = DEFAULT_BUDGET_S,
    json: bool = False,
    junit: Path | None = None,
    spark_master: str | None = None,
    format: str = "jsonl",
    report: Path | None = None,
    checker: Sequence[str] = (),
    again: bool = False,
) -> int:
    """Checks and prints; returns the exit code of the worst verdict.

    What cannot be read gets a line of its own, and counts as UNKNOWN. Raises `UsageError` if
    nothing can be; as far as that is seen at once, before Spark starts.
    """
    if not paths:
        raise UsageError("nothing to check: name a run's folder, or --model NAME and a history")
    if not budget > 0:
        raise UsageError(f"--budget is {budget:g}; it must be more than 0 seconds")
    if spark_master is not None:
        spark_session.need_master(spark_master)
    if junit is not None:
        need_target(junit)
    if report is not None:
        need_target(report, "--report")
    need_options("checkers", options_of("checkers", checker))
    if checker and (model is not None or format == "jepsen"):
        raise UsageError("--checker is for runs; a model has no options but --budget")
    if format not in FORMATS:
        raise UsageError(f"--format is {format!r}; it must be {' or '.join(FORMATS)}")
    try:
        results = _checked([*map(Path, paths)], model, budget, spark_master, format, checker, again)
    except KeyboardInterrupt:
        raise EngineError(
            "interrupted before all was judged; what was judged by then is kept, and the same "
            "command goes on"
        ) from None
    if junit is not None:
        write_junit(results, junit)
    if report is not None and not draw_results(results, report):
        _say(f"--report {report}: it could not be written")
    verdicts = set()
    for result in results:
        verdicts.add(result.verdict)
        print(json_line(result) if json else verdict_text(result))
        if listening():
            annotate(verdict_document(result), str(result.path))
    sys.stdout.flush()
    return EXIT_CODE[worst(verdicts)]


def _checked(
    paths: list[Path],
    model: str | None,
    budget: float,
    master: str | None,
    format: str,
    checker: Sequence[str],
    again: bool,
) -> Iterable[RunResult]:
    """Runs by their own checkers, or histories against a model."""
    if format == "jepsen":
        if model is None:
            raise UsageError(f"--format jepsen needs --model: {', '.join(JEPSEN_MODELS)}")
        return _check_jepsen(paths, model, budget, master)
    if model is not None:
        return _check_files(paths, model, budget, master)
    return _check_runs(paths, budget, checker, master or spark_session.LOCAL_MASTER, again)


def _check_runs(
    paths: Sequence[Path], budget: float, options: Sequence[str], master: str, again: bool
) -> Packed:
    """Those that were not judged so before, or all. Also draws the reports anew whose verdict, or
    whose checkers' options, may be others."""
    found = found_at(paths, runs_at)
    refused = {path: why for path, why in found.items() if why}
    read = read_each(sorted(found.keys() - refused.keys()))
    refused |= {folder: run for folder, run in read if isinstance(run, str)}
    runs = [run for _, run in read if not isinstance(run, str)]
    if not runs:
        refuse_all(list(refused.values()))
    for name in options_of("checkers", options):
        if not any(name in run.checkers() for run in runs):
            raise UsageError(f"checker {name} is given options, and is asked of no run here")
    results = Packed() if again else _known(runs, options, budget)
    if known := set(results.paths):
        _say(
            f"{len(known)} of {len(runs)} runs were judged before, as they are, by the same "
            "checkers: not again (--again does)"
        )
    left = [run for run in runs if Path(run.info.path) not in known]
    if left:
        results.extend(_judge(left, budget, options, master, again))
    if all(result.error for result in results):
        refuse_all([*refused.values(), *(result.error for result in results)])
    results.extend(unread_result(path, why) for path, why in refused.items())
    results.sort()
    return results


def _known(
    runs: Sequence[StoredRun], options: Sequence[str], budget: float, spark: Any = None
) -> Packed:
    """The results of those that would be judged as they were; of copies with Spark alone."""
    before = judged_before(runs, options=options, budget_s=budget, spark=spark)
    return Packed(result for result in before if result is not None)


def _judge(
    runs: Sequence[StoredRun], budget: float, options: Sequence[str], master: str, again: bool
) -> Packed:
    results = Packed()
    other = []
    with Precompiling(_say) as precompiling, spark_session.running(master) as spark:
        if not again:
            judged = [run for run in runs if Path(run.info.path, VERDICT_FILE).exists()]
            results = _known(judged, options, budget, spark)
        if known := set(results.paths):
            _say(f"{len(known)} runs are copies of such that were judged: not again")
            runs = [run for run in runs if Path(run.info.path) not in known]
        before = [_stored_verdict(Path(run.info.path)) for run in runs]
        precompiling.wait()
        news = _News(len(runs))
        for number, result in check_each(spark, runs, options=options, budget_s=budget):
            results.append(result)
            news.add(result.verdict)
            if not result.error and (options or before[number] != result.verdict.value):
                other.append(result.path)
    for folder in other:
        draw(folder)
    return results


class _News:
    """Says now and then how far a check of many runs is, and what was found."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._verdicts = Counter[Verdict]()
        self._next = monotonic() + _NEWS_S

    def add(self, verdict: Verdict) -> None:
        self._verdicts[verdict] += 1
        if self._runs > 1 and monotonic() >= self._next:
            counts = {each.value: self._verdicts[each] for each in Verdict if self._verdicts[each]}
            said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            _say(f"{self._verdicts.total()} of {self._runs} runs are judged: {said}")
            self._next = monotonic() + _NEWS_S


def _say(line: str) -> None:
    print(f"framework: {line}", file=sys.stderr, flush=True)


def _stored_verdict(folder: Path) -> Recorded:
    """The verdict that a run has so far; None: none that can be read."""
    try:
        return json.loads((folder / VERDICT_FILE).read_text())["verdict"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _check_files(
    paths: Sequence[Path], model: str, budget: float, master: str | None
) -> list[RunResult]:
    need_model(model)
    return _check_given(find_histories(paths), model, budget, master)


def _check_jepsen(
    paths: Sequence[Path], model: str, budget: float, master: str | None
) -> list[RunResult]:
    ours = our_model(model)
    need_model(ours)
    return _check_given(find_jepsens(paths, model), ours, budget, master)


def _check_given(
    histories: Sequence[Given], model: str, budget: float, master: str | None
) -> list[RunResult]:
    """Small ones here, others on Spark; all on Spark if somebody says on which."""
    operations = operations_about(histories)
    if master is None and operations <= SMALL:
        results = check_histories(None, histories, model, budget)
        where = f"in this process ({cores()} cores, {_memory_mib()} MiB)"
    else:
        master = master or spark_session.LOCAL_MASTER
        with spark_session.running(master, large=operations > LARGE) as spark:
            results = check_histories(spark, histories, model, budget)
        where = f"on Spark {master}"
    took = max(result.timings["check_s"] for result in results if not result.error)
    _say(f"checked {where}, {took:.1f} s")
    return results


def _memory_mib() -> int:
    """The most that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def json_line(result: RunResult) -> str:
    """One line of `--json`."""
    if result.error:
        unread = {"path": str(result.path), "verdict": result.verdict.value, "error": result.error}
        return json.dumps(unread)
    document = verdict_document(result)
    line = {
        "path": str(result.path),
        "verdict": result.verdict.value,
        "checkers": {
            checker["name"]: {field: checker.get(field) for field in _OF_A_CHECKER}
            for checker in document["checkers"]
        },
        "findings": [
            {"checker": checker["name"], **finding}
            for checker in document["checkers"]
            for finding in checker["findings"]
        ],
        "seen": sum(checker.seen for checker in result.checkers),
        "notes": list(result.notes),
        "not_applicable": dict(result.not_applicable),
    }
    return json.dumps(line)


_OF_A_CHECKER: Final = (
    *("verdict", "seen", "keys", "note", "contracts", "clauses", "options", "figures"),
)
"""What `--json` has of verdict.json."""


def verdict_text(result: RunResult) -> str:
    """A result for people: a line of verdict, then what is not VALID and why."""
    if result.error:
        about = "" if str(result.path) in result.error else f"{result.path}: "
        return f"error  {about}{result.error}"
    lines = [f"{result.verdict.value}  {result.path}"]
    lines += [f"  note: {note}" for note in result.notes]
    for checker in result.checkers:
        held = share(clause.verdict for clause in checker.clauses)
        what = f"{held} clauses, {checker.seen} observations, {checker.keys} keys"
        note = f" ({checker.note})" if checker.note else ""
        given = f":{checker.options}" if checker.options else ""
        lines.append(f"  {checker.verdict.value:8}{checker.name}{given}: {what}{note}")
        for finding in checker.findings[:_FINDINGS_SHOWN]:
            lines += _finding_lines(finding, result)
        if len(checker.findings) > _FINDINGS_SHOWN:
            lines.append(f"    ... and {len(checker.findings) - _FINDINGS_SHOWN} more findings")
    lines += [f"  NOT APPLICABLE {name}: {why}" for name, why in result.not_applicable.items()]
    return "\n".join(lines)


def _finding_lines(finding: KeyedFinding, result: RunResult) -> list[str]:
    key = f"{finding.key}: " if finding.key else ""
    message, *why = finding.message.split("\n")
    lines = [f"    {key}{message}", *(f"      {line}" for line in why)]
    lines += [f"      promised by {finding.promise}"] * bool(finding.promise)
    if why:
        return lines
    for op in sorted(finding.operations)[:_OPERATIONS_SHOWN]:
        if op in result.cited:
            lines.append(f"      {_operation_line(result.cited[op])}")
    if len(finding.operations) > _OPERATIONS_SHOWN:
        lines.append(f"      ... and {len(finding.operations) - _OPERATIONS_SHOWN} more operations")
    return lines


def _operation_line(operation: Operation) -> str:
    outcome = operation.type if operation.end is not None else "no completion"
    error = f" {operation.error[0]}" if operation.error else ""
    result = "" if operation.result is None else f" {_short(operation.result)}"
    return (
        f"index {operation.index}: process {operation.process} {operation.f} "
        f"key {_short(operation.key)} value {_short(operation.value)} -> {outcome}{error}{result}"
    )


def _short(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
