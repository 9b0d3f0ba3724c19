"""What a rule finds in rows that become objects as it looks at them is what it finds in a list of
them: of every checker, its clean story and each violation that is planted for it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from test_contract import ON_EVIDENCE, case, loaded

from framework.checking import run_checks
from framework.checking.observed import tables_by_kind
from framework.checking.run_checks import evidence_of
from framework.evidence import rows
from framework.evidence.catalogue import KINDS
from framework.evidence.kinds import Evidence
from framework.evidence.rows import EvidenceRows
from framework.evidence.run_events import RunEvents
from framework.evidence.schemas import rows_of


def forms(events: RunEvents) -> tuple[RunEvents, RunEvents]:
    """With the evidence as a list, and as columns."""
    found = tables_by_kind(events.evidence)
    tables = [(kind, found[name]) for name, kind in KINDS.items() if name in found]
    listed = [each for kind, table in tables for each in rows_of(kind, table)]
    listed.sort(key=lambda each: each.place)
    return (
        replace(events, evidence=listed),
        replace(events, evidence=EvidenceRows.of_tables(tables)),
    )


def stories(name: str) -> Iterator[Any]:
    it = case(name)
    yield it.clean
    for _, story in it.planted.values():
        yield story()


@pytest.mark.parametrize("name", ON_EVIDENCE)
def test_rule_finds_the_same_in_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CHUNK", 40)
    check = loaded(name).check_run
    for story in stories(name):
        listed, columns = forms(story.run_events())
        assert check(columns) == check(listed)


def test_rows_are_the_list_in_its_order() -> None:
    listed, columns = forms(case("committed-never-lost").clean.run_events())
    of_rows, of_list = columns.evidence, listed.evidence
    assert list(of_rows) == of_list and len(of_rows) == len(of_list)
    for at in (0, 3, -1, -2, len(of_list) - 1):
        assert of_rows[at] == of_list[at]
    assert list(of_rows[2:9]) == of_list[2:9]
    with pytest.raises(IndexError):
        of_rows[len(of_list)]


def test_long_run_is_handed_over_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = case("one-vote").clean.run_events().evidence
    tables = {KINDS[name]: table for name, table in tables_by_kind(evidence).items()}
    short = evidence_of(tables)
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", len(short) - 1)
    long = evidence_of(tables)
    assert isinstance(short, list) and isinstance(long, EvidenceRows) and list(long) == short


def test_of_no_rows_all_is_empty() -> None:
    none: EvidenceRows[Evidence] = EvidenceRows.of_tables([])
    assert (list(none), none.lives(), none.from_disks(), len(none.of(Evidence))) == ([], {}, {}, 0)
