"""What follows in a client and in real time is what the definitions say, with few edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.logs.cycles_time import places, process_edges, realtime_edges

Operations = list[tuple[int, int, int, bool]]
"""(op, end, client, completed), by rising op; -1: it never ended."""


@st.composite
def operations(draw: st.DrawFn) -> Operations:
    """Of clients that may do several things at once; the first index of all may be a completion's,
    of something that is not looked at."""
    count, clients = draw(st.integers(0, 7)), draw(st.integers(1, 3))
    moments = draw(st.permutations([*range(count), *range(count), -1]))
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for index, number in enumerate(moments):
        (ended if number in begun else begun)[number] = index
    found = []
    for number in sorted({*begun} - {-1}, key=lambda each: begun[each]):
        how = draw(st.sampled_from(("ok", "ok", "ok", "unknown", "never")))
        end = -1 if how == "never" else ended[number]
        found.append((begun[number], end, draw(st.integers(0, clients - 1)), how == "ok"))
    return found


def columns(found: Operations) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    op, end, client = (np.array([each[n] for each in found], np.int64) for n in range(3))
    return op, end, client, np.array([each[3] for each in found], np.bool_)


@settings(deadline=None)
@given(operations())
def test_a_client_goes_on_with_the_next_that_it_asks_for(found: Operations) -> None:
    op, end, client, completed = columns(found)
    source, target = process_edges(client, op, end, completed)
    wanted = []
    for at, (index, _, who, _) in enumerate(found):
        own = [n for n in range(at) if found[n][2] == who]
        if own and found[own[-1]][3] and found[own[-1]][1] < index:
            wanted.append((own[-1], at))
    assert list(zip(source.tolist(), target.tolist(), strict=True)) == wanted


@settings(deadline=None)
@given(operations())
def test_one_leads_to_all_that_were_invoked_when_it_had_completed(found: Operations) -> None:
    op, end, _, completed = columns(found)
    instants, (source, target) = realtime_edges(op, end, completed)
    count = len(found)
    assert instants <= completed.sum() and len(source) <= 3 * count
    after: dict[int, set[int]] = {vertex: set() for vertex in range(count + instants)}
    for one, other in zip(source.tolist(), target.tolist(), strict=True):
        after[one].add(other)
    for at in range(count):
        left, reached = [at], set[int]()
        while left:
            fresh = {each for each in after[left.pop()] if each not in reached and each >= count}
            reached |= fresh
            left += fresh
        led = {each for vertex in (at, *reached) for each in after[vertex] if each < count}
        assert led == {n for n in range(count) if completed[at] and end[at] < op[n]}


def test_instants_are_a_chain() -> None:
    """Three one after the other, while another is under way, which ends with the last."""
    op, end, _, completed = columns([(0, 7, 0, True), (1, 2, 1, True), (3, 4, 1, True)])
    some = (np.append(op, 5), np.append(end, 6), np.append(completed, True))
    instants, (source, target) = realtime_edges(*some)
    assert instants == 3
    ends = [(0, 6), (1, 4), (2, 5), (3, 6)]
    chain, invoked = [(4, 5), (5, 6)], [(4, 2), (5, 3)]
    assert list(zip(source.tolist(), target.tolist(), strict=True)) == ends + chain + invoked


@pytest.mark.parametrize("last", [3, 5_000])
def test_what_is_no_operation_is_nowhere(last: int) -> None:
    """Also before the first, and after the last."""
    op = np.array([0, last], np.int64)
    wanted = np.array([-2, -1, 0, 1, last - 1, last, last + 1, last + 2, 9_999], np.int64)
    assert places(op, wanted).tolist() == [-1, -1, 0, -1, -1, 1, -1, -1, -1]
    assert places(op[:0], wanted).tolist() == [-1] * len(wanted)


@settings(deadline=None)
@given(st.sets(st.integers(0, 40)), st.sampled_from((1, 1_000)), st.lists(st.integers(-1, 42)))
def test_places_are_those_of_operations_in_order(
    there: set[int], apart: int, wanted: list[int]
) -> None:
    """Among indices that are close together, and far apart."""
    op = np.array(sorted(there), np.int64) * apart
    asked = [each * apart for each in wanted]
    found = places(op, np.array(asked, np.int64))
    order = op.tolist()
    assert found.tolist() == [order.index(each) if each in order else -1 for each in asked]
