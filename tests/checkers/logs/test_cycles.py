"""Cycles of dependencies: planted ones are found and named, clean logs have none, and random
small logs agree with a search of all pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.logs.cycles import MAX_CYCLES, Cycle, Cycles, Edge, cycles, search
from checkers.logs.cycles_edges import PROCESS, REALTIME, WR, WW, edges, vertices
from checkers.logs.cycles_graph import Graph, components, on_cycles
from checkers.logs.cycles_text import describe_cycle
from checkers.logs.rows import FAIL, INFO, OK, ROWS, Kind
from tests.cases import cases


@dataclass(frozen=True)
class Txn:
    """`sends` and `polls`: (key, offset), where the value says both; offset None: not known,
    with the value `known` by other means."""

    index: int
    end: int | None
    client: str
    sends: tuple[tuple[str, int], ...] = ()
    polls: tuple[tuple[str, int], ...] = ()
    type: int = OK


def table(txns: Iterable[Txn], run: str = "r") -> pa.Table:
    found = []
    for txn in txns:
        records = [(Kind.SEND, *each) for each in txn.sends]
        records += [(Kind.POLL, *each) for each in txn.polls]
        for place, (kind, key, offset) in enumerate(records):
            row = dict.fromkeys(ROWS.names)
            row |= {"run": run, "index": txn.index, "end": txn.end, "client": txn.client}
            row |= {"type": txn.type, "kind": int(kind), "place": place, "key": key}
            row |= {"offset": offset, "value": f'"{key}{offset}"', "flags": 0}
            found.append(row)
    return pa.Table.from_pylist(found, ROWS) if found else ROWS.empty_table()


def serial(*txns: tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]]) -> list[Txn]:
    """Each by a client of its own, one after the other."""
    return [
        Txn(2 * at, 2 * at + 1, f"process {at}", tuple(sends), tuple(polls))
        for at, (sends, polls) in enumerate(txns)
    ]


def together(*txns: tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]]]) -> list[Txn]:
    """Each by a client of its own, all at the same time."""
    return [
        Txn(at, len(txns) + at, f"process {at}", tuple(sends), tuple(polls))
        for at, (sends, polls) in enumerate(txns)
    ]


def names(found: Cycles) -> set[str]:
    return set(found.counts)


def test_a_serial_log_has_no_cycle() -> None:
    found = cycles(
        table(
            serial(
                ([("x", 0), ("y", 0)], []),
                ([("x", 1)], [("y", 0)]),
                ([("y", 1)], [("x", 0), ("x", 1)]),
                ([], [("y", 1)]),
            )
        )
    )
    assert found.operations == 4
    assert found.left == 0
    assert found.cycles == []


def test_g0_is_two_writers_in_two_orders() -> None:
    found = cycles(table(together(([("x", 0), ("y", 1)], []), ([("x", 1), ("y", 0)], []))))
    assert names(found) == {"G0"}
    assert (found.operations, found.left) == (2, 2)
    (cycle,) = found.cycles
    assert cycle.operations == [0, 1]
    assert not cycle.fatal
    assert describe_cycle(cycle) == (
        "G0, a cycle of 2 operations: index 0 sent offset 0 of x, and index 1 sent offset 1, the "
        "next that was sent; index 1 sent offset 0 of y, and index 0 sent offset 1, the next that "
        "was sent"
    )


def test_g1c_of_wr_edges_is_fatal() -> None:
    found = cycles(table(together(([("x", 0)], [("y", 0)]), ([("y", 0)], [("x", 0)]))))
    assert names(found) == {"G1c of wr"}
    assert found.fatal
    assert describe_cycle(found.cycles[0]) == (
        "G1c, a cycle of 2 operations: index 1 polled offset 0 of x that index 0 sent; index 0 "
        "polled offset 0 of y that index 1 sent"
    )


def test_g1c_with_ww_edges_is_what_kafka_allows() -> None:
    found = cycles(table(together(([("x", 0)], [("y", 0)]), ([("x", 1), ("y", 0)], []))))
    assert names(found) == {"G1c"}
    assert not found.fatal


def test_process_cycles_are_named_after_the_process() -> None:
    first = Txn(0, 1, "process 0", polls=(("x", 0),))
    second = Txn(2, 4, "process 0", sends=(("x", 0),))
    found = cycles(table([first, second]))
    assert names(found) == {"G1c of wr-process"}
    assert found.cycles[0].name == "G1c-process"
    assert found.fatal
    writers = [
        Txn(0, 2, "process 0", sends=(("x", 1),)),
        Txn(3, 5, "process 0", sends=(("x", 0),)),
    ]
    assert names(cycles(table(writers))) == {"G0-process"}


def test_realtime_cycles_are_named_after_real_time() -> None:
    writers = serial(([("x", 1)], []), ([("x", 0)], []))
    found = cycles(table(writers))
    assert names(found) == {"G0-realtime"}
    assert found.cycles[0].size == 2
    assert describe_cycle(found.cycles[0]) == (
        "G0-realtime, a cycle of 2 operations: index 2 sent offset 0 of x, and index 0 sent "
        "offset 1, the next that was sent; index 0 had completed when index 2 was invoked"
    )
    readers = serial(([], [("x", 0)]), ([("x", 0)], []))
    assert names(cycles(table(readers))) == {"G1c of wr-realtime"}
    mixed = serial(([("x", 1)], []), ([("y", 0)], []), ([("x", 0)], [("y", 0)]))
    assert names(cycles(table(mixed))) == {"G0-realtime", "G1c-realtime"}


def test_a_cycle_is_reported_edge_by_edge() -> None:
    edges_ = [
        Edge(3, 5, WR, "x", 7),
        Edge(5, 8, WR, "y"),
        Edge(8, 9, PROCESS),
        Edge(9, 3, REALTIME),
    ]
    steps = (
        "index 5 polled offset 7 of x that index 3 sent; "
        "index 8 polled a value of y that index 5 sent; "
        "index 9 is the next that the client of index 8 asked for; "
        "index 9 had completed when index 3 was invoked"
    )
    shortest = Cycle("G1c-realtime", edges_, True, shortest=True, size=4)
    assert describe_cycle(shortest) == f"G1c-realtime, a cycle of 4 operations: {steps}"
    among_more = replace(shortest, shortest=False, size=5)
    assert describe_cycle(among_more) == (
        "G1c-realtime, a cycle of 4 operations, perhaps not the fewest (of 5 that are tied "
        f"together): {steps}"
    )


def test_operations_of_no_effect_are_on_no_cycle() -> None:
    failed, seen = together(([("x", 0), ("y", 1)], []), ([("x", 1), ("y", 0)], []))
    aborted = Txn(failed.index, failed.end, failed.client, failed.sends, type=FAIL)
    assert cycles(table([aborted, seen])).cycles == []
    unknown = Txn(failed.index, None, failed.client, failed.sends, type=INFO)
    assert cycles(table([unknown, seen])).cycles == []
    reader = Txn(7, 8, "process 7", polls=(("x", 0),))
    assert names(cycles(table([unknown, seen, reader]))) == {"G0"}


def test_another_key_may_show_that_an_operation_took_effect() -> None:
    """What index 4 sent to y comes after index 0's, over a value of an operation that did not."""
    first = Txn(0, 1, "process 0", sends=(("y", 0),), polls=(("z", 0),))
    doubtful = Txn(6, None, "process 1", sends=(("y", 1), ("y", 2)), type=INFO)
    proven = Txn(4, None, "process 2", sends=(("y", 3), ("z", 0)), type=INFO)
    found = cycles(table([first, proven, doubtful]))
    assert names(found) == {"G1c of wr-realtime", "G1c"}
    assert found.fatal
    (cycle,) = (cycle for cycle in found.cycles if not cycle.fatal)
    assert [(e.a, e.b, e.offset, e.next) for e in cycle.edges if e.kind == WW] == [(0, 4, 0, 3)]


