"""Healthy runs of every kind, all checked: what is not VALID in them is the framework's own fault.

    python -m benchmarks.clean_runs --runs 200 --results results/clean

A run's kind is drawn from its seed, and seeds are counted up from a base. Runs that were recorded
into the same results before are not recorded again; all are checked together, in one Spark job.
Prints a table (a row for each value of each property of the kind), then each run that is not VALID
with its checkers, their clauses and why. Exit code as of `framework check`.
"""

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from threading import Event
from typing import Final

from benchmarks.isolation import burning
from framework.checking import spark
from framework.checking.engine import check_runs
from framework.checking.results import CheckerResult, RunResult
from framework.errors import EngineError, UsageError
from framework.plugins import registry
from framework.plugins.capabilities import unmet
from framework.plugins.fault import Drastic
from framework.run.interrupt import interruptible
from framework.run.options import Options, Test, resolve
from framework.run.progress import Progress
from framework.run.recording import record
from framework.verdict import EXIT_CODE, Verdict, worst

LAYOUTS: Final = ("3", "3+3", "5+5")
TARGETS: Final = (
    *("", "one", "minority", "majority", "all"),
    *("leader", "followers", "controllers", "brokers"),
)
"""The first: whom the framework draws where nobody says."""
JOURNAL: Final = "recorded.jsonl"
"""A line a run that was recorded to its end."""
_REASONS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What runs are alike in."""

    nemesis: str
    target: str
    nodes: str
    hosts: str
    workload: str
    loaded: bool
    """As many processes as there are cores compute nothing beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A line of the journal. `path` is below the folder of results."""

    seed: int
    path: str
    kind: Kind


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--base", type=int, default=1, help="the first seed")
    parser.add_argument("--results", type=Path, default=Path("results/clean"))
    parser.add_argument("--hosts", default="namespaces,docker", help="by commas")
    parser.add_argument("--seconds", type=float, nargs=2, default=(20, 60), help="from, to")
    parser.add_argument("--no-check", action="store_true", help="record only")
    given = parser.parse_args(argv)
    with interruptible() as stop:
        for seed in range(given.base, given.base + given.runs):
            if not stop.is_set() and seed not in journal(given.results):
                record_one(seed, given.hosts.split(","), given.seconds, given.results, stop)
    if stop.is_set():
        print("the same command goes on with the runs that are left")
        return EXIT_CODE[Verdict.UNKNOWN]
    done = [run for seed, run in journal(given.results).items() if seed >= given.base]
    runs = sorted(done, key=lambda run: run.seed)[: given.runs]
    if given.no_check or not runs:
        print(f"{len(runs)} of {given.runs} runs are recorded")
        return 0
    with spark.running(spark.LOCAL_MASTER) as session:
        results = check_runs(session, [given.results / run.path for run in runs])
    print("\n".join(table([run.kind for run in runs], [each.verdict for each in results])))
    for run, result in zip(runs, results, strict=True):
        print("".join(f"{line}\n" for line in explained(run, result)), end="")
    return EXIT_CODE[worst(result.verdict for result in results)]


# --- recording ---------------------------------------------------------------------------------


def drawn(seed: int, hosts: Sequence[str]) -> Kind:
    """The kind of the run with this seed."""
    rng = random.Random(seed)
    nemesis = rng.choice(("none", *nemeses(), "all"))
    target = rng.choice(TARGETS)
    return Kind(
        nemesis=nemesis,
        target="" if nemesis == "none" else target,
        nodes=rng.choice(LAYOUTS),
        hosts=rng.choice(hosts),
        workload=rng.choice(("all", *workloads())),
        loaded=rng.random() < 0.5,
    )


@cache
def nemeses() -> Sequence[str]:
    """Those after which a system has lost nothing."""
    names = registry.names("nemeses")
    return [name for name in names if not isinstance(registry.load("nemeses", name), Drastic)]


@cache
def workloads() -> Sequence[str]:
    """Those that our node can have."""
    capabilities = registry.load("systems", registry.default("systems")).capabilities
    known = registry.names("workloads")
    return [
        name for name in known if not unmet(registry.load("workloads", name).requires, capabilities)
    ]


def test_of(seed: int, kind: Kind, seconds: tuple[float, float], results: Path) -> Test:
    """Raises `UsageError` for what cannot be had on this machine."""
    return resolve(
        Options(
            nemesis=kind.nemesis,
            targets=kind.target,
            nodes=kind.nodes,
            hosts=kind.hosts,
            workload=kind.workload,
            time_limit_s=round(random.Random(-seed).uniform(*seconds)),
            seed=seed,
            name="clean",
            results=results,
        )
    )


def record_one(
    seed: int, hosts: Sequence[str], seconds: tuple[float, float], results: Path, stop: Event
) -> None:
    """What cannot be recorded is said, and tried again the next time, as is what Ctrl-C ended."""
    kind = drawn(seed, hosts)
    try:
        test = test_of(seed, kind, seconds, results)
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(time_limit_s=test.options.time_limit_s))
            if kind.loaded:
                stack.enter_context(burning(os.cpu_count() or 1))
            folder = record(test, sys.argv, progress, stop=stop)
    except (UsageError, EngineError) as error:
        print(f"seed {seed}, {reported(kind)}: not recorded: {error}", file=sys.stderr)
        return
    if stop.is_set():
        return
    line = Recorded(seed=seed, path=str(folder.path.relative_to(results)), kind=kind)
    with (results / JOURNAL).open("a") as file:
        file.write(json.dumps(asdict(line)) + "\n")


def journal(results: Path) -> Mapping[int, Recorded]:
    """Seed -> the run that was recorded with it."""
    path = results / JOURNAL
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    runs = (Recorded(**{**line, "kind": Kind(**line["kind"])}) for line in lines)
    return {run.seed: run for run in runs}


# --- what came out -----------------------------------------------------------------------------


def table(kinds: Sequence[Kind], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """In Markdown."""
    yield "| kind | runs | VALID | UNKNOWN | INVALID |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    counts: dict[str, Counter[Verdict]] = {}
    for kind, verdict in zip(kinds, verdicts, strict=True):
        for row in ("all", *(f"{name} {value}".strip() for name, value in asdict(kind).items())):
            counts.setdefault(row, Counter())[verdict] += 1
    for row, count in sorted(counts.items()):
        cells = (count[each] for each in (Verdict.VALID, Verdict.UNKNOWN, Verdict.INVALID))
        yield f"| {row} | {count.total()} | " + " | ".join(map(str, cells)) + " |"


def explained(run: Recorded, result: RunResult) -> Iterator[str]:
    """Nothing of a run that is VALID."""
    if result.verdict is Verdict.VALID:
        return
    yield f"\n{result.verdict.value}: seed {run.seed}, {reported(run.kind)}: {result.path}"
    for checker in result.checkers:
        if checker.verdict is not Verdict.VALID:
            yield from _why(checker)


def _why(checker: CheckerResult) -> Iterator[str]:
    yield f"  {checker.verdict.value} {checker.name}: {checker.note}"
    for clause in checker.clauses:
        if clause.verdict not in (None, Verdict.VALID):
            yield f"    clause {clause.name} {clause.verdict.value}: {clause.note}"
    for finding in checker.findings[:_REASONS_SHOWN]:
        yield f"    {finding.clause} {finding.key}: {finding.message}"


def reported(kind: Kind) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(kind).items() if value != "")


if __name__ == "__main__":
    sys.exit(main())
