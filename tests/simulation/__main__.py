"""`python -m tests.simulation --seeds N [--from SEED]`: play many seeds of the Raft simulation."""

import argparse
import sys
import time

from tests.simulation.raft_invariants import Violation
from tests.simulation.raft_variants import HOSTILE
from tests.simulation.raft_world import World


def main() -> int:
    """Exit code 1 if some rule was broken; each breach is printed with its seed."""
    parser = argparse.ArgumentParser(prog="tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first (default 0)")
    parser.add_argument("--hostile", action="store_true", help="the harshest profile alone")
    arguments = parser.parse_args()
    started, steps, reads, committed, breaches = time.monotonic(), 0, 0, 0, 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        world = World(seed, HOSTILE if arguments.hostile else None)
        try:
            world.run()
        except Violation as violation:
            breaches += 1
            print(f"seed {seed} at {world.now} ms: {violation}  {world.profile}", flush=True)
        steps += world.steps
        reads += world.reads
        committed += world.invariants.committed
    seconds = time.monotonic() - started
    print(
        f"{arguments.seeds} seeds, {steps} steps, {committed} records committed,"
        f" {reads} reads confirmed, {breaches} breaches, {seconds:.1f} s"
    )
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
