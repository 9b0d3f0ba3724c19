"""Process 1 of a node's PID namespace: starts and signals the node's processes, reaps orphans.

    python -m framework.hosts.namespaces.agent DIRECTORY NAME WORKDIR

It serves the harness on the Unix socket DIRECTORY/NAME.sock. When it dies, the kernel ends all
processes of the node.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Final

from framework.hosts.namespaces.messages import Directory, Fields, receive, send, send_error
from framework.hosts.processes import status

READY: Final = "ready"
REAPED_S: Final = 5.0
"""Within this time a process is reaped that has ended."""


class Children:
    """Processes of this node that the agent started. Reaps those too that others left to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exits: dict[int, Future[int]] = {}

    def spawn(self, argv: Sequence[str], stdin: int, out: int, err: int) -> tuple[int, Future[int]]:
        """Start a process in a session of its own: its pid, and what will be its exit code."""
        with self._lock:  # the reaper must not see the exit before it is awaited here
            pid = os.posix_spawnp(
                argv[0],
                list(argv),
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_DUP2, out, 1),
                    (os.POSIX_SPAWN_DUP2, err, 2),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE, signal.SIGINT],
            )
            ended: Future[int] = Future()
            self._exits[pid] = ended
        return pid, ended

    def reap_forever(self) -> None:
        """Wait for children, for ever. SIGCHLD must be blocked in all threads."""
        while True:
            signal.sigwait({signal.SIGCHLD})
            while self._reap_one():
                pass

    def _reap_one(self) -> bool:
        with self._lock:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            ended = self._exits.get(pid)
        if ended is not None and not ended.done():
            ended.set_result(os.waitstatus_to_exitcode(code))
        return pid != 0

    def exit_of(self, pid: int) -> Future[int] | None:
        """The exit code of the last one that was started under this pid."""
        return self._exits.get(pid)


class Agent:
    """Answers requests of the harness."""

    def __init__(self, children: Children) -> None:
        self._children = children

    def handle(self, peer: socket.socket) -> None:
        with peer:
            fields, body = receive(peer)
            try:
                answer, out = getattr(self, f"do_{fields['op']}")(fields, body)
            except OSError as error:
                send_error(peer, error)
            else:
                send(peer, answer, out)

    def do_run(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        """Run to the end. Streams are files in memory: no pipe can fill up, and a background
        process that keeps them open delays nothing."""
        streams = [os.memfd_create(name) for name in ("stdin", "out", "err")]
        try:
            os.write(streams[0], body)
            os.lseek(streams[0], 0, os.SEEK_SET)
            pid, ended = self._children.spawn(fields["argv"], *streams)
            try:
                code = ended.result(fields["timeout_s"])
            except TimeoutError:
                os.killpg(pid, signal.SIGKILL)
                return {"timeout": True}, b""
            out, err = (_contents(stream) for stream in streams[1:])
            return {"code": code, "out": len(out)}, out + err
        finally:
            for stream in streams:
                os.close(stream)

    def do_start(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        Path(fields["log"]).parent.mkdir(parents=True, exist_ok=True)
        null = os.open("/dev/null", os.O_RDONLY)
        log = os.open(fields["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            pid, _ = self._children.spawn(fields["argv"], null, log, log)
        finally:
            os.close(null)
            os.close(log)
        return {"pid": pid}, b""

    def do_signal(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        try:
            os.kill(fields["pid"], fields["number"])
        except ProcessLookupError:
            return {"sent": False}, b""
        return {"sent": True}, b""

    def do_alive(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        try:
            return {"alive": status(fields["pid"])[0] not in "ZX"}, b""
        except ProcessLookupError:
            return {"alive": False}, b""

    def do_exit_code(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        """Of one that is gone; the reaper may be a moment behind."""
        ended = self._children.exit_of(fields["pid"])
        gone = ended is not None and not self.do_alive(fields, body)[0]["alive"]
        return {"code": ended.result(REAPED_S) if ended and gone else None}, b""

    def do_write(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        path = Path(fields["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return {}, b""

    def do_read(self, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        return {}, Path(fields["path"]).read_bytes()


def _contents(stream: int) -> bytes:
    os.lseek(stream, 0, os.SEEK_SET)
    with open(stream, "rb", closefd=False) as file:
        return file.read()


def serve(listener: socket.socket, handle: Callable[[socket.socket], None]) -> None:
    """Accept for ever, a thread a connection."""
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=handle, args=(peer,), daemon=True).start()


def without_ipv6() -> None:
    """Leave IPv4 as the only way between nodes, so that a cut by IPv4 address is a whole cut."""
    with suppress(OSError):  # a kernel without IPv6 has nothing to switch off
        Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1\n")


def main(argv: Sequence[str]) -> None:
    directory, name, workdir = argv
    socket.sethostname(name)
    os.chdir(workdir)
    without_ipv6()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    listener = Directory(Path(directory)).listen(name)
    children = Children()
    threading.Thread(
        target=serve, args=(listener, Agent(children).handle), name="requests", daemon=True
    ).start()
    print(READY, flush=True)
    children.reap_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
