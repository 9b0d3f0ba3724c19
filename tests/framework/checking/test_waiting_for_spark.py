"""Spark in the background of a run, kernels that are compiled meanwhile, and who waits for both."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from framework.checking import precompile
from framework.checking import spark as spark_session
from framework.checking.spark import Background
from framework.errors import EngineError, UsageError
from framework.run.interrupt import interruptible, left_to_check


class Sessions:
    """Spark, without Spark."""

    def __init__(self) -> None:
        self.may_start = threading.Event()
        self.stopped = threading.Event()
        self.error: Exception | None = None

    def start(self, master: str) -> str:
        assert self.may_start.wait(120)
        if self.error is not None:
            raise self.error
        return master

    def stop(self, session: str) -> None:
        self.stopped.set()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    made = Sessions()
    monkeypatch.setattr(spark_session, "start", made.start)
    monkeypatch.setattr(spark_session, "stop", made.stop)
    return made


def test_who_waits_is_reported_for_what_however_long_it_takes(sessions: Sessions) -> None:
    news: list[str] = []
    compiled = threading.Event()

    def say(line: str) -> None:
        """Whatever is waited for is done once that was said."""
        news.append(line)
        done = sessions.may_start if "Spark is starting" in line else compiled
        done.set()

    steps = [("kernels are compiled", lambda session: compiled.wait(120))]
    with Background("local", steps) as spark:
        assert spark.session(say, every_s=0.01) == "local"
        assert not sessions.stopped.is_set()
    assert sessions.stopped.is_set()
    assert re.fullmatch(r"the check has to wait: Spark is starting \(\d+ s so far\)", news[0])
    assert any("kernels are compiled" in line for line in news)


def test_a_step_that_fails_costs_no_session(sessions: Sessions) -> None:
    def fails(session: Any) -> None:
        raise ValueError("no such checker")

    sessions.may_start.set()
    with Background("local", [("it practises", fails)]) as spark:
        assert spark.session() == "local"


def test_what_starting_raised_is_raised(sessions: Sessions) -> None:
    sessions.error = EngineError("Spark did not start: no memory")
    sessions.may_start.set()
    with Background() as spark, pytest.raises(EngineError, match="no memory"):
        spark.session()


def test_a_session_that_nobody_waits_for_any_more_ends_itself(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "_LEAVING_S", 0.01)
    with Background("local", []):
        pass
    assert not sessions.stopped.is_set()
    sessions.may_start.set()
    assert sessions.stopped.wait(120)


def test_workers_are_kept_awake_until_the_session_is_asked_for(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes of it."""
    asked: Queue[str] = Queue()

    def fails(session: str) -> None:
        asked.put(session)
        raise EngineError("no worker")

    monkeypatch.setattr(spark_session, "_AWAKE_S", 0.01)
    monkeypatch.setattr(spark_session, "stay_awake", fails)
    sessions.may_start.set()
    with Background("local", []) as spark:
        assert [asked.get(timeout=120) for _ in range(3)] == ["local"] * 3
        assert spark.session() == "local"
        spark._thread.join(120)
        assert not spark._thread.is_alive()


def test_a_session_that_ends_keeps_nobody_awake(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "_AWAKE_S", 3600.0)
    sessions.may_start.set()
    with Background("local", []) as spark:
        spark.future.result(120)
    spark._thread.join(120)
    assert not spark._thread.is_alive()


def workers(session: Any) -> set[int]:
    """The processes of all cores' workers, each of which is asked while the others are, too."""

    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            time.sleep(0.5)
            yield pa.RecordBatch.from_arrays([pa.array([os.getpid()])], ["id"])

    cores = session.sparkContext.defaultParallelism
    rows = session.range(0, cores, 1, cores).mapInArrow(told, "id long").collect()
    return {row["id"] for row in rows}


@pytest.mark.nightly
@pytest.mark.parametrize(("every_s", "kept"), [(20.0, True), (3600.0, False)])
def test_workers_outlive_a_minute_in_which_nobody_needs_them(
    spark: Any, monkeypatch: pytest.MonkeyPatch, every_s: float, kept: bool
) -> None:
    monkeypatch.setattr(spark_session, "_AWAKE_S", every_s)
    monkeypatch.setattr(spark_session, "start", lambda master: spark)
    monkeypatch.setattr(spark_session, "stop", lambda session: None)
    with Background("local", []) as background:
        before = workers(background.future.result(120))
        threading.Event().wait(75)  # longer than Spark waits, which no setting changes
        assert (workers(spark) == before) is kept


