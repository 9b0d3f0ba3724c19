"""Histories of Jepsen as the tables that checks read."""

from pathlib import Path

import pyarrow as pa

from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.history.jepsen import read_jepsen
from framework.history.reader import History


def jepsen_table(path: Path, model: str, run: str = "") -> pa.Table:
    """A history of Jepsen as rows of `OPERATIONS`. Raises `UsageError`."""
    return table_of(read_jepsen(path, model), run)


def table_of(history: History, run: str = "") -> pa.Table:
    """The operations of a history as rows of `OPERATIONS`."""
    columns = Columns(OPERATIONS)
    for operation in history.operations:
        add_operation(columns, run, operation)
    return columns.table()
