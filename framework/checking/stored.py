"""Many stored runs as one set of tables: Spark is handed paths, and reads.

What checkers ask for as frames `spark.read` gives them, with schemas, of the sealed form of runs
(`sealing`); what they judge run by run a task opens there, by kind, and Arrow is what comes from
the file to the rule. Of what a run holds nothing goes through the driver. A run that is malformed
is not sealed: it is an outcome of that one, and no failed job.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Final, Protocol

import pyarrow as pa

from framework.checking import sealing
from framework.checking.cuts import parts_for
from framework.checking.elsewhere import are_here, within_reach
from framework.checking.reading import Place, cited_rows, rows_of
from framework.checking.runs import FAULTS, NEMESIS, read_run
from framework.checking.sealed_rows import PROCESS_TEXT, sealed_rows
from framework.checking.sealing import (
    SEALED,
    Manifest,
    begun,
    finish,
    in_shares,
    is_marked,
    sealed_as,
    sealed_by_this_code,
    write_evidence,
    write_history,
)
from framework.checking.shares import Share
from framework.checking.workers import by_reference_counts, numbered
from framework.errors import UsageError
from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.history.reader import operations_of
from framework.plugins.checker import DataFrame, RunData, RunInfo, SparkSession, Table, Tables

PART_ROWS: Final = 1 << 20
"""Operations of a run that a task may be given to judge; more are given to several."""
_MOST_SHARES: Final = 4
"""Of one run's evidence; each has files of its own, which are read by all."""


