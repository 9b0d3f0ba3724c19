"""What a formatted data directory holds beside the ids of its node: the first metadata records.

They depend on the release and on the levels of features that are asked for, so Kafka's own
StorageTool makes them once a machine, and all nodes of all runs begin with a copy. What a dynamic
quorum begins with names its voters, and is made once a run.
"""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from framework.errors import EngineError, UsageError
from nodes.kafka import java
from nodes.kafka.features import AS_RELEASED, UNSTABLE, Levels
from nodes.kafka.quorum import SERVERS, VOTERS
from nodes.kafka.software import CACHE, Software

BOOTSTRAP: Final = "bootstrap.checkpoint"
FIRST_VOTERS: Final = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
"""The snapshot below all records: who votes in the beginning (KIP-853)."""
TOOL: Final = "kafka.tools.StorageTool"
_FORMAT_S: Final = 120.0
_THROWN: Final = re.compile(r'Exception in thread "[^"]*" (?:[\w.$]+: )?(.*)')
_ID: Final = "AAAAAAAAQACAAAAAAAAAAQ"
_ADDRESS: Final = "127.0.0.1:9093"
_ANY_VOTER: Final = f"1@{_ADDRESS}:{_ID}"
_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
_once: Final = threading.Lock()


def check(found: Software, command: str, levels: Levels, *, dynamic: bool) -> None:
    """Raises `UsageError` where this software does not format with these levels, with why. It is
    asked once a machine."""
    try:
        bootstrap(found, command, levels)
        if dynamic:
            first_voters(found, command, _ANY_VOTER, levels)
    except EngineError as error:
        raise UsageError(f"{levels}: {error}") from None


def bootstrap(found: Software, command: str, levels: Levels = AS_RELEASED) -> bytes | None:
    """The file `bootstrap.checkpoint` of this software, at these levels; None for one that makes
    none. Raises `EngineError` where it cannot be made."""
    kept = CACHE / "kafka" / "formatted" / found.key
    if levels.asked:
        kept = kept.with_name(f"{kept.name}-{levels.key}")
    with _once:
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            made = kept.with_name(f".{kept.name}.{os.getpid()}")
            with _formatted(found, command, levels, "1", f"{VOTERS}=1@{_ADDRESS}") as data:
                path = data / BOOTSTRAP
                made.write_bytes(path.read_bytes() if path.exists() else b"")
            made.rename(kept)
    return kept.read_bytes() or None


def first_voters(
    found: Software, command: str, controllers: str, levels: Levels = AS_RELEASED
) -> bytes:
    """The snapshot that says who votes first, of all of them the same. `controllers`: as
    `nodes.kafka.quorum.initial_controllers` lists them. Raises `EngineError`."""
    with _once:
        return _first_voters(found, command, controllers, levels)


@lru_cache
def _first_voters(found: Software, command: str, controllers: str, levels: Levels) -> bytes:
    any_of_them = controllers.partition("@")[0]
    asked = ("--initial-controllers", controllers)
    with _formatted(found, command, levels, any_of_them, f"{SERVERS}={_ADDRESS}", *asked) as data:
        return (data / FIRST_VOTERS).read_bytes()


@contextmanager
def _formatted(
    found: Software, command: str, levels: Levels, node_id: str, quorum: str, *more: str
) -> Iterator[Path]:
    """A controller's directory of data. `quorum`: the setting that says where it is; `more`:
    arguments."""
    with tempfile.TemporaryDirectory() as made:
        properties = Path(made) / "server.properties"
        properties.write_text(
            f"process.roles=controller\nnode.id={node_id}\nlisteners=CONTROLLER://{_ADDRESS}\n"
            f"controller.listener.names=CONTROLLER\n{quorum}\nlog.dirs={made}/data\n"
            f"{UNSTABLE}={str(levels.unstable).lower()}\n"
        )
        arguments = ["format", "-t", _ID, "-c", str(properties), *levels.arguments, *more]
        done = subprocess.run(
            java.tool(command, found.libs, TOOL, *arguments, flags=[_QUIET]),
            capture_output=True,
            text=True,
            timeout=_FORMAT_S,
        )
        if done.returncode != 0:
            said = last_words(done.stderr)
            raise EngineError(f"Apache Kafka {found.version} does not format: {said[:300]}")
        yield Path(made) / "data"


def last_words(stderr: str) -> str:
    """Why a tool ended, in one line: its exception's message, or what it said last."""
    lines = [line for line in stderr.splitlines() if line[:1].strip()]
    thrown = [match[1] for line in lines if (match := _THROWN.match(line))]
    return [*lines[-1:], *thrown[:1]][-1] if lines else "it does not say why"
