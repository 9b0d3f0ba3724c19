"""Nodes on machines that the user names, over SSH. The machines know nothing of the project: what a
node needs is shipped to them for a run, and taken away after it. See docs/operating.md.

Each machine gets a folder for the run, with a marker that says whose it is; every process of the
run has the run's label in its environment. So a later command finds both.
"""

import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import paramiko

from framework.errors import EngineError
from framework.hosts import runs, software
from framework.hosts.processes import ProcessId
from framework.hosts.ssh import inventory, there
from framework.hosts.ssh.host import SshFleet, SshHost, connect
from framework.hosts.ssh.inventory import Machine
from framework.plugins.host import FILTER_TABLE, Ability, CommandFailed, Fleet, HostProvider, Image

KIND: Final = "ssh"
THERE: Final = Path(there.__file__).read_text()
PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FIND_PYTHON: Final = """
for python in python3 python3.11 python3.12 python3.13 python3.14 python3.15; do
    command -v $python >/dev/null || continue
    $python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue
    echo "${SSH_CONNECTION%% *}"
    command -v $python
    exit
done
python3 --version
exit 3
"""
UNPACK_S: Final = 300.0
"""A busy machine unpacks what is shipped, some hundred megabytes, within that."""
UNREACHED: Final = (OSError, EOFError, paramiko.SSHException, CommandFailed)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a machine says of itself."""

    harness: str
    """The address that it sees this one come from."""
    python: str
    version: str
    abi: str
    runs: Mapping[str, Mapping[str, str] | None]
    """Folder of a run -> its marker; None: cannot be read."""


class Unfit(Exception):
    """A machine that cannot be used: why, and what would help."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.remedy = remedy


