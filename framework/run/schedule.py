"""A test's whole schedule as one generator: operations and faults together, then the end that
every test has: heal, verify, settle, final reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from framework.generators import (
    Context,
    Generator,
    Offer,
    Pending,
    any_of,
    assign,
    clients,
    nemesis,
    on_threads,
    op,
    phases,
    stagger,
    time_limit,
)
from framework.generators.randomness import unit
from framework.history.event import Event
from framework.plugins.workload import WorkloadOptions
from framework.run.options import Test

FINAL_READS_LIMIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class FlipFlop:
    """Starts and stops one fault in turn. Each gap is drawn uniformly from half to one and a
    half times `interval_ns`: a fault always lasts long enough to bite."""

    fault: str
    interval_ns: int
    label: int
    turn: int = 0
    due: int | None = None

    def offer(self, context: Context) -> Offer | None:
        if self.due is None:
            gap = self.interval_ns * (0.5 + unit(context.seed, self.label + 2 * self.turn))
            return replace(self, due=context.time + round(gap)).offer(context)
        if context.time < self.due:
            return Offer(Pending(self.due), self)
        verb = "stop" if self.turn % 2 else "start"
        taken = assign(context, op(f"{verb}-{self.fault}"))
        after = self if isinstance(taken, Pending) else replace(self, turn=self.turn + 1, due=None)
        return Offer(taken, after)

    def update(self, context: Context, event: Event) -> Generator:
        return self


def schedule(test: Test) -> Generator:
    """Main phase with faults, then heal, settle and final reads."""
    faults = [
        nemesis(FlipFlop(name, round(test.options.interval_s * 1e9), 1000 * number))
        for number, name in enumerate(test.nemeses)
    ]
    main = time_limit(test.options.time_limit_s, any_of(*_clients(test), *faults))
    return phases(
        nemesis(op("phase", value="main")),
        main,
        nemesis(op("phase", value="heal")),
        nemesis(op("heal")),
        nemesis(op("phase", value="settle")),
        nemesis(op("settle")),
        nemesis(op("phase", value="final")),
        time_limit(FINAL_READS_LIMIT_S, clients(any_of(*_final(test)))),
    )


def _options(test: Test, index: int) -> WorkloadOptions:
    threads = len(test.threads_of(index))
    return WorkloadOptions(
        seed=test.seed,
        threads=threads,
        rate=test.options.rate * threads / test.threads,
    )


def _clients(test: Test) -> list[Generator]:
    found = []
    for index, workload in enumerate(test.workloads):
        options = _options(test, index)
        generator = stagger(1 / options.rate, workload.generator(options))
        found.append(on_threads(frozenset(test.threads_of(index)).__contains__, generator))
    return found


def _final(test: Test) -> list[Generator]:
    return [
        on_threads(
            frozenset(test.threads_of(index)).__contains__,
            workload.final_generator(_options(test, index)),
        )
        for index, workload in enumerate(test.workloads)
    ]
