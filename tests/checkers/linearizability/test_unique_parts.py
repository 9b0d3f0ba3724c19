"""The parts of "unique writes" by themselves: each is what its definition says, the slow way."""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest

from checkers.linearizability.decision import Budget
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.unique_writes import method, order, refutation
from checkers.linearizability.methods.unique_writes.zones import (
    AGAINST_TIME,
    CLASH,
    CLAUSES,
    CYCLE,
    FINE,
    NOT_UNIQUE,
    TWICE,
    UNWRITTEN,
    Zones,
    zones,
)
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    is_legal_order,
    shuffled_times,
    written,
)

N = int(NEVER)
MUTATES = (Kind.WRITE, Kind.CAS)


def zones_of(history: EncodedHistory) -> Zones:
    columns = (history.call, history.ret, history.kind, history.a, history.b)
    size = max(int(history.a.max()), int(history.b.max()), history.initial) + 1
    return Zones(*zones(*columns, history.initial, size))


def true_run(rng: random.Random) -> EncodedHistory:
    """What a register of unique values told; its initial value is any of them."""
    count, clients, info = rng.randint(1, 12), rng.randint(1, 6), rng.choice((0, 0.3))
    pending = [rng.random() < info for _ in range(count)]
    call, ret = shuffled_times(rng, count, clients, pending)
    kind, a, b = [int(Kind.READ)] * count, [-1] * count, [-1] * count
    initial = rng.randrange(3)
    numbers = iter(sorted(set(range(count + 3)) - {initial}, key=lambda _: rng.random()))
    state, ends = initial, [min(each, 2 * count) for each in ret]
    for row in sorted(range(count), key=lambda row: rng.uniform(call[row], ends[row])):
        kind[row] = rng.choice((Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS))
        if kind[row] != Kind.WRITE:
            a[row] = state if kind[row] != Kind.DIFFERS else rng.choice((state + 1, count + 3))
        if kind[row] in MUTATES:
            b[row] = next(numbers)
            if not pending[row] or rng.random() < 0.5:
                state = b[row]
    return encoded_of(call, ret, kind, a, b, initial=initial)


@cache
def fine() -> list[tuple[EncodedHistory, Zones]]:
    rng = random.Random(6)
    made = [(each, zones_of(each)) for each in (true_run(rng) for _ in range(60))]
    assert all(found.status == FINE and not len(found.evidence) for _, found in made)
    return made


def in_force(history: EncodedHistory) -> set[int]:
    """The values that somebody saw, or whose write returned, and those that they replaced."""
    found = {history.initial}
    rows = [row for row in range(len(history)) if history.ret[row] != NEVER]
    for row in rows:
        if history.kind[row] != Kind.DIFFERS:
            found.add(int((history.a if history.kind[row] == Kind.READ else history.b)[row]))
    while more := {int(history.a[row]) for row in cas_to(history, found)} - found:
        found |= more
    return found


def cas_to(history: EncodedHistory, values: set[int]) -> list[int]:
    kind, b = history.kind, history.b
    return [row for row in range(len(history)) if kind[row] == Kind.CAS and b[row] in values]


def chains(history: EncodedHistory) -> Iterator[list[int]]:
    """The values in force: those that cas join, in their order. The initial one's first."""
    known = in_force(history)
    after = {int(history.a[row]): int(history.b[row]) for row in cas_to(history, known)}
    writes = history.b[history.kind == Kind.WRITE].tolist()
    for first in [history.initial, *(value for value in writes if value in known)]:
        chain = [first]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        yield chain


def block(history: EncodedHistory, value: int) -> list[int]:
    """A value's write or cas, and its reads."""
    kind, a, b = history.kind, history.a, history.b
    return [
        row
        for row in range(len(history))
        if (kind[row] in MUTATES and b[row] == value)
        or (kind[row] == Kind.READ and a[row] == value and history.ret[row] != NEVER)
    ]


