"""Operations of any ranges, or of any keys of them, put together again."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.history.borders import Border
from framework.history.events import OBSERVER_IDS, process_text
from framework.history.ingest import COMPLETION, EVENTS, OPERATION


def assemble(parts: pa.Table) -> pa.Table:
    """Operations with their true indices, in the order of (file, index), from whatever parts of
    whichever histories; without `range` and `role`. Columns may be missing, rows in any order.
    Processes stay JSON texts."""
    role = parts.column("role").to_numpy()
    if role.any():
        parts = _settled(parts, role)
    table = parts.drop_columns(["range", "role"])
    file, index = table.column("file").to_numpy(), table.column("index").to_numpy()
    if ((file[1:] < file[:-1]) | ((file[1:] == file[:-1]) & (index[1:] < index[:-1]))).any():
        table = table.take(pa.array(np.lexsort((index, file))))
    return table


def _settled(parts: pa.Table, role: NDArray[np.int8]) -> pa.Table:
    """The operations, numbered and closed by what the other rows say."""
    places = _places(parts)
    if (role == EVENTS).any():
        parts = _numbered(parts, places, role)
    late = np.flatnonzero(role == COMPLETION)
    operations = _runs(parts, role == OPERATION)
    return _closed(parts, operations, role, late, places) if len(late) else operations


def _runs(table: pa.Table, wanted: NDArray[np.bool_]) -> pa.Table:
    """Some rows, which mostly follow each other: nothing is copied."""
    borders = np.flatnonzero(np.diff(np.concatenate(([False], wanted, [False]))))
    cuts = zip(borders[0::2].tolist(), borders[1::2].tolist(), strict=True)
    parts = [table.slice(begin, end - begin) for begin, end in cuts]
    return pa.concat_tables(parts) if parts else table.slice(0, 0)


def indexed(nemesis: pa.Table, borders: Sequence[Border]) -> pa.Table:
    """What the nemesis did in one history, with true indices, in order."""
    if not len(nemesis):
        return nemesis.drop_columns(["file", "range"])
    before, events = {}, 0
    for border in sorted(borders, key=lambda each: each.number):
        before[border.number] = events
        events += border.events
    offset = np.array([before[number] for number in nemesis.column("range").to_pylist()], np.int64)
    index = pc.add(nemesis.column("index"), pa.array(offset))
    found = nemesis.set_column(nemesis.column_names.index("index"), "index", index)
    return found.drop_columns(["file", "range"]).sort_by("index")


def process_texts(table: pa.Table) -> pa.Table:
    """Operations with their processes as `OPERATIONS` has them: plain texts."""
    if "process" not in table.column_names:
        return table
    names = _each_text(table.column("process"))
    return table.set_column(table.column_names.index("process"), "process", names)


def without_observers(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The operations of clients, and those of observers."""
    observed = pc.starts_with(table.column("process"), OBSERVER_IDS)
    if not pc.any(observed).as_py():
        return table, table.slice(0, 0)
    return table.filter(pc.invert(observed)), table.filter(observed)


def _places(parts: pa.Table) -> NDArray[np.int64]:
    """Where each row's range is: by history, then by number."""
    file, number = parts.column("file").to_numpy(), parts.column("range").to_numpy()
    placed: NDArray[np.int64] = (file << 32) | number
    return placed


def _numbered(parts: pa.Table, places: NDArray[np.int64], role: NDArray[np.int8]) -> pa.Table:
    """Indices and phases as the ranges before make them."""
    reported = np.flatnonzero(role == EVENTS)
    ranges_, first = np.unique(places[reported], return_index=True)
    counts = parts.column("index").to_numpy()[reported][first]
    before = np.concatenate(([0], np.cumsum(counts)[:-1]))
    head = np.searchsorted(ranges_, (ranges_ >> 32) << 32)
    where = np.minimum(np.searchsorted(ranges_, places), len(ranges_) - 1)
    known = ranges_[where] == places
    offset = np.where(known, (before - before[head])[where], 0)
    for name in ("index", "end"):
        moved = pc.add(parts.column(name), pa.array(offset))
        parts = parts.set_column(parts.column_names.index(name), name, moved)
    if "phase" in parts.column_names:
        final = np.asarray(pc.equal(parts.column("phase").take(reported[first]), "final"))
        marks = np.concatenate(([0], np.cumsum(final)[:-1]))
        is_final = known & ((marks - marks[head])[where] > 0)
        phase = pc.if_else(pa.array(is_final), "final", parts.column("phase"))
        parts = parts.set_column(parts.column_names.index("phase"), "phase", phase)
    return parts


def _closed(
    parts: pa.Table,
    operations: pa.Table,
    role: NDArray[np.int8],
    late: NDArray[np.int64],
    places: NDArray[np.int64],
) -> pa.Table:
    """The operations, those open at a border with what `late` says of their ends: the
    first completion of that process in a later range of that history."""
    process, rows = parts.column("process"), np.flatnonzero(role == OPERATION)
    by_process: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for row, name in zip(late.tolist(), process.take(late).to_pylist(), strict=True):
        by_process.setdefault((int(places[row]) >> 32, name), []).append((int(places[row]), row))
    candidates = rows[np.asarray(pc.is_null(operations.column("end")))]
    known = pc.is_in(process.take(candidates), value_set=pc.unique(process.take(late)))
    candidates = candidates[np.asarray(known)]
    source = np.arange(len(parts))
    for row, name in zip(candidates.tolist(), process.take(candidates).to_pylist(), strict=True):
        ends = by_process.get((int(places[row]) >> 32, name), ())
        source[row] = min((end for end in ends if end[0] > places[row]), default=(0, row))[1]
    made = {}
    for name in parts.column_names:
        column = parts.column(name)
        if name not in _OF_COMPLETION or column.null_count == len(column):
            made[name] = operations.column(name)
            continue
        chosen = source[rows]
        if name in ("node", "ext"):
            said = np.asarray(pc.fill_null(pc.not_equal(column, ""), False))
            chosen = np.where(said[chosen], chosen, rows)
        made[name] = column.take(chosen)
    return pa.table(made)


_OF_COMPLETION: Final = frozenset(
    ("end", "type", "result", "error_code", "error_message", "node", "ext", "completed_ns")
)


def _each_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Processes as `OPERATIONS` has them, from their JSON texts."""
    if not pc.any(pc.starts_with(column, '"')).as_py():
        return column
    coded = column.dictionary_encode().unify_dictionaries()
    return pa.chunked_array(
        [
            pa.array([process_text(each) for each in chunk.dictionary.to_pylist()]).take(
                chunk.indices
            )
            for chunk in coded.chunks
        ],
        pa.string(),
    )
