"""What Spark's own event log says of a job: stages, tasks, skew, what was shuffled and returned.

    python -m benchmarks.spark_log LOG...

Stage by stage: the tasks, their time and the longest beside the median, what they read from
files, shuffled and gave to the driver. Then the work of each executor, and the time that the same
tasks take on 1, 2, 4 and 8 executors of one core each: in the order in which they were begun, each
goes to the core that is free first, and a stage begins when the one before has ended. What is no
task's time (Spark's start, planning, what the driver does) is as it was.
"""

import heapq
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

CORES: Final = (1, 2, 4, 8)
_SETTINGS: Final = """spark.eventLog.enabled true
spark.eventLog.rolling.enabled false
spark.eventLog.compress false
spark.eventLog.dir file://{folder}
"""


def logging(scratch: Path) -> tuple[dict[str, str], Path]:
    """What of the environment has Spark write event logs, and the folder to which it will.
    `scratch`: an empty folder."""
    logs, settings = scratch / "logs", scratch / "conf"
    logs.mkdir(parents=True)
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(_SETTINGS.format(folder=logs))
    return {"SPARK_CONF_DIR": str(settings)}, logs


@dataclass(frozen=True, slots=True)
class Task:
    """Times in ms, since the epoch. `shuffled`: bytes that it wrote for others, `returned`: to the
    driver, Spark's own figures of the task among them."""

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
    stages = by_stage(tasks).values()
    return sum(int(on_cores([task.ms for task in stage], cores)) for stage in stages)


def on_cores(times: Sequence[float], cores: int) -> float:
    """How long tasks of these times take, of which each goes to the core that is free first."""
    free = [0.0] * cores
    for each in times:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def busy_ms(tasks: Sequence[Task]) -> int:
    """How long at least one task was under way."""
    total, until = 0, 0
    for task in sorted(tasks, key=lambda each: each.begun):
        total += max(0, task.ended - max(until, task.begun))
        until = max(until, task.ended)
    return total


def report(tasks: Sequence[Task], wall_s: float | None = None) -> None:
    """Prints it. `wall_s`: how long the whole command took, if that is known."""
    print(
        "| stage | tasks | work, s | median, s | longest, s | shuffled, MiB | to the driver, KiB |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for number, stage in by_stage(tasks).items():
        times = [task.ms / 1e3 for task in stage]
        shuffled, returned = (sum(each) for each in zip(*map(_moved, stage), strict=True))
        print(
            f"| {number} | {len(stage)} | {sum(times):.1f} | {median(times):.2f} | "
            f"{max(times):.2f} | {shuffled / 2**20:.1f} | {returned / 2**10:.0f} |"
        )
    work = sum(task.ms for task in tasks)
    for executor in sorted({task.executor for task in tasks}):
        own = sum(task.ms for task in tasks if task.executor == executor)
        print(f"executor {executor}: {own / 1e3:.1f} s of tasks, {own / work:.0%} of all")
    busy = busy_ms(tasks) / 1e3
    rest = 0.0 if wall_s is None else wall_s - busy
    print(f"tasks were under way for {busy:.1f} s, and for {rest:.1f} s none was")
    alone = scheduled_ms(tasks, 1)
    for cores in CORES:
        took = scheduled_ms(tasks, cores)
        quicker, with_rest = alone / took, (alone / 1e3 + rest) / (took / 1e3 + rest)
        print(
            f"{cores} executors of one core: {took / 1e3:.1f} s of stages, {quicker:.2f} times as "
            f"quick as one; {with_rest:.2f} times with the rest"
        )


def _moved(task: Task) -> tuple[int, int]:
    return task.shuffled, task.returned


if __name__ == "__main__":
    for each in sys.argv[1:]:
        report(tasks_of(Path(each)))