def test_an_operation_of_no_effect_does_not_hide_the_order_around_it() -> None:
    """The doubtful version between two others leaves them neighbours, whichever began first."""
    between = Txn(7, None, "process 7", sends=(("x", 1),), type=INFO)
    for one, other in ((0, 2), (2, 0)):
        around = together(([("x", one), ("y", other)], []), ([("x", other), ("y", one)], []))
        assert names(cycles(table([*around, between]))) == {"G0"}


def test_an_operation_of_no_effect_leads_nowhere() -> None:
    """Index 1 is followed by it alone, and has not completed: nothing comes after it in time."""
    reader = Txn(0, 10, "process 0", polls=(("y", 1), ("z", 0)))
    first = Txn(1, None, "process 1", sends=(("x", 0), ("y", 1)), type=INFO)
    doubtful = Txn(2, None, "process 2", sends=(("x", 1),), type=INFO)
    last = Txn(20, None, "process 3", sends=(("y", 0), ("z", 0)), type=INFO)
    found = cycles(table([reader, first, doubtful, last]))
    assert "G1c of wr-realtime" in names(found)
    assert "G0-realtime" not in names(found)


def test_what_lies_between_two_cycles_is_on_none() -> None:
    """Index 5 leads by way of 2 from one cycle to the other, and index 1 does so itself."""
    found = cycles(
        table(
            together(
                ([("x", 0), ("y", 1)], []),
                ([("x", 1), ("y", 0)], []),
                ([("n", 0)], [("m", 0)]),
                ([("u", 0), ("v", 1)], [("n", 0), ("y", 0)]),
                ([("u", 1), ("v", 0)], []),
                ([("m", 0)], [("x", 0)]),
            )
        )
    )
    assert found.counts == {"G0": 2}
    assert (found.operations, found.left) == (6, 4)
    assert [cycle.operations for cycle in found.cycles] == [[0, 1], [3, 4]]


