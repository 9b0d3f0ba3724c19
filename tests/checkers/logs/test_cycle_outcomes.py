"""Cycles as the outcome of the run that has them: fatal ones are findings, others a note."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from test_cycles import Txn, serial, table, together

from checkers.logs.cycle_outcomes import has_transactions, outcomes, parts_of
from checkers.logs.cycles_edges import edges, vertices
from checkers.logs.rows import ROWS, Flag

READ_EACH_OTHER = together(([("x", 0)], [("y", 0)]), ([("y", 0)], [("x", 0)]))
WROTE_IN_TWO_ORDERS = together(([("x", 0), ("y", 1)], []), ([("x", 1), ("y", 0)], []))
IN_TURN = serial(([("x", 0)], []), ([("y", 0)], [("x", 0)]))


def reported(rows: pa.Table) -> list[Mapping[str, Any]]:
    made = outcomes(edges(rows), vertices(rows), "kafka")
    return [
        {**row, "findings": json.loads(row["findings"]), "figures": json.loads(row["figures"])}
        for row in made
    ]


def test_operations_that_read_each_other_are_a_finding() -> None:
    (row,) = reported(table(READ_EACH_OTHER))
    assert (row["verdict"], row["seen"], row["note"]) == ("INVALID", 2, "")
    assert row["figures"] == {"G1c of wr": 1}
    (finding,) = row["findings"]
    assert finding["message"].startswith("G1c, a cycle of 2 operations: index 1 polled offset 0")
    assert finding["operations"] == [0, 1]


@pytest.mark.parametrize(
    ("txns", "note", "figures"),
    [
        (WROTE_IN_TWO_ORDERS, "G0: seen, and allowed", {"G0 (allowed)": 1}),
        (IN_TURN, "", {}),
    ],
)
def test_what_transactions_without_isolation_do_is_no_finding(
    txns: list[Txn], note: str, figures: dict[str, float]
) -> None:
    (row,) = reported(table(txns))
    assert (row["verdict"], row["seen"], row["note"]) == ("VALID", 2, note)
    assert (row["figures"], row["findings"]) == (figures, [])


def test_of_both_the_allowed_is_a_note_and_no_finding() -> None:
    later = [
        Txn(each.index + 10, (each.end or 0) + 10, f"later {each.client}", each.sends)
        for each in together(([("a", 0), ("b", 1)], []), ([("a", 1), ("b", 0)], []))
    ]
    (row,) = reported(table([*READ_EACH_OTHER, *later]))
    assert (row["verdict"], row["note"]) == ("INVALID", "G0: seen, and allowed")
    assert row["figures"] == {"G1c of wr": 1, "G0 (allowed)": 1}
    assert [each["operations"] for each in row["findings"]] == [[0, 1]]


def test_each_run_has_an_outcome_of_its_own() -> None:
    runs = {"a": IN_TURN, "b": READ_EACH_OTHER, "c": WROTE_IN_TWO_ORDERS}
    made = reported(pa.concat_tables([table(txns, run) for run, txns in runs.items()]))
    assert [(row["run"], row["verdict"]) for row in made] == [
        ("a", "VALID"),
        ("b", "INVALID"),
        ("c", "VALID"),
    ]


def test_only_where_something_is_a_transaction_there_is_a_search() -> None:
    rows = table(READ_EACH_OTHER)
    assert parts_of(rows) is None
    at = rows.schema.get_field_index("flags")
    flags = pa.array([int(Flag.SUBSCRIBES), *[0] * (len(rows) - 1)], pa.int8())
    some = rows.set_column(at, rows.schema.field(at), flags)
    assert parts_of(some) == (edges(some), vertices(some))


def test_of_nothing_nothing_is_a_transaction() -> None:
    assert has_transactions(ROWS.empty_table()) is False
