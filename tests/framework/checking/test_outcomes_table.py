"""`results/outcomes`: rows of runs, written side by side and replaced."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from framework.checking.outcomes_table import OUTCOMES, read_outcomes, rows_of, write_outcomes

PLAN = {
    "name": "nightly",
    "system": "kraft",
    "hosts": "docker",
    "seed": 7,
    "nemeses": ["pause", "kill"],
    "workloads": ["topics"],
    "started": "2026-03-01T02:00:00+00:00",
    "versions": {"git": "abc", "framework": "1"},
}


def clause(name: str, verdict: str | None, compared: int = 5) -> dict[str, Any]:
    note = "" if verdict else "nobody asked"
    return {"name": name, "verdict": verdict, "compared": compared, "floor": 3, "note": note}


def document(broken: str = "", **more: Any) -> dict[str, Any]:
    findings = [{"message": "two leaders", "clause": broken}] if broken else []
    votes = {
        "name": "one-vote",
        "verdict": "INVALID" if broken else "VALID",
        "seen": 10,
        "note": "",
        "figures": {"epochs": 4},
        "findings": findings,
        "clauses": [
            clause("once", "INVALID" if broken == "once" else "VALID"),
            clause("log", "VALID"),
        ],
    }
    health = {**votes, "name": "health", "findings": [], "clauses": [clause("alive", None, 0)]}
    return {
        "run": "as it was called",
        "verdict": votes["verdict"],
        "checkers": [votes, health],
        "not_applicable": {"groups": "nobody joined one"},
        "timings": {"last_operation_to_verdict_s": 6.5},
        **more,
    }


def place(results: Path, run: str = "a", **more: Any) -> Path:
    folder = results / "nightly" / run
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps({**PLAN, **more}))
    return folder


def test_a_row_a_checker_and_clause() -> None:
    rows = list(rows_of("nightly/a", PLAN, document(broken="once")))
    assert [(row["checker"], row["clause"], row["verdict"], row["findings"]) for row in rows] == [
        ("", "", "INVALID", 1),
        ("one-vote", "", "INVALID", 1),
        ("one-vote", "once", "INVALID", 1),
        ("one-vote", "log", "VALID", 0),
        ("health", "", "INVALID", 0),
        ("health", "alive", None, 0),
        ("groups", "", None, 0),
    ]
    run, votes, once, *_, alive, groups = rows
    assert json.loads(run["figures"]) == {"last_operation_to_verdict_s": 6.5}
    assert (votes["seen"], json.loads(votes["figures"])) == (10, {"epochs": 4})
    assert (once["compared"], once["floor"]) == (5, 3)
    assert (alive["note"], groups["note"]) == ("nobody asked", "nobody joined one")
    assert {name: run[name] for name in ("name", "system", "hosts", "seed", "revision")} == {
        "name": "nightly",
        "system": "kraft",
        "hosts": "docker",
        "seed": 7,
        "revision": "abc",
    }
    assert (run["nemesis"], run["workload"]) == ("kill+pause", "topics")
    assert run["when"] == datetime(2026, 3, 1, 2, tzinfo=UTC)


def test_the_only_clause_is_broken_by_findings_that_name_none() -> None:
    votes = document(broken="?")["checkers"][0]
    votes["clauses"] = [clause("once", "INVALID")]
    rows = list(rows_of("nightly/a", PLAN, document(checkers=[votes])))
    assert [row["findings"] for row in rows if row["clause"]] == [1]


@pytest.mark.parametrize("plan", [{}, {**PLAN, "started": 3, "seed": "x", "nemeses": "kill"}])
def test_plans_that_say_less(plan: dict[str, Any]) -> None:
    row = next(iter(rows_of("nightly/a", plan, document())))
    assert (row["when"], row["seed"], row["nemesis"]) == (None, None, "")


def test_a_run_is_replaced_and_others_stay(tmp_path: Path) -> None:
    write_outcomes(place(tmp_path), document(broken="once"))
    write_outcomes(place(tmp_path, "b"), document(broken="once"))
    write_outcomes(place(tmp_path), document())
    table = read_outcomes(tmp_path)
    assert table.schema == OUTCOMES
    broken = pd.read_parquet(tmp_path / "outcomes").query("verdict == 'INVALID' and clause != ''")
    assert broken[["run", "checker", "clause"]].values.tolist() == [
        ["nightly/b", "one-vote", "once"]
    ]
    assert sorted(set(table.column("run").to_pylist())) == ["nightly/a", "nightly/b"]


def test_many_at_once(tmp_path: Path) -> None:
    """Of one run the last one counts, whole; of others nothing is lost."""
    places = [place(tmp_path, str(number % 5)) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda folder: write_outcomes(folder, document()), places))
    table = read_outcomes(tmp_path)
    assert len(table) == 5 * len(list(rows_of("nightly/a", PLAN, document())))
    assert len(list((tmp_path / "outcomes").iterdir())) == 5


def test_a_run_that_lies_by_itself_has_no_table_beside_it(tmp_path: Path) -> None:
    write_outcomes(place(tmp_path, name="weekly"), document())
    assert not (tmp_path / "outcomes").exists()
    assert len(read_outcomes(tmp_path)) == 0
