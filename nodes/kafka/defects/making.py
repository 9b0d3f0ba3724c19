"""The agent, compiled when it is first needed.

Kept below `~/.cache/kraft-proof/kafka/defects`, named by what it was made of, and only once it is
known to fit: its advice was applied to the classes of the very jars that nodes will start with, and
Java took what came of that.
"""

import hashlib
import shutil
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framework.errors import UsageError
from nodes.kafka import java
from nodes.kafka.defects.tools import LIST, tool
from nodes.kafka.software import CACHE, DEFECT, Software

SOURCES: Final = Path(__file__).parent / "java"
COMMON: Final = ("Agent", "Change", "Changes", "Check")
"""Files that all agents have beside those of their defects."""
MAIN, CHECK = "defects.Agent", "defects.Check"
JAR: Final = "agent.jar"
COMPILER: Final = "org.eclipse.jdt.internal.compiler.batch.Main"
_JAVA_S: Final = 120.0
_once: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Agent:
    """`key`: one word for what it was made of. `files`: name -> path, all in one directory."""

    key: str
    files: dict[str, Path]


def class_of(defect: str) -> str:
    """The Java class, and file, of a defect: `vote-twice` is `VoteTwice`."""
    return "".join(part.capitalize() for part in defect.split("-"))


def agent(defects: Sequence[str], found: Software, command: str) -> Agent:
    """An agent that has these defects, for these jars. `command`: the Java that makes it. Raises
    `UsageError` where its tools are not there or it does not fit this software."""
    key = _key(_sources(defects), found)
    kept = CACHE / "kafka" / "defects" / key
    with _once:
        if not kept.is_dir():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".making-") as made:
                _keep(_made(defects, found, command, Path(made)), kept)
    return Agent(f"defects-{key}", {path.name: path for path in sorted(kept.iterdir())})


def _made(defects: Sequence[str], found: Software, command: str, into: Path) -> Path:
    """A new directory with its files."""
    bytecode, classes, whole = tool("byte-buddy"), into / "classes", into / "whole"
    whose, of = ", ".join(defects), f"Apache Kafka {found.version}"
    on = [*sorted(found.libs.glob("*.jar")), bytecode]
    options = ["-17", "-nowarn", "-proc:none", "-cp", _class_path(on), "-d", str(classes)]
    argv = [COMPILER, *options, *map(str, _sources(defects))]
    _ask(command, [tool("ecj")], argv, f"{whose} cannot be compiled for {of}")
    _pack(classes, bytecode, whole)
    argv = [CHECK, *map(class_of, defects)]
    _ask(command, [*on, whole / JAR], argv, f"{whose} does not fit {of}")
    return whole


def _sources(defects: Sequence[str]) -> list[Path]:
    return [SOURCES / f"{name}.java" for name in (*COMMON, *map(class_of, defects))]


def _key(sources: Sequence[Path], found: Software) -> str:
    digest = hashlib.sha256(LIST.read_bytes() + found.key.encode())
    for path in sources:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _pack(classes: Path, bytecode: Path, into: Path) -> None:
    """The jar, and beside it what it runs with."""
    into.mkdir()
    shutil.copyfile(bytecode, into / bytecode.name)
    manifest = f"Manifest-Version: 1.0\nPremain-Class: {MAIN}\nClass-Path: {bytecode.name}\n"
    with zipfile.ZipFile(into / JAR, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
        for path in sorted(classes.rglob("*.class")):
            jar.write(path, path.relative_to(classes).as_posix())


def _ask(command: str, on: Sequence[Path], argv: Sequence[str], otherwise: str) -> None:
    whole = [command, *java.SMALL, "-cp", _class_path(on), *argv]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=_JAVA_S)
    if done.returncode != 0:
        why = _why(done.stderr + done.stdout)[:300]
        raise UsageError(f"--set {DEFECT}: {otherwise}: {why}")


def _why(said: str) -> str:
    """The last line of the first thing that a compiler, or the check, found."""
    blocks = [block.strip() for block in said.split("----------") if block.strip()]
    return blocks[0].splitlines()[-1].strip() if blocks else "Java says nothing"


def _class_path(jars: Sequence[Path]) -> str:
    return ":".join(map(str, jars))


def _keep(whole: Path, kept: Path) -> None:
    """At once: nobody sees half of it. Another process may have made the same."""
    try:
        whole.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise
