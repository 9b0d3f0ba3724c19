"""What goes between the driver and the workers when runs are checked: paths in, outcomes out."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from opened_files import opened_here, read_by
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession

from benchmarks.kafka_transactions import write
from benchmarks.long_run import EVENTS, make, plan
from checkers.kafka_log import KafkaLog
from checkers.logs.job import TOGETHER, together
from checkers.logs.model import MODEL, LogJob
from framework.checking import assignments
from framework.checking.blocks import Later
from framework.checking.engine import check_runs
from framework.checking.foreign import check_histories, find_histories
from framework.checking.keys import as_it_is
from framework.plugins import registry
from framework.plugins.checker import DataFrame, Tables
from framework.verdict import Verdict

NONE = frozenset(plan()["not_applicable"])
"""Checkers of what such a run does not have: an observer, produces, groups, faults."""
ROOT = Path(__file__).parents[3]
RUN_FILES = (".jsonl", ".parquet", ".log")
"""What a run is made of, and its sealed form, end so."""


class Crossing:
    """Bytes that went to the workers with the job, and that came back from them."""

    def __init__(self, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shipped = 0
        self._context = spark.sparkContext
        self._first = len(self._stages())
        real = CloudPickleSerializer.dumps

        def dumps(serializer: Any, thing: Any) -> bytes:
            data: bytes = real(serializer, thing)
            self.shipped += len(data)
            return data

        def forbidden(*_: Any, **__: Any) -> None:
            raise AssertionError("rows of the driver's own go to the workers")

        monkeypatch.setattr(CloudPickleSerializer, "dumps", dumps)
        monkeypatch.setattr(SparkSession, "createDataFrame", forbidden)

    @property
    def received(self) -> int:
        return sum(int(stage.resultSize()) for stage in self._stages()[: -self._first or None])

    def _stages(self) -> list[Any]:
        """The newest first."""
        gateway, spark = self._context._gateway, self._context._jsc.sc()
        spark.listenerBus().waitUntilEmpty()
        none = gateway.new_array(gateway.jvm.double, 0)
        any_ = gateway.jvm.java.util.ArrayList()
        found = spark.statusStore().stageList(None, False, False, none, any_)
        return [found.apply(number) for number in range(found.size())]


def test_what_crosses_does_not_grow_with_a_run(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all checkers that apply to a run of three controllers and three brokers. What this process
    reads of files is its own modules the first time, plans, manifests and verdicts."""
    crossed, seen, read, sizes = {}, {}, {}, {}
    for name, groups in (("first", 50), ("small", 50), ("large", 250)):
        run = tmp_path / name
        run.mkdir()
        make(run, groups * EVENTS)
        with monkeypatch.context() as patch:
            crossing, began = Crossing(spark, patch), read_by()
            for sealed in (False, True):
                with opened_here(run) as opened:
                    [result] = check_runs(spark, [run])
                assert "plan.json" in opened and ("manifest.json" in opened or not sealed)
                assert not [each for each in opened if each.endswith(RUN_FILES)]
            crossed[name] = crossing.shipped, crossing.received
        read[name] = read_by() - began
        sizes[name] = sum(each.stat().st_size for each in run.rglob("*") if each.is_file())
        assert {each.verdict for each in result.checkers} == {Verdict.VALID}
        seen[name] = {each.name: each.seen for each in result.checkers}
    assert seen["large"].keys() == seen["small"].keys() == set(registry.names("checkers")) - NONE
    assert sum(seen["large"].values()) > 3 * sum(seen["small"].values())
    (shipped, received), (more_shipped, more_received) = crossed["small"], crossed["large"]
    # Rules are dealt out by rows: a few bytes more or less.
    assert shipped > 1_000 and abs(more_shipped - shipped) < shipped / 100
    assert received > 1_000 and abs(more_received - received) < received / 10
    assert read["small"] > (tmp_path / "small" / "plan.json").stat().st_size
    assert read["large"] - read["small"] < (sizes["large"] - sizes["small"]) / 100


def gathers_edges(job: LogJob) -> Mapping[str, Later]:
    """As if the driver searched for cycles itself."""
    return {TOGETHER: lambda dealt: together(dealt.visit(as_it_is), MODEL)}


