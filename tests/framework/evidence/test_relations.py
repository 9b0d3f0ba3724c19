"""What verbs over columns say is what loops over rows do, and what Spark says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from framework.evidence import columns, relations
from framework.evidence.brokers import LeaseGranted
from framework.evidence.kinds import Evidence
from framework.evidence.narrow import narrow
from framework.evidence.quorum import Appended, Committed, RoleTaken
from framework.evidence.relations import NONE, PROCESS, Relation, relation, relation_of
from framework.evidence.requests import Served
from framework.evidence.rows import EvidenceRows
from framework.evidence.schemas import table_of
from framework.history.texts import as_text


@dataclass(frozen=True)
class Line:
    """A row: a text and a number of a key, an order, a truth value, a list."""

    name: str | None
    number: int | None
    at: int
    is_so: bool
    items: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[str | None, int | None]:
        return self.name, self.number


NAMES = st.sampled_from(["a", "b", "ä\ud800", None])
NUMBERS = st.sampled_from([0, 1, 2, -(1 << 60), 1 << 60, None])
LINES = st.lists(
    st.builds(
        Line,
        NAMES,
        NUMBERS,
        st.integers(-3, 3),
        st.booleans(),
        st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ),
    max_size=12,
)
KEY = ("name", "number")


def of(lines: Sequence[Line]) -> Relation[Line]:
    fields = ("name", "number", "at", "is_so", "items")
    return relation_of(lines, **{each: [getattr(line, each) for line in lines] for each in fields})


# --- as loops say -----------------------------------------------------------------------------


@given(LINES)
def test_where_and_known_are_filters(lines: list[Line]) -> None:
    own = of(lines)
    assert own.objects() == lines and len(own) == len(lines)
    assert own.where(name="a").objects() == [each for each in lines if each.name == "a"]
    both = own.where(own["at"] > 0, is_so=True, number=1)
    wanted = [each for each in lines if each.at > 0 and each.is_so and each.number == 1]
    assert both.objects() == wanted
    numbered = own.known("number")
    assert numbered.objects() == [each for each in lines if each.number is not None]
    assert numbered["number"].tolist() == [each.number for each in numbered.objects()]


@given(LINES)
def test_explode_has_a_row_for_each_item(lines: list[Line]) -> None:
    own = of(lines).explode("items", index="nth")
    wanted = [(each, nth, item) for each in lines for nth, item in enumerate(each.items)]
    found = zip(own.objects(), own["nth"].tolist(), own["items"].tolist(), strict=True)
    assert list(found) == wanted
    assert own["at"].tolist() == [each.at for each, _, _ in wanted]


@given(LINES, LINES)
def test_union_is_one_after_the_other(lines: list[Line], others: list[Line]) -> None:
    own = of(lines).union(of(others).renamed(at="when").renamed(when="at")).with_column("one", 1)
    assert own.objects() == [*lines, *others]
    whole = [[each.name, each.at, 1] for each in (*lines, *others)]
    readable = [[name and as_text(name), *rest] for name, *rest in whole]
    assert [own.values(at, "name", "at", "one") for at in range(len(own))] == readable
    assert own["at"].tolist() == [each.at for each in (*lines, *others)]
    swapped = np.arange(len(own))[::-1]
    assert own.take(swapped).objects() == [*lines, *others][::-1]
    thrice = of(others).union(of(lines), of(others))
    assert thrice.objects() == [*others, *lines, *others]
    assert thrice["at"].tolist() == [each.at for each in (*others, *lines, *others)]
    assert own.objects(own.first(*KEY)) == firsts([*lines, *others])


def firsts(lines: Sequence[Line]) -> list[Line]:
    found: dict[Any, Line] = {}
    for each in lines:
        found.setdefault(each.key, each)
    return list(found.values())


@given(LINES)
def test_first_last_and_counted_are_a_table_of_keys(lines: list[Line]) -> None:
    own = of(lines)
    last = len(lines) - 1 - of(lines[::-1]).first(*KEY)[::-1]
    assert own.last(*KEY).tolist() == last.tolist()
    assert own.objects(own.first(*KEY)) == firsts(lines)
    assert [lines[at].key for at in own.first(*KEY)] == [each.key for each in firsts(lines)]
    keys = [each.key for each in lines]
    assert own.counted(*KEY).tolist() == [keys.count(key) for key in keys]
    assert own.counted().tolist() == [len(lines)] * len(lines)


@given(LINES)
def test_disagreeing_has_the_first_row_of_each_value(lines: list[Line]) -> None:
    wanted: dict[Any, dict[Any, int]] = {}
    for at, each in enumerate(lines):
        wanted.setdefault(each.name, {}).setdefault(each.number, at)
    several = [list(values.values()) for values in wanted.values() if len(values) > 1]
    for on in ("number", ("number", "number")):
        found = of(lines).disagreeing("name", on=on)
        assert [each.tolist() for each in found] == sorted(several, key=lambda rows: rows[1])


@given(LINES)
def test_lag_is_the_row_before(lines: list[Line]) -> None:
    before: dict[Any, int] = {}
    wanted = [NONE] * len(lines)
    for at in sorted(range(len(lines)), key=lambda at: lines[at].at):
        wanted[at] = before.get(lines[at].key, NONE)
        before[lines[at].key] = at
    assert of(lines).lag(*KEY, on="at").tolist() == wanted


@given(LINES, LINES)
def test_as_of_is_the_last_below(lines: list[Line], others: list[Line]) -> None:
    def last_below(line: Line) -> int:
        below = [
            (other.at, at)
            for at, other in enumerate(others)
            if other.key == line.key and other.at < line.at
        ]
        return max(below)[1] if below else NONE

    def first_above(line: Line) -> int:
        above = [
            (-other.at, at)
            for at, other in enumerate(others)
            if other.key == line.key and other.at > line.at
        ]
        return max(above)[1] if above else NONE

    found = of(lines).as_of(of(others), per=KEY, on="at")
    assert found.tolist() == list(map(last_below, lines))
    found = of(lines).as_of(of(others), per=KEY, on="at", forward=True)
    assert found.tolist() == list(map(first_above, lines))


@given(LINES, LINES)
def test_present_in_is_a_semi_join(lines: list[Line], others: list[Line]) -> None:
    last = {each.key: at for at, each in enumerate(others)}
    assert of(lines).joined(of(others), *KEY).tolist() == [last.get(x.key, NONE) for x in lines]
    assert of(lines).present_in(of(others), *KEY).tolist() == [each.key in last for each in lines]


@given(LINES, LINES, st.integers(1, 5))
@example(
    [Line("a", 0, 0, False, ()), Line("a", 0, -1, False, ())], [Line("a", 0, 0, False, ())] * 2, 1
)
def test_followed_is_a_join_of_what_begins_later(
    lines: list[Line], others: list[Line], pairs: int
) -> None:
    """In pieces of so many, but for a row that has more."""
    wanted = [
        (row, other)
        for row, line in enumerate(lines)
        for other in sorted(range(len(others)), key=lambda other: others[other].at)
        if line.key == others[other].key and others[other].at > line.at
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "PAIRS", pairs)
        found = [
            list(zip(*map(np.ndarray.tolist, piece), strict=True))
            for piece in of(lines).followed(of(others), *KEY, end="at", begin="at")
        ]
    assert [pair for piece in found for pair in piece] == wanted
    assert all(0 < len(piece) <= pairs or len({row for row, _ in piece}) == 1 for piece in found)
    shown = [{row for row, _ in piece} for piece in found]
    assert sum(map(len, shown)) == len(set[int]().union(*shown)), "a row is in one piece"


@given(LINES, LINES)
def test_same_is_of_pairs_of_rows(lines: list[Line], others: list[Line]) -> None:
    pairs = [(row, other) for row in range(len(lines)) for other in range(len(others))]
    rows, beyond = np.array(pairs, np.int64).reshape(-1, 2).T
    found = of(lines).same(of(others), *KEY, rows=rows, others=beyond)
    assert found.tolist() == [lines[row].key == others[other].key for row, other in pairs]


@given(LINES)
def test_keys_of_many_columns_stay_as_few_as_rows(lines: list[Line]) -> None:
    own = of(lines)
    many = [own.columns[name] for name in ("name", "number", "at", "is_so") * 20]
    codes, count = columns.keys(many, len(lines))
    whole = [(each.key, each.at, each.is_so) for each in lines]
    assert int(codes.max(initial=0)) < count <= 4 * len(lines) + 64
    for one in range(len(lines)):
        for other in range(len(lines)):
            assert (codes[one] == codes[other]) == (whole[one] == whole[other])


def test_what_is_no_number_is_no_array() -> None:
    own = of([Line("a", None, 1, True)])
    for name in ("name", "number", "items"):
        with pytest.raises(TypeError, match=name):
            own[name]
    with pytest.raises(TypeError, match="no values in common"):
        columns.stacked([own.columns["name"], own.columns["at"]])


# --- of evidence ------------------------------------------------------------------------------


def listed(draw: Random) -> list[Evidence]:
    def one(seq: int) -> Evidence:
        place: dict[str, Any] = {
            "node": draw.choice(["a", "b"]),
            "incarnation": draw.choice("xy"),
            "seq": seq,
            "at_ns": draw.randrange(1 << 40),
        }
        epoch = draw.randrange(3)
        if draw.random() < 0.3:
            crcs = tuple(draw.randrange(9) for _ in range(draw.randrange(3)))
            return Appended(
                **place, base_offset=7, end_offset=7 + len(crcs), epoch=epoch,
                control=False, crcs=crcs, leading=draw.choice([True, False, None]),
            )  # fmt: skip
        leader = draw.choice([None, 1, 2])
        return RoleTaken(**place, role="follower", epoch=epoch, leader=leader)

    return sorted((one(seq) for seq in range(draw.randrange(40))), key=lambda each: each.place)


def in_columns(rows: list[Evidence], *, kept: bool) -> EvidenceRows[Evidence]:
    tables: list[tuple[type[Evidence], pa.Table]] = []
    for kind in sorted({type(each) for each in rows}, key=lambda kind: kind.kind):
        own = [each for each in rows if type(each) is kind]
        half = len(own) // 2
        tables += [(kind, narrow(table_of(kind, part))) for part in (own[:half], own[half:])]
    return EvidenceRows.of_tables(tables, kept=kept)


@pytest.mark.parametrize("seed", range(30))
def test_relation_of_columns_is_that_of_a_list(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.evidence.narrow.WORTH", 1)
    rows = listed(Random(seed))
    fields = (*PROCESS, "seq", "at_ns", "epoch", "leader", "role", "crcs", "leading")
    wanted = relation(rows, *fields)
    for kept in (False, True):
        found = relation(in_columns(rows, kept=kept), *fields)
        assert found.objects() == wanted.objects() == rows
        for name in fields:
            assert found.columns[name].to_pylist() == wanted.columns[name].to_pylist()
        taken = found.where(role="follower", epoch=1).known("leader")
        assert taken.objects() == wanted.where(role="follower", epoch=1).known("leader").objects()
        exploded = found.explode("crcs", index="nth")
        assert exploded.objects() == wanted.explode("crcs", index="nth").objects()
        assert [each.tolist() for each in found.disagreeing(*PROCESS, on="leader")] == [
            each.tolist() for each in wanted.disagreeing(*PROCESS, on="leader")
        ]


def test_of_a_part_of_the_evidence_rows_are_that_part_s() -> None:
    rows = listed(Random(7))
    own = in_columns(rows, kept=False).of(RoleTaken)[3:]
    found = relation(own, "epoch", "leader").where(epoch=1)
    wanted = [each for each in rows if isinstance(each, RoleTaken)][3:]
    assert found.objects() == [each for each in wanted if each.epoch == 1] != []


def test_nothing_is_related_to_nothing() -> None:
    none = relation(EvidenceRows.of_tables([]), *PROCESS, "seq")
    one = relation([Committed(node="a", offset=1, epoch=1, leading=True)], *PROCESS, "seq")
    assert one.as_of(none, per=PROCESS, on="seq").tolist() == [NONE]
    assert one.present_in(none, *PROCESS).tolist() == [False]
    assert none.as_of(one, per=PROCESS, on="seq").tolist() == []
    assert none.present_in(one, *PROCESS).tolist() == []
    for left, right in ((one, none), (none, one), (none, none)):
        assert not list(left.followed(right, *PROCESS, end="seq", begin="seq"))
    assert (none.disagreeing("node", on="seq"), none.lag("node", on="seq").tolist()) == ([], [])
    assert none.union(one).objects() == one.objects()


# --- as Spark says ----------------------------------------------------------------------------

Asked = Callable[[Any, Any], Iterator[tuple[Any, ...]]]


def tables(draw: Random) -> tuple[list[Line], list[Line]]:
    """The order is told apart by no two rows: Spark says nothing of equals."""

    def lines(places: range) -> list[Line]:
        names, numbers = ["a", "b", None], [0, 1, None]
        found = [Line(draw.choice(names), draw.choice(numbers), at, True) for at in places]
        draw.shuffle(found)
        return found

    return lines(range(0, 60, 2)), lines(range(1, 15, 2))


@pytest.mark.parametrize("seed", range(2))
def test_verbs_say_what_spark_says(seed: int, spark: Any) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    lines, others = tables(Random(seed))
    schema = "id int, name string, number int, at int"

    def frame(rows: list[Line]) -> Any:
        values = [(at, each.name, each.number, each.at) for at, each in enumerate(rows)]
        return spark.createDataFrame(values, schema)

    def said(found: Any) -> list[int]:
        rows = {row[0]: row[1] for row in found.collect()}
        return [NONE if rows[at] is None else rows[at] for at in range(len(lines))]

    mine, theirs = of(lines), of(others)
    left, right = frame(lines).alias("l"), frame(others).alias("r")

    before = f.lag("id").over(Window.partitionBy(*KEY).orderBy("at"))
    assert mine.lag(*KEY, on="at").tolist() == said(left.select("id", before))

    same = f.expr("l.name <=> r.name and l.number <=> r.number")
    joined = left.join(right, same & f.expr("r.at < l.at"), "left").groupBy("l.id")
    last = joined.agg(f.max_by("r.id", "r.at"))
    assert mine.as_of(theirs, per=KEY, on="at").tolist() == said(last)

    later = left.join(right, same & f.expr("r.at > l.at")).select("l.id", "r.id", "r.at")
    pairs = [row[:2] for row in sorted(later.collect(), key=itemgetter(0, 2))]
    [(rows, beyond)] = mine.followed(theirs, *KEY, end="at", begin="at")
    assert [*zip(rows.tolist(), beyond.tolist(), strict=True)] == pairs != []

    absent = left.join(right, same, "left_anti").select("l.id").collect()
    found = np.flatnonzero(~mine.present_in(theirs, *KEY)).tolist()
    assert found == sorted(row[0] for row in absent)
    assert 0 < len(found) < len(lines)

    numbered = left.where("number is not null")
    several = numbered.groupBy("name").agg(f.count_distinct("number").alias("n")).where("n > 1")
    known = mine.known("number")
    disagreeing = [
        known.objects(rows[:1])[0].name for rows in known.disagreeing("name", on="number")
    ]
    assert sorted(map(str, disagreeing)) == sorted(str(row[0]) for row in several.collect())
    assert disagreeing


def test_leases_are_an_as_of_join() -> None:
    """As the module says at its beginning."""

    def lease(node: str, seq: int, end_ns: int) -> LeaseGranted:
        return LeaseGranted(
            node=node, seq=seq, at_ns=seq, broker_id=1, broker_epoch=1, start_ns=0, end_ns=end_ns
        )

    def answer(node: str, seq: int, at_ns: int) -> Served:
        return Served(
            node=node, seq=seq, at_ns=at_ns, api="Metadata", f="metadata", success=True, code="",
            state="active", broker_epoch=1, topic=None,
        )  # fmt: skip

    grants = [lease("a", 1, 10), lease("a", 4, 20), lease("b", 2, 5)]
    answers = [answer("a", 2, 9), answer("a", 3, 11), answer("a", 5, 19), answer("c", 3, 9)]
    served, leases = (
        relation(answers, *PROCESS, "seq", "at_ns"),
        relation(grants, *PROCESS, "seq", "end_ns"),
    )
    found = served.as_of(leases, per=PROCESS, on="seq")
    assert found.tolist() == [0, 0, 1, NONE]
    covered = np.flatnonzero(found != NONE)
    late = covered[served["at_ns"][covered] > leases["end_ns"][found[covered]]]
    assert (served.objects(late), leases.objects(found[late])) == ([answers[1]], [grants[0]])
