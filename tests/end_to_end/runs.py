"""Whole runs, short ones, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from framework.history.event import Event
from framework.run.options import Options, resolve
from framework.run.recording import record

ONE_WORKER: Final = ("--spark-master", "local[1]")
"""Of a command that checks: each of Spark's workers loads and warms up all checkers, which takes
longer than to judge a short run, and cores have other tests. The default is a worker for each."""


Shown = TypeVar("Shown")


def long_enough(
    run: Callable[[int], Shown], is_enough: Callable[[Shown], bool], *lengths_s: int
) -> Shown:
    """What the first run showed that did enough, or the last: on a busy machine a run of seconds
    may do too little for a verdict, which says nothing of what a test is about. What must never be
    seen is for `run` to assert, of each."""
    *shorter, longest = lengths_s
    for length_s in shorter:
        if is_enough(shown := run(length_s)):
            return shown
    return run(longest)


class Silent:
    """A progress that says nothing."""

    def phase(self, name: str) -> None: ...

    def event(self, event: Event) -> None: ...

    def fault(self, text: str | None) -> None: ...

    def say(self, line: str) -> None: ...


def recorded(results: Path, name: str, **options: Any) -> Path:
    """The folder of a run that was recorded, not checked."""
    test = resolve(Options(name=name, results=results, hosts="namespaces", **options))
    return record(test, ["test"], Silent()).path  # type: ignore[arg-type]


def made_on_demand(folder: Path) -> set[str]:
    """Topics that clients looked for until they were there."""
    events = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
    return {
        each["key"]
        for each in events
        if each["f"] == "create" and each["type"] == "ok" and each["key"].startswith("on-demand")
    }


def verdict_of(folder: Path) -> dict[str, Any]:
    verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return verdict
