"""What `run --live` costs beside a cluster, and how soon it says what is broken.

    python -m benchmarks.live RUN [--seconds 40]
    python -m benchmarks.live RUN --looks 1 5 10 30 60

The history of a stored run is recorded once more, event by event as it happened, beside a session
of Spark that judges it as it grows: processor time of all processes in cores, of the idle session
first and then of the live one. At the end a stale read is planted, and it is timed until that is
said. `--looks`: instead, what one look costs after so many minutes of the history, stretched to
them (`benchmarks.stretched`), in this process and without Spark.
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
from benchmarks.stretched import stretch
from framework.checking import spark
from framework.checking.live import EVERY_S, REST, Judged, Live
from framework.checking.looks import Looks
from framework.checking.prefixes import LiveCheckers, live_checkers
from framework.plugins import registry
from framework.verdict import Verdict

_TICK: Final = os.sysconf("SC_CLK_TCK")
PLANTED: Final = (("write", 1, None), ("write", 2, None), ("read", None, 2), ("read", None, 1))


LATELY_S: Final = 25.0
"""Before a moment that is told of: looks are as often as the stream's."""
SELDOM_S: Final = 60.0
"""Between looks else."""


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


def look(run: Path, minutes: Sequence[float], checkers: LiveCheckers) -> None:
    """At a history that goes on for so long, as a worker of the stream does it, resting as the
    stream does (and longer where nobody is told of it): after so many minutes what a look took,
    s of processor time, on average and at the most of the last ten, and what of a core that is."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copy(run / "plan.json", folder)
        stretch(run / "history.jsonl", folder / "history.jsonl", 60 * max(minutes))
        looks, left = Looks(folder, checkers), sorted(minutes)
        end, due_s, took = 0, 0.0, list[float]()
        with (folder / "history.jsonl").open("rb") as lines:
            for line in lines:
                end += len(line)
                at_s = json.loads(line)["time"] / 1e9
                if at_s < due_s:
                    continue
                began = time.process_time()
                list(looks.look(end))
                took.append(time.process_time() - began)
                near = 60 * left[0] - at_s < LATELY_S
                due_s = at_s + max(EVERY_S if near else SELDOM_S, (1 + REST) * took[-1])
                if at_s >= 60 * left[0]:
                    lately = took[-10:]
                    mean_s = sum(lately) / len(lately)
                    say(
                        "look",
                        minutes=left.pop(0),
                        events=looks.events,
                        mean_s=round(mean_s, 2),
                        longest_s=round(max(lately), 2),
                        cores=round(mean_s / max(EVERY_S, (1 + REST) * mean_s), 2),
                    )
                if not left:
                    return


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--looks", type=float, nargs="+", default=(), metavar="MINUTES")
    chosen = parser.parse_args(arguments)
    if chosen.looks:
        plan = json.loads((chosen.run / "plan.json").read_text())
        look(chosen.run, chosen.looks, live_checkers(plan["checkers"]))
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
