"""A test's whole schedule as one generator: operations and faults together, then the end that
every test has: heal, verify, settle, final reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from framework.generators import (
    Generator,
    any_of,
    clients,
    filter_ops,
    from_now,
    generate,
    nemesis,
    on_threads,
    once,
    op,
    ops,
    overtime,
    phases,
    sleep,
    stagger,
    time_limit,
)
from framework.history.event import Invocation
from framework.plugins.schedules import some_last
from framework.plugins.workload import WorkloadOptions
from framework.run.observing import observed
from framework.run.options import Test

FINAL_READS_LIMIT_S: Final = 30.0
_LOOKS_S: Final = 0.2
"""How often it is asked whether more faults are wanted."""


class Judge(Protocol):
    """Says at the end of the main phase, and from then on again and again, what is still wanted."""

    def goes_on(self) -> bool:
        """Whether anything is."""

    def wants_faults(self) -> bool:
        """Whether faults are."""

    def lets(self, asked: Invocation) -> bool:
        """Whether the nemesis may do that now; asked within the main phase, too."""


class Over:
    """Nothing more is wanted."""

    def goes_on(self) -> bool:
        return False

    def wants_faults(self) -> bool:
        return False

    def lets(self, asked: Invocation) -> bool:
        return True


def schedule(test: Test, enough: Judge | None = None) -> Generator:
    """Main phase with faults, then heal, settle and final reads; the observer beside all of it.
    Unless it is to take exactly as long as was asked for, `enough` may have the main phase take
    `Test.longer_s` more; clients are then alone as soon as no more faults are wanted."""
    judge = enough if enough and not test.options.exactly else Over()
    whole = phases(
        nemesis(op("phase", value="main")),
        from_now(partial(_main, test, judge, _clients(test), _faults(test))),
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


def _main(
    test: Test,
    enough: Judge,
    work: Sequence[Generator],
    faults: Sequence[Generator],
    now_ns: int,
) -> Generator:
    """Operations and faults, from now on."""
    limit_s = test.options.time_limit_s
    limited = partial(overtime, limit_s, longer_s=test.longer_s, since_ns=now_ns)
    wanted = [filter_ops(enough.lets, each) for each in faults]
    beside = [nemesis(limited(enough.wants_faults, each)) for each in wanted]
    ended = nemesis(_ended(limit_s, enough))
    return limited(enough.goes_on, any_of(*work, *beside, ended))


def _ended(limit_s: float, enough: Judge) -> Generator:
    """What is broken is healed when the time is over, if clients go on then, as soon as no more
    faults are wanted."""

    def heal(*_: object) -> Generator | Invocation | None:
        if not enough.goes_on():
            return None
        return sleep(_LOOKS_S) if enough.wants_faults() else op("heal")

    return once(ops((sleep(limit_s), generate(heal))))


def _options(test: Test, index: int) -> WorkloadOptions:
    threads = len(test.threads_of(index))
    return WorkloadOptions(
        seed=test.seed,
        threads=threads,
        rate=test.options.rate * threads / test.threads,
        capabilities=frozenset(test.capabilities),
        nodes=test.specs,
    )


def _faults(test: Test) -> list[Generator]:
    return [
        some_last(package.schedule(test.options.interval_s), test.lasting_s, number)
        for number, package in enumerate(test.nemeses.values())
    ]


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
