"""Figures of a checker, arranged."""

from framework.report.checker_figures import arranged, label


def test_units_are_set_apart() -> None:
    assert label("worst_recovery_s") == "worst recovery, s"
    assert label("p99_ms") == "p99, ms"
    assert label("max_bytes") == "max, bytes"
    assert label("elections") == "elections"
    assert label("longest_key") == "longest key"
    assert label("_s") == " s"


def test_figures_without_a_dot_stand_alone() -> None:
    found = arranged({"nodes": 6, "settle_s": 0.5})
    assert found.plain == {"nodes": 6, "settle, s": 0.5}
    assert found.tables == ()


def test_rows_with_columns_in_common_are_one_table() -> None:
    found = arranged(
        {
            "fault.1.lasted_s": 2.0,
            "fault.1.elections": 1,
            "create.ok": 7,
            "fault.2.lasted_s": 8.0,
            "delete.ok": 3,
            "delete.fail": 1,
        }
    )
    faults, operations = found.tables
    assert faults.columns == ("lasted, s", "elections")
    assert [row.name for row in faults.rows] == ["fault.1", "fault.2"]
    lasted, missing = faults.rows[1].cells
    assert lasted is not None
    assert (lasted.value, lasted.share) == (8.0, 1.0)
    assert missing is None
    assert [row.name for row in operations.rows] == ["create", "delete"]
    assert operations.columns == ("ok", "fail")


def test_bars_are_shares_of_their_own_column() -> None:
    (table,) = arranged({"a.x": 1, "a.y": 500, "b.x": 4, "b.y": 0}).tables
    shares = [[cell.share for cell in row.cells if cell] for row in table.rows]
    assert shares == [[0.25, 1.0], [1.0, 0.0]]


def test_single_row_stands_on_end() -> None:
    (table,) = arranged({"refused.STALE": 46, "refused.FENCED": 8, "zombies": 64}).tables
    assert table.name == "refused"
    assert [row.name for row in table.rows] == ["STALE", "FENCED"]


def test_what_is_no_number_has_no_bar() -> None:
    (table,) = arranged({"a.x": "many", "b.x": None, "c.x": True}).tables
    assert [cell.share for row in table.rows for cell in row.cells if cell] == [0.0, 0.0, 0.0]
