"""Checkers that share a pass, and what becomes of the others when one of them breaks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from framework.checking.engine import _outcomes, _passes, _union, _warm_up
from framework.checking.keyed import OUTCOME_ARROW
from framework.checking.reading import Place
from framework.checking.runs import NEMESIS
from framework.checking.stored import Runs, nemesis_rows


@dataclass
class Frame:
    """Stands for a data frame: its rows are made when they are collected."""

    names: list[str]
    broken: bool = False
    columns: tuple[str, ...] = ()

    def selectExpr(self, *_: str) -> "Frame":
        return self

    def unionAll(self, other: "Frame") -> "Frame":
        return Frame(self.names + other.names, self.broken or other.broken)

    def toArrow(self) -> pa.Table:
        if self.broken:
            raise RuntimeError("the job failed")
        return pa.Table.from_pylist([{"checker": name} for name in self.names], OUTCOME_ARROW)


@dataclass(frozen=True)
class Shared:
    """A batch that fails with its job, or at once, where a checker of that name is in it."""

    asked: list[list[str]] = field(default_factory=list, compare=False, hash=False)

    def check(self, tables: Any, checkers: Mapping[str, Any]) -> Frame:
        self.asked.append(sorted(checkers))
        if "early" in checkers:
            raise ValueError("no such column")
        return Frame(sorted(checkers), broken="late" in checkers)


@dataclass
class Checker:
    name: str
    batch: Any = None
    summary: str = ""
    asked: int = 0

    def check(self, tables: Any) -> Frame:
        self.asked += 1
        if self.name == "early":
            raise ValueError("no such column")
        return Frame([self.name], broken=self.name == "late")


def tables(cores: int, runs: int = 1, parts: int = 1) -> Any:
    spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=cores))
    return SimpleNamespace(spark=spark, runs=range(runs), parts=parts)


def plugins(*names: str, alone: str = "") -> dict[str, Any]:
    shared = Shared()
    found = {name: Checker(name, shared) for name in names}
    return found | ({alone: Checker(alone)} if alone else {})


def found(names: dict[str, Any], cores: int = 2) -> tuple[list[str], list[str]]:
    rows, broken = _outcomes(tables(cores), names, {})
    return sorted(rows.column("checker").to_pylist()), sorted(broken)


def test_members_are_dealt_out_to_the_cores() -> None:
    names = plugins("a", "b", "c", "d", "e", alone="z")
    dealt = [sorted(members) for members in _passes(tables(2), names, {})]
    assert dealt == [["z"], ["a", "c", "e"], ["b", "d"]]
    assert [len(members) for members in _passes(tables(64), plugins(*"abcdefgh"), {})] == [
        2,
        2,
        2,
        2,
    ]
    assert [len(members) for members in _passes(tables(8), plugins("a"), {})] == [1]


@pytest.mark.parametrize(("runs", "passes"), [(0, 4), (1, 4), (3, 2), (5, 1), (2_000, 1)])
def test_runs_that_keep_all_cores_busy_are_read_once(runs: int, passes: int) -> None:
    assert len(_passes(tables(8, runs), plugins(*"abcdefgh"), {})) == passes


def test_in_long_runs_each_has_a_pass_of_its_own() -> None:
    dealt = [sorted(members) for members in _passes(tables(2, parts=2), plugins(*"abc"), {})]
    assert dealt == [["a"], ["b"], ["c"]]


def test_passes_over_one_run_are_tasks_of_their_own(spark: Any) -> None:
    """Spark may put what has one partition each into a single one."""
    run = Runs(spark, [Place(run="r", folder="f", sealed="s")])
    frames = [run.map(nemesis_rows, NEMESIS) for _ in range(3)]
    assert [frame.rdd.getNumPartitions() for frame in frames] == [1, 1, 1]
    assert _union(frames).rdd.getNumPartitions() == 3


def test_each_is_found_once() -> None:
    names = plugins("a", "b", "c", alone="z")
    assert found(names, cores=1) == (["a", "b", "c", "z"], [])
    assert names["a"].batch.asked == [["a", "b", "c"]]


def test_in_a_warm_up_each_core_judges_a_batch_whole_and_what_is_in_none() -> None:
    names = plugins("a", "b", "c", "d", alone="z")
    _warm_up(tables(2), names)
    assert names["a"].batch.asked == [["a", "c"], ["b", "d"], *[["a", "b", "c", "d"]] * 2]
    assert names["z"].asked == 1 + 2


def test_one_that_cannot_begin_stops_no_other() -> None:
    assert found(plugins("a", "early", "b", alone="z")) == (["a", "b", "z"], ["early"])


def test_one_whose_job_fails_stops_no_other() -> None:
    assert found(plugins("a", "late", "b", alone="z")) == (["a", "b", "z"], ["late"])
    assert found(plugins("a", "b", alone="late")) == (["a", "b"], ["late"])
