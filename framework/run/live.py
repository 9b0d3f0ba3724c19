"""`run --live`: what the terminal is told while the run goes on, and `--fail-fast`."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from framework.checking.live import Judged, Live
from framework.checking.prefixes import live_checkers
from framework.checking.promised import promises_of
from framework.checking.runs import PLAN, StoredPlan
from framework.checking.spark import is_local
from framework.errors import UsageError
from framework.history.event import Json
from framework.plugins.checker import SparkSession
from framework.plugins.promise import Promised
from framework.run.options import Options, Test
from framework.run.store import RunFolder
from framework.verdict import Verdict

FAILED_FAST: Final = "failed_fast"
"""In plan.json: why `--fail-fast` ended the run."""


def need_this_machine(options: Options) -> None:
    """Raises `UsageError` where what judges could not read what is recorded."""
    if (options.live or options.fail_fast) and not is_local(options.spark_master):
        raise UsageError(
            f"--live reads the history on this machine; --spark-master must be local[*] or "
            f"local[N], not {options.spark_master}"
        )


@dataclass(slots=True)
class Watching:
    """What is said of a run that goes on. `stop` ends it, where that is wanted."""

    test: Test
    say: Callable[[str], None]
    stop: threading.Event
    failed: str = ""
    """What ended the run; empty: nothing did."""
    promises: Mapping[str, Promised] = field(default_factory=dict)
    """What the run's system says of clauses."""
    _lives: list[Live] = field(default_factory=list)
    _over: bool = False

    def start(self, session: SparkSession, folder: RunFolder) -> None:
        """Return after the first look. Does nothing for a run that is over, or is not to be
        watched."""
        if self._over or not self._is_wanted():
            return
        checkers = live_checkers(self.test.checkers)
        if not checkers:
            self.say("live: none of this run's checkers can judge a run that goes on")
            return
        self.promises = promises_of(StoredPlan(folder.path / PLAN))
        live = Live(session, folder.path, checkers, self.judged)
        self._lives.append(live)
        live.start()
        live.wait()  # else what Spark does next would have the cores

    def judged(self, each: Judged) -> None:
        """A clause that was judged for the first time, or is broken."""
        promise = self.promises.get(f"{each.checker}/{each.clause}")
        if promise is not None and not promise.made:
            return
        about = f"{each.checker} {each.clause}"
        if each.verdict is not Verdict.INVALID:
            self.say(f"live: {about} holds so far ({each.compared} {each.compares})")
            return
        self.say(f"live: INVALID {about}: {each.why}")
        if self.test.options.fail_fast and not self._over and not self.failed:
            self.failed = f"{about}: {each.why}"
            self.say("--fail-fast: healing, collecting, checking what there is")
            self.stop.set()

    def end(self) -> Mapping[str, Json]:
        """The history is whole: no more is said. What plan.json is to say of it."""
        self._over = True
        for live in self._lives:
            live.end()
        if self._is_wanted() and not self._has_looked() and live_checkers(self.test.checkers):
            self.say("live: the run was over before Spark had looked at it: it is judged now")
        return {FAILED_FAST: self.failed} if self.failed else {}

    def _is_wanted(self) -> bool:
        return self.test.options.live or self.test.options.fail_fast

    def _has_looked(self) -> bool:
        return any(live.looks for live in self._lives)

    def close(self) -> None:
        """Until nothing of it is left."""
        for live in self._lives:
            live.close()
