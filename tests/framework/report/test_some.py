"""What is held of a run that is too long to hold: some of its operations, and figures of all."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framework.history.pairing import Operation
from framework.history.reader import read
from framework.report import data
from framework.report.answers import Answers
from framework.report.data import Run, read_run
from framework.report.render import to_html
from framework.report.some import Some
from framework.report.story import story

COUNT = 3_000
MS = 1_000_000


def operations(count: int = COUNT) -> list[dict[str, Any]]:
    """Events of a client that is asked every 10 ms and answers after 1 to 9."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        call = {"process": number % 3, "f": f"f{number % 2}", "key": "k"}
        at, type_ = 10 * number * MS, ("ok", "fail", "info")[number % 7 % 3]
        found.append({**call, "type": "invoke", "time": at, "index": 2 * number})
        ends = at + (1 + number % 9) * MS
        found.append({**call, "type": type_, "time": ends, "index": 2 * number + 1})
    return found


def table(count: int = COUNT) -> pa.Table:
    index = pa.array(range(0, 2 * count, 2))
    return pa.table({"index": index, "end": pa.array(range(1, 2 * count, 2))})


@pytest.mark.parametrize("pieces", [1, 7, 100])
@pytest.mark.parametrize("most", [10_000, COUNT, COUNT - 1, 200, 1])
def test_some_are_spread_evenly_and_what_is_named_is_among_them(most: int, pieces: int) -> None:
    named = frozenset({0, 3, 4_001, 5_998, 77_777})
    some, whole = Some(named, most), table()
    size = -(-COUNT // pieces)
    for first in range(0, COUNT, size):
        some.add(whole.slice(first, size))
    held = some.table.column("index").to_pylist()
    if most >= COUNT:
        assert held == whole.column("index").to_pylist()
        return
    assert {0, 2, 4_000, 5_998} <= set(held) and held == sorted(set(held))
    others = [index for index in held if index not in (2, 4_000, 5_998)]
    gaps = {after - before for before, after in pairwise(others)}
    assert len(held) <= most + 4 and (most < 10 or len(held) > most / 2)
    assert all(gap % min(gaps) == 0 and gap <= 3 * min(gaps) for gap in gaps)


def test_answers_are_the_same_of_objects_and_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    events = operations(30)[:-1]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    by_columns = Answers.of_table(read([path]).operations)
    by_objects = Answers.of(
        [
            Operation(
                index=row["index"],
                process=0,
                f=row["f"],
                type=row["type"],
                invoked_ns=row["invoked_ns"],
                completed_ns=row["completed_ns"],
            )
            for row in read([path]).operations.to_pylist()
        ]
    )
    for name in ("asked_ns", "answered_ns", "outcome"):
        assert getattr(by_columns, name).tolist()[:-1] == getattr(by_objects, name).tolist()[:-1]
    assert len(by_columns) == len(by_objects) == 30
    assert by_columns.last_ns == 290 * MS and str(by_columns.answered_ns[-1]) == "nan"
    assert [by_columns.count(each) for each in ("ok", "fail", "info")] == [13, 8, 9]


def folder(path: Path) -> Path:
    path.mkdir()
    (path / "plan.json").write_text(json.dumps({"seed": 1, "threads": 3, "nodes": {}}))
    lines = "".join(f"{json.dumps(each)}\n" for each in operations())
    (path / "history.jsonl").write_text(lines)
    finding = {"message": "it is so", "operations": [4_001, 5_000], "events": []}
    checker = {"name": "lies", "verdict": "INVALID", "findings": [finding]}
    (path / "verdict.json").write_text(json.dumps({"verdict": "INVALID", "checkers": [checker]}))
    return path


def few(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(data, "Some", lambda named: Some(named, most))


def test_a_report_of_some_says_the_same_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder(tmp_path / "run")
    whole = read_run(path)
    few(monkeypatch, 100)
    some = read_run(path)
    assert len(whole.operations) == len(whole.answers) == len(some.answers) == COUNT
    assert 50 < len(some.operations) <= 102
    assert {each.index for each in some.operations} >= {4_000, 5_000}
    assert story(some) == story(whole) and some.end_s == whole.end_s
    page = to_html(some, story(some))
    assert f"{COUNT:,}" in page and "it is so" in page


def test_a_run_without_operations(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text("")
    run: Run = read_run(tmp_path)
    assert run.operations == [] and len(run.answers) == 0 and run.end_s == 1
