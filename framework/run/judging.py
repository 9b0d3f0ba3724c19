"""Spark beside a run: it starts when the cluster serves, practises meanwhile, and judges then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from framework.checking.engine import check_runs, warm_up_checkers
from framework.checking.precompile import Precompiling
from framework.checking.results import RunResult
from framework.checking.spark import Background, Step, warm_up
from framework.history.event import Json
from framework.plugins.checker import SparkSession
from framework.run.interrupt import left_to_check
from framework.run.live import Watching
from framework.run.options import Test
from framework.run.progress import Progress
from framework.run.store import RunFolder
from framework.timings import Timings

WARM_UP_S: Final = 20.0
"""Main phases from this length on leave time to check once for practice."""


class Judging:
    """From `start` on, until the `with` block ends."""

    def __init__(self, test: Test, progress: Progress, stop: threading.Event) -> None:
        self._test = test
        self._progress = progress
        self._recorded = threading.Event()
        self._watching = Watching(test, progress.say, stop)
        self._stack = ExitStack()
        self._spark: Background | None = None
        self._compiling: Precompiling | None = None

    def __enter__(self) -> Judging:
        self._stack.callback(self._watching.close)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @property
    def ended_it(self) -> bool:
        """Whether the run was ended by what was found in it (`--fail-fast`)."""
        return bool(self._watching.failed)

    def start(self, folder: RunFolder, so_far: Callable[[RunFolder], None]) -> None:
        """Compiling and Spark, while the cluster runs: not before, for they would slow its start.
        `so_far` copies to another folder what there is by then. Raises nothing that they do."""
        compiling = self._stack.enter_context(Precompiling(self._progress.say))
        steps: list[Step] = [
            ("the checkers' kernels are being compiled", lambda _: compiling.wait()),
            ("the stream is starting", lambda session: self._watching.start(session, folder)),
            (
                "Spark's workers are trying it on what was recorded so far",
                lambda session: self._practise(session, folder, so_far),
            ),
        ]
        self._compiling = compiling
        self._spark = self._stack.enter_context(Background(self._test.options.spark_master, steps))

    def _practise(
        self, session: SparkSession, folder: RunFolder, so_far: Callable[[RunFolder], None]
    ) -> None:
        if self._recorded.is_set():
            return  # the check itself is next
        if self._test.options.time_limit_s < WARM_UP_S:
            warm_up(session)
            return
        with TemporaryDirectory(prefix="kraft-proof-") as copy:
            so_far(RunFolder(Path(copy)))
            if not warm_up_checkers(session, Path(copy), self._test.checkers):
                warm_up_checkers(session, folder.path, self._test.checkers)

    def ended(self) -> Mapping[str, Json]:
        """The history is whole; what plan.json is to say of it."""
        return self._watching.end()

    def check(
        self, folder: RunFolder, timings: Timings, finish: Callable[[RunResult], RunResult]
    ) -> RunResult:
        """What was recorded, however long Spark takes to be there. Raises `EngineError`."""
        self._recorded.set()
        assert self._spark is not None and self._compiling is not None, "it was not started"
        self._compiling.hurry()
        self._progress.phase("check")
        timings.phase("Spark")
        with left_to_check(folder.path):
            session = self._spark.session(self._progress.say)
            self._watching.close()
            timings.phase("check")
            (result,) = check_runs(
                session,
                [folder.path],
                self._test.checkers,
                budget_s=self._test.options.budget_s,
                finish=finish,
            )
        return result
