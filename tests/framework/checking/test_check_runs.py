"""Stored runs into verdicts: real folders, a real Spark session, checkers of our own."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.cloudpickle import register_pickle_by_value

from framework.checking import reading
from framework.checking.engine import check_each, check_runs, check_stored
from framework.checking.keyed import OUTCOME_ARROW, Outcome, budget_s, judged, keyed, outcome_row
from framework.checking.outcomes_table import read_outcomes
from framework.checking.results import RunResult
from framework.checking.runs import find_runs, ledger_of, read_run, read_runs
from framework.checking.stored import Held, cited_among, hold, tables
from framework.errors import UsageError
from framework.plugins import registry
from framework.plugins.checker import DataFrame, Finding, RunData, Tables
from framework.verdict import Verdict

# Workers cannot import a test module, so its kernels travel by value.
register_pickle_by_value(sys.modules[__name__])

PLAN = {"seed": 1, "workloads": ["topics"], "nodes": {}, "time_zero_ns": 1_000, "checkers": []}


def lines(*objects: Mapping[str, Any]) -> str:
    return "".join(json.dumps(thing) + "\n" for thing in objects)


def make_run(folder: Path, *events: Mapping[str, Any], **plan: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({**PLAN, **plan}))
    (folder / "history.jsonl").write_text(lines(*events))
    return folder


def held(spark: Any, *runs: Path) -> list[Held]:
    return [
        each for each in hold(spark, [read_run(run).info for run in runs]) if isinstance(each, Held)
    ]


def call(process: int, key: str, value: Any = None) -> list[dict[str, Any]]:
    common = {"process": process, "f": "look", "key": key}
    return [
        {**common, "type": "invoke"},
        {**common, "type": "ok", "value": value, "node": "c1", "ext": {"epoch": 2}},
    ]


@dataclass(frozen=True)
class NinesOptions:
    nine: int = 9


class NoNines:
    """No result is 9. Counts what it looked at."""

    name = "no-nines"
    summary = "no result is 9"
    Options = NinesOptions

    def __init__(self, options: NinesOptions) -> None:
        self.kernel = partial(no_nines, nine=str(options.nine))

    def check(self, tables: Tables) -> DataFrame:
        return keyed(
            tables.operations, checker=self.name, by=["key"], order=["index"], kernel=self.kernel
        )


def no_nines(rows: list[dict[str, Any]], nine: str = "9") -> Outcome:
    if rows[0]["key"] == '"odd"':
        raise ValueError("an odd key")
    nines = [row["index"] for row in rows if row["result"] == nine]
    found = [Finding(message="a nine", operations=nines)] if nines else []
    return judged(
        len(rows), found, {"rows": len(rows), "max_index": max(row["index"] for row in rows)}
    )


class Silent:
    name = "silent"
    summary = "sees nothing"

    def check(self, tables: Tables) -> DataFrame:
        return keyed(tables.operations.where("f = 'no such'"), checker=self.name, kernel=no_nines)


class BreaksEarly:
    name = "breaks-early"
    summary = "fails before Spark runs"

    def check(self, tables: Tables) -> DataFrame:
        raise KeyError("what it needs")


class BreaksLate:
    name = "breaks-late"
    summary = "fails while Spark runs"

    def check(self, tables: Tables) -> DataFrame:
        return tables.operations.selectExpr(
            "run", "'x' as checker", "key", "raise_error('out of luck') as verdict",
            "1L as seen", "'[]' as findings", "'{}' as figures", "'' as note",
        )  # fmt: skip


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {each.name: each for each in (NoNines, Keys, Silent, BreaksEarly, BreaksLate)}

    real = registry.find

    def find(group: str, name: str) -> Any:
        if group != "checkers":
            return real(group, name)
        if name not in ours:
            raise UsageError(f"unknown {group}: {name!r} (known: {', '.join(ours)})")
        return ours[name]

    monkeypatch.setattr(registry, "find", find)


def test_many_runs_in_one_go(spark: Any, tmp_path: Path) -> None:
    good = make_run(tmp_path / "n" / "a", *call(0, "x", 1), *call(0, "y", 2))
    bad = make_run(tmp_path / "n" / "b", *call(0, "x", 1), *call(1, "y", 9), *call(0, "y", 9))
    empty = make_run(tmp_path / "n" / "c")
    results = check_runs(spark, [good, bad, empty], ["no-nines"])
    assert [result.run for result in results] == ["n/a", "n/b", "n/c"]
    verdicts = [Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN]
    assert [result.verdict for result in results] == verdicts
    checker = results[1].checkers[0]
    assert (checker.seen, checker.keys, checker.summary) == (3, 2, "no result is 9")
    assert checker.figures == {"max_index": 4, "rows": 3}
    assert [(f.key, f.message, f.operations) for f in checker.findings] == [("y", "a nine", [2, 4])]
    assert {op.index: op.result for op in results[1].cited.values()} == {2: 9, 4: 9}
    assert "nothing" in results[2].checkers[0].note
    for folder, verdict in zip((good, bad, empty), verdicts, strict=True):
        written = json.loads((folder / "verdict.json").read_text())
        assert written["verdict"] == verdict.value
        assert written["checkers"][0]["name"] == "no-nines"
        names = {path.name for path in folder.iterdir()}
        assert names == {"plan.json", "history.jsonl", "verdict.json", "sealed"}


def test_tasks_read_what_findings_name(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process opens none of it; runs without findings are not looked at again."""
    values = {"a": 9, "b": 1, "c": 9}
    runs = [make_run(tmp_path / "n" / run, *call(0, run, v)) for run, v in values.items()]
    check_runs(spark, runs, ["no-nines"])
    (runs[1] / "sealed" / "operations.parquet").rename(runs[1] / "sealed" / "aside")
    helds = held(spark, *runs)
    found = cited_among(spark, helds, {"n/a": {0}, "n/b": set(), "n/c": {0}})
    assert {run: [(op.index, op.key, op.result) for op in own] for run, own in found.items()} == {
        "n/a": [(0, "a", 9)],
        "n/c": [(0, "c", 9)],
    }
    assert cited_among(spark, helds, {"n/a": set()}) == {}
    (runs[1] / "sealed" / "aside").rename(runs[1] / "sealed" / "operations.parquet")
    monkeypatch.setattr(reading, "_cited", lambda *_: pytest.fail("they are read here"))
    results = check_runs(spark, runs, ["no-nines"])
    assert [[*each.cited] for each in results] == [[0], [], [0]]


