"""`run` and `replay`."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from framework.checking.junit import need_target
from framework.checking.runs import read_run
from framework.checking.sealing import seal
from framework.checking.spark import need_java, need_master
from framework.cli.annotations import annotate
from framework.errors import UsageError
from framework.run.interrupt import interruptible
from framework.run.lifecycle import run_test
from framework.run.live import need_this_machine
from framework.run.options import Options, from_json, resolve
from framework.run.progress import Progress, summary
from framework.run.recording import KEPT, record
from framework.verdict import EXIT_CODE, Verdict


def run_command(options: Options) -> int:
    """Run one test; the exit code that its verdict means."""
    if not options.check:
        return _record_command(options)
    need_master(options.spark_master)
    need_this_machine(options)
    if options.junit is not None:
        need_target(options.junit)
    test = resolve(options)
    need_java()
    with Progress(time_limit_s=options.time_limit_s) as progress:
        outcome = run_test(test, sys.argv, progress)
        progress.stop()
        page = outcome.folder / "report.html"
        annotate(outcome.verdict, str(outcome.folder))
        progress.print(summary(outcome.verdict, page, outcome.story))
    return _leave(EXIT_CODE[Verdict(outcome.verdict["verdict"])])


def _record_command(options: Options) -> int:
    """`--no-check`: 0, or what UNKNOWN means where it was broken off."""
    judging = {"--live": options.live, "--fail-fast": options.fail_fast, "--junit": options.junit}
    for name, given in judging.items():
        if given:
            raise UsageError(f"{name} needs a verdict, and --no-check gives none: leave one out")
    test = resolve(options)
    with (
        Progress(time_limit_s=options.time_limit_s) as progress,
        interruptible("healing and collecting what there is") as stop,
    ):
        folder = record(test, sys.argv, progress, stop=stop).path
        _seal(folder, progress)
        progress.say(f"recorded, and not judged: python -m framework check {folder}")
    return _leave(EXIT_CODE[Verdict.UNKNOWN] if stop.is_set() else 0)


def _seal(folder: Path, progress: Progress) -> None:
    """What hinders it costs no recording: `check` seals, too, and says what is malformed."""
    progress.phase("seal")
    try:
        seal(read_run(folder).info)
    except Exception as error:
        progress.say(f"the run could not be sealed: {type(error).__name__}: {error}")


def _leave(code: int) -> int:
    """The exit code; where a cluster is kept, its threads are not waited for."""
    if KEPT:
        sys.stdout.flush()
        os._exit(code)
    return code


def replay_command(
    folder: Path,
    hosts: str | None,
    inventory: Path | None,
    settings: Sequence[str] = (),
    results: Path | None = None,
) -> int:
    """Run a stored plan again, maybe on other hosts, or stored elsewhere. Its settings hold, but
    for those that are given anew."""
    try:
        options = from_json(_plan(folder)["options"])
    except UsageError as error:
        raise UsageError(f"{folder / 'plan.json'}: {error}") from None
    options = replace(options, settings=(*options.settings, *settings))
    if results is not None:
        options = replace(options, results=results)
    if hosts is not None:
        options = replace(options, hosts=hosts, inventory=inventory)
    elif inventory is not None:
        options = replace(options, inventory=inventory)
    return run_command(options)


def _plan(folder: Path) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads((folder / "plan.json").read_text())
        plan["options"]["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{folder}: not a stored run (a folder with the plan.json that `run` writes)"
        ) from None
    return plan
