"""Machines behind SSH: containers and the user's own alike."""

import io
import logging
import os
import shlex
import signal
import socket
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import paramiko

from framework.hosts.ssh.unpacking import unpack
from framework.plugins.host import ClockSample, CommandFailed, Completed, Host

CHANNELS: Final = 8
"""sshd likes fewer than ten at a time."""
MISSING: Final = 44
"""Exit code by which `read` says that there is no such file."""
# In the background it is no group's leader, so that setsid need not fork: $! stays its pid. Who
# waits for it lets go of all that the caller reads to its end.
START: Final = """
log=$1 exits=$2; shift 2
command -v "$1" >/dev/null || exit 127
mkdir -p "$(dirname "$log")" "$exits"
{
    setsid "$@" </dev/null >>"$log" 2>&1 3>&- &
    : >"$exits/$!"
    echo $! >&3
    exec 3>&-
    wait $!
    echo $? >"$exits/.$!"
    mv "$exits/.$!" "$exits/$!"
} 3>&1 </dev/null >/dev/null 2>&1 &
"""
# Of a process that is gone, whose end is about to be written down, that is awaited.
EXIT_CODE: Final = """
for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -e "$1" ] && [ ! -s "$1" ] || break
    case "$(sed 's/.*) //' "/proc/$2/stat" 2>/dev/null)" in
        [!ZX]*) break ;;
        *) sleep 0.1 ;;
    esac
done
cat "$1"
"""
BY_SIGNAL: Final = 128
CLOCK_READINGS: Final = 8
CLOCK: Final = "import sys, time\nfor _ in sys.stdin: print(time.monotonic_ns(), flush=True)"

log: Final = logging.getLogger(__name__)
logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # errors reach us as exceptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How to get into a machine."""

    address: str
    port: int = 22
    user: str = "root"
    key: paramiko.PKey | str | None = None
    """A private key, or the file of one. None: the user's agent and the usual files."""
    host_key: paramiko.PKey | None = None
    """What the machine has to prove. None: what known_hosts says of it, if anything."""


class SshHost:
    """A machine behind one SSH connection at a time. See `framework.plugins.host.Host`."""

    def __init__(
        self,
        name: str,
        reach: Callable[[], paramiko.SSHClient],
        *,
        address: str,
        workdir: str,
        python: str,
        software: str,
        prefix: Sequence[str] = (),
    ) -> None:
        """`reach` logs in: now, and again when the connection is lost. `prefix`: words before
        every command, such as `sudo -n --`."""
        self.name = name
        self.address = address
        self.workdir = workdir
        self.python = python
        self.software = software
        self._prefix = prefix
        self._exits = f"{workdir}.exits"
        """Beside what is collected: by pid, how processes ended; empty while they run."""
        self._channels = threading.BoundedSemaphore(CHANNELS)
        self._reach = reach
        self._reaching = threading.Lock()
        self._client = reach()

    def close(self) -> None:
        self._client.close()

    def _session(self, timeout_s: float) -> paramiko.Channel:
        """A session, over a new connection if the old one is lost: nothing was begun on that. One
        that lives, and is slow, has other commands under way: it is left to them."""
        client = self._client
        try:
            return _transport(client).open_session(timeout=timeout_s)
        except (OSError, EOFError, paramiko.SSHException) as error:
            if _lives(client):
                raise
            log.warning("%s: %s; connecting again", self.name, error)
        with self._reaching:
            if self._client is client:
                client.close()
                self._client = self._reach()
            return _transport(self._client).open_session(timeout=timeout_s)

    def clock(self) -> ClockSample:
        """The machine's CLOCK_MONOTONIC, by the quickest of some questions and answers."""
        with self._channels, self._session(10.0) as channel:
            channel.settimeout(10.0)
            channel.exec_command(shlex.join([self.python, "-c", CLOCK]))
            answers = channel.makefile("r")
            best: ClockSample | None = None
            for _ in range(CLOCK_READINGS):
                asked_ns = time.monotonic_ns()
                channel.sendall(b"\n")
                there_ns = int(answers.readline())
                took_ns = time.monotonic_ns() - asked_ns
                here_ns, within_ns = asked_ns + took_ns // 2, took_ns - took_ns // 2
                if best is None or within_ns < best.within_ns:
                    best = ClockSample(
                        at_ns=here_ns, offset_ns=there_ns - here_ns, within_ns=within_ns
                    )
        assert best is not None
        return best

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
        return int(self.run(["sh", "-c", START, "sh", log, self._exits, *argv]).out)

    def signal(self, pid: int, number: signal.Signals) -> None:
        self.run(["kill", f"-{int(number)}", str(pid)], check=False)

    def alive(self, pid: int) -> bool:
        done = self.run(["cat", f"/proc/{pid}/stat"], check=False)
        return done.code == 0 and done.out.rpartition(")")[2].split()[0] not in "ZX"

    def exit_code(self, pid: int) -> int | None:
        """A shell waits for it there, which has more than 128 for a signal."""
        reported = self.run(
            ["sh", "-c", EXIT_CODE, "sh", f"{self._exits}/{pid}", str(pid)], check=False
        )
        code = int(reported.out) if reported.out.strip() else None
        return code if code is None or code <= BY_SIGNAL else BY_SIGNAL - code

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
            unpack(tar, local)

    def _whole(self, command: str) -> str:
        return shlex.join([*self._prefix, "sh", "-c", command]) if self._prefix else command

    def _execute(
        self, command: str, stdin: bytes = b"", timeout_s: float = 30.0
    ) -> tuple[int, bytes, bytes]:
        """Run a shell command to its end: exit code and both streams. Its time begins when it has
        taken all its input, which may be long: of that only a standstill counts."""
        with self._channels, self._session(timeout_s) as channel:
            channel.settimeout(timeout_s)
            try:
                channel.exec_command(self._whole(command))
                channel.sendall(stdin)
                channel.shutdown_write()
                out, err = _drain(channel, time.monotonic() + timeout_s)
            except TimeoutError:
                raise CommandFailed(
                    f"{self.name}: {command}: no end after {timeout_s:g} s"
                ) from None
            return channel.recv_exit_status(), out, err


