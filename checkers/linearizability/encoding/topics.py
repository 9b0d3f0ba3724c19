"""Topics whose creates did not all show their ids: who made what.

A create without an answer, or whose answer shows no id, is hidden. As long as nobody sees an id
that only a hidden create can have made, it is a compare-and-set like the others, to an id that is
anonymous. Otherwise it has to be found out which of them made which id; where that is not plain,
the search has to (`Topic`).
"""

from dataclasses import replace

import numpy as np

from checkers.linearizability.encoded import Codes, EncodedHistory, Ints, Kind
from checkers.linearizability.encoding.transitions import ids_shown, topic_steps


def with_hidden_ids(encoded: EncodedHistory, anonymous: int, *, once: bool) -> EncodedHistory:
    """The operations of one name, in READ to CHANGE, so that every method is right about them.

    `anonymous` is the value that hidden creates put. `once`: an id is made once, ever; then the
    caller sees to it that no two creates show the same. Otherwise any id may be given again.
    """
    shown = ids_shown(encoded)
    if not len(shown):
        return encoded
    if not once:
        return topic_steps(encoded, anonymous, shown.tolist(), once=False)
    encoded, open_ids = _plainly_made(encoded, anonymous, shown)
    return topic_steps(encoded, anonymous, open_ids, once=True) if open_ids else encoded


def _plainly_made(
    encoded: EncodedHistory, anonymous: int, shown: Codes
) -> tuple[EncodedHistory, list[int]]:
    """The operations, with every hidden create that must have made a certain id as one that
    shows it; and the ids that more than one may have made.

    A create can have made what was first seen after its invocation only. An id that none can
    have made stays as it is, and is refuted for that.
    """
    creates = (encoded.kind == Kind.CAS) & (encoded.a == encoded.initial)
    shown_by_creates = np.unique(encoded.b[creates])
    orphans: list[int] = np.setdiff1d(shown, shown_by_creates).tolist()
    hidden: Ints = np.flatnonzero(creates & (encoded.b == anonymous))
    seen_by = {
        orphan: int(encoded.ret[(encoded.a == orphan) & (encoded.kind != Kind.DIFFERS)].min())
        for orphan in orphans
    }
    b = encoded.b.copy()
    while True:
        makers = {each: hidden[encoded.call[hidden] < seen_by[each]] for each in orphans}
        certain = next((each for each in orphans if len(makers[each]) == 1), None)
        if certain is None:
            break
        b[makers[certain]] = certain
        hidden = hidden[hidden != makers[certain][0]]
        orphans.remove(certain)
    return replace(encoded, b=b), [each for each in orphans if len(makers[each])]
