"""What clients asked for, as arrays."""

import pytest

from checkers.folds.history.operations import end_of
from checkers.folds.serving.asked import asked_of, grouped
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from framework.plugins.outcomes import OF_NO_NODE

DONE = [
    Operation(index=0, f="read", key="t", invoked_ns=5, node="n2"),
    Operation(index=1, f="create", key="t", invoked_ns=None, type="ok", end=2, completed_ns=99),
    Operation(
        index=3,
        f="create",
        key="1",
        invoked_ns=6,
        type="fail",
        end=4,
        completed_ns=20,
        error=("EXISTS", ""),
        ext={"asserts": "present"},
        node="n1",
    ),
    Operation(index=5, f="fetch", key=1, invoked_ns=7, type="ok", end=9, completed_ns=8),
    Operation(index=6, f="fetch", value={"zombie": "old"}, invoked_ns=7, end=8, phase="final"),
    Operation(
        index=7,
        f="fetch",
        key={"zombie": 1},
        value={"zombie": None},
        invoked_ns=8,
        type="fail",
        end=10,
        completed_ns=8,
        error=("CONNECTION_LOST", ""),
        ext={"asserts": "stale"},
        node="n1",
    ),
]


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_what_is_kept_of_operations(rows: int) -> None:
    """In the order of their ends: those without are the last."""
    (table,) = OperationRows.of(DONE).columns()
    found = asked_of(OperationRows.of_table(table, rows), ["fetch"])
    assert (found.fs, found.nodes) == (["create", "fetch", "read"], ["n1", "n2"])
    assert found.keys == ["1", "None", "{'zombie': 1}"]
    assert found.end_ns == 20 and len(found) == 5
    columns = (found.place, found.f, found.node, found.key, found.began_ns, found.ended_ns)
    assert [each.tolist() for each in columns] == [
        [3, 5, 0, 2, 4],
        [1, 1, 2, 0, 1],
        [-1, 0, 1, 0, -1],
        [0, 2, -1, -1, 1],
        [7, 8, 5, 6, 7],
        [8, 8, 20, 20, 20],
    ]
    flags = ("timed", "ok", "failed", "main", "zombie", "done", "unfit", "heard", "refused")
    where = {name: found.place[getattr(found, name)].tolist() for name in flags}
    assert where == {
        "timed": [3, 5, 2],
        "ok": [3],
        "failed": [5, 2],
        "main": [3, 5, 0, 2],
        "zombie": [4],
        "done": [3, 2],
        "unfit": [5],
        "heard": [3, 2, 4],
        "refused": [2],
    }
    assert found.are(["read", "fetch", "else"]).tolist() == [True, True, True, False, True]
    assert found.counted(found.failed) == {"create": 1, "fetch": 1}


@pytest.mark.parametrize(
    ("code", "heard"), [*((code, False) for code in sorted(OF_NO_NODE)), ("NOT_LEADER", True)]
)
def test_what_no_node_said_is_heard_of_none(code: str, heard: bool) -> None:
    failed = Operation(index=0, f="read", type="fail", error=(code, ""), invoked_ns=1, end=1)
    found = asked_of(OperationRows.of([failed]), [])
    assert (found.heard.tolist(), found.refused.tolist()) == ([heard], [heard])


def test_what_is_made_on_demand_is_a_kind_of_its_own() -> None:
    made = [
        Operation(index=at, f="create", value=value, invoked_ns=at)
        for at, value in enumerate([{"on_demand": True}, {"on_demand": 1}, None, ["on_demand"]])
    ]
    found = asked_of(OperationRows.of([*made, *DONE]), [])
    assert found.fs == ["create", "create on demand", "fetch", "read"]
    assert found.place[found.are(["create on demand"])].tolist() == [0]


def test_produces_are_kinds_by_their_acks() -> None:
    """As workloads spell them, and of produces alone."""
    values = [{"acks": "all"}, {"acks": "1"}, {"acks": "0"}, {"acks": "2"}, None, '"acks":"all"']
    made = [
        Operation(index=at, f="produce", value=value, invoked_ns=at)
        for at, value in enumerate(values)
    ]
    read = Operation(index=9, f="read", value={"acks": "all"}, invoked_ns=9)
    found = asked_of(OperationRows.of([*made, read]), ["produce"])
    kinds = [found.fs[number] for number in found.f[found.place.argsort()]]
    with_acks = ["produce with acks=all", "produce with acks=1", "produce with acks=0"]
    assert kinds == [*with_acks, "produce", "produce", "produce", "read"]
    assert (found.key >= 0).sum() == 6, "they have keys all the same"


def test_what_has_no_end_ends_behind_all() -> None:
    ends = [end_of(each) for each in DONE]
    assert sorted(ends) == [2, 4, 8, 9, 10, float("inf")] and ends[0] == float("inf")


@pytest.mark.parametrize(
    ("since_ns", "until_ns", "ends"),
    [(10, 30, [10, 20, 30]), (11, 29, [20]), (20, 20, [20]), (31, 99, []), (0, 9, [])],
)
def test_both_limits_are_among_what_ended_within(
    since_ns: int, until_ns: int, ends: list[int]
) -> None:
    done = [
        Operation(index=at, f="read", end=at + 1, type="ok", invoked_ns=1, completed_ns=at)
        for at in (10, 20, 30)
    ]
    found = asked_of(OperationRows.of(done), [])
    assert found.ended_ns[found.ended_within(since_ns, until_ns)].tolist() == ends


def test_groups_are_neighbours_in_their_order() -> None:
    found = asked_of(OperationRows.of(DONE), [])
    own = found.f.nonzero()[0]  # all but the creates
    assert [(number, part.tolist()) for number, part in grouped(own, found.f)] == [
        (1, [0, 1, 4]),
        (2, [2]),
    ]
    assert not list(grouped(own[:0], found.f))


def test_of_no_operations_nothing_is_kept() -> None:
    found = asked_of(OperationRows.of([]), ["fetch"])
    assert (len(found), found.fs, found.keys, found.end_ns) == (0, [], [], 0)
    assert found.counted(found.ok) == {}


def test_an_end_at_the_very_begin_is_as_good_as_none() -> None:
    """Of the time at which all is over."""
    at_once = Operation(index=0, f="read", invoked_ns=0, type="ok", end=1, completed_ns=0)
    later = Operation(index=2, f="read", invoked_ns=4)
    assert asked_of(OperationRows.of([at_once, later]), []).ended_ns.tolist() == [0, 4]
