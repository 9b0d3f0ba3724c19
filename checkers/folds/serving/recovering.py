"""What was refused while a system recovered from a fault.

Until there is a leader again, whoever is asked refuses, and clients ask all the more: their tries
say nothing of what they ask for. That it recovers at all, and in time, is judged by itself.
"""

import numpy as np

from checkers.folds.serving.asked import Asked, Flags
from framework.evidence.run_events import RunEvents


def refused_at_first(asked: Asked, events: RunEvents, bound_s: float) -> Flags:
    """Which of them, asked since a fault was over, were refused before any of their kind was done,
    for `bound_s` of the machine's time at most. What was asked while it held is not among them."""
    found = np.zeros(len(asked), np.bool_)
    for fault in events.faults:
        over_ns = fault.over_ns
        if over_ns is None:
            continue
        due_ns = events.machines.cluster.until_ns(over_ns, round(bound_s * 1e9))
        since = asked.ended_within(over_ns, due_ns)
        ended_ns, later = asked.ended_ns[since], asked.began_ns[since] >= over_ns
        refused = later & asked.refused[since] & ~asked.done[since]
        for kind in np.unique(asked.f[since][refused]):
            own = later & (asked.f[since] == kind)
            again_ns = ended_ns[own & asked.done[since]].min(initial=due_ns)
            found[since] |= own & refused & (ended_ns <= again_ns)
    return found
