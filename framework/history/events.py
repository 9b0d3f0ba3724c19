"""The events of a range of a history as columns, from JSON Lines or from our sealed Parquet.

Both ways end in the same columns. Lines go through `framework.history.scan`; what that does not
understand goes through `framework.history.reader`, line by line, which has the last word.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from framework.history import scan
from framework.history.columns import SCHEMA
from framework.history.event import EVENT_TYPES, NEMESIS, Event, Json, observer_of
from framework.history.json_columns import Texts, forms, in_form, texts
from framework.history.json_walk import ABSENT, CANONICAL
from framework.history.lines import HalfLine, Malformed, decode, error_of, event_of, parse
from framework.history.texts import as_json, as_text

NEMESIS_ID: Final = json.dumps(NEMESIS)
OBSERVER_IDS: Final = json.dumps(observer_of("")).removesuffix('"')
"""How they all begin."""
_NEWLINE: Final = ord("\n")
_TYPES: Final = {kind: number for number, kind in enumerate(EVENT_TYPES)}


@dataclass(frozen=True, slots=True)
class Events:
    """Columns of equal length, in the order of the events."""

    types: NDArray[np.int8]
    """By place in `EVENT_TYPES`."""
    times: NDArray[np.int64]
    timed: NDArray[np.bool_]
    processes: pa.DictionaryArray
    """The JSON text of each process: `0` and `"0"` are two. Dictionaries as of `coded`."""
    f: pa.DictionaryArray
    key: pa.DictionaryArray
    """Canonical JSON, as `as_json` makes it; so are values and `ext`. Null: absent."""
    value: pa.Array
    error_code: pa.Array
    error_message: pa.Array
    node: pa.Array
    ext: pa.Array
    base: int = -1
    """The index that the first event has by its own word, -1: none of them says."""
    lines: int = 0
    half: bool = False
    """The last line is cut short, and was left out."""

    def __len__(self) -> int:
        return len(self.types)


class NotThis(Exception):
    """Something in a range is malformed; where and what, the reader says."""


def from_lines(chunk: bytes) -> Events:
    """The events of whole lines (the last one of a file may lack its newline). Raises `NotThis`."""
    try:
        found = _scanned(chunk) if chunk else None
    except ValueError:  # a number that is too long: the reader knows the line
        found = None
    return _read(chunk) if found is None else found


def from_table(table: pa.Table) -> Events:
    """The events of rows of `framework.history.columns.SCHEMA`. Raises `NotThis`."""
    try:
        columns = {field.name: _column(table, field) for field in SCHEMA}
    except pa.ArrowException:
        raise NotThis from None
    kinds, processes, f = (coded(columns[name]) for name in ("type", "process", "f"))
    if kinds.null_count or processes.null_count or f.null_count or _has(f, ""):
        raise NotThis
    if not set(kinds.dictionary.to_pylist()) <= _TYPES.keys():
        raise NotThis
    number = np.array([_TYPES[kind] for kind in kinds.dictionary.to_pylist()], np.int8)
    timed = np.asarray(columns["time"].is_valid())
    times = np.asarray(pc.fill_null(columns["time"], 0))
    given = np.flatnonzero(np.asarray(columns["index"].is_valid()))
    bases = np.asarray(columns["index"].take(pa.array(given))) - given
    if (np.diff(times[timed]) < 0).any() or (bases != bases[:1]).any() or (bases < 0).any():
        raise NotThis
    return Events(
        types=number[np.asarray(kinds.indices)],
        times=times,
        timed=timed,
        processes=_recoded(processes, process_id),
        f=f,
        key=_canonical_keys(coded(columns["key"])),
        value=canonical(columns["value"]),
        error_code=columns["error_code"],
        error_message=columns["error_message"],
        node=columns["node"],
        ext=objects(columns["ext"]),
        base=int(bases[0]) if len(bases) else -1,
        lines=len(table),
    )


def _column(table: pa.Table, field: pa.Field) -> pa.Array:
    """A column in the type that it should have, or as a dictionary; null where there is none."""
    if field.name not in table.column_names:
        return pa.nulls(len(table), field.type)
    column = table.column(field.name)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(field.type)
    return column.combine_chunks()


def coded(texts: pa.Array) -> pa.DictionaryArray:
    """A column as numbers of its distinct texts, each of which occurs. Null stays null."""
    if pa.types.is_dictionary(texts.type):
        found = texts.dictionary
        numbers = np.asarray(texts.indices.drop_null())
        occurs = np.bincount(numbers, minlength=len(found)) > 0
        if occurs.all() and not found.null_count and len(found.unique()) == len(found):
            return texts
        texts = texts.cast(pa.string())
    return texts.dictionary_encode()


def _has(texts: pa.DictionaryArray, text: str) -> bool:
    return text in texts.dictionary.to_pylist()


def _canonical_keys(keys: pa.DictionaryArray) -> pa.DictionaryArray:
    """Raises `NotThis` where one is no JSON."""
    known = canonical(keys.dictionary)
    return keys if known.equals(keys.dictionary) else coded(known.take(keys.indices))


def process_text(identity: str) -> str:
    """A process as `OPERATIONS` has it."""
    name = json.loads(identity) if identity.startswith('"') else identity
    return as_text(name) or ""


def process_ids(texts: pa.Array) -> pa.Array:
    """JSON texts of processes that were written as plain text: `3`, `"client a"`."""
    return _each(texts, process_id)


def process_id(text: str) -> str:
    """The JSON text of a process that was written as plain text."""
    return text if text.lstrip("-").isdecimal() and str(int(text)) == text else json.dumps(text)


def _scanned(chunk: bytes) -> Events | None:
    if not chunk.endswith(b"\n"):
        chunk += b"\n"
    if not chunk.isascii():
        try:
            chunk.decode()
        except UnicodeDecodeError:
            return None
    text = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    room = len(ends)
    begin = np.empty((scan.TEXTS, room), np.int64)
    end = np.empty((scan.TEXTS, room), np.int64)
    form = np.empty((scan.TEXTS, room), np.uint8)
    types, timed = np.empty(room, np.int8), np.empty(room, np.bool_)
    times = np.empty(room, np.int64)
    size, base = scan.scan(text, ends, begin, end, form, types, times, timed)
    if size < 0:
        return None

    def column(which: int) -> pa.Array:
        found = Texts(text, begin[which, :size], end[which, :size])
        return in_form(found, form[which, :size], _normal)

    errors = coded(column(scan.ERROR))
    codes = [error_of(json.loads(error)) for error in errors.dictionary.to_pylist()]
    return Events(
        types[:size],
        times[:size],
        timed[:size],
        coded(column(scan.PROCESS)),
        _recoded(coded(column(scan.OPERATION)), json.loads),
        coded(column(scan.KEY)),
        column(scan.VALUE),
        _replaced(errors, [code and code[0] for code in codes]),
        _replaced(errors, [code and code[1] for code in codes]),
        _each(column(scan.NODE), json.loads),
        column(scan.EXT),
        base,
        room,
    )


def _normal(text: str) -> str | None:
    normal = as_json(decode(text))
    return None if normal == "null" else normal


def canonical(column: pa.Array) -> pa.Array:
    """JSON texts of a column in canonical form; null for `null`. Raises `NotThis` where one is no
    JSON."""
    if column.null_count == len(column):
        return column
    found = texts(column)
    form = forms(found)
    if (form == CANONICAL).all():
        return column
    found.end[form == ABSENT] = -1
    try:
        return in_form(found, form, _normal)
    except (ValueError, RecursionError):
        raise NotThis from None


def objects(column: pa.Array) -> pa.Array:
    """The same of a column of JSON objects. Raises `NotThis` where one is something else."""
    column = canonical(column)
    if not pc.all(pc.starts_with(column, "{"), min_count=0).as_py():
        raise NotThis
    return column


def _each(texts: pa.Array, change: Callable[[str], str | None]) -> pa.Array:
    """Another text for each, computed once for equal ones."""
    known = coded(texts)
    return _replaced(known, [change(text) for text in known.dictionary.to_pylist()])


def _recoded(known: pa.DictionaryArray, change: Callable[[str], str | None]) -> pa.DictionaryArray:
    """The same, as a dictionary."""
    new = _texts_of([change(text) for text in known.dictionary.to_pylist()])
    return coded(pa.DictionaryArray.from_arrays(known.indices, new))


def _replaced(known: pa.DictionaryArray, texts: Sequence[str | None]) -> pa.Array:
    return _texts_of(texts).take(known.indices)


def _texts_of(values: Sequence[str | None]) -> pa.Array:
    return pa.array([as_text(value) for value in values], pa.string())


def _read(chunk: bytes) -> Events:
    """Line by line, as the reader does, but for what only the lines before can tell."""
    found: list[Event] = []
    base, now, half = -1, None, False
    lines = list(BytesIO(chunk))
    try:
        for line in lines:
            if line.isspace():
                continue
            fields = parse(line)
            index = fields.get("index")
            if base < 0 and type(index) is int and index >= len(found):
                base = index - len(found)
            event = event_of(fields, max(base, 0) + len(found), now)
            now = now if event.time is None else event.time
            found.append(event)
    except HalfLine:
        half = True
    except Malformed:
        raise NotThis from None
    return _columns(found, base, len(lines), half)


def _columns(found: Sequence[Event], base: int, lines: int, half: bool) -> Events:
    def jsons(values: Sequence[Json]) -> pa.Array:
        return pa.array(
            [None if value is None else as_json(value) for value in values], pa.string()
        )

    return Events(
        np.array([_TYPES[event.type] for event in found], np.int8),
        np.array([event.time or 0 for event in found], np.int64),
        np.array([event.time is not None for event in found], np.bool_),
        coded(jsons([event.process for event in found])),
        coded(_texts_of([event.f for event in found])),
        coded(jsons([event.key for event in found])),
        jsons([event.value for event in found]),
        _texts_of([event.error and event.error[0] for event in found]),
        _texts_of([event.error and event.error[1] for event in found]),
        _texts_of([event.node for event in found]),
        jsons([event.ext for event in found]),
        base,
        lines,
        half,
    )
