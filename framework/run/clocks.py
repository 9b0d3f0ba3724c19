"""The clocks of a run's nodes, measured before it, every few seconds of it, and after it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from framework.history.event import Json
from framework.plugins.host import Fleet

EVERY_S: Final = 5.0


@contextmanager
def measured(fleet: Fleet, zero_ns: int) -> Iterator[dict[str, Json]]:
    """Node -> its clock, as plan.json has it (`clocks`), filled while the body goes on.

    {"shared": true}: it is the harness's own. Else {"samples": [{"at_ns": since the run began, by
    the harness, "offset_ns": the node's CLOCK_MONOTONIC less the harness's, "within_ns": by how
    much that may be wrong}, ...]}.
    """
    found: dict[str, Json] = {}
    samples: dict[str, list[Json]] = {}

    def sample() -> None:
        for node, clock in fleet.clocks().items():
            if clock is None:
                found[node] = {"shared": True}
                continue
            taken = {
                "at_ns": clock.at_ns - zero_ns,
                "offset_ns": clock.offset_ns,
                "within_ns": clock.within_ns,
            }
            samples.setdefault(node, []).append(taken)
            found[node] = {"samples": samples[node]}

    sample()
    if found and not samples:
        yield found
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_S):
            sample()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
        sample()
