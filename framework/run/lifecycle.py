"""One test from beginning to end: set up, barrier, run, heal, verify, settle, final reads,
collect, check, report.

The runner, not the test's author, owns the end. Whatever goes wrong after the history began, the
history is checked: neither a failed heal nor a failed collection can lose a verdict.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from framework.checking.documents import VerdictDocument
from framework.checking.engine import check_runs, warm_up_checkers
from framework.checking.junit import write_junit
from framework.checking.precompile import Precompiling
from framework.checking.results import RunResult, verdict_document
from framework.checking.spark import Background, Step, warm_up
from framework.history.event import Event, Json
from framework.history.journal import Journal, seal
from framework.plugins.checker import SparkSession
from framework.plugins.system import Cluster
from framework.plugins.workload import Client
from framework.report.render import draw
from framework.report.story import Line
from framework.run import cluster as clusters
from framework.run import interpreter, store
from framework.run.clocks import measured
from framework.run.enough import Enough
from framework.run.faults import FaultDriver
from framework.run.interrupt import interruptible, left_to_check
from framework.run.ledger import Ledger
from framework.run.live import Watching
from framework.run.machine import watched
from framework.run.options import Test, as_json
from framework.run.progress import Progress
from framework.run.schedule import schedule
from framework.run.versions import versions
from framework.run.waiting import waiting
from framework.timings import Timings

log: Final = logging.getLogger(__name__)

WARM_UP_S: Final = 20.0
"""Main phases from this length on leave time to check once for practice."""

KEPT: Final[list[ExitStack]] = []
"""Clusters that outlive their run (`--keep`). They would be taken down when this list goes, so a
process that has some must leave by `os._exit`."""


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
    with interruptible() as stop, ThreadPoolExecutor(1) as beside, ExitStack() as stack:
        spark: list[Background] = []
        compiling: list[Precompiling] = []
        recorded = threading.Event()
        standing: list[Callable[[], None]] = []

        def take_down() -> None:
            """Beside the report, not the check: the verdict is waited for."""
            while standing:
                beside.submit(standing.pop())

        stack.callback(take_down)
        watching = Watching(test, progress.say, stop)
        stack.callback(watching.close)

        def ready(folder: store.RunFolder) -> None:
            """Compiling and Spark start while the cluster runs: not before, for they would slow its
            start."""
            precompiling = stack.enter_context(Precompiling(progress.say))
            compiling.append(precompiling)
            steps: list[Step] = [
                ("the checkers' kernels are being compiled", lambda _: precompiling.wait()),
                ("the stream is starting", lambda session: watching.start(session, folder)),
                (
                    "Spark's workers are trying it on what was recorded so far",
                    lambda session: practise(session, folder),
                ),
            ]
            spark.append(stack.enter_context(Background(test.options.spark_master, steps)))

        def practise(session: SparkSession, folder: store.RunFolder) -> None:
            if recorded.is_set():
                return  # the check itself is next
            if test.options.time_limit_s >= WARM_UP_S:
                warm_up_checkers(session, folder.path, test.checkers)
            else:
                warm_up(session)

        def finished(result: RunResult) -> RunResult:
            return replace(
                result,
                timings={**result.timings, **timings.figures()},
                interrupted=stop.is_set() and not watching.failed,
            )

        folder = record(
            test,
            argv,
            progress,
            timings=timings,
            stop=stop,
            ready=ready,
            ended=watching.end,
            aside=standing.append,
        )
        recorded.set()
        for each in compiling:
            each.hurry()
        progress.phase("check")
        timings.phase("Spark")
        with left_to_check(folder.path):
            session = spark[0].session(progress.say)
            watching.close()
            timings.phase("check")
            (result,) = check_runs(
                session,
                [folder.path],
                test.checkers,
                budget_s=test.options.budget_s,
                finish=finished,
            )
        take_down()
        progress.phase("report")
        story = draw(folder.path)
    if test.options.junit is not None:
        write_junit([result], test.options.junit)
    return Outcome(verdict=verdict_document(result), folder=folder.path, story=story)


def record(
    test: Test,
    argv: list[str],
    progress: Progress,
    *,
    timings: Timings | None = None,
    stop: threading.Event | None = None,
    ready: Callable[[store.RunFolder], None] = lambda _: None,
    ended: Callable[[], Mapping[str, Json]] = dict,
    aside: Callable[[Callable[[], None]], object] = lambda act: act(),
) -> store.RunFolder:
    """Run without checking; the run's folder. `ready` is called when the cluster serves, `ended`
    when the history is whole, for what plan.json has of it; `stop` ends the run early; `aside` is
    given what nobody waits for: what copies the history to columns, and what takes the cluster
    down, once all is collected. Raises `UsageError`, `EngineError`."""
    folder = store.create(test.options.results, test.name, test.seed)
    plan = _plan(test, argv)
    folder.write_plan(plan)
    progress.say(test.hosts_reason)
    for name, reason in test.left_out.items():
        progress.say(f"workload {name} is left out: {reason}")
    for line in test.provider.clean():
        progress.say(f"left by an earlier run: {line}")
    progress.say(f"seed {test.seed}, results in {folder.path}")
    timings = timings or Timings()
    stop = stop or threading.Event()
    _run_cluster(test, folder, plan, progress, timings, stop, ready, ended, aside)
    return folder


def _plan(test: Test, argv: Sequence[str]) -> dict[str, Json]:
    return {
        "argv": list(argv),
        "seed": test.seed,
        "name": test.name,
        "hosts": test.provider.name,
        "system": test.system_name,
        "workloads": [workload.name for workload in test.workloads],
        "provides": sorted({each for workload in test.workloads for each in workload.provides}),
        "nemeses": list(test.nemeses),
        "observer": None if test.observer is None else test.observer.name,
        "faults": [fault.name for fault in test.faults],
        "left_out": dict(test.left_out),
        "checkers": list(test.checkers),
        "not_applicable": dict(test.not_applicable),
        "options": {
            **as_json(test.options),
            "seed": test.seed,
            "hosts": test.provider.name,
            "system": test.system_name,
            "lasting_s": test.lasting_s,
        },
        "settings": {node: dict(each) for node, each in test.settings.items()},
        "recovery_s": test.system.recovery_s(test.specs, test.settings),
        "fencing_s": test.system.fencing_s(test.specs, test.settings),
        "threads": test.threads,
        "capabilities": sorted(test.capabilities),
        "nodes": {},
        "time_zero_ns": None,
        "time_zero": None,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "harness_pid": os.getpid(),
        "versions": {**versions(), **test.system.versions(test.specs, test.settings)},
    }


def _run_cluster(
    test: Test,
    folder: store.RunFolder,
    plan: dict[str, Json],
    progress: Progress,
    timings: Timings,
    stop: threading.Event,
    ready: Callable[[store.RunFolder], None],
    ended: Callable[[], Mapping[str, Json]],
    aside: Callable[[Callable[[], None]], object],
) -> None:
    """Everything that needs the cluster. An error once the history has begun is logged: what
    was recorded is checked all the same."""
    with ExitStack() as stack:
        scratch = Path(tempfile.mkdtemp(prefix="kraft-proof-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        try:
            progress.phase("set up")
            cluster = stack.enter_context(
                clusters.cluster_of(
                    test.system,
                    test.provider,
                    test.specs,
                    run_id=f"{folder.path.parent.name}-{folder.path.name}",
                    seed=test.seed,
                    scratch=scratch,
                    settings=test.settings,
                    defect=test.options.defect,
                    stop=stop.is_set,
                    failed_start_logs=folder.node,
                    phase=timings.phase,
                )
            )
            timings.phase("begin")
            plan["nodes"] = clusters.describe(cluster.fleet, test.specs)
            plan["time_zero_ns"] = zero_ns = time.monotonic_ns()
            enough = Enough(say=progress.say, faults=[each.name for each in test.faults])
            plan["time_zero"] = datetime.now(UTC).isoformat()
            with (
                measured(cluster.fleet, zero_ns) as plan["clocks"],
                watched(zero_ns) as busy,
                waiting(cluster.fleet, zero_ns) as nodes,
            ):
                folder.write_plan(plan)
                ready(folder)
                try:
                    _interpret(test, cluster, folder, zero_ns, progress, timings, stop, enough)
                except Exception as error:
                    if not folder.history.exists():
                        raise
                    _ended_early(folder, plan, progress, error)
            plan |= {"machine": {**busy, "nodes": nodes}, **ended()} | (
                {"went_on": enough.went_on} if enough.went_on else {}
            )
            folder.write_plan(plan)
            aside(partial(_copied, folder, progress))
            progress.phase("collect")
            timings.phase("collect")
            _collect(cluster, folder, plan, progress, stop=not test.options.keep)
            if test.options.keep:
                KEPT.append(stack.pop_all())
                progress.say("the cluster keeps running; `python -m framework clean` removes it")
                return
            aside(partial(_take_down, stack.pop_all(), progress))
        except Exception as error:
            if not folder.history.exists():
                raise
            _not_taken_down(progress, error)


def _copied(folder: store.RunFolder, progress: Progress) -> None:
    """The columnar copy of the history, for others: no check of ours reads it, nor waits for it."""
    try:
        seal(folder.path)
    except Exception as error:
        progress.say(f"the history's columnar copy: {type(error).__name__}: {error}")


def _take_down(cluster: ExitStack, progress: Progress) -> None:
    """A failure costs no verdict."""
    try:
        cluster.close()
    except Exception as error:
        _not_taken_down(progress, error)


def _not_taken_down(progress: Progress, error: Exception) -> None:
    log.info("the cluster could not be taken down in good order", exc_info=error)
    progress.say(f"taking the cluster down: {type(error).__name__}: {error}")


def _collect(
    cluster: Cluster,
    folder: store.RunFolder,
    plan: dict[str, Json],
    progress: Progress,
    *,
    stop: bool,
) -> None:
    """What is missing in the end is kept in plan.json: its absence says nothing of the node."""
    lost = clusters.collect(cluster, folder.node, stop=stop)
    if lost:
        plan["uncollected"] = dict(sorted(lost.items()))
        folder.write_plan(plan)
    for node, why in sorted(lost.items()):
        progress.say(f"what {node} wrote could not be collected: {why}")


def _ended_early(
    folder: store.RunFolder, plan: dict[str, Json], progress: Progress, error: Exception
) -> None:
    """The framework's own failure is said, and kept in plan.json: such a run is never VALID."""
    log.info("the run ended early", exc_info=error)
    plan["ended_early"] = f"{type(error).__name__}: {error}"
    progress.say(f"the run ended early: {plan['ended_early']}")
    try:
        folder.write_plan(plan)
    except OSError as also:
        log.error("%s cannot be written: %s", folder.path, also)


