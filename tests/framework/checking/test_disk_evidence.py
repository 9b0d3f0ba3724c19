"""What disks and observers tell is kept from rules that do not ask for it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from framework.checking.columns import Columns
from framework.checking.keyed import Outcome, judged
from framework.checking.observed import tables_by_kind
from framework.checking.run_checks import RunCheck, looked_at
from framework.checking.runs import FAULTS, NEMESIS, OPERATIONS, add_operation
from framework.evidence.quorum import Appended, Elected, SnapshotFile
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from framework.plugins.checker import RunTables

LOG: dict[str, Any] = {
    "base_offset": 0,
    "end_offset": 1,
    "epoch": 1,
    "control": False,
    "crcs": (1,),
    "leading": None,
}
REPORTED = Appended(node="c1", seq=0, **LOG)
LIES = Appended(node="c1", seq=1, source="disk", **LOG)
FILE = SnapshotFile(node="c1", seq=2, source="disk", end_offset=1, epoch=1, records=0, wrong=())
ELECTED = Elected(node="c1", seq=3, epoch=1, votes=())
ALL = [REPORTED, LIES, FILE, ELECTED]


def rule(_: RunEvents) -> Outcome:
    return judged(1)


CHECKS = [
    (RunCheck(rule, evidence=(Appended,)), [REPORTED]),
    (RunCheck(rule, disk=(Appended,)), [LIES]),
    (RunCheck(rule, evidence=(Appended,), disk=(Appended, SnapshotFile)), [REPORTED, LIES, FILE]),
    (RunCheck(rule, evidence=(SnapshotFile, Elected)), [ELECTED]),
]


def seen(check: RunCheck, events: RunEvents) -> list[Any]:
    found: list[Any] = []

    def note(seen: RunEvents) -> Outcome:
        found.extend(seen.evidence)
        return judged(1)

    RunCheck(note, evidence=check.evidence, disk=check.disk)(events)
    return found


@pytest.mark.parametrize(("check", "expected"), CHECKS)
def test_rule_sees_of_disks_what_it_asks_for(check: RunCheck, expected: list[Any]) -> None:
    assert seen(check, RunEvents(evidence=ALL)) == expected


@pytest.mark.parametrize(("check", "expected"), CHECKS)
def test_of_a_run_is_read_what_is_asked_for(check: RunCheck, expected: list[Any]) -> None:
    run = RunTables(
        run="r",
        plan={},
        operations=pa.table({"f": pa.array([], pa.string())}),
        nemesis=NEMESIS.empty_table(),
        faults=FAULTS.empty_table(),
        evidence=tables_by_kind(ALL),
    )
    assert list(looked_at(run, [check]).evidence) == expected
    assert seen(check, looked_at(run, [check for check, _ in CHECKS])) == expected


def test_observations_are_for_rules_that_ask_for_them() -> None:
    """Also for one that looks at all operations: those of observers are no clients'."""
    client, observer = (
        Operation(index=2 * at, process=process, f="what", end=2 * at + 1)
        for at, process in enumerate((0, "observer:n1"))
    )
    run = RunTables(
        run="r",
        plan={},
        operations=table_of([client]),
        observations=table_of([observer]),
        nemesis=NEMESIS.empty_table(),
        faults=FAULTS.empty_table(),
        evidence={},
    )
    keen, old = RunCheck(rule, fs=None, observations=True), RunCheck(rule, fs=None)
    shared = looked_at(run, [keen, old])
    assert (shared.operations, shared.observations) == ([client], [observer])
    assert looked_at(run, [old]).observations == []
    assert [reported(check, shared) for check in (keen, old)] == [([0], [2]), ([0], [])]


def test_rows_are_for_rules_that_read_columns() -> None:
    """Others are given objects, of what they look at alone."""
    one, other = (
        Operation(index=2 * at, process=at, f=f, end=2 * at + 1) for at, f in enumerate("xy")
    )
    run = RunTables(
        run="r",
        plan={},
        operations=table_of([one, other]),
        nemesis=NEMESIS.empty_table(),
        faults=FAULTS.empty_table(),
        evidence={},
    )
    by_column, by_object = RunCheck(rule, fs=None, as_rows=True), RunCheck(rule, fs=["y"])
    alone, shared = looked_at(run, [by_column]), looked_at(run, [by_object, by_column])
    assert alone.operations == [] and shared.operations == [other]
    assert looked_at(run, [by_object]).rows is None
    for events in (alone, shared, RunEvents(operations=[one, other])):
        given = operations_given(by_column, events)
        assert isinstance(given, OperationRows) and list(given) == [one, other]
    assert operations_given(by_object, shared) == [other]


def operations_given(check: RunCheck, events: RunEvents) -> Sequence[Operation]:
    found: list[Sequence[Operation]] = []

    def note(seen: RunEvents) -> Outcome:
        found.append(seen.operations)
        return judged(1)

    replace(check, rule=note)(events)
    return found[0]


def table_of(operations: Sequence[Operation]) -> pa.Table:
    columns = Columns(OPERATIONS)
    for each in operations:
        add_operation(columns, "r", each)
    table = columns.table()
    processes = pa.array([json.dumps(each.process) for each in operations])
    return table.set_column(table.column_names.index("process"), "process", processes)


def reported(check: RunCheck, events: RunEvents) -> tuple[list[int], list[int]]:
    found: list[tuple[list[int], list[int]]] = []

    def note(seen: RunEvents) -> Outcome:
        clients, observers = seen.operations, seen.observations
        found.append(([each.index for each in clients], [each.index for each in observers]))
        return judged(1)

    replace(check, rule=note)(events)
    return found[0]
