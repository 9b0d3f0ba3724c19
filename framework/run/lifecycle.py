"""One test from beginning to end: recorded, checked, drawn.

The runner, not the test's author, owns the end. Whatever goes wrong after the history began, the
history is checked: neither a failed heal nor a failed collection can lose a verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from framework.checking.documents import VerdictDocument
from framework.checking.junit import write_junit
from framework.checking.results import RunResult, verdict_document
from framework.report.render import draw
from framework.report.story import Line
from framework.run.interrupt import interruptible
from framework.run.judging import Judging
from framework.run.options import Test
from framework.run.progress import Progress
from framework.run.recording import Beside, record
from framework.timings import Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run."""

    verdict: VerdictDocument
    """As in verdict.json."""
    folder: Path
    story: tuple[Line, ...]
    """In a few lines; empty where the report could not be drawn."""


def run_test(test: Test, argv: list[str], progress: Progress) -> Outcome:
    """Run, check and draw.

    Raises `UsageError`, `EngineError`.
    """
    timings = Timings()
    timings.phase("prepare")
    standing: list[Callable[[], None]] = []
    with interruptible() as stop, ThreadPoolExecutor(1) as pool, ExitStack() as stack:

        def take_down() -> None:
            """Beside the report, not the check: the verdict is waited for."""
            while standing:
                pool.submit(standing.pop())

        stack.callback(take_down)
        judging = stack.enter_context(Judging(test, progress, stop))
        beside = Beside(ready=judging.start, ended=judging.ended, aside=standing.append)

        def finished(result: RunResult) -> RunResult:
            return replace(
                result,
                timings={**result.timings, **timings.figures()},
                interrupted=stop.is_set() and not judging.ended_it,
            )

        folder = record(test, argv, progress, timings=timings, stop=stop, beside=beside)
        result = judging.check(folder, timings, finished)
        take_down()
        progress.phase("report")
        story = draw(folder.path)
    if test.options.junit is not None:
        write_junit([result], test.options.junit)
    return Outcome(verdict=verdict_document(result), folder=folder.path, story=story)