class Keys:
    """`NoNines` of a run where it is read."""

    name = "keys"
    summary = "no result is 9"

    def check(self, tables: Tables) -> DataFrame:
        raise AssertionError("runs are short")

    def judge_run(self, run: RunData, budget_s: float) -> pa.Table:
        found = no_nines(run.operations.to_pylist())
        return pa.Table.from_pylist([outcome_row(run.run, self.name, "x", found)], OUTCOME_ARROW)


def test_very_many_runs_are_one_job_and_the_first_is_done_long_before_the_last(
    spark: Any, tmp_path: Path
) -> None:
    """Whatever their plans ask for; what findings name comes with them."""
    values = 20 * (1, 9, 1)
    runs = [
        make_run(tmp_path / "n" / str(at), *2 * call(0, "x", v), seed=at)
        for at, v in enumerate(values)
    ]
    held(spark, *runs)  # they are sealed, as `run` leaves them
    spark.sparkContext.setJobGroup("some", "")
    came = check_each(spark, read_runs(runs), ["keys"])
    first, _ = next(came)
    results = dict(came)
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("some")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert len(jobs) == 1
    assert {first, *results} == set(range(60))
    for at, result in results.items():
        assert result.verdict is (Verdict.INVALID if values[at] == 9 else Verdict.VALID)
        assert [*result.cited] == ([0, 2] if values[at] == 9 else [])
    assert {json.loads((run / "verdict.json").read_text())["verdict"] for run in runs} == {
        "VALID",
        "INVALID",
    }


