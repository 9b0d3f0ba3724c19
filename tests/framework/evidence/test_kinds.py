"""Kinds of evidence: their tables, and the page that lists them."""

from dataclasses import fields
from pathlib import Path
from typing import Any, NewType, get_args, get_origin, get_type_hints

import pytest

from framework.evidence.__main__ import page
from framework.evidence.catalogue import KINDS, concrete
from framework.evidence.changes import Change, EndPoint
from framework.evidence.ids import LeaderEpoch, Offset, ReplicaId
from framework.evidence.kinds import Evidence, evidence_of, same_fact
from framework.evidence.partitions import EpochStart
from framework.evidence.quorum import Elected, Voted, Voter
from framework.evidence.schemas import rows_of, schema, table_of
from framework.evidence.systems import Covered, HeldRule

DOCS = Path(__file__).parents[3] / "docs" / "evidence.md"


def example(kind: type[Evidence], *, empty: bool) -> Evidence:
    """One with a value in every field, or with none where that may be."""
    hints = get_type_hints(kind)
    named = {each.name: value_of(hints[each.name], empty) for each in fields(kind)}
    return kind(**named)


def value_of(hint: Any, empty: bool) -> Any:
    if isinstance(hint, NewType):
        return value_of(hint.__supertype__, empty)
    args = get_args(hint)
    if type(None) in args:
        return None if empty else value_of(next(a for a in args if a is not type(None)), empty)
    if get_origin(hint) is tuple:
        return () if empty else (value_of(args[0], empty),)
    if hint is EndPoint:
        return EndPoint(name="n", host="h", port=1, protocol=0)
    if hint is EpochStart:
        return EpochStart(epoch=LeaderEpoch(1), start_offset=Offset(2))
    if hint is Voter:
        return Voter(id=ReplicaId(1), directory="d")
    if hint is Covered:
        return Covered(entity="e", field="f")
    if hint is HeldRule:
        return HeldRule(rule="epoch-is-offset", feature="f", since=1, below=2)
    if args:
        return args[0]  # a literal
    return {int: 7, str: "text", bool: True, float: 0.5}[hint]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_rows_survive_their_table(kind: type[Evidence]) -> None:
    rows = [example(kind, empty=False), example(kind, empty=True)]
    table = table_of(kind, rows)
    assert table.schema == schema(kind)
    assert rows_of(kind, table) == rows


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_finding_shows_every_field(kind: type[Evidence]) -> None:
    shown = example(kind, empty=False).as_json()
    assert {each.name for each in fields(kind)} - shown.keys() == {"at_ns", "within_ns", "source"}
    assert shown["type"] == kind.kind


def test_same_fact_is_what_is_said_and_not_who_says_it() -> None:
    one = Elected(node="c1", seq=1, epoch=3, votes=(1, 2))
    assert same_fact(one, Elected(node="c2", seq=9, epoch=3, votes=(1, 2)))
    assert not same_fact(one, Elected(node="c1", seq=1, epoch=4, votes=(1, 2)))


def test_base_stands_for_all_that_are_made_of_it() -> None:
    assert concrete([Change, Elected]) == [
        each for each in KINDS.values() if issubclass(each, Change | Elected)
    ]
    assert evidence_of(*concrete([Change]), Voted) == {"evidence:applied", "evidence:voted"}


def test_page_of_kinds_is_current() -> None:
    assert DOCS.read_text() == page(), "python -m framework.evidence > docs/evidence.md"
