"""Which contracts a verdict rests on."""

from typing import Any

import pyarrow as pa
import pytest

from framework.checking.contracts import contracts_of
from framework.checking.findings import finding
from framework.checking.keyed import Outcome, judged, outcome_row
from framework.checking.observed import tables_by_kind
from framework.checking.results import checker_result
from framework.checking.run_checks import RunCheck, RunChecker
from framework.checking.runs import FAULTS, NEMESIS
from framework.checking.sealing import counts_of
from framework.evidence.quorum import Elected, Voted
from framework.evidence.run_events import RunEvents
from framework.evidence.systems import ImageForm
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, EVENTS, LEDGER, RunTables

FORM = ImageForm(node="", source="harness", covers=())
ELECTED = Elected(node="c1", epoch=1, votes=())


def run(*, fs: tuple[str, ...] = (), faults: int = 0, evidence: Any = ()) -> RunTables:
    row = dict.fromkeys(FAULTS.names)
    return RunTables(
        run="r",
        plan={},
        operations=pa.table({"f": pa.array(fs, pa.string())}),
        nemesis=NEMESIS.empty_table(),
        faults=pa.Table.from_pylist([row] * faults, schema=FAULTS),
        evidence=tables_by_kind(evidence),
    )


def checker(check: RunCheck) -> RunChecker:
    class Some(RunChecker):
        name = "some"
        summary = ""
        requires = frozenset[str]()
        check_run = check

    return Some()


def rule(events: RunEvents) -> Outcome:
    return judged(1)


@pytest.mark.parametrize(
    ("check", "there", "contracts"),
    [
        (RunCheck(rule, fs=("read",)), run(fs=("read",)), (CLIENTS,)),
        (RunCheck(rule, fs=("write",)), run(fs=("read",)), ()),
        (RunCheck(rule, fs=None, evidence=(Elected,)), run(fs=("read",)), (CLIENTS,)),
        (RunCheck(rule, faults=True), run(fs=("read",), faults=1), (LEDGER,)),
        (RunCheck(rule), run(faults=1, evidence=[ELECTED]), ()),
        (RunCheck(rule, evidence=(Voted,)), run(evidence=[ELECTED]), ()),
        (RunCheck(rule, evidence=(ImageForm,)), run(evidence=[FORM]), ()),
        (RunCheck(rule, evidence=(ImageForm, Elected)), run(evidence=[FORM, ELECTED]), (EVENTS,)),
        (
            RunCheck(rule, fs=None, faults=True, evidence=(Elected,)),
            run(fs=("read",), faults=1, evidence=[ELECTED]),
            (CLIENTS, LEDGER, EVENTS),
        ),
    ],
)
def test_verdict_rests_on_what_was_looked_at_and_was_there(
    check: RunCheck, there: RunTables, contracts: tuple[str, ...]
) -> None:
    assert tuple(contracts_of(checker(check), counts_of(there))) == contracts


def test_finding_says_what_proved_it() -> None:
    operation = Operation(index=3)
    assert finding("m", [operation]).contracts == (CLIENTS,)
    assert finding("m", [], [ELECTED]).contracts == (EVENTS,)
    assert finding("m", [operation], [ELECTED]).contracts == (CLIENTS, EVENTS)
    assert finding("m", [operation], by=[EVENTS]).contracts == (CLIENTS, EVENTS)


def test_result_and_each_finding_name_their_contracts() -> None:
    findings = [finding("a", [Operation(index=3)]), finding("b")]
    row = outcome_row("r", "c", "", judged(2, findings))
    result = checker_result("c", "", [row], (CLIENTS, EVENTS))
    assert result.contracts == (CLIENTS, EVENTS)
    assert [tuple(each.contracts) for each in result.findings] == [(CLIENTS, EVENTS), (CLIENTS,)]


def test_nothing_seen_proves_nothing() -> None:
    assert checker_result("c", "", [outcome_row("r", "c", "", judged(0))]).contracts == ()