def test_checked_runs_are_in_the_table_of_all(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "n" / "a", *call(0, "x", 9), *call(0, "x", 9), name="n")
    for nine, verdict in (("9", "INVALID"), ("7", "VALID")):
        check_stored(spark, read_runs([run]), ["no-nines"], options=[f"no-nines:nine={nine}"])
        rows = read_outcomes(tmp_path).select(["run", "checker", "clause", "verdict", "compared"])
        assert list(zip(*rows.to_pydict().values(), strict=True)) == [
            ("n/a", "", "", verdict, None),
            ("n/a", "no-nines", "", verdict, None),
            ("n/a", "no-nines", "no-nines", verdict, 2),
        ]


def test_what_only_a_run_knows_is_written_with_its_verdict_and_stays(
    spark: Any, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "n" / "a", *call(0, "x", 1), name="n")

    def finish(result: RunResult) -> RunResult:
        assert not (run / "verdict.json").exists()
        return replace(result, timings={**result.timings, "waited_s": 6.5}, interrupted=True)

    for again in (finish, None):
        check_runs(spark, [run], ["no-nines"], finish=again)
        written = json.loads((run / "verdict.json").read_text())
        assert written["interrupted"] is True and written["timings"]["waited_s"] == 6.5
    first, *_ = read_outcomes(tmp_path).to_pylist()
    assert json.loads(first["figures"])["waited_s"] == 6.5


def test_a_broken_checker_stops_no_other(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "n" / "a", *call(0, "x", 9))
    names = ["breaks-early", "breaks-late", "no-nines", "silent"]
    [result] = check_runs(spark, [run], names)
    early, late, nines, silent = result.checkers
    assert [checker.name for checker in result.checkers] == names
    assert result.verdict is Verdict.INVALID and nines.verdict is Verdict.INVALID
    assert early.verdict is late.verdict is silent.verdict is Verdict.UNKNOWN
    assert "KeyError" in early.note and "what it needs" in early.note
    assert "out of luck" in late.note and "\n" not in late.note


def test_a_broken_kernel_is_unknown_for_its_key_alone(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "n" / "a", *call(0, "odd"), *2 * call(0, "x", 1))
    [result] = check_runs(spark, [run], ["no-nines"])
    assert result.verdict is Verdict.UNKNOWN
    assert result.checkers[0].note == "odd: the checker failed: ValueError: an odd key"
    assert result.checkers[0].seen == 2


def test_a_folder_that_cannot_be_written_costs_no_verdict(spark: Any, tmp_path: Path) -> None:
    """Somebody else's run."""
    run = make_run(tmp_path / "n" / "a", *call(0, "x", 9))
    (run / "verdict.json.tmp").mkdir()
    [result] = check_runs(spark, [run], ["no-nines"])
    assert result.verdict is Verdict.INVALID
    assert any("verdict.json was not written" in note for note in result.notes)


def test_the_plan_says_which_checkers(spark: Any, tmp_path: Path) -> None:
    not_applicable = {"silent": "nobody speaks", "no-nines": "of an older plan"}
    one = make_run(
        tmp_path / "n" / "a",
        *call(0, "x", 1),
        checkers=["no-nines"],
        not_applicable=not_applicable,
    )
    two = make_run(tmp_path / "n" / "b", *call(0, "x", 1), checkers=["silent", "gone"])
    results = check_runs(spark, [one, two])
    assert [[checker.name for checker in result.checkers] for result in results] == [
        ["no-nines"],
        ["gone", "silent"],
    ]
    assert [result.not_applicable for result in results] == [{"silent": "nobody speaks"}, {}]
    assert "unknown checkers: 'gone'" in results[1].checkers[0].note
    with pytest.raises(UsageError, match="gone"):
        check_runs(spark, [one], ["gone"])


