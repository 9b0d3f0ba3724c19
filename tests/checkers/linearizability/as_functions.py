"""Kernels as the Python functions that they are written as, for tests that call their parts with
little: the machine code of a part that is called by itself takes seconds to compile."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest

from checkers.linearizability.arrays.bits import trailing_zeros


def _zeros_at_the_end(word: int) -> int:
    return (int(word) & -int(word)).bit_length() - 1


@contextmanager
def as_functions(*modules: ModuleType) -> Iterator[None]:
    """In these modules, until the end."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        for module in modules:
            for name, each in list(vars(module).items()):
                if each is trailing_zeros:
                    patch.setattr(module, name, _zeros_at_the_end)
                elif hasattr(each, "py_func"):
                    patch.setattr(module, name, each.py_func)
        yield
