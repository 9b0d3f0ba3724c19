"""Checkers in one pass over the tables: what each of them finds alone, whatever the order and
the partitions of the rows."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import test_controlled_shutdown_safety as shutdowns
import test_effects as effects
import test_fenced_serve_nothing as serving
import test_identity_uniqueness as identity
import test_lease_exclusion as leases
import test_life_cycle_conformance as lives
import test_partition_data as data
import test_process_health as health
import test_replay_invariants as invariants
import test_snapshot_equivalence as snapshots
import test_uncommitted as uncommitted
from planted_runs import Story
from test_property_checkers_on_spark import tables_of

from framework.checking.engine import _outcomes
from framework.plugins import registry
from framework.plugins.checker import Tables

Rows = list[dict[str, Any]]


def with_plant(module: Any, key: str) -> Story:
    """A module's clean story, with one of its planted violations."""
    story: Story = module.clean()
    planted = module.PLANTED[key]
    plant = planted[1] if isinstance(planted, tuple) else planted
    plant(story)
    return story


CASES: dict[str, tuple[Callable[[], Story], Any, str]] = {
    "uncommitted-never-visible": (uncommitted.clean, uncommitted, "isr [4]"),
    "fenced-serve-nothing": (serving.clean, serving, "a client while fenced"),
    "lease-exclusion": (leases.clean, leases, "before the end that the broker knew"),
    "life-cycle-conformance": (lives.clean, lives, "fenced for nothing"),
    "snapshot-equivalence": (snapshots.clean, snapshots, "is not one state"),
    "identity-uniqueness": (identity.clean, identity, "block of producer ids"),
    "effects-once": (effects.clean, effects, "request r1 took effect twice"),
    "process-health": (health.clean, health, "b1's data loop stood still for 1500 ms"),
    "replay-invariants": (invariants.clean, invariants, "which still leads"),
    "partition-data": (lambda: data.ended(data.clean()), data, "4: went back"),
    "controlled-shutdown-safety": (shutdowns.clean, None, ""),
}


@pytest.fixture(scope="module")
def stories() -> dict[str, Story]:
    found = {}
    for name, (clean, module, key) in CASES.items():
        found[f"{name}/right"] = clean()
        if module is not None:
            found[f"{name}/wrong"] = with_plant(module, key)
    wrong = shutdowns.begun()
    shutdowns.PLANTED[next(iter(shutdowns.PLANTED))](wrong)
    found["controlled-shutdown-safety/wrong"] = wrong
    found["nothing/at-all"] = Story()
    return found


@pytest.fixture(scope="module")
def plugins() -> dict[str, Any]:
    """All but the searches, which share no pass."""
    names = registry.names("checkers")
    return {name: registry.load("checkers", name) for name in names if "linear" not in name}


@pytest.fixture(scope="module")
def rows(spark: Any, stories: dict[str, Story], plugins: dict[str, Any]) -> Rows:
    """All checkers of all runs, as the engine asks for them."""
    return outcomes(tables_of(spark, stories), plugins)


def outcomes(tables: Tables, plugins: dict[str, Any]) -> Rows:
    found, broken = _outcomes(tables, plugins)
    assert broken == {}
    return sorted((dict(row) for row in found), key=lambda row: str(sorted(row.items())))


@pytest.mark.parametrize("name", CASES)
def test_each_checker_accepts_and_rejects(rows: Rows, name: str) -> None:
    verdicts = {
        row["run"]: row["verdict"]
        for row in rows
        if row["checker"] == name and row["run"].startswith(f"{name}/")
    }
    assert verdicts == {f"{name}/right": "VALID", f"{name}/wrong": "INVALID"}


def test_run_in_which_nothing_was_seen_is_unknown(rows: Rows) -> None:
    verdicts = {row["checker"]: row["verdict"] for row in rows if row["run"] == "nothing/at-all"}
    assert set(verdicts.values()) == {"UNKNOWN"}
    assert set(CASES) - set(verdicts) == {"partition-data"}


def test_kernels_do_not_fail(rows: Rows) -> None:
    assert [
        (row["checker"], row["run"], row["note"])
        for row in rows
        if "the checker failed" in row["note"]
    ] == []


def test_alone_each_finds_the_same_whatever_the_order_and_the_partitions(
    spark: Any, stories: dict[str, Story], plugins: dict[str, Any], rows: Rows
) -> None:
    name = "effects-once"
    alone = outcomes(tables_of(spark, stories), {name: plugins[name]})
    assert alone == [row for row in rows if row["checker"] == name]
    draw = random.Random(1)
    for story in stories.values():
        draw.shuffle(story.events)
        draw.shuffle(story.operations)
    tables = tables_of(spark, dict(sorted(stories.items(), reverse=True)))
    tables = replace(
        tables, operations=tables.operations.repartition(3), events=tables.events.repartition(5)
    )
    again = outcomes(tables, {name: plugins[name] for name in CASES})
    assert again == [row for row in rows if row["checker"] in CASES]
