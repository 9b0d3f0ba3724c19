"""Sets read whole: as brute force decides, with what shows each kind of violation."""

import random
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import pytest

from checkers.linearizability.encoded import NEVER
from checkers.linearizability.methods.grow_only import Anomaly, SetHistory, figures, grow_only
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import shuffled_times

Add = tuple[int, int, int]
"""Call, return, element."""
Read = tuple[int, int, Sequence[int]]
N = int(NEVER)


def history(adds: Sequence[Add], reads: Sequence[Read]) -> SetHistory:
    adds, reads = sorted(adds), sorted(reads)
    offsets = np.cumsum([0, *(len(shown) for _, _, shown in reads)])
    return SetHistory(
        np.array([call for call, _, _ in adds], np.int64),
        np.array([ret for _, ret, _ in adds], np.int64),
        np.array([element for _, _, element in adds], np.int32),
        np.array([call for call, _, _ in reads], np.int64),
        np.array([ret for _, ret, _ in reads], np.int64),
        offsets.astype(np.int64),
        np.array([element for _, _, shown in reads for element in shown], np.int32),
    )


def linearizable(adds: Sequence[Add], reads: Sequence[Read]) -> bool:
    """Every order."""
    calls = [call for call, _, _ in (*adds, *reads)]
    returns = [ret for _, ret, _ in (*adds, *reads)]

    @cache
    def explore(content: frozenset[int], left: frozenset[int]) -> bool:
        deadline = min((returns[row] for row in left), default=N)
        if deadline == N:
            return True
        for row in left:
            if calls[row] < deadline:
                if row < len(adds):
                    if explore(content | {adds[row][2]}, left - {row}):
                        return True
                elif content == frozenset(reads[row - len(adds)][2]):
                    # Reads change nothing: the first that fits may go first.
                    return explore(content, left - {row})
        return False

    return explore(frozenset(), frozenset(range(len(calls))))


def random_history(rng: random.Random) -> tuple[list[Add], list[Read]]:
    """Adds, some of them twice or pending, and reads, some of them not true."""
    count = rng.randrange(2, 11)
    is_read = [rng.random() < 0.5 for _ in range(count)]
    pending = [not reads and rng.random() < 0.25 for reads in is_read]
    call, ret = shuffled_times(rng, count, rng.randrange(1, 5), pending)
    effect = sorted(
        (rng.uniform(call[row], ret[row] if ret[row] != N else 2 * count), row)
        for row in range(count)
    )
    content: set[int] = set()
    adds: list[Add] = []
    reads: list[Read] = []
    for fresh, (_, row) in enumerate(effect):
        if is_read[row]:
            shown = content | ({fresh} if rng.random() < 0.04 else set())
            if shown and rng.random() < 0.2:
                shown = shown - {rng.choice(sorted(shown))}
            reads.append((call[row], ret[row], sorted(shown)))
        else:
            element = fresh if rng.random() < 0.8 or not adds else rng.choice(adds)[2]
            adds.append((call[row], ret[row], element))
            if not pending[row] or rng.random() < 0.5:
                content.add(element)
    return sorted(adds), sorted(reads)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    anomalies = set()
    for _ in range(400):
        adds, reads = random_history(rng)
        decision = grow_only(history(adds, reads))
        expected = linearizable(adds, reads)
        assert decision.verdict is (Verdict.VALID if expected else Verdict.INVALID)
        if not expected:
            anomalies.add(decision.anomaly)
            elements = decision.elements
            alone = [(*reads[row][:2], among(reads[row][2], elements)) for row in decision.reads]
            assert not linearizable([adds[row] for row in decision.adds], alone)
    assert len(anomalies) >= 4


def among(shown: Collection[int], elements: Collection[int]) -> list[int]:
    return [element for element in shown if element in elements]


