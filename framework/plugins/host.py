"""Where nodes run: one protocol for containers, namespaces and remote machines."""

import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

FILTER_TABLE: Final = "kraft_proof"
"""The packet filter's table (family inet) that faults put their rules in. Nobody else's is ever
touched, and where machines outlive a run it is removed with the run."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended: exit code and what it printed."""

    code: int
    out: str
    err: str


class CommandFailed(Exception):
    """A command on a host ended with a code other than 0, or did not end in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a machine must carry so that a node of a system can run on it (`System.image`).

    Hosts carry machines, systems carry software. A container has all of this built in. To a
    machine of the user's the files and the Python packages are shipped, and the rest has to be
    there. In namespaces everything is this machine's own, and nothing is shipped.
    """

    name: str
    """The software's name, one word: container images and folders are called after it."""
    packages: Sequence[str] = ()
    """Debian packages that a node needs: built into containers."""
    commands: Sequence[str] = ()
    """Commands that start a node, on PATH or absolute: looked for on all other machines."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """The system's own files: path below `Host.software` -> file on this machine."""
    requirements: Sequence[str] = ()
    """Python distributions that the files import, as pip names them: below `site` there."""
    dockerfile: Path | None = None
    """How a container gets the files where copying them is not enough. It begins with
    `ARG MACHINE` and `FROM ${MACHINE}`, a machine with sshd and the packages above; its context
    is the files at their paths, and `site`."""


class Host(Protocol):
    """One machine of a cluster: a container, a set of namespaces, or a remote machine."""

    name: str
    address: str
    """IPv4 address in the run's private network."""
    workdir: str
    """Absolute path, on the host, of a directory that is the node's own."""
    python: str
    """A Python, 3.11 or newer, on the host: for small scripts, and for systems that need one."""
    software: str
    """Absolute path, on the host, of the directory with the image's files, and its Python
    packages in `site` there. Empty where nothing is shipped, for `python` is this very one."""

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

    def exit_code(self, pid: int) -> int | None:
        """That of a process that `start` started and that has ended, negative: minus the signal
        that ended it. None: it runs, or nobody can tell. By itself nobody can."""
        return None

    def write(self, path: str, data: bytes) -> None:
        """Write a file, its parents made as needed."""

    def read(self, path: str) -> bytes:
        """A file's bytes. Raises `FileNotFoundError`."""

    def fetch(self, remote: str, local: Path) -> None:
        """Copy a directory from the host into `local` (created)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSample:
    """A host's CLOCK_MONOTONIC against the harness's, at one moment."""

    at_ns: int
    """The harness's."""
    offset_ns: int
    """The host's less the harness's, at that moment."""
    within_ns: int
    """How far off `offset_ns` may be, either way: half of what a question and its answer took."""


class Fleet(Protocol):
    """All hosts of one run and the private network between them."""

    kind: str
    """"docker", "namespaces", ..."""
    hosts: Mapping[str, Host]

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        """A TCP connection from the harness to a node. Raises `OSError`."""

    def clocks(self) -> Mapping[str, ClockSample | None]:
        """Host -> its clock now, measured; None where it is the harness's own clock, for good.
        Hosts that do not answer are left out."""

    def run_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command of the user's where every node can be reached, with this terminal.
        Its exit code."""


@runtime_checkable
class OnThisMachine(Protocol):
    """A fleet whose processes are some of this machine's, where the harness can look at them."""

    def roots(self) -> Mapping[str, int]:
        """Host -> the process from which all of its processes descend: its pid, as the harness
        sees it. Hosts of which that is not known are left out."""


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

    def carries(self, image: Image, nodes: int) -> Sequence[Ability]:
        """Whether so many nodes of this software can run here. Changes nothing."""

    def lacking(self, commands: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Machine -> those of the commands that it has not, for all machines that lack some. A
        fault's needs (`nft`) are asked for with this."""

    def fleet(
        self, run_id: str, names: Sequence[str], scratch: Path, image: Image
    ) -> AbstractContextManager[Fleet]:
        """Start a host a name that carries the image, on a network of the run's; remove all of it
        on exit. `scratch` is an empty directory for keys, sockets and node directories."""

    def leftovers(self) -> Sequence[str]:
        """What killed runs left behind on this machine: one readable line each. Things of runs
        whose harness still lives are not leftovers."""

    def clean(self) -> Sequence[str]:
        """Remove the leftovers; what was removed, a line each."""


@runtime_checkable
class NeedsInventory(Protocol):
    """A kind of hosts that are machines of the user's, named in a file (`--inventory`)."""

    def with_inventory(self, path: Path) -> HostProvider:
        """The provider for these machines. Raises `UsageError` for a file that names none."""
