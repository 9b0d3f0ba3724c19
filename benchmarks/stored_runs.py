"""Many real runs checked in one job, beside one run.

    python -m benchmarks.stored_runs RUN... [--runs 200] [--keep FOLDER] [--here]

RUN: folders of recorded runs. Of each as many copies as it takes are made, with other seeds: they
have everything that a run leaves (hard links; a copy is sealed, as `run` leaves it). `check` of all
of them, by the checkers of their plans, is measured beside `check` of the largest run alone and of
one in which nothing happened: wall time, processor time of all processes, the most memory that they
had together (PSS), and what an event costs more than in the one run, Spark's fixed cost set aside.
An event is an operation, an observation or a row of evidence. `--here`: without Spark, what its
tasks do for rules over whole runs, in this process, by processor time.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchmarks.check_scale import measured, say
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
    begun,
    content_of,
    finish,
    marks_of,
    write_evidence,
    write_history,
)
from framework.plugins.checker import Checker

_CHECK: Final = """
import resource, sys, time
from pathlib import Path
from benchmarks.stored_runs import crossed
from framework.checking import spark
from framework.checking.engine import check_stored
from framework.checking.runs import find_runs, read_runs
with spark.running("local[2]") as session:
    began = time.monotonic()
    results = check_stored(session, read_runs(find_runs([Path(sys.argv[1])])))
    print(f"job_s={time.monotonic() - began:.1f}")
    for name, value in crossed(session).items():
        print(f"{name}={value}")
own = resource.getrusage(resource.RUSAGE_SELF)
print(f"driver_s={own.ru_utime + own.ru_stime:.1f}")
print(f"driver_mib={own.ru_maxrss // 1024}")
print("verdicts=" + "/".join(sorted({each.verdict.value for each in results})))
"""


def crossed(spark: Any) -> dict[str, object]:
    """Of all jobs of a session, by Spark's own account: stages, tasks, the longest one beside the
    median of its stage in the stage that took longest, what was shuffled, what the driver got."""
    gateway, context = spark.sparkContext._gateway, spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    ends = gateway.new_array(gateway.jvm.double, 2)
    ends[0], ends[1] = 0.5, 1.0
    found = context.statusStore().stageList(
        None, False, True, ends, gateway.jvm.java.util.ArrayList()
    )
    stages = [found.apply(number) for number in range(found.size())]
    longest = max(stages, key=lambda stage: int(stage.executorRunTime()))
    quantiles = longest.taskMetricsDistributions()
    median, most = (
        (quantiles.get().executorRunTime().apply(at) / 1000 for at in (0, 1))
        if quantiles.isDefined()
        else (0.0, 0.0)
    )
    return {
        "stages": len(stages),
        "tasks": sum(int(stage.numCompleteTasks()) for stage in stages),
        "longest_stage_tasks": int(longest.numCompleteTasks()),
        "median_task_s": round(median, 2),
        "longest_task_s": round(most, 2),
        "shuffled_mib": round(sum(int(each.shuffleWriteBytes()) for each in stages) / 2**20, 1),
        "driver_got_kib": sum(int(stage.resultSize()) for stage in stages) >> 10,
    }


def sealed_copy(source: Path, target: Path) -> int:
    """A copy of a run that is sealed as it is; how many events it has."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(SEALED, "verdict.json"))
    info = read_run(target).info
    draft = begun(target, target)
    _, manifest = finish(info, draft, [write_history(info, draft), write_evidence(info, draft)])
    return _events(manifest.counts)


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
        plan.write_text(json.dumps({**json.loads(plan.read_bytes()), "seed": seed}))
    path = target / SEALED / MANIFEST
    manifest = replace(Manifest.of(path), marks=marks_of(target), content=content_of(target))
    path.write_text(json.dumps(asdict(manifest)))


def empty(source: Path, target: Path) -> None:
    """A run of the same plan in which nothing happened."""
    target.mkdir(parents=True)
    shutil.copy(source / PLAN, target / PLAN)
    (target / HISTORY).touch()


def figures(folder: Path) -> dict[str, Any]:
    """Of a check of all runs in a folder."""
    found = measured("-c", _CHECK, folder)
    printed = dict(line.split("=", 1) for line in found["text"].splitlines() if "=" in line)
    if found["code"]:
        raise SystemExit(found["text"])
    return {**printed, **{name: found[name] for name in ("wall_s", "processor_s", "peak_mib")}}


def judged_here(folder: Path) -> float:
    """Processor time, s, of judging all runs in a folder by the rules of their plans."""
    runs = read_runs(find_runs([folder]))
    began = time.process_time()
    for run in runs:
        plugins, _ = loaded_once(tuple(sorted(run.checkers())))
        checks = {
            name: each.check_run for name, each in plugins.items() if isinstance(each, RunChecker)
        }
        list(judged_run(SealedRun(run.info.run, Path(run.info.path, SEALED)), checks))
    return time.process_time() - began


@cache
def loaded_once(names: tuple[str, ...]) -> tuple[dict[str, Checker], dict[str, Exception]]:
    return loaded(names, {}, strict=False)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recorded", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--here", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        root = given.keep or Path(scratch)
        sources = [root / "source" / str(number) for number in range(len(given.recorded))]
        events = [sealed_copy(*each) for each in zip(given.recorded, sources, strict=True)]
        for number in range(given.runs):
            source = sources[number % len(sources)]
            relabelled(source, root / "many" / f"{number:05}", 1_000_000 + number)
        largest = max(range(len(sources)), key=events.__getitem__)
        relabelled(sources[largest], root / "one" / "0", 1)
        empty(sources[largest], root / "none" / "0")
        in_many = sum(events[number % len(events)] for number in range(given.runs))
        (_compared_here if given.here else _compared)(root, events[largest], in_many)


def _compared_here(root: Path, in_one: int, in_many: int) -> None:
    judged_here(root / "one")  # which loads all code
    one, many = judged_here(root / "one"), judged_here(root / "many")
    say("one", events=in_one, processor_s=round(one, 2))
    say("many", events=in_many, processor_s=round(many, 2))
    say("an event in many beside one in one", times=round(many / in_many / (one / in_one), 2))


def _compared(root: Path, in_one: int, in_many: int) -> None:
    found = {}
    for name, events in (("none", 0), ("one", in_one), ("many", in_many)):
        found[name] = figures(root / name)
        say(name, events=events, **found[name])
    for cost in ("processor_s", "job_s"):
        fixed, one, many = (float(found[name][cost]) for name in ("none", "one", "many"))
        ratio = ((many - fixed) / in_many) / ((one - fixed) / in_one)
        say(f"an event in many runs beside one in one, {cost}", times=round(ratio, 2))


if __name__ == "__main__":
    main()
