"""Machine words as sets of bits."""

from numba.cpython.unsafe.numbers import trailing_zeros

from framework.compiled import compiled

__all__ = ["ones", "trailing_zeros"]


@compiled
def ones(word: int) -> int:
    """How many bits are set, of 64."""
    word -= (word >> 1) & 0x5555555555555555  # the result is not negative
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    word += word >> 8
    word += word >> 16
    return (word + (word >> 32)) & 0x7F
