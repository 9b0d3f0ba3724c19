"""Stored runs as DataFrames: Spark reads by itself what tasks of rules read."""

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from framework.checking.frames import Frames, frames
from framework.checking.reading import read_unsealed
from framework.checking.sealing import MANIFEST, RECORDS, SEALED, parted
from framework.errors import UsageError
from framework.evidence.catalogue import KINDS
from framework.evidence.changes import BrokerRegistered, EndPoint
from framework.evidence.ids import BrokerEpoch, BrokerId, LeaderEpoch, Offset
from framework.evidence.processes import Booted
from framework.evidence.quorum import Elected, Voted
from framework.evidence.schemas import schema, table_of
from framework.plugins.checker import DataFrame
from tests.framework.checking.test_sealing import make_run, seal

ODD = "two+ways [1] 50%"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two runs, one of them sealed, in folders whose names mean something in URIs and patterns."""
    make_run(tmp_path / "n" / "a")
    seal(make_run(tmp_path / ODD / "b"), tmp_path)
    return tmp_path


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def written(results: Path, table: str, kind: str = "") -> list[dict[str, Any]]:
    """What the files of both runs say."""
    found = []
    for run in ("n/a", f"{ODD}/b"):
        read = getattr(read_unsealed(run, str(results / run)), table)
        for row in (read[kind] if kind else read).to_pylist():
            found.append({**row, "run": run})
    return [{name: value for name, value in row.items() if name != "file"} for row in found]


def alike(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    def texts(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(repr(sorted(row.items())) for row in rows)

    return texts(one) == texts(other) and bool(one)


@pytest.mark.parametrize("table", ["operations", "observations", "nemesis", "faults"])
def test_tables_of_all_runs_are_what_their_files_say(spark: Any, results: Path, table: str) -> None:
    found = frames(spark, [results])
    assert alike(rows(getattr(found, table)), written(results, table))
    assert (results / "n" / "a" / SEALED / MANIFEST).exists()


@pytest.mark.parametrize("kind", [Booted, Elected])
def test_evidence_of_all_runs_is_what_their_files_say(spark: Any, results: Path, kind: Any) -> None:
    found = frames(spark, [results]).evidence(kind)
    assert alike(rows(found), written(results, "evidence", kind.kind))


def test_a_kind_that_no_run_has_is_a_table_without_rows(spark: Any, results: Path) -> None:
    found = frames(spark, [results]).evidence(Voted)
    assert found.columns == ["run", *schema(Voted).names]
    assert rows(found) == []


def test_every_kind_has_columns_that_spark_knows() -> None:
    for kind in KINDS.values():
        assert from_arrow_schema(schema(kind)).names == schema(kind).names


def test_lists_of_records_are_lists_of_records(spark: Any, tmp_path: Path) -> None:
    where = EndPoint(name="PLAINTEXT", host="h", port=9092, protocol=0)
    registered = BrokerRegistered(
        node="c1",
        source="disk",
        offset=Offset(1),
        epoch=LeaderEpoch(2),
        broker_id=BrokerId(4),
        broker_epoch=BrokerEpoch(7),
        end_points=(where,),
    )
    ((place, table),) = parted(table_of(BrokerRegistered, [registered]))
    assert place == RECORDS
    (tmp_path / RECORDS).mkdir()
    pq.write_table(table, tmp_path / RECORDS / f"{BrokerRegistered.kind}.0.parquet")
    (row,) = rows(Frames(spark=spark, sealed={tmp_path: "n/a"}).evidence(BrokerRegistered))
    assert (row["run"], row["end_points"]) == ("n/a", [asdict(where)])


def test_runs_whose_folders_are_called_alike_are_told_apart(spark: Any, results: Path) -> None:
    shutil.copytree(results / "n", results / "other" / "n")
    counted = frames(spark, [results]).evidence(Booted).groupBy("run").count().collect()
    told_apart = {row["run"] for row in counted}
    assert told_apart == {str(results / name) for name in ("n/a", "other/n/a", f"{ODD}/b")}
    assert len({row["count"] for row in counted}) == 1


def test_what_is_no_run_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        frames(spark, [tmp_path])
    (make_run(tmp_path / "n" / "a") / "history.jsonl").write_text("{]\n{}\n")
    with pytest.raises(UsageError, match=r"history\.jsonl"):
        frames(spark, [tmp_path])