@pytest.mark.parametrize(("spread", "edges_cross"), [(False, False), (True, False), (False, True)])
def test_no_edge_between_transactions_comes_to_the_driver(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: bool, edges_cross: bool
) -> None:
    """Of a log's history with a cycle that is wrong, and five times as many transactions."""
    if edges_cross:
        monkeypatch.setattr(LogJob, "later", property(gathers_edges))
    received, verdicts = [], []
    for count in (2_000, 10_000):
        path = tmp_path / f"{count}.parquet"
        write(path, count, plant="G1c")
        with monkeypatch.context() as patch:
            crossing = Crossing(spark, patch)
            (result,) = check_histories(spark, find_histories([path]), MODEL, spread=spread)
        received.append(crossing.received)
        verdicts.append(result.checkers[0].verdict)
    assert verdicts == [Verdict.INVALID, Verdict.INVALID]
    less, more = received
    assert less > 1_000 and (more > 1.5 * less) is edges_cross, received


def by_python(path: Path) -> int:
    return len(path.read_bytes())


def by_descriptor(path: Path) -> int:
    descriptor = os.open(os.fsencode(path), os.O_RDONLY)
    try:
        return len(os.read(descriptor, 1 << 20))
    finally:
        os.close(descriptor)


def by_arrow(path: Path) -> int:
    table: pa.Table = pq.read_table(path)
    return len(table)


def by_map(path: Path) -> int:
    with pa.memory_map(str(path)) as mapped:
        return int(mapped.read_buffer().size)


@pytest.mark.parametrize("reads", [by_python, by_descriptor, by_arrow, by_map])
def test_whoever_reads_a_run_on_the_driver_is_seen(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Callable[[Path], int]
) -> None:
    """A checker that does, as it says what is to be done with a long run."""
    monkeypatch.setattr(assignments, "SHORT_ROWS", 0)
    run = tmp_path / "run"
    run.mkdir()
    make(run, 10 * EVENTS)
    real, amounts = KafkaLog.check, []

    def check(checker: KafkaLog, tables: Tables) -> DataFrame:
        amounts.append(reads(Path(tables.runs[0].path, "sealed", "operations.parquet")))
        return real(checker, tables)

    check_runs(spark, [run], ["kafka-log"])
    for planted in (False, True):
        if planted:
            monkeypatch.setattr(KafkaLog, "check", check)
        with opened_here(run) as opened:
            check_runs(spark, [run], ["kafka-log"])
        assert ("operations.parquet" in opened) is planted
    assert len(amounts) == 1 and amounts[0] > 0


def test_what_is_read_is_counted(tmp_path: Path) -> None:
    """Also by C++."""
    path = tmp_path / "table.parquet"
    pq.write_table(
        pa.table({"column": np.random.default_rng(1).bytes(1_000_000).hex().split("0")}), path
    )
    for reads in (by_python, by_arrow):
        began = read_by()
        reads(path)
        assert read_by() - began > path.stat().st_size / 2


APART = """
import sys
from pathlib import Path
from benchmarks.long_run import EVENTS, make
from framework.checking import spark as session
from framework.checking.engine import check_runs
from opened_files import read_by

with session.running("local-cluster[1,2,1024]") as spark:
    processes = ["self", spark.sparkContext._gateway.proc.pid]
    for name, groups in (("first", 20), ("small", 20), ("large", 120)):
        run = Path(sys.argv[1], name)
        run.mkdir()
        make(run, groups * EVENTS)
        began = [read_by(each) for each in processes]
        check_runs(spark, [run])
        print(*(read_by(each) - before for each, before in zip(processes, began)))
    began = read_by(processes[1])
    spark._jvm.java.io.FileInputStream(str(run / "history.jsonl")).readAllBytes()
    print(read_by(processes[1]) - began)
"""


@pytest.mark.nightly
def test_nor_does_the_jvm_of_the_driver_read_more_of_a_larger_run(tmp_path: Path) -> None:
    """Where executors are processes of their own. It is seen when it reads one of its files."""
    done = subprocess.run(
        [sys.executable, "-c", APART, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, small, large, (planted,) = (
        tuple(map(int, line.split())) for line in done.stdout.splitlines()
    )
    small_size, large_size = (
        sum(each.stat().st_size for each in (tmp_path / name).rglob("*") if each.is_file())
        for name in ("small", "large")
    )
    for less, more in zip(small, large, strict=True):
        assert less > 0 and more - less < (large_size - small_size) / 50
    assert planted >= (tmp_path / "large" / "history.jsonl").stat().st_size
