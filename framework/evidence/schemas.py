"""Evidence as Arrow tables, one schema a kind, derived from the dataclasses.

A table's columns are the fields of its kind, the common ones first, so that a run can be a handful
of Parquet files that are read without knowing who wrote them.
"""

import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import repeat
from operator import attrgetter
from typing import (
    Any,
    Final,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import pyarrow as pa

from framework.evidence.kinds import COMMON, Evidence, own_fields
from framework.history.plain import plain_values
from framework.history.texts import as_text

T = TypeVar("T")

_PLAIN: Final[Mapping[Any, pa.DataType]] = {
    int: pa.int64(),
    str: pa.string(),
    bool: pa.bool_(),
    float: pa.float64(),
}


def schema(kind: type[Evidence]) -> pa.Schema:
    """The columns of a table of this kind."""
    return pa.schema([pa.field(each.name, each.type, each.null) for each in _columns(kind)])


def table_of(kind: type[Evidence], rows: Sequence[Evidence]) -> pa.Table:
    """Rows of one kind as a table."""
    arrays = []
    for each in _columns(kind):
        values: Iterable[Any] = map(attrgetter(each.name), rows)
        if each.to_arrow is not None:
            values = map(each.to_arrow, values)
        arrays.append(_array(list(values), each.type))
    return pa.Table.from_arrays(arrays, schema=schema(kind))


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # JSON allows lone surrogates, Arrow does not
        plain = [as_text(value) if isinstance(value, str) else value for value in values]
        return pa.array(plain, kind)


def rows_of(kind: type[Evidence], table: pa.Table) -> list[Evidence]:
    """A table's rows; what of the columns is missing has the default."""
    columns = [each for each in _columns(kind) if each.name in table.column_names]
    if not _is_plain(kind) or len(columns) < len(_columns(kind)):
        return _constructed(kind, columns, table)
    made = list(map(object.__new__, repeat(kind, len(table))))
    for each in columns:
        values = _read(each, table.column(each.name))
        deque(map(getattr(kind, each.name).__set__, made, values), maxlen=0)
    return made


def _is_plain(kind: type[Evidence]) -> bool:
    """Whether an object is its slots: then they are filled column by column, in a quarter of the
    time that a frozen dataclass takes to construct."""
    return not hasattr(kind, "__post_init__") and not kind.__dictoffset__


def _constructed(
    kind: type[Evidence], columns: Sequence["_Column"], table: pa.Table
) -> list[Evidence]:
    names = [each.name for each in columns]
    values = [_read(each, table.column(each.name)) for each in columns]
    return [kind(**dict(zip(names, row, strict=True))) for row in zip(*values, strict=True)]


def _read(column: "_Column", values: pa.ChunkedArray) -> Iterable[Any]:
    plain = plain_values(values)
    return plain if column.from_arrow is None else map(column.from_arrow, plain)


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of a kind. `to_arrow`, `from_arrow`: None where the value is the same in both."""

    name: str
    type: pa.DataType
    null: bool
    to_arrow: Callable[[Any], Any] | None
    from_arrow: Callable[[Any], Any] | None


_COLUMNS: Final[dict[type, tuple[_Column, ...]]] = {}


def _columns(kind: type[Evidence]) -> tuple[_Column, ...]:
    if kind not in _COLUMNS:
        hints = get_type_hints(kind)
        names = (*COMMON, *own_fields(kind))
        _COLUMNS[kind] = tuple(_column(name, hints[name]) for name in names)
    return _COLUMNS[kind]


def _column(name: str, hint: Any) -> _Column:
    null = get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)
    if null:
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    hint = _plain_type(hint)
    if hint in _PLAIN:
        return _Column(name, _PLAIN[hint], null, None, None)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (Ellipsis,):
        item = _plain_type(get_args(hint)[0])
        if item in _PLAIN:
            return _Column(name, pa.list_(_PLAIN[item]), null, None, _tuple)
        if is_dataclass(item) and isinstance(item, type):
            return _struct_list(name, item, null)
    raise TypeError(f"{name}: {hint} has no place in a table")


def _plain_type(hint: Any) -> Any:
    """What a value of this type is at run time."""
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    return str if get_origin(hint) is Literal else hint


def _struct_list(name: str, item: type[Any], null: bool) -> _Column:
    """A tuple of small dataclasses with plain fields."""
    hints = get_type_hints(item)
    names = [each.name for each in fields(item)]
    struct = pa.struct([pa.field(each, _PLAIN[_plain_type(hints[each])]) for each in names])

    def to_arrow(values: Iterable[Any] | None) -> list[dict[str, Any]] | None:
        if values is None:
            return None
        return [{each: getattr(value, each) for each in names} for value in values]

    def from_arrow(values: Iterable[Mapping[str, Any]] | None) -> tuple[Any, ...] | None:
        return None if values is None else tuple(item(**value) for value in values)

    return _Column(name, pa.list_(struct), null, to_arrow, from_arrow)


def _tuple(values: Iterable[T] | None) -> tuple[T, ...] | None:
    return None if values is None else tuple(values)