def test_ctrl_c_gives_a_check_up_and_says_how_to_go_on(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "_LEAVING_S", 0.01)

    def say(_: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with (
        Background() as spark,
        interruptible() as stop,
        pytest.raises(EngineError, match=r"interrupted .* python -m framework check results/x"),
        left_to_check(Path("results/x")),
    ):
        spark.session(say, every_s=0.01)
    sessions.may_start.set()
    assert sessions.stopped.wait(120)
    assert not stop.is_set()


def test_a_check_that_fails_says_how_to_go_on() -> None:
    says = r"no memory; .* python -m framework check results/x"
    with pytest.raises(EngineError, match=says), left_to_check(Path("results/x")):
        raise EngineError("no memory")


# -- compiling


def kernels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that counts how often it was compiled; its source."""
    package = folder / "some_kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    source = package / "ahead.py"
    source.write_text(
        "from pathlib import Path\n"
        "def main(arguments):\n"
        "    assert arguments == []\n"
        f"    with Path({str(folder / 'calls')!r}).open('a') as calls: calls.write('x')\n"
    )
    point = EntryPoint("some", "some_kernels.ahead:main", precompile.GROUP)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(precompile, "entry_points", lambda group: [point])
    monkeypatch.setattr(os, "nice", lambda by: by)
    return source


def test_kernels_are_compiled_once_and_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = kernels(tmp_path, monkeypatch)
    precompile.main()
    assert "compiling the checkers' kernels" in capsys.readouterr().out
    precompile.main()
    assert capsys.readouterr().out == ""
    assert (tmp_path / "calls").read_text() == "x"
    source.write_text(source.read_text() + "# changed\n")
    precompile.folder_of.cache_clear()
    from framework import compiled

    compiled._source.cache_clear()
    precompile.main()
    assert (tmp_path / "calls").read_text() == "xx"


def compiles(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """What is run in place of Python, whatever it is asked to run."""
    (folder / "code.py").write_text(f"import os, sys, time\n{code}\n")
    (folder / "python").write_text(f"#!/bin/sh\nexec {sys.executable} {folder / 'code.py'}\n")
    (folder / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority")
def test_what_compiles_is_no_longer_in_the_way_once_it_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that it started."""
    code = "os.nice(10); os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(10_000)"
    compiles(tmp_path, monkeypatch, code)
    said: Queue[str] = Queue()
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    with precompile.Precompiling(said.put) as precompiling:
        processes = [int(said.get(timeout=120)) for _ in range(2)]
        niced = [os.getpriority(os.PRIO_PROCESS, each) for each in processes]
        precompiling.hurry()
        hurried = [os.getpriority(os.PRIO_PROCESS, each) for each in processes]
    assert niced == [min(ours + 10, 19)] * 2
    assert hurried == [ours] * 2
    precompiling.hurry()


def test_what_may_not_be_hurried_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*of: object) -> None:
        raise PermissionError

    compiles(tmp_path, monkeypatch, "time.sleep(10_000)")
    monkeypatch.setattr(os, "setpriority", refused)
    with precompile.Precompiling(print) as precompiling:
        precompiling.hurry()


def test_compiling_ends_with_who_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lines are passed on; what is not done when the run is over is left."""
    compiles(tmp_path, monkeypatch, "print('compiling', flush=True); time.sleep(10_000)")
    said = threading.Event()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        said.set()

    with precompile.Precompiling(say) as precompiling:
        assert said.wait(120)
    precompiling.wait()
    assert lines == ["compiling"]


def a_cluster(*executors: int) -> Any:
    """A context that has so many executors each time that it is asked, its driver being one, and
    whose workers lack nothing."""
    seen = list(executors)
    status = SimpleNamespace(
        getExecutorMemoryStatus=lambda: SimpleNamespace(
            size=lambda: seen.pop(0) if len(seen) > 1 else seen[0]
        )
    )
    job = SimpleNamespace(collect=lambda: [[]])
    return SimpleNamespace(
        _jsc=SimpleNamespace(sc=lambda: status),
        parallelize=lambda rows, slices: SimpleNamespace(map=lambda function: job),
        left=seen,
    )


def test_workers_that_come_late_are_waited_for() -> None:
    cluster = a_cluster(1, 1, 2)
    spark_session._need_workers(cluster, "spark://here:7077")
    assert cluster.left == [2]


def test_workers_that_never_come_are_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "_WORKERS_S", 0.0)
    with pytest.raises(UsageError, match="no worker took the job"):
        spark_session._need_workers(a_cluster(1), "spark://here:7077")
