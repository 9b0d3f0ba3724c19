"""Random numbers as pure functions of a seed and labels.

A generator is asked many times for each operation that is taken, so it cannot hold a stream that
advances with every look. Instead a draw is a hash of (seed, label, ...): the same question has
the same answer for ever. The hash is the output function of SplitMix64 (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from typing import Final

_MASK: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15


def mix64(seed: int, label: int) -> int:
    """64 well-mixed bits that `seed` and `label` fix. Chain it for more labels."""
    z = (seed + (label + 1) * _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def below(seed: int, label: int, bound: int) -> int:
    """Uniform in 0 .. bound - 1 (the bias is bound / 2**64)."""
    return (mix64(seed, label) * bound) >> 64


def unit(seed: int, label: int) -> float:
    """Uniform in [0, 1)."""
    return (mix64(seed, label) >> 11) * 2.0**-53
