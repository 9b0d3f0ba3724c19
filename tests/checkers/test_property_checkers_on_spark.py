"""The checkers over tables, as the engine calls them: rows in, outcome rows out."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from planted_runs import OTHER, TOPIC, Story, accepted, change, shown

from framework.checking.observed import tables_by_kind
from framework.checking.runs import FAULTS, NEMESIS, OPERATIONS
from framework.history.pairing import Operation
from framework.plugins import registry
from framework.plugins.checker import RunInfo, RunTables, Tables
from framework.testing.judging import each_run

NAMES = (
    "isr-linearizability",
    "one-leader-per-epoch",
    "one-vote",
    "log-matching",
    "committed-never-lost",
    "acknowledged-never-lost",
    "monotonic-counters",
    "zombie-fencing",
    "convergence",
    "availability",
    "faults-bit",
)


def operation_row(run: str, each: Operation) -> dict[str, Any]:
    done = each.end is not None
    return {
        "run": run,
        "index": each.index,
        "end": each.end,
        "process": str(each.process),
        "f": each.f,
        "key": json.dumps(each.key),
        "value": json.dumps(each.value),
        "type": each.type,
        "result": json.dumps(each.result) if done else None,
        "error_code": each.error_code,
        "error_message": None,
        "node": each.node,
        "ext": json.dumps(each.ext) if each.ext else None,
        "invoked_ns": each.invoked_ns,
        "completed_ns": each.completed_ns,
        "phase": each.phase,
    }


def tables_of(spark: Any, stories: dict[str, Story]) -> Tables:
    operations, marks, faults = [], [], []
    for run, story in stories.items():
        operations += [operation_row(run, each) for each in story.operations]
        for mark in story.nemesis:
            marks.append(
                {
                    "run": run,
                    "index": mark.index,
                    "time_ns": mark.time_ns,
                    "type": mark.type,
                    "f": mark.f,
                    "value": json.dumps(mark.value),
                }
            )
        for each in story.faults:
            faults.append(
                {
                    "run": run,
                    "id": each.id,
                    "fault": each.fault,
                    "shape": each.shape,
                    "victims": json.dumps(each.victims),
                    "started_ns": each.injected_ns,
                    "injected_ns": each.injected_ns,
                    "healed_ns": each.healed_ns,
                    "effective": each.effective,
                    "healed": each.healed,
                    "ends_processes": each.ends_processes,
                    "entries": json.dumps(list(each.entries)),
                }
            )

    def frame(rows: Sequence[dict[str, Any]], schema: Any) -> Any:
        return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=schema))

    return Tables(
        spark=spark,
        runs=[RunInfo(run=run, path=run, plan=story.plan) for run, story in stories.items()],
        operations=frame(operations, OPERATIONS),
        nemesis=frame(marks, NEMESIS),
        faults=frame(faults, FAULTS),
        each=each_run(
            spark,
            [
                stored_run(
                    run, story, *(tuple(of_run(run, each)) for each in (operations, marks, faults))
                )
                for run, story in stories.items()
            ],
        ),
    )


def of_run(run: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["run"] == run]


def stored_run(
    run: str,
    story: Story,
    operations: Sequence[dict[str, Any]],
    nemesis: Sequence[dict[str, Any]],
    faults: Sequence[dict[str, Any]],
) -> RunTables:
    def table(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_pylist(list(rows), schema=schema).drop_columns(["run"])

    def asked(rows: Sequence[dict[str, Any]]) -> pa.Table:
        return table([row | {"process": json.dumps(row["process"])} for row in rows], OPERATIONS)

    return RunTables(
        run=run,
        plan=story.plan,
        operations=asked(operations),
        observations=asked([operation_row(run, each) for each in story.observations]),
        nemesis=table(nemesis, NEMESIS),
        faults=table(faults, FAULTS),
        evidence=tables_by_kind(story.run_events().evidence),
    )


def healthy() -> Story:
    """Something for each checker to see, and nothing wrong."""
    story = Story()
    for node in story.plan["nodes"]:
        story.boot(node)
    story.saved("c1", 1, voted=1)
    story.event("c1", "elected", epoch=1, start_offset=0, votes=[1, 2])
    for node in story.plan["nodes"]:
        story.append(node, 0, 1, *range(10, 30), leader=node == "c1")
        story.hw(node, 3, 1, role="leader" if node == "c1" else "follower")
        story.state(node, 3)
    story.partition(0, 0, [4, 5])
    asked = story.invoke("alter-isr", "t/0", change(0, [4]))
    story.partition(1, 1, [4])
    story.complete(asked, "ok", accepted(asked.value))
    for node in ("b1", "b2", "b3"):
        story.bstate(node, "ACTIVE")
        story.lease(node, 60_000)
        story.serve(node)
    story.create("t")
    story.alter(0, [4, 5], zombie="replay", type="fail", error="INVALID_UPDATE_VERSION")
    story.heartbeat(4, -1, answered=7)
    for _ in range(40):  # so many that availability has seen enough
        story.describe("t", shown(1, [4]))
    story.inject()
    story.final()
    story.describe("t", shown(1, [4]))
    return story


def broken() -> Story:
    """Something wrong for each checker that can say so."""
    story = healthy()
    story.saved("c2", 1, voted=2)  # one-vote: c2 granted to c1
    story.event("c3", "elected", epoch=1, start_offset=3, votes=[3])  # one-leader-per-epoch
    story.append("c3", 3, 2, 40)  # log-matching
    story.append("c2", 3, 2, 41)
    story.event("c1", "truncate", end_offset=1)  # committed-never-lost
    story.saved("c1", 0)  # monotonic-counters
    story.heartbeat(4, 3)  # zombie-fencing
    story.describe("t", shown(0, [4, 5]))  # isr-linearizability, acknowledged-never-lost
    story.state("b1", 3, "other")  # convergence
    story.invoke("create", "u")
    story.wait(40_000)
    story.invoke("create", "u")
    story.faults = [
        replace(
            each, injected_ns=story.now_ns - 39_000_000_000, healed_ns=story.now_ns - 38 * 10**9
        )
        for each in story.faults
    ]
    story.wait(-37_000)
    for _ in range(3):
        story.invoke("create", "u")  # availability: asked after the heal, in vain
    return story


@pytest.fixture(scope="module")
def rows(spark: Any) -> list[dict[str, Any]]:
    """What all checkers say of three runs, in one job."""
    stories = {"a/1": healthy(), "a/2": broken(), "a/3": Story()}
    tables = tables_of(spark, stories)
    frames = [registry.load("checkers", name).check(tables) for name in NAMES]
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionAll(frame)
    return [row.asDict() for row in union.collect()]


def of(rows: list[dict[str, Any]], run: str, checker: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["run"] == run and row["checker"] == checker]


@pytest.mark.parametrize("name", NAMES)
def test_healthy_run_is_valid(rows: list[dict[str, Any]], name: str) -> None:
    found = of(rows, "a/1", name)
    assert [row["verdict"] for row in found] == ["VALID"], found
    assert found[0]["seen"] > 0


@pytest.mark.parametrize("name", NAMES[:-1])
def test_broken_run_is_invalid_with_evidence(rows: list[dict[str, Any]], name: str) -> None:
    (found,) = of(rows, "a/2", name)
    assert found["verdict"] == "INVALID", found
    for finding in json.loads(found["findings"]):
        assert finding["message"]
        assert finding["operations"] or finding["events"]


def test_empty_run_is_unknown(rows: list[dict[str, Any]]) -> None:
    verdicts = {row["checker"]: row["verdict"] for row in rows if row["run"] == "a/3"}
    assert set(verdicts.values()) == {"UNKNOWN"}
    assert set(NAMES) - set(verdicts) <= {"isr-linearizability"}


def test_isr_changes_are_judged_by_partition(spark: Any) -> None:
    story = Story()
    story.alter(0, [4])
    story.describe("t", shown(1, [4]), shown(0, [5], partition=1))
    other = change(0, [5], partition=1, topic_id=OTHER)
    story.op("alter-isr", "u/1", other, {**other, "leader": 4, "partition_epoch": 9})
    frame = registry.load("checkers", "isr-linearizability").check(tables_of(spark, {"r": story}))
    verdicts = {row["key"]: row["verdict"] for row in frame.collect()}
    assert verdicts == {f"{TOPIC}/0": "VALID", f"{TOPIC}/1": "VALID", f"{OTHER}/1": "INVALID"}
