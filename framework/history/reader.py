"""Reading a history, from anyone: JSON Lines, plain or gzipped, or Parquet.

What is wrong ends the reading with one `UsageError` that names file, line number, what is wrong
and what would be right. One fault is forgiven: a last line without its newline that is not whole
JSON is what a killed writer leaves. It is left out, a note says so, and the operation that it
would have completed stays pending.

Histories are read in ranges, as columns. Only where a range turns out to be malformed is it read
again, event by event, to say what is wrong.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

import pyarrow as pa

from framework.errors import EngineError, UsageError
from framework.history.assemble import assemble, indexed, without_observers
from framework.history.borders import Before, Border, first_refused
from framework.history.event import Event, Json, Recorded
from framework.history.events import process_id
from framework.history.finished import what_is_wrong
from framework.history.ingest import Part, ingest
from framework.history.lines import EXAMPLE, HalfLine, Malformed, decode, event_of, parse
from framework.history.pairing import Operation, Pairing, PairingError
from framework.history.plain import json_values, plain_values
from framework.history.ranges import RANGE_BYTES, Range, chunks, ranges, rows_of

SUFFIXES: Final = (".jsonl", ".jsonl.gz", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history that was read."""

    path: Path
    operations: Sequence[Operation]
    """Of clients, in the order of their invocations."""
    named: Sequence[Event]
    """Events of the nemesis."""
    notes: Sequence[str]
    """What was forgiven."""
    observations: Sequence[Operation] = ()
    """As `operations`, of observers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A history as columns."""

    operations: pa.Table
    """`OPERATIONS`, but for `run`; and `file`. Of clients. A process is a JSON text:
    `process_texts`."""
    observations: pa.Table
    """The same of observers."""
    nemesis: pa.Table
    """index, time_ns, type, f, value."""
    notes: Sequence[str]


def read(
    paths: Sequence[Path], *, file: int = 0, allow_empty: bool = False, size: int = RANGE_BYTES
) -> Read:
    """One history, which is a file, or Parquet files one after another. Raises `UsageError`.

    A history without events is refused unless `allow_empty`, which is for runs that were killed
    before their first operation.
    """
    return read_ranges(ranges(paths, file, size), allow_empty=allow_empty)


def read_ranges(sources: Sequence[Range], *, allow_empty: bool = False) -> Read:
    """The ranges of one history, all of them or the first ones. Raises `UsageError`."""
    parts = [part for source in sources for part in ingest(source)]
    notes = settled(sources, [part.border for part in parts], allow_empty=allow_empty)
    whole = assemble(pa.concat_tables([part.operations for part in parts]))
    operations, observations = without_observers(whole)
    return Read(
        operations=operations,
        observations=observations,
        nemesis=indexed(_nemesis(parts), [part.border for part in parts]),
        notes=notes,
    )


def read_history(path: Path, *, allow_empty: bool = False) -> History:
    """The operations of a history file as objects. Raises `UsageError`."""
    found = read([path], allow_empty=allow_empty)
    return History(
        path=path,
        operations=operations_of(found.operations),
        observations=operations_of(found.observations),
        named=[
            Event(
                type=row["type"],
                process="nemesis",
                f=row["f"],
                index=row["index"],
                time=row["time_ns"],
                value=json.loads(row["value"]),
            )
            for row in found.nemesis.to_pylist()
        ],
        notes=found.notes,
    )


def operations_of(table: pa.Table) -> list[Operation]:
    """The rows of `Read.operations` as objects."""
    return [
        operation
        for first in range(0, len(table), _TOGETHER)
        for operation in _some_of(table.slice(first, _TOGETHER))
    ]


_TOGETHER: Final = 16_384
"""So many operations are made together: lists of their fields take as much memory again."""


def _some_of(table: pa.Table) -> Iterator[Operation]:
    fields = {name: plain_values(table.column(name)) for name in _PLAIN}
    fields |= {name: json_values(table.column(name)) for name in _JSON}
    codes, messages = (plain_values(table.column(f"error_{name}")) for name in ("code", "message"))
    errors = zip(codes, messages, strict=True)
    fields["error"] = [None if error[0] is None else error for error in errors]
    for row in zip(*fields.values(), strict=True):
        yield Operation(**dict(zip(fields, row, strict=True)))


_PLAIN: Final = ("index", "end", "f", "type", "node", "invoked_ns", "completed_ns", "phase")
_JSON: Final = ("process", "key", "value", "result", "ext")


