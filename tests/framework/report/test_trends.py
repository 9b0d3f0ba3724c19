"""Trends: what runs came to night by night, and the page that draws it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.checking.outcomes_table import FOLDER, OUTCOMES
from framework.cli.app import main
from framework.report.payload import unpacked
from framework.report.trends import Trends, trends
from framework.report.trends_page import figures_of, trends_page


def row(
    day: int, checker: str = "", clause: str = "", verdict: str | None = "VALID", **more: Any
) -> dict[str, Any]:
    run = more.pop("run", f"nightly/{day}")
    figures = more.pop("figures", None)
    return {
        "run": run,
        "when": datetime(2026, 11, day, more.pop("hour", 23), tzinfo=UTC),
        "name": run.partition("/")[0],
        "checker": checker,
        "clause": clause,
        "verdict": verdict,
        "findings": 0,
        "figures": None if figures is None else json.dumps(figures),
        **more,
    }


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    frame: pd.DataFrame = pa.Table.from_pylist(list(rows), schema=OUTCOMES).to_pandas()
    return frame


def found(*rows: dict[str, Any]) -> Trends:
    return trends(table(*rows))


def test_a_night_goes_from_noon_to_noon() -> None:
    rows = [row(3, hour=12), row(4, hour=0, run="a/2"), row(4, hour=11, run="a/3")]
    made = found(*rows, row(4, hour=12, run="a/4"), row(9))
    assert made.nights == ["2026-11-03", "2026-11-04", "2026-11-09"]
    assert made.verdicts["VALID"].tolist() == [3, 1, 1]
    assert made.runs == 5


def test_verdicts_are_of_runs_not_of_checkers() -> None:
    made = found(
        row(3, verdict="INVALID"),
        row(3, "one-vote", verdict="INVALID"),
        row(3, run="n/2", verdict="UNKNOWN"),
        row(4),
        row(4, "groups", verdict=None),
    )
    counts = made.verdicts.to_dict("list")
    assert counts == {"INVALID": [1, 0], "UNKNOWN": [1, 0], "VALID": [0, 1]}


def test_a_clause_that_fails_is_named_with_since_when() -> None:
    made = found(
        row(3, "log", "kept"),
        row(4, "log", "kept", "INVALID"),
        row(5, "log", "kept", "INVALID"),
        row(5, "log", "made", "INVALID", run="n/other"),
        row(6, "log", "made"),
        row(6, "log", "made", None),
        row(4, "vote", "vote", "UNKNOWN"),
        row(4, "epoch", "epoch"),
    )
    assert made.failing == [
        {
            "clause": "log: kept",
            "since": "2026-11-04",
            "last": "2026-11-05",
            "bad": 2,
            "of": 3,
            "still": True,
            "run": "nightly/5",
        },
        {
            "clause": "log: made",
            "since": "2026-11-05",
            "last": "2026-11-05",
            "bad": 1,
            "of": 2,
            "still": False,
            "run": "n/other",
        },
    ]
    drawn = {
        (each.clause, each.night): (each.verdict, each.bad, each.of)
        for each in made.clauses.itertuples()
    }
    assert drawn == {
        ("log: kept", "2026-11-03"): ("VALID", 0, 1),
        ("log: kept", "2026-11-04"): ("INVALID", 1, 1),
        ("log: kept", "2026-11-05"): ("INVALID", 1, 1),
        ("log: made", "2026-11-05"): ("INVALID", 1, 1),
        ("log: made", "2026-11-06"): ("VALID", 0, 1),
        ("vote", "2026-11-04"): ("UNKNOWN", 1, 1),
    }


def test_rates_are_shares_of_what_was_there_to_hit() -> None:
    made = found(
        row(3, findings=4),
        row(3, run="n/2"),
        row(3, "log", "kept", compared=5, floor=5),
        row(3, "log", "made", "UNKNOWN", compared=4, floor=5),
        row(3, "log", "read", None, compared=9, floor=1),
        row(3, "log", "sent", compared=6, floor=5),
        row(3, "faults-bit", figures={"bit": 1, "healed": 3, "injections": 3}),
        row(3, "faults-bit", run="n/2", figures={"bit": 0, "healed": 1, "injections": 1}),
        row(4, "faults-bit", figures={"bit": 0, "injections": 0}),
        row(4, "availability", figures={"ok_rate_in_faults": 0.25, "rate_of_old": 7}),
    )
    rates = made.rates.loc["2026-11-03"].dropna().to_dict()
    assert rates == {
        "runs with a finding": 0.5,
        "clauses with enough occasions": 0.5,
        "faults that were seen to bite": 0.25,
        "faults that were seen to be gone": 1.0,
    }
    assert made.rates.loc["2026-11-04"].dropna().to_dict() == {
        "availability: ok rate in faults": 0.25
    }


def test_latencies_and_times_are_medians_of_a_night() -> None:
    figures = {"create.p99_ms": 9, "create.stuck_s": 2, "fault.1.lasted_s": 7, "elections": 3}
    made = found(
        row(3, "availability", figures=figures),
        row(3, "availability", run="n/2", figures=figures | {"create.p99_ms": 19}),
        row(3, "availability", run="n/3", figures=figures | {"create.p99_ms": 900}),
        row(3, "convergence", figures={"settle_s": 1.5, "max_stall_ms": 4}),
        row(3, figures={"check_s": 8, "why": "text", "none": None, "yes": True}),
    )
    assert made.latencies.iloc[0].to_dict() == {"create p99": 19, "convergence: max stall": 4}
    assert made.times.iloc[0].to_dict() == {
        "create stuck": 2,
        "convergence: settle": 1.5,
        "check": 8,
    }


def test_a_checker_that_sees_less_is_named() -> None:
    def seen(day: int, **counts: int) -> list[dict[str, Any]]:
        return [row(day, name, seen=count) for name, count in counts.items()]

    made = found(*seen(3, a=100, b=100, c=0, d=8), *seen(4, a=80, b=90, c=0), *seen(5, a=44, b=48))
    assert made.fallen == [{"checker": "a", "now": 44.0, "before": 90.0}]
    assert found(*seen(3, a=100)).fallen == []
    assert found(*seen(3, a=100), *seen(4, a=0)).fallen[0]["now"] == 0


def test_what_is_malformed_is_left_out() -> None:
    made = found(row(3), row(3, "x", figures={}) | {"figures": "{"}, row(4) | {"when": None})
    assert made.nights == ["2026-11-03"] and made.latencies.empty
    assert set(figures_of(made)) == {"verdicts", "rates"}


WHOLE = [
    row(day, **kind)
    for day in (3, 4, 5)
    for kind in (
        {"figures": {"check_s": 3}},
        {"checker": "log", "seen": 30 * day, "figures": {"a.p50_ms": 1, "a.p99_ms": 2, "b_ms": 0}},
        {"checker": "log", "clause": "<script>", "verdict": "INVALID", "compared": 1, "floor": 1},
    )
]


def test_every_figure_is_one_that_plotly_draws() -> None:
    figures = figures_of(found(*WHOLE))
    assert set(figures) == {"verdicts", "clauses", "rates", "latencies", "times", "seen"}
    for figure in figures.values():
        go.Figure(figure).to_dict()
    assert [trace["name"] for trace in figures["latencies"]["data"]] == ["a p50", "a p99"]
    titles = [note["text"] for note in figures["latencies"]["layout"]["annotations"]]
    assert titles == ["a"]  # what was never but 0 has no panel
    assert figures["seen"]["data"][0]["y"] == [90.0, 120.0, 150.0]


def stored(root: Path, *rows: dict[str, Any]) -> Path:
    (root / FOLDER).mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist(list(rows), schema=OUTCOMES), root / FOLDER / "run-x.parquet"
    )
    return root


def test_the_page_works_offline_and_runs_nothing_of_a_table(tmp_path: Path) -> None:
    text = trends_page(stored(tmp_path, *WHOLE))
    assert "<script>:" not in text and "log: &lt;script&gt;" in text
    assert not re.search(r'(src|href)="(?!#)', text)
    packed = dict(re.findall(r'id="packed-(\w+)">([^<]*)<', text))
    assert unpacked(packed["verdicts"])["data"][0]["x"] == [
        "2026-11-03",
        "2026-11-04",
        "2026-11-05",
    ]
    assert len(text) < 1_000_000


def test_the_command_writes_the_page_of_a_series(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = stored(tmp_path, *WHOLE, row(9, run="other/1"))
    assert main(["trends", str(root)]) == 0
    assert capsys.readouterr().out == f"{root / 'trends.html'}\n"
    assert "2026-11-09" in (root / "trends.html").read_text()
    page = tmp_path / "new/page.html"
    assert main(["trends", str(root), "--series", "nightly", "--output", str(page)]) == 0
    assert "2026-11-09" not in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{root}/none"], "no such folder"),
        (["{root}/empty"], "nothing to draw, {root}/empty/outcomes has no run; `run` writes it"),
        (["{root}/full", "--series", "x"], "--series x: there is nightly"),
        (["{root}/full", "--output", "{root}"], "that is a folder"),
    ],
)
def test_where_there_is_nothing_to_draw_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    stored(tmp_path / "full", *WHOLE)
    assert main(["trends", *(word.format(root=tmp_path) for word in words)]) == 254
    error = capsys.readouterr().err
    assert said.format(root=tmp_path) in error and error.count("\n") == 1
    assert not (tmp_path / "empty/trends.html").exists()
