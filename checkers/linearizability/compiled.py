"""Compiling kernels, once a machine: the machine code is kept on disk."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Machine code for a function of arrays and numbers. It holds no interpreter lock."""
    made: F = njit(cache=True, nogil=True)(function)
    return made
