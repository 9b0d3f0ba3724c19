"""A run that was judged as it is, by the same checkers, is not judged again."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from framework.checking import judged, sealing
from framework.checking.engine import check_stored
from framework.checking.judged import judged_before
from framework.checking.results import result_of, verdict_document
from framework.checking.runs import read_runs
from framework.cli import check as command
from framework.cli.check import check, verdict_text

PLAN = {
    "seed": 1,
    "workloads": ["topics"],
    "nodes": {},
    "time_zero_ns": 0,
    "checkers": ["topic-linearizability", "availability"],
    "not_applicable": {"groups": "nobody joined one"},
}
STARTED: list[int] = []


def make_run(folder: Path, *, wrong: bool = False, **plan: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({**PLAN, **plan}))
    call = {"process": 0, "key": "t"}
    asked = [("create", {"partitions": 1}, None), ("describe", None, not wrong)]
    events = [
        {**call, "f": f, "type": type, "value": value}
        for f, argument, result in asked
        for type, value in (("invoke", argument), ("ok", result))
    ]
    (folder / "history.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    return folder


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` uses the tests' own session, and says when it needs one."""
    STARTED.clear()

    @contextmanager
    def running(master: str, large: bool = False) -> Iterator[Any]:
        STARTED.append(1)
        yield spark

    monkeypatch.setattr(command.spark_session, "running", running)


def checked(*runs: Path, **options: Any) -> int:
    """How often Spark was needed."""
    STARTED.clear()
    check(runs, **options)
    return len(STARTED)


def test_the_second_time_it_says_the_same_without_spark(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "n" / "a", wrong=True)
    assert checked(run) == 1
    first = capsys.readouterr()
    written = (run / "verdict.json").read_bytes()
    assert checked(run) == 0
    second = capsys.readouterr()
    assert second.out == first.out and "INVALID" in first.out and "index 3" in first.out
    assert "1 of 1 runs were judged before" in second.err and "--again" in second.err
    assert (run / "verdict.json").read_bytes() == written
    assert checked(run, again=True) == 1
    assert checked(run, again=False, budget=7.0) == 1
    assert checked(run, budget=7.0) == 0
    assert checked(run, budget=7.0, checker=["availability:recovery=2"]) == 1


def test_what_is_new_is_judged_and_only_that(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "n" / "a")
    check([tmp_path])
    make_run(tmp_path / "n" / "b", wrong=True)
    capsys.readouterr()
    assert check([tmp_path], json=True) == 1
    shown = capsys.readouterr()
    assert "1 of 2 runs" in shown.err
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert [(line["path"][-3:], line["verdict"]) for line in lines][1] == ("n/b", "INVALID")


def test_of_other_files_checkers_or_verdicts_it_is_judged_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "n" / "a")
    runs = read_runs([folder])
    [result] = check_stored(spark, runs, budget_s=30.0)
    [known] = judged_before(runs, budget_s=30.0)
    assert known is not None and verdict_text(known) == verdict_text(result)
    with monkeypatch.context() as patch:
        patch.setattr(judged, "code_digest", lambda *names: "of tomorrow")
        assert list(judged_before(runs, budget_s=30.0)) == [None]
    verdict = json.loads((folder / "verdict.json").read_text())
    for broken in ("", "[]", "{}", json.dumps({**verdict, "judged": ""})):
        (folder / "verdict.json").write_text(broken)
        assert list(judged_before(runs, budget_s=30.0)) == [None]
    (folder / "verdict.json").write_text(json.dumps(verdict))
    assert list(judged_before(runs, budget_s=30.0)) != [None]
    with (folder / "history.jsonl").open("a") as history:
        history.write("\n")
    assert list(judged_before(runs, budget_s=30.0)) == [None]


def test_what_failed_may_not_fail_again(spark: Any, tmp_path: Path) -> None:
    runs = read_runs([make_run(tmp_path / "n" / "a", checkers=["gone"])])
    [result] = check_stored(spark, runs, budget_s=30.0)
    assert result.judged == "" and list(judged_before(runs, budget_s=30.0)) == [None]


def test_a_result_is_all_that_its_document_says(spark: Any, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "n" / "a", wrong=True)
    check_stored(spark, read_runs([folder]), budget_s=30.0)
    document = json.loads((folder / "verdict.json").read_text())
    assert document["checkers"][-1]["findings"] and document["not_applicable"]
    again = verdict_document(result_of(document, "n/a", folder))
    assert json.loads(json.dumps(again)) == document


def test_a_copy_is_known_by_what_tasks_read_of_it(
    here: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that says something else is judged; this process reads none of them."""
    runs = [make_run(tmp_path / "n" / name, wrong=True) for name in ("same", "other", "unsaid")]
    checked(*runs)
    first = capsys.readouterr().out
    (runs[2] / "verdict.json").unlink()
    history = runs[1] / "history.jsonl"
    history.write_text(history.read_text().replace("false", "true"))
    for run in runs:
        os.utime(run / "history.jsonl", (1, 1))
    monkeypatch.setattr(sealing, "content_of", lambda folder: pytest.fail(f"{folder} is read"))
    assert list(judged_before(read_runs(runs), budget_s=30.0)) == [None] * 3
    assert checked(*runs) == 1
    found = capsys.readouterr()
    assert "1 runs are copies of such that were judged: not again" in found.err
    verdicts = {
        line.split()[1][-5:]: line.split()[0] for line in found.out.splitlines() if "/n/" in line
    }
    assert (first.count("index 3"), found.out.count("index 3")) == (3, 2)
    assert verdicts == {"/same": "INVALID", "other": "UNKNOWN", "nsaid": "INVALID"}
    assert checked(*runs) == 0
    os.utime(runs[0] / "history.jsonl", (2, 2))
    assert checked(runs[0], again=True) == 1
    assert "copies" not in capsys.readouterr().err