def test_zones_are_what_chains_span() -> None:
    for history, found in fine():
        call, ret, kind = history.call, history.ret, history.kind
        wanted = list(chains(history))
        assert found.root.tolist() == [chain[0] for chain in wanted]
        assert len(found.first_return) == len(found.chain_last_call) == len(wanted)
        assert found.failed_cas == ((kind == Kind.DIFFERS) & (ret != NEVER)).sum()
        last_call, replaced, first_read = {}, {}, {}
        for number, chain in enumerate(wanted):
            rows: list[int] = []
            for value in chain:
                rows += block(history, value)
                last_call[value] = max((int(call[row]) for row in rows), default=-1)
                reads = [row for row in block(history, value) if kind[row] == Kind.READ]
                first_read[value] = min(reads, key=lambda row: ret[row], default=-1)
            replaced |= {one: int(found.writer[other]) for one, other in pairwise(chain)}
            first = min((int(ret[row]) for row in rows), default=-1)
            assert found.first_return[number] == (-1 if number == 0 else first)
            assert found.chain_last_call[number] == last_call[chain[-1]]
        for value in range(len(found.writer)):
            makers = [row for row in block(history, value) if kind[row] in MUTATES]
            assert found.writer[value] == (makers[0] if makers else -1)
            assert found.last_call[value] == last_call.get(value, -2)
            assert found.replaced[value] == replaced.get(value, -1)
            assert found.first_read[value] == first_read.get(value, -1)


@pytest.mark.parametrize(
    ("text", "status", "evidence"),
    [
        ("0-1:w1 2-3:w1", NOT_UNIQUE, []),
        ("0-1:w0", NOT_UNIQUE, []),
        ("0-1:x1>2", NOT_UNIQUE, []),
        ("0-1:w1 2-3:r2", UNWRITTEN, [1, -1, -1, -1]),
        ("0-:c3>1 1-2:r1", UNWRITTEN, [0, -1, -1, -1]),
        ("0-1:c0>1 2-3:c0>2", TWICE, [0, 1, -1, -1]),
        ("0-1:w3 2-7:c2>1 3-6:c1>2", CYCLE, [2, 1]),
        ("0-1:w1 2-5:c1>2 3-4:r2 6-7:r1", AGAINST_TIME, [3, 1, -1, -1]),
        ("0-1:w1 2-:c1>2 3-4:r2 5-6:r1", AGAINST_TIME, [3, 2, 1, -1]),
        ("0-1:r1 2-3:w1", AGAINST_TIME, [1, 0, 1, -1]),
        ("0-1:w1 2-3:w2 4-5:r1", CLASH, [1, 1, 0, 2]),
        ("0-1:w1 2-3:r0", CLASH, [0, 0, -1, 1]),
        ("0-1:w1 2-3:w2 4-5:r1 6-7:d1", CLASH, [1, 1, 0, 2]),
        ("0-9:w1 1-8:w2 2-3:r1 4-5:r2 6-7:r1", CLASH, [3, 3, 2, 4]),
        ("0-9:w1 1-4:r0 2-5:c1>2 6-7:w3 8-10:r2", CLASH, [3, 3, 2, 4]),
    ],
)
def test_zones_name_what_is_wrong(text: str, status: int, evidence: list[int]) -> None:
    found = zones_of(written(text))
    assert (found.status, found.evidence.tolist()) == (status, evidence)


def test_all_that_is_wrong_has_words_of_its_own() -> None:
    wrong = (UNWRITTEN, TWICE, CYCLE, AGAINST_TIME, CLASH)
    assert len({FINE, NOT_UNIQUE, *wrong}) == 7
    assert CLAUSES.keys() == {*wrong} and len({*CLAUSES.values()}) == 5


def failed_of(history: EncodedHistory, value: int) -> list[tuple[int, int]]:
    """Calls and returns."""
    which = (history.kind == Kind.DIFFERS) & (history.a == value) & (history.ret != NEVER)
    pairs = zip(history.call[which].tolist(), history.ret[which].tolist(), strict=True)
    return list(pairs)


def test_when_failed_cas_need_another_value() -> None:
    for history, found in fine():
        columns = (history.call, history.ret, history.kind, history.a)
        size = len(found.writer)
        made = order.failed_cas_by_value(*columns, size, found.failed_cas)
        offsets, calls, returns = made
        assert len(offsets) == size + 1
        assert offsets[0] == 0 and offsets[size] == len(calls) == len(returns) == found.failed_cas
        for value in range(size):
            failed, part = failed_of(history, value), slice(*offsets[value : value + 2])
            assert calls[part].tolist() == [call for call, _ in failed]
            least = [min(ret for _, ret in failed[at:]) for at in range(len(failed))]
            assert returns[part].tolist() == least
            for begins in range(-1, 2 * len(history)):
                due = min((ret for call, ret in failed if call > begins), default=N)
                assert order._due(*made, value, begins) == due


