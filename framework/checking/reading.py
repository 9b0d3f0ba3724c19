"""A stored run as tables: what is looked at is read, of the sealed form (`sealing`) by kind."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.checking.observed import observed, restated
from framework.checking.runs import HISTORY, ledger_of, read_run
from framework.checking.sealing import (
    EVENTS,
    FAULTS,
    MANIFEST,
    NEMESIS,
    OBSERVATIONS,
    OPERATIONS,
    PLANNED,
    RECORDS,
)
from framework.evidence.lazy import LazyTable
from framework.evidence.narrow import WORTH
from framework.evidence.rows import ORDER
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.history.reader import operations_of, read
from framework.history.rows import OperationRows, Piece
from framework.plugins.checker import RunData, RunTables, Table

_ALONE: Final = {"use_threads": False}
"""Tasks have a core each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run is: its folder, and the folder of its sealed form."""

    run: str
    folder: str
    sealed: str

    def open(self) -> RunData:
        """Raises `UsageError` where it is not sealed, and is not what runs write."""
        if Path(self.sealed, MANIFEST).exists():
            return SealedRun(self.run, Path(self.sealed))
        # The machine that sealed it is another one.
        return read_unsealed(self.run, self.folder)


@dataclass(frozen=True)
class SealedRun:
    """`RunData` of a sealed run, of which each table is read when it is asked for."""

    run: str
    folder: Path

    @cached_property
    def plan(self) -> Mapping[str, Recorded]:
        plan: Mapping[str, Recorded] = json.loads((self.folder / PLANNED).read_bytes())
        return plan

    @cached_property
    def operations(self) -> Table:
        return _read(self.folder / f"{OPERATIONS}.parquet")

    def operation_rows(self) -> OperationRows:
        """The same, of which nothing is read yet: a row group at a time."""
        path = self.folder / f"{OPERATIONS}.parquet"
        with pq.ParquetFile(path) as file:
            groups = range(file.num_row_groups)
            counts = [file.metadata.row_group(each).num_rows for each in groups]
        reads = [partial(_read_group, path, each) for each in groups]
        return OperationRows(list(map(Piece, counts, reads)))

    @cached_property
    def observations(self) -> Table:
        return _read(self.folder / f"{OBSERVATIONS}.parquet")

    @cached_property
    def nemesis(self) -> Table:
        return _read(self.folder / f"{NEMESIS}.parquet")

    @cached_property
    def faults(self) -> Table:
        return _read(self.folder / f"{FAULTS}.parquet")

    @cached_property
    def evidence(self) -> Mapping[str, Table]:
        return SealedEvidence(self.folder)


class SealedEvidence(Mapping[str, Table]):
    """Kind -> its rows, read whenever they are asked for: who has picked of them what it looks at
    need not keep the rest."""

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, list[Path]] = {}
        for place in (EVENTS, RECORDS):
            for path in sorted((folder / place).glob("*.parquet")):
                self._files.setdefault(path.name.partition(".")[0], []).append(path)

    def __getitem__(self, kind: str) -> Table:
        return pa.concat_tables(map(_read, self._files[kind]))

    def pieces(self, kind: str, places: Collection[str]) -> Iterator[Table | LazyTable]:
        """The rows of some folders (`EVENTS`, `RECORDS`), a row group at a time: of many rows, the
        columns that are asked for."""
        for path in self._files[kind]:
            if path.parent.name in places:
                with pq.ParquetFile(path) as file:
                    names = file.schema_arrow.names
                    for group in range(file.num_row_groups):
                        many = file.metadata.row_group(group).num_rows >= WORTH
                        first = file.read_row_group(group, ORDER if many else names, **_ALONE)
                        yield LazyTable(names, first, partial(_read_group, path, group))

    def __contains__(self, kind: object) -> bool:
        return kind in self._files  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def rows_of(run: RunData) -> OperationRows:
    """A run's operations by column: of a sealed one not read before they are looked at."""
    if isinstance(run, SealedRun):
        return run.operation_rows()
    return OperationRows.of_table(run.operations)


def _read_group(path: Path, group: int, columns: Sequence[str] | None) -> Table:
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns, **_ALONE)


def _read(path: Path) -> Table:
    with pq.ParquetFile(path) as file:
        return file.read()


@lru_cache(maxsize=1)  # a worker's next task may be about the same run
def read_unsealed(run: str, folder: str) -> RunTables:
    """A run as its files say. Raises `UsageError`."""
    info = read_run(Path(folder)).info
    history = read([Path(folder, HISTORY)], allow_empty=True)
    return RunTables(
        run=run,
        plan=info.plan,
        operations=restated(info.plan, history.operations),
        observations=history.observations,
        nemesis=history.nemesis,
        faults=ledger_of(info),
        evidence=observed(info),
    )


def cited_rows(run: RunData, indices: Iterable[int]) -> list[Table]:
    """The operations with these indices, of clients and of observers. Of a sealed run those row
    groups are read that may have them."""
    chosen = pc.field("index").isin(sorted(indices))
    if isinstance(run, SealedRun):
        return _cited(run.folder, chosen)
    return [table.filter(chosen) for table in (run.operations, run.observations)]


def cited(sealed: Path, indices: Iterable[int]) -> list[Operation]:
    """As `cited_rows`, of a sealed run, in this process."""
    found = _cited(sealed, pc.field("index").isin(sorted(indices)))
    return [operation for table in found for operation in operations_of(table)]


def _cited(sealed: Path, chosen: pc.Expression) -> list[Table]:
    paths = [sealed / f"{name}.parquet" for name in (OPERATIONS, OBSERVATIONS)]
    return [pq.read_table(path, filters=chosen) for path in paths]
