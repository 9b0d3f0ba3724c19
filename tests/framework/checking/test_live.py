"""A run is judged while it goes on, by what was recorded so far and by nothing else."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from framework.checking.live import FOLDER, Judged, Live, Parts
from framework.checking.prefixes import live_checkers, prefix
from framework.errors import UsageError
from framework.plugins.promise import Promised
from framework.run.live import Watching, need_this_machine
from framework.run.options import Options
from framework.verdict import Verdict


class Recording:
    """A run whose history grows."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        plan = {"seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0}
        (folder / "plan.json").write_text(json.dumps(plan))
        self.folder = folder
        self.history = folder / "history.jsonl"
        self.history.touch()
        self.events = 0

    def line(self, type: str, f: str, value: object) -> str:
        event = {"index": self.events, "type": type, "process": 0, "f": f, "key": "x"}
        self.events += 1
        return json.dumps(event | {"value": value}) + "\n"

    def append(self, text: str) -> None:
        with self.history.open("a") as file:
            file.write(text)

    def done(self, f: str, value: object, result: object) -> None:
        self.append(self.line("invoke", f, value) + self.line("ok", f, result))


def test_parts_end_where_lines_do(tmp_path: Path) -> None:
    run, parts = Recording(tmp_path), Parts(tmp_path)
    assert not parts.cut()
    first, second = run.line("invoke", "write", 1), run.line("ok", "write", None)
    run.append(first + second[:9])
    assert parts.cut() and not parts.cut()
    run.append(second[9:])
    assert parts.cut()
    found = sorted((tmp_path / FOLDER).iterdir())
    assert [each.read_text() for each in found] == [first, second]
    assert [int(each.name) for each in found] == [len(first), len(first + second)]
    parts.remove()
    assert not (tmp_path / FOLDER).exists()