def test_a_value_begins_before_it_or_a_later_one_of_its_chain_was_shown() -> None:
    for history, found in fine():
        latest = order.latest_begins(
            history.ret, history.b, found.writer, found.replaced, found.first_read, found.root
        )
        wanted = [N] * len(latest)
        for chain in chains(history):
            first = N
            for value in reversed(chain):
                ends = [int(history.ret[row]) for row in block(history, value)]
                first = min([first, *ends, *([-1] if value == history.initial else [])])
                wanted[value] = first
        assert latest.tolist() == wanted


def test_chains_take_turns() -> None:
    """Each at its first return; one that is done in an instant before the one in whose zone that
    falls."""
    for _, found in fine():
        first, last = found.first_return.tolist(), found.chain_last_call.tolist()
        by_return = np.argsort(found.first_return).astype(np.int32)
        made, must = order._in_turn(by_return, found.first_return, found.chain_last_call)
        within = [
            [other for other in range(len(first)) if first[other] < begins < last[other]]
            for begins in first
        ]
        wanted = [
            min([begins, *(first[each] for each in others)])
            for begins, others in zip(first, within, strict=True)
        ]
        ranked = sorted(
            range(len(first)),
            key=lambda each: (wanted[each], first[each] < last[each], first[each]),
        )
        assert made.tolist() == ranked
        assert must.tolist() == [wanted[each] for each in ranked]


def spare_of(history: EncodedHistory, what: Kind) -> list[int]:
    """Pending, and nobody observed it."""
    known = in_force(history)
    return [
        row
        for row in np.flatnonzero((history.ret == NEVER) & (history.kind == what)).tolist()
        if history.b[row] not in known
    ]


def test_what_is_pending_and_was_not_observed_is_to_spare() -> None:
    for history, found in fine():
        columns = (history.call, history.ret, history.kind, history.a, history.b)
        nothing = np.empty(0, np.int64)
        facts = order.Facts(
            *columns, found.writer, found.replaced, found.last_call, nothing,
            np.empty(0, np.int32), nothing, nothing,
        )  # fmt: skip
        spare = order._spare(facts)
        writes, cas = spare_of(history, Kind.WRITE), spare_of(history, Kind.CAS)
        assert spare.writes.tolist() == writes and spare.counts.tolist() == [0, 0, 0]
        write, by_value = refutation._spare(*columns, found.last_call)
        assert write == (history.call[writes[0]] if writes else N)
        for value in range(len(found.writer)):
            of_value = [row for row in cas if history.a[row] == value]
            assert by_value[value] == (history.call[of_value[0]] if of_value else N)
            row, linked = spare.first_cas[value], []
            while row >= 0:
                linked.append(int(row))
                row = spare.next_cas[row]
            assert linked == of_value


@pytest.mark.parametrize("most", [0, 1, 2, 7])
def test_the_earliest_is_found_whatever_was_guessed(most: int) -> None:
    for wanted in range(most + 1):
        for guess in range(most + 1):
            asked: list[int] = []

            def holds(number: int, wanted: int = wanted, asked: list[int] = asked) -> bool:
                asked.append(number)
                return number >= wanted

            assert method._earliest(holds, guess, most) == wanted
            assert all(0 <= number <= most for number in asked)
            assert len(asked) == len(set(asked)), "asked twice"


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (500, [500, 499]),
        (499, [500, 499, 498]),
        (497, [500, 499, 498, 496, 497]),
        (490, [500, 499, 498, 496, 492, 484, 488, 490, 489]),
        (501, [500, 501]),
        (503, [500, 501, 502, 504, 503]),
        (512, [500, 501, 502, 504, 508, 512, 510, 511]),
    ],
)
def test_a_good_guess_asks_little(wanted: int, asked: list[int]) -> None:
    found: list[int] = []

    def holds(number: int) -> bool:
        found.append(number)
        return number >= wanted

    assert method._earliest(holds, 500, 512) == wanted
    assert found == asked