def test_options_are_those_of_each_plan_and_those_given_go_before(
    spark: Any, tmp_path: Path
) -> None:
    folders = [
        make_run(
            tmp_path / "n" / name, *2 * call(0, "x", 8), checkers=["no-nines"], options=options
        )
        for name, options in (
            ("a", {"checker": ["no-nines:nine=8"]}),
            ("b", {}),
            ("c", {"checker": ["no-nines:eight=8"]}),
        )
    ]
    results = check_runs(spark, folders)
    assert [result.verdict.value for result in results] == ["INVALID", "VALID", "UNKNOWN"]
    assert "checker no-nines has no option 'eight'" in results[2].checkers[0].note
    written = json.loads((folders[0] / "verdict.json").read_text())
    assert written["checkers"][0]["options"] == "nine=8"

    results = check_stored(spark, read_runs(folders[:2]), options=["no-nines:nine=7"])
    assert [result.verdict.value for result in results] == ["VALID", "VALID"]
    assert [result.checkers[0].options for result in results] == ["nine=7", "nine=7"]


def test_the_budget_reaches_checkers(spark: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "n" / "a", *call(0, "x", 1))
    check_runs(spark, [run], ["no-nines"], budget_s=1.5)
    assert budget_s(spark) == 1.5


def test_tables_hold_everything(spark: Any, tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "n" / "a",
        *call(0, "x", {"b": 1, "a": [2]}),
        {"type": "invoke", "process": 1, "f": "look", "key": None, "value": True, "time": 7},
        {"type": "fail", "process": 1, "f": "look", "error": ["GONE", "it left"], "time": 9},
        {"type": "info", "process": "nemesis", "f": "phase", "value": "final", "time": 10},
        {"type": "invoke", "process": 2, "f": "look", "key": "z"},
    )
    with (run / "history.jsonl").open("a") as file:
        file.write('{"type":"ok","process":2,"f":"lo')
    events = run / "nodes" / "c1" / "events.jsonl"
    events.parent.mkdir(parents=True)
    boot = {"time_ns": 5_000, "node": "c1", "incarnation": "i", "seq": 0, "type": "boot", "pid": 3}
    events.write_text(lines(boot) + '{"time_ns":5100,"no' + lines({**boot, "incarnation": "j"}))
    ledger = [
        {"id": 7, "time": 1, "step": "planned", "fault": "pause", "shape": "one", "victims": {}},
        {"id": 7, "time": 2, "step": "injected"},
        {"id": 7, "time": 3, "step": "probed-during", "probe": {"bites": True, "evidence": {}}},
        {"id": 7, "time": 4, "step": "healed"},
        {"id": 7, "time": 5, "step": "probed-after", "probe": {"bites": False, "evidence": {}}},
        {"id": 8, "time": 6, "step": "planned", "fault": "kill", "shape": "one", "victims": {}},
    ]
    (run / "faults.jsonl").write_text(lines(*ledger) + '{"id":9')
    stored = tables(spark, held(spark, run))
    looked, failed, pending = (r.asDict() for r in stored.operations.orderBy("index").collect())
    assert (looked["key"], looked["result"]) == ('"x"', '{"a":[2],"b":1}')
    assert (looked["node"], looked["ext"], looked["phase"]) == ("c1", '{"epoch":2}', "main")
    assert (failed["key"], failed["value"], failed["result"]) == ("null", "true", "null")
    assert (failed["error_code"], failed["error_message"]) == ("GONE", "it left")
    assert (failed["invoked_ns"], failed["completed_ns"], failed["ext"]) == (7, 9, None)
    assert (pending["type"], pending["end"], pending["result"]) == ("info", None, None)
    assert (pending["phase"], pending["process"]) == ("final", "2")
    [mark] = stored.nemesis.collect()
    assert (mark["f"], mark["value"], mark["time_ns"], mark["index"]) == ("phase", '"final"', 10, 4)
    booted = pq.read_table(run / "sealed/events/booted.0.parquet").to_pylist()
    assert sorted((each["incarnation"], each["at_ns"]) for each in booted) == [
        ("i", 4_000),
        ("j", 4_000),
    ]
    seven, eight = (r.asDict() for r in stored.faults.orderBy("id").collect())
    assert (seven["started_ns"], seven["injected_ns"], seven["healed_ns"]) == (1, 2, 4)
    assert (seven["effective"], seven["healed"]) == (True, True)
    assert (eight["effective"], eight["healed"], eight["injected_ns"]) == (None, None, None)
    assert json.loads(seven["entries"]) == ledger[:5]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("nodes/c1/events.jsonl", {"time_ns": "soon", "type": "boot"}),
        ("nodes/c1/events.jsonl", {"time_ns": 1, "type": "boot", "seq": "first"}),
        ("faults.jsonl", {"step": "planned"}),
        ("faults.jsonl", {"id": "x", "step": "planned"}),
    ],
)
def test_a_file_of_something_else(tmp_path: Path, spark: Any, file: str, line: Any) -> None:
    run = make_run(tmp_path / "n" / "a", *call(0, "x"))
    (run / file).parent.mkdir(parents=True, exist_ok=True)
    (run / file).write_text(lines(line))
    [wrong] = hold(spark, [read_run(run).info])
    assert isinstance(wrong, str) and file in wrong
    assert not list(run.glob("*sealed*"))
    with pytest.raises(UsageError, match=file):
        check_runs(spark, [run], ["no-nines"])


