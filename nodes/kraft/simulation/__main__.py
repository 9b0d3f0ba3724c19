"""`python -m nodes.kraft.simulation --seeds 100000`: many seeds of the simulated control plane.

Exit code 1 if some seed broke a rule: each is printed with its minimal schedule. `--replay SEED`
plays one seed and prints what happens. `--raft` plays the quorum alone, with more variety of it.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from nodes.kraft.simulation import raft_variants, raft_world
from nodes.kraft.simulation.raft_invariants import Violation as RaftViolation
from nodes.kraft.simulation.report import failure, minimal_text, schedule_text, trace_text
from nodes.kraft.simulation.schedule import draw
from nodes.kraft.simulation.shrink import BUDGET_S, minimal, play
from nodes.kraft.simulation.world import MAX_STEPS

CHUNK = 10
"""Seeds that a worker takes at once."""


@dataclass(frozen=True, slots=True)
class Result:
    """Of one seed. `text` is empty where every rule held."""

    seed: int
    steps: int
    committed: int
    answers: int
    text: str


def play_seed(
    seed: int, *, voters: int | None, brokers: int | None, steps: int, shrink_s: float
) -> Result:
    """Play a seed; where it fails, shrink it."""
    schedule = draw(seed, voters=voters, brokers=brokers)
    execution = play(schedule, max_steps=steps)
    text = ""
    if execution.violation is not None:
        text = failure(seed, execution)
        if shrink_s > 0:
            after = minimal(schedule, execution, budget_s=shrink_s)
            text += f"\n{minimal_text(schedule, after, execution)}"
    return Result(seed, execution.steps, execution.committed, execution.answers, text)


def play_raft_seed(seed: int, *, hostile: bool) -> Result:
    """The same of the quorum alone."""
    world = raft_world.World(seed, raft_variants.HOSTILE if hostile else None)
    text = ""
    try:
        world.run()
    except RaftViolation as violation:
        text = f"seed {seed} at {world.now} ms: {violation}  {world.profile}"
    return Result(seed, world.steps, world.invariants.committed, world.reads, text)


def main(argv: list[str] | None = None) -> int:
    arguments = _parse(argv)
    if arguments.replay is not None:
        return _replay(arguments)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    if arguments.raft:
        player = partial(play_raft_seed, hostile=arguments.hostile)
    else:
        player = partial(
            play_seed,
            voters=arguments.voters,
            brokers=arguments.brokers,
            steps=arguments.steps,
            shrink_s=arguments.shrink_s,
        )
    return _report(_results(player, seeds, arguments.jobs), len(seeds))


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m nodes.kraft.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument(
        "--first-seed", "--from", type=int, default=0, help="the first one (default 0)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--steps", type=int, default=MAX_STEPS, help="a seed may take (more: a livelock)"
    )
    parser.add_argument("--voters", type=int, help="controllers (default: drawn from the seed)")
    parser.add_argument("--brokers", type=int, help="brokers (default: drawn from the seed)")
    parser.add_argument("--shrink-s", type=float, default=BUDGET_S, help="seconds; 0: do not")
    parser.add_argument("--replay", type=int, metavar="SEED", help="play one, print its events")
    parser.add_argument("--raft", action="store_true", help="the Raft quorum alone")
    parser.add_argument("--hostile", action="store_true", help="with --raft: its worst profile")
    arguments = parser.parse_args(argv)
    for name in ("voters", "brokers", "jobs", "seeds", "steps"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1, not {value}")
    return arguments


def _replay(arguments: argparse.Namespace) -> int:
    schedule = draw(arguments.replay, voters=arguments.voters, brokers=arguments.brokers)
    print(f"seed {schedule.seed}\n{schedule_text(schedule)}\nwhat happens:")
    print(trace_text(schedule, last=2**31))
    return 0 if play(schedule, max_steps=arguments.steps).violation is None else 1


def _results(player: partial[Result], seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(player, seeds)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap_unordered(player, seeds, chunksize=CHUNK)


def _report(results: Iterable[Result], total: int) -> int:
    """Print each failure as it comes, a line of progress, and the sum."""
    started = reported = time.monotonic()
    runs = steps = committed = answers = failures = 0
    for result in results:
        runs, steps = runs + 1, steps + result.steps
        committed, answers = committed + result.committed, answers + result.answers
        if result.text:
            failures += 1
            print(result.text, flush=True)
        if sys.stderr.isatty() and time.monotonic() - reported > 1:
            reported = time.monotonic()
            rate = runs / (reported - started)
            print(
                f"\r{runs} of {total} seeds, {rate:.0f} a second, {failures} failed ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    seconds = time.monotonic() - started
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(
        f"{runs} seeds, {steps} steps, {committed} records committed, {answers} answers checked,"
        f" {failures} failed, {seconds:.1f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
