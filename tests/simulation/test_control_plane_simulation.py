"""The control plane on a simulated network: the rules hold on every seed, and broken ones show."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nodes.kraft.simulation.report import failure, minimal_text, schedule_text
from nodes.kraft.simulation.schedule import Crash, Operation, Schedule, draw
from nodes.kraft.simulation.shrink import ddmin, minimal, play
from nodes.kraft.simulation.variants import CALM, VARIANTS, Variant

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "30"))
CHUNK = 30
ENOUGH = 150
"""Seeds within which each broken variant has to be caught."""
FEW = {
    "confirms-without-a-round": 60,
    "ignores-leader-epoch": 40,
    "fenced-broker-stays-in-isr": 90,
    "leader-acknowledges-alone": 35,
    "leader-anticipates-its-isr": 15,
}
"""Variants that few seeds show: where the search begins, which takes seconds otherwise."""
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_rules_hold(first: int) -> None:
    """A.1.28, A.1.29, A.1.30: what is not committed is not seen, not answered for, and leaves no
    trace. A.1.38, A.1.39, A.1.40: snapshots are minimal, each replica's own, and with the records
    behind them the whole state. A.1.61: who is let go leads nothing. A.1.68, A.1.70: the edges of
    the life cycle, and an epoch of its own each time. D.3, D.4, D.5, D.6, D.7, D.8, D.9, D.16,
    D.19, D.23: docs/node.md has the rules."""
    committed = answers = operations = 0
    for seed in range(first, first + CHUNK):
        schedule = draw(seed)
        execution = play(schedule)
        if execution.violation is not None:
            after = minimal(schedule, execution, budget_s=30)
            pytest.fail(f"{failure(seed, execution)}\n{minimal_text(schedule, after, execution)}")
        committed += execution.committed
        answers += execution.answers
        operations += execution.operations
    assert committed > CHUNK * 10, "hardly anything was committed: the check saw nothing"
    assert answers > CHUNK * 30, "hardly anything was answered: the check saw nothing"
    assert operations > CHUNK * 3, "hardly any client had success: the check saw nothing"


def caught_at(variant: Variant) -> int | None:
    """The first seed on which a rule of the variant is broken."""
    with variant.broken():
        for seed in range(FEW.get(variant.name, 0), ENOUGH):
            violation = play(draw(seed, profile=variant.profile)).violation
            if violation is not None and violation.rule in variant.rules:
                return seed
    return None


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_broken_variant_is_caught(variant: Variant) -> None:
    seed = caught_at(variant)
    assert seed is not None
    healthy = play(draw(seed, profile=variant.profile))
    assert healthy.violation is None, "the rule is broken without the defect, too"


def test_a_seed_fixes_the_history() -> None:
    """Two runs, and one in another process, whose hashes of strings differ."""
    first, second = play(draw(7)), play(draw(7))
    assert first == second
    program = "from nodes.kraft.simulation import shrink as s; print(s.play(s_.draw(7)).digest)"
    program = f"import nodes.kraft.simulation.schedule as s_\n{program}"
    environment = os.environ | {"PYTHONHASHSEED": "4242", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert int(done.stdout) == first.digest


def test_written_mishaps_play_the_same_run() -> None:
    """A schedule that names every mishap is the run that drew them: shrinking starts from it."""
    drawn = next(schedule for schedule in map(draw, range(100)) if schedule.profile.lost > 0.02)
    first = play(drawn)
    assert first.mishaps
    again = play(Schedule(drawn.seed, drawn.profile, drawn.items, first.mishaps))
    assert again.digest == first.digest


def test_a_failing_seed_is_shrunk() -> None:
    variant = next(each for each in VARIANTS if each.name == "ignores-broker-epoch")
    seed = caught_at(variant)
    assert seed is not None
    schedule = draw(seed, profile=variant.profile)
    with variant.broken():
        failed = play(schedule)
        after = minimal(schedule, failed, budget_s=30)
        execution = play(after)
        assert execution.violation is not None and execution.violation.rule in variant.rules
        assert 0 < len(after.items) < len(schedule.items) / 4
        text = minimal_text(schedule, after, failed)
    assert "fencing" in text
    assert f"minimal schedule of seed {seed}" in text


def test_shrinking_finds_the_two_that_it_takes() -> None:
    """ddmin on a list of which two parts, far from each other, are needed together."""
    tries = []

    def fails(parts: Sequence[int]) -> bool:
        tries.append(parts)
        return {17, 83} <= set(parts)

    assert ddmin(range(100), fails, lambda: False) == [17, 83]
    assert len(tries) < 100


def test_a_schedule_is_reported_in_order_of_time() -> None:
    crash = Crash(at=900, victim=0, down_ms=20, keep=0.5)
    create = Operation(at=40, client=1, f="create", topic="a", via=3)
    lines = schedule_text(Schedule(1, CALM, (crash, create))).splitlines()
    assert "40 ms  Operation: client 1, f create, topic a, via 3" in lines[1]
    assert "the leader" in lines[2]
