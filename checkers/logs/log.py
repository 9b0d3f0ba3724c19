"""Rows (`rows.ROWS`) as arrays of numbers, sorted: what every check reads."""

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.logs.rows import Kind
from framework.history.json_walk import NONE, Ints

NEVER: Final = np.iinfo(np.int64).max
"""The completion of an operation that has none."""
NOWHERE: Final = -1
"""A row, index, value or name that there is not."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Log:
    """Rows in the order of (part, index, place). A *part* is one key of one run; each is judged by
    itself. Columns as in `ROWS`, with numbers for names; `NONE` for numbers that are not known,
    `NOWHERE` for names, `NEVER` for the end of a pending operation."""

    part: Ints
    index: Ints
    end: Ints
    client: Ints
    type: Ints
    kind: Ints
    place: Ints
    offset: Ints
    value: Ints
    flags: Ints
    epoch: Ints
    watermark: Ints
    until: Ints
    group: Ints
    node: Ints
    invoked_ns: Ints
    completed_ns: Ints
    previous_ns: Ints
    parts: list[tuple[str, str]]
    """(run, key) of each part; the parts are in this order. A part with no key holds what is
    about no one key of its run, and is not judged: `keyless`."""
    keyless: Bools
    clients: pa.Array
    values: pa.Array
    groups: pa.Array
    nodes: pa.Array

    def __len__(self) -> int:
        return len(self.index)

    def having(self, *kinds: Kind) -> Ints:
        """The rows of some kinds."""
        found: Ints = np.flatnonzero(np.isin(self.kind, kinds))
        return found

    def flagged(self, flag: int) -> Bools:
        found: Bools = (self.flags & flag) != 0
        return found

    def text(self, row: int) -> str:
        """The value of a row, for people."""
        value = int(self.value[row])
        reported = "nothing" if value < 0 else str(self.values[value].as_py())
        return reported if len(reported) <= 60 else reported[:57] + "..."

    def client_name(self, row: int) -> str:
        return str(self.clients[int(self.client[row])].as_py())


def log(table: pa.Table) -> Log:
    """The log of `ROWS`, in whatever order they come."""
    run_codes, runs = _names(table, "run")
    key_codes, keys = _names(table, "key")
    part, parts = _parts(run_codes, runs, key_codes, keys)
    index, place = _numbers(table, "index"), _numbers(table, "place")
    order = np.lexsort((place, index, part))
    client, clients = _names(table, "client")
    value = table.column("value").combine_chunks().dictionary_encode()
    group, groups = _names(table, "group")
    node, nodes = _names(table, "node")
    # Processes of different runs are different clients.
    many, client = np.unique(run_codes << 32 | client, return_inverse=True)
    columns: dict[str, Ints] = {
        "part": part,
        "index": index,
        "place": place,
        "client": client,
        "value": _indices(value),
        "group": group,
        "node": node,
    }
    for field in fields(Log):
        if field.name in table.column_names and field.name not in columns:
            columns[field.name] = _numbers(table, field.name)
    columns["end"] = np.where(columns["end"] == NONE, NEVER, columns["end"])
    held: dict[str, Any] = {name: column[order] for name, column in columns.items()}
    return Log(
        **held,
        parts=[(run, key or "") for run, key in parts],
        keyless=np.array([key is None for _, key in parts], np.bool_),
        clients=clients.take(pa.array(many & 0xFFFFFFFF)),
        values=value.dictionary,
        groups=groups,
        nodes=nodes,
    )


def _parts(
    run_codes: Ints, runs: pa.Array, key_codes: Ints, keys: pa.Array
) -> tuple[Ints, list[tuple[str, str | None]]]:
    """The part of each row, and (run, key) of each part."""
    both = run_codes << 32 | (key_codes + 1)
    found, part = np.unique(both, return_inverse=True)
    names = zip(
        runs.take(pa.array(found >> 32)).to_pylist(),
        _taken(keys, (found & 0xFFFFFFFF) - 1),
        strict=True,
    )
    listed = list(names)
    by_name = sorted(range(len(listed)), key=lambda n: (listed[n][0], listed[n][1] or ""))
    rank = np.empty(len(listed), np.int64)
    rank[by_name] = np.arange(len(listed))
    return rank[part], [listed[n] for n in by_name]


def _taken(names: pa.Array, codes: Ints) -> list[str | None]:
    taken: list[str | None] = names.take(pa.array(codes, mask=codes < 0)).to_pylist()
    return taken


def _names(table: pa.Table, column: str) -> tuple[Ints, pa.Array]:
    whole = table.column(column).combine_chunks().dictionary_encode()
    names = pc.unique(whole.dictionary)
    if len(names) == len(whole.dictionary):
        return _indices(whole), whole.dictionary
    again = whole.cast(pa.string()).dictionary_encode()
    return _indices(again), again.dictionary


def _indices(names: pa.DictionaryArray) -> Ints:
    indices = names.indices.cast(pa.int64()).fill_null(NOWHERE)
    made: Ints = indices.to_numpy()
    return made


def _numbers(table: pa.Table, column: str) -> Ints:
    numbers = table.column(column).cast(pa.int64()).fill_null(NONE).to_numpy()
    made: Ints = numbers
    return made
