"""The user's machines, as a file names them.

    user = "admin"                  # for all machines; so may be port, key and workdir
    key = "~/.ssh/lab"

    [[machines]]
    name = "m1"                     # the address, if absent
    address = "192.0.2.11"

or the same as JSON.
"""

import json
import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import paramiko

from framework.errors import UsageError
from framework.history.event import Json
from framework.hosts.ssh.host import Login

WORKDIR: Final = "/var/tmp/kraft-proof"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine of the user's."""

    name: str
    address: str
    """IPv4: where both SSH and the node answer, and by which other nodes know it."""
    port: int = 22
    user: str = "root"
    key: str | None = None
    """File of a private key. None: the user's agent and the usual files."""
    workdir: str = WORKDIR
    """A directory for the folders of runs. Made, and removed again, where it is missing."""

    @property
    def login(self) -> Login:
        return Login(address=self.address, port=self.port, user=self.user, key=self.key)


_FIELDS: Final[Mapping[str, type]] = {
    "name": str,
    "address": str,
    "port": int,
    "user": str,
    "key": str,
    "workdir": str,
}
_FOR_ALL: Final = ("port", "user", "key", "workdir")


def read(path: Path) -> Sequence[Machine]:
    """The machines of an inventory, in its order. Raises `UsageError`."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--inventory {path}: it cannot be read: {_why(error)}") from None
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise UsageError(f"--inventory {path}: no {kind}: {error}") from None
    try:
        found = [_machine(one, document, path.parent) for one in _listed(document)]
        _check_unique(found)
    except _Wrong as error:
        raise UsageError(f"--inventory {path}: {error}") from None
    return found


class _Wrong(Exception):
    """What is wrong, without the file's name."""


def _listed(document: Json) -> Sequence[Json]:
    if not isinstance(document, dict):
        raise _Wrong("it is a table with `machines`, a list")
    strange = document.keys() - {"machines", *_FOR_ALL}
    if strange:
        raise _Wrong(f"unknown setting: {sorted(strange)[0]} (known: machines, {_names(_FOR_ALL)})")
    machines = document.get("machines")
    if not isinstance(machines, list) or not machines:
        raise _Wrong("it names no machines: it needs [[machines]], each with an address")
    return machines


def _machine(given: Json, document: Mapping[str, Json], folder: Path) -> Machine:
    if not isinstance(given, dict):
        raise _Wrong("a machine is a table with an address")
    name = given.get("name", given.get("address", "?"))
    merged: dict[str, Any] = {key: document[key] for key in _FOR_ALL if key in document} | given
    for key, value in merged.items():
        if key not in _FIELDS:
            raise _Wrong(f"machine {name}: unknown field: {key} (known: {_names(_FIELDS)})")
        if not isinstance(value, _FIELDS[key]) or isinstance(value, bool) or value == "":
            raise _Wrong(f"machine {name}: {key} {value!r} is no {_FIELDS[key].__name__}")
    if "address" not in merged:
        raise _Wrong(f"machine {name}: it has no address")
    if "key" in merged:
        merged["key"] = _key(str(merged["key"]), folder, str(name))
    merged["name"] = str(name)
    merged["address"] = _resolved(str(merged["address"]), str(name))
    machine = Machine(**merged)
    if not 0 < machine.port < 1 << 16:
        raise _Wrong(f"machine {name}: port {machine.port} is none")
    if not machine.workdir.startswith("/"):
        raise _Wrong(f"machine {name}: workdir {machine.workdir!r} is no absolute path")
    return machine


def _key(text: str, folder: Path, name: str) -> str:
    """The key's file, which must be one that can be used without a passphrase."""
    path = folder / Path(text).expanduser()
    try:
        paramiko.PKey.from_path(path)
    except (OSError, paramiko.SSHException, ValueError, TypeError) as error:
        raise _Wrong(f"machine {name}: key {path} cannot be used: {_why(error)}") from None
    return str(path.absolute())


def _resolved(address: str, name: str) -> str:
    try:
        return str(socket.getaddrinfo(address, None, socket.AF_INET)[0][4][0])
    except OSError as error:
        raise _Wrong(f"machine {name}: address {address!r}: {_why(error)}") from None


def _check_unique(machines: Sequence[Machine]) -> None:
    for what in ("address", "name"):
        seen: dict[str, str] = {}
        for machine in machines:
            value = getattr(machine, what)
            if value in seen:
                raise _Wrong(f"machines {seen[value]} and {machine.name} have one {what}: {value}")
            seen[value] = machine.name


def _names(known: Sequence[str] | Mapping[str, type]) -> str:
    return ", ".join(known)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__


def as_json(machines: Sequence[Machine]) -> list[dict[str, str | int | None]]:
    """Machines as the register of runs keeps them."""
    return [
        {one.name: getattr(machine, one.name) for one in fields(Machine)} for machine in machines
    ]


def from_json(stored: Sequence[Mapping[str, str | int | None]]) -> list[Machine]:
    """The inverse of `as_json`. Raises `KeyError`."""
    return [
        Machine(
            name=str(one["name"]),
            address=str(one["address"]),
            port=int(one["port"] or 0),
            user=str(one["user"]),
            key=None if one["key"] is None else str(one["key"]),
            workdir=str(one["workdir"]),
        )
        for one in stored
    ]
