"""How busy the harness's machine was while a run went on, measured from outside of every node.

A thread wakes at short intervals, and notes how late it is and how many processes want the cores.
Of the time in which six processes want two cores, each of them is given a third.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framework.history.event import Json

TICK_S: Final = 0.05
SPAN_MS: Final = 250
"""Ticks are reported together, so many ms at least."""
MOST: Final = 4_000
"""Spans of a run; of one that has more they are twice as long."""
LEAST: Final = 0.05
"""What is less than this share of a span's time is nothing."""
FROZEN_S: Final = 0.5
"""A tick that is later than this found the whole machine standing still, or a harness that had no
core for so long; which of the two, nobody can tell."""
STAT: Final = Path("/proc/stat")
PRESSURE: Final = Path("/proc/pressure")
"""Files of it say how long somebody waited for something."""
WAITED_FOR: Final = {"disk": "io", "memory": "memory"}
"""In plan.json -> in PRESSURE."""
_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Load:
    """At a moment, of the whole machine: cores, the processes that want one, and the time (s, of
    all cores) that a hypervisor has given to other machines so far."""

    cores: int
    wanting: int
    stolen_s: float = 0.0

    @classmethod
    def of(cls, stat: str) -> "Load":
        """From /proc/stat, read by a process that runs then, and is not counted.

        https://www.kernel.org/doc/html/latest/filesystems/proc.html
        """
        cores, running, stolen = 0, 1, 0.0
        for line in stat.splitlines():
            name, *numbers = line.split()
            if name == "cpu":
                stolen = int(numbers[7]) / _PER_S if len(numbers) > 7 else 0.0
            elif name.startswith("cpu"):
                cores += 1
            elif name == "procs_running":
                running = int(numbers[0])
        return cls(max(cores, 1), running - 1, stolen)


@dataclass(slots=True)
class Taken:
    """Spans of [from_ms, to_ms, took_ms] since the run began, of ticks that came one by one."""

    spans: list[list[int]] = field(default_factory=list)
    span_ms: int = SPAN_MS
    most: int = MOST
    _begin_s: float = 0.0
    _took_s: float = 0.0

    def begin(self, at_s: float) -> None:
        self._begin_s = at_s

    def tick(self, before_s: float, at_s: float, before: Load, now: Load) -> None:
        """Between two ticks the machine took what it was late, or the share of the time that went
        to others."""
        lasted_s = at_s - before_s
        left = now.cores - (now.stolen_s - before.stolen_s) / lasted_s
        share = 1 - max(0.0, left) / max(now.wanting, left, 1)
        self.took(min(lasted_s, max(lasted_s - TICK_S, share * lasted_s, 0.0)), at_s)

    def took(self, took_s: float, at_s: float) -> None:
        """So much more was taken by now."""
        self._took_s += took_s
        if (at_s - self._begin_s) * 1000 >= self.span_ms:
            self.end(at_s)

    def back_to(self, at_s: float) -> None:
        """What is told next began at that moment: spans since then are told anew."""
        if at_s >= self._begin_s:
            return
        at = round(at_s * 1000)
        while self.spans and self.spans[-1][0] >= at:
            self.spans.pop()
        if self.spans and self.spans[-1][1] > at:
            begin, _, took = self.spans.pop()
            self.spans.append([begin, at, min(took, at - begin)])
        self.begin(at_s)
        self._took_s = 0.0

    def end(self, at_s: float) -> None:
        """The span that is under way ends here."""
        begin, end = round(self._begin_s * 1000), round(at_s * 1000)
        took = min(round(self._took_s * 1000), end - begin)
        if took > LEAST * (end - begin):
            self.spans.append([begin, end, took])
        self._begin_s, self._took_s = at_s, 0.0
        if len(self.spans) > self.most:
            self.span_ms *= 2
            pairs = zip(self.spans[::2], self.spans[1::2], strict=False)
            joined = [[one[0], other[1], one[2] + other[2]] for one, other in pairs]
            self.spans = joined + self.spans[2 * len(joined) :]


def lost_s(lasted_s: float, before: Load, now: Load) -> float:
    """How much of the time between two ticks no process of the machine had: what a hypervisor gave
    to others, or all that a tick is late by, where that is long."""
    late_s = lasted_s - TICK_S
    stolen_s = (now.stolen_s - before.stolen_s) / now.cores
    return min(lasted_s, max(stolen_s, late_s if late_s > FROZEN_S else 0.0))


def waits_s(pressure: str) -> float:
    """For how long so far some process of the machine waited, from a file of /proc/pressure; 0
    where that says nothing.

    https://www.kernel.org/doc/html/latest/accounting/psi.html
    """
    for line in pressure.splitlines():
        name, *fields = line.split()
        if name == "some":
            return sum(int(each[6:]) for each in fields if each.startswith("total=")) / 1e6
    return 0.0


def _waits_s(what: str) -> float:
    try:
        return waits_s((PRESSURE / what).read_text())
    except OSError:  # kernels may have it switched off
        return 0.0


def _waited_s() -> dict[str, float]:
    return {name: _waits_s(what) for name, what in WAITED_FOR.items()}


@contextmanager
def watched(zero_ns: int) -> Iterator[dict[str, Json]]:
    """`machine` of plan.json, filled when the body has ended; empty where it cannot be measured.

    {"cores": 2, "took": [[from_ms, to_ms, took_ms], ...], "lost": [...], "disk": [...], "memory":
    [...]}: since the run began, by the harness's clock, how much of that time a process could not
    have had a core, where that is worth a line; how much of it none had at all; and for how much of
    it some process waited for a disk, or for memory that the kernel had to find.
    """
    found: dict[str, Json] = {}
    try:
        before = Load.of(STAT.read_text())
    except (OSError, ValueError):
        yield found
        return

    def clock_s() -> float:
        return (time.monotonic_ns() - zero_ns) / 1e9

    every = {name: Taken() for name in ("took", "lost", *WAITED_FOR)}
    over = threading.Event()

    def watch() -> None:
        at_s, last, waited = clock_s(), before, _waited_s()
        for each in every.values():
            each.begin(at_s)
        while not over.wait(TICK_S):
            now_s, now = clock_s(), Load.of(STAT.read_text())
            every["took"].tick(at_s, now_s, last, now)
            every["lost"].took(lost_s(now_s - at_s, last, now), now_s)
            waits = _waited_s()
            for name, so_far_s in waits.items():
                every[name].took(so_far_s - waited[name], now_s)
            at_s, last, waited = now_s, now, waits
        for each in every.values():
            each.end(at_s)

    watcher = threading.Thread(target=watch, name="machine", daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
        spans: dict[str, Json] = {
            name: [list(each) for each in of.spans] for name, of in every.items()
        }
        found.update({"cores": before.cores, **spans})
