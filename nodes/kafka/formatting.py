"""What a formatted data directory holds beside the ids of its node: the first metadata records.

They depend on the release alone, so Kafka's own StorageTool makes them once a machine, and all
nodes of all runs begin with a copy.
"""

import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Final

from framework.errors import EngineError
from nodes.kafka import java
from nodes.kafka.software import CACHE, Software

BOOTSTRAP: Final = "bootstrap.checkpoint"
TOOL: Final = "kafka.tools.StorageTool"
_FORMAT_S: Final = 120.0
_ID: Final = "AAAAAAAAQACAAAAAAAAAAQ"
_once: Final = threading.Lock()


def bootstrap(found: Software, command: str) -> bytes | None:
    """The file `bootstrap.checkpoint` of this software; None for one that makes none. Raises
    `EngineError` where it cannot be made."""
    kept = CACHE / "kafka" / "formatted" / found.key
    with _once:
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            made = kept.with_suffix(".making")
            made.write_bytes(_formatted(found, command) or b"")
            made.rename(kept)
    return kept.read_bytes() or None


def _formatted(found: Software, command: str) -> bytes | None:
    with tempfile.TemporaryDirectory() as made:
        properties = Path(made) / "server.properties"
        properties.write_text(
            "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://127.0.0.1:9093\n"
            "controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
            f"log.dirs={made}/data\n"
        )
        arguments = ["format", "-t", _ID, "-c", str(properties)]
        done = subprocess.run(
            java.tool(command, found.libs, TOOL, *arguments),
            capture_output=True,
            text=True,
            timeout=_FORMAT_S,
        )
        if done.returncode != 0:
            raise EngineError(f"Apache Kafka {found.version} does not format: {done.stderr[-300:]}")
        path = Path(made) / "data" / BOOTSTRAP
        return path.read_bytes() if path.exists() else None
