"""Runs all measurements on both systems, in turns, and says who is ahead.

    python -m benchmarks.beside_kafka [--rounds 5] [--only NAME] [--json FILE]

Both systems are measured in turns, the order changed from round to round. Most of it on clusters
that stay up, so that Java has compiled what it takes: the first rounds (`--warm 2`) count for
nothing. What begins anew what runs, or leaves much behind, has a cluster of its own in each round
and is done at small sizes first. Needs Apache Kafka (`kraft-proof get kafka`) and namespaces.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NoReturn

from benchmarks.beside_kafka.clients import ConfluentKafka, KafkaTools
from benchmarks.beside_kafka.failover import Failover
from benchmarks.beside_kafka.flood import Flood
from benchmarks.beside_kafka.measuring import SMALL, Failed, Measurement, Running, Sizes
from benchmarks.beside_kafka.memory import Memory
from benchmarks.beside_kafka.partitions import Partitions
from benchmarks.beside_kafka.processes import until_quiet
from benchmarks.beside_kafka.records import Records
from benchmarks.beside_kafka.shutdown import Shutdown
from benchmarks.beside_kafka.starting import Start
from benchmarks.beside_kafka.systems import HOSTS, NAMES, running, settings
from benchmarks.beside_kafka.table import Results, table
from benchmarks.beside_kafka.topics import Topics
from framework.errors import EngineError, UsageError
from framework.hosts.choose import choose
from framework.plugins import registry
from framework.run.settings import node_settings
from workloads.kafka.connection import Breakdown

MEASUREMENTS: Final[Mapping[str, Measurement]] = {
    each.name: each
    for each in (
        Start(),
        Topics(),
        Records(),
        ConfluentKafka(),
        KafkaTools(),
        Flood(),
        Memory(),
        Failover(),
        Partitions(),
        Shutdown(),
    )
}
"""In the order in which they are done on one cluster."""
WRONG: Final = 254
FAILED: Final = 255


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 254 for bad input, 255 where something could not be measured."""
    try:
        asked = _asked(argv)
        _check(asked.system, asked.set)
    except UsageError as error:
        print(f"beside_kafka: {error}", file=sys.stderr)
        return WRONG
    plan = Plan(
        chosen=[MEASUREMENTS[name] for name in MEASUREMENTS if name in asked.only],
        systems=asked.system,
        sizes=_sizes(asked),
        rounds=asked.rounds,
        warm=asked.warm,
        settings=asked.set,
    )
    results = Results()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(plan, results)
    except KeyboardInterrupt:
        results.failures.append("what came after an interruption")
    if asked.json is not None:
        asked.json.write_text(json.dumps(results.to_json(), indent=1))
    print(table(results, asked.system))
    for failure in results.failures:
        print(f"\nnot measured: {failure}")
    return FAILED if results.failures else 0


def _asked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Raises `UsageError`."""
    parser = Parser(prog="beside_kafka", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=_at_least_one, default=5)
    parser.add_argument("--warm", type=_from_zero, default=2, help="rounds before those")
    parser.add_argument(
        "--only",
        action="append",
        choices=MEASUREMENTS,
        metavar="NAME",
        help=", ".join(MEASUREMENTS),
    )
    parser.add_argument("--system", action="append", choices=NAMES, help="one of them alone")
    parser.add_argument("--small", action="store_true", help="sizes that take seconds")
    parser.add_argument("--seconds", type=_seconds, help="of what goes on for a time [3]")
    parser.add_argument("--partitions", type=_at_least_one, help="created in all [100000]")
    parser.add_argument("--led", type=_at_least_one, help="by the broker that leaves [10000]")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of all nodes, over what both are given; with --system",
    )
    parser.add_argument("--json", type=Path, help="every value, into this file")
    asked = parser.parse_args(argv)
    asked.only = asked.only or list(MEASUREMENTS)
    asked.system = [name for name in NAMES if name in (asked.system or NAMES)]
    if asked.set and len(asked.system) > 1:
        raise UsageError("--set: settings are of one system, so --system names it")
    if asked.json is not None and not asked.json.absolute().parent.is_dir():
        raise UsageError(f"--json {asked.json}: there is no folder {asked.json.parent}")
    return asked


def _from_zero(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: it is a whole number from 0 up")
    return int(text)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: it is a whole number from 1 up")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 3600:
        raise argparse.ArgumentTypeError(f"{text!r}: it is a number of s above 0, below 3600")
    return found


def _sizes(asked: argparse.Namespace) -> Sizes:
    given = {
        name: value
        for name in ("seconds", "partitions", "led")
        if (value := getattr(asked, name)) is not None
    }
    return replace(SMALL if asked.small else Sizes(), **given)


def _check(systems: Sequence[str], more: Sequence[str]) -> None:
    """That all systems are there, and start with these settings. Raises `UsageError`."""
    for name in systems:
        system = registry.load("systems", name)
        specs = system.layout("3+3")
        wanted = node_settings(settings(name, more), specs)
        system.check_settings(specs, wanted)
        choose(HOSTS, system.image_with(specs, wanted), len(specs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured of which systems. `warm`: rounds before those that count."""

    chosen: Sequence[Measurement]
    systems: Sequence[str]
    sizes: Sizes
    rounds: int
    warm: int = 0
    settings: Sequence[str] = ()
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)

    def turns(self, number: int) -> Iterator[str]:
        """The systems in the order of a round."""
        return iter(self.systems) if number % 2 == 0 else reversed(self.systems)


