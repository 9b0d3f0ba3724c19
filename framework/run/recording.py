"""The recording of a run: set up, barrier, run, heal, verify, settle, final reads, collect.

Whatever goes wrong after the history began, what was recorded stays, and the cluster is taken down.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from framework.history.event import Event, Json
from framework.history.journal import Journal, seal
from framework.plugins.system import Cluster
from framework.plugins.workload import Client
from framework.run import cluster as clusters
from framework.run import interpreter, store
from framework.run.clocks import measured
from framework.run.enough import Enough
from framework.run.faults import FaultDriver
from framework.run.ledger import Ledger
from framework.run.machine import watched
from framework.run.options import Test, as_json
from framework.run.progress import Progress
from framework.run.schedule import schedule
from framework.run.versions import versions
from framework.run.waiting import waiting
from framework.timings import Timings

log: Final = logging.getLogger(__name__)

KEPT: Final[list[ExitStack]] = []
"""Clusters that outlive their run (`--keep`). They would be taken down when this list goes, so a
process that has some must leave by `os._exit`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What goes on beside a recording, and is told of it."""

    ready: Callable[[store.RunFolder, Callable[[store.RunFolder], None]], None] = lambda *_: None
    """When the cluster serves; with what copies all there is so far to another folder."""
    ended: Callable[[], Mapping[str, Json]] = dict
    """When the history is whole, for what plan.json has of it."""
    aside: Callable[[Callable[[], None]], object] = lambda act: act()
    """Given what nobody waits for: what copies the history to columns, and what takes the cluster
    down, once all is collected."""


NOTHING: Final = Beside()


def record(
    test: Test,
    argv: list[str],
    progress: Progress,
    *,
    timings: Timings | None = None,
    stop: threading.Event | None = None,
    beside: Beside = NOTHING,
) -> store.RunFolder:
    """Run without checking; the run's folder. `stop` ends the run early. Raises `UsageError`,
    `EngineError`."""
    folder = store.create(test.options.results, test.name, test.seed)
    plan = _plan(test, argv)
    folder.write_plan(plan)
    progress.say(test.hosts_reason)
    for name, reason in test.left_out.items():
        progress.say(f"workload {name} is left out: {reason}")
    for line in test.provider.clean():
        progress.say(f"left by an earlier run: {line}")
    progress.say(f"seed {test.seed}, results in {folder.path}")
    _Recording(
        test=test,
        folder=folder,
        plan=plan,
        progress=progress,
        timings=timings or Timings(),
        stop=stop or threading.Event(),
        beside=beside,
    ).run()
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
        "recovery_s": test.recovery_s,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recording:
    """Everything that needs the cluster."""

    test: Test
    folder: store.RunFolder
    plan: dict[str, Json]
    """As plan.json has it, which is written again when more is known."""
    progress: Progress
    timings: Timings
    stop: threading.Event
    beside: Beside

    def run(self) -> None:
        """An error once the history has begun is logged: what was recorded is checked all the
        same."""
        with ExitStack() as stack:
            try:
                cluster = self._set_up(stack)
                self._operate(cluster)
                self.beside.aside(self._copied)
                self._collect(cluster)
                self._leave(stack.pop_all())
            except Exception as error:
                if not self.folder.history.exists():
                    raise
                self._not_taken_down(error)

    def _set_up(self, stack: ExitStack) -> Cluster:
        scratch = Path(tempfile.mkdtemp(prefix="kraft-proof-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        self.progress.phase("set up")
        path = self.folder.path
        return stack.enter_context(
            clusters.cluster_of(
                self.test.system,
                self.test.provider,
                self.test.specs,
                run_id=f"{path.parent.name}-{path.name}",
                seed=self.test.seed,
                scratch=scratch,
                settings=self.test.settings,
                defect=self.test.options.defect,
                stop=self.stop.is_set,
                failed_start_logs=self.folder.node,
                phase=self.timings.phase,
            )
        )

    def _operate(self, cluster: Cluster) -> None:
        """The history, and what was measured beside it."""
        self.timings.phase("begin")
        plan = self.plan
        plan["nodes"] = clusters.describe(cluster.fleet, self.test.specs)
        plan["time_zero_ns"] = zero_ns = time.monotonic_ns()
        faults = [each.name for each in self.test.faults]
        enough = Enough(say=self.progress.say, faults=faults, longer_s=self.test.longer_s)
        plan["time_zero"] = datetime.now(UTC).isoformat()
        with (
            measured(cluster.fleet, zero_ns) as plan["clocks"],
            watched(zero_ns) as busy,
            waiting(cluster.fleet, zero_ns) as nodes,
        ):
            self.folder.write_plan(plan)
            self.beside.ready(self.folder, partial(self._so_far, cluster))
            try:
                self._interpret(cluster, zero_ns, enough)
            except Exception as error:
                if not self.folder.history.exists():
                    raise
                self._ended_early(error)
        plan |= {"machine": {**busy, "nodes": nodes}, **self.beside.ended()}
        if enough.went_on:
            plan["went_on"] = enough.went_on
        self.folder.write_plan(plan)

    def _interpret(self, cluster: Cluster, time_zero_ns: int, enough: Enough) -> None:
        def clock() -> int:
            return time.monotonic_ns() - time_zero_ns

        def on_event(event: Event) -> None:
            if isinstance(event.process, int):
                self.timings.operation()
            enough.event(event)
            self.progress.event(event)

        ledger = Ledger(self.folder.faults, clock)
        driver = FaultDriver(
            cluster=cluster,
            faults=self.test.faults,
            targets=self.test.targets,
            ledger=ledger,
            on_phase=self._phase,
            on_fault=self.progress.fault,
        )
        journal = Journal(self.folder.path)
        try:
            interpreter.run(
                schedule(self.test, enough),
                open_client=_client_factory(self.test, cluster),
                nemesis=driver,
                journal=journal,
                threads=self.test.threads,
                seed=self.test.seed,
                clock=clock,
                stop=self.stop,
                on_event=on_event,
                observers=_observers(self.test, cluster),
            )
        finally:
            self.timings.phase("end")
            if driver.active:  # cut short before the schedule came to it
                self.progress.phase("heal")
                driver.heal_all()
            ledger.close()
            journal.close()

    def _phase(self, name: str) -> None:
        self.timings.phase(name)
        self.progress.phase(name)

    def _ended_early(self, error: Exception) -> None:
        """The framework's own failure is said, and kept in plan.json: such a run is never VALID."""
        log.info("the run ended early", exc_info=error)
        self.plan["ended_early"] = f"{type(error).__name__}: {error}"
        self.progress.say(f"the run ended early: {self.plan['ended_early']}")
        try:
            self.folder.write_plan(self.plan)
        except OSError as also:
            log.error("%s cannot be written: %s", self.folder.path, also)

    def _so_far(self, cluster: Cluster, into: store.RunFolder) -> None:
        """What the run has recorded by now, and its nodes have written."""
        clusters.so_far(cluster, into.node)
        for path in (self.folder.history, self.folder.faults, self.folder.plan):
            shutil.copy(path, into.path)

    def _copied(self) -> None:
        """The columnar copy of the history, for others: no check of ours reads it, nor waits for
        it."""
        try:
            seal(self.folder.path)
        except Exception as error:
            self.progress.say(f"the history's columnar copy: {type(error).__name__}: {error}")

    def _collect(self, cluster: Cluster) -> None:
        """What is missing in the end is kept in plan.json: its absence says nothing of the node."""
        self._phase("collect")
        lost = clusters.collect(cluster, self.folder.node, stop=not self.test.options.keep)
        if lost:
            self.plan["uncollected"] = dict(sorted(lost.items()))
            self.folder.write_plan(self.plan)
        for node, why in sorted(lost.items()):
            self.progress.say(f"what {node} wrote could not be collected: {why}")

    def _leave(self, cluster: ExitStack) -> None:
        if self.test.options.keep:
            KEPT.append(cluster)
            self.progress.say("the cluster keeps running; `python -m framework clean` removes it")
        else:
            self.beside.aside(partial(self._take_down, cluster))

    def _take_down(self, cluster: ExitStack) -> None:
        """A failure costs no verdict."""
        try:
            cluster.close()
        except Exception as error:
            self._not_taken_down(error)

    def _not_taken_down(self, error: Exception) -> None:
        log.info("the cluster could not be taken down in good order", exc_info=error)
        self.progress.say(f"taking the cluster down: {type(error).__name__}: {error}")


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
