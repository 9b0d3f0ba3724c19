"""How a check spreads over executors: the work of each, skew, and what more of them would give.

    python -m benchmarks.executors check --model kafka HISTORY --spark-master local[2]
    python -m benchmarks.executors check results/ --spark-master spark://HOST:PORT

Runs that command of the framework's with Spark's event log, and prints from it, stage by stage, the
tasks, their time and the share of the longest, and the work of each executor. Then the time that
the same tasks take on 1, 2, 4 and 8 executors of one core each: in the order in which they were
begun, each goes to the core that is free first, and a stage begins when the one before has ended.
What is no task's time (Spark's start, planning, what the driver does) is as it was.
"""

import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CORES: Final = (1, 2, 4, 8)
_SETTINGS: Final = """spark.eventLog.enabled true
spark.eventLog.rolling.enabled false
spark.eventLog.compress false
spark.eventLog.dir file://{folder}
"""


@dataclass(frozen=True, slots=True)
class Task:
    """Times in ms, since the epoch. `shuffled`: bytes that it wrote for others, `returned`: to the
    driver."""

    stage: int
    executor: str
    begun: int
    ended: int
    shuffled: int
    returned: int

    @property
    def ms(self) -> int:
        return self.ended - self.begun


def tasks_of(log: Path) -> list[Task]:
    """The tasks of an event log, by stage and beginning."""
    found = []
    with log.open() as lines:
        for line in lines:
            if not line.startswith('{"Event":"SparkListenerTaskEnd"'):
                continue
            event = json.loads(line)
            info, metrics = event["Task Info"], event.get("Task Metrics") or {}
            found.append(
                Task(
                    event["Stage ID"],
                    info["Executor ID"],
                    info["Launch Time"],
                    info["Finish Time"],
                    metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0),
                    metrics.get("Result Size", 0),
                )
            )
    return sorted(found, key=lambda task: (task.stage, task.begun))


def by_stage(tasks: Sequence[Task]) -> Mapping[int, list[Task]]:
    stages: dict[int, list[Task]] = defaultdict(list)
    for task in tasks:
        stages[task.stage].append(task)
    return stages


def scheduled_ms(tasks: Sequence[Task], cores: int) -> int:
    """How long all stages take, one after the other, on so many cores."""
    total = 0
    for stage in by_stage(tasks).values():
        free = [0] * cores
        for task in stage:
            heapq.heapreplace(free, free[0] + task.ms)
        total += max(free)
    return total


def busy_ms(tasks: Sequence[Task]) -> int:
    """How long at least one task was under way."""
    total, until = 0, 0
    for task in sorted(tasks, key=lambda each: each.begun):
        total += max(0, task.ended - max(until, task.begun))
        until = max(until, task.ended)
    return total


def report(tasks: Sequence[Task], wall_s: float) -> None:
    for number, stage in by_stage(tasks).items():
        work = sum(task.ms for task in stage)
        print(
            f"stage {number}: {len(stage)} tasks, {work / 1e3:.1f} s of tasks, the longest "
            f"{max(task.ms for task in stage) / 1e3:.1f} s, "
            f"{sum(task.shuffled for task in stage) / 2**20:.1f} MiB shuffled, "
            f"{sum(task.returned for task in stage) / 2**20:.1f} MiB to the driver"
        )
    work = sum(task.ms for task in tasks)
    for executor in sorted({task.executor for task in tasks}):
        own = sum(task.ms for task in tasks if task.executor == executor)
        print(f"executor {executor}: {own / 1e3:.1f} s of tasks, {own / work:.0%} of all")
    rest = wall_s - busy_ms(tasks) / 1e3
    print(f"wall {wall_s:.1f} s, of which no task was under way in {rest:.1f} s")
    alone = scheduled_ms(tasks, 1)
    for cores in CORES:
        took = scheduled_ms(tasks, cores)
        quicker, with_rest = alone / took, (alone / 1e3 + rest) / (took / 1e3 + rest)
        print(
            f"{cores} executors of one core: {took / 1e3:.1f} s of stages, {quicker:.2f} times as "
            f"quick as one; {with_rest:.2f} times with the rest"
        )


def main(command: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="executors-") as scratch:
        logs, settings = Path(scratch, "logs"), Path(scratch, "conf")
        logs.mkdir()
        settings.mkdir()
        (settings / "spark-defaults.conf").write_text(_SETTINGS.format(folder=logs))
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "framework", *command],
            env={**os.environ, "SPARK_CONF_DIR": str(settings)},
            check=False,
        )
        wall_s = time.monotonic() - began
        found = list(logs.iterdir())
        if not found:
            print("it ran without Spark: name a master with --spark-master")
            return done.returncode or 1
        for log in found:
            report(tasks_of(log), wall_s)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
