"""The file `meta.properties`: whose directory this is.

A node adopts a new directory, or its own. It refuses one of another cluster or node, one of
the ZooKeeper days (`version=0`), and one with logs in it that nobody put his name to (A.1.4).
"""

import re
from pathlib import Path
from typing import Final, Protocol

from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.files import replace_file, sync_directory

VERSION: Final = "2"  # 0: ZooKeeper; 1: shipped KRaft, with one id. Ours may hold two (A.1.14)
_LOG_NAMES: Final = re.compile(r".+-\d+|.*-checkpoint|quorum-state")


class Identity(Protocol):
    """What of a node's configuration marks its directory. An id is None where the node does
    not play that role."""

    @property
    def log_dir(self) -> Path: ...
    @property
    def cluster_id(self) -> str: ...
    @property
    def broker_id(self) -> int | None: ...
    @property
    def controller_id(self) -> int | None: ...


def adopt(identity: Identity) -> None:
    """Make sure that the log directory is this node's, and mark a new one as such.

    Raises `StorageError` where it belongs to somebody else.
    """
    directory = identity.log_dir
    path = directory / "meta.properties"
    expected = _properties(identity)
    directory.mkdir(parents=True, exist_ok=True)
    if path.exists():
        _check(path, _read(path), expected)
        return
    logs = sorted(entry.name for entry in directory.iterdir() if _LOG_NAMES.fullmatch(entry.name))
    if logs:
        raise StorageError(f"{directory}: holds {logs[0]} but no meta.properties; not adopted")
    replace_file(path, "".join(f"{name}={expected[name]}\n" for name in expected).encode())
    sync_directory(directory.parent)


def _properties(identity: Identity) -> dict[str, str]:
    ids = {"broker.id": identity.broker_id, "controller.id": identity.controller_id}
    numbers = {name: str(number) for name, number in ids.items() if number is not None}
    return {"version": VERSION, "cluster.id": identity.cluster_id, **numbers}


def _read(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return found


def _check(path: Path, found: dict[str, str], expected: dict[str, str]) -> None:
    version = found.get("version", "absent")
    if version != VERSION:
        kind = " (ZooKeeper mode)" if version == "0" else ""
        raise StorageError(f"{path}: version is {version}{kind}; expected {VERSION}, not adopted")
    for name in ("cluster.id", "broker.id", "controller.id"):
        if found.get(name) != expected.get(name):
            is_here, is_ours = found.get(name, "absent"), expected.get(name, "absent")
            raise StorageError(f"{path}: {name} is {is_here}; this node's is {is_ours}")
