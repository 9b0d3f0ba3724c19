"""Numbers of variable length, as protocol buffers have them."""

from typing import Final

_MOST_BITS: Final = 64


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and where it ends. Raises `IndexError` where the bytes end in it, and
    where it has more than 64 bits."""
    number = shift = 0
    while shift < _MOST_BITS:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
    raise IndexError("a number of more than 64 bits")


def signed(data: bytes, at: int) -> tuple[int, int]:
    """Likewise, in zigzag."""
    number, at = unsigned(data, at)
    return (number >> 1) ^ -(number & 1), at
