"""Checkers that do not apply are named with the reason wherever verdicts are, and count nothing."""

import json
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

from framework.checking.junit import write_junit
from framework.checking.results import RunResult, checker_result, run_result, verdict_document
from framework.cli.check import json_line, verdict_text
from framework.run.summary import summary
from framework.verdict import Verdict

WHY = "the system has no snapshots of the metadata"
ROW = {
    "key": "",
    "verdict": "VALID",
    "seen": 3,
    "findings": "[]",
    "figures": "{}",
    "note": "",
}


def a_result(folder: Path) -> RunResult:
    return run_result(
        "n/a",
        folder,
        [checker_result("registers", "reads are right", [ROW])],
        not_applicable={"snapshots": WHY},
    )


def test_they_count_neither_as_valid_nor_as_unknown(tmp_path: Path) -> None:
    assert a_result(tmp_path).verdict is Verdict.VALID
    nothing_else = run_result("n/a", tmp_path, [], not_applicable={"snapshots": WHY})
    assert nothing_else.verdict is Verdict.UNKNOWN


def test_verdict_json_has_the_reasons(tmp_path: Path) -> None:
    document = verdict_document(a_result(tmp_path))
    assert document["not_applicable"] == {"snapshots": WHY}
    assert [checker["name"] for checker in document["checkers"]] == ["registers"]


def test_check_says_so(tmp_path: Path) -> None:
    assert f"NOT APPLICABLE snapshots: {WHY}" in verdict_text(a_result(tmp_path))
    assert json.loads(json_line(a_result(tmp_path)))["not_applicable"] == {"snapshots": WHY}


def test_the_terminal_says_so_once_a_reason() -> None:
    console = Console(width=200, file=StringIO(), record=True)
    reasons = {"snapshots": WHY, "images": WHY, "logs": "the run has no produces and fetches"}
    console.print(summary({"verdict": "VALID", "checkers": [], "not_applicable": reasons}))
    text = console.export_text()
    assert f"NOT APPLICABLE  images, snapshots: {WHY}" in text
    assert "NOT APPLICABLE  logs: the run has no produces and fetches" in text


def test_junit_skips_them(tmp_path: Path) -> None:
    write_junit([a_result(tmp_path)], tmp_path / "junit.xml")
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("skipped"), suite.get("errors")) == ("2", "1", "0")
    skipped = suite.find("testcase[@name='snapshots']/skipped")
    assert skipped is not None and skipped.get("message") == WHY
    assert suite.find("testcase[@name='registers']/skipped") is None
