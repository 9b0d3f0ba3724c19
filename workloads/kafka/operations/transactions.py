"""Transactions: `assign`, `txn`, `poll`, `fence`. Values are those of Jepsen's Kafka workload,
lists of keys and of micro-operations; what is asked beside that stands in `ext`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from framework.history.event import Json

END: Final = "end"
"""In `ext` of a transaction: how it is to end."""
COMMIT, ABORT, ABANDON = "commit", "abort", "abandon"
"""An abandoned one is left open by a producer that is gone."""
BEGINNING: Final = "seek-to-beginning"
"""In `ext` of an assignment: whether all is read from the beginning; else from where the consumer
is, or what it committed."""
POLL: Final = "poll"


def transaction(*, polls: bool, sends: Sequence[tuple[str, int]]) -> Sequence[Json]:
    """Perhaps a poll, then sends of (key, value)."""
    read: list[Json] = [[POLL]] if polls else []
    return read + [["send", key, value] for key, value in sends]


def brought_nothing(value: Json) -> bool:
    """Of a poll's result: whether all was read before."""
    return value == [[POLL, {}]]
