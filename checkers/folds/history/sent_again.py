"""Requests that whoever forwards them may send again."""

from framework.evidence.run_events import RunEvents, unable
from framework.plugins.capabilities import REQUEST_IDS


def carried_out_once(events: RunEvents) -> bool:
    """Whether such a one is carried out once all the same: the system knows it by its id. Of older
    plans, which do not say, that is expected."""
    return not unable(events.plan, REQUEST_IDS)