def _interpret(
    test: Test,
    cluster: Cluster,
    folder: store.RunFolder,
    time_zero_ns: int,
    progress: Progress,
    timings: Timings,
    stop: threading.Event,
    enough: Enough,
) -> None:
    def clock() -> int:
        return time.monotonic_ns() - time_zero_ns

    def on_event(event: Event) -> None:
        if isinstance(event.process, int):
            timings.operation()
        enough.event(event)
        progress.event(event)

    def on_phase(name: str) -> None:
        timings.phase(name)
        progress.phase(name)

    ledger = Ledger(folder.faults, clock)
    driver = FaultDriver(
        cluster=cluster,
        faults=test.faults,
        targets=test.targets,
        ledger=ledger,
        on_phase=on_phase,
        on_fault=progress.fault,
    )
    journal = Journal(folder.path)
    try:
        interpreter.run(
            schedule(test, enough),
            open_client=_client_factory(test, cluster),
            nemesis=driver,
            journal=journal,
            threads=test.threads,
            seed=test.seed,
            clock=clock,
            stop=stop,
            on_event=on_event,
            observers=_observers(test, cluster),
        )
    finally:
        timings.phase("end")
        if driver.active:  # cut short before the schedule came to it
            progress.phase("heal")
            driver.heal_all()
        ledger.close()
        journal.close()


def _observers(test: Test, cluster: Cluster) -> Mapping[str, Callable[[], Client]]:
    if test.observer is None:
        return {}
    return {spec.name: partial(test.observer.client, cluster, spec.name) for spec in test.specs}


def _client_factory(test: Test, cluster: Cluster) -> Callable[[int], Client]:
    owner = {
        thread: (workload, thread - test.threads_of(index).start)
        for index, workload in enumerate(test.workloads)
        for thread in test.threads_of(index)
    }

    def open_client(thread: int) -> Client:
        workload, own = owner[thread]
        return workload.client(cluster, own)

    return open_client
