"""Kafka's command line tools: one jar beside those of the release that it goes with.

`kraft-proof get kafka` brings it with whatever release is asked for, once, held against the
checksum here; from then on nothing needs a network.
"""

from pathlib import Path
from typing import Final

from framework.errors import UsageError
from nodes.kafka import software
from nodes.kafka.software import VERSION as ASKED
from nodes.kafka.software import asked_for

VERSION: Final = "4.2.0"
JAR: Final = f"kafka-tools-{VERSION}.jar"
SHA256: Final = "6b88f3f0799c585b5121d9f710e448cd365d4cfd55ff3ab5d2d81f52ae59030d"
POM: Final = Path(__file__).with_suffix(".xml")
_QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


def get() -> None:
    """Bring the jar, if it is not there. Raises as `software.get`."""
    known = {JAR: SHA256}
    software.bring(POM, known, _home(), f"Kafka's tools {VERSION}", f"-Dkafka.version={VERSION}")


def tools() -> Path:
    """The jar, on this machine. Raises `UsageError` where it is not there."""
    if not (found := _home() / JAR).is_file():
        raise UsageError(f"{JAR} is not on this machine: kraft-proof get kafka brings it")
    return found


def libs() -> Path:
    """Where the jars of the release are, the Java client among them. Raises `UsageError` where they
    are not there."""
    return asked_for({ASKED: VERSION}).libs


def java(*classes: Path | str) -> list[str]:
    """Java with these and all of the release on its class path, and nothing in its log but errors.
    Raises `UsageError` where the release is not there."""
    return ["java", *_QUICK, _QUIET, "-cp", ":".join(map(str, (f"{libs()}/*", *classes)))]


def command(main: str, *arguments: str) -> list[str]:
    """The command line of a tool. Raises `UsageError` where it is not there."""
    return [*java(tools()), main, *arguments]


def _home() -> Path:
    return software.CACHE / "kafka-tools" / VERSION
