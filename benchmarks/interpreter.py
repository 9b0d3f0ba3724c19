"""How many operations a second the interpreter sustains with a client that does nothing.

    python benchmarks/interpreter.py [--threads 10] [--seconds 5] [--profile]

Ten client threads, a mix of two endless operations, no rate, a real journal on disk. Prints
operations a second; invocations and completions are both journaled, so events are twice that.
"""

import argparse
import cProfile
import pstats
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

from framework.generators import clients, mix, op, repeat, time_limit
from framework.history.event import Event
from framework.history.journal import Journal
from framework.run.interpreter import RunSummary, run


class NullClient:
    """Succeeds at once."""

    def invoke(self, op: Event) -> Event:
        return replace(op, type="ok")

    def close(self) -> None:
        pass


def measure(threads: int, seconds: float, folder: Path) -> RunSummary:
    """One run of that length."""
    zero = time.monotonic_ns()
    both = mix(repeat(op("read", "x")), repeat(op("write", "x", 1)))
    with Journal(folder) as journal:
        return run(
            clients(time_limit(seconds, both)),
            open_client=lambda thread: NullClient(),
            nemesis=NullClient(),
            journal=journal,
            threads=threads,
            seed=0,
            clock=lambda: time.monotonic_ns() - zero,
            stop=threading.Event(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Operations a second of the interpreter.")
    parser.add_argument("--threads", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--profile", action="store_true", help="profile the scheduler's thread")
    arguments = parser.parse_args()
    profile = cProfile.Profile()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.profile:
            profile.enable()
        summary = measure(arguments.threads, arguments.seconds, Path(folder))
        profile.disable()
    rate = summary.invoked / (summary.elapsed_ns / 1e9)
    print(f"{rate:,.0f} ops/s ({summary.invoked:,} operations, {arguments.threads} threads)")
    if arguments.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(15)


if __name__ == "__main__":
    main()
