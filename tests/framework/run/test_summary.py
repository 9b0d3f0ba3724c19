"""What the terminal says at the end."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from framework.report.story import Line
from framework.run.summary import MAX_FINDINGS, summary


def said(verdict: dict[str, Any], report: Path | None = None) -> str:
    console = Console(file=io.StringIO(), width=110, color_system=None, _environ={})
    console.print(summary(verdict, report))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def checker(**more: Any) -> dict[str, Any]:
    return {"name": "one-vote", "verdict": "VALID", "seen": 1200, "note": "", "findings": []} | more


@pytest.mark.parametrize(("verdict", "exit_code"), [("VALID", 0), ("INVALID", 1), ("UNKNOWN", 2)])
def test_last_line_is_the_verdict_and_its_meaning(verdict: str, exit_code: int) -> None:
    last = said({"verdict": verdict, "checkers": [checker()]}).splitlines()[-1]
    assert last.startswith(f"{verdict}  ")
    assert f"(exit {exit_code})" in last


def test_checkers_say_how_much_they_saw() -> None:
    text = said({"verdict": "UNKNOWN", "checkers": [checker(note="half the keys timed out")]})
    assert "one-vote" in text
    assert "1,200" in text
    assert "half the keys timed out" in text


def test_findings_name_their_operations() -> None:
    finding = {"key": "t", "message": "Topic [t] came back.", "operations": list(range(40, 60))}
    found = checker(verdict="INVALID", findings=[finding] * (MAX_FINDINGS + 2))
    text = said({"verdict": "INVALID", "checkers": [found]})
    assert text.count("Topic [t] came back.") == MAX_FINDINGS
    assert "operations 40, 41, 42" in text
    assert "and 2 more" in text
    assert "7 findings" in text


def test_times_notes_and_report() -> None:
    verdict = {
        "verdict": "VALID",
        "checkers": [],
        "timings": {"last_operation_to_verdict_s": 6.3},
        "notes": ["the last line is cut short"],
        "interrupted": True,
    }
    text = said(verdict, Path("results/latest/report.html"))
    assert "last operation to verdict: 6.3 s" in text
    assert "the last line is cut short" in text
    assert "report: results/latest/report.html" in text
    assert "interrupted" in text


def test_a_verdict_with_nothing_in_it() -> None:
    assert "UNKNOWN" in said({})


def test_story_stands_above_the_verdict() -> None:
    console = Console(file=io.StringIO(), width=110, color_system=None, _environ={})
    lines = (
        Line("broken", "2 [bold]faults"),
        Line("recovery", "first success 1.2 s after healing"),
    )
    console.print(summary({"verdict": "VALID", "checkers": [checker()]}, None, lines))
    assert isinstance(console.file, io.StringIO)
    rows = [" ".join(row.split()) for row in console.file.getvalue().splitlines() if row.strip()]
    assert rows[-3:-1] == [
        "broken 2 [bold]faults",
        "recovery first success 1.2 s after healing",
    ]
    assert rows[-1].startswith("VALID ")
