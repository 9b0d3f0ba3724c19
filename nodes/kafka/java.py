"""Java on a machine, and the command line of a node."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from framework.errors import UsageError
from framework.plugins.host import Host, Image
from nodes.kafka.releases import java_of
from nodes.kafka.software import JAVA_HOME, Software

HEAP: Final = "256m"
PACKAGE: Final = "default-jre-headless"
"""Debian's: 17 in release 12, 21 in 13."""
MAIN: Final = "kafka.Kafka"
_VERSION: Final = re.compile(r'version "(\d+)')
_ASK_S: Final = 30.0
SMALL: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
)
"""Flags for many nodes on a small machine: one thread collects garbage, one compiler is quick."""
PAUSES: Final = (
    '-Xlog:gc*,safepoint:file="{directory}/java-%t.log":utctime,uptime,timenanos,tags'
    ":filecount=1,filesize=4m"
)
"""When a Java lets none of its threads run, and why (JEP 158; Java 11 has it, as all later ones): a
file a process, for `%t` is when it began, of 4 MiB and as much again of what was before that. By
its `timenanos` a moment is one of the machine's monotonic clock. Quoted, a path may have colons."""
LOG: Final = (
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
)


def command(settings: Mapping[str, str]) -> str:
    """Java as the settings name it: below `java_home`, else the one on PATH."""
    return f"{settings[JAVA_HOME]}/bin/java" if JAVA_HOME in settings else "java"


def check(settings: Mapping[str, str], version: str) -> None:
    """Raises `UsageError` where there is no Java on this machine that a release runs on."""
    found, needed = major(command(settings)), java_of(version)
    if found is None:
        raise UsageError(
            f"Apache Kafka {version} needs Java {needed}, and {command(settings)} does not start "
            f"(apt install openjdk-17-jre-headless, or --set {JAVA_HOME}=DIR)"
        )
    if found < needed:
        raise UsageError(
            f"Apache Kafka {version} needs Java {needed} or newer, and {command(settings)} is "
            f"{found} (--set {JAVA_HOME}=DIR names another one)"
        )


@lru_cache
def major(java: str) -> int | None:
    """The major version of this Java; None: there is none."""
    if shutil.which(java) is None:
        return None
    done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_ASK_S)
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if done.returncode == 0 and found else None


def image(
    asked: Sequence[Mapping[str, str]], needed: Sequence[Software], more: Mapping[str, Path]
) -> Image:
    """What a machine must carry to be a node of this software, with these settings, and `more`
    files."""
    files = {
        f"{found.key}/{path.name}": path for found in needed for path in found.libs.glob("*.jar")
    }
    files |= more
    commands = sorted({command(settings) for settings in asked}) or [command({})]
    return Image(name="kafka", packages=[PACKAGE], commands=commands, files=files)


def libs(host: Host, found: Software) -> str:
    """The directory of the jars on a host: this machine's own where nothing is shipped."""
    return f"{host.software}/{found.key}" if host.software else str(found.libs)


def broker(
    java: str, libs: str, properties: str, *, heap: str, flags: Sequence[str] = ()
) -> list[str]:
    """The command line of a node with this configuration, and with `flags` for its Java."""
    memory = ["-Xms64m", f"-Xmx{heap}"]
    return [java, *memory, *SMALL, *LOG, *flags, "-cp", f"{libs}/*", MAIN, properties]


def pauses(directory: str) -> str:
    """The flag for a Java that is to write there when its threads stand still."""
    return PAUSES.format(directory=directory)


def tool(java: str, libs: Path, main: str, *arguments: str, flags: Sequence[str] = ()) -> list[str]:
    """The command line of one of Kafka's own tools, with `flags` for its Java."""
    return [java, *SMALL, *flags, "-cp", f"{libs}/*", main, *arguments]
