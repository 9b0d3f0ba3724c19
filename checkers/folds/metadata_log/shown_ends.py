"""How far the metadata log was committed, by what clients and the harness's observers were shown.

A read of a topic says up to where the log was read, and nodes tell anybody their high watermark.
Neither needs a node's events, and both have a place in the history: what was committed when an
answer came is committed for good.

That no more was committed then is another question, for a leader that was deposed may not know it.
Its word counts where a log that all who could lead have goes on with a record of its epoch, at or
above the end that its log had when it answered. That record it wrote later; so whoever leads after
it was elected later still, as the log of a leader below its own epoch does not change. Its word
counts from the first record of its epoch on that is committed: until then a leader tells what it
knew before, and may have begun with little (Raft, section 8).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from checkers.folds.history.quorum_views import NEW_RECORDS, WHO_VOTES
from checkers.folds.history.values import log_ends, quorum_view
from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation

SHOWS: Final = ("describe", "follow")
"""Operations of clients whose answers say where in the log they were read."""
QUORUM: Final = "describe-quorum"
TELLS: Final = ("describe-node", QUORUM, NEW_RECORDS, WHO_VOTES)
"""Questions of observers, and the last one of clients, that are answered with a high watermark."""


@dataclass(frozen=True, slots=True)
class ShownEnd:
    """All below `end` was committed when `operation` ended, by leaders of epochs up to `by_epoch`.
    `last_epoch`: that of the record before `end`. None: not told."""

    end: int
    by_epoch: int | None
    last_epoch: int | None
    operation: Operation

    def __str__(self) -> str:
        shown = f"operation {self.operation.index} was shown offset {self.end}"
        return shown if self.by_epoch is None else f"{shown} in epoch {self.by_epoch}"


def shown_ends(events: RunEvents) -> list[ShownEnd]:
    """Each once, in the order in which they were shown."""
    first: dict[tuple[int, int | None, int | None], ShownEnd] = {}
    for each in all_ends(events):
        first.setdefault((each.end, each.by_epoch, each.last_epoch), each)
    return list(first.values())


def all_ends(events: RunEvents) -> list[ShownEnd]:
    """However often, in the order in which they were shown."""
    return sorted(_ends(events), key=lambda shown: shown.operation.end or 0)


def _ends(events: RunEvents) -> Iterator[ShownEnd]:
    for each in events.operations:
        if each.ok and each.f in SHOWS and (end := _number(each.ext, "offset")):
            # A leader knows what is committed once a record of its own epoch is.
            epoch = _number(each.ext, "epoch")
            yield ShownEnd(end, epoch, epoch, each)
    for each in chain(events.observations, events.operations):
        if each.ok and each.f in TELLS and (end := _number(each.result, "high_watermark")):
            # It may be what the node knew before this epoch: of which epoch the last of it is?
            yield ShownEnd(end, _number(each.result, "leader_epoch"), None, each)


def _number(fields: Mapping[str, Recorded] | None, name: str) -> int | None:
    """None: there is none, or nobody knows it."""
    found = (fields or {}).get(name)
    return found if isinstance(found, int) and found >= 0 else None


def leaders_word(events: RunEvents, left: CommittedOnDisks) -> list[ShownEnd]:
    """What an observer was told of the quorum by who led it, and nobody else, as the disks show
    afterwards: no more was committed when it was asked."""
    spans: dict[int, tuple[int, int]] = {}
    for offset, (epoch, _) in left.entries.items():
        first, last = spans.get(epoch, (offset, offset))
        spans[epoch] = min(first, offset), max(last, offset)
    found = []
    for each in all_ends(events):
        if each.operation.f == QUORUM and each.by_epoch in spans:
            first, last = spans[each.by_epoch]
            view = quorum_view(each.operation)
            log_end = log_ends(view).get(view["leader"], -1)
            if first < each.end and 0 <= log_end <= last:
                found.append(each)
    return found
