"""A node's metadata log, folded from its storage events.

An entry is (epoch, CRC), or None where events do not tell it: what a killed process wrote
after its last event line, and what lies below the log's start.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from checkers.kernels.evidence import NodeEvent

Entry: TypeAlias = tuple[int, int]

EVENTS = ("boot", "append", "truncate", "log_start")


@dataclass(slots=True)
class LogFold:
    """Feed it a node's events in order, over all incarnations."""

    entries: list[Entry | None] = field(default_factory=list)
    prefixes: list[bytes | None] = field(default_factory=list)
    """Hash of everything up to and including an offset; None where something is unknown."""
    hashing: bool = False
    last_epoch: int | None = 0
    start: int = 0
    """Where the log begins, as far as events told. What lies below stays known, where it was."""

    @property
    def end(self) -> int:
        return len(self.entries)

    @property
    def last(self) -> tuple[int, int] | None:
        """(epoch of the last record, end offset); None where the last record is unknown."""
        if not self.entries:
            return (0, 0)
        return None if self.last_epoch is None else (self.last_epoch, self.end)

    def feed(self, event: NodeEvent) -> None:
        fields = event.fields
        match event.type:
            case "append":
                self._append(fields["base_offset"], fields["epoch"], fields["crcs"])
            case "truncate":
                self._truncate(fields["end_offset"])
            case "log_start":
                self._begin(fields["offset"], dropped=bool(fields.get("dropped")))
            case "boot":
                start = fields.get("log_start") or 0
                if start > self.start:  # of this nothing was told: the process died over it
                    self._begin(start, dropped=True)
                self._recover(fields.get("log_end"), fields.get("last_epoch"))

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


def log_at(events: Iterable[NodeEvent], moment: NodeEvent) -> LogFold:
    """A node's log just after one of its events."""
    log = LogFold()
    for event in events:
        log.feed(event)
        if event is moment:
            break
    return log
