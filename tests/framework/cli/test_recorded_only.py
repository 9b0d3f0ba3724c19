"""`run --no-check`: what was recorded is sealed, and is there whatever hinders that."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.checking import stored
from framework.checking.engine import check_runs
from framework.checking.sealing import SEALED, Manifest, sealed_as
from framework.cli import run
from framework.run.options import Options
from tests.framework.checking.test_sealing import manifest_of

PLAN = {"system": "kraft", "seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0}


def make_run(folder: Path, count: int) -> Path:
    """Clients that describe one topic, and a node that keeps saving epochs."""
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    call = {"process": 0, "f": "describe", "key": "t"}
    answers = [{**call, "type": "invoke"}, {**call, "type": "ok", "value": False}]
    made = [
        {"process": 0, "f": f, "key": "t", "type": type, "value": value}
        for f, value in (("create", {"partitions": 1}), ("delete", None))
        for type in ("invoke", "ok")
    ]
    (folder / "history.jsonl").write_text(lines([*made, *answers * count]))
    head = {"node": "c1", "incarnation": "i", "type": "epoch"}
    saved = [
        {**head, "seq": at, "time_ns": at, "epoch": at, "leader_id": 1, "voted_id": 1}
        for at in range(1, count)
    ]
    (folder / "nodes/c1").mkdir(parents=True)
    (folder / "nodes/c1/events.jsonl").write_text(lines(saved))
    return folder


def lines(objects: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_run(tmp_path / "series" / "one", 200)
    monkeypatch.setattr(run, "resolve", lambda options: options)
    monkeypatch.setattr(run, "record", lambda *_, **__: SimpleNamespace(path=folder))
    return folder


def test_a_run_that_is_only_recorded_is_sealed_and_check_takes_that(
    spark: Any, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.run_command(Options(check=False)) == 0
    before = manifest_of(recorded)
    assert before is not None and before.counts.evidence["epoch-saved"] == {"event": 199}
    asked: list[int] = []
    real = stored._sealed
    monkeypatch.setattr(
        stored, "_sealed", lambda spark, runs: (asked.append(len(runs)), real(spark, runs))[1]
    )
    [result] = check_runs(spark, [recorded], ["topic-linearizability"])
    assert asked == [0] and result.checkers[0].seen > 150
    assert Manifest.of(recorded / SEALED / "manifest.json") == before


@pytest.mark.parametrize("name", ["history.jsonl", "plan.json"])
def test_what_cannot_be_sealed_is_said_and_is_recorded(
    recorded: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (recorded / name).write_text("no JSON\n[")
    assert run.run_command(Options(check=False)) == 0
    said = capsys.readouterr().out
    assert "could not be sealed: UsageError" in said and f"framework check {recorded}" in said
    assert sealed_as(recorded, {}) is None and not list(recorded.glob(".sealed*"))
