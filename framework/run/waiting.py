"""How long each node's processes waited for a core while a run went on, by the kernel's account.

A node whose processes have a quota, fewer shares or a lower priority than others may starve on a
machine that has time for everybody else; `framework.run.machine` cannot see that.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from framework.history.event import Json
from framework.hosts.processes import waited_ns
from framework.plugins.host import Fleet, OnThisMachine
from framework.run.machine import Taken

EVERY_S: Final = 0.25
SPARING: Final = 250
"""So many times as long as a look at all nodes took processor time, nobody looks again."""
MOST: Final = 1_000
"""Spans of a node; of one that has more they are twice as long."""


@dataclass(slots=True)
class Waits:
    """What a node waited, from looks at its threads that come one by one: as long as that thread
    did that waited longest. Time in which several wait counts once."""

    at_s: float
    before: Mapping[int, int]
    """Thread -> how long it has waited since it began, ns."""
    taken: Taken = field(default_factory=lambda: Taken(most=MOST))

    def __post_init__(self) -> None:
        self.taken.begin(self.at_s)

    def look(self, at_s: float, now: Mapping[int, int]) -> None:
        """The kernel adds a wait when it is over; one that took longer than since the last look
        began before that."""
        new_ns = round((at_s - self.at_s) * 1e9)
        longest_ns = 0
        for thread, waited in now.items():
            known = self.before.get(thread)
            if known is None or waited < known:  # one that began since then
                longest_ns = max(longest_ns, min(waited, new_ns))
            else:
                longest_ns = max(longest_ns, waited - known)
        if longest_ns > new_ns:
            self.taken.back_to(max(0.0, at_s - longest_ns / 1e9))
        self.taken.took(longest_ns / 1e9, at_s)
        self.at_s, self.before = at_s, now


@contextmanager
def waiting(fleet: Fleet, zero_ns: int) -> Iterator[dict[str, Json]]:
    """`machine.nodes` of plan.json, filled when the body has ended: node -> [[from_ms, to_ms,
    waited_ms], ...] since the run began, by the harness's clock, where that is worth a line. Nodes
    of which the harness cannot know it are left out: all on other machines."""

    def clock_s() -> float:
        return (time.monotonic_ns() - zero_ns) / 1e9

    found: dict[str, Json] = {}
    roots = fleet.roots() if isinstance(fleet, OnThisMachine) else {}
    first = {node: Waits(clock_s(), waited_ns(root)) for node, root in roots.items()}
    nodes = {node: waits for node, waits in first.items() if waits.before}
    if not nodes:
        yield found
        return
    over = threading.Event()

    def watch() -> None:
        cost_s = 0.0
        while not over.wait(max(EVERY_S, SPARING * cost_s)):
            began_s = time.thread_time()
            for node, waits in nodes.items():
                waits.look(clock_s(), waited_ns(roots[node]))
            cost_s = time.thread_time() - began_s

    watcher = threading.Thread(target=watch, name="waiting", daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
        for node, waits in nodes.items():
            waits.look(clock_s(), waited_ns(roots[node]))
            waits.taken.end(clock_s())
            found[node] = [list(each) for each in waits.taken.spans]
