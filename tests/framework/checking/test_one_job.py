"""One job over many runs: what comes before its end, and what is left when workers end."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.cloudpickle import register_pickle_by_value

from framework.checking import handed_over as handing
from framework.checking import one_job
from framework.checking.assignments import Assignment
from framework.checking.handed_over import HandOver, handed_over
from framework.checking.keyed import OUTCOME_ARROW, judged, outcome_row
from framework.checking.one_job import Delivered, Framed, judged_in_one_job
from framework.history.columns import OPERATIONS
from framework.plugins.checker import Finding, RunTables, Table

# Workers cannot import a test module, so its judges travel by value.
register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True)
class Made:
    """A run of one operation that is found by name alone."""

    run: str
    away: bool = False

    def open(self) -> RunTables:
        if self.away:
            raise FileNotFoundError("it is gone")
        call = {"run": self.run, "index": 4, "process": "0", "f": "look", "key": '"k"'}
        none = pa.table({"run": pa.array([], pa.string())})
        return RunTables(
            run=self.run,
            plan={},
            operations=pa.Table.from_pylist([{**call, "type": "info"}], OPERATIONS),
            nemesis=none,
            faults=none,
            evidence={},
        )


@dataclass(frozen=True)
class Says:
    """Judges by checkers that are called what they do."""

    names: Sequence[str]

    def rows(self, run: Any) -> Iterator[Table]:
        for name in self.names:
            if name == "ends its worker" and run.run == "deadly":
                os._exit(3)
            if name == "raises":
                raise ValueError("no such luck")
            found = [Finding(message="so", operations=[4])] if name == "finds" else []
            row = outcome_row(run.run, name, "", judged(1, found))
            yield pa.Table.from_pylist([row], OUTCOME_ARROW)

    def apart(self) -> Sequence["Says"]:
        return [Says([name]) for name in self.names]


def asked(runs: Iterable[str], *judges: Sequence[str]) -> list[Assignment]:
    """Of each run, by judges of so many checkers each."""
    own = [Says(names) for names in judges]
    return [
        Assignment(number=number, run=run, place=Made(run, run == "away"), judges=own)
        for number, run in enumerate(runs)
    ]


def said(came: Iterable[Any]) -> dict[str, dict[str, str]]:
    """By run the verdict of each checker, and why it is UNKNOWN."""
    found: dict[str, dict[str, str]] = {}
    for each in came:
        table = each.outcomes if isinstance(each, Delivered) else each
        for row in table.to_pylist():
            assert row["checker"] not in found.get(row["run"], {})
            found.setdefault(row["run"], {})[row["checker"]] = row["note"] or row["verdict"]
    return found


def frame(spark: Any, name: str, *, broken: bool = False) -> Framed:
    what = "raise_error('out of luck')" if broken else "'VALID'"
    rows = spark.range(1).selectExpr(
        "'a' as run", "'x' as checker", "'' as key", f"{what} as verdict", "1 as seen",
        "'[]' as findings", "'{}' as figures", "'' as note",
    )  # fmt: skip
    return Framed(name=name, runs=["a"], frame=rows)


def test_each_run_is_judged_once_by_one_job(spark: Any) -> None:
    runs = [str(number) for number in range(600)]
    spark.sparkContext.setJobGroup("many", "")
    came = list(judged_in_one_job(spark, asked(runs, ["a", "b"], ["c"])))
    tracker = spark.sparkContext.statusTracker()
    (job,) = tracker.getJobIdsForGroup("many")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    (stage,) = tracker.getJobInfo(job).stageIds
    assert tracker.getStageInfo(stage).numTasks == 600 / 8
    assert sorted(each.number for each in came) == list(range(600))
    assert {each.units for each in came} == {3}
    assert said(came) == {run: dict.fromkeys("abc", "VALID") for run in runs}


def test_what_a_finding_names_comes_with_it(spark: Any) -> None:
    asked_of = asked("a", ["fine"]) + asked("b", ["finds"])
    cited = [each.cited.select(["run", "index"]) for each in judged_in_one_job(spark, asked_of)]
    assert pa.concat_tables(cited).to_pylist() == [{"run": "b", "index": 4}]


def test_who_waits_has_what_is_judged_while_the_rest_is_not(spark: Any, tmp_path: Path) -> None:
    """The last run is judged when somebody has seen that the first one was."""
    gate = tmp_path / "seen"

    @dataclass(frozen=True)
    class Waits(Says):
        def rows(self, run: Any) -> Iterator[Table]:
            from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

            if run.run == "last":
                there = retry_if_result(lambda found: not found)
                Retrying(retry=there, stop=stop_after_delay(60), wait=wait_fixed(0.05))(gate.exists)
            yield from super().rows(run)

    runs = [*map(str, range(40)), "last"]
    own = [Waits(["a"])]
    came = judged_in_one_job(
        spark,
        [
            Assignment(number=number, run=run, place=Made(run), judges=own)
            for number, run in enumerate(runs)
        ],
    )
    first = next(came)
    gate.touch()
    assert len([first, *came]) == 41


def test_an_error_of_one_is_unknown_and_the_others_go_on(spark: Any) -> None:
    assert said(judged_in_one_job(spark, asked(["a", "away"], ["fine"], ["raises"]))) == {
        "a": {"fine": "VALID", "raises": "the checker failed: ValueError: no such luck"},
        "away": dict.fromkeys(
            ("fine", "raises"), "the checker failed: FileNotFoundError: it is gone"
        ),
    }


def test_a_run_on_which_workers_end_is_alone_in_being_unknown(spark: Any) -> None:
    """By that checker, whatever it was judged beside."""
    runs = [*map(str, range(9)), "deadly", *map(str, range(9, 20))]
    names = ["fine", "ends its worker", "also fine"]
    came = list(judged_in_one_job(spark, asked(runs, names), [frame(spark, "framed")]))
    found = said(came)
    assert found.pop("a") == {"framed": "VALID"}
    assert set(found) == set(runs)
    deadly = found.pop("deadly")
    assert all(own == dict.fromkeys(names, "VALID") for own in found.values())
    assert deadly["fine"] == deadly["also fine"] == "VALID"
    assert deadly["ends its worker"].startswith("the checker failed: ")
    units = [each.units for each in came if isinstance(each, Delivered) and each.number == 9]
    assert sum(units) == 3


def failing(why: str, jobs: list[int]) -> Callable[..., Iterator[Any]]:
    """Stands for a job that fails before anything has come of it; notes how much was asked."""

    def done(spark: Any, left: Any, frames: Any = ()) -> Iterator[Any]:
        jobs.append(len(left))
        raise RuntimeError(why)
        yield

    return done


def test_where_each_job_fails_somebody_gives_up(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_job, "_MOST_FAILURES", 4)
    jobs: list[int] = []

    monkeypatch.setattr(one_job, "_done", failing("no room", jobs))
    found = said(judged_in_one_job(spark, asked(map(str, range(64)), ["a"])))
    assert found == {str(n): {"a": "the checker failed: RuntimeError: no room"} for n in range(64)}
    assert len(jobs) < 16


def test_a_session_that_has_ended_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        def range(self, *_: int) -> Any:
            raise RuntimeError("it was stopped")

    calls: list[int] = []

    monkeypatch.setattr(one_job, "_done", failing("it was stopped", calls))
    found = said(judged_in_one_job(Ended(), asked(map(str, range(9)), ["a"])))
    assert set(found) == set(map(str, range(9))) and calls == [9]


def test_what_does_not_arrive_is_missed(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose outcomes are lost on their way has not failed."""
    real = handing._Extended.addInPlace

    def loses(own: Any, value: Any, more: list[Any]) -> Any:
        return real(
            own, value, [each for each in more if each[1].outcomes["run"][0].as_py() != "b"]
        )

    monkeypatch.setattr(handing._Extended, "addInPlace", loses)
    assert said(judged_in_one_job(spark, asked("abc", ["fine"]))) == {
        "a": {"fine": "VALID"},
        "b": {"fine": "the checker failed: EngineError: the outcomes of 1 tasks did not arrive"},
        "c": {"fine": "VALID"},
    }


