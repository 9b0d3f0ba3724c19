"""What checkers that judge by key are given of runs' operations.

Such a checker says which kinds of operations it looks at, and which columns: no others are read of
a sealed run. A column that it did not name is not there, and asking for it is an error.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.keyed import keyed_tables
from framework.checking.reading import rows_of
from framework.checking.stored import of_run
from framework.history.assemble import process_texts
from framework.history.columns import OPERATIONS
from framework.plugins.checker import DataFrame, RunData, Table, Tables

COLUMNS: Final = tuple(name for name in OPERATIONS.names if name != "run")
"""All that there are."""


def chosen_operations(
    tables: Tables, fs: Collection[str], columns: Sequence[str] = COLUMNS
) -> DataFrame:
    """Of `tables.operations` those of these kinds, with `run` and these columns."""
    kinds = ", ".join(f"'{f}'" for f in fs)
    return tables.operations.where(f"f in ({kinds})").select("run", *columns)


def judged_by_key(
    tables: Tables,
    fs: Collection[str],
    kernel: Callable[[Table], Table],
    columns: Sequence[str] = COLUMNS,
) -> DataFrame:
    """Outcome rows of a kernel as `keyed_tables` takes it, of all operations of these kinds that
    have a key, which are shuffled by it."""
    rows = chosen_operations(tables, fs, columns)
    return keyed_tables(rows.where("key != 'null'"), kernel=kernel)


def operations_with_key(
    run: RunData, fs: Collection[str], columns: Sequence[str] = COLUMNS
) -> Table:
    """As `operations_of_run`, of those that have one."""
    return operations_of_run(run, fs, columns).filter(pc.field("key") != "null")


def operations_of_run(run: RunData, fs: Collection[str], columns: Sequence[str] = COLUMNS) -> Table:
    """As `chosen_operations`, of one run, where it is read."""
    schema = _schema(columns)
    found = [each.select(schema.names).cast(schema) for each in _chosen(fs, columns, run)]
    return pa.concat_tables(found) if found else schema.empty_table()


def _schema(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([OPERATIONS.field(name) for name in ("run", *columns)])


def _chosen(fs: Collection[str], columns: Sequence[str], run: RunData) -> Iterator[Table]:
    """A row group at a time; of one without any such operation no more than that is read."""
    kinds = pa.array(fs)
    for piece in rows_of(run).pieces:
        wanted = pc.is_in(piece.read(["f"]).column("f"), value_set=kinds)
        if pc.any(wanted).as_py():
            yield of_run(run, process_texts(piece.read(columns).filter(wanted)))
