"""Narrow tables say what the wide ones said, in less memory."""

from random import Random

import pyarrow as pa
import pytest

from framework.evidence.changes import PartitionChanged
from framework.evidence.kinds import Evidence
from framework.evidence.narrow import WORTH, narrow
from framework.evidence.quorum import Appended, Elected
from framework.evidence.schemas import rows_of, table_of


def changed(number: int) -> PartitionChanged:
    return PartitionChanged(
        node=f"n{number % 3}",
        incarnation="a" * 36,
        seq=number,
        at_ns=number * 1_000_000_007,
        ref=f"nodes/n{number % 3}/events.jsonl:{number}",
        offset=number,
        epoch=1 << 40,
        topic_id=f"{number % 40:036d}",
        partition=-1 if number % 7 else 127,
        isr=tuple(range(number % 4)),
        leader=number % 6,
        leader_epoch=128,
        partition_epoch=-129,
    )


def test_rows_are_the_same_in_less_than_half_the_memory() -> None:
    wide = table_of(PartitionChanged, [changed(number) for number in range(WORTH)])
    less = narrow(wide)
    assert rows_of(PartitionChanged, less) == rows_of(PartitionChanged, wide)
    assert less.nbytes * 2 < wide.nbytes


def test_few_rows_are_left_as_they_are() -> None:
    wide = table_of(PartitionChanged, [changed(number) for number in range(9)])
    assert narrow(wide) is wide


@pytest.mark.parametrize("end", [0, -1, 127, 128, -128, -129, 1 << 31, -(1 << 31), (1 << 63) - 1])
def test_no_number_is_too_wide(end: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.evidence.narrow.WORTH", 1)
    rows: list[Evidence] = [
        Elected(node="n", at_ns=end, epoch=end, votes=(end, 0)),
        Elected(node="n", at_ns=0, epoch=0, votes=()),
    ]
    table = narrow(table_of(Elected, rows))
    assert rows_of(Elected, table) == rows
    assert [type(value) for value in (rows_of(Elected, table)[0].at_ns,)] == [int]


def test_what_is_null_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.evidence.narrow.WORTH", 1)
    draw = Random(4)
    rows: list[Evidence] = [
        Appended(
            node="n",
            base_offset=at,
            end_offset=at + 1,
            epoch=0,
            control=False,
            crcs=(draw.randrange(1 << 32),),
            leading=draw.choice([None, True, False]),
        )
        for at in range(40)
    ]
    assert rows_of(Appended, narrow(table_of(Appended, rows))) == rows


def test_texts_with_nulls() -> None:
    table = pa.table({"text": [None, "a"] * WORTH, "number": [None, 7] * WORTH})
    assert narrow(table).to_pylist() == table.to_pylist()
