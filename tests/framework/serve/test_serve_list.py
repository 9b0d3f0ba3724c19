"""The list of runs: its rows, what the address narrows it to, its order."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from framework.serve.query import Query, chosen, query_of, series_of
from framework.serve.runs import Catalogue, RunRow, read_row


def stored(root: Path, run: str, plan: Any = None, verdict: Any = None, *events: Any) -> Path:
    folder = root / run
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps({} if plan is None else plan))
    if verdict is not None:
        (folder / "verdict.json").write_text(json.dumps(verdict))
    if events:
        (folder / "history.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in events))
    return folder


PLAN = {
    "started": "2026-11-22T15:20:18+00:00",
    "seed": 21,
    "system": "kraft",
    "hosts": "docker",
    "nemeses": ["kill", "pause"],
    "workloads": ["topics"],
    "options": {"settings": ["b1:defects=deaf", "x=y"]},
}
VERDICT = {
    "verdict": "INVALID",
    "checkers": [
        {"name": "availability", "verdict": "UNKNOWN", "findings": []},
        {"name": "one-vote", "verdict": "INVALID", "findings": [{}, {}]},
        {"name": "groups", "verdict": "VALID"},
    ],
}


def test_a_row_says_what_was_run_and_what_was_found(tmp_path: Path) -> None:
    folder = stored(tmp_path, "nightly/t-21", PLAN, VERDICT, {"time": 5}, {"time": 2_500_000_000})
    assert read_row(folder) == RunRow(
        name="nightly",
        stamp="t-21",
        state="INVALID",
        started="2026-11-22T15:20:18+00:00",
        seed=21,
        system="kraft",
        hosts="docker",
        nemeses=("kill", "pause"),
        workloads=("topics",),
        seconds=2.5,
        findings=2,
        invalid=("one-vote",),
        unknown=("availability",),
        defect="deaf",
    )


def test_the_length_is_that_of_the_last_whole_line(tmp_path: Path) -> None:
    folder = stored(tmp_path, "a/1", PLAN, VERDICT, {"time": 3_000_000_000})
    with (folder / "history.jsonl").open("a") as file:
        file.write('{"time": 99000000000, "ty')
    assert read_row(folder).seconds == 3.0


@pytest.mark.parametrize(
    ("plan", "verdict", "state", "said"),
    [
        ("{", None, "unfinished", "plan.json cannot be read"),
        ("[]", None, "unfinished", "plan.json is not a JSON object"),
        ("{}", "{", "unfinished", "verdict.json cannot be read"),
        ("{}", "7", "unfinished", "verdict.json is not a JSON object"),
        ("{}", '{"verdict": 3}', "UNKNOWN", ""),
        ('{"seed": "x", "nemeses": 4, "options": []}', '{"checkers": "no"}', "UNKNOWN", ""),
        ("{}", '{"verdict": "VALID", "checkers": [1, {"findings": 7}]}', "VALID", ""),
        (f'{{"harness_pid": {2**70}, "started": "2026-11-22T15:20:18"}}', None, "unfinished", ""),
        ("[" * 100_000, None, "unfinished", "plan.json cannot be read"),
    ],
)
def test_malformed_runs_have_rows(
    tmp_path: Path, plan: str, verdict: str | None, state: str, said: str
) -> None:
    folder = tmp_path / "a/1"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(plan)
    if verdict is not None:
        (folder / "verdict.json").write_text(verdict)
    (folder / "history.jsonl").write_bytes(b"\xff\n[]\n")
    row = read_row(folder)
    assert (row.state, row.broken) == (state, said)


def test_a_run_runs_while_the_process_that_began_it_does(tmp_path: Path) -> None:
    now = datetime.now(UTC).isoformat()
    own = {"started": now, "harness_pid": os.getpid()}
    assert read_row(stored(tmp_path, "a/1", own)).state == "running"
    assert read_row(stored(tmp_path, "a/2", own, {"verdict": "VALID"})).state == "VALID"
    # A process of this number that began after the run is another one.
    reused = own | {"started": "2020-01-01T00:00:00+00:00"}
    assert read_row(stored(tmp_path, "a/3", reused)).state == "unfinished"
    for missing in ("started", "harness_pid"):
        plan = {key: value for key, value in own.items() if key != missing}
        assert read_row(stored(tmp_path, f"b/{missing}", plan)).state == "unfinished"


def test_the_catalogue_has_each_run_once_the_newest_first(tmp_path: Path) -> None:
    for run in ("a/2026-1", "b/2026-2", "a/2026-3"):
        stored(tmp_path, run, PLAN)
    (tmp_path / "latest").symlink_to("a/2026-3")
    (tmp_path / "outcomes/part").mkdir(parents=True)
    (tmp_path / "note.txt").write_text("")
    assert [row.id for row in Catalogue(tmp_path).rows()] == ["a/2026-3", "b/2026-2", "a/2026-1"]
    assert Catalogue(tmp_path / "none").rows() == []


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (stored(tmp_path, f"a/{n}", PLAN) for n in (1, 2))
    catalogue, read = Catalogue(tmp_path), []

    def noted(folder: Path) -> RunRow:
        read.append(folder)
        return read_row(folder)

    monkeypatch.setattr("framework.serve.runs.read_row", noted)
    catalogue.rows()
    assert sorted(read) == [first, second]
    read.clear()
    (second / "verdict.json").write_text('{"verdict": "VALID"}')
    assert [row.state for row in catalogue.rows()] == ["VALID", "unfinished"]
    assert read == [second]


ROWS = [
    RunRow(
        name=name,
        stamp=f"2026-{9 - number}",
        state=state,
        seed=number,
        nemeses=nemeses,
        seconds=seconds,
        findings=number % 3,
        unknown=("availability",) if state == "UNKNOWN" else (),
        invalid=("one-vote",) if state == "INVALID" else (),
    )
    for number, (name, state, nemeses, seconds) in enumerate(
        [
            ("n", "VALID", ("kill",), 4.0),
            ("n", "INVALID", ("kill", "pause"), None),
            ("m", "UNKNOWN", (), 60.0),
            ("m", "VALID", ("pause",), 5.0),
        ]
    )
]


@pytest.mark.parametrize(
    ("asked", "seeds"),
    [
        ({}, [0, 1, 2, 3]),
        ({"state": "VALID"}, [0, 3]),
        ({"state": "nonsense"}, [0, 1, 2, 3]),
        ({"series": "m"}, [2, 3]),
        ({"checker": "one-vote"}, [1]),
        ({"checker": "availability"}, [2]),
        ({"fault": "pause"}, [1, 3]),
        ({"seed": "3"}, [3]),
        ({"seed": "33"}, []),
        ({"q": "PAUSE invalid"}, [1]),
        ({"q": "seed 2"}, [0, 1, 2, 3]),  # words, not a phrase: all stamps have a 2
        ({"q": "nothing"}, []),
        ({"sort": "when"}, [3, 2, 1, 0]),
        ({"sort": "verdict"}, [1, 2, 0, 3]),
        ({"sort": "-duration"}, [2, 3, 0, 1]),
        ({"sort": "-findings"}, [2, 1, 0, 3]),
        ({"sort": "os.system"}, [0, 1, 2, 3]),
    ],
)
def test_the_list_is_narrowed_and_ordered(asked: dict[str, str], seeds: list[int]) -> None:
    assert [row.seed for row in chosen(ROWS, query_of(asked))] == seeds


def test_an_address_is_read_as_it_was_made() -> None:
    query = Query(q="a b&c", state="VALID", sort="seed", page=2)
    address = query.link(page=2)
    assert address == "/?q=a+b%26c&state=VALID&sort=seed&page=2"
    assert query.link() == address.removesuffix("&page=2")
    assert Query().link() == "/"
    assert Query().by("when") == "/?sort=when"
    assert replace(Query(), sort="when").by("when") == "/"
    assert Query().by("seed") == "/?sort=seed"


@pytest.mark.parametrize("page", ["-1", "x", "9" * 30, "²", ""])
def test_a_page_that_cannot_be_is_the_first(page: str) -> None:
    assert query_of({"page": page}).page == 0


def test_series_count_their_runs_and_end_with_the_newest() -> None:
    found = series_of(ROWS, shown=1)
    assert [(each.name, each.counts, [row.seed for row in each.newest]) for each in found] == [
        ("n", {"INVALID": 1, "VALID": 1}, [0]),
        ("m", {"UNKNOWN": 1, "VALID": 1}, [2]),
    ]
    (whole, _) = series_of(ROWS)
    assert [row.seed for row in whole.newest] == [1, 0]
