"""The benchmark of clean runs: kinds, what is recorded once, what is told."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from benchmarks import clean_runs
from benchmarks.clean_runs import Kind, Recorded
from framework.checking.clauses import ClauseResult
from framework.checking.results import CheckerResult, KeyedFinding, RunResult
from framework.verdict import Verdict

KIND = Kind(nemesis="kill", target="leader", nodes="3", hosts="docker", workload="log", loaded=True)


def test_a_seed_fixes_the_kind_and_all_kinds_come() -> None:
    kinds = [clean_runs.drawn(seed, ("docker", "namespaces")) for seed in range(200)]
    assert kinds == [clean_runs.drawn(seed, ("docker", "namespaces")) for seed in range(200)]
    values = {name: {getattr(kind, name) for kind in kinds} for name in asdict(KIND)}
    assert values["nemesis"] >= {"none", "all", "kill", "pause", "partition"}
    assert "power" not in values["nemesis"], "a system may be right and have lost something"
    assert values["target"] == set(clean_runs.TARGETS)
    assert values["nodes"] == set(clean_runs.LAYOUTS)
    assert values["hosts"] == {"docker", "namespaces"}
    assert values["workload"] >= {"all", "log", "groups"}
    assert "txn" not in values["workload"], "our node has no transactions"
    assert values["loaded"] == {True, False}
    assert all(kind.target == "" for kind in kinds if kind.nemesis == "none")


def test_what_was_recorded_is_not_recorded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def record_one(
        seed: int, hosts: Sequence[str], seconds: tuple[float, float], results: Path, stop: Event
    ) -> None:
        """The run with seed 6 cannot be recorded; at 8 somebody has had enough."""
        asked.append(seed)
        if seed == 8:
            stop.set()
        elif seed != 6:
            line = json.dumps(asdict(Recorded(seed=seed, path=f"clean/{seed}", kind=KIND)))
            with (results / clean_runs.JOURNAL).open("a") as file:
                file.write(line + "\n")

    monkeypatch.setattr(clean_runs, "record_one", record_one)
    argv = ["--base", "5", "--results", str(tmp_path), "--no-check"]
    assert clean_runs.main([*argv, "--runs", "2"]) == 0
    assert clean_runs.main([*argv, "--runs", "3"]) == 0
    assert asked == [5, 6, 6, 7]
    assert clean_runs.main([*argv, "--runs", "9"]) == 2
    assert asked[4:] == [6, 8]
    assert set(clean_runs.journal(tmp_path)) == {5, 7}
    assert clean_runs.journal(tmp_path)[7] == Recorded(seed=7, path="clean/7", kind=KIND)


def test_the_table_has_a_row_for_each_value() -> None:
    other = Kind(
        nemesis="none", target="", nodes="3", hosts="namespaces", workload="log", loaded=False
    )
    rows = list(clean_runs.table([KIND, other], [Verdict.INVALID, Verdict.UNKNOWN]))
    assert "| all | 2 | 0 | 1 | 1 |" in rows
    assert "| nodes 3 | 2 | 0 | 1 | 1 |" in rows
    assert "| nemesis kill | 1 | 0 | 0 | 1 |" in rows
    assert "| hosts namespaces | 1 | 0 | 1 | 0 |" in rows


def checker(name: str, verdict: Verdict, **rest: Any) -> CheckerResult:
    clause = ClauseResult(
        name="first",
        says="",
        verdict=verdict,
        compared=1,
        floor=2,
        compares="answers",
        note="first: 1 answers, and no fewer than 2 are enough",
    )
    return CheckerResult(
        name=name, summary="", verdict=verdict, seen=1, keys=1, clauses=[clause], **rest
    )


def test_a_run_that_is_not_valid_is_explained() -> None:
    finding = KeyedFinding(key="t1", message="it went back", clause="first")
    checkers = [
        checker("sound", Verdict.VALID),
        checker("starved", Verdict.UNKNOWN),
        checker("accusing", Verdict.INVALID, findings=[finding]),
    ]
    result = RunResult(run="r", path=Path("r"), verdict=Verdict.INVALID, checkers=checkers)
    run = Recorded(seed=9, path="r", kind=KIND)
    said = "\n".join(clean_runs.explained(run, result))
    assert "INVALID: seed 9, nemesis kill, target leader" in said
    assert "UNKNOWN starved" in said
    assert "no fewer than 2 are enough" in said
    assert "INVALID accusing" in said
    assert "first t1: it went back" in said
    assert "sound" not in said


def test_nothing_is_said_of_a_valid_run() -> None:
    result = RunResult(run="r", path=Path("r"), verdict=Verdict.VALID, checkers=[])
    assert not list(clean_runs.explained(Recorded(seed=9, path="r", kind=KIND), result))
