"""Compiling kernels, once a machine: the machine code is kept on disk.

numba asks only whether the file of a kernel has changed, and not those of the kernels that it
calls, so that it would go on with old code for ever, or fail over a type that is there no more.
Therefore the folder is named after all sources that a kernel is made of.

Code is kept below `NUMBA_CACHE_DIR`, else beside the sources, else in the user's cache folder.
"""

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

FOLDER: Final = "kernels"
_GIVEN: Final = os.environ.get("NUMBA_CACHE_DIR", "")
_IMPORTS: Final = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


def compiled(function: F) -> F:
    """Machine code for a function of arrays and numbers. It holds no interpreter lock."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder_of(function.__module__))
    try:
        made: F = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # nowhere to keep it
        made = njit(nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = before
    return made


@cache
def folder_of(module: str) -> Path:
    """Where the code of a module's kernels is kept."""
    digest = hashlib.sha256()
    for name, source in sorted(_sources(module).items()):
        digest.update(f"{name}\n{source}\n".encode())
    return _base(module) / FOLDER / f"{module.rpartition('.')[2]}-{digest.hexdigest()[:16]}"


def _base(module: str) -> Path:
    if _GIVEN:
        return Path(_GIVEN)
    file = getattr(sys.modules.get(module), "__file__", None)
    beside = Path(file or "").parent / "__pycache__"
    if file and os.access(beside if beside.exists() else beside.parent, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kraft-proof"


def _sources(module: str) -> dict[str, str]:
    """The sources of a module and of all that it imports of its own package, by name."""
    package = module.partition(".")[0]
    found: dict[str, str] = {}
    left = [module]
    while left:
        name = left.pop()
        if name in found or name.partition(".")[0] != package:
            continue
        found[name] = _source(name)
        left += _IMPORTS.findall(found[name])
    return found


@cache
def _source(module: str) -> str:
    """Empty where there is none to be had."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ""
    read = getattr(spec.loader if spec else None, "get_source", None)
    return (read(module) or "") if read else ""
