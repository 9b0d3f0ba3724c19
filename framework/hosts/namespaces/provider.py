"""Nodes in network, PID and mount namespaces of their own, on a private bridge.

An ordinary user can make them where the kernel allows user namespaces; root needs none. One
process, the hub, is process 1 of a PID namespace around the whole run: when it dies, nothing of
the run is left. See docs/operating.md.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from framework.errors import EngineError
from framework.hosts import runs
from framework.hosts.namespaces.agent import READY
from framework.hosts.namespaces.host import NamespaceFleet, NamespaceHost
from framework.hosts.namespaces.messages import Directory
from framework.hosts.namespaces.network import addresses
from framework.hosts.processes import ProcessId, children, end
from framework.plugins.host import FILTER_TABLE, Ability, Fleet, Image

KIND: Final = "namespaces"
ISOLATE_RUN: Final = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
AS_ROOT: Final = ("--user", "--map-root-user")
TRIAL: Final = (
    "ip link add kp0 type bridge && ip link add kp1 type veth peer name kp2 "
    "&& ip link set kp1 master kp0 && unshare --net --pid --fork --mount-proc true"
)
ROOT_OF_PROJECT: Final = Path(__file__).parents[3]


class NamespacesProvider:
    """Entry point `namespaces` of `framework.hosts`."""

    name = KIND

    def abilities(self) -> Sequence[Ability]:
        tools = [_tool("unshare", "util-linux"), _tool("ip", "iproute2"), _tool("nft", "nftables")]
        if not all(tool.works for tool in tools):
            return tools
        flags, complaint = _isolation()
        how = "with user namespaces, without root" if flags else "as root"
        isolation = Ability(
            "namespaces",
            flags is not None,
            how if flags is not None else complaint,
            "run as root, or: sudo sysctl -w kernel.unprivileged_userns_clone=1 "
            "kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=10000; "
            "sudo modprobe -a bridge veth nf_tables",
        )
        if flags is None:
            return [*tools, isolation]
        return [*tools, isolation, _packet_filter(flags)]

    def carries(self, image: Image, nodes: int) -> Sequence[Ability]:
        packages = " ".join(image.packages) or "what has it"
        return [_tool(command, packages) for command in image.commands]

    def lacking(self, commands: Sequence[str]) -> Mapping[str, Sequence[str]]:
        missing = [name for name in commands if shutil.which(name, path=_search_path()) is None]
        return {"this machine": missing} if missing else {}

    @contextmanager
    def fleet(
        self, run_id: str, names: Sequence[str], scratch: Path, image: Image
    ) -> Iterator[Fleet]:
        flags, complaint = _isolation()
        if flags is None:
            raise EngineError(f"no namespaces can be made here: {complaint}")
        scratch = scratch.absolute()
        nodes = {
            name: {"address": address, "workdir": str(scratch / "nodes" / name)}
            for name, address in addresses(names).items()
        }
        for node in nodes.values():
            Path(node["workdir"]).mkdir(parents=True)
        run = runs.Run(run_id=run_id, kind=KIND, harness=ProcessId.current(), scratch=str(scratch))
        with runs.registered(run), _hub(run, flags, nodes) as keeper:
            sockets = Directory(scratch)
            try:
                yield NamespaceFleet(
                    hosts={
                        name: NamespaceHost(name=name, sockets=sockets, **node)
                        for name, node in nodes.items()
                    },
                    sockets=sockets,
                    enter=_enter(keeper, flags),
                )
            finally:
                sockets.close()

    def leftovers(self) -> Sequence[str]:
        return [_describe(run) for run in runs.orphans(KIND)]

    def clean(self) -> Sequence[str]:
        removed = []
        for run in runs.orphans(KIND):
            if run.keeper is not None and run.keeper.alive():
                _end(run.keeper.pid)
            shutil.rmtree(run.scratch, ignore_errors=True)
            run.forget()
            removed.append(_describe(run))
        return removed


@contextmanager
def _hub(run: runs.Run, flags: Sequence[str], nodes: dict[str, dict[str, str]]) -> Iterator[int]:
    """Start the hub and wait until it serves; the pid of its keeper. All is gone on exit."""
    path = os.pathsep.join(filter(None, [str(ROOT_OF_PROJECT), os.environ.get("PYTHONPATH")]))
    errors = Path(run.scratch) / "hub.log"
    with errors.open("wb") as log:
        keeper = subprocess.Popen(
            ["unshare", *flags, *ISOLATE_RUN, sys.executable, "-m", f"{__package__}.hub"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=run.scratch,
            env={**os.environ, "PYTHONPATH": path, "PATH": _search_path()},
            start_new_session=True,
        )
    try:
        # Until the plan is written the hub makes nothing, and ends when this process dies.
        replace(run, keeper=ProcessId.of(keeper.pid)).save()
        assert keeper.stdin is not None and keeper.stdout is not None
        with keeper.stdin, keeper.stdout:
            keeper.stdin.write(json.dumps({"directory": run.scratch, "nodes": nodes}).encode())
            keeper.stdin.close()
            if keeper.stdout.readline().decode().strip() != READY:
                last = errors.read_text().strip().splitlines() or ["no reason given"]
                raise EngineError(f"the namespaces of the run could not be made: {last[-1]}")
        yield keeper.pid
    finally:
        _end(keeper.pid)
        keeper.wait()


def _end(keeper: int) -> None:
    """End the hub, and with it every process of the run; wait until they are gone."""
    end([*children(keeper), keeper])


def _enter(keeper: int, flags: Sequence[str]) -> list[str]:
    users = ["--user", "--preserve-credentials"] if flags else []
    return ["nsenter", "--target", str(keeper), *users, "--net"]


def _describe(run: runs.Run) -> str:
    return f"namespaces and processes of run {run.run_id}"


def _search_path() -> str:
    """An ordinary user's PATH often lacks the directories that `ip` and `nft` are in."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _tool(name: str, package: str) -> Ability:
    path = shutil.which(name, path=_search_path())
    return Ability(name, path is not None, path or "not found", f"apt-get install {package}")


@cache
def _isolation() -> tuple[Sequence[str] | None, str]:
    """How `unshare` has to be told to isolate here: flags before the usual ones, or None and
    why not. Found by trying, in namespaces that last for some milliseconds."""
    complaint = ""
    ways: list[Sequence[str]] = [(), AS_ROOT] if os.getuid() == 0 else [AS_ROOT]
    for flags in ways:
        code, complaint = _try(flags, TRIAL)
        if code == 0:
            return flags, ""
    return None, complaint


def _packet_filter(flags: Sequence[str]) -> Ability:
    code, complaint = _try(flags, f"nft add table inet {FILTER_TABLE}")
    return Ability(
        "packet filter in a namespace",
        code == 0,
        complaint if code else "nft works",
        "a kernel with nf_tables: sudo modprobe nf_tables",
    )


def _try(flags: Sequence[str], script: str) -> tuple[int, str]:
    try:
        done = subprocess.run(
            ["unshare", *flags, *ISOLATE_RUN, "sh", "-ec", script],
            env={**os.environ, "PATH": _search_path()},
            capture_output=True,
            text=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    last = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return done.returncode, last[-1]
