"""The job of `check --model`: ranges of histories in, an outcome for each key out.

Every function here is pure but for reading its range, and runs on Spark's workers or in this
process. A bucket holds all operations of its keys, and what of the borders between ranges it
needs to number and close them; so one shuffle is enough.
"""

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.blocks import Later, split
from framework.checking.keyed import OUTCOME_ARROW
from framework.errors import UsageError
from framework.history.assemble import assemble, process_texts
from framework.history.borders import Border
from framework.history.events import process_ids
from framework.history.ingest import EVENTS, OPERATION, PART, Part, count_of, ingest
from framework.history.ranges import Range

SHARES: Final = "shares"
BORDERS: Final = "borders"
CITED: Final = "cited"
MALFORMED: Final = "malformed"
"""Stands for a verdict where the model has no word for an operation: `seen` is its index."""
_REPEATED: Final = ("f", "key", "type")
"""Columns with few texts, each of them many times."""
_NOT_FOR_MODELS: Final = ("error_message", "node", "invoked_ns", "completed_ns", "phase")


@dataclass(frozen=True, slots=True)
class Jepsen:
    """A history that Jepsen wrote, read whole."""

    path: str
    model: str
    """Jepsen's name of the workload."""
    file: int
    number: int = 0
    parquet: bool = False
    compressed: bool = False


Source: TypeAlias = Range | Jepsen
Block: TypeAlias = Callable[[pa.Table], pa.Table]


class FindsMalformed(Protocol):
    """The first operation (its index) that a model has no word for, and what is wrong."""

    def __call__(self, table: pa.Table, /) -> tuple[int, str] | None: ...


class Job(Protocol):
    """A check that is done bucket by bucket. It is pickled, and so are its methods."""

    @property
    def summary(self) -> str:
        """What it proves, as in "linearizable as a register, key by key"."""

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        """What each bucket gets of a part of a history. Indices count from its beginning."""

    def judge(self, shares: pa.Table, /) -> pa.Table | Iterable[tuple[str, int, pa.Table]]:
        """The results of one bucket, all of whose shares these are, in the order of the parts;
        or (stage, bucket, table), among which they are of stage `SHARES`. A history is named by
        its number, as `run`. Where there is no word for an operation, one row has `MALFORMED` as
        verdict, its index as `seen` and what is wrong as `note`."""

    @property
    def later(self) -> Mapping[str, Later]:
        """What becomes of stages that are too large to be gathered."""

    def conclude(self, made: Mapping[str, pa.Table]) -> "pa.Table | Job":
        """The results of all buckets, which are there by stage, as `OUTCOME_ARROW`; or what to do
        once more with them in mind."""

    def spread(self) -> "Job":
        """The same job for histories of which nothing that grows with them is to be gathered."""


@dataclass(frozen=True, slots=True)
class ByKey:
    """The job of a model whose keys are independent of each other."""

    summary: str
    block: Block
    """Decides every (run, key) of a table of `OPERATIONS`; `OUTCOME_ARROW`."""
    malformed: FindsMalformed
    later: Mapping[str, Later] = field(default_factory=dict)

    def spread(self) -> "ByKey":
        return self

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        table = part.operations.drop_columns(_NOT_FOR_MODELS)
        count = np.count_nonzero(table.column("role").to_numpy() == OPERATION)
        rest = table.slice(count)
        keyed = pa.concat_tables([table.slice(0, count), rest.filter(pc.is_valid(rest["key"]))])
        keyless = _coded(rest.filter(pc.is_null(rest["key"])))
        for bucket, share in split(keyed, "key", buckets, str(part.border.file)):
            yield bucket, _coded(share)
        for bucket in range(buckets if len(keyless) else 0):
            yield bucket, keyless

    def judge(self, shares: pa.Table, /) -> pa.Table:
        operations = runs_of(shares)
        if not len(operations):
            return OUTCOME_ARROW.empty_table()
        wrong = _malformed(operations, self.malformed)
        return wrong if len(wrong) else self.block(operations).select(OUTCOME_ARROW.names)

    def conclude(self, made: Mapping[str, pa.Table]) -> pa.Table:
        return made.get(SHARES, OUTCOME_ARROW.empty_table())


