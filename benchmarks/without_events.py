"""Which defects are still found where no node writes events: the runs of
`tests/end_to_end/test_defects.py`, judged by clients, the harness and disks alone.

    python -m benchmarks.without_events [--results FOLDER] [--only DEFECT,...]
    python -m benchmarks.without_events --check FOLDER      # what was recorded before
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from framework.checking.engine import check_runs
from framework.checking.results import CheckerResult, RunResult
from framework.checking.runs import find_runs
from framework.checking.spark import running
from framework.verdict import Verdict
from tests.end_to_end.runs import recorded
from tests.end_to_end.test_defects import AT_ONCE, RUNS, SEED

MUTE: Final = ("events.file=",)
LONGER: Final[Mapping[str, Mapping[str, Any]]] = {
    # A leader that is cut off once may have been asked for nothing; six times it was not.
    "answer-before-commit": {"time_limit_s": 27},
    # Who is cut off has to be so for longer than any lease.
    "serve-after-lease": {
        "workload": "topics,log,zombie",
        "time_limit_s": 50,
        "lasting_s": 18.0,
    },
}
"""What clients are shown, and disks keep, needs more of a run than what a node would say of itself:
options instead of those of the tests."""
HEADER: Final = (
    "| defect | without events | found by (clauses) | found with events by |",
    "| --- | --- | --- | --- |",
)


def record(names: Iterable[str], into: Path) -> None:
    """A run a defect, some at a time, in a folder of its name each."""

    def one(name: str) -> Path:
        options = {**RUNS[name][0], **LONGER.get(name, {})}
        return recorded(into / name, name, defect=name, seed=SEED, settings=MUTE, **options)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(one, names):
            continue


def judged(into: Path) -> Mapping[str, RunResult]:
    """Defect -> what came of its run, all checked in one job."""
    folders = find_runs([into])
    with running("local[*]") as spark:
        results = check_runs(spark, folders)
    return {folder.parent.name: result for folder, result in zip(folders, results, strict=True)}


def table(results: Mapping[str, RunResult]) -> Iterator[str]:
    """Markdown."""
    yield from HEADER
    for name, result in sorted(results.items()):
        convicting = [each for each in result.checkers if each.verdict is Verdict.INVALID]
        found = "; ".join(map(_broken, convicting)) or "-"
        with_events = ", ".join(f"`{each}`" for each in sorted(RUNS[name][1]))
        yield f"| `{name}` | {result.verdict.value} | {found} | {with_events} |"


def _broken(checker: CheckerResult) -> str:
    clauses = [each.name for each in checker.clauses if each.verdict is Verdict.INVALID]
    return f"`{checker.name}`" + (f" ({', '.join(clauses)})" if clauses else "")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.without_events")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--check", type=Path)
    options = parser.parse_args(argv)
    folder = options.check or options.results or Path(tempfile.mkdtemp(prefix="without-events-"))
    if options.check is None:
        record([each for each in options.only.split(",") if each] or list(RUNS), folder)
    print(*table(judged(folder)), sep="\n")


if __name__ == "__main__":
    main()
