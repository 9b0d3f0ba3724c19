"""Where nodes run: one protocol for containers, namespaces and remote machines."""

import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended: exit code and what it printed."""

    code: int
    out: str
    err: str


class CommandFailed(Exception):
    """A command on a host ended with a code other than 0, or did not end in time."""


class Host(Protocol):
    """One machine of a cluster: a container, a set of namespaces, or a remote machine."""

    name: str
    address: str
    """IPv4 address in the run's private network."""
    workdir: str
    """Absolute path, on the host, of a directory that is the node's own."""
    python: str
    """Interpreter on the host that can import `nodes.kraft`."""

    def run(
        self, argv: Sequence[str], *, check: bool = True, timeout_s: float = 30.0, stdin: str = ""
    ) -> Completed:
        """Run a command as the host's root and wait. Raises `CommandFailed`."""

    def start(self, argv: Sequence[str], *, log: str) -> int:
        """Start a process that outlives this call, in a session of its own, its output
        appended to the file `log`. Its pid as the host sees it."""

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Send a signal. A process that is gone is not an error."""

    def alive(self, pid: int) -> bool:
        """True while the process runs (stopped counts, zombie does not)."""

    def write(self, path: str, data: bytes) -> None:
        """Write a file, its parents made as needed."""

    def read(self, path: str) -> bytes:
        """A file's bytes. Raises `FileNotFoundError`."""

    def fetch(self, remote: str, local: Path) -> None:
        """Copy a directory from the host into `local` (created)."""


class Fleet(Protocol):
    """All hosts of one run and the private network between them."""

    kind: str
    """"docker", "namespaces", ..."""
    hosts: Mapping[str, Host]

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        """A TCP connection from the harness to a node. Raises `OSError`."""

    def run_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command of the user's where every node can be reached, with this terminal.
        Its exit code."""


@dataclass(frozen=True, slots=True)
class Ability:
    """One line of `doctor`: can this machine do it, and if not, what would make it so."""

    name: str
    works: bool
    detail: str
    remedy: str = ""


class HostProvider(Protocol):
    """A kind of hosts (entry-point group `framework.hosts`). Built with no arguments."""

    name: str

    def abilities(self) -> Sequence[Ability]:
        """What this machine can do here. Changes nothing."""

    def fleet(
        self, run_id: str, names: Sequence[str], scratch: Path
    ) -> AbstractContextManager[Fleet]:
        """Start a host a name, on a new private network labelled with `run_id`; remove all of
        it on exit. `scratch` is an empty directory for keys, sockets and node directories."""

    def leftovers(self) -> Sequence[str]:
        """What killed runs left behind on this machine: one readable line each. Things of runs
        whose harness still lives are not leftovers."""

    def clean(self) -> Sequence[str]:
        """Remove the leftovers; what was removed, a line each."""
