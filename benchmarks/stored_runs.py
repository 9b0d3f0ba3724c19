"""Many real runs checked in one job, beside one run.

    python -m benchmarks.stored_runs RUN... [--runs 10 100] [--keep FOLDER] [--here]

RUN: folders of recorded runs. Of each as many copies as it takes are made, with other seeds: they
have everything that a run leaves (hard links; sealed, and judged, as `run` leaves it). `check` of
all of them, by the checkers of their plans, is measured beside `check` of the largest run alone and
of one in which nothing happened, which is what Spark costs: wall time, processor time of all
processes and of the driver's Python, what this read of files, the most memory (RSS) that it had,
and its JVM, and what an event costs beside one of the one run, the cost of nothing set aside. An
event is an operation, an observation or a row of evidence. Then what Spark's event log says of the
last check.

`--here`: without Spark, what its tasks do for rules over whole runs, in this process, by processor
time.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchmarks.check_scale import measured, say
from benchmarks.spark_log import Task, logging, report, tasks_of
from framework.checking.judged import loaded
from framework.checking.reading import SealedRun
from framework.checking.run_checks import RunChecker, judged_run
from framework.checking.runs import HISTORY, PLAN, find_runs, read_run, read_runs
from framework.checking.sealing import (
    MANIFEST,
    PLANNED,
    SEALED,
    Counts,
    Manifest,
    content_of,
    marks_of,
    seal,
)
from framework.evidence.run_events import WHOLE_RUN
from framework.plugins.checker import Checker


def sealed_copy(source: Path, target: Path) -> int:
    """A copy of a run that is sealed as it is; how many events it has."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(SEALED, "verdict.json"))
    return _events(seal(read_run(target).info).counts)


def _events(counts: Counts) -> int:
    evidence = sum(rows for kinds in counts.evidence.values() for rows in kinds.values())
    return counts.rows + counts.observations + evidence


def relabelled(source: Path, target: Path, seed: int) -> None:
    """A sealed run once more, with another seed."""
    shutil.copytree(source, target, copy_function=os.link)
    for name in (target / PLAN, target / SEALED / PLANNED, target / SEALED / MANIFEST):
        text = name.read_bytes()
        name.unlink()  # the link; the source's file stays as it is
        name.write_bytes(text)
    for plan in (target / PLAN, target / SEALED / PLANNED):
        said = {**json.loads(plan.read_bytes()), "seed": seed, "name": target.parent.name}
        plan.write_text(json.dumps(said))
    path = target / SEALED / MANIFEST
    manifest = replace(Manifest.of(path), marks=marks_of(target), content=content_of(target))
    path.write_text(manifest.text())


def empty(source: Path, target: Path) -> None:
    """A run of the same plan in which nothing happened."""
    target.mkdir(parents=True)
    shutil.copy(source / PLAN, target / PLAN)
    (target / HISTORY).touch()


def checked(folder: Path) -> tuple[dict[str, Any], list[Task]]:
    """Figures of `check` of all runs in a folder, and Spark's tasks."""
    with tempfile.TemporaryDirectory() as scratch:
        environment, logs = logging(Path(scratch))
        command = ("-m", "framework", "check", "--again", "--spark-master", "local[2]")
        found = measured(*command, folder, environment=environment)
        if found["code"] not in (0, 1, 2):
            raise SystemExit(found["text"])
        [log] = logs.iterdir()
        return found, tasks_of(log)


def judged_here(folder: Path) -> float:
    """Processor time, s, of judging all runs in a folder by the rules of their plans."""
    runs = read_runs(find_runs([folder]))
    began = time.process_time()
    for run in runs:
        plugins, _ = loaded_once(tuple(sorted(run.checkers())))
        checks = {
            name: each.check_run for name, each in plugins.items() if isinstance(each, RunChecker)
        }
        sealed = SealedRun(run.info.run, Path(run.info.path, SEALED))
        list(judged_run(sealed, checks, WHOLE_RUN))
    return time.process_time() - began


@cache
def loaded_once(names: tuple[str, ...]) -> tuple[dict[str, Checker], dict[str, Exception]]:
    return loaded(names, {}, strict=False)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recorded", nargs="+", type=Path)
    parser.add_argument("--runs", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--here", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        root = given.keep or Path(scratch)
        sources = [root / "source" / str(number) for number in range(len(given.recorded))]
        events = [sealed_copy(*each) for each in zip(given.recorded, sources, strict=True)]
        if not given.here:
            checked(root / "source")  # which also compiles what is not compiled yet
        largest = max(range(len(sources)), key=events.__getitem__)
        empty(sources[largest], root / "none" / "series" / "0")
        relabelled(sources[largest], root / "one" / "series" / "0", 1)
        counted = {"none": 0, "one": events[largest]}
        for count in given.runs:
            for number in range(count):
                target = root / str(count) / "series" / f"{number:05}"
                relabelled(sources[number % len(sources)], target, 1_000_000 + number)
            counted[str(count)] = sum(events[number % len(events)] for number in range(count))
        (_compared_here if given.here else _compared)(root, counted)


def _compared_here(root: Path, events: Mapping[str, int]) -> None:
    judged_here(root / "one")  # which loads all code
    each = {}
    for name in list(events)[1:]:
        took = judged_here(root / name)
        each[name] = took / events[name]
        times = round(each[name] / each["one"], 2)
        say(name, events=events[name], processor_s=round(took, 2), an_event_times=times)


_FIGURES: Final = (
    *("wall_s", "processor_s", "driver_s", "driver_read_mib", "driver_mib", "jvm_mib", "peak_mib"),
)


def _compared(root: Path, events: Mapping[str, int]) -> None:
    print(f"| runs | events | {' | '.join(_FIGURES)} | an event, times |")
    print("| --- |" + " ---: |" * (len(_FIGURES) + 2))
    found: dict[str, dict[str, Any]] = {}
    tasks: list[Task] = []
    for name, count in events.items():
        found[name], tasks = checked(root / name)
        shown = " | ".join(f"{found[name][figure]:g}" for figure in _FIGURES)
        times = _beside_one(found, events, name) if count else ""
        print(f"| {name} | {count:,} | {shown} | {times} |", flush=True)
    report(tasks)


def _beside_one(
    found: Mapping[str, Mapping[str, Any]], events: Mapping[str, int], name: str
) -> str:
    """What an event of these runs costs, of one run's: processor time, without that of nothing. A
    dash where the one run cost no more than nothing did."""
    fixed, one, many = (float(found[each]["processor_s"]) for each in ("none", "one", name))
    if one <= fixed:
        return "-"
    return f"{(many - fixed) / events[name] / ((one - fixed) / events['one']):.2f}"


if __name__ == "__main__":
    main()
