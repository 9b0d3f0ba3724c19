"""What `run --live` costs beside a cluster, and how soon it says what is broken.

    python -m benchmarks.live RUN [--seconds 40]
    python -m benchmarks.live RUN --looks 60 120 280

The history of a stored run is recorded once more, event by event as it happened, beside a session
of Spark that judges it as it grows: processor time of all processes in cores, of the idle session
first and then of the live one. At the end a stale read is planted, and it is timed until that is
said. `--looks`: instead, what one look costs at the history's first so many seconds, in this
process and without Spark.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import Final

from benchmarks.check_scale import say, tree
from framework.checking import spark
from framework.checking.live import (
    Judged,
    Live,
    LiveCheckers,
    judged_prefix,
    live_checkers,
    prefix,
)
from framework.plugins import registry
from framework.verdict import Verdict

_TICK: Final = os.sysconf("SC_CLK_TCK")
PLANTED: Final = (("write", 1, None), ("write", 2, None), ("read", None, 2), ("read", None, 1))


def processor_s() -> float:
    """Of this process and all below it that live."""
    ticks = 0
    for pid in tree(os.getpid()):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # its own, and of those that it waited for
    return ticks / _TICK


def play(history: Path, into: Path, seconds: float) -> int:
    """Its lines, as they came; how many there were."""
    began, count = time.monotonic(), 0
    first: float | None = None
    with history.open() as lines, into.open("a", buffering=1) as made:
        for line in lines:
            at = json.loads(line)["time"] / 1e9
            first = at if first is None else first
            if at - first > seconds:
                break
            time.sleep(max(0.0, began + at - first - time.monotonic()))
            made.write(line)
            count += 1
    return count


def plant(into: Path, index: int) -> None:
    """A read of what had been overwritten."""
    with into.open("a") as made:
        for f, value, result in PLANTED:
            for kind, shown in (("invoke", value), ("ok", result)):
                event = {"index": index, "type": kind, "process": 9_999, "f": f, "key": "planted"}
                made.write(json.dumps(event | {"value": shown}) + "\n")
                index += 1


def look(run: Path, seconds: float, checkers: LiveCheckers) -> None:
    """At a history as long as this, as a task of the stream does it: reading and judging, s of
    processor time."""
    end = 0
    with (run / "history.jsonl").open("rb") as lines:
        for line in lines:
            if json.loads(line)["time"] / 1e9 > seconds:
                break
            end += len(line)
    began = time.process_time()
    read = prefix(run.name, run, end)
    read_s = time.process_time() - began
    for _ in judged_prefix(read, checkers):
        continue
    judged_s = time.process_time() - began - read_s
    rows = read.operations.num_rows
    say("look", seconds=seconds, operations=rows, read=round(read_s, 2), judge=round(judged_s, 2))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--looks", type=float, nargs="+", default=(), metavar="SECONDS")
    chosen = parser.parse_args(arguments)
    if chosen.looks:
        plan = json.loads((chosen.run / "plan.json").read_text())
        for seconds in (chosen.looks[0], *chosen.looks):  # the first compiles and loads
            look(chosen.run, seconds, live_checkers(plan["checkers"]))
        return
    said: Queue[Judged] = Queue()
    with tempfile.TemporaryDirectory() as scratch, spark.running() as session:
        folder = Path(scratch) / "run"
        folder.mkdir()
        shutil.copy(chosen.run / "plan.json", folder)
        history = folder / "history.jsonl"
        spark.warm_up(session)
        for what, live in (("idle", None), ("live", session)):
            history.write_text("")
            stream = Live(session, folder, live_checkers(registry.names("checkers")), said.put)
            if live is not None:
                stream.start()
            before, began = processor_s(), time.monotonic()
            events = play(chosen.run / "history.jsonl", history, chosen.seconds)
            took = time.monotonic() - began
            spent = processor_s() - before
            say(what, seconds=round(took), events=events, cores=round(spent / took, 2))
            if live is None:
                continue
            plant(history, events)
            began = time.monotonic()
            while said.get().verdict is not Verdict.INVALID:
                continue
            say("planted", said_after_s=round(time.monotonic() - began, 1))
            stream.close()


if __name__ == "__main__":
    main()
