"""Records whose fields have names, in kernels and out of them: as quick as numbers at places."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def record(fields: type, **lengths: int) -> np.dtype[Any]:
    """A record of int64 with the fields of a class, which is what type checkers take it for.
    `lengths`: of the fields that are arrays. To be made once: numba looks at which one it is, each
    time that a kernel is called, and anew at one that it does not know."""
    return record_of(
        (name, np.int64, (lengths[name],)) if name in lengths else (name, np.int64)
        for name in fields.__annotations__
    )


def record_of(fields: Iterable[tuple[Any, ...]]) -> np.dtype[Any]:
    """A record of any fields: (name, type) or (name, type, shape)."""
    return np.dtype((np.record, list(fields)))


def bytes_of(parts: Iterable[object]) -> int:
    """What those that are arrays take."""
    return sum(each.nbytes for each in parts if isinstance(each, np.ndarray))