def run(plan: Plan, results: Results) -> None:
    """All of it. What fails is a line of `failures`, and the rest goes on."""
    for each in plan.chosen:
        results.expect(each.figures(plan.sizes), plan.systems)
    if together := [each for each in plan.chosen if not each.alone]:
        _together(plan, together, results)
    for each in plan.chosen:
        for number in range(plan.rounds if each.alone else 0):
            for name in plan.turns(number):
                plan.say(f"{each.name}, round {number + 1} of {plan.rounds}, {_load()}")
                with (
                    _noted(plan, results, name),
                    running(name, each.brokers(plan.sizes), plan.settings) as found,
                ):
                    _measure(plan, each, found, name, SMALL)
                    _measure(plan, each, found, name, plan.sizes, results)


def _together(plan: Plan, chosen: Sequence[Measurement], results: Results) -> None:
    """On one cluster of each system, which is up all the time and idle while the other's turn is:
    so what Java compiles in one round serves all later ones."""
    with ExitStack() as stack:
        clusters: dict[str, Running] = {}
        for name in plan.systems:
            plan.say(f"{NAMES[name]} starts, {_load()}")
            with _noted(plan, results, name):
                brokers = max(each.brokers(plan.sizes) for each in chosen)
                clusters[name] = stack.enter_context(running(name, brokers, plan.settings))
        for number in range(-plan.warm, plan.rounds):
            for name in filter(clusters.__contains__, plan.turns(number)):
                counts = results if number >= 0 else None
                plan.say(f"{_round(number)} of {plan.rounds}, {_load()}")
                for each in chosen:
                    with _noted(plan, results, name):
                        _measure(plan, each, clusters[name], name, plan.sizes, counts)


def _measure(
    plan: Plan,
    each: Measurement,
    found: Running,
    name: str,
    sizes: Sizes,
    results: Results | None = None,
) -> None:
    """`results`: None, it counts for nothing. Raises `EngineError`."""
    until_quiet(found.cluster, sizes.quiet_s)
    began = time.monotonic()
    try:
        values = each.measure(found, sizes)
    except (Failed, Breakdown) as error:
        raise EngineError(f"{each.name}: {error}") from error
    if results is not None:
        results.add(name, values)
    shown = ", ".join(f"{value:.4g}" for value in values.values())
    counts = "" if results is not None else ", not counted"
    took = f"{time.monotonic() - began:.0f} s"
    plan.say(f"  {NAMES[name]}: {each.name}: {shown} ({took}, {_load()}{counts})")


@contextmanager
def _noted(plan: Plan, results: Results, name: str) -> Iterator[None]:
    """What fails is one of the failures, and no more."""
    try:
        yield
    except EngineError as error:
        results.failures.append(f"{NAMES[name]}: {error}")
        plan.say(results.failures[-1])


def _round(number: int) -> str:
    return f"round {number + 1}" if number >= 0 else f"{-number} to warm up before round 1"


def _load() -> str:
    """How much else the machine has to do."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main())
