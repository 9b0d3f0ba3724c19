"""Operations by column, of which some become objects."""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pytest

from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.history.rows import OperationRows, Piece

DONE = [
    Operation(index=0, process=3, f="create", key="t", value={"n": [1, None]}, invoked_ns=0),
    Operation(
        index=1,
        process="a b",
        f="read",
        key=["t", 1],
        type="fail",
        end=4,
        error=("NO", "not now"),
        node="n1",
        ext={"asserts": "absent"},
        invoked_ns=5,
        completed_ns=9,
        phase="final",
    ),
    *(
        Operation(index=at, process=at, f="read", type="ok", end=at + 10, result=at * 0.5)
        for at in (2, 3, 5)
    ),
]


def rows(piece: int) -> OperationRows:
    (table,) = OperationRows.of(DONE).columns()
    return OperationRows.of_table(table, piece)


@pytest.mark.parametrize("piece", [1, 2, 4, 5, 9])
def test_rows_are_the_list(piece: int) -> None:
    found = rows(piece)
    assert list(found) == DONE and len(found) == len(DONE)
    assert [found[at] for at in (0, 4, -1, -5, 2)] == [DONE[at] for at in (0, 4, -1, -5, 2)]
    assert found[1:4] == DONE[1:4] and found[::-2] == DONE[::-2]
    assert found.at([3, 0, 3, 4]) == [DONE[at] for at in (3, 0, 3, 4)]
    for at in (5, -6):
        with pytest.raises(IndexError):
            found[at]


@pytest.mark.parametrize("piece", [2, 9])
def test_columns_come_piece_by_piece(piece: int) -> None:
    tables = list(rows(piece).columns(["f", "index"]))
    assert [len(each) for each in tables] == ([2, 2, 1] if piece == 2 else [5])
    whole = pa.concat_tables(tables)
    assert whole.column_names == ["f", "index"]
    assert whole.column("index").to_pylist() == [each.index for each in DONE]


def test_only_pieces_are_read_that_have_what_is_looked_at() -> None:
    read: list[int] = []

    def seen(number: int, piece: Piece, names: Sequence[str] | None) -> pa.Table:
        read.append(number)
        return piece.read(names)

    pieces = rows(2).pieces
    found = OperationRows(
        [Piece(each.count, partial(seen, number, each)) for number, each in enumerate(pieces)]
    )
    assert found.at([]) == [] and not read
    assert found.at([4, 1, 0]) == [DONE[at] for at in (4, 1, 0)]
    assert read == [0, 2]


def test_of_rows_there_are_no_other_rows() -> None:
    found = rows(2)
    assert OperationRows.of(found) is found


def test_of_no_operations_all_is_empty() -> None:
    for none in (OperationRows.of([]), OperationRows.of_table(OPERATIONS.empty_table())):
        assert (list(none), len(none), none.at([]), none[:]) == ([], 0, [], [])
