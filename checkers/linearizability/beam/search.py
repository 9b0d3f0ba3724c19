"""The method "beam": cells on few values with so much open at once that no set of configurations
could be complete. It finds orders, and is never sure to; it refutes nothing."""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.events import events
from checkers.linearizability.arrays.trails import puts_of
from checkers.linearizability.beam.kernel import ARRIVED, GAVE_UP, NEEDS_TRAILS, sweep
from checkers.linearizability.beam.order import replayed
from checkers.linearizability.beam.space import SIDE, SPARE_TRAILS, TRAIL, beam_of
from checkers.linearizability.coded import Coded, Kind
from checkers.linearizability.decision import Budget, Decision
from framework.compiled import working_s
from framework.verdict import Verdict

METHOD: Final = "beam"
_NARROW: Final = 3
_SLICE: Final = 1_000_000
_MOST_VALUES: Final = 32
"""Every value is looked at where an operation must be put."""


def beam(coded: Coded, budget: Budget) -> Decision | None:
    """Looks for an order of a cell's history, for at most half of the time that is left. None: it
    found none, or there are many values."""
    if not len(coded) or int(coded.kind.max()) > Kind.CHANGE:
        return None
    if max(int(coded.a.max()), int(coded.b.max()), coded.initial) >= _MOST_VALUES:
        return None
    began, part = working_s(), budget.slice(budget.left_s / 2)
    happened = events(coded.call, coded.ret)
    space = beam_of(coded, happened, 2 * SPARE_TRAILS + len(coded), _NARROW)
    while (status := int(sweep(space, _SLICE))) != ARRIVED:
        if status == GAVE_UP:
            return None
        if status == NEEDS_TRAILS:
            trails = np.zeros((2 * len(space.trails), 2), np.int32)
            trails[: len(space.trails)] = space.trails
            space = space._replace(trails=trails)
        what = ""
        if part.left_s <= 0:
            what = "time"
        elif sum(each.nbytes for each in space) > budget.max_bytes:
            what = "memory"
        if what:
            note = f"{METHOD}: {what} ran out after {working_s() - began:.1f} s"
            return Decision(Verdict.UNKNOWN, METHOD, note=note)
    puts, _ = puts_of(space.trails, int(space.rows[space.reg[SIDE], TRAIL]))
    order, legal = replayed(happened, coded.ret, coded.kind, coded.a, coded.b, coded.initial, puts)
    if not legal:
        raise AssertionError("the beam put an operation where it does not fit")
    return Decision(Verdict.VALID, METHOD, order)
