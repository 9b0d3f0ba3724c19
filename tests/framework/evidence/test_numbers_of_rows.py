"""What is asked of evidence in columns without looking at its rows is what a list of them says."""

from random import Random

import pyarrow as pa
import pytest

from framework.evidence.kinds import Evidence
from framework.evidence.narrow import narrow
from framework.evidence.quorum import Committed, Flushed, ImageDigest, ImageShown
from framework.evidence.rows import EvidenceRows
from framework.evidence.run_events import firsts, numbers, of_kinds
from framework.evidence.schemas import table_of


def listed(draw: Random) -> list[Evidence]:
    """Of several kinds, in order."""

    def one(seq: int) -> Evidence:
        place = {"node": draw.choice(["a", "b"]), "incarnation": draw.choice("xy"), "seq": seq}
        offset = draw.choice([0, 7, 40, 1 << 40])
        if draw.random() < 0.3:
            return Committed(**place, offset=offset, epoch=1, leading=True)
        if draw.random() < 0.1:
            return Flushed(**place, end_offset=offset)
        return draw.choice([ImageDigest, ImageShown])(**place, offset=offset, digest="d")

    rows = [one(seq) for seq in range(draw.randrange(40))]
    return sorted(rows, key=lambda each: each.place)


def columns(rows: list[Evidence]) -> EvidenceRows[Evidence]:
    tables: list[tuple[type[Evidence], pa.Table]] = []
    for kind in sorted({type(each) for each in rows}, key=lambda kind: kind.kind):
        own = [each for each in rows if type(each) is kind]
        half = len(own) // 2
        tables += [(kind, narrow(table_of(kind, part))) for part in (own[:half], own[half:])]
    return EvidenceRows.of_tables(tables)


@pytest.mark.parametrize("seed", range(30))
def test_columns_say_what_a_list_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.evidence.narrow.WORTH", 1)
    rows = listed(Random(seed))
    as_list = of_kinds(rows, Committed, ImageDigest, ImageShown)
    as_columns = of_kinds(columns(rows), Committed, ImageDigest, ImageShown)
    assert list(as_columns) == as_list
    offsets = numbers(as_columns, "offset").tolist()
    assert offsets == numbers(as_list, "offset").tolist() == [each.offset for each in as_list]
    first = list(firsts(as_columns, "offset"))
    assert first == firsts(as_list, "offset")
    assert [each.offset for each in first] == list(dict.fromkeys(offsets))
    assert all(as_list.index(each) == offsets.index(each.offset) for each in first)
