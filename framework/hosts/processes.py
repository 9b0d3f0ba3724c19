"""Processes of this machine, named so that a reused pid is never mistaken for an old one."""

import os
import select
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process for good: its pid, and when it started (clock ticks since a named boot)."""

    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.pid}:{self.started}"

    @classmethod
    def parse(cls, text: str) -> "ProcessId":
        """The inverse of `str`. Raises `ValueError`."""
        pid, _, started = text.partition(":")
        return cls(int(pid), started)

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        """The process that has this pid now. Raises `ProcessLookupError`."""
        return cls(pid, _started(pid))

    @classmethod
    def current(cls) -> "ProcessId":
        return cls.of(os.getpid())

    def ours(self) -> bool:
        """Whether it is a process of this machine, since it was booted last."""
        return self.started.endswith(f"@{_boot()}")

    def alive(self) -> bool:
        """Whether this very process still runs. A zombie does not."""
        try:
            return _started(self.pid) == self.started and status(self.pid)[0] not in "ZX"
        except ProcessLookupError:
            return False


def status(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat after the command's name: state, parent, group, session, ...

    Raises `ProcessLookupError`.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ProcessLookupError(f"no process {pid}") from error
    return text.rpartition(")")[2].split()


def children(pid: int) -> list[int]:
    """Pids of the children that the main thread of a process has now."""
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def waited_ns(root: int) -> dict[int, int]:
    """Thread -> how long it has waited for a core since it began, of a process and of all those
    that descend from it. What ends meanwhile may be left out.

    https://www.kernel.org/doc/html/latest/scheduler/sched-stats.html
    """
    found: dict[int, int] = {}
    pids = [root]
    for pid in pids:  # it grows
        for thread in _threads(pid):
            folder = f"/proc/{pid}/task/{thread}"
            try:
                found[int(thread)] = int(_read(f"{folder}/schedstat").split()[1])
                pids += map(int, _read(f"{folder}/children").split())
            except OSError:
                continue
    return found


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - paths cost more than the look
    except OSError:
        return []


def _read(path: str) -> bytes:
    """A small file of the kernel's, at the least cost."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, 65536)
    finally:
        os.close(handle)


def end(processes: Iterable[int], timeout_s: float = 10.0) -> bool:
    """SIGKILL processes and wait until they are gone. False: some are still there."""
    handles = []
    for pid in processes:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        handles.append(handle)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            continue
    deadline = time.monotonic() + timeout_s
    gone = True
    for handle in handles:
        left_ms = max(0.0, deadline - time.monotonic()) * 1000
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        gone = bool(poll.poll(left_ms)) and gone
        os.close(handle)
    return gone


def _started(pid: int) -> str:
    return f"{status(pid)[19]}@{_boot()}"


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
