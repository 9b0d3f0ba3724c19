"""Which lies are found: a clean run is judged again with one answer changed, or all those that one
node gives from a moment on, in ways in which a lying system could; once for each field of each
answer and each way. With `--disks` not answers are changed, but what lies on a disk, or on all.

    python -m benchmarks.falsified RUN ... [--disks] [--samples 2] [--only F,...] [--keep FILE]
    python -m benchmarks.falsified --table FILE ...      # of what was kept

RUN: folders of recorded runs, VALID as they are. No cluster, no Spark; a lie takes a second or so.
Nodes' own events are set aside: clients, observers, the harness and disks are what is left to find
a lie by. What stays VALID is printed with the reason why it may (`reasons.py`), or without: that is
a hole. `--keep` adds what came of each lie to a file, a line of JSON each.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.falsified.disk_trials import tried_on_disks
from benchmarks.falsified.judging import Judged
from benchmarks.falsified.table import table
from benchmarks.falsified.telling import Trial
from benchmarks.falsified.trials import tried
from framework.verdict import Verdict

Tried: TypeAlias = Callable[[Judged], Iterator[Trial]]


def row_of(system: str, trial: Trial) -> Mapping[str, Any]:
    """As a line of JSON has it."""
    lie, judgement = trial.lie, trial.judgement
    return {
        "system": system,
        "teller": lie.kind[0],
        "f": lie.kind[1],
        "field": lie.field,
        "change": lie.change,
        "where": trial.where[:3],
        "invalid": sorted("/".join(filter(None, each)) for each in judgement.invalid),
        "unknown": sorted(judgement.unknown),
        "failed": sorted(judgement.failed),
    }


def rows(folder: Path, tried: Tried) -> Iterator[Mapping[str, Any]]:
    """What came of all lies in a run. Says which checkers cannot judge it: they find nothing."""
    run = Judged.of(folder)
    for name, result in run.clean().items():
        if result.verdict is not Verdict.VALID:
            print(f"{folder}: {name} is {result.verdict.value}: {result.note}", file=sys.stderr)
    for trial in tried(run):
        yield row_of(run.system, trial)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("benchmarks.falsified", None, __doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--disks", action="store_true", help="of disks, not of answers")
    parser.add_argument("--samples", type=int, default=2, help="answers, or rows, of each lie")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="F,...", help="of these kinds")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--table", nargs="+", type=Path, default=[], metavar="FILE")
    given = parser.parse_args(argv)
    if not given.runs and not given.table:
        parser.error("name a run, or what was kept of one")
    all_trials = partial(
        tried_on_disks if given.disks else tried,
        samples=given.samples,
        seed=given.seed,
        only=[*filter(None, given.only.split(","))],
    )
    found = [json.loads(line) for path in given.table for line in path.read_text().splitlines()]
    for folder in given.runs:
        for row in rows(folder, all_trials):
            found.append(row)
            if given.keep is not None:
                with given.keep.open("a") as file:
                    print(json.dumps(row), file=file)
    print(*table(found), sep="\n")


if __name__ == "__main__":
    main()
