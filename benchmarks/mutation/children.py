"""Tasks in forked children: what was imported is there, and what they change is gone after."""

import os
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import Final

MEMORY_BYTES: Final = 3 << 30
"""That a child may take beside what it was born with: a loop that never ends may fill a list."""


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` of exit; a signal's is negative."""

    code: int
    cpu_s: float

    @property
    def ran_out(self) -> bool:
        return self.code == -signal.SIGPROF


def each_in_a_child(
    tasks: Sequence[Callable[[], int]], jobs: int, limit_s: float | None = None
) -> Iterator[tuple[int, Ended]]:
    """(place in `tasks`, how it ended) as they end, `jobs` at a time. A task returns its exit code;
    what it raises is 1. `limit_s`: of processor time, as the machine may be busy."""
    running: dict[int, tuple[int, int]] = {}
    """By a descriptor of the child: its id, and the task's place."""
    waiting = iter(range(len(tasks)))
    while True:
        while len(running) < jobs and (place := next(waiting, None)) is not None:
            pid = _forked(tasks[place], limit_s)
            running[os.pidfd_open(pid)] = pid, place
        if not running:
            return
        for ended in select(list(running), [], [])[0]:
            pid, place = running.pop(ended)
            os.close(ended)
            _, status, used = os.wait4(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            yield place, Ended(code, used.ru_utime + used.ru_stime)


def _forked(task: Callable[[], int], limit_s: float | None) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        if limit_s is not None:
            _limit(limit_s)
        code = task()
    finally:
        os._exit(code)
    raise AssertionError


def _limit(seconds: float) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
