"""How many operations a second the interpreter sustains with a client that does nothing.

    python benchmarks/interpreter.py [--threads 10] [--seconds 5] [--profile]

Ten client threads, a mix of two endless operations, no rate, a real journal on disk. Prints
operations a second, and by processor time: of all threads, and of the scheduler's alone, the rest
being workers, their waking and their waits for the interpreter. Invocations and completions are
both journaled, so events are twice as many. `--profile` is of the scheduler's processor time.
"""

import argparse
import cProfile
import pstats
import tempfile
import threading
import time
from pathlib import Path

from framework.generators import clients, mix, op, repeat, time_limit
from framework.history.event import Completion, Invocation
from framework.history.journal import Journal
from framework.run.interpreter import RunSummary, run


class NullClient:
    """Succeeds at once."""

    def invoke(self, op: Invocation) -> Completion:
        return op.completed("ok", op.value)

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
    profile = cProfile.Profile(time.thread_time_ns, 1e-9)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.profile:
            profile.enable()
        processor, own = time.process_time(), time.thread_time()
        summary = measure(arguments.threads, arguments.seconds, Path(folder))
        processor, own = time.process_time() - processor, time.thread_time() - own
        profile.disable()
    count = summary.invoked
    rate = count / (summary.elapsed_ns / 1e9)
    print(f"{rate:,.0f} ops/s ({count:,} operations, {arguments.threads} threads)")
    print(
        f"processor time: {processor / count * 1e6:.1f} us an operation, "
        f"{own / count * 1e6:.1f} us of them the scheduler's; {count / processor:,.0f} ops/s of it"
    )
    if arguments.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(15)


if __name__ == "__main__":
    main()
