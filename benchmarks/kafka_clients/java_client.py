"""Kafka's own client: how its program is compiled and started.

The program, in `java/`, makes its calls with Admin, KafkaProducer and KafkaConsumer as the programs
in `go/` do with theirs, and tells of them in the same lines (`programs`). It is compiled by the
compiler that `kraft-proof get kafka` brings, so that a mere JRE is enough.
"""

import subprocess
from pathlib import Path
from typing import Final

from framework.errors import EngineError
from nodes.kafka.command_line import java, libs
from nodes.kafka.defects.making import COMPILER
from nodes.kafka.defects.tools import tool

SOURCES: Final = Path(__file__).parent / "java"
MAIN: Final = "clients.JavaClient"
COMPILE_S: Final = 120.0


def build(folder: Path) -> None:
    """Compile it into a folder. Raises `UsageError` where the compiler or the client are not on
    this machine, `EngineError` where it does not compile."""
    options = ["-17", "-nowarn", "-proc:none", "-d", str(folder)]
    on = ["-cp", ":".join(map(str, sorted(libs().glob("*.jar"))))]
    argv = [*java(tool("ecj")), COMPILER, *options, *on, *map(str, sorted(SOURCES.glob("*.java")))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=COMPILE_S)
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "ERROR" in line), done.stderr)
        raise EngineError(f"{SOURCES} does not compile: {said[:300]}")


def command(folder: Path) -> list[str]:
    """The command line of the program in a folder."""
    return [*java(folder), MAIN]
