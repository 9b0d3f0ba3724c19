"""Annotations: one for each finding and each UNKNOWN checker, and none else."""

from pathlib import Path
from typing import Any

import pytest

from framework.cli.annotations import MAX_FINDINGS, annotate, annotations
from framework.cli.app import main


def of(*checkers: dict[str, Any], verdict: str = "INVALID", **more: Any) -> list[str]:
    return list(annotations({"verdict": verdict, "checkers": checkers, **more}, "results/x"))


def checker(verdict: str, **more: Any) -> dict[str, Any]:
    return {"name": "one-vote", "verdict": verdict, "note": "", "findings": []} | more


def test_valid_says_nothing() -> None:
    assert of(checker("VALID", note="all keys"), verdict="VALID") == []


def test_each_finding_is_an_error() -> None:
    findings = [
        {"key": "t1", "message": "t1 came back", "operations": [3, 9]},
        {"key": "", "message": "two leaders", "operations": []},
    ]
    assert of(checker("INVALID", findings=findings)) == [
        "::error title=one-vote::t1: t1 came back (operations 3, 9) [results/x]",
        "::error title=one-vote::two leaders [results/x]",
    ]


def test_unknown_checker_is_a_warning() -> None:
    found = of(checker("UNKNOWN", note="2 keys timed out"), checker("VALID"), verdict="UNKNOWN")
    assert found == ["::warning title=one-vote UNKNOWN::2 keys timed out [results/x]"]


def test_nothing_in_a_message_ends_the_command() -> None:
    findings = [{"message": "50%\r\n::error::no", "operations": list(range(20))}]
    (line,) = of(checker("INVALID", name="a:b,c", findings=findings))
    assert line.startswith("::error title=a%3Ab%2Cc::50%25%0D%0A::error::no (operations 0, 1,")
    assert "11, ...) " in line
    assert len(line.splitlines()) == 1


def test_many_findings_are_counted() -> None:
    found = of(checker("INVALID", findings=[{"message": "m"}] * (MAX_FINDINGS + 5)))
    assert len(found) == MAX_FINDINGS + 1
    assert "::5 more findings [" in found[-1]


def test_what_no_checker_explains_is_said_all_the_same() -> None:
    assert of(verdict="UNKNOWN", notes=["ended early"]) == [
        "::warning title=UNKNOWN::ended early [results/x]"
    ]
    assert of(checker("INVALID")) == ["::error title=one-vote::INVALID [results/x]"]


@pytest.mark.parametrize(("value", "lines"), [("true", 1), ("false", 0), (None, 0)])
def test_only_where_github_listens(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: str | None,
    lines: int,
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    if value is not None:
        monkeypatch.setenv("GITHUB_ACTIONS", value)
    annotate({"verdict": "UNKNOWN", "checkers": [checker("UNKNOWN")]}, "x")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == lines


def test_check_annotates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = tmp_path / "h.jsonl"
    path.write_text(
        '{"type":"invoke","process":0,"f":"read","key":"x"}\n'
        '{"type":"ok","process":0,"f":"read","key":"x","value":5}\n'
    )
    assert main(["check", "--model", "register", "--json", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("{")
    (line,) = [line for line in printed.err.splitlines() if line.startswith("::")]
    assert line.startswith("::error title=register")
    assert str(path) in line


def test_what_cannot_be_read_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    good, bad = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    good.write_text('{"type":"invoke","process":0,"f":"read","key":"x"}\n')
    bad.write_text("nonsense\n")
    assert main(["check", "--model", "register", str(good), str(bad)]) == 2
    lines = [each for each in capsys.readouterr().err.splitlines() if each.startswith("::")]
    assert [line.split("::")[1] for line in lines] == [
        "warning title=register UNKNOWN",
        "warning title=reading UNKNOWN",
    ]
    assert str(bad) in lines[1]
