"""Topics whose creates did not all show their ids: who made what.

A create without an answer, or whose answer shows no id, is hidden. As long as nobody sees an id
that only a hidden create can have made, it is a compare-and-set like the others, to an id that is
anonymous. Otherwise it has to be found out which of them made which id; where that is not plain,
the search has to (`Topic`).
"""

from dataclasses import replace

import numpy as np

from checkers.linearizability.coded import Coded, Codes, Ints, Kind
from checkers.linearizability.encoding.transitions import ids_shown, topic_steps


def with_hidden_ids(coded: Coded, anonymous: int, *, once: bool) -> Coded:
    """The operations of one name, in READ to CHANGE, so that every method is right about them.

    `anonymous` is the value that hidden creates put. `once`: an id is made once, ever; then the
    caller sees to it that no two creates show the same. Otherwise any id may be given again.
    """
    shown = ids_shown(coded)
    if not len(shown):
        return coded
    if not once:
        return topic_steps(coded, anonymous, shown.tolist(), once=False)
    coded, open_ids = _plainly_made(coded, anonymous, shown)
    return topic_steps(coded, anonymous, open_ids, once=True) if open_ids else coded


def _plainly_made(coded: Coded, anonymous: int, shown: Codes) -> tuple[Coded, list[int]]:
    """The operations, with every hidden create that must have made a certain id as one that
    shows it; and the ids that more than one may have made.

    A create can have made what was first seen after its invocation only. An id that none can
    have made stays as it is, and is refuted for that.
    """
    creates = (coded.kind == Kind.CAS) & (coded.a == coded.initial)
    shown_by_creates = np.unique(coded.b[creates])
    orphans: list[int] = np.setdiff1d(shown, shown_by_creates).tolist()
    hidden: Ints = np.flatnonzero(creates & (coded.b == anonymous))
    seen_by = {
        orphan: int(coded.ret[(coded.a == orphan) & (coded.kind != Kind.DIFFERS)].min())
        for orphan in orphans
    }
    b = coded.b.copy()
    while True:
        makers = {each: hidden[coded.call[hidden] < seen_by[each]] for each in orphans}
        certain = next((each for each in orphans if len(makers[each]) == 1), None)
        if certain is None:
            break
        b[makers[certain]] = certain
        hidden = hidden[hidden != makers[certain][0]]
        orphans.remove(certain)
    return replace(coded, b=b), [each for each in orphans if len(makers[each])]
