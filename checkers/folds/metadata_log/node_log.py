"""A node's metadata log, folded from what it says of its storage.

An entry is (epoch, CRC), or None where nothing tells it: what a killed process wrote
after its last line, and what lies below the log's start.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from framework.evidence.kinds import Evidence
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, LogBegan, Truncated
from framework.evidence.run_events import (
    RunEvents,
    from_disks,
    from_no_disk,
    in_a_row,
    incarnations,
)

Entry: TypeAlias = tuple[int, int]

KINDS: Final = (Booted, Appended, Truncated, LogBegan)
ON_DISK: Final = (Appended, Truncated, LogBegan)
"""What disks carry of it."""


@dataclass(slots=True)
class LogFold:
    """Feed it what a node did in order, over all incarnations."""

    entries: list[Entry | None] = field(default_factory=list)
    prefixes: list[bytes | None] = field(default_factory=list)
    """Hash of everything up to and including an offset; None where something is unknown."""
    hashing: bool = False
    last_epoch: int | None = 0
    start: int = 0
    """Where the log begins, as far as was told. What lies below stays known, where it was."""

    @property
    def end(self) -> int:
        return len(self.entries)

    @property
    def last(self) -> tuple[int, int] | None:
        """(epoch of the last record, 0 without one; end offset); None where it is unknown."""
        return None if self.last_epoch is None else (self.last_epoch, self.end)

    def feed(self, each: Evidence) -> None:
        match each:
            case Appended():
                self._append(each.base_offset, each.epoch, each.crcs)
            case Truncated():
                self._truncate(each.end_offset)
            case LogBegan():
                self._begin(each.offset, dropped=each.dropped)
            case Booted():
                start = each.log_start or 0
                if start > self.start:  # of this nothing was told: the process died over it
                    self._begin(start, dropped=True)
                self._recover(each.log_end, each.last_epoch)

    def _append(self, base: int, epoch: int, crcs: Iterable[int]) -> None:
        self._truncate(base)
        self._unknown_up_to(base)
        for crc in crcs:
            self.entries.append((epoch, crc))
            if self.hashing:
                self.prefixes.append(self._prefix(epoch, crc))
        self.last_epoch = epoch

    def _prefix(self, epoch: int, crc: int) -> bytes | None:
        below = self.prefixes[-1] if self.prefixes else b""
        if below is None:
            return None
        return hashlib.blake2b(b"%b %d %d" % (below, epoch, crc), digest_size=12).digest()

    def _truncate(self, end: int) -> None:
        if end >= self.end:
            return
        del self.entries[end:]
        del self.prefixes[end:]
        tail = self.entries[-1] if self.entries else (0, 0)
        self.last_epoch = None if tail is None else tail[0]

    def _unknown_up_to(self, end: int) -> None:
        missing = end - self.end
        if missing > 0:
            self.entries += [None] * missing
            if self.hashing:
                self.prefixes += [None] * missing
            self.last_epoch = None

    def _begin(self, start: int, *, dropped: bool) -> None:
        """A snapshot took the place of what is below `start`. `dropped`: and of all the rest,
        for it came from another node; what this one had there may never have been committed."""
        self.start = start
        if not dropped:
            return
        self._truncate(0)
        self._unknown_up_to(start)

    def _recover(self, end: int | None, last_epoch: int | None) -> None:
        """What is on disk counts. The line that a killed process was writing may be missing."""
        if end is None:
            return
        self._truncate(end)
        self._unknown_up_to(end)
        if end and self.last_epoch is not None and last_epoch not in (None, self.last_epoch):
            # A truncation and what came after it were lost together: nothing is certain.
            self.entries = [None] * end
            self.prefixes = [None] * end if self.hashing else []
        if end:
            self.last_epoch = last_epoch


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a node's log from one source, in order: what its processes told, or what
    they left on its disk."""

    node: str
    on_disk: bool
    history: Sequence[Evidence]


def accounts(events: RunEvents) -> list[Account]:
    """What lies on disks first. Of what was left `seq` goes on from one process to the next."""
    reported = incarnations(from_no_disk(events.evidence))
    return [
        *(Account(node, True, found) for node, found in from_disks(events.evidence).items()),
        *(Account(node, False, in_a_row(lives)) for node, lives in reported.items()),
    ]


def log_at(evidence: Iterable[Evidence], moment: Evidence) -> LogFold:
    """A node's log just after one of the things that it did."""
    log = LogFold()
    for each in evidence:
        log.feed(each)
        if each == moment:
            break
    return log
