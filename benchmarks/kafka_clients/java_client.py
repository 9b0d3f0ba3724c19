"""Kafka's own client: how its program is compiled and started.

The program, in `java/`, makes its calls with Admin, KafkaProducer and KafkaConsumer as the programs
in `go/` do with theirs, and tells of them in the same lines (`programs`). It is compiled by the
compiler that `kraft-proof get kafka` brings, so that a mere JRE is enough.
"""

from pathlib import Path
from typing import Final

from benchmarks.compiling import compiled
from nodes.kafka.command_line import java, libs

SOURCES: Final = Path(__file__).parent / "java"
MAIN: Final = "clients.JavaClient"


def build(folder: Path) -> None:
    """Compile it into a folder. Raises `UsageError` where the compiler or the client are not on
    this machine, `EngineError` where it does not compile."""
    compiled(sorted(SOURCES.glob("*.java")), libs(), folder, SOURCES)


def command(folder: Path) -> list[str]:
    """The command line of the program in a folder."""
    return [*java(folder), MAIN]
