"""The file `meta.properties`: whose directory this is.

Written as shipped KRaft writes it (`version=1`, KIP-631, KIP-858), so that Kafka's own tools read
it, with the ids of the roles beside its one `node.id`: they tell the node's directories from those
of Apache Kafka, whose logs are not its own. Files of earlier nodes (`version=2`) have these alone.

A node adopts a new directory, or its own. It refuses one of another cluster or node, one of
Apache Kafka, of the ZooKeeper days (`version=0`) too, and one with logs in it that nobody put his
name to (A.1.4).
"""

import base64
import re
import uuid
from pathlib import Path
from typing import Final, Protocol

from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.files import replace_file, sync_directory

VERSION: Final = "1"
EARLIER: Final = "2"
_VERSIONS: Final = (VERSION, EARLIER)
_NAMES: Final = ("cluster.id", "broker.id", "controller.id", "node.id")
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
    lines = {"version": VERSION, **expected, "directory.id": _directory_id()}
    replace_file(path, "".join(f"{name}={value}\n" for name, value in lines.items()).encode())
    sync_directory(directory.parent)


def _properties(identity: Identity) -> dict[str, str]:
    """What says whose it is. Who is both has two ids (A.1.14), of which Kafka's tools see the
    broker's."""
    ids = {"broker.id": identity.broker_id, "controller.id": identity.controller_id}
    numbers = {name: str(number) for name, number in ids.items() if number is not None}
    return {"cluster.id": identity.cluster_id, "node.id": next(iter(numbers.values())), **numbers}


def _directory_id() -> str:
    """A new one, as Kafka writes ids; none begins with the `-` of an option."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22]
        if not made.startswith("-"):
            return made


def _read(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return found


def _check(path: Path, found: dict[str, str], expected: dict[str, str]) -> None:
    version = found.get("version", "absent")
    if version not in _VERSIONS:
        kind = " (ZooKeeper mode)" if version == "0" else ""
        raise StorageError(f"{path}: version is {version}{kind}; expected {VERSION}, not adopted")
    if version == VERSION and not {"broker.id", "controller.id"} & found.keys():
        raise StorageError(f"{path}: it is Apache Kafka's; not adopted")
    for name in _NAMES:
        if version == EARLIER and name == "node.id":
            continue  # it has none
        if found.get(name) != expected.get(name):
            is_here, is_ours = found.get(name, "absent"), expected.get(name, "absent")
            raise StorageError(f"{path}: {name} is {is_here}; this node's is {is_ours}")
