"""What a rule finds in rows that become objects as it looks at them is what it finds in a list of
them: of every checker, its clean story and each violation that is planted for it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from test_contract import ON_EVIDENCE, case, loaded

from framework.checking import run_checks
from framework.checking.cuts import cut_by_node, parts
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.observed import tables_by_kind
from framework.checking.results import CheckerResult, checker_result
from framework.checking.run_checks import evidence_of
from framework.evidence import narrow as narrowing
from framework.evidence import rows
from framework.evidence.catalogue import KINDS
from framework.evidence.kinds import Evidence
from framework.evidence.narrow import narrow
from framework.evidence.processes import Booted
from framework.evidence.quorum import Voted
from framework.evidence.requests import Served
from framework.evidence.rows import EvidenceRows
from framework.evidence.run_events import RunEvents, folded
from framework.evidence.schemas import rows_of
from framework.verdict import Verdict


def as_list(events: RunEvents, tables: Mapping[type[Evidence], pa.Table]) -> RunEvents:
    listed = [each for kind, table in tables.items() for each in rows_of(kind, table)]
    listed.sort(key=lambda each: each.place)
    return replace(events, evidence=listed)


def as_columns(events: RunEvents, tables: Mapping[type[Evidence], pa.Table]) -> RunEvents:
    narrowed = ((kind, narrow(table)) for kind, table in tables.items())
    return replace(events, evidence=EvidenceRows.of_tables(narrowed))


def tables_of(events: RunEvents) -> dict[type[Evidence], pa.Table]:
    found = tables_by_kind(events.evidence)
    return {kind: found[name] for name, kind in KINDS.items() if name in found}


def stories(name: str) -> Iterator[Any]:
    it = case(name)
    yield it.clean
    for _, story in it.planted.values():
        yield story()


@pytest.mark.parametrize("name", ON_EVIDENCE)
def test_rule_finds_the_same_in_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CHUNK", 40)
    monkeypatch.setattr(narrowing, "WORTH", 1)
    check = loaded(name).check_run
    for story in stories(name):
        events = story.run_events()
        tables = tables_of(events)
        columns = as_columns(events, tables)
        kept = replace(events, evidence=EvidenceRows.of_tables(tables.items(), kept=True))
        found = check(as_list(events, tables))
        assert [check(columns), check(kept)] == [found, found]
        assert check(kept) == found, "it changed what is made once for all"


def in_parts(
    name: str, events: RunEvents, tables: Mapping[type[Evidence], pa.Table], count: int
) -> CheckerResult:
    """What the engine makes of a run that is judged in so many parts."""
    checker = loaded(name)
    cut = checker.check_run.by
    rows = []
    for part in parts(count):
        own = tables.items() if cut is None else cut.of(part, tables.items())
        found = checker.check_run(replace(events, part=part, evidence=evidence_of(own)))
        by_key = {"": found} if isinstance(found, Outcome) else found
        rows += [outcome_row("r", name, key, each) for key, each in by_key.items()]
    return checker_result(name, checker.summary, rows, clauses=checker.clauses)


CUT = [name for name in ON_EVIDENCE if loaded(name).check_run.can_be_cut]


def test_there_are_rules_that_can_be_cut() -> None:
    assert CUT


@pytest.mark.parametrize("name", CUT)
def test_parts_find_together_what_the_whole_has(name: str) -> None:
    accused = 0
    for story in stories(name):
        events = story.run_events()
        tables = tables_of(events)
        whole = in_parts(name, events, tables, 1)
        assert in_parts(name, events, tables, 3) == whole
        accused += whole.verdict is Verdict.INVALID
    assert accused, "no part found anything"


def test_a_part_is_given_its_own_rows_and_what_all_are_given() -> None:
    events = case("fenced-serve-nothing").clean.run_events()
    given = [dict(cut_by_node(Booted).of(part, tables_of(events).items())) for part in parts(3)]
    for part, tables in zip(parts(3), given, strict=True):
        nodes = {
            each.node
            for kind in tables
            if kind is not Booted
            for each in rows_of(kind, tables[kind])
        }
        assert all(map(part.has, nodes))
        assert len(tables[Booted]) == len(list(events.of(Booted)))
    served = sum(len(tables[Served]) for tables in given)
    assert served == len(list(events.of(Served))) > 0


def test_rows_are_the_list_in_its_order() -> None:
    events = case("committed-never-lost").clean.run_events()
    tables = tables_of(events)
    of_rows, of_list = as_columns(events, tables).evidence, as_list(events, tables).evidence
    assert list(of_rows) == of_list and len(of_rows) == len(of_list)
    for at in (0, 3, -1, -2, len(of_list) - 1):
        assert of_rows[at] == of_list[at]
    assert list(of_rows[2:9]) == of_list[2:9]
    with pytest.raises(IndexError):
        of_rows[len(of_list)]


def test_rows_of_a_short_run_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = case("one-vote").clean.run_events().evidence
    tables = {KINDS[name]: table for name, table in tables_by_kind(evidence).items()}
    short = evidence_of(tables.items())
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", len(short) - 1)
    long = evidence_of(tables.items())
    assert list(long) == list(short)
    assert short[3] is short[3] and long[3] is not long[3]
    assert next(iter(short.of(Booted))) is next(each for each in short if isinstance(each, Booted))


def test_fold_of_the_same_kept_rows_is_made_once() -> None:
    events = case("one-vote").clean.run_events()
    columns = EvidenceRows.of_tables(tables_of(events).items())
    kept = EvidenceRows.of_tables(tables_of(events).items(), kept=True)
    folded_of: list[int] = []

    def fold(evidence: Iterable[Evidence]) -> list[Evidence]:
        folded_of.append(len(list(evidence)))
        return list(evidence)

    def other(evidence: Iterable[Evidence]) -> list[Evidence]:
        return fold(evidence)[::-1]

    booted = folded(fold, kept.of(Booted))
    assert booted == list(kept.of(Booted)) and folded(fold, kept.of(Booted)) is booted
    assert len(folded_of) == 1
    assert folded(fold, kept.of(Voted)) == list(kept.of(Voted)) != booted
    assert folded(other, kept.of(Booted)) == booted[::-1]
    assert len(folded_of) == 3
    for again in (columns.of(Booted), list(columns.of(Booted))):
        assert folded(fold, again) == folded(fold, again) == booted
    assert len(folded_of) == 7


def test_of_no_rows_all_is_empty() -> None:
    none: EvidenceRows[Evidence] = EvidenceRows.of_tables([])
    assert (list(none), none.lives(), none.from_disks(), len(none.of(Evidence))) == ([], {}, {}, 0)
