"""The fewest operations of a key that show that it is not linearizable.

An operation outside that set does not vanish: without the write of a value, every read of it
would be impossible for no good reason. It is relaxed, as `relaxed` says: what it saw is forgotten,
and what it did happened within its own time or not at all. That is sound: if the relaxed history
has no order, neither has the whole one.

What a kernel names is tried first, then the last operations that completed until the culprit did,
and of a cell what `grown` finds. What is refuted loses halves, quarters, ... and at last single
operations (delta debugging, Zeller & Hildebrandt 2002), until none can be spared or the budget
is spent.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from checkers.linearizability.decision import Budget, Decide, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Ints, Kind
from checkers.linearizability.evidence.grow import grown
from checkers.linearizability.evidence.relaxed import MAX_STEPS, Relaxing
from checkers.linearizability.evidence.small_search import OBSERVERS, TooMuch
from framework.verdict import Verdict

_MOST_INVOLVED: Final = 200
_MOST_LOOKED_AT: Final = 4096
_SMALL: Final = 64
_HARD: Final = 6
"""After so many sets that are not searched easily no more are tried so."""
_SLICE_S: Final = 0.3
"""What a method gets for one question."""
_ASKING_S: Final = 1.0
"""What it gets for all of them."""
_WINDOWS: Final = tuple(4 << each for each in range(11))
_STEPS: Final = (MAX_STEPS, 10 * MAX_STEPS)

Test: TypeAlias = Callable[[Ints], bool | None]
"""Whether a set is refuted; None: that was not found out."""


def shrink(
    encoded: EncodedHistory,
    decision: Decision,
    decide: Decide | None = None,
    budget: Budget | None = None,
    relaxing: Relaxing | None = None,
) -> Ints:
    """Row numbers, rising, of completed operations that have no order whatever all others did.

    `decision` is INVALID. `decide` is asked about sets that are too large to search here. When
    the steps of `relaxing` or the budget end, the smallest set that was found by then: at worst
    all that completed until the culprit did. 1-minimal otherwise: each member is needed.
    """
    budget = budget or Budget(1.0)
    relaxing = relaxing or Relaxing(encoded)
    whole = _completed_until_the_culprit(encoded, decision)
    easily, patiently = (_searching(relaxing, steps, budget) for steps in _STEPS)
    harder: list[Ints] = []
    for rows in _candidates(encoded, decision, whole):
        # Windows grow: what comes after a hard one is harder.
        is_refuted = easily(rows) if len(rows) <= _SMALL and len(harder) < _HARD else None
        if is_refuted:
            return _reduced(rows, easily, budget)
        if is_refuted is None:
            harder.append(rows)
    if relaxing.is_cell and (found := _grown(relaxing, whole, budget)) is not None:
        return _reduced(found, patiently, budget)
    for rows in harder:
        if budget.left_s > 0 and patiently(rows):
            return _reduced(rows, patiently, budget)
    if decide is None:
        return np.sort(whole)
    brief = budget.slice(_ASKING_S)
    smaller = _reduced(np.sort(whole), _asking(encoded, decide, brief), brief)
    return _reduced(smaller, patiently, budget) if patiently(smaller) else smaller


def pending_outside(encoded: EncodedHistory, rows: Ints) -> EncodedHistory:
    """The history for methods, which know no operation that takes effect within its time or
    never: all mutations but those at `rows` are pending, and a dequeue that is takes any value.
    Later than the last of `rows` nothing happens. Looser still, so what it refutes is refuted."""
    until = encoded.ret[rows].max()
    keep = (encoded.call < until) & ~np.isin(encoded.kind, list(OBSERVERS))
    keep[rows] = True
    chosen = np.flatnonzero(keep)
    part = encoded.take(chosen)
    outside = ~np.isin(chosen, rows)
    loose = outside & (part.kind == Kind.DEQUEUE)
    return replace(
        part,
        ret=np.where(outside, NEVER, part.ret),
        kind=np.where(loose, np.int8(Kind.TAKE), part.kind),
        a=np.where(loose, np.int32(-1), part.a),
    )


def _completed_until_the_culprit(encoded: EncodedHistory, decision: Decision) -> Ints:
    """In the order of their returns."""
    culprit = decision.culprit
    known = culprit >= 0 and encoded.ret[culprit] != NEVER
    return _by_return(encoded, int(encoded.ret[culprit]) if known else NEVER - 1)


def _by_return(encoded: EncodedHistory, until: int) -> Ints:
    rows: Ints = np.flatnonzero(encoded.ret <= until)
    return rows[np.argsort(encoded.ret[rows], kind="stable")]


def _candidates(encoded: EncodedHistory, decision: Decision, whole: Ints) -> Iterator[Ints]:
    named = {row for row in (*decision.involved, decision.culprit) if row >= 0}
    involved = np.array(sorted(row for row in named if encoded.ret[row] != NEVER), np.int64)
    if 0 < len(involved) <= _MOST_INVOLVED:
        yield involved
    # A little later it may be plain without what was long before.
    completed = _by_return(encoded, NEVER - 1)
    for size in _WINDOWS:
        yield np.sort(whole[-size:])
        for more in (size // 8, size // 4):
            if len(completed) > len(whole) and more:
                yield np.sort(completed[: len(whole) + more][-size:])
        if 0 < len(involved) <= size:
            yield np.union1d(whole[-size:], involved)
        if size >= len(whole):
            return


def _grown(relaxing: Relaxing, whole: Ints, budget: Budget) -> Ints | None:
    with suppress(TooMuch):
        return grown(relaxing, whole[-1:], whole[-_MOST_LOOKED_AT:], _STEPS[-1], budget)
    return None


def _searching(relaxing: Relaxing, max_steps: int, budget: Budget) -> Test:
    def refuted(rows: Ints) -> bool | None:
        with suppress(TooMuch):
            return relaxing.refuted(rows, max_steps, budget) is not None
        return None

    return refuted


def _asking(encoded: EncodedHistory, decide: Decide, budget: Budget) -> Test:
    def refuted(rows: Ints) -> bool:
        if not len(rows):
            return False
        decision = decide(pending_outside(encoded, rows), budget.slice(_SLICE_S))
        return decision is not None and decision.verdict is Verdict.INVALID

    return refuted


def _reduced(rows: Ints, refuted: Test, budget: Budget) -> Ints:
    """Smaller and still refuted; 1-minimal if the budget lasts."""
    size = max(1, len(rows) // 2)
    while True:
        before = len(rows)
        start = 0
        while start < len(rows) and budget.left_s > 0:
            fewer = np.delete(rows, slice(start, start + size))
            if len(fewer) and refuted(fewer):
                rows = fewer
            else:
                start += size
        if budget.left_s <= 0 or (size == 1 and len(rows) == before):
            return rows
        if size > 1:
            size //= 2