def parts_of(source: Source) -> Iterator[Part]:
    """What a source holds; what cannot be read at all says so in its border."""
    try:
        yield from ingest(source) if isinstance(source, Range) else [_of_jepsen(source)]
    except UsageError as error:
        border = Border(file=source.file, number=source.number, bad=True, why=str(error))
        yield Part(PART.empty_table(), border)


def produce(source: Source, *, job: Job, buckets: int) -> Iterable[tuple[str, int, pa.Table]]:
    """For `exchange`: a job's shares of a source, and the borders of its ranges."""
    for part in parts_of(source):
        yield BORDERS, 0, _packed(part.border)
        for bucket, share in job.shares(part, buckets):
            yield SHARES, bucket, share


def runs_of(parts: pa.Table) -> pa.Table:
    """Parts of histories as operations, with the number of each history as `run`."""
    operations = process_texts(assemble(parts.unify_dictionaries()))
    run = _texts_of(operations.column("file"))
    return operations.drop_columns(["file"]).add_column(0, "run", run)


def _texts_of(numbers: pa.ChunkedArray) -> pa.DictionaryArray:
    coded = numbers.combine_chunks().dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(pa.string()))


def _malformed(operations: pa.Table, malformed: FindsMalformed) -> pa.Table:
    rows = []
    if malformed(operations) is not None:
        for run in sorted(operations.column("run").unique().to_pylist()):
            found = malformed(operations.filter(pc.equal(operations.column("run"), run)))
            if found is not None:
                rows.append((run, "", "", MALFORMED, found[0], "", "", found[1], None))
    names = OUTCOME_ARROW.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], OUTCOME_ARROW)


def borders_of(table: pa.Table) -> list[Border]:
    """The borders of all ranges, from the stage `BORDERS`."""
    return [pickle.loads(border) for border in table.column("border").to_pylist()]


def as_it_is(table: pa.Table) -> pa.Table:
    """For `exchange`: a stage that is only gathered."""
    return table


@dataclass(frozen=True, slots=True)
class Wanted:
    """Operations of one history that somebody names."""

    indices: Sequence[int]
    starts: Mapping[int, int]
    """The index of the first event of each range."""
    numbers: Collection[int]
    """The ranges that hold something of them."""


def produce_cited(
    source: Source, *, wanted: Mapping[int, Wanted]
) -> Iterable[tuple[str, int, pa.Table]]:
    """For `exchange`: the rows of operations that findings name, and of their completions."""
    mine = wanted[source.file]
    indices = np.array(mine.indices, np.int64)
    for part in parts_of(source):
        table = part.operations
        role = table.column("role").to_numpy()
        first = mine.starts[part.border.number]
        is_cited = np.isin(table.column("index").to_numpy() + first, indices)
        keep = np.where(role == OPERATION, is_cited, role != EVENTS)
        if keep.any():
            yield CITED, 0, table.filter(pa.array(keep))


def assembled_cited(table: pa.Table, borders: Iterable[Border]) -> pa.Table:
    """The rows of `produce_cited`, of all histories, as true operations with their `file`."""
    counts = [count_of(border) for border in borders]
    return assemble(pa.concat_tables([table, *counts]))


def _coded(table: pa.Table) -> pa.Table:
    """With a dictionary for what is repeated, which is quicker to move and to number."""
    for name in _REPEATED:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table


def _packed(border: Border) -> pa.Table:
    return pa.table(
        {
            "file": pa.array([border.file], pa.int64()),
            "range": pa.array([border.number], pa.int64()),
            "border": pa.array([pickle.dumps(border)], pa.binary()),
        }
    )


def _of_jepsen(source: Jepsen) -> Part:
    from framework.checking.jepsen import table_of
    from framework.history.jepsen import read_jepsen

    history = read_jepsen(Path(source.path), source.model)
    table = table_of(history)
    columns: dict[str, Any] = {name: table.column(name) for name in table.column_names}
    columns["process"] = process_ids(table.column("process").combine_chunks())
    for name, value in (("file", source.file), ("range", 0), ("role", OPERATION)):
        columns[name] = pa.repeat(pa.scalar(value, PART.field(name).type), len(table))
    made = pa.table({name: columns[name] for name in PART.names}, schema=PART)
    border = Border(
        file=source.file, number=0, whole=True, events=max(1, len(table)), notes=history.notes
    )
    return Part(made, border)
