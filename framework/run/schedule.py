"""A test's whole schedule as one generator: operations and faults together, then the end that
every test has: heal, verify, settle, final reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framework.generators import (
    Generator,
    any_of,
    clients,
    nemesis,
    on_threads,
    op,
    overtime,
    phases,
    stagger,
    time_limit,
)
from framework.plugins.schedules import some_last
from framework.plugins.workload import WorkloadOptions
from framework.run.observing import observed
from framework.run.options import Test

FINAL_READS_LIMIT_S: Final = 30.0


def schedule(test: Test, goes_on: Callable[[], bool] = lambda: False) -> Generator:
    """Main phase with faults, then heal, settle and final reads; the observer beside all of it.
    While `goes_on` holds at its end, and it need not take exactly as long as was asked for, the
    main phase takes as long again at most."""
    faults = [
        nemesis(some_last(package.schedule(test.options.interval_s), test.lasting_s, number))
        for number, package in enumerate(test.nemeses.values())
    ]
    limit_s, both = test.options.time_limit_s, any_of(*_clients(test), *faults)
    main = time_limit(limit_s, both) if test.options.exactly else overtime(limit_s, goes_on, both)
    whole = phases(
        nemesis(op("phase", value="main")),
        main,
        nemesis(op("phase", value="heal")),
        nemesis(op("heal")),
        nemesis(op("phase", value="settle")),
        nemesis(op("settle")),
        nemesis(op("phase", value="final")),
        time_limit(FINAL_READS_LIMIT_S, clients(any_of(*_final(test)))),
    )
    if test.observer is None:
        return whole
    asks = test.observer.questions
    questions = {spec.name: asks(test.system, spec, test.capabilities) for spec in test.specs}
    return observed(whole, questions, test.options.observe_s)


def _options(test: Test, index: int) -> WorkloadOptions:
    threads = len(test.threads_of(index))
    return WorkloadOptions(
        seed=test.seed,
        threads=threads,
        rate=test.options.rate * threads / test.threads,
        capabilities=frozenset(test.capabilities),
        nodes=test.specs,
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
