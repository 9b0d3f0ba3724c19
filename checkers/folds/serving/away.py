"""Who asked a node that the harness had killed, and of which nobody had heard again.

A connection that is not taken says nothing of what was to be asked for. A process that is started
again needs its time until it listens, which is owed within the bound of the system's recovery: from
then on, or once the node answered anybody, whoever finds no connection there tried in earnest.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

from checkers.folds.cluster.observed import answered
from checkers.folds.serving.asked import Asked, Flags, Times
from framework.evidence.run_events import RunEvents


def met_nobody(asked: Asked, events: RunEvents, bound_s: float) -> Flags:
    """Which of them, asked since a fault was over that had ended the node's process, found no
    connection before it answered a client or the observer, for `bound_s` of the machine's time at
    most. What was asked while the fault held is not among them."""
    found = np.zeros(len(asked), np.bool_)
    told_ns = _told_ns(events)
    for fault in events.faults:
        over_ns = fault.over_ns
        if not fault.ends_processes or over_ns is None:
            continue
        due_ns = events.machines.cluster.until_ns(over_ns, round(bound_s * 1e9))
        since = asked.ended_within(over_ns, due_ns)
        for number, node in enumerate(asked.nodes):
            if node in fault.nodes:
                own, ended_ns = asked.node[since] == number, asked.ended_ns[since]
                told = told_ns.get(node, _NEVER)
                answers_ns = np.append(ended_ns[own & asked.heard[since]], told[told >= over_ns])
                back_ns = answers_ns.min(initial=due_ns)
                vain = own & asked.unmet[since] & (asked.began_ns[since] >= over_ns)
                found[since] |= vain & (ended_ns <= back_ns)
    return found


_NEVER: Final = np.array([], np.int64)


def _told_ns(events: RunEvents) -> Mapping[str | None, Times]:
    """When each node answered the observer, whatever it said."""
    found = defaultdict[str | None, list[int]](list)
    for each in events.observations:
        if each.completed_ns is not None and answered(each):
            found[each.node].append(each.completed_ns)
    return {node: np.array(times, np.int64) for node, times in found.items()}
