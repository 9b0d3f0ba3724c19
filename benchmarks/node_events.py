"""All rules over the evidence of one long run: seconds and memory, by events of its nodes.

    python -m benchmarks.node_events --events 100000 1000000 10000000 [--cores 2]
    python -m benchmarks.node_events --events 1000000 --only log-matching

The run is made first (`benchmarks.long_run`), in a folder that is removed. Each rule is judged in
one task, by so many processes beside each other. Memory is the most that all processes had at once
(PSS). `processor_s` are of the rules alone; a line for each rule follows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.check_scale import memory_kib, say
from benchmarks.long_run import make
from framework.checking.keyed import Outcome, failed, outcome_row
from framework.checking.results import checker_result
from framework.checking.run_checks import RunCheck, RunChecker, evidence_of
from framework.evidence.catalogue import KINDS, concrete
from framework.evidence.run_events import RunEvents
from framework.history.reader import operations_of
from framework.plugins import registry


def checkers() -> dict[str, RunChecker]:
    found = {name: registry.load("checkers", name) for name in registry.names("checkers")}
    return {name: each for name, each in found.items() if isinstance(each, RunChecker)}


def opened(folder: Path, check: RunCheck) -> RunEvents:
    """What a rule looks at of the sealed run."""
    tables: dict[Any, list[pa.Table]] = {}
    for where, wanted in (("events", check.evidence), ("records", check.disk)):
        for kind in concrete(wanted):
            path = folder / where / f"{kind.kind}.parquet"
            if path.exists():
                tables.setdefault(kind, []).append(pq.read_table(path, partitioning=None))
    ordered = {kind: pa.concat_tables(tables[kind]) for kind in KINDS.values() if kind in tables}
    fs = None if check.fs is None else [("f", "in", list(check.fs) or [""])]
    operations = pq.read_table(folder / "operations.parquet", filters=fs)
    return RunEvents(
        operations=operations_of(operations),
        evidence=evidence_of(ordered),
        plan=json.loads((folder / "plan.json").read_text()),
    )


def judge(folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """A rule's name, and what it took."""
    began = time.process_time()
    checker = checkers()[name]
    events = opened(folder, checker.check_run)
    read = time.process_time()
    try:
        found = checker.check_run(events)
    except Exception as error:
        found = failed(error)
    done = time.process_time()
    parts = {"": found} if isinstance(found, Outcome) else found
    rows = [outcome_row("r", name, key, each) for key, each in parts.items()]
    result = checker_result(name, checker.summary, rows, clauses=checker.clauses)
    return name, {
        "verdict": result.verdict.value,
        "read_s": round(read - began, 1),
        "judge_s": round(done - read, 1),
        "rss_mib": memory_kib(os.getpid()) // 1024,
        "events": len(events.evidence),
        "said": (result.note or "")[:150] or [each.message for each in result.findings[:2]],
    }


class Peak(threading.Thread):
    """The most memory that this process and those below it had."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kib, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            self.kib = max(self.kib, memory_kib(os.getpid()))


def measure(events: int, cores: int, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        began = time.monotonic()
        there = make(folder, events)
        say("made", events=there, s=round(time.monotonic() - began, 1))
        peak, began = Peak(), time.monotonic()
        peak.start()
        with multiprocessing.get_context("fork").Pool(cores, maxtasksperchild=1) as pool:
            found = dict(pool.imap_unordered(partial(judge, folder), names, chunksize=1))
        wall = time.monotonic() - began
        peak.over.set()
        total = sum(each["read_s"] + each["judge_s"] for each in found.values())
        for name, each in sorted(found.items()):
            say(f"  {name}", **each)
        say(
            "judged",
            events=there,
            wall_s=round(wall, 1),
            processor_s=round(total, 1),
            peak_mib=peak.kib // 1024,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    names = given.only or sorted(checkers())
    for events in given.events:
        measure(events, given.cores, names)


if __name__ == "__main__":
    main()
