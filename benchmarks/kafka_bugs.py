"""Known faults of Apache Kafka's releases: how often a run shows each, on a release that has it and
on one that has not. Writes docs/kafka-bugs.md.

    python -m benchmarks.kafka_bugs --results FOLDER [--runs 3] [--only BUG,...] [--no-page]

Runs that the folder has are not recorded again. Each is judged by the checker of its entry alone.
Of a fault that the folder has no runs of, the page keeps what it says.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.known_kafka_bugs import BUGS, NOT_SHOWN, OUT_OF_REACH, Bug
from checkers.kafka_log import LOOKED_AT, KafkaLog, judge_runs
from framework.checking.reading import read_unsealed
from framework.checking.results import CheckerResult, checker_result
from framework.checking.run_checks import RunChecker, judged_run
from framework.evidence.run_events import WHOLE_RUN
from framework.plugins import registry
from framework.plugins.checker import RunTables
from framework.verdict import Verdict
from tests.end_to_end.runs import recorded

PAGE: Final = Path("docs/kafka-bugs.md")
INTRODUCTION: Final = """\
# Known faults of Apache Kafka, seen

Written by `python -m benchmarks.kafka_bugs`; do not edit. Each is shown by runs of one command,
by the clause of a checker that knows nothing of it, on releases as they were released
(`kraft-proof get kafka VERSION`): three controllers and three brokers, or three nodes that are
both, or fewer, in network namespaces of one machine of two cores, which had much else to do. How
often a run shows it depends on the machine, and on what its seed draws. Of releases
that do not have it the first is the first that is mended.
"""


def record(bug: Bug, version: str, seed: int, into: Path) -> None:
    """One run, where it is not there."""
    if not list(into.glob(f"{bug.id}/{version}/*Z-{seed}")):
        recorded(
            into / bug.id,
            version,
            system="kafka",
            workload=bug.workload,
            nodes=bug.nodes,
            nemesis=bug.nemesis,
            time_limit_s=bug.time_limit_s,
            exactly=True,
            rate=bug.rate,
            observe_s=bug.observe_s,
            settings=(*bug.settings, f"version={version}"),
            seed=seed,
        )


Results: TypeAlias = Mapping[tuple[str, str], Sequence[CheckerResult]]
"""Bug and release -> what its checker says of each run."""


def judged(into: Path) -> Results:
    """All runs that there are."""
    return {
        (bug.id, version): [_judged(bug, folder) for folder in folders]
        for bug in BUGS
        for version in bug.releases
        if (folders := sorted(into.glob(f"{bug.id}/{version}/*Z-*")))
    }


def _judged(bug: Bug, folder: Path) -> CheckerResult:
    checker = registry.load("checkers", bug.found_by[0])
    run = read_unsealed(folder.name, str(folder))
    rows = [row for table in _tables(checker, run) for row in table.to_pylist()]
    return checker_result(checker.name, checker.summary, rows, clauses=checker.clauses)


def _tables(checker: RunChecker | KafkaLog, run: RunTables) -> Iterable[pa.Table]:
    """Rows of outcomes, without Spark."""
    if isinstance(checker, RunChecker):
        return judged_run(run, {checker.name: checker.check_run}, WHOLE_RUN)
    asked = run.operations.filter(pc.is_in(run.operations["f"], pa.array(LOOKED_AT)))
    named = pa.array([run.run] * len(asked), pa.string())
    return [judge_runs(asked.add_column(0, "run", named))]


def shows(result: CheckerResult, bug: Bug) -> bool:
    """Whether the bug's clause is broken."""
    return any(
        each.name == bug.found_by[1] and each.verdict is Verdict.INVALID for each in result.clauses
    )


def page(results: Results, before: str = "") -> Iterator[str]:
    """Its lines; `before`: how it stands."""
    there = {each.partition("\n")[0]: each for each in before.split("\n## ")[1:]}
    yield INTRODUCTION
    for bug in BUGS:
        if any((bug.id, version) in results for version in bug.releases):
            yield from _section(bug, results)
        elif bug.title in there:
            yield f"## {there[bug.title].rstrip()}\n"
    if NOT_SHOWN:
        yield "## Tried, and not shown by a checker\n"
        yield "| issue | what was tried, and what came of it |\n| --- | --- |"
        yield from (f"| {issue} | {tried} |" for issue, tried in NOT_SHOWN)
        yield ""
    yield "## Not tried\n"
    yield "| issue | why no run shows it |\n| --- | --- |"
    yield from (f"| {issue} | {why} |" for issue, why in OUT_OF_REACH)


def _section(bug: Bug, results: Results) -> Iterator[str]:
    checker, clause = bug.found_by
    yield f"## {bug.title}\n"
    yield f"[{bug.id}]({bug.source}). {bug.what}\n"
    yield f"    {bug.command()}\n"
    yield f"| release | has it | shown in | `{checker}`, `{clause}` |\n| --- | --- | --- | --- |"
    for version, has in bug.releases.items():
        if runs := results.get((bug.id, version)):
            shown = sum(shows(run, bug) for run in runs)
            said = {True: "yes", False: "no", None: "not known"}[has]
            yield f"| {version} | {said} | {shown} of {len(runs)} | {_finding(runs, clause)} |"
    yield ""


def _finding(runs: Sequence[CheckerResult], clause: str) -> str:
    """What it says, for example. A checker of one clause does not name it."""
    found = (each for run in runs for each in run.findings if each.clause in ("", clause))
    return next((each.message.replace("|", "/") for each in found), "-")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka_bugs")
    parser.add_argument("--results", type=Path, default=Path("results/kafka-bugs"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-page", action="store_true", help="record only")
    options = parser.parse_args(argv)
    wanted = {each for each in options.only.split(",") if each} or {bug.id for bug in BUGS}
    for seed in range(1, options.runs + 1):
        for bug in BUGS:
            for version in bug.releases if bug.id in wanted else ():
                record(bug, version, seed, options.results)
    if not options.no_page:
        lines = page(judged(options.results), PAGE.read_text() if PAGE.exists() else "")
        PAGE.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
