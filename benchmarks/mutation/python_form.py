"""Kernels as the Python functions that they are written as, so that a mutant of one costs no minute
of compiling, and as machine code wherever no mutant is seen, which is a hundred times as quick.

A kernel may be both: for callers that are compiled it is machine code of what is on the disk, for
all others the function. So the kernels of the modules that are changed are functions, those that
call them (their modules import the changed ones) are, as they would not see the change otherwise,
and those that these call are, as they would be compiled anew for each width of numbers.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

import hypothesis
import numba
from numba.core.extending import _Intrinsic
from numba.core.registry import CPUDispatcher

_KERNEL: Final = re.compile(r"^@(?:compiled|lean|inlined)$", re.MULTILINE)
_NJIT: Final[Callable[..., Any]] = numba.njit
_modules: set[str] = set()


class _Function(CPUDispatcher):  # type: ignore[misc]
    """Compiled for callers that are; for others the function."""

    __slots__ = ()

    def __call__(self, *args: object, **named: object) -> object:
        return self.py_func(*args, **named)


def use(modules: Collection[str]) -> None:
    """From now on, of kernels that are imported those of `modules` are functions."""
    _modules.clear()
    _modules.update(modules)


def functions(changed: Collection[str], sources: Mapping[str, str]) -> frozenset[str]:
    """The modules whose kernels have to be functions. `sources` of all modules, by name."""
    kernels = {name for name, source in sources.items() if _KERNEL.search(source)}
    below = {name: set(_imported(source, sources)) for name, source in sources.items()}
    above = {name: {each for each in below if name in below[each]} for name in sources}
    return frozenset(_reached(_reached(changed, above) & kernels, below) & kernels)


def _reached(names: Collection[str], links: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = list(names)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += links.get(name, ())
    return found


_FROM: Final = re.compile(r"^from ([\w.]+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)


def _imported(source: str, names: Collection[str]) -> Iterator[str]:
    for package, many, one in _FROM.findall(source):
        parts = re.findall(r"(\w+)(?: as \w+)?", many or one)
        yield from {package, *(f"{package}.{part}" for part in parts)} & set(names)


def _njit(*args: Any, **options: Any) -> Any:
    made = _NJIT(*args, **options)
    return _either(made) if hasattr(made, "py_func") else lambda function: _either(made(function))


def _either(kernel: Any) -> Any:
    if kernel.py_func.__module__ in _modules:
        kernel.__class__ = _Function
    return kernel


def _trailing_zeros(intrinsic: object, word: int) -> int:
    """The one intrinsic of numba's that kernels call; it has no Python form. 64 for a word of 64
    bits that is 0."""
    word = int(word)
    return (word & -word).bit_length() - 1 if word else 64


# Now, as whoever imports `framework.compiled` keeps the `njit` that there is then. By `setattr`: a
# method is nothing to assign to, as mypy sees it.
numba.njit = _njit
setattr(_Intrinsic, "__call__", _trailing_zeros)  # noqa: B010


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
