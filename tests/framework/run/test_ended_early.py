"""A run in which the framework itself fails: what there is is collected and checked, and it is
never VALID."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.checking.engine import check_stored
from framework.checking.runs import read_run
from framework.errors import EngineError
from framework.history.journal import PART
from framework.run import cluster as clusters
from framework.run import recording, store
from framework.run.options import Options
from framework.verdict import Verdict


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to a cluster of no nodes."""
    done: list[str] = []

    @contextmanager
    def cluster_of(*_: Any, **__: Any) -> Any:
        yield SimpleNamespace(fleet=SimpleNamespace(hosts={}, clocks=dict), nodes={})
        done.append("taken down")

    monkeypatch.setattr(clusters, "cluster_of", cluster_of)

    def collect(*_: Any, stop: bool) -> dict[str, str]:
        done.append("stopped and collected" if stop else "collected")
        return {}

    monkeypatch.setattr(clusters, "collect", collect)
    return done


class Said:
    """A display that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def phase(self, name: str) -> None:
        pass


def a_test(results: Path) -> Any:
    return SimpleNamespace(
        options=Options(results=results, time_limit_s=1.0),
        seed=1,
        name="x",
        system_name="none",
        system=SimpleNamespace(fencing_s=lambda *_: 12.0, versions=lambda *_: {}),
        recovery_s=30.0,
        longer_s=31.0,
        provider=SimpleNamespace(name="nowhere", clean=list),
        hosts_reason="",
        specs=[],
        workloads=[],
        observer=None,
        left_out={},
        nemeses={},
        targets=[],
        faults=[],
        settings={},
        capabilities=[],
        checkers=["faults-bit"],
        not_applicable={},
        threads=1,
        lasting_s=0.0,
    )


def test_is_collected_and_says_so_in_its_plan(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(own: Any, *_: Any) -> None:
        own.folder.history.write_text("")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording._Recording, "_interpret", fail)
    said = Said()
    folder = recording.record(a_test(tmp_path), [], said)  # type: ignore[arg-type]
    assert done == ["stopped and collected", "taken down"]
    assert any("No space left" in line for line in said.lines)
    assert "No space left" in read_run(folder.path).info.plan["ended_early"]


def test_what_could_not_be_collected_is_said_and_kept_in_the_plan(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interpret(own: Any, *_: Any) -> None:
        own.folder.history.write_text("")

    monkeypatch.setattr(recording._Recording, "_interpret", interpret)
    monkeypatch.setattr(clusters, "collect", lambda *_, **__: {"b2": "EOFError: gone"})
    said = Said()
    folder = recording.record(a_test(tmp_path), [], said)  # type: ignore[arg-type]
    assert "what b2 wrote could not be collected: EOFError: gone" in said.lines
    assert read_run(folder.path).info.plan["uncollected"] == {"b2": "EOFError: gone"}


def test_the_columnar_copy_and_taking_the_cluster_down_are_beside_the_check(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interpret(own: Any, *_: Any) -> None:
        own.folder.history.write_text("")

    monkeypatch.setattr(recording._Recording, "_interpret", interpret)
    left: list[Any] = []
    beside = recording.Beside(aside=left.append)
    folder = recording.record(a_test(tmp_path), [], Said(), beside=beside)  # type: ignore[arg-type]
    assert done == ["stopped and collected"] and folder.history.exists()
    copy, take_down = left
    assert not (folder.path / PART).exists()
    copy()
    assert (folder.path / PART).exists() and done == ["stopped and collected"]
    take_down()
    assert done == ["stopped and collected", "taken down"]


def test_a_copy_that_cannot_be_written_costs_no_verdict(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interpret(own: Any, *_: Any) -> None:
        own.folder.history.write_text("")

    def full(folder: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording._Recording, "_interpret", interpret)
    monkeypatch.setattr(recording, "seal", full)
    said = Said()
    recording.record(a_test(tmp_path), [], said)  # type: ignore[arg-type]
    assert done == ["stopped and collected", "taken down"]
    assert any("columnar copy" in line and "No space left" in line for line in said.lines)


def test_without_a_history_there_is_nothing_to_check(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise EngineError("cannot begin a history")

    monkeypatch.setattr(recording._Recording, "_interpret", fail)
    with pytest.raises(EngineError, match="cannot begin"):
        recording.record(a_test(tmp_path), [], Said())  # type: ignore[arg-type]


def test_is_never_valid(tmp_path: Path, spark: Any, done: list[str]) -> None:
    def checked(ended_early: str | None) -> Any:
        folder = tmp_path / "x" / str(bool(ended_early))
        folder.mkdir(parents=True)
        plan = {"seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0, "nemeses": []}
        plan |= {"checkers": ["faults-bit"]} | ({"ended_early": ended_early} if ended_early else {})
        store.write_json(folder / "plan.json", plan)
        (folder / "history.jsonl").write_text("")
        return check_stored(spark, [read_run(folder)])[0]

    assert checked(None).verdict is Verdict.VALID
    result = checked("OSError: No space left on device")
    assert result.verdict is Verdict.UNKNOWN
    assert any("No space left" in checker.note for checker in result.checkers)


def test_a_cluster_that_cannot_be_taken_down_costs_no_verdict(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def cluster_of(*_: Any, **__: Any) -> Any:
        yield SimpleNamespace(fleet=SimpleNamespace(hosts={}, clocks=dict), nodes={})
        raise OSError("a network is still in use")

    def record(own: Any, *_: Any) -> None:
        own.folder.history.write_text("")

    monkeypatch.setattr(clusters, "cluster_of", cluster_of)
    monkeypatch.setattr(recording._Recording, "_interpret", record)
    said = Said()
    folder = recording.record(a_test(tmp_path), [], said)  # type: ignore[arg-type]
    assert any("still in use" in line for line in said.lines)
    assert "ended_early" not in read_run(folder.path).info.plan
