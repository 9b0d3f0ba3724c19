"""How long this process could have run and did not, as the machine had no core for it.

From the kernel's account of each thread (`/proc/PID/task/TID/schedstat`, whose second number is
the time spent on a run queue, ns; Documentation/scheduler/sched-stats.rst).
"""

import os
from collections.abc import Mapping
from typing import Final

_TASKS: Final = "/proc/self/task"


def run_delays() -> Mapping[str, int]:
    """Thread -> ns since it began, of those that live; none where the kernel does not say."""
    try:
        with os.scandir(_TASKS) as tasks:
            return {each.name: _of(each.name) for each in tasks}
    except OSError:
        return {}


def delay_ns(before: Mapping[str, int], now: Mapping[str, int]) -> int:
    """How much of it came between two looks. What a thread waited that ended meanwhile is not
    known; what it had waited before is not taken from the others'."""
    return sum(max(0, ns - before.get(task, 0)) for task, ns in now.items())


def _of(task: str) -> int:
    # Without a file object: loops ask ten times a second, and this is a quarter of the cost.
    try:
        account = os.open(f"{_TASKS}/{task}/schedstat", os.O_RDONLY)
    except OSError:  # it ended meanwhile, or the kernel keeps no such account
        return 0
    try:
        fields = os.read(account, 64).split()
    except OSError:
        return 0
    finally:
        os.close(account)
    return int(fields[1]) if len(fields) > 1 else 0