@pytest.mark.parametrize(
    ("adds", "reads", "anomaly", "elements", "of_adds", "of_reads"),
    [
        ([(0, 1, 0)], [(2, 3, [0, 1])], Anomaly.PHANTOM, (1,), (), (0,)),
        ([(4, 5, 0)], [(2, 3, [0])], Anomaly.EARLY, (0,), (0,), (0,)),
        ([(0, 1, 0), (2, 3, 1)], [(4, 5, [1])], Anomaly.LOST, (0,), (0,), (0,)),
        ([(0, 1, 0)], [(2, 3, []), (4, 5, [0])], Anomaly.STALE, (0,), (0,), (1, 0)),
        ([(0, N, 0)], [(2, 3, [0]), (4, 5, [])], Anomaly.VANISHED, (0,), (0,), (0, 1)),
        ([(4, N, 0)], [(2, 3, [0])], Anomaly.EARLY, (0,), (0,), (0,)),
        # Of several that vanished, and of several reads that show it, the first.
        (
            [(0, N, 0), (1, N, 1)],
            [(2, 3, [0, 1]), (4, 5, [])],
            Anomaly.VANISHED,
            (0,),
            (0,),
            (0, 1),
        ),
        ([(0, 1, 0)], [(2, 3, []), (4, 5, [0]), (6, 7, [0])], Anomaly.STALE, (0,), (0,), (1, 0)),
        # The first that was invoked put it in; the other only returned first.
        ([(0, 20, 0), (1, 15, 0)], [(2, 3, [0]), (4, 5, [])], Anomaly.VANISHED, (0,), (0,), (0, 1)),
        (
            [(0, 20, 0), (1, 15, 0), (6, 30, 1)],
            [(2, 3, [0]), (7, 8, [1])],
            Anomaly.VANISHED,
            (0,),
            (0,),
            (0, 1),
        ),
        # No chain, but one of them is wrong by itself.
        ([(0, 1, 0), (2, 3, 1)], [(4, 7, [0]), (5, 6, [1])], Anomaly.STALE, (0,), (0,), (0, 1)),
        ([(0, 1, 0), (2, 3, 1)], [(4, 5, [0]), (6, 7, [1])], Anomaly.VANISHED, (0,), (0,), (0, 1)),
        (
            [(0, 8, 0), (1, 9, 1)],
            [(2, 5, [0]), (3, 6, [1])],
            Anomaly.NO_CHAIN,
            (0, 1),
            (0, 1),
            (0, 1),
        ),
        (
            [(1, 2, 1), (3, 4, 0)],
            [(0, 6, [0]), (5, 9, [0, 1])],
            Anomaly.DISORDER,
            (1, 0),
            (0, 1),
            (0,),
        ),
    ],
)
def test_violations(
    adds: list[Add],
    reads: list[Read],
    anomaly: Anomaly,
    elements: tuple[int, ...],
    of_adds: tuple[int, ...],
    of_reads: tuple[int, ...],
) -> None:
    decision = grow_only(history(adds, reads))
    assert decision.verdict is Verdict.INVALID
    assert decision.anomaly is anomaly
    assert (decision.elements, decision.adds, decision.reads) == (elements, of_adds, of_reads)
    assert not linearizable(adds, reads)


@pytest.mark.parametrize(
    ("adds", "reads"),
    [
        ([], []),
        ([], [(0, 1, [])]),
        ([(0, 1, 0)], []),
        ([(0, N, 0)], [(1, 2, []), (3, 4, [])]),
        ([(0, N, 0)], [(1, 2, []), (3, 4, [0])]),
        ([(0, 5, 0), (6, 7, 0)], [(1, 2, []), (3, 4, [0, 0])]),
        ([(0, 5, 0), (1, 2, 0)], [(3, 4, [0])]),
    ],
)
def test_what_a_set_allows(adds: list[Add], reads: list[Read]) -> None:
    assert grow_only(history(adds, reads)).verdict is Verdict.VALID
    assert linearizable(adds, reads)


def test_figures_of_jepsens_set_checkers() -> None:
    adds = [(0, 1, 0), (2, 3, 1), (4, 5, 2), (6, N, 3), (7, N, 4), (8, 9, 5), (20, 21, 6)]
    reads = [(10, 11, [0, 1]), (12, 13, [0, 3, 9, 9])]
    counted = figures(history(adds, reads))
    assert (counted.attempted, counted.acknowledged, counted.stable) == (7, 5, 1)
    assert counted.lost.tolist() == [1, 2, 5]
    assert counted.never_read.tolist() == [2, 5, 6]
    assert counted.recovered.tolist() == [3]
    assert counted.unexpected.tolist() == [9]
    assert counted.repeated.tolist() == [9]
    none = figures(history(adds, []))
    assert (none.stable, len(none.lost), len(none.never_read)) == (0, 0, 5)


def test_long_history_with_one_element_that_comes_and_goes() -> None:
    count, every = 20_000, 500
    adds = [(20 * each, 20 * each + 10, each) for each in range(count)]
    reads = [(20 * end - 5, 20 * end - 3, range(end)) for end in range(every, count + every, every)]
    assert grow_only(history(adds, reads)).verdict is Verdict.VALID
    call, ret, shown = reads[-1]
    spoilt = [*reads[:-1], (call, ret, [each for each in shown if each != 17])]
    decision = grow_only(history(adds, spoilt))
    assert (decision.anomaly, decision.elements) == (Anomaly.VANISHED, (17,))
