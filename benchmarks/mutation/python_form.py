"""Kernels as the Python functions that they are written as: nothing is compiled, so that a mutant
of one costs no minute."""

import os

import hypothesis
import numba
from numba.cpython.unsafe import numbers


def trailing_zeros(word: int) -> int:
    """numba's has no Python form. 64 for a word of 64 bits that is 0."""
    word = int(word)
    return (word & -word).bit_length() - 1 if word else 64


def use() -> None:
    """Before any kernel is imported."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    numba.config.DISABLE_JIT = True
    numbers.trailing_zeros = trailing_zeros


def draw_the_same() -> None:
    """Random tests draw what they drew for other mutants, and look for nothing shorter."""
    hypothesis.settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=50,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutants")