def test_a_frame_that_fails_stops_nobody_else(spark: Any) -> None:
    frames = [frame(spark, "fine"), frame(spark, "late", broken=True)]
    found = said(judged_in_one_job(spark, asked(["b"], ["c"]), frames))
    assert found.pop("b") == {"c": "VALID"}
    assert found["a"]["fine"] == "VALID" and "out of luck" in found["a"]["late"]
    assert list(judged_in_one_job(spark, [])) == []


def test_who_stops_asking_ends_the_job(spark: Any) -> None:
    context = spark.sparkContext

    def job(hand_over: HandOver) -> None:
        def slow(number: int) -> int:
            from time import sleep

            hand_over([number])
            sleep(0 if number == 0 else 600)
            return number

        context.parallelize(range(3), 3).map(slow).collect()

    came = handed_over(spark, job)
    assert next(came) == 0
    came.close()  # type: ignore[attr-defined]
    assert context.statusTracker().getActiveJobsIds() == []


def test_what_fails_behind_what_came_is_raised_behind_it(spark: Any) -> None:
    def job(hand_over: HandOver) -> None:
        spark.sparkContext.parallelize([7], 1).foreach(lambda number: hand_over([number]))
        raise ValueError("and then")

    came = handed_over(spark, job)
    assert next(came) == 7
    with pytest.raises(ValueError, match="and then"):
        next(came)
