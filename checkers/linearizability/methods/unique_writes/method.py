"""Registers in which every value is written once at most: decided without a search.

`zones` compares values by real time, which decides everything but failed cas;
`order` gives those their places, or `refutation` shows that one has none. What
neither does is left to the methods that search: None.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from checkers.linearizability.arrays.event_order import in_order
from checkers.linearizability.arrays.numbering import compact, size_of
from checkers.linearizability.arrays.replay import is_legal
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, Ints
from checkers.linearizability.methods.unique_writes.layout import lay_out
from checkers.linearizability.methods.unique_writes.order import (
    failed_cas_by_value,
    latest_begins,
    place,
)
from checkers.linearizability.methods.unique_writes.refutation import (
    REFUTED,
    with_links,
    without_place,
)
from checkers.linearizability.methods.unique_writes.zones import (
    CLAUSES,
    FINE,
    NOT_UNIQUE,
    Zones,
    zones,
)
from framework.verdict import Verdict

METHOD: Final = "unique writes"
NO_ROWS: Final = np.empty(0, np.int32)


def unique_writes(
    encoded: EncodedHistory, budget: Budget, *, order_anyway: bool = False
) -> Decision | None:
    """Kinds READ, DIFFERS, WRITE, CAS. None: another kind, a value that is written twice, or a
    failed cas that was neither placed nor refuted. VALID has an order if there are failed cas, or
    with `order_anyway`. INVALID names its clause in the note.
    """
    numbered = compact(encoded)
    found = _zones(numbered)
    if found.status == NOT_UNIQUE:
        return None
    if found.status != FINE:
        return _invalid(numbered, found.evidence)
    if not found.failed_cas and not order_anyway:
        return Decision(Verdict.VALID, METHOD)
    turns = _turns(numbered, found)
    order = _order(numbered, found, *turns)
    if order is not None:
        return Decision(Verdict.VALID, METHOD, order)
    shown = _without_place(numbered, found, *turns)
    return _invalid(numbered, shown) if len(shown) else None


def _zones(encoded: EncodedHistory) -> Zones:
    made = zones(
        encoded.call,
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
        encoded.initial,
        size_of(encoded),
    )
    return Zones(*made)


def _order(encoded: EncodedHistory, found: Zones, by_return: Codes, latest: Ints) -> Ints | None:
    """A legal order, checked."""
    call, ret, kind, a, b = encoded.call, encoded.ret, encoded.kind, encoded.a, encoded.b
    failed = failed_cas_by_value(call, ret, kind, a, len(found.writer), found.failed_cas)
    values, begins = place(
        call,
        ret,
        kind,
        a,
        b,
        found.writer,
        found.replaced,
        found.last_call,
        found.root,
        found.first_return,
        found.chain_last_call,
        by_return,
        latest,
        *failed,
    )
    if not len(values):
        return None
    order = lay_out(call, ret, kind, a, found.writer, values, begins)
    return order if is_legal(encoded, order) else None


def _without_place(encoded: EncodedHistory, found: Zones, by_return: Codes, latest: Ints) -> Codes:
    return without_place(
        encoded.call,
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
        found.writer,
        found.replaced,
        found.first_read,
        found.last_call,
        latest,
        found.root,
        found.first_return[by_return],
    )


def _turns(encoded: EncodedHistory, found: Zones) -> tuple[Codes, Ints]:
    """The chains by their first returns; and by value the event before which it has begun."""
    by_return = in_order(found.first_return, len(encoded))
    return by_return, latest_begins(
        encoded.ret, encoded.b, found.writer, found.replaced, found.first_read, found.root
    )


def _shown(encoded: EncodedHistory) -> tuple[str, Codes]:
    """The clause that is broken, and operations that show it. Empty: none were found."""
    found = _zones(encoded)
    if found.status != FINE or not found.failed_cas:
        return CLAUSES.get(found.status, ""), found.evidence if found.status else NO_ROWS
    return REFUTED, _without_place(encoded, found, *_turns(encoded, found))


def _invalid(encoded: EncodedHistory, found: Codes) -> Decision:
    """The decision for a history with evidence. Told of the earliest completion that has some."""
    ends = np.sort(encoded.ret[encoded.ret != NEVER])

    def is_shown(last: int) -> bool:
        return len(_shown(_until(encoded, int(ends[last])))[1]) > 0

    ended = encoded.ret[found[found >= 0]]
    guess = int(np.searchsorted(ends, np.max(ended[ended != NEVER], initial=0)))
    last = _earliest(is_shown, guess, len(ends) - 1)
    known = _until(encoded, int(ends[last]))
    clause, rows = _shown(known)
    culprit = int(np.flatnonzero(encoded.ret == ends[last])[0])
    involved = np.unique(np.append(_with_links(known, rows), culprit))
    return Decision(
        Verdict.INVALID, METHOD, culprit=culprit, involved=involved.tolist(), note=clause
    )


def _earliest(holds: Callable[[int], bool], guess: int, most: int) -> int:
    """The first number for which it holds, as it does for all from there to `most`. A good guess
    saves time."""
    step = 1
    if holds(guess):
        low, high = guess - 1, guess
        while low >= 0 and holds(low):
            high, low, step = low, low - step, 2 * step
        low = max(low, -1)
    else:
        low, high = guess, min(guess + 1, most)
        while not holds(high):
            low, high, step = high, min(high + step, most), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _until(encoded: EncodedHistory, last: int) -> EncodedHistory:
    """What was known just after event `last`."""
    count = int(np.searchsorted(encoded.call, last))
    ret: Ints = np.where(encoded.ret[:count] <= last, encoded.ret[:count], NEVER)
    return EncodedHistory(
        encoded.call[:count],
        ret,
        encoded.kind[:count],
        encoded.a[:count],
        encoded.b[:count],
        encoded.initial,
    )


def _with_links(encoded: EncodedHistory, rows: Codes) -> Codes:
    found = _zones(encoded)
    return with_links(
        encoded.ret,
        encoded.kind,
        encoded.a,
        encoded.b,
        encoded.initial,
        found.writer,
        found.replaced,
        found.first_read,
        rows,
    )
