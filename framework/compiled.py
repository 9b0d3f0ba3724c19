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
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeVar

import numba
from numba import njit, types

from framework.caches import caches

F = TypeVar("F", bound=Callable[..., Any])

FOLDER: Final = "kernels"
UNCOUNTED: Final = "_nrt"
"""An option that is private to numba, which has no public one for this: False counts no references.
Where they are counted (numba 0.68, CPU time, best of 5), reading a history of 150,000 operations
takes 0.38 s rather than 0.18, `jit-antichain` 61 ms rather than 42 (20,000 operations of a
register), `wgl` 3.4 rather than 1.0 (4,000). A numba that lacks it counts, and finds the same."""
_ENGINE: Final = __name__.partition(".")[0]
_GIVEN: Final = os.environ.get("NUMBA_CACHE_DIR", "")
_IMPORTS: Final = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)
_KERNEL: Final = re.compile(r"^@(?:compiled|lean)$", re.MULTILINE)


class _Stopwatch:
    """Adds up the seconds in which some thread compiles; what a kernel calls is compiled within."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._depth = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._began = monotonic()
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.total_s += monotonic() - self._began


_COMPILING: Final = _Stopwatch()


def working_s() -> float:
    """A clock that stands still while this process compiles a kernel, or loads what was kept of it:
    that is no part of what the kernel may take. In s, from anywhere."""
    return monotonic() - _COMPILING.total_s


def compiled(function: F) -> F:
    """Machine code for a function of arrays and numbers. It holds no interpreter lock."""
    return _compiled(function)


def lean(function: F) -> F:
    """`compiled`, for a function that makes no arrays, and calls none that does. Nobody counts who
    refers to those that it is handed: their owner waits for it. Where arrays are taken out of a
    tuple in every call, or the function is small, that counting is up to half of the time."""
    return _compiled(function, **{UNCOUNTED: False})


def _compiled(function: F, **options: bool) -> F:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder_of(function.__module__))
    try:
        made: F = _adapted(njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:  # nowhere to keep it
        made = _adapted(njit(nogil=True, **options)(function))
    finally:
        numba.config.CACHE_DIR = before
    return made


def _adapted(kernel: Any) -> Any:
    """The same, with its compiling timed; and for callers that are compiled with one width of whole
    numbers: for 64 bits only, rather than again for every mixture of widths."""
    template_of = getattr(kernel, "get_call_template", None)
    if template_of is None:  # NUMBA_DISABLE_JIT
        return kernel
    compile_ = kernel.compile

    def get_call_template(args: Sequence[types.Type], kws: Mapping[str, types.Type]) -> Any:
        wide = {name: _wide(each) for name, each in kws.items()}
        return template_of(tuple(_wide(each) for each in args), wide)

    def compile_timed(signature: Any) -> Any:
        with _COMPILING:
            try:
                return compile_(signature)
            except KeyError:  # what numba says to an option that it does not have
                if kernel.targetoptions.pop(UNCOUNTED, None) is None:
                    raise
                return compile_(signature)

    kernel.get_call_template, kernel.compile = get_call_template, compile_timed
    return kernel


def _wide(kind: types.Type) -> types.Type:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


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
    return caches()


def _sources(module: str) -> dict[str, str]:
    """The sources of a module, of all that it imports of its own package, and of what has kernels
    in the engine; by name."""
    package = module.partition(".")[0]
    found: dict[str, str] = {}
    left = [module]
    while left:
        name = left.pop()
        if name in found or name.partition(".")[0] not in (package, _ENGINE):
            continue
        source = _source(name)
        if name.partition(".")[0] == package or _KERNEL.search(source):
            found[name] = source
            left += _IMPORTS.findall(source)
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