class SshProvider:
    """Entry point `ssh` of `framework.hosts`."""

    name = KIND

    def __init__(self, machines: Sequence[Machine] = ()) -> None:
        self._machines = machines
        self._software: dict[str, bytes] = {}
        """ABI -> the packed software: it may have had to be downloaded."""

    def with_inventory(self, path: Path) -> HostProvider:
        return SshProvider(inventory.read(path))

    def abilities(self) -> Sequence[Ability]:
        if not self._machines:
            return [Ability("inventory", False, "no machines named", "--inventory FILE")]
        return _on_all(self._ability, self._machines)

    def carries(self, image: Image, nodes: int) -> Sequence[Ability]:
        if nodes > len(self._machines):
            named = f"the inventory names {len(self._machines)}, and there are {nodes} nodes"
            return [Ability("machines", False, named, "name more, or ask for fewer with --nodes")]
        missing = self.lacking(image.commands)
        lines = [
            Ability(
                f"machine {machine}",
                False,
                f"no {', '.join(commands)}",
                f"apt-get install {' '.join(image.packages)}" if image.packages else "",
            )
            for machine, commands in missing.items()
        ]
        try:
            for abi in {found.abi for found in _on_all(look, self._machines)}:
                self._packed(image, abi)
        except (Unfit, EngineError) as error:
            lines.append(Ability(f"software of {image.name}", False, str(error)))
        return lines or [Ability(f"software of {image.name}", True, "will be shipped")]

    def lacking(self, commands: Sequence[str]) -> Mapping[str, Sequence[str]]:
        if not commands:
            return {}
        script = 'for each in "$@"; do command -v "$each" >/dev/null || echo "$each"; done'

        def ask(machine: Machine) -> list[str]:
            with _reached(machine) as host:
                return host.run(["sh", "-c", script, "sh", *commands]).out.split()

        found = _on_all(ask, self._machines)
        return {
            machine.name: missing
            for machine, missing in zip(self._machines, found, strict=True)
            if missing
        }

    @contextmanager
    def fleet(
        self, run_id: str, names: Sequence[str], scratch: Path, image: Image
    ) -> Iterator[Fleet]:
        machines = self._machines[: len(names)]
        run = runs.Run(
            run_id=run_id,
            kind=KIND,
            harness=ProcessId.current(),
            scratch=str(scratch.absolute()),
            machines=inventory.as_json(machines),
        )
        with ExitStack() as stack:
            run.save()
            stack.callback(_end, run)

            def make(name: str, machine: Machine) -> SshHost:
                try:
                    found = look(machine)
                    host = _host(name, machine, run, found.python)
                    stack.callback(host.close)
                    self._ship(machine, run, image, found)
                except (*UNREACHED, Unfit) as error:
                    raise EngineError(f"machine {machine.name}: {_why(error)}") from error
                return host

            with ThreadPoolExecutor(len(names)) as pool:
                made = list(pool.map(make, names, machines))
            yield SshFleet(KIND, dict(zip(names, made, strict=True)))

    def leftovers(self) -> Sequence[str]:
        return [
            line for run in self._orphans() for line in _lines(run.run_id, _machines_of(run))
        ] + [f"run {label} on machine {machine.name}" for machine, label, _ in self._strays()]

    def clean(self) -> Sequence[str]:
        removed: list[str] = []
        for run in self._orphans():
            machines = _machines_of(run)
            _end(run)
            shutil.rmtree(run.scratch, ignore_errors=True)
            removed += _lines(run.run_id, machines)
        for machine, label, folder in self._strays():
            _remove(machine, folder, label)
            removed.append(f"run {label} on machine {machine.name}")
        return removed

    def _ability(self, machine: Machine) -> Ability:
        name = f"machine {machine.name}"
        try:
            found = look(machine)
            if found.harness in {each.address for each in self._machines}:
                raise Unfit(
                    f"the harness itself is at {found.harness}, a machine of the inventory: "
                    "a fault would hit both",
                    "run the harness on a machine of its own",
                )
            _check_free(found.runs)
        except Unfit as error:
            return Ability(name, False, str(error), error.remedy)
        return Ability(name, True, f"{machine.address}, Python {found.version}")

    def _packed(self, image: Image, abi: str) -> bytes:
        """The software as a compressed tar file."""
        if abi not in self._software:
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
                for path, data in sorted(software.contents(image, abi).items()):
                    member = tarfile.TarInfo(path)
                    member.size = len(data)
                    member.mode = 0o755 if path.endswith(".sh") else 0o644
                    tar.addfile(member, io.BytesIO(data))
            self._software[abi] = packed.getvalue()
        return self._software[abi]

    def _ship(self, machine: Machine, run: runs.Run, image: Image, found: Found) -> None:
        folder = _folder(machine, run)
        marker = json.dumps({"run_id": run.run_id, "label": run.label, "harness": str(run.harness)})
        packed = f"{folder}/software.tar.gz"
        with _reached(machine) as host:
            reported = host.run([found.python, "-c", THERE, "prepare", folder, marker]).out
            others = json.loads(reported)["runs"]
            del others[folder]
            _check_free(others)
            host.run(["mkdir", f"{folder}/software", f"{folder}/node"])
            host.write(packed, self._packed(image, found.abi))
            host.run(["tar", "-C", f"{folder}/software", "-xzf", packed], timeout_s=UNPACK_S)
            host.run(["rm", packed])

    def _orphans(self) -> list[runs.Run]:
        """Runs whose harness is gone: with an inventory, only those that used its machines."""
        ours = {machine.address for machine in self._machines}
        return [
            run
            for run in runs.orphans(KIND)
            if not ours or ours & {machine.address for machine in _machines_of(run)}
        ]

    def _strays(self) -> list[tuple[Machine, str, str]]:
        """Folders of dead runs of this machine's which no register knows any more: machine,
        label, folder."""
        known = {run.label for run in runs.orphans(KIND)}
        found = zip(self._machines, _on_all(_reported, self._machines), strict=True)
        return [
            (machine, marker["label"], folder)
            for machine, reported in found
            for folder, marker in reported.runs.items()
            if marker is not None and _dead(marker) and marker["label"] not in known
        ]


def look(machine: Machine) -> Found:
    """Log in and look. Changes nothing. Raises `Unfit`."""
    try:
        with closing(_bare(machine)) as bare:
            asked = bare.run(["sh", "-c", FIND_PYTHON], check=False)
            if asked.code != 0:
                version = (asked.out + asked.err).strip().splitlines() or ["none"]
                raise Unfit(f"no Python 3.11 or newer ({version[-1]})", "apt-get install python3")
            harness, python = asked.out.split()
            command = [*_prefix(machine), python, "-c", THERE, "look", machine.workdir]
            reported = bare.run(command, check=False)
            why = (reported.err.strip().splitlines() or ["no reason given"])[-1]
            if reported.code != 0 and machine.user != "root":
                raise Unfit(
                    f"user {machine.user} cannot become root by sudo without a password ({why})",
                    f"{machine.user} ALL=(ALL) NOPASSWD: ALL, in sudoers",
                )
            if reported.code != 0:
                raise Unfit(f"Python does not work ({why})")
    except UNREACHED as error:
        raise Unfit(_why(error, machine)) from error
    fields = json.loads(reported.out)
    return Found(
        harness=harness,
        python=python,
        version=fields["version"],
        abi=fields["abi"],
        runs=fields["runs"],
    )


