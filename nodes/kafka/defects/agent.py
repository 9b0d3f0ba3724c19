"""The agent that breaks a node, compiled when it is first needed.

Kept below `~/.cache/kraft-proof/kafka/defects`, named by what it was made of, and only once it is
known to fit: its advice was applied to the classes of the very jars that nodes will start with, and
Java took what came of that.
"""

import functools
import hashlib
import shutil
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framework.errors import UsageError
from framework.plugins.host import Host
from nodes.kafka import java
from nodes.kafka.defects.catalogue import DEFECTS
from nodes.kafka.releases import listed
from nodes.kafka.software import CACHE, DEFECT, Software, ask_maven, asked_for, verify

HERE: Final = Path(__file__).parent
SOURCES: Final = HERE / "java"
POM: Final = HERE / "pom.xml"
LIST: Final = HERE / "checksums.txt"
COMMON: Final = ("Agent", "Change", "Changes", "Check")
MAIN, CHECK = "defects.Agent", "defects.Check"
AGENT: Final = "agent.jar"
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


def get_tools() -> None:
    """Bring what the agent is made with, where it is not there. Raises as `software.get`."""
    home = _tools_home()
    if home.is_dir():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".getting-") as made:
        ask_maven(POM, Path(made) / "whole")
        verify(listed(LIST), Path(made) / "whole", "the agent of defects")
        (Path(made) / "whole").rename(home)


def agent_for(wanted: Mapping[str, str]) -> Agent | None:
    """Of a node with these settings; None where it is whole. Raises `UsageError`."""
    defect = wanted.get(DEFECT)
    if defect is None:
        return None
    if defect not in DEFECTS:
        raise UsageError(f"--set {DEFECT}={defect}: known are {', '.join(sorted(DEFECTS))}")
    return agent([defect], asked_for(wanted), java.command(wanted))


def flags(host: Host, wanted: Mapping[str, str]) -> list[str]:
    """What Java is told, on a host, to break the node; nothing where it is whole."""
    made = agent_for(wanted)
    if made is None:
        return []
    jar = f"{host.software}/{made.key}/{AGENT}" if host.software else str(made.files[AGENT])
    return [f"-javaagent:{jar}={class_of(wanted[DEFECT])}"]


def agent(defects: Sequence[str], found: Software, command: str) -> Agent:
    """An agent that has these defects, for these jars. `command`: the Java that makes it. Raises
    `UsageError` where its tools are not there or it does not fit this software."""
    bytecode, compiler = _tool("byte-buddy"), _tool("ecj")
    sources = [SOURCES / f"{name}.java" for name in (*COMMON, *map(class_of, defects))]
    key = _key(sources, found)
    kept = CACHE / "kafka" / "defects" / key
    with _once:
        if not kept.is_dir():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".making-") as made:
                classes, whole = Path(made) / "classes", Path(made) / "whole"
                on = [*sorted(found.libs.glob("*.jar")), bytecode]
                _compile(command, compiler, sources, on, classes, found)
                _pack(classes, bytecode, whole)
                _check(command, defects, [*on, whole / AGENT], found)
                _keep(whole, kept)
    return Agent(f"defects-{key}", {path.name: path for path in sorted(kept.iterdir())})


def _compile(
    command: str,
    compiler: Path,
    sources: Sequence[Path],
    on: Sequence[Path],
    into: Path,
    found: Software,
) -> None:
    options = ["-17", "-nowarn", "-proc:none", "-cp", _class_path(on), "-d", str(into)]
    argv = [command, *java.SMALL, "-cp", str(compiler), COMPILER, *options, *map(str, sources)]
    _asked(argv, f"cannot be compiled for Apache Kafka {found.version}")


def _pack(classes: Path, bytecode: Path, into: Path) -> None:
    """The jar, and beside it what it runs with."""
    into.mkdir()
    shutil.copyfile(bytecode, into / bytecode.name)
    manifest = f"Manifest-Version: 1.0\nPremain-Class: {MAIN}\nClass-Path: {bytecode.name}\n"
    with zipfile.ZipFile(into / AGENT, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
        for path in sorted(classes.rglob("*.class")):
            jar.write(path, path.relative_to(classes).as_posix())


def _check(command: str, defects: Sequence[str], on: Sequence[Path], found: Software) -> None:
    argv = [command, *java.SMALL, "-cp", _class_path(on), CHECK, *map(class_of, defects)]
    _asked(argv, f"does not fit Apache Kafka {found.version}")


def _asked(argv: Sequence[str], otherwise: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_JAVA_S)
    if done.returncode != 0:
        raise UsageError(f"--set {DEFECT}: it {otherwise}: {_why(done.stderr + done.stdout)[:300]}")


def _why(said: str) -> str:
    """The last line of the first thing that a compiler, or the check, found."""
    blocks = [block.strip() for block in said.split("----------") if block.strip()]
    return blocks[0].splitlines()[-1].strip() if blocks else "Java says nothing"


def _keep(whole: Path, kept: Path) -> None:
    """At once: nobody sees half of it. Another process may have made the same."""
    try:
        whole.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise


def _class_path(jars: Sequence[Path]) -> str:
    return ":".join(map(str, jars))


def _key(sources: Sequence[Path], found: Software) -> str:
    digest = hashlib.sha256(LIST.read_bytes() + found.key.encode())
    for path in sources:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _tools_home() -> Path:
    return (
        CACHE / "kafka" / "defects" / f"tools-{hashlib.sha256(LIST.read_bytes()).hexdigest()[:12]}"
    )


@functools.lru_cache
def _tool(name: str) -> Path:
    """One of the two jars."""
    found = list(_tools_home().glob(f"{name}-*.jar"))
    if not found:
        raise UsageError(
            f"--set {DEFECT}: {name} is not on this machine, with which the agent of defects is "
            "made: kraft-proof get kafka brings it"
        )
    return found[0]
