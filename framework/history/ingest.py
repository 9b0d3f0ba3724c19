"""A range of a history into the columns of `OPERATIONS`, knowing nothing of other ranges.

`ingest` turns a range into operations whose indices count from its own beginning. `assemble`
puts the operations of any ranges together: it adds what the ranges before hold, and closes
operations that were open at a border with the completions that came later. `borders` finds what
only several ranges together can show to be wrong.

So that every share of a table can be assembled by itself, wherever it is, two more kinds of rows
travel with the operations (column `role`): for each range of several, how many events it has,
and the completions in it whose invocations are in ranges before (their `key` is null where they
do not repeat it).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.history.borders import Border, Call
from framework.history.columns import OPERATIONS
from framework.history.event import EVENT_TYPES
from framework.history.events import NEMESIS_ID, Events, NotThis, from_lines, from_table
from framework.history.finished import from_operations
from framework.history.pair_kernel import pair
from framework.history.pairing import PHASE
from framework.history.ranges import Range, chunks, rows_of

OPERATION, EVENTS, COMPLETION = range(3)
"""The roles of rows."""
PART: Final = pa.schema(
    [
        pa.field("file", pa.int64()),
        pa.field("range", pa.int64()),
        pa.field("role", pa.int8()),
        *(each for each in OPERATIONS if each.name != "run"),
    ]
)
"""What `ingest` makes: `index` and `end` count the events of the range; `process` is JSON text."""
_OUTCOMES: Final = pa.array(["ok", "fail", "info"])
_PHASES: Final = pa.array(["main", "final"])
_FINAL_MARK: Final = '"final"'


NEMESIS_PART: Final = pa.schema(
    {
        "file": pa.int64(),
        "range": pa.int64(),
        "index": pa.int64(),
        "time_ns": pa.int64(),
        "type": pa.string(),
        "f": pa.string(),
        "value": pa.string(),
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """What a range holds."""

    operations: pa.Table
    """`PART`; rows of other roles come last."""
    border: Border
    nemesis: pa.Table = field(default_factory=NEMESIS_PART.empty_table)
    """`NEMESIS_PART`."""


def ingest(source: Range) -> Iterator[Part]:
    """The parts of a range: one, or as many as a compressed file has. Raises `UsageError` where
    the file cannot be read."""
    if source.parquet:
        yield _part(source, rows_of(source))
        return
    for number, chunk in chunks(source):
        yield _part(replace(source, number=number), chunk)


def _part(source: Range, content: bytes | pa.Table) -> Part:
    try:
        if isinstance(content, bytes):
            events = from_lines(content)
        elif "end" in content.column_names:
            return _finished(source, content)
        else:
            events = from_table(content)
        return _paired(source, events)
    except NotThis:
        border = Border(file=source.file, number=source.number, bad=True)
        return Part(PART.empty_table(), border)


def _finished(source: Range, table: pa.Table) -> Part:
    """Rows that are operations already. Raises `NotThis`."""
    columns, border = from_operations(source, table)
    rows = _table(source, OPERATION, len(table), **columns)
    return Part(rows, border)


def _paired(source: Range, events: Events) -> Part:
    """Operations of a range, what is left over at its borders, and what the nemesis did. Raises
    `NotThis`."""
    process = np.asarray(events.processes.indices)
    known = events.processes.dictionary.to_pylist()
    nemesis = known.index(NEMESIS_ID) if NEMESIS_ID in known else -1
    keys = pc.fill_null(events.key.indices, -1)
    f = events.f.indices
    completion = np.empty(len(events), np.int64)
    first, pending = np.empty(len(known), np.int64), np.empty(len(known), np.int64)
    if not pair(
        events.types, process, nemesis, np.asarray(f), np.asarray(keys), completion, first, pending
    ):
        raise NotThis
    named = np.flatnonzero(process == nemesis)
    marks = named[
        np.asarray(
            pc.fill_null(
                pc.and_(
                    pc.equal(_texts(events.f, named), PHASE),
                    pc.equal(events.value.take(named), _FINAL_MARK),
                ),
                False,
            )
        ).astype(bool)
    ]
    final_at = int(marks[0]) if len(marks) else len(events)
    calls = np.flatnonzero((events.types == 0) & (process != nemesis))
    clients = np.flatnonzero(first >= 0)
    leads = clients[events.types[first[clients]] == 0]
    late = clients[events.types[first[clients]] != 0]
    opens = clients[pending[clients] >= 0]

    def calls_of(which: NDArray[np.int64], rows: NDArray[np.int64]) -> dict[str, Call]:
        key = pc.fill_null(_texts(events.key, rows), "null").to_pylist()
        called = zip(rows.tolist(), events.f.take(rows).to_pylist(), key, strict=True)
        return dict(zip([known[each] for each in which], called, strict=True))

    stamps = events.times[events.timed]
    border = Border(
        file=source.file,
        number=source.number,
        events=len(events),
        lines=events.lines,
        base=events.base,
        first_ns=int(stamps[0]) if len(stamps) else None,
        last_ns=int(stamps[-1]) if len(stamps) else None,
        final=len(marks) > 0,
        half=events.half,
        begin={} if source.alone else {known[each]: int(first[each]) for each in leads},
        late=calls_of(late, first[late]),
        open={} if source.alone else calls_of(opens, pending[opens]),
    )
    tables = [_operations(source, events, calls, completion[calls], calls > final_at)]
    if not source.alone:
        tables += [_completions(source, events, first[late]), count_of(border)]
    return Part(pa.concat_tables(tables), border, _nemesis(source, events, named))


def _operations(
    source: Range,
    events: Events,
    calls: NDArray[np.int64],
    ends: NDArray[np.int64],
    final: NDArray[np.bool_],
) -> pa.Table:
    has = ends >= 0
    end = pa.array(ends, mask=~has)
    outcome = np.where(has, events.types[ends] - 1, 2) if len(ends) else ends
    node, ext = events.node.take(end), events.ext.take(end)
    return _table(
        source,
        OPERATION,
        len(calls),
        index=pa.array(calls),
        end=end,
        process=_texts(events.processes, calls),
        f=_texts(events.f, calls),
        key=pc.fill_null(_texts(events.key, calls), "null"),
        value=pc.fill_null(events.value.take(calls), "null"),
        type=_OUTCOMES.take(outcome),
        result=_if(has, pc.fill_null(events.value.take(end), "null")),
        error_code=events.error_code.take(end),
        error_message=events.error_message.take(end),
        node=pc.coalesce(_if(pc.not_equal(node, ""), node), events.node.take(calls)),
        ext=pc.coalesce(ext, events.ext.take(calls)),
        invoked_ns=pa.array(events.times[calls], mask=~events.timed[calls]),
        completed_ns=pa.array(events.times[ends], mask=~(has & events.timed[ends]))
        if len(ends)
        else None,
        phase=_PHASES.take(final.astype(np.int8)),
    )


def _completions(source: Range, events: Events, rows: NDArray[np.int64]) -> pa.Table:
    return _table(
        source,
        COMPLETION,
        len(rows),
        index=pa.array(rows),
        end=pa.array(rows),
        process=_texts(events.processes, rows),
        key=_texts(events.key, rows),
        type=_OUTCOMES.take(events.types[rows] - 1),
        result=pc.fill_null(events.value.take(rows), "null"),
        error_code=events.error_code.take(rows),
        error_message=events.error_message.take(rows),
        node=events.node.take(rows),
        ext=events.ext.take(rows),
        completed_ns=pa.array(events.times[rows], mask=~events.timed[rows]),
    )


def count_of(border: Border) -> pa.Table:
    """What assembling needs to know of a range that has neighbours: how many events it has."""
    phase = pa.array(["final" if border.final else "main"])
    return _table(
        border, EVENTS, 1, index=pa.array([0 if border.whole else border.events]), phase=phase
    )


def _texts(column: pa.DictionaryArray, rows: NDArray[np.int64]) -> pa.Array:
    return column.dictionary.take(column.indices.take(rows))


def _if(condition: NDArray[np.bool_] | pa.Array, column: pa.Array) -> pa.Array:
    """The column, null where the condition does not hold."""
    return pc.if_else(condition, column, pa.scalar(None, column.type))


def _table(source: Range | Border, role: int, rows: int, **columns: pa.Array | None) -> pa.Table:
    """Rows of `PART`; null where nothing is given."""
    place = {"file": source.file, "range": source.number, "role": role}
    found = []
    for each in PART:
        column = columns.get(each.name)
        if each.name in place:
            column = pa.repeat(pa.scalar(place[each.name], each.type), rows)
        elif column is None:
            column = pa.nulls(rows, each.type)
        found.append(column)
    return pa.Table.from_arrays(found, schema=PART)


def _nemesis(source: Range, events: Events, rows: NDArray[np.int64]) -> pa.Table:
    if not len(rows):
        return NEMESIS_PART.empty_table()
    return pa.Table.from_arrays(
        [
            pa.repeat(pa.scalar(source.file, pa.int64()), len(rows)),
            pa.repeat(pa.scalar(source.number, pa.int64()), len(rows)),
            pa.array(rows),
            pa.array(events.times[rows], mask=~events.timed[rows]),
            pa.array(EVENT_TYPES).take(events.types[rows]),
            _texts(events.f, rows),
            pc.fill_null(events.value.take(rows), "null"),
        ],
        schema=NEMESIS_PART,
    )
