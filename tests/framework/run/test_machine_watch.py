"""How busy a machine was, from what /proc/stat says at each tick."""

import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from framework.run import machine
from framework.run.machine import MOST, SPAN_MS, TICK_S, Load, Taken, lost_s, waits_s, watched

STAT = """cpu  10 0 20 700 0 0 0 {stolen} 0 0
cpu0 5 0 10 350 0 0 0 0 0 0
cpu1 5 0 10 350 0 0 0 0 0 0
intr 17 0 0
ctxt 99
procs_running {running}
procs_blocked 0
"""


def test_what_the_kernel_says() -> None:
    load = Load.of(STAT.format(stolen=250, running=4))
    assert load == Load(cores=2, wanting=3, stolen_s=250 / machine._PER_S)
    assert Load.of("") == Load(cores=1, wanting=0)


def ticked(loads: list[Load], every_s: float = TICK_S) -> list[list[int]]:
    taken = Taken()
    taken.begin(0)
    for number, (before, now) in enumerate(pairwise(loads)):
        taken.tick(number * every_s, (number + 1) * every_s, before, now)
    taken.end((len(loads) - 1) * every_s)
    return taken.spans


@pytest.mark.parametrize(
    ("wanting", "took_ms"), [(0, None), (1, None), (2, None), (3, 333), (4, 500), (8, 750)]
)
def test_of_two_cores_each_who_wants_one_has_a_share(wanting: int, took_ms: int | None) -> None:
    spans = ticked([Load(2, wanting)] * 21)
    assert [begin for begin, _, _ in spans] == ([0, 250, 500, 750] if took_ms else [])
    if took_ms:
        assert abs(sum(took for _, _, took in spans) - took_ms) <= 4


def test_a_machine_that_stood_still_took_all_of_that_time() -> None:
    assert ticked([Load(2, 0)] * 2, every_s=5.0) == [[0, 5000, 4950]]


def test_what_a_hypervisor_takes() -> None:
    """A core and a half of two, then all of both: who wants one alone has half of it, and none."""
    half = [Load(2, 1, stolen_s=number * 1.5 * TICK_S) for number in range(6)]
    assert ticked(half) == [[0, 250, 125]]
    whole = [Load(2, 0, stolen_s=number * 2 * TICK_S) for number in range(6)]
    assert ticked(whole) == [[0, 250, 250]]


@pytest.mark.parametrize(
    ("lasted_s", "stolen_s", "found"),
    [
        (TICK_S, 0.0, 0.0),
        (TICK_S, TICK_S, TICK_S / 2),
        (0.5, 0.0, 0.0),
        (1.0, 0.0, 1.0 - TICK_S),
        (1.0, 0.4, 1.0 - TICK_S),
        (1.0, 3.0, 1.0),
    ],
)
def test_what_none_had_is_what_a_hypervisor_takes_or_a_machine_that_stands_still(
    lasted_s: float, stolen_s: float, found: float
) -> None:
    """However many want its cores."""
    lost = lost_s(lasted_s, Load(2, 9, stolen_s=1.0), Load(2, 9, stolen_s=1.0 + stolen_s))
    assert lost == pytest.approx(found)


def test_waits_for_disks_are_those_of_any_process() -> None:
    """As the kernel writes them, in us."""
    full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=40417469\n"
    some = "some avg10=2.85 avg60=4.14 avg300=2.42 total=317246543\n"
    assert waits_s(some + full) == pytest.approx(317.246543)
    assert waits_s(full) == waits_s("") == waits_s("some\n") == 0.0


def test_a_long_run_is_shown_in_longer_spans() -> None:
    ticks = round(2.2 * MOST * SPAN_MS / 1000 / TICK_S)
    spans = ticked([Load(2, 4)] * (ticks + 1))
    assert len(spans) <= MOST and spans[0][0] == 0
    assert abs(spans[-1][1] - ticks * TICK_S * 1000) <= SPAN_MS
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert abs(sum(each[2] for each in spans) - ticks * TICK_S * 500) <= len(spans)


def test_it_is_measured_while_a_run_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stat = tmp_path / "stat"
    monkeypatch.setattr(machine, "STAT", stat)
    with watched(0) as found:
        pass
    assert found == {}, "no such file here: nothing is known"
    stat.write_text(STAT.format(stolen=0, running=9))
    with watched(0) as found:
        assert found == {}, "not before it is over"
    assert found["cores"] == 2 and isinstance(found["took"], list)
    assert found["lost"] == [], "many wanted the cores, and had them"
    assert isinstance(found["disk"], list) and isinstance(found["memory"], list)


@pytest.mark.parametrize("what", ["io", "memory"])
def test_each_kind_of_wait_has_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    monkeypatch.setattr(machine, "PRESSURE", tmp_path)
    (tmp_path / what).write_text("some avg10=0.00 total=2500000\n")
    assert {each: machine._waits_s(each) for each in ("io", "memory")} == {
        **dict.fromkeys(("io", "memory"), 0.0),
        what: 2.5,
    }


def test_a_kernel_that_measures_no_waits_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "PRESSURE", tmp_path / "none")
    with watched(0) as found:
        pass
    assert found["disk"] == found["memory"] == []


@pytest.mark.parametrize(
    ("waits", "disk", "memory"), [("io", [40], []), ("memory", [], [40]), ("cpu", [], [])]
)
def test_a_wait_is_in_the_run(
    monkeypatch: pytest.MonkeyPatch, waits: str, disk: list[int], memory: list[int]
) -> None:
    """Of the time between two looks; before the run there were 7 s."""
    later = [7.04] * 10_000
    counted = {what: iter([7.0, *(later if what == waits else [])]) for what in ("io", "memory")}
    monkeypatch.setattr(machine, "_waits_s", lambda what: next(counted[what], 7.0))
    looked = threading.Event()
    stat = machine.Load.of

    def of(text: str) -> Load:
        if len(seen := [*seen_so_far, text]) > 3:
            looked.set()
        seen_so_far[:] = seen
        return stat(text)

    seen_so_far: list[str] = []
    monkeypatch.setattr(machine.Load, "of", of)
    with watched(time.monotonic_ns()) as found:
        assert looked.wait(10)
    for spans, took in ((found["disk"], disk), (found["memory"], memory)):
        assert isinstance(spans, list)
        assert [each[2] for each in spans] == took
