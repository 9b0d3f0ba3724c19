"""Registers in which every value is written once at most: decided without a search.

`unique_zones` compares values by real time, which decides everything but failed cas;
`unique_order` gives those their places, or `unique_refutation` shows that one has none. What
neither does is left to the methods that search: None.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from checkers.linearizability.arrays.event_order import in_order
from checkers.linearizability.arrays.numbering import compact, size_of
from checkers.linearizability.coded import NEVER, Coded, Codes, Ints
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.unique.layout import is_legal, lay_out
from checkers.linearizability.unique.order import failed_cas_by_value, latest_begins, place
from checkers.linearizability.unique.refutation import REFUTED, with_links, without_place
from checkers.linearizability.unique.zones import CLAUSES, FINE, NOT_UNIQUE, Zones, zones
from framework.verdict import Verdict

METHOD: Final = "unique writes"
NO_ROWS: Final = np.empty(0, np.int32)


def unique_writes(coded: Coded, budget: Budget, *, order_anyway: bool = False) -> Decision | None:
    """Kinds READ, DIFFERS, WRITE, CAS. None: another kind, a value that is written twice, or a
    failed cas that was neither placed nor refuted. VALID has an order if there are failed cas, or
    with `order_anyway`. INVALID names its clause in the note.
    """
    numbered = compact(coded)
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
        return Decision(Verdict.VALID, METHOD, order.astype(np.int64))
    shown = _without_place(numbered, found, *turns)
    return _invalid(numbered, shown) if len(shown) else None


def _zones(coded: Coded) -> Zones:
    made = zones(coded.call, coded.ret, coded.kind, coded.a, coded.b, coded.initial, size_of(coded))
    return Zones(*made)


def _order(coded: Coded, found: Zones, by_return: Codes, latest: Ints) -> Codes | None:
    """A legal order, checked."""
    call, ret, kind, a, b = coded.call, coded.ret, coded.kind, coded.a, coded.b
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
    return order if is_legal(call, ret, kind, a, b, coded.initial, order) else None


def _without_place(coded: Coded, found: Zones, by_return: Codes, latest: Ints) -> Codes:
    return without_place(
        coded.call,
        coded.ret,
        coded.kind,
        coded.a,
        coded.b,
        found.writer,
        found.replaced,
        found.first_read,
        found.last_call,
        latest,
        found.root,
        found.first_return[by_return],
    )


def _turns(coded: Coded, found: Zones) -> tuple[Codes, Ints]:
    """The chains by their first returns; and by value the event before which it has begun."""
    by_return = in_order(found.first_return, len(coded))
    return by_return, latest_begins(
        coded.ret, coded.b, found.writer, found.replaced, found.first_read, found.root
    )


def _shown(coded: Coded) -> tuple[str, Codes]:
    """The clause that is broken, and operations that show it. Empty: none were found."""
    found = _zones(coded)
    if found.status != FINE or not found.failed_cas:
        return CLAUSES.get(found.status, ""), found.evidence if found.status else NO_ROWS
    return REFUTED, _without_place(coded, found, *_turns(coded, found))


def _invalid(coded: Coded, found: Codes) -> Decision:
    """The decision for a history with evidence. Told of the earliest completion that has some."""
    ends = np.sort(coded.ret[coded.ret != NEVER])

    def is_shown(last: int) -> bool:
        return len(_shown(_until(coded, int(ends[last])))[1]) > 0

    ended = coded.ret[found[found >= 0]]
    guess = int(np.searchsorted(ends, np.max(ended[ended != NEVER], initial=0)))
    last = _earliest(is_shown, min(guess, len(ends) - 1), len(ends) - 1)
    known = _until(coded, int(ends[last]))
    clause, rows = _shown(known)
    culprit = int(np.flatnonzero(coded.ret == ends[last])[0])
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


def _until(coded: Coded, last: int) -> Coded:
    """What was known just after event `last`."""
    count = int(np.searchsorted(coded.call, last))
    ret: Ints = np.where(coded.ret[:count] <= last, coded.ret[:count], NEVER)
    return Coded(
        coded.call[:count],
        ret,
        coded.kind[:count],
        coded.a[:count],
        coded.b[:count],
        coded.initial,
    )


def _with_links(coded: Coded, rows: Codes) -> Codes:
    found = _zones(coded)
    return with_links(
        coded.ret,
        coded.kind,
        coded.a,
        coded.b,
        coded.initial,
        found.writer,
        found.replaced,
        found.first_read,
        rows,
    )
