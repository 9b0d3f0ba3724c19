"""`check` of one long run, by all checkers that apply: seconds and memory, by events of its nodes.

    python -m benchmarks.node_events --events 100000 1000000 10000000 [--cores 2] [--keep FOLDER]
    python -m benchmarks.node_events --rules --events 1000000 [--only log-matching]

The run is made first (`benchmarks.long_run`), as a folder that `run` might have left, not sealed.
`check` of it is measured as a user calls it, on Spark: wall time, processor time of all processes,
the most memory (RSS) that the driver's Python and its JVM had, and all processes together (PSS).
Then the same once more, of the run that is sealed by now: what is left is judging.

`--rules`: each rule is judged in one task, by so many processes beside each other. Memory is the
most that all processes had at once (PSS, looked at every few seconds); of a rule, the most that its
process had (RSS), and what it read of files. A line for each rule comes when it is judged;
`processor_s` are of the rules alone. Then how much more quickly executors of one core each do the
same tasks than one of them, by their processor time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from benchmarks.check_scale import measured, memory_kib, say
from benchmarks.long_run import make
from benchmarks.spark_log import CORES, on_cores
from framework.checking.cuts import parts_for
from framework.checking.reading import SealedRun
from framework.checking.results import VERDICT_FILE, checker_result
from framework.checking.run_checks import RunChecker, in_parts, judged_run
from framework.checking.runs import read_run
from framework.checking.sealing import SEALED, seal
from framework.evidence.run_events import Part
from framework.plugins import registry

_EVERY_S: Final = 5.0
"""Counting the pages of processes of gigabytes takes as long as judging, if it is done often."""


def checkers() -> dict[str, RunChecker]:
    found = {name: registry.load("checkers", name) for name in registry.names("checkers")}
    return {name: each for name, each in found.items() if isinstance(each, RunChecker)}


def opened(folder: Path) -> SealedRun:
    return SealedRun("long", folder / SEALED)


def judge(folder: Path, task: tuple[str, Part]) -> tuple[str, dict[str, Any]]:
    """A rule's name, and what it found in a part of the run, and took."""
    name, part = task
    began, had = time.process_time(), bytes_read()
    (rows,) = judged_run(opened(folder), {name: checkers()[name].check_run}, part)
    return name, {
        "rows": rows.to_pylist(),
        "s": time.process_time() - began,
        "read": bytes_read() - had,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def bytes_read() -> int:
    """By this process of files, as the kernel tells."""
    return int(Path("/proc/self/io").read_text().split()[1])


def added(name: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of all parts of one rule."""
    checker = checkers()[name]
    rows = [row for each in parts for row in each["rows"]]
    result = checker_result(name, checker.summary, rows, clauses=checker.clauses)
    return {
        "verdict": result.verdict.value,
        "parts": len(parts),
        "processor_s": round(sum(each["s"] for each in parts), 1),
        "read_mib": round(sum(each["read"] for each in parts) / 2**20, 1),
        "peak_mib": max(each["peak_mib"] for each in parts),
        "said": result.note[:100] or [each.message for each in result.findings[:2]],
    }


def tasks(names: Sequence[str], events: int) -> list[tuple[str, Part]]:
    """As the engine cuts a run of so many."""
    found = checkers()
    return [
        (name, part)
        for name in names
        for part, _ in in_parts({name: found[name].check_run}, parts_for(events))
    ]


class Peak(threading.Thread):
    """The most memory that this process and those below it had."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kib, self.over = 0, threading.Event()

    def run(self) -> None:
        while True:
            self.kib = max(self.kib, memory_kib(os.getpid()))
            if self.over.wait(_EVERY_S):
                return


def made(folder: Path, events: int) -> int:
    folder.mkdir(parents=True)
    began = time.process_time()
    there = make(folder, events)
    say("made", events=there, processor_s=round(time.process_time() - began, 1))
    return there


def measure(folder: Path, events: int, cores: int, names: list[str]) -> None:
    """Rule by rule."""
    there = made(folder, events)
    seal(read_run(folder).info)
    times: list[float] = []
    peak, began = Peak(), time.monotonic()
    peak.start()
    with multiprocessing.get_context("fork").Pool(cores, maxtasksperchild=1) as pool:
        judged = pool.imap(partial(judge, folder), tasks(names, there))
        for name, found in groupby(judged, key=itemgetter(0)):
            parts = [part for _, part in found]
            times += [part["s"] for part in parts]
            say(f"  {name}", **added(name, parts))
    peak.over.set()
    say(
        "judged",
        events=there,
        wall_s=round(time.monotonic() - began, 1),
        processor_s=round(sum(times), 1),
        peak_mib=peak.kib // 1024,
    )
    quicker = {f"on_{n}": round(sum(times) / on_cores(times, n), 2) for n in CORES}
    say("times as quick as one executor", tasks=len(times), longest_s=max(times), **quicker)


_FIGURES: Final = ("wall_s", "processor_s", "driver_mib", "jvm_mib", "peak_mib")


def check(folder: Path, events: int, cores: int) -> None:
    """The run, by the command."""
    there = made(folder, events)
    for what in ("sealed and judged", "judged"):
        master = ("--spark-master", f"local[{cores}]")
        found = measured("-m", "framework", "check", "--again", *master, folder)
        if found["code"] not in (0, 1, 2):
            raise SystemExit(found["text"])
        verdict = json.loads((folder / VERDICT_FILE).read_bytes())
        say(
            what,
            events=there,
            verdict=verdict["verdict"],
            checkers=len(verdict["checkers"]),
            **{name: found[name] for name in _FIGURES},
            **{name: verdict["timings"][name] for name in ("read_s", "check_s")},
            us_an_event=round(found["processor_s"] / there * 1e6, 1),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="where runs are made, and stay")
    parser.add_argument("--rules", action="store_true", help="one by one, without Spark")
    parser.add_argument("--only", nargs="*", help="these rules")
    given = parser.parse_args()
    names = given.only or sorted(checkers())
    with tempfile.TemporaryDirectory() as scratch:
        for events in given.events:
            folder = (given.keep or Path(scratch)) / "long" / str(events)
            if given.rules:
                measure(folder, events, given.cores, names)
            else:
                check(folder, events, given.cores)


if __name__ == "__main__":
    main()
