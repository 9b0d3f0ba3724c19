"""The method "beam": cells on few values with so much open at once that no set of configurations
could be complete. It finds orders, and is never sure to; it refutes nothing."""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.layout import laid_out
from checkers.linearizability.arrays.records import bytes_of
from checkers.linearizability.arrays.replay import is_legal
from checkers.linearizability.arrays.trails import mutations_of
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory, Kind
from checkers.linearizability.methods.beam.kernel import ARRIVED, GAVE_UP, NEEDS_TRAILS, sweep
from checkers.linearizability.methods.beam.space import SPARE_TRAILS, beam_of
from framework.compiled import working_s
from framework.verdict import Verdict

METHOD: Final = "beam"
_NARROW: Final = 3
_SLICE: Final = 1_000_000
_MOST_VALUES: Final = 32
"""Every value is looked at where an operation must be put."""


def beam(encoded: EncodedHistory, budget: Budget) -> Decision | None:
    """Looks for an order of a cell's history, for at most half of the time that is left. None: it
    found none, or there are many values."""
    if not len(encoded) or int(encoded.kind.max()) > Kind.CHANGE:
        return None
    if max(int(encoded.a.max()), int(encoded.b.max()), encoded.initial) >= _MOST_VALUES:
        return None
    began, part = working_s(), budget.slice(budget.left_s / 2)
    space = beam_of(encoded, 2 * SPARE_TRAILS + len(encoded), _NARROW)
    while (status := int(sweep(space, _SLICE))) != ARRIVED:
        if status == GAVE_UP:
            return None
        if status == NEEDS_TRAILS:
            space = space._replace(trails=np.concatenate([space.trails] * 2))
        what = ""
        if part.left_s <= 0:
            what = "time"
        elif bytes_of(space) > budget.max_bytes:
            what = "memory"
        if what:
            note = f"{METHOD}: {what} ran out after {working_s() - began:.1f} s"
            return Decision(Verdict.UNKNOWN, METHOD, note=note)
    mutations, _ = mutations_of(space.trails, int(space.rows[space.reg.side].trail))
    order, _, _ = laid_out(encoded, mutations)
    if not is_legal(encoded, order):
        raise AssertionError("the beam put an operation where it does not fit")
    return Decision(Verdict.VALID, METHOD, order)
