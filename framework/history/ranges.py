"""Where a history can be cut: ranges of lines or of rows that are read apart from each other."""

import gzip
import zlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from framework.errors import UsageError
from framework.history.columns import OPERATIONS, SCHEMA

RANGE_BYTES: Final = 24 << 20
RANGE_ROWS: Final = 1 << 18
"""Of Parquet; of which row groups are the least that can be read."""
_REPEATED: Final = ("type", "process", "f", "key")
"""Columns of events with few texts, each of them many times."""
_FORMER_INDEX: Final = "op"
"""What `index` of operations was called once; events never had such a column."""


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a history: bytes of JSON Lines, or row groups of Parquet."""

    path: str
    file: int
    """Which history."""
    number: int
    """Its place among the ranges of the history. Where the ranges of a compressed file are found
    while it is read, the first of them."""
    begin: int = 0
    end: int = 0
    alone: bool = True
    """No other range belongs to the history."""

    @property
    def parquet(self) -> bool:
        return self.path.endswith(".parquet")

    @property
    def compressed(self) -> bool:
        return self.path.endswith(".gz")


def ranges(paths: Sequence[Path], file: int, size: int = RANGE_BYTES) -> list[Range]:
    """The ranges of one history, which is a file, or Parquet files one after another. Raises
    `UsageError`."""
    found: list[Range] = []
    for path in paths:
        if path.suffix == ".parquet":
            cuts = _row_groups(path)
        elif path.suffix == ".gz":
            cuts = [(0, 0)]
        else:
            cuts = _cuts(path, size)
        found += [Range(str(path), file, 0, begin, end) for begin, end in cuts]
    alone = len(found) == 1 and not found[0].compressed
    return [replace(each, number=number, alone=alone) for number, each in enumerate(found)]


def chunks(source: Range) -> Generator[tuple[int, bytes], None, None]:
    """The lines of a range of JSON Lines, with the number of each range. Raises `UsageError`."""
    try:
        with opened(source) as file:
            if not source.compressed:
                yield source.number, file.read(source.end - source.begin)
                return
            number, chunk = source.number, file.read(RANGE_BYTES)
            yield number, chunk + file.readline()  # of nothing, where there is nothing
            while chunk := file.read(RANGE_BYTES):
                number += 1
                yield number, chunk + file.readline()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{source.path}: not a whole gzip file: {error}") from None
    except OSError as error:
        raise UsageError(f"{source.path}: cannot be read: {error.strerror or error}") from None


def opened(source: Range) -> BinaryIO:
    """The file of JSON Lines, at the beginning of the range."""
    if source.compressed:
        return cast(BinaryIO, gzip.open(source.path, "rb"))
    file = Path(source.path).open("rb")  # noqa: SIM115 - the caller closes it
    file.seek(source.begin)
    return file


def _cuts(path: Path, size: int) -> list[tuple[int, int]]:
    """Where a file of lines can be cut. Raises `UsageError`."""
    try:
        whole = path.stat().st_size
        with path.open("rb") as file:
            cuts, begin = [], 0
            while begin + size < whole:
                file.seek(begin + size)
                file.readline()
                cuts.append((begin, file.tell()))
                begin = file.tell()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    return [*cuts, (begin, whole)] if begin < whole or not cuts else cuts


def _row_groups(path: Path) -> list[tuple[int, int]]:
    """Row groups, some together. Raises `UsageError`."""
    with parquet(path) as file:
        found, begin, rows = [], 0, 0
        for group in range(file.num_row_groups):
            rows += file.metadata.row_group(group).num_rows
            if rows >= RANGE_ROWS:
                found.append((begin, group + 1))
                begin, rows = group + 1, 0
        if begin < file.num_row_groups or not found:
            found.append((begin, file.num_row_groups))
        return found


def parquet(path: Path | str) -> pq.ParquetFile:
    """The file. Raises `UsageError` for what is no Parquet file of a history."""
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path | str, error: Exception) -> UsageError:
    why = str(error).splitlines()[0]
    return UsageError(f"{path}: not a Parquet file, or cannot be read: {why}")


def rows_of(source: Range) -> pa.Table:
    """The rows of a range of Parquet, under today's names of their columns; of events, some columns
    as dictionaries. Raises `UsageError`."""
    with parquet(source.path) as file:
        columns, metadata = _columns_of(source.path, file), file.metadata
    repeated = [] if "end" in columns else [name for name in _REPEATED if name in columns]
    groups = list(range(source.begin, source.end))
    try:
        with pq.ParquetFile(source.path, metadata=metadata, read_dictionary=repeated) as file:
            table = file.read_row_groups(groups, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(source.path, error) from None
    names = ["index" if name == _FORMER_INDEX else name for name in table.column_names]
    return table.rename_columns(names)


def _columns_of(path: str, file: pq.ParquetFile) -> list[str]:
    """The columns of a history that a file has. Raises `UsageError` where it lacks one."""
    there = set(file.schema_arrow.names)
    index = _FORMER_INDEX if _FORMER_INDEX in there else "index"
    operations = "end" in there or _FORMER_INDEX in there
    needed = (index, "end", "process", "f", "type") if operations else ("type", "process", "f")
    missing = [name for name in needed if name not in there]
    if missing:
        raise UsageError(
            f"{path}: no column {', '.join(missing)}; a history in Parquet has the columns of "
            f"events ({', '.join(SCHEMA.names)}) or of operations (index, end, process, f, ...)"
        )
    names = (OPERATIONS if operations else SCHEMA).names
    wanted = [index if name == "index" else name for name in names]
    return [name for name in wanted if name in there]
