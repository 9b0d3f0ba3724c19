"""Histories that come as operations: Parquet with the columns of `OPERATIONS`.

`index` and `end` are the indices of an operation's two events in the history that it was made from;
rows are in the order of `index`. Columns that say nothing may be missing.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.history.borders import Before, Border, Call
from framework.history.columns import OPERATIONS
from framework.history.event import NEMESIS, Recorded
from framework.history.events import (
    NEMESIS_ID,
    NotThis,
    canonical,
    objects,
    process_id,
    process_ids,
)
from framework.history.lines import decode
from framework.history.ranges import Range

NEVER: Final = (1 << 63) - 1
_OUTCOMES: Final = ("ok", "fail", "info")
_NO_JSON: Final = object()
_NEEDED: Final = ("index", "process", "f", "type")
_JSON: Final = ("key", "value", "result")


def from_operations(source: Range, table: pa.Table) -> tuple[dict[str, pa.Array], Border]:
    """The columns of a range, each as `OPERATIONS` has it, and its border. Raises `NotThis`."""
    columns = _typed(table)
    if any(columns[name].null_count for name in _NEEDED):
        raise NotThis
    if not set(columns["type"].unique().to_pylist()) <= set(_OUTCOMES):
        raise NotThis
    index = np.asarray(columns["index"])
    ends = pc.fill_null(columns["end"], NEVER)
    end = np.asarray(ends)
    open_ended = end == NEVER
    if (np.diff(index) <= 0).any() or (end <= index).any() or (len(index) and index[0] < 0):
        raise NotThis
    info = np.asarray(pc.equal(columns["type"], "info"))
    if (open_ended & ~info).any() or pc.any(pc.equal(columns["f"], "")).as_py():
        raise NotThis
    for name in _JSON:
        if name in columns:
            columns[name] = canonical(columns[name])
    if "ext" in columns:
        columns["ext"] = objects(columns["ext"])
    for name in ("key", "value"):
        columns[name] = pc.fill_null(columns[name], "null") if name in columns else None
    result = columns.get("result", pa.nulls(len(index), pa.string()))
    columns["result"] = pc.if_else(pa.array(open_ended), None, pc.fill_null(result, "null"))
    phase = columns.get("phase", pa.nulls(len(index), pa.string()))
    columns["phase"] = pc.fill_null(phase, "main")
    columns["process"] = process_ids(columns["process"])
    if NEMESIS_ID in columns["process"].unique().to_pylist():
        raise NotThis
    begin, last = _turns(columns["process"], index, end)
    border = Border(
        file=source.file,
        number=source.number,
        whole=True,
        events=len(index),
        lines=len(index),
        first_ns=int(index[0]) if len(index) else None,
        last_ns=int(index[-1]) if len(index) else None,
        begin={} if source.alone else begin,
        open={} if source.alone else last,
    )
    return {name: column for name, column in columns.items() if column is not None}, border


def _typed(table: pa.Table) -> dict[str, pa.Array]:
    fields = {field.name: field for field in OPERATIONS}
    try:
        return {
            name: table.column(name).cast(fields[name].type).combine_chunks()
            for name in table.column_names
            if name != "run"
        }
    except pa.ArrowException:
        raise NotThis from None


def _turns(
    processes: pa.Array, index: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[dict[str, int], dict[str, Call]]:
    """When each process begins, and until when its last operation is open. Raises `NotThis`
    where a process has two open at once."""
    coded = processes.dictionary_encode()
    code = np.asarray(coded.indices)
    order = np.lexsort((index, code))
    same = code[order][1:] == code[order][:-1]
    if (same & (end[order][:-1] > index[order][1:])).any():
        raise NotThis
    heads = order[np.flatnonzero(np.concatenate(([True], ~same)))] if len(order) else order
    tails = order[np.flatnonzero(np.concatenate((~same, [True])))] if len(order) else order
    names = coded.dictionary.to_pylist()
    begin = {names[code[row]]: int(index[row]) for row in heads}
    return begin, {names[code[row]]: (int(end[row]), "", "") for row in tails}


def what_is_wrong(rows: Iterator[dict[str, Recorded]], before: Before) -> tuple[int, str] | None:
    """The first row that is no operation, or that cannot follow the ones before it: its number,
    from 1, and what is wrong."""
    now = before.now
    busy = {name: call[0] for name, call in before.open.items()}
    for number, row in enumerate(rows, before.lines + 1):
        if wrong := _wrong(row, now, busy):
            return number, wrong
        now = row["index"]
        busy[_name(row)] = NEVER if row["end"] is None else row["end"]
    return None


def _wrong(row: dict[str, Recorded], now: int | None, busy: dict[str, int]) -> str:
    index, end = row["index"], row["end"]
    if type(index) is not int or index < 0:
        return f"index is {index!r}; it must be the index of the invocation, from 0"
    if now is not None and index <= now:
        return f"index is {index} after {now}; rows are in the order of index, which rises"
    if end is not None and (type(end) is not int or end <= index):
        return f"end is {end!r} with index {index}; it must be a later index, or null"
    if row["type"] not in _OUTCOMES:
        return f"type is {row['type']!r}; it must be one of {', '.join(_OUTCOMES)}"
    if end is None and row["type"] != "info":
        return f"type is {row['type']} without an end; only an info may have none"
    if not isinstance(row["f"], str) or not row["f"]:
        return f"f is {row['f']!r}; it must be the operation's name"
    if row["process"] is None:
        return "process is missing; it must be an integer or a name"
    if str(row["process"]) == NEMESIS:
        return "process is the nemesis; a table of operations holds those of clients only"
    for name in _JSON:
        if (text := row.get(name)) is not None and _read(text) is _NO_JSON:
            return f"{name} is {text!r:.80}; it must be JSON"
    if (text := row.get("ext")) is not None and not isinstance(_read(text), dict | None):
        return f"ext is {text!r:.80}; it must be a JSON object"
    if busy.get(_name(row), -1) > index:
        return (
            f"process {row['process']} invokes {row['f']!r} at index {index} while its operation "
            "before is open; a process has at most one open operation"
        )
    return ""


def _name(row: dict[str, Recorded]) -> str:
    return process_id(str(row["process"]))


def _read(text: Recorded) -> Recorded:
    """What a JSON text says, or `_NO_JSON`."""
    try:
        return decode(text)
    except (TypeError, ValueError, RecursionError):
        return _NO_JSON
