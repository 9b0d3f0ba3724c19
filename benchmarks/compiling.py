"""Compiling programs in Java for a release of Kafka, by the compiler that `kraft-proof get kafka`
brings: a mere JRE is enough."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from framework.errors import EngineError
from nodes.kafka.defects.making import COMPILER
from nodes.kafka.defects.tools import tool

COMPILE_S: Final = 120.0


def class_path(libs: Path) -> str:
    """All jars of a folder."""
    return ":".join(map(str, sorted(libs.glob("*.jar"))))


def compiled(sources: Iterable[Path], libs: Path, into: Path, whose: Path) -> None:
    """Their classes, into a folder. `whose`: what a failure names. Raises `UsageError` where the
    compiler is not on this machine, `EngineError` where they do not compile."""
    options = ["-17", "-nowarn", "-proc:none", "-d", str(into), "-cp", class_path(libs)]
    argv = ["java", "-cp", str(tool("ecj")), COMPILER, *options, *map(str, sources)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=COMPILE_S)
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "ERROR" in line), done.stderr)
        raise EngineError(f"{whose} does not compile: {said[:300]}")
