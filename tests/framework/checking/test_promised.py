"""What a system does not promise is not judged, and findings name the promise that they break."""

import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

from framework.checking import engine
from framework.checking.asked import Asked
from framework.checking.findings import finding, weighed
from framework.checking.gathering import Gathered
from framework.checking.keyed import OUTCOME_ARROW, outcome_row
from framework.checking.promised import CUT, attributed, judged_rows, promises_of, said_of
from framework.checking.results import CheckerResult, checker_result, result_of, verdict_document
from framework.checking.results import run_result as of_run
from framework.cli.check import verdict_text
from framework.errors import UsageError
from framework.plugins import registry
from framework.plugins.checker import CLIENTS, Clause, Count
from framework.plugins.promise import Promised
from framework.report.render import checker_rows
from framework.run.summary import summary
from framework.verdict import Verdict


def clause(name: str) -> Clause:
    return Clause(
        name=name, says=name, compares="reads", floor=2, because="of luck", sources=(CLIENTS,)
    )


CLAUSES = (clause("order"), clause("leases"))
WHY = "the shelf does not promise leases"
PROMISES = {
    "c/order": Promised(source="the label (since 3)"),
    "c/leases": Promised(source=WHY, made=False),
    "other/order": Promised(source="another label"),
}
SAID = said_of("c", CLAUSES, PROMISES)


def a_row(counts: Mapping[str, Count], *broken: str, kept: int = 25) -> dict[str, Any]:
    found = [finding(f"{each} is broken", clause=each) for each in broken]
    row = outcome_row("r", "c", "k", weighed(counts, found[:kept], {"findings": len(broken)}))
    return {**row, "checker": "c"}


def judged(rows: Sequence[Mapping[str, Any]], said: Mapping[str, Promised]) -> CheckerResult:
    made = judged_rows(rows, CLAUSES, said)
    return attributed(checker_result("c", "", made, clauses=CLAUSES), CLAUSES, said)


def verdicts(result: CheckerResult) -> dict[str, Verdict | None]:
    return {each.name: each.verdict for each in result.clauses}


def test_what_is_said_of_a_checker_is_by_its_own_name() -> None:
    assert said_of("c", CLAUSES, PROMISES) == {
        "order": PROMISES["c/order"],
        "leases": PROMISES["c/leases"],
    }
    assert said_of("other", CLAUSES, PROMISES) == {"order": PROMISES["other/order"]}
    assert said_of("c", CLAUSES, {}) == {}


def test_a_broken_clause_that_nobody_promises_is_no_finding() -> None:
    rows = [a_row({"order": 3, "leases": 4}, "leases")]
    assert judged(rows, {}).verdict is Verdict.INVALID
    result = judged(rows, SAID)
    assert result.verdict is Verdict.VALID and result.findings == []
    assert verdicts(result) == {"order": Verdict.VALID, "leases": None}
    assert result.clauses[1].note == WHY
    assert result.seen == 3


def test_what_is_promised_is_broken_all_the_same() -> None:
    result = judged([a_row({"order": 3, "leases": 4}, "leases", "order")], SAID)
    assert result.verdict is Verdict.INVALID
    assert [each.message for each in result.findings] == ["order is broken"]
    assert verdicts(result) == {"order": Verdict.INVALID, "leases": None}


def test_too_little_of_a_clause_that_nobody_promises_is_not_missed() -> None:
    rows = [a_row({"order": 3, "leases": 0}), a_row({"order": 3})]
    assert judged(rows, {}).verdict is Verdict.UNKNOWN
    assert judged(rows, SAID).verdict is Verdict.VALID
    few = judged([a_row({"order": 1, "leases": (9, 9)})], SAID)
    assert few.verdict is Verdict.UNKNOWN and "order: 1 reads" in few.note


def test_a_checker_of_which_nothing_is_promised_says_why() -> None:
    none = {name: Promised(source=WHY, made=False) for name in ("order", "leases")}
    result = judged([a_row({"order": 3, "leases": 4}, "leases")], none)
    assert result.verdict is Verdict.UNKNOWN and WHY in result.note


def test_a_row_without_counts_is_of_the_first_clause() -> None:
    row = {**a_row({}), "seen": 5, "clauses": None}
    only = (clause("c"),)
    assert checker_result("c", "", [row], clauses=only).seen == 5
    unmade = {"c": Promised(source=WHY, made=False)}
    assert [each["seen"] for each in judged_rows([row], only, unmade)] == [0]
    nameless = {**a_row({"c": 5}, ""), "clauses": None}
    assert json.loads(judged_rows([nameless], only, unmade)[0]["findings"]) == []