# --- sealing many -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A run that is sealed, and where."""

    info: RunInfo
    sealed: Path
    manifest: Manifest

    @property
    def place(self) -> Place:
        return Place(run=self.info.run, folder=self.info.path, sealed=str(self.sealed))

    @property
    def evidence_parts(self) -> int:
        """Into how many parts rules are to cut it; 1: it is short."""
        rows = sum(sum(each.values()) for each in self.manifest.counts.evidence.values())
        return parts_for(rows)

    @property
    def operation_parts(self) -> int:
        """So many tasks are to judge its operations, where one should not judge all."""
        return max(1, -(-self.manifest.counts.rows // PART_ROWS))


def hold(
    spark: SparkSession, infos: Sequence[RunInfo], into: Path | None = None
) -> list[Held | str]:
    """The runs, sealed; of those that are malformed, why. What is not sealed yet, or not as it is
    now, tasks of Spark's seal: in its own folder, or if that cannot be written, for this session.
    `into`: only there, as of a run that goes on."""
    found: dict[int, Held | str] = {}
    unfinished: dict[int, Path] = {}
    scratch = Path(spark.conf.get("spark.local.dir"))
    for number, (info, manifest) in enumerate(zip(infos, sealed_before(spark, infos), strict=True)):
        if isinstance(manifest, str):
            found[number] = manifest
        elif manifest is not None:
            found[number] = Held(info=info, sealed=Path(info.path, SEALED), manifest=manifest)
        else:
            unfinished[number] = begun(Path(info.path) if into is None else into, scratch)
    said = _sealed(spark, [(infos[number], folder) for number, folder in unfinished.items()])
    for (number, folder), parts in zip(unfinished.items(), said, strict=True):
        found[number] = _held(infos[number], folder, parts)
    return [found[number] for number in range(len(infos))]


def sealed_before(spark: SparkSession, infos: Sequence[RunInfo]) -> list[Manifest | str | None]:
    """The manifests of runs that are sealed as they are; of a system that is not installed, why it
    cannot be. Files whose marks are not those of the manifest are read by tasks of Spark's."""
    found: list[Manifest | str | None] = []
    moved: dict[int, _Look] = {}
    for number, info in enumerate(infos):
        folder = Path(info.path)
        try:
            manifest = sealed_by_this_code(folder, info.plan)
        except UsageError as error:
            found.append(str(error))
            continue
        if manifest is not None and not is_marked(folder, manifest):
            moved[number] = _Look(info.path)
        found.append(None if number in moved else manifest)
    for number, said in zip(moved, _done(spark, list(moved.values())), strict=True):
        found[number] = Manifest.said(said.what) if said.what else None
    return found


@dataclass(frozen=True, slots=True)
class _Look:
    """Sees whether the run in a folder is a copy of what it was sealed from: the manifest then."""

    folder: str

    def done(self) -> "_Said":
        manifest = None
        with suppress(UsageError):  # who seals it says what is wrong
            manifest = sealed_as(Path(self.folder), read_run(Path(self.folder)).info.plan)
        return _Said("" if manifest is None else manifest.text(), "")


def _held(info: RunInfo, unfinished: Path, parts: Sequence["_Said"]) -> Held | str:
    wrong = next((part.wrong for part in parts if part.wrong), "")
    if wrong:
        rmtree(unfinished, ignore_errors=True)
        return wrong
    try:
        sealed, manifest = finish(info, unfinished, [json.loads(part.what) for part in parts])
    except OSError as error:
        return f"{unfinished}: cannot be written: {error.strerror}"
    return Held(info=info, sealed=sealed, manifest=manifest)


@dataclass(frozen=True, slots=True)
class _Said:
    """What came of a task, as JSON. `wrong`: why a run cannot be read."""

    what: str
    wrong: str


@dataclass(frozen=True, slots=True)
class _Task:
    """Writes one part of the `run`th run into its unfinished folder: a share of its evidence, or
    its history."""

    run: int
    folder: str
    unfinished: str
    share: Share | None

    def done(self) -> _Said:
        """What is wrong with one run is no failure of the job."""
        try:
            info, unfinished = read_run(Path(self.folder)).info, Path(self.unfinished)
            with by_reference_counts():
                said = (
                    write_history(info, unfinished)
                    if self.share is None
                    else write_evidence(info, unfinished, self.share)
                )
            return _Said(json.dumps(said), "")
        except UsageError as error:
            return _Said("", str(error))
        except Exception as error:
            return _Said("", f"{self.folder}: cannot be read: {type(error).__name__}: {error}")


def _sealed(spark: SparkSession, runs: Sequence[tuple[RunInfo, Path]]) -> list[list[_Said]]:
    """Fills the runs' unfinished folders; what is said of each part of each."""
    if not runs:
        return []
    cores = spark.sparkContext.defaultParallelism if are_here(spark) else 1
    most = max(1, min(_MOST_SHARES, cores // len(runs)))
    tasks = [
        _Task(run, info.path, str(unfinished), share)
        for run, (info, unfinished) in enumerate(runs)
        for share in [None, *in_shares(info, most)]
    ]
    said: list[list[_Said]] = [[] for _ in runs]
    for task, each in zip(tasks, _done(spark, tasks), strict=True):
        said[task.run].append(each)
    return said


def _done(spark: SparkSession, kept: Sequence[_Task | _Look]) -> list[_Said]:
    """What tasks of Spark's say, in their order; done here where workers have no adapters of
    systems, and perhaps do not see the runs."""
    if not are_here(spark):
        return [task.done() for task in kept]
    if not kept:
        return []

    def done(number: int) -> Iterator[pa.RecordBatch]:
        said = kept[number].done()
        row = {"number": number, "what": said.what, "wrong": said.wrong}
        yield pa.RecordBatch.from_pylist([row], _SAID)

    rows = numbered(spark, len(kept), done, _SAID).collect()
    said = {row["number"]: _Said(row["what"], row["wrong"]) for row in rows}
    return [said[number] for number in range(len(kept))]


_SAID: Final = pa.schema([("number", pa.int64()), ("what", pa.string()), ("wrong", pa.string())])


# --- to the workers -----------------------------------------------------------------------


class Openable(Protocol):
    """Something that is one run's tables once it has come to a worker."""

    def open(self) -> RunData: ...


@dataclass(frozen=True, slots=True)
class Runs:
    """`EachRun` of runs that can be opened."""

    spark: SparkSession
    places: Sequence[Openable]

    def map(self, make: Callable[[RunData], Iterable[Table]], schema: pa.Schema) -> DataFrame:
        kept = list(self.places)

        def made(number: int) -> Iterator[pa.RecordBatch]:
            for table in make(kept[number].open()):
                yield from table.select(schema.names).cast(schema).to_batches()

        return numbered(self.spark, len(kept), made, schema)


def tables(spark: SparkSession, runs: Sequence[Held]) -> Tables:
    """What checkers read, for all runs together. Nothing is computed yet."""
    places = within_reach(spark, [run.place for run in runs])
    each = Runs(spark, places)
    sealed = {run.sealed: run.info.run for run in runs}
    seen = all(isinstance(place, Place) for place in places)

    def rows(name: str, columns: pa.Schema) -> DataFrame:
        if seen:
            return sealed_rows(spark, sealed, f"{name}.parquet", columns)
        return each.map(partial(_rows, name), columns)

    return Tables(
        spark=spark,
        runs=[run.info for run in runs],
        operations=_with_texts(rows(sealing.OPERATIONS, OPERATIONS)),
        nemesis=rows(sealing.NEMESIS, NEMESIS),
        faults=rows(sealing.FAULTS, FAULTS),
        each=each,
        operation_parts=max((run.operation_parts for run in runs), default=1),
    )


def _with_texts(operations: DataFrame) -> DataFrame:
    """Operations whose processes are plain texts."""
    from pyspark.sql.functions import expr

    return operations.withColumn("process", expr(PROCESS_TEXT))


def _rows(name: str, run: RunData) -> Iterator[Table]:
    """Of a run that was sent to the worker; operations a row group at a time."""
    if name == sealing.OPERATIONS:
        yield from (of_run(run, piece.read(None)) for piece in rows_of(run).pieces)
    else:
        yield of_run(run, getattr(run, name))


def cited_among(
    spark: SparkSession, runs: Sequence[Held], indices: Mapping[str, Set[int]]
) -> dict[str, list[Operation]]:
    """By run the operations with these indices, of clients and of observers: tasks read them."""
    places = [run.place for run in runs if indices.get(run.info.run)]
    if not places:
        return {}

    def chosen(run: RunData) -> Iterator[Table]:
        return (of_run(run, table) for table in cited_rows(run, indices[run.run]))

    found = Runs(spark, within_reach(spark, places)).map(chosen, OPERATIONS).toArrow()
    named = zip(found.column("run").to_pylist(), operations_of(found), strict=True)
    cited: dict[str, list[Operation]] = {}
    for run, operation in named:
        cited.setdefault(run, []).append(operation)
    return cited


@contextmanager
def spread(spark: SparkSession, runs: Sequence[Held]) -> Iterator[None]:
    """Frames of these runs are computed meanwhile: what is shuffled has as many partitions as so
    many operations need, and rows are read by columns, which takes compiled plans."""
    rows = sum(run.manifest.counts.rows for run in runs)
    partitions = max(int(spark.conf.get(_PARTITIONS_CONF)), -(-rows // _PARTITION_ROWS))
    wanted = {_PARTITIONS_CONF: str(partitions), _COMPILED_CONF: "true"} if runs else {}
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


_PARTITIONS_CONF: Final = "spark.sql.shuffle.partitions"
_COMPILED_CONF: Final = "spark.sql.codegen.wholeStage"
_PARTITION_ROWS: Final = 1 << 18


def of_run(run: RunData, table: Table) -> Table:
    """The rows with a column that says which run they are of."""
    column = pa.repeat(pa.scalar(run.run, pa.string()), len(table))
    if "run" in table.column_names:
        return table.set_column(table.column_names.index("run"), "run", column)
    return table.append_column("run", column)
