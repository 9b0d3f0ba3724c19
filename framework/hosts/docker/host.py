"""Containers as hosts: everything on a node goes over SSH, its life over the engine."""

import io
import os
import shlex
import signal
import socket
import subprocess
import tarfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import paramiko
import tenacity

from framework.plugins.host import CommandFailed, Completed, Host

WORKDIR: Final = "/var/lib/kraft"
PYTHON: Final = "/opt/kraft/python"
CHANNELS: Final = 8
"""sshd and the engine both like fewer than ten at a time."""
MISSING: Final = 44
"""Exit code by which `read` says that there is no such file."""


class SshHost:
    """One container behind one SSH connection. See `framework.plugins.host.Host`."""

    def __init__(
        self, name: str, address: str, *, key: paramiko.PKey, host_key: paramiko.PKey
    ) -> None:
        self.name = name
        self.address = address
        self.workdir = WORKDIR
        self.python = PYTHON
        self._channels = threading.BoundedSemaphore(CHANNELS)
        self._transport = _connect(address, key, host_key)

    def close(self) -> None:
        self._transport.close()

    def run(
        self, argv: Sequence[str], *, check: bool = True, timeout_s: float = 30.0, stdin: str = ""
    ) -> Completed:
        code, out, err = self._execute(shlex.join(argv), stdin.encode(), timeout_s)
        done = Completed(code, out.decode(errors="replace"), err.decode(errors="replace"))
        if check and code != 0:
            raise CommandFailed(
                f"{self.name}: {shlex.join(argv)}: exit code {code}: {done.err.strip()}"
            )
        return done

    def start(self, argv: Sequence[str], *, log: str) -> int:
        # `sh` runs it in the background, where it is no group's leader, so that setsid need not
        # fork: $! stays the process's pid.
        script = 'mkdir -p "$(dirname "$1")"; log=$1; shift; command -v "$1" >/dev/null || exit 127'
        script += '; setsid "$@" </dev/null >>"$log" 2>&1 & echo $!'
        return int(self.run(["sh", "-c", script, "sh", log, *argv]).out)

    def signal(self, pid: int, number: signal.Signals) -> None:
        self.run(["kill", f"-{int(number)}", str(pid)], check=False)

    def alive(self, pid: int) -> bool:
        done = self.run(["cat", f"/proc/{pid}/stat"], check=False)
        return done.code == 0 and done.out.rpartition(")")[2].split()[0] not in "ZX"

    def write(self, path: str, data: bytes) -> None:
        script = 'mkdir -p "$(dirname "$1")" && cat >"$1"'
        code, _, err = self._execute(shlex.join(["sh", "-c", script, "sh", path]), data)
        if code != 0:
            raise CommandFailed(f"{self.name}: {path} cannot be written: {err.decode().strip()}")

    def read(self, path: str) -> bytes:
        script = f'test -e "$1" || exit {MISSING}; exec cat -- "$1"'
        code, out, err = self._execute(shlex.join(["sh", "-c", script, "sh", path]))
        if code == MISSING:
            raise FileNotFoundError(f"{self.name}: no file {path}")
        if code != 0:
            raise CommandFailed(f"{self.name}: {path} cannot be read: {err.decode().strip()}")
        return out

    def fetch(self, remote: str, local: Path) -> None:
        code, packed, err = self._execute(shlex.join(["tar", "-C", remote, "-cf", "-", "."]))
        if code not in (0, 1):  # 1: a file changed while it was read
            raise CommandFailed(f"{self.name}: {remote} cannot be fetched: {err.decode().strip()}")
        local.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tar.extractall(local, filter="data")

    def _execute(
        self, command: str, stdin: bytes = b"", timeout_s: float = 30.0
    ) -> tuple[int, bytes, bytes]:
        """Run a shell command to its end: exit code and both streams."""
        deadline = time.monotonic() + timeout_s
        with self._channels:
            channel = self._transport.open_session(timeout=timeout_s)
            with channel:
                channel.settimeout(timeout_s)
                try:
                    channel.exec_command(command)
                    channel.sendall(stdin)
                    channel.shutdown_write()
                    out, err = _drain(channel, deadline)
                except TimeoutError:
                    raise CommandFailed(
                        f"{self.name}: {command}: no end after {timeout_s:g} s"
                    ) from None
                return channel.recv_exit_status(), out, err


def _drain(channel: paramiko.Channel, deadline: float) -> tuple[bytes, bytes]:
    """Read both streams to their ends. Raises `TimeoutError` past the deadline."""
    err = bytearray()

    def read_errors() -> None:
        try:
            while piece := channel.recv_stderr(1 << 16):
                err.extend(piece)
        except TimeoutError:
            return

    reader = threading.Thread(target=read_errors, daemon=True)
    reader.start()
    out = bytearray()
    while piece := channel.recv(1 << 16):
        out += piece
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        channel.settimeout(left_s)
    reader.join(max(0.0, deadline - time.monotonic()))
    if reader.is_alive() or not channel.status_event.wait(max(0.0, deadline - time.monotonic())):
        raise TimeoutError
    return bytes(out), bytes(err)


@tenacity.retry(
    retry=tenacity.retry_if_exception_type((OSError, EOFError, paramiko.SSHException)),
    stop=tenacity.stop_after_delay(20.0),
    wait=tenacity.wait_fixed(0.05),
    reraise=True,
)
def _connect(address: str, key: paramiko.PKey, host_key: paramiko.PKey) -> paramiko.Transport:
    """One authenticated connection, once sshd listens. The host has to prove its run's key."""
    connection = socket.create_connection((address, 22), 2.0)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport = paramiko.Transport(connection)
    try:
        transport.connect(hostkey=host_key, username="root", pkey=key)
    except BaseException:
        transport.close()
        raise
    return transport


class DockerFleet:
    """All containers of a run. See `framework.plugins.host.Fleet`."""

    kind = "docker"

    def __init__(self, hosts: Mapping[str, Host]) -> None:
        self.hosts = hosts

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        return socket.create_connection((address, port), timeout_s)

    def run_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """On this machine: the run's bridge is reachable from it, and from nowhere else."""
        return subprocess.run(list(argv), env={**os.environ, **env}).returncode