def _reported(machine: Machine) -> Found:
    """`look`, for those who cannot go on without. Raises `EngineError`."""
    try:
        return look(machine)
    except Unfit as error:
        raise EngineError(f"machine {machine.name}: {error}") from error


def _why(error: Exception, machine: Machine | None = None) -> str:
    at = f"{machine.address}:{machine.port}" if machine else "it"
    match error:
        case paramiko.BadHostKeyException():
            return "its host key is not the one in known_hosts"
        case paramiko.AuthenticationException():
            user = machine.user if machine else "the user"
            return f"{at} does not let {user} in with {(machine and machine.key) or 'any key'}"
        case ConnectionRefusedError():
            return f"nobody listens at {at}"
        case TimeoutError():
            return f"{at} does not answer"
        case EOFError():
            return f"{at} speaks no SSH"
    return " ".join(str(error).split()) or type(error).__name__


def _check_free(found: Mapping[str, Mapping[str, str] | None]) -> None:
    """Raises `Unfit` where a run that may live has the machine. `found`: as `Found.runs`."""
    for folder, marker in found.items():
        if marker is None or not _dead(marker):
            whose = "another run" if marker is None else f"run {marker['run_id']}"
            remedy = f"wait for it, or if it is gone remove {folder} there"
            raise Unfit(f"{whose} has the machine", remedy)


def _dead(marker: Mapping[str, str]) -> bool:
    """Whether the harness of a run is surely gone: one of another machine cannot be told."""
    try:
        harness = ProcessId.parse(marker["harness"])
    except (KeyError, ValueError):
        return False
    return harness.ours() and not harness.alive()


def _prefix(machine: Machine, *variables: str) -> list[str]:
    return [*(("sudo", "-n", "--") if machine.user != "root" else ()), "env", PATH, *variables]


def _reached(machine: Machine) -> closing[SshHost]:
    """The machine's root, outside of any run. Raises `UNREACHED`."""
    return closing(_bare(machine, _prefix(machine)))


def _bare(machine: Machine, prefix: Sequence[str] = ()) -> SshHost:
    return SshHost(
        machine.name,
        partial(connect, machine.login),
        address=machine.address,
        workdir=machine.workdir,
        python="python3",
        software="",
        prefix=prefix,
    )


def _host(name: str, machine: Machine, run: runs.Run, python: str) -> SshHost:
    folder = _folder(machine, run)
    return SshHost(
        name,
        partial(connect, machine.login),
        address=machine.address,
        workdir=f"{folder}/node",
        python=python,
        software=f"{folder}/software",
        prefix=_prefix(machine, f"{there.VARIABLE}={run.label}"),
    )


def _folder(machine: Machine, run: runs.Run) -> str:
    return str(Path(machine.workdir) / run.label)


def _end(run: runs.Run) -> None:
    """Remove a run from its machines, and from the register once it is gone from all of them."""
    left, wrong = [], []
    machines = _machines_of(run)

    def remove(machine: Machine) -> str | None:
        try:
            _remove(machine, _folder(machine, run), run.label)
        except (*UNREACHED, Unfit) as error:
            return f"machine {machine.name}: {_why(error, machine)}"
        return None

    for machine, problem in zip(machines, _on_all(remove, machines), strict=True):
        if problem is not None:
            left.append(machine)
            wrong.append(problem)
    if wrong:
        replace(run, machines=inventory.as_json(left)).save()
        raise EngineError(f"run {run.run_id} is left on some machines: {'; '.join(wrong)}")
    run.forget()


def _remove(machine: Machine, folder: str, label: str) -> None:
    python = look(machine).python
    with _reached(machine) as host:
        host.run([python, "-c", THERE, "remove", folder, label, FILTER_TABLE])


def _machines_of(run: runs.Run) -> list[Machine]:
    return inventory.from_json(run.machines)


def _lines(run_id: str, machines: Sequence[Machine]) -> list[str]:
    return [f"run {run_id} on machine {machine.name}" for machine in machines]


def _on_all(ask: Callable[[Machine], T], machines: Sequence[Machine]) -> list[T]:
    with ThreadPoolExecutor(max(1, len(machines))) as pool:
        return list(pool.map(ask, machines))
