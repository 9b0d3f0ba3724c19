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
    sources = compiled._sources("checkers.kafka_log.records")
    engine = {name for name in sources if name.startswith("framework.")}
    assert engine == {"framework.history.json_columns", "framework.history.json_walk"}
