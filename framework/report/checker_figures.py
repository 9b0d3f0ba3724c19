"""A checker's figures as small tables instead of a list: `fault.1.lasted_s` and
`fault.2.lasted_s` are one column of two rows. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from framework.history.event import Json

_UNITS: Final = ("s", "ms", "ns", "bytes")


@dataclass(frozen=True, slots=True)
class Cell:
    value: Json
    share: float
    """Of the largest of its column (0 to 1): the length of its bar."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    cells: tuple[Cell | None, ...]
    """One a column; None: there is no such figure."""


@dataclass(frozen=True, slots=True)
class FigureTable:
    name: str
    """What all rows belong to; empty: the rows say it."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerFigures:
    plain: Mapping[str, Json] = field(default_factory=dict)
    """Figures that stand alone, by what they are called on the page."""
    tables: tuple[FigureTable, ...] = ()


def arranged(figures: Mapping[str, Json]) -> CheckerFigures:
    """Names with a dot are ROW.COLUMN, at the last dot; rows with a column in common are one
    table. A single row stands on end."""
    plain: dict[str, Json] = {}
    rows: dict[str, dict[str, Json]] = {}
    for name, value in figures.items():
        row, dot, column = name.rpartition(".")
        if dot:
            rows.setdefault(row, {})[column] = value
        else:
            plain[label(name)] = value
    families: list[dict[str, dict[str, Json]]] = []
    for row, cells in rows.items():
        alike = (each for each in families if any(cells.keys() & own for own in each.values()))
        family = next(alike, None)
        if family is None:
            families.append({row: cells})
        else:
            family[row] = cells
    return CheckerFigures(plain=plain, tables=tuple(map(_table, families)))


def label(name: str) -> str:
    """`worst_recovery_s` as it is read: "worst recovery, s"."""
    stem, _, unit = name.rpartition("_")
    words = f"{stem}, {unit}" if stem and unit in _UNITS else name
    return words.replace("_", " ")


def _table(family: Mapping[str, Mapping[str, Json]]) -> FigureTable:
    if len(family) == 1:
        ((name, cells),) = family.items()
        return _drawn(name, {column: {"": value} for column, value in cells.items()})
    return _drawn("", family)


def _drawn(name: str, rows: Mapping[str, Mapping[str, Json]]) -> FigureTable:
    columns = tuple(dict.fromkeys(column for cells in rows.values() for column in cells))
    most = {
        column: max((_size(cells.get(column)) for cells in rows.values()), default=0.0)
        for column in columns
    }
    return FigureTable(
        label(name),
        tuple(map(label, columns)),
        tuple(
            Row(
                row,
                tuple(
                    Cell(cells[column], _size(cells[column]) / most[column] if most[column] else 0)
                    if column in cells
                    else None
                    for column in columns
                ),
            )
            for row, cells in rows.items()
        ),
    )


def _size(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return abs(float(value))
