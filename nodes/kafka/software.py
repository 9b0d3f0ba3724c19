"""Apache Kafka's jars on this machine: where they are, and how they come there.

`kraft-proof get kafka VERSION` asks Maven for what `pom.xml` names, holds every jar against the
list of the repository, and keeps them below `~/.cache/kraft-proof/kafka/VERSION`. From then on
nothing needs a network. A build of one's own is any directory with `libs/` (`--set home=DIR`).
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framework.caches import caches
from framework.errors import EngineError, UsageError
from nodes.kafka.releases import newest, release

CACHE: Final = caches()
VERSION, HOME, JAVA_HOME, DEFECT = "version", "home", "java_home", "defect"
"""Settings that say what runs."""
POM: Final = Path(__file__).parent / "pom.xml"
_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_MAVEN_S: Final = 900.0
_CLIENTS: Final = re.compile(r"kafka-clients-(\d[\w.-]*)\.jar")


@dataclass(frozen=True, slots=True)
class Software:
    """`home`: a directory on this machine with the jars in `libs`."""

    version: str
    home: Path

    @property
    def libs(self) -> Path:
        return self.home / "libs"

    @property
    def key(self) -> str:
        """One word for these very jars, by name, size and time."""
        each = sorted((path.name, path.stat()) for path in self.libs.glob("*.jar"))
        text = "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in each)
        return f"{self.version}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def asked_for(settings: Mapping[str, str]) -> Software:
    """The software that a node's settings name. Raises `UsageError` where it is not there."""
    if HOME in settings:
        if VERSION in settings:
            raise UsageError(f"--set {VERSION}, {HOME}: one of them says what runs, not both")
        return of_directory(Path(settings[HOME]).absolute())
    known = release(settings.get(VERSION) or newest())
    home = home_of(known.version)
    if not home.is_dir():
        raise UsageError(
            f"Apache Kafka {known.version} is not on this machine: kraft-proof get kafka "
            f"{known.version} brings it"
        )
    return Software(known.version, home)


def of_directory(home: Path) -> Software:
    """An unpacked distribution. Raises `UsageError` where it is none."""
    found = [match for path in home.glob("libs/*.jar") if (match := _CLIENTS.fullmatch(path.name))]
    if not found:
        raise UsageError(
            f"--set {HOME}={home}: there is no libs/kafka-clients-VERSION.jar in it, as an "
            "unpacked distribution of Apache Kafka has it"
        )
    return Software(found[0][1], home)


def home_of(version: str) -> Path:
    """Where a release is kept."""
    return CACHE / "kafka" / version


def get(version: str) -> Software:
    """Bring a release, if it is not there. Raises `UsageError` for one that is not known or if
    there is no Maven, `EngineError` where it cannot be had or is not what the list says."""
    known = release(version)
    home = home_of(version)
    if home.is_dir():
        return Software(version, home)
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".getting-") as made:
        whole = Path(made) / "whole"
        download(version, whole / "libs")
        verify(known.jars, whole / "libs", f"Apache Kafka {version}")
        whole.rename(home)  # at once: nobody sees half of it
    return Software(version, home)


def bring(pom: Path, jars: Mapping[str, str], home: Path, whose: str, *properties: str) -> None:
    """Bring what a pom names, and is listed in `jars` (name -> sha256), to a directory, unless that
    is there. Raises as `get`."""
    if home.is_dir():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".getting-") as made:
        whole = Path(made) / "whole"
        ask_maven(pom, whole, *properties)
        verify(jars, whole, whose)
        whole.rename(home)  # at once: nobody sees half of it


def download(version: str, libs: Path) -> None:
    """Let Maven copy what a release runs with into a directory that it makes."""
    ask_maven(POM, libs, f"-Dkafka.version={version}")


def ask_maven(pom: Path, libs: Path, *properties: str) -> None:
    """Let Maven copy what a pom names into a directory that it makes. Raises `UsageError` where
    there is no Maven, `EngineError` where it fails."""
    maven = shutil.which("mvn")
    if maven is None:
        raise UsageError("get kafka: Maven brings it, and there is no mvn (apt install maven)")
    argv = [maven, "-q", "-B", "-f", str(pom), *properties, _PLUGIN]
    argv += ["-DincludeScope=runtime", f"-DoutputDirectory={libs}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_MAVEN_S)
    except subprocess.TimeoutExpired:
        raise EngineError(f"get kafka: Maven did not end within {_MAVEN_S:.0f} s") from None
    if done.returncode != 0:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr)
        raise EngineError(f"get kafka: Maven failed: {said[:300]}")


def verify(jars: Mapping[str, str], libs: Path, whose: str) -> None:
    """Hold what came against the list, name -> sha256. Raises `EngineError`."""
    found = checksums(libs)
    if wrong := sorted(name for name in found if jars.get(name) != found[name]):
        raise EngineError(f"get kafka: {wrong[0]} is not the one of {whose}")
    if missing := sorted(jars.keys() - found.keys()):
        raise EngineError(f"get kafka: {missing[0]} did not come")


def checksums(libs: Path) -> dict[str, str]:
    """Of all jars in a directory."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(libs.glob("*.jar"))
    }
