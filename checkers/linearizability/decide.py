"""The front of all methods: each key takes the cheapest that decides it.

All are exact, so that they are tried by cost. What needs no search first: unique writes, elements
of sets, FIFO queues, each nearly linear. Then a search that gives up where much is open at once,
and a quick refutation for repeated values; then one that finds orders where very much is open, and
never refutes. Then two searches in turns, with time slices that grow: depth first finds orders
soon, the frontier refutes soon, and which would win is not known before. Where the system's own
log says in which order it worked, that order is checked besides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from checkers.linearizability.beam.search import beam
from checkers.linearizability.coded import NEVER, NOWHERE, Coded, CodedKeys, Ints, Kind
from checkers.linearizability.decision import Budget, Decision, Method
from checkers.linearizability.depth_first.search import depth_first
from checkers.linearizability.encoding.transitions import queue_steps
from checkers.linearizability.frontier.search import frontier
from checkers.linearizability.log.along_log import along_log
from checkers.linearizability.narrow.narrow import narrow, narrow_keys
from checkers.linearizability.sweeps.fifo import fifo
from checkers.linearizability.sweeps.flips import flips
from checkers.linearizability.sweeps.reach import reach
from checkers.linearizability.unique.writes import unique_writes
from framework.compiled import working_s
from framework.verdict import Verdict

NOTHING: Final = "nothing completed"
UNDECIDED: Final = "none"
DISAGREEMENT: Final = "disagreement"

_FIRST_SLICE_S: Final = 0.02
_SLICE_S_AN_OPERATION: Final = 15e-6
"""What the frontier takes for a cell, if it has to go back now and then."""
_GROWTH: Final = 3.0
_SMALL_KEY: Final = 5_000
"""Operations of a key up to which what is done for many keys at once is the cheapest."""
_CELLS: Final = sum(1 << kind for kind in range(Kind.CHANGE + 1))
_QUEUES: Final = sum(1 << kind for kind in range(Kind.ENQUEUE, Kind.TAKE + 1))

SEARCHES: Final[Sequence[Method]] = (depth_first, frontier)
METHODS: Final[Sequence[Method]] = (
    unique_writes,
    flips,
    narrow,
    reach,
    beam,
    fifo,
    *SEARCHES,
    along_log,
)
"""All of them. One that does not apply to a key says so."""


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

    def ask(self, method: Method, coded: Coded, budget: Budget) -> Decision | None:
        """Its decision, if it makes one. UNKNOWN is kept as tried, and returned."""
        began = working_s()
        decision = method(coded, budget)
        if decision is not None and decision.verdict is Verdict.UNKNOWN:
            spent = self.seconds.get(decision.method, 0.0) + working_s() - began
            self.seconds[decision.method] = spent
            self.notes[decision.method] = decision.note
        return decision

    def told(self) -> str:
        return "; ".join(
            f"{method} {self.seconds[method]:.1f} s" + (f" ({note})" if note else "")
            for method, note in self.notes.items()
        )


def decide(coded: Coded, budget: Budget | None = None) -> Decided:
    """Whether one key is linearizable. UNKNOWN once the budget is spent."""
    budget = budget or Budget()
    along = None
    if coded.place is not None:
        along = _Tried().ask(along_log, coded, budget)
    decision = _decided(coded, budget)
    if along is None or along.verdict is Verdict.UNKNOWN:
        return Decided(decision)
    if decision.verdict is Verdict.UNKNOWN and along.verdict is Verdict.VALID:
        decision = along
    return Decided(decision, along)


def decide_small(keys: CodedKeys) -> list[Decision | None]:
    """What one call for many keys decides of those that are small: `decide` of any of them would
    say the same, later. None: ask `decide`."""
    small = _small(keys)
    found = narrow_keys(keys.only(small))
    if len(small) == len(keys):
        return found
    decisions: list[Decision | None] = [None] * len(keys)
    for number, decision in zip(small.tolist(), found, strict=True):
        decisions[number] = decision
    return decisions


def _small(keys: CodedKeys) -> Ints:
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


def _something_completed(coded: Coded) -> bool:
    return len(coded) > 0 and int(coded.ret.min()) != NEVER


def _decided(coded: Coded, budget: Budget) -> Decision:
    if not _something_completed(coded):
        return Decision(Verdict.VALID, NOTHING, np.zeros(0, dtype=np.int64))
    tried = _Tried()
    for method in _without_search(coded):
        decision = tried.ask(method, coded, budget)
        if decision is not None and decision.verdict is not Verdict.UNKNOWN:
            return _told_last(coded, decision)
    if _kinds(coded) & _QUEUES:
        coded = queue_steps(coded)
    return _raced(coded, budget, tried)


def _told_last(coded: Coded, decision: Decision) -> Decision:
    """With the last to return as the culprit, of those that exclude each other: so that all until
    then is refuted."""
    if decision.verdict is not Verdict.INVALID or not len(decision.involved):
        return decision
    rows = np.array([decision.culprit, *decision.involved], dtype=np.int64)
    rows = rows[coded.ret[rows] != NEVER]
    return replace(decision, culprit=int(rows[np.argmax(coded.ret[rows])]))


def _kinds(coded: Coded) -> int:
    """A bit for each kind that occurs."""
    return int(np.bitwise_or.reduce(np.left_shift(1, coded.kind.astype(np.int64))))


def _without_search(coded: Coded) -> Iterator[Method]:
    kinds = _kinds(coded)
    if not kinds & ~_CELLS:
        yield from (unique_writes, flips, narrow, reach, beam)
    elif not kinds & ~_QUEUES:
        yield fifo


def _raced(coded: Coded, budget: Budget, tried: _Tried) -> Decision:
    """The searches in turns. One that gives up before its time is up has run out of memory, and
    is not asked again. Of a cell an order that is easy to find was found before: then it is the
    frontier's turn."""
    searches = list(SEARCHES if coded.transitions is not None else reversed(SEARCHES))
    slice_s = max(_FIRST_SLICE_S, _SLICE_S_AN_OPERATION * len(coded))
    while searches and budget.left_s > 0:
        for search in tuple(searches):
            part = budget.slice(slice_s)
            decision = tried.ask(search, coded, part)
            if decision is not None and decision.verdict is not Verdict.UNKNOWN:
                return decision
            if decision is None or part.left_s > slice_s / 2:
                searches.remove(search)
        slice_s *= _GROWTH
    ran_out = "time" if searches else "memory"
    limit = f"{budget.seconds:g} s" if searches else f"{budget.max_bytes >> 20} MiB"
    told = tried.told() or "no search had begun"
    why = f"the {ran_out} budget of a key ran out ({limit}): {told}"
    return Decision(Verdict.UNKNOWN, UNDECIDED, note=why)
