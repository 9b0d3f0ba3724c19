"""What is read from Spark's event log, and the schedules that are made of it."""

import json
from pathlib import Path

import pytest

from benchmarks.spark_log import Task, busy_ms, report, scheduled_ms, tasks_of


def task(stage: int, begun: int, ended: int, executor: str = "0") -> Task:
    return Task(stage, executor, begun, ended, 1 << 20, 0)


TASKS = [task(0, 0, 40), task(0, 0, 10, "1"), task(0, 10, 20, "1"), task(1, 50, 60)]


def test_a_task_goes_to_the_core_that_is_free_first() -> None:
    assert scheduled_ms(TASKS, 1) == 70
    assert scheduled_ms(TASKS, 2) == 50
    assert scheduled_ms(TASKS, 4) == 50
    assert scheduled_ms([task(0, 0, 10)] * 4, 4) == 10


def test_time_in_which_a_task_was_under_way() -> None:
    assert busy_ms(TASKS) == 50
    assert busy_ms([]) == 0


def test_the_tasks_of_a_log(tmp_path: Path) -> None:
    end = {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 3,
        "Task Info": {"Launch Time": 5, "Finish Time": 9, "Executor ID": "driver"},
        "Task Metrics": {"Shuffle Write Metrics": {"Shuffle Bytes Written": 7}, "Result Size": 2},
    }
    lines = [{"Event": "SparkListenerStageCompleted"}, end]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    assert tasks_of(path) == [Task(3, "driver", 5, 9, 7, 2)]


def test_shares_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    report(TASKS, 0.1)
    said = capsys.readouterr().out
    assert "| 0 | 3 | 0.1 | 0.01 | 0.04 | 3.0 | 0 |" in said
    assert "tasks were under way for 0.1 s, and for 0.1 s none was" in said
    assert "executor 0: 0.1 s of tasks, 71% of all" in said
    assert "executor 1: 0.0 s of tasks, 29% of all" in said
    assert "2 executors of one core: 0.1 s of stages, 1.40 times as quick as one; 1.20" in said
