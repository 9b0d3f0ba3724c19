"""Kept machine code is never that of older sources, of the kernel or of what it calls."""

import os
import subprocess
import sys
from pathlib import Path

from framework import compiled

KERNEL = """
from framework.compiled import compiled
from sample.part import twice

@compiled
def kernel(number: int) -> int:
    return twice(number) + 1
"""
PART = """
from framework.compiled import compiled

@compiled
def twice(number: int) -> int:
    return {times} * number
"""


def run(folder: Path, cache: Path | None) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{Path.cwd()}:{folder}"}
    environment.pop("NUMBA_CACHE_DIR", None)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    code = (
        "from sample.kernel import kernel; "
        "made = kernel(5); print(made, sum(kernel.stats.cache_hits.values()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(folder: Path, times: int) -> None:
    package = folder / "sample"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "kernel.py").write_text(KERNEL)
    (package / "part.py").write_text(PART.format(times=times))


def test_a_change_of_what_a_kernel_calls_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, 2)
    assert run(tmp_path, None) == "11 0"
    assert run(tmp_path, None) == "11 1"
    write(tmp_path, 3)
    assert run(tmp_path, None) == "16 0"
    assert run(tmp_path, None) == "16 1"
    kept = sorted(path.name for path in (tmp_path / "sample/__pycache__/kernels").iterdir())
    assert len([name for name in kept if name.startswith("kernel-")]) == 2


def test_another_place(tmp_path: Path) -> None:
    write(tmp_path, 2)
    kept = tmp_path / "kept"
    assert [run(tmp_path, kept), run(tmp_path, kept)] == ["11 0", "11 1"]
    assert (kept / "kernels").is_dir()
    assert not (tmp_path / "sample/__pycache__/kernels").exists()


def test_kernels_of_the_engine_that_others_call_are_watched() -> None:
    """And no other file of the engine."""
    sources = compiled._sources("checkers.logs.records")
    engine = {name for name in sources if name.startswith("framework.")}
    assert engine == {"framework.history.json_columns", "framework.history.json_walk"}


LEAN = """
import numpy
from framework.compiled import lean

@lean
def first(numbers):
    return numbers[0]

@lean
def second(numbers):
    return first(numbers[1:])
"""
WITHOUT = """
from numba import njit
njit(lambda: 0).targetdescr.options._nrt = None  # no option of that name any more
"""
CALLED = """
from sample.lean import first, numpy, second
print(second(numpy.array([3, 4])), *("_nrt" in each.targetoptions for each in (second, first)))
"""


def lean_call(folder: Path, before: str) -> str:
    package = folder / "sample"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "lean.py").write_text(LEAN)
    environment = {**os.environ, "PYTHONPATH": f"{Path.cwd()}:{folder}"}
    environment["NUMBA_CACHE_DIR"] = str(folder / "kept")
    done = subprocess.run(
        [sys.executable, "-c", before + CALLED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


def test_a_lean_kernel_counts_no_references_where_numba_can_leave_it(tmp_path: Path) -> None:
    assert lean_call(tmp_path, "") == "4 True True"


def test_a_numba_that_always_counts_compiles_it_too(tmp_path: Path) -> None:
    assert lean_call(tmp_path, WITHOUT) == "4 False False"


def test_another_error_of_compiling_is_not_taken_for_that(tmp_path: Path) -> None:
    broken = """
from numba.core.dispatcher import Dispatcher
def compile(self, signature):
    raise KeyError("of something else")
Dispatcher.compile = compile
"""
    assert "KeyError: 'of something else'" in lean_call(tmp_path, broken)
