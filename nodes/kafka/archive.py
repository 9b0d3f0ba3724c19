"""The classes of a release as Java has them once they are loaded (a class-data archive, JEP 350):
nodes that start with it need not read and verify them again.

One node by itself, which serves nobody, makes it when it ends, once a machine. It fits one Java and
the very jars at their very places, so machines to which jars are shipped go without.
"""

import hashlib
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import tenacity

from framework.plugins.host import Host
from nodes.adapting.layout import both
from nodes.kafka import formatting, java, settings
from nodes.kafka.software import CACHE, Software, home_of

STARTED: Final = b"Kafka Server started"
_START_S: Final = 60.0
_END_S: Final = 60.0
_once: Final = threading.Lock()


def flags(host: Host, found: Software, command: str) -> Sequence[str]:
    """What Java is given to start with the archive; nothing where there is none."""
    if host.software:
        return ()
    with _once:
        kept = archive(found, command)
    return () if kept is None else (f"-XX:SharedArchiveFile={kept}",)


@lru_cache
def archive(found: Software, command: str) -> Path | None:
    """The file, made if it is not there yet; None where this Java makes none."""
    kept = CACHE / "kafka" / "archives" / f"{_key(found)}-java{java.major(command)}.jsa"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".making-") as home:
            made = _made(found, command, Path(home))
            if made.exists():
                made.rename(kept)  # at once: nobody sees half of it
    return kept if kept.exists() else None


def _key(found: Software) -> str:
    """A copy elsewhere may have the very jars, by name, size and time, and wants its own."""
    if found.home == home_of(found.version):
        return found.key
    return f"{found.key}-{hashlib.sha256(str(found.home).encode()).hexdigest()[:12]}"


def _made(found: Software, command: str, home: Path) -> Path:
    """Where it is, if it could be made."""
    _install(found, command, home)
    made = home / "classes.jsa"
    argv = java.broker(
        command,
        str(found.libs),
        str(home / "server.properties"),
        heap=java.HEAP,
        flags=[f"-XX:ArchiveClassesAtExit={made}"],
    )
    said = home / "node.log"
    with said.open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        _wait(process, said)
        process.send_signal(signal.SIGTERM)
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        made.unlink(missing_ok=True)
    finally:
        process.kill()
        process.wait()
    return made


def _install(found: Software, command: str, home: Path) -> None:
    """A cluster of one node, on ports that nobody has."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        ports = {"client": one.getsockname()[1], "controller": two.getsockname()[1]}
    spec = replace(both(1, 1), ports=ports)
    own = settings.node_settings(
        spec.name, {spec.name: spec}, {spec.name: "127.0.0.1"}, {}, workdir=str(home)
    )
    (home / "data").mkdir()
    (home / "server.properties").write_text("".join(f"{key}={own[key]}\n" for key in own))
    (home / "data" / "meta.properties").write_text(settings.meta_properties(spec, 0))
    first = formatting.bootstrap(found, command)
    if first is not None:
        (home / "data" / formatting.BOOTSTRAP).write_bytes(first)


def _wait(process: subprocess.Popen[bytes], said: Path) -> None:
    """Until it serves, or ended, or it is too late for either."""
    tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda over: not over),
        stop=tenacity.stop_after_delay(_START_S),
        wait=tenacity.wait_fixed(0.1),
        retry_error_callback=lambda _: None,
    )(lambda: process.poll() is not None or STARTED in said.read_bytes())