@pytest.mark.parametrize(
    ("text", "shown", "linked"),
    [
        ("0-1:w1 2-3:c1>2 4-5:c2>3 6-7:r1 8-9:r3", [3, 4], [0, 1, 2, 3, 4]),
        ("0-1:w1 2-3:c1>2 4-5:c2>3 6-7:r1 8-9:r3", [4], [2, 4]),
        ("0-1:w1 2-3:c1>2 4-5:c2>3 6-7:d3 8-9:r2", [3, 4], [1, 2, 3, 4]),
        ("0-1:w1 2-3:w2 4-5:r1 6-7:r2", [-1, 2, -1, 3], [0, 1, 2, 3]),
        ("0-1:w1 2-3:c0>2 4-5:r2", [2], [1, 2]),
        ("0-1:c0>1 2-3:c1>2 4-5:r2 6-7:r0", [2, 3], [0, 1, 2, 3]),
        ("0-:w1 1-2:r1 3-4:r1", [0], [0, 1]),
        ("0-:w1 1-4:r1 2-3:r1", [0], [0, 2]),
        ("0-:w1 1-:c1>2 2-3:r2", [0], [0, 1, 2]),
        ("0-:w1 1-:c1>2 2-3:r2", [0, 2], [0, 1, 2]),
        ("0-:w1 1-:c1>2 2-:c2>3 3-4:r3 5-6:r1", [4], [0, 4]),
        ("0-:w1 1-:c1>2 2-:c2>3 3-4:r3", [1], [0, 1, 2, 3]),
        ("0-:w1 1-2:w2 3-4:r2", [0, 2], [0, 1, 2]),
        ("0-:w1 1-2:w2 3-4:r2", [0], [0]),
        ("0-1:w1 2-3:c1>2 4-5:c2>3 6-7:r3", [0, 3], [0, 1, 2, 3]),
        ("0-1:r0 2-3:w1", [0], [0]),
        ("0-1:w1 2-3:w2 4-5:r1 6-7:r2", [-1, 0], [0]),
    ],
)
def test_links_make_rows_comparable(text: str, shown: list[int], linked: list[int]) -> None:
    """Who wrote what they name, the cas between two of those, and who saw what is pending."""
    history = written(text)
    found, rows = zones_of(history), np.array(shown, np.int32)
    known = (found.writer, found.replaced, found.first_read)
    columns = (history.ret, history.kind, history.a, history.b)
    assert refutation.with_links(*columns, history.initial, *known, rows).tolist() == linked


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0-1:d0", [0, -1, -1]),
        ("0-1:w1 2-3:d1", [1, 0, -1, 0]),
        ("0-1:w1 2-3:d1 4-5:w2", [1, 0, -1, 0]),
        ("0-9:w2 1-2:w1 3-5:d1 4-6:r1 7-8:r1", [2, 1, 4]),
        ("0-9:w2 1-2:w1 3-5:d1", []),
        ("0-1:w3 2-8:w2 3-4:w1 5-6:d1 7-9:r1 10-11:r1", [3, 2, 5]),
        ("0-1:c0>1 2-3:d1 4-5:c1>2", [1, 0, 2]),
        ("0-1:w1 2-9:c1>2 3-4:d1 5-6:r2", []),
        ("0-1:w1 2-9:c1>2 3-4:d1 5-6:r1 7-8:r2", [2, 0, 3]),
        ("0-1:w1 2-3:d0 4-5:d1 6-7:w2 8-9:r2", [2, 0, -1, 0]),
        ("0-1:w1 2-3:w2 4-5:w3 6-7:d3 8-9:r3", [3, 2, 4]),
        ("0-1:w1 2-3:r1 4-7:d1 5-6:d1", [3, 0, 1, 0]),
        ("0-1:w1 2-:w2 3-4:d1 5-6:r2 7-8:d2", [4, 3, 3, 1]),
        ("0-1:w1 2-:c2>3 3-4:d1", [2, 0, -1, 1, 0]),
        ("0-1:w1 2-:w2 3-4:d1", []),
        ("0-1:w1 2-:c1>2 3-4:d1", []),
        ("0-1:w1 2-3:d1 4-:w2", [1, 0, -1, 0]),
        ("0-:w2 1-2:w1 3-4:d1", []),
        ("0-1:w1 2-3:c1>2 4-5:d2", [2, 1, -1, 1]),
        ("0-1:w1 2-3:d1 4-5:r1 6-7:c1>2", [1, 0, 3]),
    ],
)
def test_what_refutes_a_failed_cas(text: str, rows: list[int]) -> None:
    history = written(text)
    found = zones_of(history)
    shown = method._without_place(history, found, *method._turns(history, found))
    assert shown.tolist() == rows


