"""Generators: schedules of operations as immutable values.

base            the protocol: what a generator is asked, what it sees, what it answers
sources         op, ops, generate, repeat, cycle, sleep, nothing
limits          once, limit, time_limit, overtime, from_now, process_limit, until_ok, map_ops,
                filter_ops, with_key
rates           stagger, delay
combine         any_of, mix, synchronize, phases, then
threads         on_threads, clients, nemesis, each_thread, reserve
independent     sequential_keys, concurrent_keys
simulate        runs a generator without a cluster
randomness      draws as pure functions of the seed

docs/plugins.md is the guide.
"""

from framework.generators.base import (
    PENDING,
    Context,
    Generator,
    GeneratorError,
    Offer,
    Pending,
    Source,
    Thread,
)
from framework.generators.combine import any_of, mix, phases, synchronize, then
from framework.generators.independent import concurrent_keys, sequential_keys
from framework.generators.limits import (
    filter_ops,
    from_now,
    limit,
    map_ops,
    once,
    overtime,
    process_limit,
    time_limit,
    until_ok,
    with_key,
)
from framework.generators.rates import delay, stagger
from framework.generators.simulate import simulate
from framework.generators.sources import (
    assign,
    cycle,
    free_process,
    generate,
    lift,
    nothing,
    op,
    ops,
    repeat,
    sleep,
)
from framework.generators.threads import clients, each_thread, nemesis, on_threads, reserve

__all__ = [
    "PENDING",
    "Context",
    "Generator",
    "GeneratorError",
    "Offer",
    "Pending",
    "Source",
    "Thread",
    "any_of",
    "assign",
    "clients",
    "concurrent_keys",
    "cycle",
    "delay",
    "each_thread",
    "filter_ops",
    "free_process",
    "from_now",
    "generate",
    "lift",
    "limit",
    "map_ops",
    "mix",
    "nemesis",
    "nothing",
    "on_threads",
    "once",
    "op",
    "ops",
    "overtime",
    "phases",
    "process_limit",
    "repeat",
    "reserve",
    "sequential_keys",
    "simulate",
    "sleep",
    "stagger",
    "synchronize",
    "then",
    "time_limit",
    "until_ok",
    "with_key",
]
