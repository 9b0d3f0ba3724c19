"""Checkers in one job over many runs: what each of them finds alone, whatever the order and the
partitions of the rows."""

import random
from dataclasses import replace
from typing import Any

import pytest
from planted_runs import Story
from test_contract import ON_EVIDENCE, case
from test_property_checkers_on_spark import tables_of

from framework.checking.assignments import Assignment
from framework.checking.one_job import Framed, judged_in_one_job
from framework.checking.results import checker_result
from framework.checking.stored import Runs
from framework.plugins import registry
from framework.plugins.checker import Judge, Tables

Rows = list[dict[str, Any]]


CASES = [name for name in ON_EVIDENCE if name != "faults-bit"]
"""Checkers of whole runs; faults-bit accuses nobody."""


@pytest.fixture(scope="module")
def stories() -> dict[str, Story]:
    """Of each a clean story, and the first one with a planted violation."""
    found = {"nothing/at-all": Story()}
    for name in CASES:
        it = case(name)
        found[f"{name}/right"] = it.clean
        found[f"{name}/wrong"] = next(iter(it.planted.values()))[1]()
    return found


@pytest.fixture(scope="module")
def plugins() -> dict[str, Any]:
    """All but the searches, which share no pass."""
    names = [each for each in registry.names("checkers") if each in CASES or "linear" not in each]
    return {name: registry.load("checkers", name) for name in names}


@pytest.fixture(scope="module")
def rows(spark: Any, stories: dict[str, Story], plugins: dict[str, Any]) -> Rows:
    """All checkers of all runs, as the engine asks for them."""
    return outcomes(tables_of(spark, stories), plugins)


def outcomes(tables: Tables, plugins: dict[str, Any], parts: int = 1) -> Rows:
    """Those of whole runs by a task a run, the others by frames."""
    assert isinstance(tables.each, Runs)
    batch = {name: each for name, each in plugins.items() if hasattr(each, "batch")}
    judges: list[Judge] = []
    if batch:
        judges += next(iter(batch.values())).batch.judges(batch, parts)
    runs = [each.run for each in tables.runs]
    assignments = [
        Assignment(number=number, run=run, place=place, judges=judges)
        for number, (run, place) in enumerate(zip(runs, tables.each.places, strict=True))
    ]
    frames = [
        Framed(name=name, runs=runs, frame=each.check(tables))
        for name, each in plugins.items()
        if name not in batch
    ]
    found: Rows = []
    for came in judged_in_one_job(tables.spark, assignments, frames):
        found += getattr(came, "outcomes", came).to_pylist()
    return sorted(found, key=lambda row: str(sorted(row.items())))


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
    assert set(CASES) - set(verdicts) <= {"partition-data", "isr-linearizability"}


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
    some = {run: it for run, it in sorted(stories.items(), reverse=True) if "/right" not in run}
    for story in some.values():
        draw.shuffle(story.events)
        draw.shuffle(story.operations)
    tables = tables_of(spark, some)
    tables = replace(tables, operations=tables.operations.repartition(3))
    again = outcomes(tables, {name: plugins[name] for name in CASES})
    assert again == [row for row in rows if row["checker"] in CASES and row["run"] in some]


def test_in_parts_rules_that_can_be_cut_find_the_same(
    spark: Any, stories: dict[str, Story], plugins: dict[str, Any], rows: Rows
) -> None:
    cut = {name: plugins[name] for name in CASES if plugins[name].check_run.by is not None}
    own = {run: story for run, story in stories.items() if run.partition("/")[0] in cut}
    found = outcomes(tables_of(spark, own), cut, parts=3)
    assert len(found) == 3 * len(cut) * len(own) > 0
    for name, checker in cut.items():
        for run in own:
            parts, whole = (
                [row for row in each if (row["run"], row["checker"]) == (run, name)]
                for each in (found, rows)
            )
            added = [
                checker_result(name, checker.summary, each, clauses=checker.clauses)
                for each in (parts, whole)
            ]
            assert added[0] == added[1]