def test_of_many_that_cannot_have_come_between_some_are_shown() -> None:
    writes = [f"{row}-{71 + row}:w{row + 2}" for row in range(70)]
    history = written(" ".join((*writes, "70-141:w1 142-143:r1 144-145:d1")))
    found = zones_of(history)
    shown = method._without_place(history, found, *method._turns(history, found))
    assert shown.tolist() == [72, 70, 71, *range(70, 6, -1)]


def test_an_order_is_made_for_failed_cas_or_where_it_is_asked_for() -> None:
    history = written("0-3:w1 1-2:r1")
    plain = method.unique_writes(history, Budget())
    ordered = method.unique_writes(history, Budget(), order_anyway=True)
    assert plain is not None and plain.order is None
    assert ordered is not None and ordered.order is not None
    assert ordered.order.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-:c1>2 1-2:w1 3-4:d1", [1, 0, 2]),
        ("0-:w1 1-2:d0 3-4:r1", [0, 1, 2]),
        ("0-7:w2 1-2:d0 3-6:w1 4-5:d0", [0, 1, 3, 2]),
        ("0-10:w1 1-12:w2 2-3:d0 4-5:d1 6-7:d2", [1, 2, 3, 0, 4]),
        ("0-5:w1 3-4:w2 6-7:d1 8-10:d2 9-:w5", [0, 1, 2, 4, 3]),
        ("0-3:w1 1-2:w2 4-7:w3 5-6:d1 8-9:r3", [0, 1, 3, 2, 4]),
        ("0-1:w1 2-:w2 3-:w3 4-5:d0 6-7:c3>4 8-:w5", [0, 3, 2, 4]),
        ("0-10:w1 1-11:c1>2 2-3:w3 12-13:d2", [0, 1, 2, 3]),
        ("0-:w3 1-:w1 2-3:d1 4-:w2 5-8:d1 6-7:d0 9-:w4 10-11:d2", [2, 4, 1, 5, 7]),
        ("0-1:w1 2-:w2 3-:w5 4-5:d1 6-7:d5 8-9:d2 10-14:w7 11-12:d5", [0, 1, 3, 4, 2, 5, 6, 7]),
        ("0-1:d1 2-3:r0 4-7:w1 5-10:r0 6-9:r1 8-11:d3 12-13:d2", [0, 1, 3, 2, 4, 5, 6]),
        (
            "0-1:w1 2-3:w2 4-5:c2>3 6-24:d2 7-13:d5 8-15:c3>4 9-17:d3 10-25:d6 11-21:d4 12-23:d2 "
            "14-19:d6 16-20:c5>6 18-22:w5",
            [0, 1, 2, 3, 4, 7, 8, 9, 10, 5, 6, 12, 11],
        ),
        (
            "0-1:w1 2-:w4 3-5:d2 4-13:d1 6-:w3 7-10:d0 8-9:w2 11-12:d4 14-:w5 15-16:d2 17-18:d2 "
            "19-20:w6 21-24:w7 22-23:d6",
            [0, 2, 5, 6, 3, 7, 8, 9, 10, 11, 12, 13],
        ),
        (
            "0-1:c0>1 2-6:d3 3-4:c1>2 5-:c3>4 7-:c5>7 8-:c5>6 9-12:d0 10-11:c2>3 13-17:c4>5 "
            "14-:w8 15-18:d6 16-19:r5",
            [0, 1, 2, 6, 7, 10, 3, 8, 11],
        ),
        (
            "0-:w2 1-2:c0>1 3-:c7>8 4-5:r1 6-7:d2 8-12:w3 9-11:w4 10-:w7 13-14:r4 15-18:w6 "
            "16-17:c4>5",
            [1, 3, 4, 5, 6, 8, 10, 9],
        ),
        (
            "0-1:r0 2-3:d2 4-:w6 5-8:r0 6-7:w1 9-:w7 10-12:d3 11-:w2 13-16:w3 14-:w4 15-18:d1 "
            "17-20:d3 19-25:w5 21-22:d5 23-24:d4",
            [0, 1, 3, 4, 6, 8, 10, 12, 11, 7, 13, 14],
        ),
        (
            "0-1:w1 2-4:d3 3-:w5 5-6:w2 7-12:w4 8-9:w3 10-13:d7 11-:w6 14-15:d4 16-17:d7",
            [0, 1, 3, 4, 5, 6, 8, 9],
        ),
        (
            "0-:w2 1-3:d1 2-11:d3 4-:w1 5-:w11 6-:w3 7-8:d3 9-:w4 10-:w5 12-:w9 13-:w10 14-:w7 "
            "15-18:d0 16-17:d1 19-20:w6 21-:w12 22-24:d6 23-25:d5 26-:w8",
            [1, 2, 6, 13, 11, 12, 14, 17, 15, 16],
        ),
        (
            "0-:w1 1-:w6 2-:w3 3-:c6>8 4-5:d0 6-:w7 7-8:w2 9-10:d2 11-12:c3>4 13-15:c4>5 14-16:d3",
            [1, 4, 6, 2, 7, 8, 10, 9],
        ),
        (
            "0-12:d2 1-5:d2 2-11:d2 3-:w6 4-7:c0>1 6-:w3 8-14:c1>2 9-10:d3 13-17:w4 15-16:d1 "
            "18-:w5 19-21:d6 20-22:d4 23-24:d6 25-28:w7 26-27:r6",
            [0, 1, 2, 4, 7, 6, 9, 8, 11, 10, 12, 13, 3, 15, 14],
        ),
    ],
)
def test_chains_give_way_to_failed_cas(text: str, expected: list[int]) -> None:
    """One that is done in an instant, one that can begin earlier, or what is pending; in the last
    history where the first way of mending fails. It is this order, not only a legal one."""
    history = written(text)
    decision = method.unique_writes(history, Budget(), order_anyway=True)
    assert decision is not None and decision.order is not None
    assert decision.order.tolist() == expected
    assert is_legal_order(history, decision.order)


