"""Spark's Python workers: what makes them quick to come back for the next task."""

import gc
import sys
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