def test_a_prefix_knows_nothing_of_what_came_later(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.done("write", 1, None)
    run.append(run.line("invoke", "read", None))
    end = run.history.stat().st_size
    run.append(run.line("ok", "read", 1) + '{"index": 4, "half a li')
    rows = prefix("r", tmp_path, end).operations.to_pylist()
    assert [(row["f"], row["type"], row["end"]) for row in rows] == [
        ("write", "ok", 1),
        ("read", "info", None),
    ]


@pytest.fixture
def watched(spark: Any, tmp_path: Path) -> Iterator[tuple[Recording, "Queue[Judged]"]]:
    run, said = Recording(tmp_path / "run"), Queue[Judged]()
    checkers = live_checkers(["register-linearizability", "metadata-answers", "faults-bit"])
    live = Live(spark, run.folder, checkers, said.put)
    live.start()
    yield run, said
    live.close()
    assert not (run.folder / FOLDER).exists()
    assert not spark.streams.active


def test_what_breaks_is_said_while_the_run_goes_on(
    watched: tuple[Recording, "Queue[Judged]"],
) -> None:
    run, said = watched
    for value in range(3):
        run.done("write", value, None)
        run.done("read", None, value)
    first = said.get(timeout=300)
    assert (first.checker, first.clause) == ("register-linearizability", "one-order")
    assert first.verdict is Verdict.VALID and first.compared >= 3
    run.append(run.line("invoke", "read", None))  # which is pending meanwhile
    run.append(run.line("ok", "read", 0))
    second = said.get(timeout=300)
    assert second.verdict is Verdict.INVALID
    assert second.why.startswith("a stale read")
    run.done("write", 9, None)
    assert said.empty()


# --- what a run makes of it ---------------------------------------------------------------


def watching(
    checker: str = "faults-bit", **options: Any
) -> tuple[Watching, list[str], threading.Event]:
    said: list[str] = []
    stop = threading.Event()
    test: Any = SimpleNamespace(options=Options(**options), checkers=[checker])
    return Watching(test, said.append, stop), said, stop


def judged(verdict: Verdict) -> Judged:
    return Judged(
        checker="c", clause="k", verdict=verdict, compared=7, compares="answers", why="it broke"
    )


def test_what_holds_so_far_ends_no_run() -> None:
    watch, said, stop = watching(fail_fast=True)
    watch.judged(judged(Verdict.VALID))
    assert said == ["live: c k holds so far (7 answers)"]
    assert not stop.is_set() and watch.end() == {}


def test_what_is_broken_ends_a_run_only_where_that_is_wanted() -> None:
    watch, said, stop = watching(live=True)
    watch.judged(judged(Verdict.INVALID))
    assert said == ["live: INVALID c k: it broke"]
    assert not stop.is_set() and watch.end() == {}


def test_what_nobody_promises_is_not_said_and_ends_no_run() -> None:
    watch, said, stop = watching(fail_fast=True)
    watch.promises = {"c/k": Promised(source="nobody", made=False)}
    watch.judged(judged(Verdict.INVALID))
    assert said == [] and not stop.is_set() and watch.failed == ""
    watch.promises = {"c/k": Promised(source="KIP-1"), "c/l": Promised(source="", made=False)}
    watch.judged(judged(Verdict.INVALID))
    assert stop.is_set()


def test_what_is_broken_ends_a_run_once() -> None:
    watch, said, stop = watching(fail_fast=True)
    watch.judged(judged(Verdict.INVALID))
    watch.judged(judged(Verdict.INVALID))
    assert stop.is_set() and sum("--fail-fast" in line for line in said) == 1
    assert watch.end() == {"failed_fast": "c k: it broke"}


def test_a_run_that_is_over_is_not_ended_again() -> None:
    watch, said, stop = watching(fail_fast=True)
    assert watch.end() == {}
    watch.judged(judged(Verdict.INVALID))
    assert not stop.is_set() and said == ["live: INVALID c k: it broke"]


def test_where_nothing_can_be_judged_that_is_said(tmp_path: Path) -> None:
    watch, said, _ = watching(live=True)
    watch.start(None, SimpleNamespace(path=tmp_path))  # type: ignore[arg-type]
    assert said == ["live: none of this run's checkers can judge a run that goes on"]
    unwatched, said, _ = watching()
    unwatched.start(None, SimpleNamespace(path=tmp_path))  # type: ignore[arg-type]
    assert said == []


def test_of_a_run_that_nobody_looked_at_that_is_said() -> None:
    watch, said, _ = watching("isr-linearizability", live=True)
    watch.end()
    assert said == ["live: the run was over before Spark had looked at it: it is judged now"]
    unwatched, said, _ = watching("isr-linearizability")
    unwatched.end()
    assert said == []


def test_the_start_ends_after_the_first_look_or_with_the_run(spark: Any, tmp_path: Path) -> None:
    for number, looked in enumerate((True, False)):
        run = Recording(tmp_path / str(number))
        watch, said, _ = watching("register-linearizability", live=True)
        started = threading.Thread(
            target=watch.start, args=(spark, SimpleNamespace(path=run.folder))
        )
        started.start()
        if looked:
            run.done("write", 1, None)
            started.join(300)
            assert not started.is_alive()
        while not (run.folder / FOLDER).exists() and not looked:
            started.join(0.1)
        watch.end()
        started.join(300)
        assert not started.is_alive()
        watch.close()
        assert bool(said) is not looked


@pytest.mark.parametrize("given", [{"live": True}, {"fail_fast": True}])
def test_workers_elsewhere_cannot_read_what_is_recorded_here(given: dict[str, bool]) -> None:
    with pytest.raises(UsageError, match="--spark-master must be local"):
        need_this_machine(Options(spark_master="spark://far:7077", **given))  # type: ignore[arg-type]
    need_this_machine(Options(spark_master="local[2]", **given))  # type: ignore[arg-type]
    need_this_machine(Options(spark_master="spark://far:7077"))
