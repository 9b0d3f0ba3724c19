"""The front of all methods: each key takes the cheapest that decides it.

All are exact, so that they are tried by cost, in the order of `methods/table.py`. What needs no
search first: unique writes, elements of sets, FIFO queues, each nearly linear. Then a search that
gives up where much is open at once, and a quick refutation for repeated values; then one that finds
orders where very much is open, and never refutes. Then two searches in turns, with time slices that
grow: one finds orders soon, the other refutes soon, and which would win is not known before. Where
the system's own log says in which order it worked, that order is checked besides.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import (
    NEVER,
    NOWHERE,
    EncodedHistory,
    EncodedKeys,
    Ints,
    Kind,
)
from checkers.linearizability.encoding.transitions import queue_steps
from checkers.linearizability.methods.jit_bitset.method import jit_bitset, jit_bitset_keys
from checkers.linearizability.methods.table import METHODS, QUEUES, Method, Stage
from framework.compiled import working_s
from framework.verdict import Verdict

NOTHING: Final = "nothing completed"
UNDECIDED: Final = "none"
DISAGREEMENT: Final = "disagreement"

_FIRST_SLICE_S: Final = 0.02
_SLICE_S_AN_OPERATION: Final = 15e-6
"""What the antichain takes for a cell, if it has to go back now and then."""
_GROWTH: Final = 3.0
_SMALL_KEY: Final = 5_000
"""Operations of a key up to which what is done for many keys at once is the cheapest."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What is known of one key."""

    decision: Decision
    """The verdict that counts."""
    along: Decision | None = None
    """What the log's own order says, where there is one."""

    @property
    def disagrees(self) -> bool:
        """The log's order explains what happened, and the other method says that no order does,
        or the other way round."""
        return self.along is not None and {self.along.verdict, self.decision.verdict} == {
            Verdict.VALID,
            Verdict.INVALID,
        }


@dataclass(slots=True)
class _Tried:
    """Methods that did not decide, with what they cost."""

    notes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def ask(self, method: Method, encoded: EncodedHistory, budget: Budget) -> Decision | None:
        """Its decision, if it makes one. UNKNOWN is kept as tried, and returned."""
        began = working_s()
        decision = method.decide(encoded, budget)
        if decision is not None and decision.verdict is Verdict.UNKNOWN:
            spent = self.seconds.get(decision.method, 0.0) + working_s() - began
            self.seconds[decision.method] = spent
            self.notes[decision.method] = decision.note
        return decision

    def summary(self) -> str:
        return "; ".join(
            f"{method} {self.seconds[method]:.1f} s" + (f" ({note})" if note else "")
            for method, note in self.notes.items()
        )


def decide(
    encoded: EncodedHistory, budget: Budget | None = None, methods: Sequence[Method] = METHODS
) -> Decided:
    """Whether one key is linearizable. UNKNOWN once the budget is spent."""
    budget = budget or Budget()
    along = None
    if encoded.place is not None:
        for method in _of(methods, Stage.BESIDE):
            along = _Tried().ask(method, encoded, budget)
    decision = _decided(encoded, budget, methods)
    if along is None or along.verdict is Verdict.UNKNOWN:
        return Decided(decision)
    if decision.verdict is Verdict.UNKNOWN and along.verdict is Verdict.VALID:
        decision = along
    return Decided(decision, along)


def decide_small(keys: EncodedKeys, methods: Sequence[Method] = METHODS) -> list[Decision | None]:
    """What one call for many keys decides of those that are small: `decide` of any of them would
    say the same, later. None: ask `decide`."""
    if not any(each.decide is jit_bitset for each in methods):
        return [None] * len(keys)
    small = _small(keys)
    found = jit_bitset_keys(keys.only(small))
    if len(small) == len(keys):
        return found
    decisions: list[Decision | None] = [None] * len(keys)
    for number, decision in zip(small.tolist(), found, strict=True):
        decisions[number] = decision
    return decisions


def _small(keys: EncodedKeys) -> Ints:
    """The keys that are small cells, of which something completed, and that no log tells of."""
    lengths = np.diff(keys.starts)
    some = np.flatnonzero(lengths)
    first = keys.starts[some]
    if not len(some):
        return some
    fits = lengths[some] <= _SMALL_KEY
    fits &= np.maximum.reduceat(keys.kind, first) <= Kind.CHANGE
    fits &= np.minimum.reduceat(keys.ret, first) != NEVER
    if keys.place is not None:
        fits &= np.maximum.reduceat(keys.place, first) == NOWHERE
    if keys.others:
        fits &= ~np.isin(some, list(keys.others))
    return some[fits]


def _something_completed(encoded: EncodedHistory) -> bool:
    return len(encoded) > 0 and int(encoded.ret.min()) != NEVER


def _decided(encoded: EncodedHistory, budget: Budget, methods: Sequence[Method]) -> Decision:
    if not _something_completed(encoded):
        return Decision(Verdict.VALID, NOTHING, np.zeros(0, dtype=np.int64))
    tried = _Tried()
    kinds = {Kind(each) for each in np.flatnonzero(np.bincount(encoded.kind)).tolist()}
    for method in _of(methods, Stage.ONCE, kinds):
        decision = tried.ask(method, encoded, budget)
        if decision is not None and decision.verdict is not Verdict.UNKNOWN:
            return _last_to_return(encoded, decision)
    if kinds & QUEUES:
        encoded = queue_steps(encoded)
    return _raced(encoded, budget, tried, _of(methods, Stage.IN_TURNS))


def _of(methods: Sequence[Method], stage: Stage, kinds: Collection[Kind] = ()) -> list[Method]:
    return [each for each in methods if each.stage is stage and each.kinds.issuperset(kinds)]


def _last_to_return(encoded: EncodedHistory, decision: Decision) -> Decision:
    """With the last to return as the culprit, of those that exclude each other: so that all until
    then is refuted."""
    if decision.verdict is not Verdict.INVALID or not len(decision.involved):
        return decision
    rows = np.array([decision.culprit, *decision.involved], dtype=np.int64)
    rows = rows[encoded.ret[rows] != NEVER]
    return replace(decision, culprit=int(rows[np.argmax(encoded.ret[rows])]))


def _raced(
    encoded: EncodedHistory, budget: Budget, tried: _Tried, searches: list[Method]
) -> Decision:
    """The searches in turns. One that gives up before its time is up has run out of memory, and
    is not asked again. Of a cell an order that is easy to find was found before: then it is first
    the turn of the search that refutes soon, which is the last."""
    if encoded.transitions is None:
        searches = searches[::-1]
    slice_s = max(_FIRST_SLICE_S, _SLICE_S_AN_OPERATION * len(encoded))
    while searches and budget.left_s > 0:
        for search in tuple(searches):
            part = budget.slice(slice_s)
            decision = tried.ask(search, encoded, part)
            if decision is not None and decision.verdict is not Verdict.UNKNOWN:
                return decision
            if decision is None or part.left_s > slice_s / 2:
                searches.remove(search)
        slice_s *= _GROWTH
    ran_out = "time" if searches else "memory"
    limit = f"{budget.seconds:g} s" if searches else f"{budget.max_bytes >> 20} MiB"
    summary = tried.summary() or "no search had begun"
    why = f"the {ran_out} budget of a key ran out ({limit}): {summary}"
    return Decision(Verdict.UNKNOWN, UNDECIDED, note=why)