def test_what_older_runs_do_not_say_their_system_and_faults_do(tmp_path: Path) -> None:
    """Which nodes vote, and which faults end processes."""
    nodes = {"c1": {"roles": ["controller"]}, "b1": {"roles": ["broker"]}}
    run = make_run(tmp_path / "n" / "a", nodes=nodes, system="kraft", options={"nodes": "1+1"})
    faults = ["kill", "partition", "of-somebody", "kill"]
    said = [{}, {}, {}, {"ends_processes": False}]
    (run / "faults.jsonl").write_text(
        lines(
            *(
                {"id": number, "step": "planned", "fault": fault, "victims": {}, **more}
                for number, (fault, more) in enumerate(zip(faults, said, strict=True))
            )
        )
    )
    stored = read_run(run)
    votes = {name: node["votes"] for name, node in stored.info.plan["nodes"].items()}
    assert votes == {"c1": True, "b1": False}
    ends = ledger_of(stored.info).column("ends_processes").to_pylist()
    assert ends == [True, False, None, False]


def test_finds_runs(tmp_path: Path) -> None:
    first = make_run(tmp_path / "results" / "n" / "a")
    second = make_run(tmp_path / "results" / "n" / "b")
    (tmp_path / "results" / "latest").symlink_to(second)
    assert find_runs([tmp_path / "results"]) == [first, second]
    assert find_runs([tmp_path / "results" / "latest", second]) == [second]


def test_refuses_folders_of_something_else(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UsageError, match="holds no run"):
        find_runs([other])
    with pytest.raises(UsageError, match="no such file or folder"):
        find_runs([tmp_path / "nowhere"])
    (other / "file").write_text("")
    with pytest.raises(UsageError, match="--model"):
        find_runs([other / "file"])
    for text, wrong in (("[]", "has no seed"), ("{", "not the plan"), ('{"seed": 1}', "workloads")):
        (other / "plan.json").write_text(text)
        with pytest.raises(UsageError, match=wrong):
            read_runs(find_runs([other]))
    (other / "plan.json").write_text(json.dumps(PLAN))
    with pytest.raises(UsageError, match=r"no history\.jsonl"):
        read_runs(find_runs([other]))
