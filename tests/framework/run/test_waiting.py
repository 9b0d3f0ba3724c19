"""How long each node waited for a core, from the kernel's account of its threads."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import tenacity

from framework.hosts.processes import waited_ns
from framework.run.waiting import MOST, Waits, waiting

MS, S = 10**6, 10**9
BUSY = "while :; do :; done"


def looked(*looks: tuple[float, Mapping[int, int]]) -> list[list[int]]:
    """Spans, of looks at moments in s, each with what threads had waited by then in ms."""
    (at_s, first), *others = [
        (at_s, {thread: ms * MS for thread, ms in now.items()}) for at_s, now in looks
    ]
    waits = Waits(at_s, first)
    for at_s, now in others:
        waits.look(at_s, now)
    waits.taken.end(at_s)
    return waits.taken.spans


def test_the_thread_that_waited_longest_counts() -> None:
    first = {1: 5_000, 2: 0, 3: 900}
    later = {1: 5_100, 2: 150, 3: 900}
    assert looked((1, first), (1.25, later), (1.5, later)) == [[1000, 1250, 150]]


def test_what_is_less_than_a_twentieth_is_nothing() -> None:
    assert looked((0, {1: 0}), (0.25, {1: 12}), (0.5, {1: 25})) == [[250, 500, 13]]


def test_a_thread_that_began_in_between_waited_no_longer_than_that() -> None:
    """Another one may have had its number."""
    assert looked((0, {1: 900}), (0.25, {1: 20, 2: 30}), (0.5, {1: 20, 3: 700})) == [
        [0, 250, 30],
        [250, 500, 250],
    ]


def test_a_wait_that_is_over_began_before_the_last_look() -> None:
    """What other threads waited meanwhile is part of it."""
    spans = looked(
        (0, {1: 0, 2: 0}),
        (0.25, {1: 100, 2: 0}),
        (0.5, {1: 150, 2: 0}),
        (0.75, {1: 250, 2: 0}),
        (1.0, {1: 250, 2: 600}),
    )
    assert spans == [[0, 250, 100], [250, 400, 50], [400, 1000, 600]]


def test_a_wait_from_before_the_run_is_counted_from_its_begin() -> None:
    assert looked((0, {1: 0}), (0.25, {1: 0}), (0.5, {1: 9_000})) == [[0, 500, 500]]


def test_what_ended_waits_no_more() -> None:
    assert looked((0, {1: 0, 2: 0}), (0.25, {2: 0}), (0.5, {})) == []


def test_a_long_run_is_shown_in_longer_spans() -> None:
    count = round(2.2 * MOST)
    spans = looked(*((0.25 * each, {1: 125 * each}) for each in range(count + 1)))
    assert len(spans) <= MOST and (spans[0][0], spans[-1][1]) == (0, 250 * count)
    assert sum(took for _, _, took in spans) == 125 * count


@contextmanager
def running(script: str, core: int) -> Iterator[int]:
    """In this session: of two, each might be given as much, whatever the priorities in them."""
    process = subprocess.Popen(["sh", "-c", script], process_group=0)
    try:
        os.sched_setaffinity(process.pid, {core})
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@tenacity.retry(stop=tenacity.stop_after_delay(60), wait=tenacity.wait_fixed(0.05), reraise=True)
def until_waited(root: int, least_ns: int) -> None:
    assert max(waited_ns(root).values()) >= least_ns


def test_a_process_at_the_lowest_priority_is_seen_to_wait_and_another_is_not() -> None:
    """It shares a core with one that always wants it, and is a child of the node's first."""
    core = min(os.sched_getaffinity(0))
    with (
        running(BUSY, core),
        running(f"nice -n 19 sh -c '{BUSY}' & wait", core) as low,
        running("sleep 1000000", core) as idle,
    ):
        fleet: Any = SimpleNamespace(roots=lambda: {"low": low, "idle": idle})
        with waiting(fleet, 0) as found:
            assert found == {}, "not before it is over"
            before_ns = max(waited_ns(low).values())
            until_waited(low, before_ns + S)
    low_ms, idle_ms = (waited_ms(found[node]) for node in ("low", "idle"))
    assert low_ms >= 500
    assert idle_ms < low_ms / 4


def waited_ms(spans: Any) -> int:
    return sum(took for _, _, took in spans)


@pytest.mark.parametrize("fleet", [SimpleNamespace(), SimpleNamespace(roots=dict)])
def test_of_nodes_on_other_machines_nothing_is_known(fleet: Any) -> None:
    with waiting(fleet, 0) as found:
        pass
    assert found == {}


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    with running("sleep 1000000", min(os.sched_getaffinity(0))) as gone:
        assert waited_ns(gone)
    fleet: Any = SimpleNamespace(roots=lambda: {"n1": gone})
    with waiting(fleet, 0) as found:
        assert waited_ns(gone) == {}
    assert found == {}