@pytest.mark.parametrize(("first", "second", "initial"), list(permutations(range(3))))
def test_chains_take_turns_whatever_their_values_are(first: int, second: int, initial: int) -> None:
    """The one that returns first comes first."""
    history = replace(
        written(f"0-4:w{first} 1-2:w{second} 5-6:d{initial}"),
        initial=initial,
    )
    decision = method.unique_writes(history, Budget(), order_anyway=True)
    assert decision is not None and decision.order is not None
    assert decision.order.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    "text",
    ["0-1:w1 2-3:d1", "0-1:d0", "0-1:w1 2-9:c1>2 3-4:d1 5-6:r1 7-8:r2", "0-1:w1 2-3:r1 4-5:d1"],
)
def test_where_a_failed_cas_has_no_place_nothing_is_proposed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than an order that the replay would find out."""
    monkeypatch.setattr(method, "is_legal", lambda *_: True)
    history = written(text)
    found = zones_of(history)
    assert method._order(history, found, *method._turns(history, found)) is None


@pytest.mark.parametrize(
    ("text", "culprit", "involved"),
    [
        ("0-1:w1 2-3:d1 4-5:d1", 1, [0, 1]),
        ("0-1:w1 2-:c1>2 3-4:r2 5-6:r1 7-8:r1", 3, [0, 1, 2, 3]),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1 7-8:w3", 3, [0, 1, 2, 3]),
        ("0-:c3>1 1-2:d5 3-4:r1", 2, [0, 2]),
        ("0-1:w1 2-3:c1>2 4-5:c2>3 6-7:r1 8-9:r3", 3, [0, 1, 3]),
    ],
)
def test_who_shows_it_first(text: str, culprit: int, involved: list[int]) -> None:
    decision = method.unique_writes(written(text), Budget())
    assert decision is not None
    assert (decision.culprit, decision.involved) == (culprit, involved)