def settled(
    sources: Sequence[Range], borders: Sequence[Border], *, allow_empty: bool = False
) -> list[str]:
    """What was forgiven in a history, all of whose ranges were read. Raises `UsageError` for
    what was not."""
    borders = sorted(borders, key=lambda border: border.number)
    refused, before = first_refused(borders)
    if refused is not None:
        raise UsageError(refused.why or _why(sources, borders, refused, before))
    if not before.events and not allow_empty:
        path = sources[0].path
        raise UsageError(f"{path}: no events; a history has one JSON object a line: {EXAMPLE}")
    forgiven = [note for border in borders for note in border.notes]
    return forgiven + [_half(sources, borders, border) for border in borders if border.half]


def _half(sources: Sequence[Range], borders: Sequence[Border], border: Border) -> str:
    line = _lines_before(sources, borders, border) + border.lines
    return f"{_source(sources, border).path}:{line}: the last line is cut short; it was left out"


def _source(sources: Sequence[Range], border: Border) -> Range:
    return max((s for s in sources if s.number <= border.number), key=lambda each: each.number)


def _lines_before(sources: Sequence[Range], borders: Sequence[Border], border: Border) -> int:
    """Lines, or rows, of the same file before a range."""
    path = _source(sources, border).path
    return sum(
        each.lines
        for each in borders
        if each.number < border.number and _source(sources, each).path == path
    )


def _why(
    sources: Sequence[Range], borders: Sequence[Border], border: Border, before: Before
) -> str:
    """One line on what is wrong with a range that cannot stand where it does."""
    source = _source(sources, border)
    before.lines = _lines_before(sources, borders, border)
    if source.parquet:
        found = _wrong_row(rows_of(source), before)
        where = "row "
    else:
        found, where = _wrong_line(source, border.number, before), ""
    if found is None:
        raise EngineError(f"{source.path}: refused, but nothing in it is wrong: a defect of ours")
    return f"{source.path}:{where}{found[0]}: {found[1]}"


def _wrong_line(source: Range, number: int, before: Before) -> tuple[int, str] | None:
    with closing(chunks(source)) as found:
        chunk = next(chunk for place, chunk in found if place == number)
    lines = enumerate(BytesIO(chunk), before.lines + 1)
    return _wrong_event(
        ((place, parse(line)) if not line.isspace() else (place, None) for place, line in lines),
        before,
    )


def _wrong_row(table: pa.Table, before: Before) -> tuple[int, str] | None:
    rows = (row for batch in table.to_batches(max_chunksize=4_096) for row in batch.to_pylist())
    if "end" in table.column_names:
        return what_is_wrong(rows, before)
    return _wrong_event(enumerate(map(_fields, rows), before.lines + 1), before)


def _wrong_event(
    objects: Iterable[tuple[int, dict[str, Json] | None]], before: Before
) -> tuple[int, str] | None:
    """The number of the first line that no history could go on with, and what is wrong."""
    pairing = Pairing(
        Operation(index=call, process=json.loads(process), f=f, key=json.loads(key))
        for process, (call, f, key) in before.open.items()
    )
    index, now, place = before.events, before.now, before.lines
    events = iter(objects)
    while True:
        place += 1
        try:
            place, fields = next(events)
            if fields is None:
                continue
            event = event_of(fields, index, now)
            pairing.add(event)
        except (StopIteration, HalfLine):
            return None
        except (Malformed, PairingError) as error:
            return place, str(error)
        index += 1
        now = now if event.time is None else event.time


def _fields(row: Mapping[str, Recorded]) -> dict[str, Json]:
    """A row of `SCHEMA` as the object that a line has."""
    fields = {name: row[name] for name in ("index", "time", "node") if row.get(name) is not None}
    fields |= {name: row[name] for name in ("type", "f") if row[name] is not None}
    if row["process"] is not None:
        fields["process"] = json.loads(process_id(str(row["process"])))
    for name in ("key", "value", "ext"):
        if row.get(name) is not None:
            try:
                fields[name] = decode(row[name])
            except (TypeError, ValueError, RecursionError):
                raise Malformed(f"{name} is {row[name]!r:.80}; it must be JSON") from None
    return fields


def _nemesis(parts: Sequence[Part]) -> pa.Table:
    return pa.concat_tables([part.nemesis for part in parts])
