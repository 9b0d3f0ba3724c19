"""What kernels need in the Python of Spark's workers: none of it is imported here, for this says
what is not there."""

import importlib
from typing import Final

LIBRARIES: Final = ("numpy", "pyarrow", "numba")
"""Others' plugins may need more."""


def lacking(_: int) -> list[str]:
    """On a worker: what cannot be imported there."""
    lacks = []
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            lacks.append(name)
    return lacks
