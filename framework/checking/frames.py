"""Stored runs as DataFrames of Spark's, for what no checker asks.

    from framework.checking.frames import frames

    runs = frames(spark, [Path("results")])
    runs.operations.groupBy("run", "f", "type").count().show()
    runs.evidence(Elected).groupBy("run").agg(max("epoch"))

Spark reads the sealed form of the runs by itself, by columns and with filters of its own; the
driver sees paths. Rules have another way to the same files (`reading`): what is wrong with one run
is an outcome of that one there, and fails whoever asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from framework.checking import runs, sealing
from framework.checking.results import refuse_all
from framework.checking.sealed_rows import sealed_rows
from framework.checking.stored import Held, hold
from framework.evidence.kinds import Evidence
from framework.evidence.schemas import schema
from framework.history.columns import OPERATIONS
from framework.plugins.checker import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Some runs, of which nothing is read before Spark has to. Each row has its `run`; its other
    columns are those of `framework.plugins.checker.Tables` and, of evidence, the fields of its
    kind. sealed: folder of a sealed form -> its run."""

    spark: SparkSession
    sealed: Mapping[Path, str]

    @property
    def operations(self) -> DataFrame:
        """What clients asked and were answered; a process is a JSON text."""
        return self._rows(f"{sealing.OPERATIONS}.parquet", OPERATIONS)

    @property
    def observations(self) -> DataFrame:
        """The same of observers."""
        return self._rows(f"{sealing.OBSERVATIONS}.parquet", OPERATIONS)

    @property
    def nemesis(self) -> DataFrame:
        """What the nemesis was told to do, and did."""
        return self._rows(f"{sealing.NEMESIS}.parquet", runs.NEMESIS)

    @property
    def faults(self) -> DataFrame:
        """A row an injection, with whether it bit."""
        return self._rows(f"{sealing.FAULTS}.parquet", runs.FAULTS)

    def evidence(self, kind: type[Evidence]) -> DataFrame:
        """What nodes said of themselves and what lay on their disks, of one kind; `source` says
        which of both. Without rows where no run has any."""
        return self._rows(f"*/{kind.kind}.[0-9]*.parquet", schema(kind))

    def _rows(self, pattern: str, columns: pa.Schema) -> DataFrame:
        return sealed_rows(self.spark, self.sealed, pattern, columns)


def frames(spark: SparkSession, paths: Iterable[Path]) -> Frames:
    """The runs at and below some paths. What is not sealed yet is sealed first, by tasks of
    Spark's. Raises `UsageError` where there is no run, or one that is malformed."""
    infos = [run.info for run in runs.read_runs(runs.find_runs(paths))]
    held = hold(spark, infos)
    if refused := [each for each in held if isinstance(each, str)]:
        refuse_all(refused)
    return Frames(
        spark=spark,
        sealed={each.sealed: each.info.run for each in held if isinstance(each, Held)},
    )
