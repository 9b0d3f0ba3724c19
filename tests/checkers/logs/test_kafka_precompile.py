"""Compiling ahead leaves nothing of Kafka logs to be compiled."""

import inspect
from types import ModuleType

from checkers.logs import (
    cycles_graph,
    cycles_time,
    cycles_windows,
    passes,
    precompile,
    records,
)

MODULES = (cycles_graph, cycles_time, cycles_windows, passes, records)


def kernels(module: ModuleType) -> dict[str, object]:
    return {name: each for name, each in vars(module).items() if hasattr(each, "signatures")}


def test_every_kernel_is_compiled() -> None:
    """Those that others call are compiled (or loaded) with these."""
    precompile.precompile()
    for module in MODULES:
        bodies = [inspect.getsource(kernel.py_func) for kernel in kernels(module).values()]
        for name, kernel in kernels(module).items():
            inner = sum(f"{name}(" in body for body in bodies) > 1
            assert kernel.signatures or inner, name
