"""Known faults of Apache Kafka's releases: how often a run shows each, on a release that has it and
on one that has not. Writes docs/kafka-bugs.md.

    python -m benchmarks.kafka_bugs --results FOLDER [--runs 3] [--only BUG,...] [--no-page]

Runs that the folder has are not recorded again; all are checked in one job.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.known_kafka_bugs import BUGS, OUT_OF_REACH, Bug
from framework.checking.engine import check_runs
from framework.checking.results import RunResult
from framework.checking.runs import find_runs
from framework.checking.spark import running
from framework.verdict import Verdict
from tests.end_to_end.runs import recorded

PAGE: Final = Path("docs/kafka-bugs.md")
INTRODUCTION: Final = """\
# Known faults of Apache Kafka, seen

Written by `python -m benchmarks.kafka_bugs`; do not edit. Each is shown by runs of one command,
by the clause of a checker that knows nothing of it, on releases as they were released
(`kraft-proof get kafka VERSION`): three controllers and three brokers in network namespaces of one
machine of two cores, which had much else to do. How often a run shows it depends on the machine,
and on what its seed draws. A release that does not have it is the first that is mended.
"""


def record(bug: Bug, version: str, seed: int, into: Path) -> None:
    """One run, where it is not there."""
    if not list(into.glob(f"{bug.id}/{version}/*Z-{seed}")):
        recorded(
            into / bug.id,
            version,
            system="kafka",
            workload=bug.workload,
            nemesis=bug.nemesis,
            time_limit_s=bug.time_limit_s,
            exactly=True,
            rate=bug.rate,
            observe_s=bug.observe_s,
            settings=(*bug.settings, f"version={version}"),
            seed=seed,
        )


def judged(into: Path) -> Mapping[tuple[str, str], list[RunResult]]:
    """Bug and release -> what came of its runs."""
    folders = [folder for folder in find_runs([into]) if folder.parent.name != "latest"]
    with running("local[*]") as spark:
        results = check_runs(spark, folders)
    found: dict[tuple[str, str], list[RunResult]] = {}
    for folder, result in zip(folders, results, strict=True):
        found.setdefault((folder.parent.parent.name, folder.parent.name), []).append(result)
    return found


def shows(run: RunResult, bug: Bug) -> bool:
    """Whether its clause is broken in this run."""
    checker, clause = bug.found_by
    return any(
        each.name == clause and each.verdict is Verdict.INVALID
        for one in run.checkers
        if one.name == checker
        for each in one.clauses
    )


def page(results: Mapping[tuple[str, str], Sequence[RunResult]]) -> Iterator[str]:
    """Its lines."""
    yield INTRODUCTION
    for bug in BUGS:
        if any((bug.id, version) in results for version in bug.releases):
            yield from _section(bug, results)
    yield "## Not tried\n"
    yield "| issue | why no run shows it |\n| --- | --- |"
    yield from (f"| {issue} | {why} |" for issue, why in OUT_OF_REACH)


def _section(bug: Bug, results: Mapping[tuple[str, str], Sequence[RunResult]]) -> Iterator[str]:
    yield f"## {bug.title}\n"
    yield f"[{bug.id}]({bug.source}). {bug.what}\n"
    yield f"    {bug.command()}\n"
    checker, clause = bug.found_by
    yield f"By `{checker}`, clause `{clause}`:\n"
    yield "| release | has it | shown in | what else was found |"
    yield "| --- | --- | --- | --- |"
    for version, has in bug.releases.items():
        runs = results.get((bug.id, version), ())
        if runs:
            shown = sum(shows(run, bug) for run in runs)
            said = "yes" if has else "no"
            yield f"| {version} | {said} | {shown} of {len(runs)} | {_others(runs, bug)} |"
    yield ""


def _others(runs: Sequence[RunResult], bug: Bug) -> str:
    """What else was found: of two faults of a release one run may show both."""
    names = {
        f"{one.name} ({each.name})"
        for run in runs
        for one in run.checkers
        for each in one.clauses
        if each.verdict is Verdict.INVALID and (one.name, each.name) != bug.found_by
    }
    return ", ".join(sorted(names)) or "-"


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
        PAGE.write_text("\n".join(page(judged(options.results))).rstrip() + "\n")


if __name__ == "__main__":
    main()
