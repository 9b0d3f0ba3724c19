"""Which of the defects that are put into Apache Kafka are found, each by the run of its entry in
`nodes/kafka/defects/catalogue.py`, and by which checkers.

    python -m benchmarks.kafka_defects [--results FOLDER] [--only DEFECT,...] [--seeds 1,2]
    python -m benchmarks.kafka_defects --check FOLDER      # what was recorded before
    python -m benchmarks.kafka_defects --table FOLDER      # what was judged before
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Final

from framework.checking.engine import check_runs
from framework.checking.results import VERDICT_FILE, CheckerResult, RunResult, result_of
from framework.checking.runs import find_runs
from framework.checking.spark import running
from framework.verdict import Verdict
from nodes.kafka.defects.catalogue import DEFECTS
from tests.end_to_end.runs import recorded

AT_ONCE: Final = 2
"""Runs that are recorded at a time, three JVMs each: they wait, most of the time."""
HEADER: Final = (
    "| defect | what is wrong (promise) | the run that finds it | found in | by (clauses) |",
    "| --- | --- | --- | --- | --- |",
)


def record(name: str, seed: int, into: Path) -> Path:
    """The folder of a run with this defect, which is in one of its own: others are recorded at the
    same time."""
    defect = DEFECTS[name]
    return recorded(
        into / f"{name}-{seed}",
        name,
        system="kafka",
        workload=defect.workload,
        nemesis=defect.nemesis,
        nodes=defect.cluster,
        time_limit_s=defect.time_limit_s,
        seed=seed,
        defect=name,
        settings=defect.settings,
    )


def judge(into: Path) -> None:
    """All runs, in one job."""
    with running("local[*]") as spark:
        check_runs(spark, find_runs([into]))


def judged(into: Path) -> Mapping[str, list[RunResult]]:
    """Defect -> what was said of its runs."""
    found: dict[str, list[RunResult]] = {}
    for folder in find_runs([into]):
        document = json.loads((folder / VERDICT_FILE).read_bytes())
        found.setdefault(folder.parent.name, []).append(result_of(document, folder.name, folder))
    return found


def table(results: Mapping[str, Sequence[RunResult]]) -> Iterator[str]:
    """Markdown, in the order of the catalogue."""
    yield from HEADER
    for name, defect in DEFECTS.items():
        if runs := results.get(name):
            hits = sum(bool(convicting(run) & defect.found_by) for run in runs)
            wrong = f"{defect.breaks} ({defect.promise})"
            run = f"`{defect.command(name)}`"
            yield f"| `{name}` | {wrong} | {run} | {hits} of {len(runs)} | {_found(runs)} |"


def convicting(run: RunResult) -> set[str]:
    """The checkers that found something."""
    return {each.name for each in run.checkers if each.verdict is Verdict.INVALID}


def _found(runs: Sequence[RunResult]) -> str:
    """Checkers with their clauses, those of most runs first."""
    wrong = [each for run in runs for each in run.checkers if each.verdict is Verdict.INVALID]
    checkers = Counter(each.name for each in wrong)
    clauses = {name: _clauses(each for each in wrong if each.name == name) for name in checkers}
    return "; ".join(f"`{name}` ({clauses[name]})" for name, _ in checkers.most_common()) or "-"


def _clauses(checkers: Iterable[CheckerResult]) -> str:
    names = {
        each.name for one in checkers for each in one.clauses if each.verdict is Verdict.INVALID
    }
    return ", ".join(sorted(names))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka_defects")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="11")
    parser.add_argument("--check", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args(argv)
    done = options.table or options.check
    folder = done or options.results or Path(tempfile.mkdtemp(prefix="kafka-defects-"))
    if done is None:
        names = [each for each in options.only.split(",") if each] or list(DEFECTS)
        seeds = [int(each) for each in options.seeds.split(",")]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(lambda each: record(each[0], each[1], folder), product(names, seeds)):
                continue
    if options.table is None:
        judge(folder)
    print(*table(judged(folder)), sep="\n")


if __name__ == "__main__":
    main()
