"""A long run from its recording to its report: processor time and memory of each of the four.

    python -m benchmarks.record_to_report [--seconds 360] [--rate 5000] [--keep FOLDER] [--made]

The runner records clients of topics that live in its own memory, at a rate, with the real journal;
then the run is sealed, checked by the command that people use, and its report drawn, each in a
process of its own. Operations are those that were done in time: a rate that this machine cannot do
gives fewer. An hour at 5,000 a second is `--seconds 3600`, and takes as long to record; with
`--made` the same operations are written to the same journal as fast as it goes, by a made-up clock.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.check_scale import measured
from framework.checking.runs import read_run
from framework.checking.sealing import seal
from framework.generators import Context, clients, generate, op, stagger, time_limit
from framework.history.event import Completion, Invocation, Json
from framework.history.journal import Journal
from framework.history.journal import seal as write_columns
from framework.report.render import draw
from framework.run.interpreter import run

THREADS: Final = 10
TOPICS: Final = 1_000
CHECKERS: Final = ("topic-linearizability", "availability")


@dataclass(slots=True)
class Topics:
    """A service of topics, and all of its clients."""

    there: dict[str, str] = field(default_factory=dict)
    created: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def invoke(self, op: Invocation) -> Completion:
        with self.lock:
            known = self.there.get(op.key)
            if op.f == "describe":
                return op.completed("ok", {"topic_id": known} if known else False, node="c1")
            if op.f == "delete" and known:
                del self.there[op.key]
                return op.completed("ok", {"topic_id": known}, node="c1")
            if op.f == "create" and not known:
                self.created += 1
                self.there[op.key] = f"{self.created:08}"
                return op.completed("ok", {"topic_id": self.there[op.key]}, node="c1")
        code = "TOPIC_ALREADY_EXISTS" if known else "UNKNOWN_TOPIC_OR_PARTITION"
        return op.completed("fail", error=(code, ""), node="c1")

    def close(self) -> None:
        pass


def _operation(rng: random.Random, _: Context | None = None) -> Invocation:
    f = rng.choice(("create", "delete", "describe", "describe"))
    value: Json = {"partitions": 1} if f == "create" else None
    return op(f, f"t{rng.randrange(TOPICS)}", value, node="c1")


def _plan(folder: Path) -> None:
    plan = {"seed": 1, "workloads": ["topics"], "nodes": {}, "time_zero_ns": 0}
    (folder / "plan.json").write_text(json.dumps({**plan, "checkers": CHECKERS}))


def record(folder: Path, seconds: float, rate: float) -> None:
    """A run, as `run` leaves it but for what nodes would have."""
    _plan(folder)
    service, zero = Topics(), time.monotonic_ns()
    with Journal(folder) as journal:
        summary = run(
            clients(time_limit(seconds, stagger(1 / rate, generate(_operation)))),
            open_client=lambda _: service,
            nemesis=service,
            journal=journal,
            threads=THREADS,
            seed=1,
            clock=lambda: time.monotonic_ns() - zero,
            stop=threading.Event(),
        )
    write_columns(folder)
    print(f"{summary.invoked} operations, {summary.invoked / summary.elapsed_ns * 1e9:.0f}/s")


def made(folder: Path, seconds: float, rate: float) -> None:
    """What `record` leaves, of clients that are never late: each operation is under way while the
    next ones are asked for, a fifth of the time till its thread's turn comes again."""
    _plan(folder)
    service, rng = Topics(), random.Random(1)
    count, gap_ns = round(seconds * rate), round(1e9 / rate)
    lasts_ns = THREADS * gap_ns // 5
    under_way: deque[tuple[int, Completion]] = deque()
    with Journal(folder) as journal:

        def complete(until_ns: int) -> None:
            while under_way and under_way[0][0] <= until_ns:
                ends_ns, done = under_way.popleft()
                journal.write(replace(done, index=journal.next_index, time=ends_ns))

        for number in range(count):
            now_ns = number * gap_ns
            complete(now_ns)
            drawn = replace(_operation(rng), process=number % THREADS, time=now_ns)
            journal.write(replace(drawn, index=journal.next_index))
            under_way.append((now_ns + lasts_ns, service.invoke(drawn)))
        complete(round(seconds * 2e9))
    write_columns(folder)
    print(f"{count} operations, made up")


def sealed(folder: Path, *_: float) -> None:
    seal(read_run(folder).info)


def report(folder: Path, *_: float) -> None:
    draw(folder)


PHASES: Final[dict[str, Callable[..., None]]] = {
    "record": record,
    "make": made,
    "seal": sealed,
    "report": report,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=360)
    parser.add_argument("--rate", type=float, default=5_000)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--made", action="store_true")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.phase:
        PHASES[given.phase](given.keep, given.seconds, given.rate)
        return
    with tempfile.TemporaryDirectory(prefix="record-to-report-") as scratch:
        folder = given.keep or Path(scratch, "one")
        folder.mkdir(parents=True)
        print("| | wall s | processor s | memory, MiB |\n| --- | ---: | ---: | ---: |")
        for name in ("make" if given.made else "record", "seal", "check", "report"):
            found = _measured(name, folder, given)
            if found["code"]:
                sys.exit(f"{name} failed: {found['text']}")
            shown = (found["wall_s"], found["processor_s"], found["peak_mib"])
            print(f"| {name} | {' | '.join(map(str, shown))} |", found["text"].strip()[:200])


def _measured(name: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    if name == "check":
        return measured("-m", "framework", "check", "--again", folder)
    how = ("--phase", name, "--keep", folder, "--seconds", given.seconds, "--rate", given.rate)
    return measured("-m", "benchmarks.record_to_report", *map(str, how))


if __name__ == "__main__":
    main()