SHORTEST: dict[str, tuple[list[Txn], list[Edge]]] = {
    "a step of time is one as any other": (
        [
            Txn(0, 5, "process 0", (("y", 1),), (("x", 2),)),
            Txn(2, 3, "process 1", (), (("x", 2), ("y", 1))),
            Txn(4, 7, "process 2", (("x", 2),)),
        ],
        [Edge(4, 2, WR, "x", 2), Edge(2, 4, REALTIME)],
    ),
    "however much else completed between": (
        [
            Txn(0, 2, "process 0", (), (("y", 1),)),
            Txn(1, 5, "process 1", (("y", 0),), (("x", 0), ("x", 1))),
            Txn(3, 7, "process 2", (("x", 0), ("x", 1)), (("y", 2),)),
            Txn(6, 10, "process 3", (("y", 1), ("y", 2), ("y", 3))),
            Txn(8, 9, "process 4", (), (("y", 1),)),
        ],
        [Edge(6, 0, WR, "y", 1), Edge(0, 6, REALTIME)],
    ),
}


@pytest.mark.parametrize("name", SHORTEST)
def test_the_cycle_of_the_fewest_operations_is_shown(name: str) -> None:
    """And of an edge of time no key, offset or next one."""
    txns, shown = SHORTEST[name]
    assert [cycle.edges for cycle in cycles(table(txns)).cycles if cycle.fatal] == [shown]


@pytest.mark.parametrize("level", ["", "-process", "-realtime"])
@pytest.mark.parametrize("family", ["G0", "G1c of wr", "G1c"])
def test_a_planted_cycle_is_found_in_a_long_log(family: str, level: str) -> None:
    """Every variant, among 3,000 clean operations; nothing but it is left after the trimming."""
    found = cycles(pa.concat_tables([table(clean(3_000)), table(planted(family, level))]))
    assert found.counts == {f"{family}{level}": 1}
    assert found.operations > 3_000
    lone = cycles(table(planted(family, level)))
    assert [cycle.edges for cycle in found.cycles] == [cycle.edges for cycle in lone.cycles]


def clean(count: int) -> list[Txn]:
    """Ten clients that send to five keys, each send between its neighbours, and poll the last."""
    txns, at = [], [0] * 5
    for number in range(count):
        key = number * 7 % 5
        polls = [(f"k{other}", at[other] - 1) for other in range(5) if at[other] and other != key]
        txns.append(
            Txn(
                4 * number,
                4 * number + 10,
                f"process {number % 10}",
                ((f"k{key}", at[key]),),
                tuple(polls[:2]) if number % 3 else (),
            )
        )
        at[key] += 1
    return txns


