"""Spark's Python workers: what makes them quick to come back for the next task."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


def settle_in() -> None:
    """To be called by what runs in a worker.

    After every task a worker looks for garbage, among all objects that live: with our modules and
    compiled kernels that takes longer than a small task. What modules have made is no garbage, so
    it is set apart, once, and again when more have been loaded.
    """
    _set_apart(len(sys.modules))


@cache
def _set_apart(modules: int) -> None:
    gc.collect()
    gc.freeze()


@contextmanager
def by_reference_counts() -> Iterator[None]:
    """Memory comes back by reference counts alone: who makes millions of objects that refer to
    nothing back need not have all that live looked through again and again."""
    sought = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if sought:
            gc.enable()