def test_a_finding_that_names_no_clause_of_several_stays() -> None:
    result = judged([a_row({"order": 3, "leases": 4}, "")], SAID)
    assert result.verdict is Verdict.INVALID and result.findings[0].promise == ""


def test_findings_that_were_not_kept_may_be_of_what_is_promised() -> None:
    result = judged([a_row({"order": 3, "leases": 4}, *["leases"] * 4, kept=2)], SAID)
    assert result.verdict is Verdict.UNKNOWN and CUT in result.note


def test_a_part_that_could_not_be_judged_stays_so() -> None:
    failed = {**a_row({}), "verdict": "UNKNOWN", "note": "broke"}
    assert judged([failed, a_row({"order": 3})], SAID).verdict is Verdict.UNKNOWN


# --- where it is said ---------------------------------------------------------------------


def broken() -> CheckerResult:
    return judged([a_row({"order": 3, "leases": 4}, "order")], SAID)


def test_a_finding_says_by_what_it_is_promised(tmp_path: Path) -> None:
    result = of_run("r", tmp_path, [broken()])
    assert "promised by the label (since 3)" in verdict_text(result)
    document: Any = verdict_document(result)
    (found,) = document["checkers"][0]["findings"]
    assert found["promise"] == "the label (since 3)"
    again = result_of({**document, "judged": ""}, "r", tmp_path)
    assert again.checkers[0].findings[0].promise == found["promise"]


def test_the_terminal_and_the_page_have_it(tmp_path: Path) -> None:
    document = verdict_document(of_run("r", tmp_path, [broken()]))
    console = Console(width=200, file=StringIO(), record=True)
    console.print(summary(document))
    assert "promised by the label (since 3)" in console.export_text()
    (row,) = checker_rows(document["checkers"], {})
    assert row["findings"][0]["promise"] == "the label (since 3)"


def test_a_system_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    rows = [a_row({"order": 3, "leases": 4}, "order")]
    result = judged(rows, {})
    assert result == checker_result("c", "", rows, clauses=CLAUSES)
    document: Any = verdict_document(of_run("r", tmp_path, [result]))
    assert "promise" not in document["checkers"][0]["findings"][0]
    assert "promised by" not in verdict_text(of_run("r", tmp_path, [result]))


# --- of a stored run ----------------------------------------------------------------------


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """A system that makes promises; the plans that it was asked about."""
    asked: list[Mapping[str, Any]] = []

    def promises(plan: Mapping[str, Any]) -> Mapping[str, Promised]:
        asked.append(plan)
        return PROMISES

    def load(group: str, name: str) -> Any:
        if name != "shelf":
            raise UsageError(f"unknown {group}: {name}")
        return SimpleNamespace(promises=promises)

    monkeypatch.setattr(registry, "load", load)
    return asked


def test_a_system_is_asked_of_the_run_that_is_judged(shelf: list[Mapping[str, Any]]) -> None:
    plan = {"system": "shelf", "versions": {"Shelf": "3"}}
    assert promises_of(plan) == PROMISES and shelf == [plan]
    assert promises_of({"system": "gone"}) == {}


def test_runs_are_judged_by_what_their_system_promises(
    shelf: list[Mapping[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "contracts_of", lambda checker, counts: (CLIENTS,))
    checker: Any = SimpleNamespace(name="c", summary="it is so", clauses=CLAUSES)
    rows = pa.Table.from_pylist(
        [a_row({"order": 3, "leases": 4}, "leases"), a_row({"order": 3}, "order")],
        schema=OUTCOME_ARROW,
    )
    for system, expected in (("shelf", {"order"}), ("gone", {"order", "leases"})):
        held: Any = SimpleNamespace(
            info=SimpleNamespace(run="r", plan={"system": system}),
            manifest=SimpleNamespace(counts=None),
        )
        asked = Asked(
            number=0, run=held, held=held, wanted={"c": ""}, plugins={"c": checker}, broken={}
        )
        (result,) = engine._verdicts(Gathered(asked, outcomes=[rows]))
        assert {each.clause for each in result.findings} == expected
        assert all(bool(each.promise) == (system == "shelf") for each in result.findings)