def planted(family: str, level: str) -> list[Txn]:
    """Two operations that depend on each other by data one way; and, back, by data, by being of
    one client, or by time. They begin after all of `clean`."""
    sends: dict[str, list[tuple[str, int]]] = {"a": [], "b": []}
    polls: dict[str, list[tuple[str, int]]] = {"a": [], "b": []}

    def depends(later: str, earlier: str, kind: str, key: str) -> None:
        sends[earlier].append((key, 0))
        (sends if kind == "ww" else polls)[later].append((key, 1 if kind == "ww" else 0))

    ways = {"G0": ("ww", "ww"), "G1c of wr": ("wr", "wr"), "G1c": ("wr", "ww")}[family]
    depends("a", "b", ways[0], "p")
    if level and family == "G1c":
        # There and back by way of a third, so that neither kind alone makes the cycle.
        sends["c"], polls["c"] = [], []
        sends["b"], polls["a"] = [], []
        depends("c", "b", "ww", "p")
        depends("a", "c", "wr", "q")
    elif not level:
        depends("b", "a", ways[1], "q")
    start = 1_000_000
    when = {"a": (start, start + 4), "b": (start + 1, start + 6), "c": (start - 6, start + 7)}
    if level:
        when["a"] = (start - 4, start - 2)
    clients = {"a": "process 1000", "b": "process 1001", "c": "process 1002"}
    if level == "-process":
        clients["b"] = clients["a"]
    return [
        Txn(*when[name], clients[name], tuple(sends[name]), tuple(polls[name])) for name in sends
    ]


def test_cycles_of_a_name_are_counted_and_the_first_are_shown() -> None:
    txns = []
    for at in range(3 * MAX_CYCLES):
        for txn in together(
            ([(f"x{at}", 0), (f"y{at}", 1)], []), ([(f"x{at}", 1), (f"y{at}", 0)], [])
        ):
            txns.append(Txn(txn.index + 4 * at, txn.end, f"c{at} {txn.client}", txn.sends))
    found = cycles(table(Txn(t.index, t.index + 500, t.client, t.sends) for t in txns))
    assert found.counts == {"G0": 3 * MAX_CYCLES}
    assert [min(cycle.operations) for cycle in found.cycles] == [4 * at for at in range(MAX_CYCLES)]


# Random small logs against all pairs


@st.composite
def logs(draw: st.DrawFn) -> list[Txn]:
    """Up to seven operations on up to three keys, whose offsets are any permutation."""
    count = draw(st.integers(2, 7))
    instants = draw(st.permutations(range(2 * count)))
    spans = [sorted(instants[2 * at : 2 * at + 2]) for at in range(count)]
    records: list[list[tuple[str, int]]] = [[] for _ in range(count)]
    polls: list[list[tuple[str, int]]] = [[] for _ in range(count)]
    for key in ("x", "y", "z")[: draw(st.integers(1, 3))]:
        for offset in range(draw(st.integers(1, 4))):
            records[draw(st.integers(0, count - 1))].append((key, offset))
            for reader in draw(st.lists(st.integers(0, count - 1), max_size=2)):
                polls[reader].append((key, offset))
    kinds = st.sampled_from([OK, OK, OK, OK, INFO, FAIL])
    return [
        Txn(
            spans[at][0],
            spans[at][1],
            f"process {draw(st.integers(0, count))}",
            tuple(records[at]),
            tuple(polls[at]),
            draw(kinds),
        )
        for at in range(count)
    ]


Way = tuple[int, int, int]


def every_edge(txns: Sequence[Txn]) -> set[Way]:
    """(a, b, kind) by the definitions, pair by pair."""
    seen = {record for txn in txns if txn.type == OK for record in txn.polls}
    there = [txn for txn in txns if txn.type == OK or (txn.type == INFO and seen & set(txn.sends))]
    there = [txn for txn in there if txn.sends or txn.polls]
    writer = {record: txn for txn in there for record in txn.sends}
    found: set[Way] = set()
    for key in {key for key, _ in writer}:
        offsets = sorted(offset for other, offset in writer if other == key)
        for before, after in pairwise(offsets):
            found.add((writer[key, before].index, writer[key, after].index, WW))
    for txn in there:
        found |= {(writer[each].index, txn.index, WR) for each in txn.polls if each in writer}
        if txn.type == OK:
            assert txn.end is not None
            found |= {
                (txn.index, other.index, REALTIME) for other in there if txn.end < other.index
            }
            mine = [o.index for o in there if o.client == txn.client and o.index > txn.index]
            if mine and txn.end < min(mine):
                found.add((txn.index, min(mine), PROCESS))
    return {(a, b, kind) for a, b, kind in found if a != b}


def reached(ways: set[Way], begin: int) -> dict[int, int]:
    """Every operation that can be reached, and in how many steps at least."""
    steps, front, count = {begin: 0}, {begin}, 0
    while front:
        count += 1
        front = {b for a, b, _ in ways if a in front} - set(steps)
        steps |= dict.fromkeys(front, count)
    return steps


