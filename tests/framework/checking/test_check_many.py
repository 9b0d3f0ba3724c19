"""`check` of many files or runs, some of which cannot be read: each gets its own line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from framework.cli import check as command
from framework.cli.check import check
from framework.errors import UsageError

PLAN = {"seed": 1, "workloads": ["topics"], "nodes": {}, "time_zero_ns": 0}


def call(f: str, key: str, value: Any = None, result: Any = None) -> list[dict[str, Any]]:
    common = {"process": 0, "f": f, "key": key}
    return [{**common, "type": "invoke", "value": value}, {**common, "type": "ok", "value": result}]


GOOD = [*call("write", "x", 1), *2 * call("read", "x", None, 1)]
STALE = [*call("write", "x", 1), *call("read", "x", None, 2)]
OTHER = [*call("append", "x", 1), *call("read", "x", None, 1)]
TOPICS = [*call("create", "t", {"partitions": 1}), *call("describe", "t", None, True)]


def save(path: Path, events: list[dict[str, Any]], more: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(event) + "\n" for event in events) + more)
    return path


def make_run(folder: Path, **plan: Any) -> Path:
    save(folder / "history.jsonl", TOPICS)
    made = {**PLAN, "checkers": ["topic-linearizability"], **plan}
    (folder / "plan.json").write_text(json.dumps(made))
    return folder


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` uses the tests' own session."""

    @contextmanager
    def running(master: str, large: bool = False) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr(command.spark_session, "running", running)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """The lines of `--json`, by the name of the file or folder."""
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {Path(line["path"]).name: line for line in found}


def test_a_bad_file_is_never_valid_and_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = save(tmp_path / "good.jsonl", GOOD)
    torn = save(tmp_path / "torn.jsonl", GOOD, '{"type":"inv\n{"type":"invoke"}\n')
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    paths = [torn, tmp_path / "gone.jsonl", good, broken, save(tmp_path / "notes.txt", [])]
    assert check(paths, "register", json=True) == 2
    lines = printed(capsys)
    assert list(lines) == ["torn.jsonl", "gone.jsonl", "good.jsonl", "broken.parquet", "notes.txt"]
    assert lines["good.jsonl"]["verdict"] == "VALID" and "error" not in lines["good.jsonl"]
    for name, why in [
        ("torn.jsonl", f"torn.jsonl:{len(GOOD) + 1}: "),
        ("gone.jsonl", "no such file"),
        ("broken.parquet", "not a Parquet file"),
        ("notes.txt", "must end in .jsonl"),
    ]:
        assert why in lines[name]["error"], lines[name]
        assert lines[name]["verdict"] == "UNKNOWN"


def test_a_bad_file_hides_no_violation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = save(tmp_path / "stale.jsonl", STALE)
    gone, junit, page = (tmp_path / name for name in ("gone.jsonl", "junit.xml", "page.html"))
    assert check([gone, stale], "register", junit=junit, report=page) == 1
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first == f"error  {gone}: no such file or folder"
    assert second == f"INVALID  {stale}"
    for written in (junit, page):
        assert "no such file or folder" in written.read_text()


@pytest.mark.parametrize("master", [None, "local[2]"])
def test_operations_of_another_model_stop_no_other_file(
    here: None, master: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, events in {"a": GOOD, "b": OTHER, "c": STALE}.items():
        save(tmp_path / f"{name}.jsonl", events)
    assert check([tmp_path], "register", json=True, spark_master=master) == 1
    lines = printed(capsys)
    assert [line["verdict"] for line in lines.values()] == ["VALID", "UNKNOWN", "INVALID"]
    assert lines["b.jsonl"]["error"].startswith(f"{tmp_path}/b.jsonl: index 0: ")


def test_of_jepsen_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [
        "{:index 0, :type :invoke, :process 0, :f :write, :value 1}",
        "{:index 1, :type :ok, :process 0, :f :write, :value 1}",
        "{:index 2, :type :invoke, :process 0, :f :read, :value nil}",
        "{:index 3, :type :ok, :process 0, :f :read, :value 1}",
        "{:index 4, :type :invoke, :process 0, :f :read, :value nil}",
        "{:index 5, :type :ok, :process 0, :f :read, :value 1}",
    ]
    for folder, text in {"good": "\n".join(calls), "bad": "{:index 0}"}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "history.edn").write_text(text + "\n")
    paths = [tmp_path / "good", tmp_path / "bad", tmp_path / "gone"]
    assert check(paths, "register", format="jepsen") == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "VALID",
        "error",
        "error",
    ]


def test_where_nothing_can_be_read_the_arguments_are_bad(tmp_path: Path) -> None:
    torn = save(tmp_path / "torn.jsonl", [], "{\n{\n")
    with pytest.raises(UsageError, match=r"torn.jsonl:1: .*; .*gone.jsonl: no such file"):
        check([torn, tmp_path / "gone.jsonl"], "register")
    with pytest.raises(UsageError, match="no such file or folder; and 2 more"):
        check([tmp_path / str(number) for number in range(5)])


def test_a_malformed_run_stops_no_other(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c", "d"):
        make_run(tmp_path / "runs" / name)
    (tmp_path / "runs/b/history.jsonl").write_text("{\n{\n")
    events = tmp_path / "runs/c/nodes/c1/events.jsonl"
    events.parent.mkdir(parents=True)
    events.write_text('{"type": "started", "node": 7}\n')
    assert check([tmp_path / "runs", tmp_path / "gone"], json=True) == 2
    lines = printed(capsys)
    assert {name: line["verdict"] for name, line in lines.items()} == {
        **dict.fromkeys("ad", "VALID"),
        **dict.fromkeys(["b", "c", "gone"], "UNKNOWN"),
    }
    assert "history.jsonl:1: " in lines["b"]["error"]
    assert "node is 7" in lines["c"]["error"]
    assert "no such file" in lines["gone"]["error"]
    assert not (tmp_path / "runs/c/verdict.json").exists()


def test_where_no_run_can_be_read_the_arguments_are_bad(here: None, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = make_run(tmp_path / name)
        (run / "nodes/c1").mkdir(parents=True)
        (run / "nodes/c1/events.jsonl").write_text('{"type": "started", "node": 7}\n')
    with pytest.raises(UsageError, match=r"node is 7.*; .*node is 7"):
        check([tmp_path])
