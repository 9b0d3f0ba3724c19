"""What the observer costs: operations a second of clients, and the harness's processor time.

    python -m benchmarks.observing [--hosts namespaces] [--seconds 15] [--rounds 3]

A 3+3 cluster, the topics workload, no faults: as fast as it can, where what the nodes spend on it
shows, too; and at 60 operations a second. With and without by turns, for a machine is not the same
from one minute to the next; medians.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.node import Quiet
from framework.run.options import Options, resolve
from framework.run.recording import record

FAST: Final = 100_000.0
CALM: Final = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run: completions of clients a second in the main phase, s of processor time of the
    harness, and bytes of history."""

    rate: float
    processor_s: float
    history_bytes: int


def cost(hosts: str, seconds: float, rate: float, observe_s: float, results: Path) -> Cost:
    options = Options(
        hosts=hosts,
        workload="topics",
        rate=rate,
        concurrency="6",
        time_limit_s=seconds,
        seed=1,
        name="benchmark",
        results=results,
        observe_s=observe_s,
    )
    before = time.process_time()
    folder = record(resolve(options), ["benchmarks/observing.py"], Quiet())  # type: ignore[arg-type]
    spent = time.process_time() - before
    history = (folder.path / "history.jsonl").read_bytes()
    events = map(json.loads, history.splitlines())
    done = sum(
        isinstance(each["process"], int)
        and each["type"] != "invoke"
        and each["time"] < seconds * 1e9
        for each in events
    )
    return Cost(done / seconds, spent, len(history))


def line(what: str, costs: Sequence[Cost]) -> str:
    rate, processor, size = (
        median(getattr(each, name) for each in costs)
        for name in ("rate", "processor_s", "history_bytes")
    )
    return f"{what}: {rate:.0f} operations/s, {processor:.1f} s of processor, {size / 1e3:.0f} kB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", default="namespaces")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as results:
        for name, rate in (("as fast as it can", FAST), ("60 a second", CALM)):
            found: dict[float, list[Cost]] = {0.0: [], Options().observe_s: []}
            for _ in range(arguments.rounds):
                for observe_s, costs in found.items():
                    costs.append(
                        cost(arguments.hosts, arguments.seconds, rate, observe_s, Path(results))
                    )
            for observe_s, costs in found.items():
                print(line(f"{name}, --observe {observe_s:g}", costs), flush=True)


if __name__ == "__main__":
    main()