def least(ways: set[Way], needed: int) -> int | None:
    """Operations on the shortest cycle with an edge of that kind."""
    lengths = [
        1 + steps[a]
        for a, b, kind in ways
        if kind == needed
        for steps in [reached(ways, b)]
        if a in steps
    ]
    return min(lengths, default=None)


LEVELS = ("", "-process", "-realtime")


@settings(max_examples=cases(300), deadline=None)
@given(logs())
def test_random_logs_agree_with_all_pairs(txns: list[Txn]) -> None:
    """The lowest level of each family is that of the definitions, its cycle is as short as can
    be, and every cycle that is shown is one."""
    ways = every_edge(txns)
    found = cycles(table(txns))
    for family, kinds, needed in (
        ("G0", {WW}, WW),
        ("G1c of wr", {WR}, WR),
        ("G1c", {WW, WR}, WR),
    ):
        for level, suffix in enumerate(LEVELS):
            allowed = kinds | set(range(PROCESS, PROCESS + level))
            length = least({way for way in ways if way[2] in allowed}, needed)
            shown = named_cycles(found, family, suffix)
            for cycle in shown:
                check_cycle(cycle, ways, allowed, needed, level)
            if length is None:
                assert not shown
                continue
            if family == "G1c" and any(
                named_cycles(found, "G1c of wr", LEVELS[low]) for low in range(level + 1)
            ):
                break
            assert shown
            assert min(len(cycle.edges) for cycle in shown) == length
            break


def named_cycles(found: Cycles, family: str, suffix: str) -> list[Cycle]:
    name = "G0" if family == "G0" else "G1c"
    return [
        cycle
        for cycle in found.cycles
        if cycle.name == f"{name}{suffix}"
        and (family == "G0" or any(edge.kind == WW for edge in cycle.edges) == (family == "G1c"))
    ]


def check_cycle(cycle: Cycle, ways: set[Way], allowed: set[int], needed: int, level: int) -> None:
    assert {(edge.a, edge.b, edge.kind) for edge in cycle.edges} <= ways
    assert [edge.b for edge in cycle.edges] == [*cycle.operations[1:], cycle.operations[0]]
    assert len(set(cycle.operations)) == len(cycle.operations)
    kinds = {edge.kind for edge in cycle.edges}
    assert kinds <= allowed
    assert needed in kinds
    if level:
        assert PROCESS + level - 1 in kinds
    assert cycle.fatal == (needed == WR and WW not in kinds)


@settings(max_examples=50, deadline=None)
@given(logs(), st.randoms(use_true_random=False))
def test_any_order_and_any_share_of_rows_gives_the_same(
    txns: list[Txn], random: np.random.Generator
) -> None:
    whole = table(txns)
    shuffled = list(range(whole.num_rows))
    random.shuffle(shuffled)
    mixed = whole.take(pa.array(shuffled, pa.int64()))
    keys = set(whole["key"].to_pylist())
    parts = [mixed.filter(pa.array([k == key for k in mixed["key"].to_pylist()])) for key in keys]
    spread = search(
        pa.concat_tables([vertices(part) for part in parts] or [vertices(whole)]),
        pa.concat_tables([edges(part) for part in parts] or [edges(whole)]),
    )
    once = cycles(whole)
    assert spread.cycles == once.cycles
    assert spread.counts == once.counts
    assert cycles(mixed).cycles == once.cycles


@settings(max_examples=cases(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_components_are_those_of_the_definition(pairs: list[tuple[int, int]]) -> None:
    source = np.array([a for a, _ in pairs], np.int32)
    target = np.array([b for _, b in pairs], np.int32)
    ways = {(a, b, WW) for a, b in pairs}
    graph = Graph.of(8, source, target)
    found = components(graph.first, graph.target)
    for a in range(8):
        ahead = reached(ways, a)
        for b in range(8):
            tied = a != b and b in ahead and a in reached(ways, b)
            assert (a != b and found[a] >= 0 and found[a] == found[b]) == tied
    left = on_cycles(8, source, target)
    assert all(left[vertex] for vertex in range(8) if found[vertex] >= 0)
    loops = {a for a, b in pairs if a == b}
    if not loops and (found < 0).all():
        assert not left.any()