def _transport(client: paramiko.SSHClient) -> paramiko.Transport:
    transport = client.get_transport()
    if transport is None:
        raise EOFError("the connection is closed")
    return transport


def _lives(client: paramiko.SSHClient) -> bool:
    """Whether the connection does; one that was closed has no transport any more."""
    transport = client.get_transport()
    return transport is not None and transport.is_active()


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


def connect(login: Login, timeout_s: float = 5.0) -> paramiko.SSHClient:
    """An authenticated connection. Raises `OSError`, `EOFError`, `paramiko.SSHException`."""
    client = paramiko.SSHClient()
    given = login.key is not None
    try:
        connection = socket.create_connection((login.address, login.port), timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if login.host_key is not None:
            name = login.address if login.port == 22 else f"[{login.address}]:{login.port}"
            client.get_host_keys().add(name, login.host_key.get_name(), login.host_key)
        else:
            client.load_system_host_keys()
            client.set_missing_host_key_policy(Acceptance())
        client.connect(
            login.address,
            port=login.port,
            username=login.user,
            pkey=login.key if isinstance(login.key, paramiko.PKey) else None,
            key_filename=login.key if isinstance(login.key, str) else None,
            allow_agent=not given,
            look_for_keys=not given,
            sock=connection,
            timeout=timeout_s,
            banner_timeout=timeout_s,
            auth_timeout=timeout_s,
        )
    except BaseException:
        client.close()
        raise
    return client


class Acceptance(paramiko.MissingHostKeyPolicy):
    """A machine that known_hosts does not mention is believed, and not remembered."""

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        return


class SshFleet:
    """Machines that this one reaches. See `framework.plugins.host.Fleet`."""

    def __init__(self, kind: str, hosts: Mapping[str, SshHost]) -> None:
        self.kind = kind
        self.hosts: Mapping[str, Host] = hosts
        self._machines = hosts

    def connect(self, address: str, port: int, timeout_s: float) -> socket.socket:
        return socket.create_connection((address, port), timeout_s)

    def clocks(self) -> Mapping[str, ClockSample | None]:
        def ask(host: SshHost) -> ClockSample | None:
            try:
                return host.clock()
            except (OSError, EOFError, ValueError, paramiko.SSHException):
                return None

        with ThreadPoolExecutor(len(self._machines)) as pool:
            asked = zip(self._machines, pool.map(ask, self._machines.values()), strict=True)
            return {name: sample for name, sample in asked if sample is not None}

    def run_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """On this machine, which reaches them all."""
        return subprocess.run(list(argv), env={**os.environ, **env}).returncode
