"""Hosts that are sets of namespaces, as the harness sees them."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framework.hosts.namespaces.hub import NAME as HUB
from framework.hosts.namespaces.messages import Directory, Fields, raise_error, receive, send
from framework.plugins.host import ClockSample, CommandFailed, Completed, Host

CREDENTIALS: Final = struct.Struct("iII")
"""Of the other end of a socket: pid, user, group."""
ANSWER_TIMEOUT_S: Final = 30.0
"""How much longer than its work an answer may take."""


@dataclass(slots=True, kw_only=True)
class NamespaceHost:
    """One node's namespaces, through the agent in them. See `framework.plugins.host.Host`."""

    name: str
    address: str
    workdir: str
    sockets: Directory
    python: str = sys.executable
    software: str = ""

    def run(
        self, argv: Sequence[str], *, check: bool = True, timeout_s: float = 30.0, stdin: str = ""
    ) -> Completed:
        command = " ".join(argv)
        try:
            answer, body = self._ask(
                {"op": "run", "argv": list(argv), "timeout_s": timeout_s},
                stdin.encode(),
                timeout_s=timeout_s + ANSWER_TIMEOUT_S,
            )
        except FileNotFoundError as error:
            answer, body = {"code": 127, "out": 0}, f"{argv[0]}: {error.strerror}".encode()
        if "timeout" in answer:
            raise CommandFailed(f"{self.name}: {command}: no end after {timeout_s:g} s")
        out, err = body[: answer["out"]], body[answer["out"] :]
        done = Completed(answer["code"], out.decode(errors="replace"), err.decode(errors="replace"))
        if check and done.code != 0:
            raise CommandFailed(
                f"{self.name}: {command}: exit code {done.code}: {done.err.strip()}"
            )
        return done

    def start(self, argv: Sequence[str], *, log: str) -> int:
        try:
            answer, _ = self._ask({"op": "start", "argv": list(argv), "log": log})
        except OSError as error:
            raise CommandFailed(f"{self.name}: {argv[0]}: {error.strerror}") from error
        return int(answer["pid"])

    def signal(self, pid: int, number: signal.Signals) -> None:
        self._ask({"op": "signal", "pid": pid, "number": int(number)})

    def alive(self, pid: int) -> bool:
        return bool(self._ask({"op": "alive", "pid": pid})[0]["alive"])

    def exit_code(self, pid: int) -> int | None:
        code = self._ask({"op": "exit_code", "pid": pid})[0]["code"]
        return None if code is None else int(code)

    def write(self, path: str, data: bytes) -> None:
        self._ask({"op": "write", "path": path}, data)

    def read(self, path: str) -> bytes:
        return self._ask({"op": "read", "path": path})[1]

    def fetch(self, remote: str, local: Path) -> None:
        local.mkdir(parents=True, exist_ok=True)
        copied: dict[tuple[int, int], str] = {}

        def copy(source: str, target: str) -> str:
            """The node may still write: what vanishes while it is copied is not missed. What is
            one file there is one here."""
            try:
                found = Path(source).stat()
                known = copied.get((found.st_dev, found.st_ino))
                if known is None or Path(target).exists():
                    shutil.copy2(source, target)
                else:
                    os.link(known, target)
            except FileNotFoundError:
                return target
            if found.st_nlink > 1:
                copied[found.st_dev, found.st_ino] = target
            return target

        shutil.copytree(remote, local, dirs_exist_ok=True, copy_function=copy)

    def _ask(
        self, fields: Fields, body: bytes = b"", timeout_s: float = ANSWER_TIMEOUT_S
    ) -> tuple[Fields, bytes]:
        with self.sockets.connect(self.name, timeout_s) as peer:
            send(peer, fields, body)
            answer, data = receive(peer)
        raise_error(answer)
        return answer, data


@dataclass(slots=True, kw_only=True)
class NamespaceFleet:
    """All nodes of a run. See `framework.plugins.host.Fleet`."""

    hosts: Mapping[str, Host]
    sockets: Directory
    enter: Sequence[str]
    """The command that enters the network of the run."""
    kind: str = "namespaces"

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        fields = {"address": address, "port": port, "timeout_s": timeout_s}
        with self.sockets.connect(HUB, timeout_s + ANSWER_TIMEOUT_S) as peer:
            send(peer, fields)
            answer, _ = receive(peer)
            raise_error(answer)
            _, (handle,), _, _ = socket.recv_fds(peer, 1, 1)
        os.set_inheritable(handle, False)
        connection = socket.socket(fileno=handle)
        connection.settimeout(timeout_s)
        return connection

    def clocks(self) -> Mapping[str, ClockSample | None]:
        return dict.fromkeys(self.hosts)

    def roots(self) -> Mapping[str, int]:
        """The agents."""
        return {name: self._agent(name) for name in self.hosts}

    def _agent(self, name: str) -> int:
        """Who listens there: the kernel says it in terms of whoever asks (SO_PEERCRED)."""
        with self.sockets.connect(name, ANSWER_TIMEOUT_S) as peer:
            found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        pid, _, _ = CREDENTIALS.unpack(found)
        return int(pid)

    def run_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        return subprocess.run([*self.enter, *argv], env={**os.environ, **env}).returncode
