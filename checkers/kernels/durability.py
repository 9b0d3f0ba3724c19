"""Committed records are never lost (D.6; Raft's Leader Completeness and State Machine Safety).

C, what was committed: the records below a high watermark that a node reported, as that node's
log held them then, and the records that nodes applied. (a) C has one record an offset. (b) The
log of each leader, at its election, holds all that was committed in earlier epochs. (c) No node
truncates below a high watermark that it reported, nor starts without flushed records below it.
(d) Once the cluster has settled, the log of every node holds all that was committed before.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    concluded,
    finding,
    incarnations,
    mark_ns,
    settled,
)
from checkers.kernels.metadata_log import Entry, LogFold
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS = ("boot", "append", "truncate", "log_start", "flush", "hw", "apply", "elected")


@dataclass(slots=True)
class Committed:
    """What is known of one committed offset. `by_epoch`: an epoch in which it was committed
    already; `by_ns`: a time at which it was."""

    epoch: int
    crc: int | None
    by_epoch: int | None
    by_ns: int
    witness: NodeEvent
    record: Any = None


@dataclass(slots=True)
class Ledger:
    """C, and where it contradicts itself."""

    entries: dict[int, Committed] = field(default_factory=dict)
    conflicts: dict[int, Finding] = field(default_factory=dict)
    observations: int = 0

    def committed(self, offset: int, entry: Entry, event: NodeEvent) -> None:
        """A node whose log holds `entry` reported a high watermark above it."""
        self.observations += 1
        epoch, crc = entry
        known = self.entries.get(offset)
        if known is None:
            self.entries[offset] = Committed(
                epoch, crc, event.fields["epoch"], event.time_ns, event
            )
            return
        if known.epoch != epoch or (known.crc is not None and known.crc != crc):
            was = f"epoch {known.epoch}, CRC {known.crc}"
            self._conflict(offset, was, f"epoch {epoch}, CRC {crc}", known, event)
        else:
            known.crc = crc
            by_epoch = event.fields["epoch"]
            known.by_epoch = by_epoch if known.by_epoch is None else min(known.by_epoch, by_epoch)
            known.by_ns = min(known.by_ns, event.time_ns)

    def applied(self, event: NodeEvent) -> None:
        """A node applied a record, so it was committed."""
        self.observations += 1
        offset, epoch = event.fields["offset"], event.fields["epoch"]
        record = (event.fields.get("kind"), event.fields.get("record"))
        known = self.entries.setdefault(
            offset, Committed(epoch, None, None, event.time_ns, event, record)
        )
        if known.record is None:
            known.record = record
        if known.epoch != epoch:
            self._conflict(offset, f"epoch {known.epoch}", f"epoch {epoch}", known, event)
        elif known.record != record:
            self._conflict(offset, _text(known.record), _text(record), known, event)

    def _conflict(
        self, offset: int, was: str, now: str, known: Committed, event: NodeEvent
    ) -> None:
        self.conflicts.setdefault(
            offset,
            finding(
                f"two records were committed at offset {offset}: {known.witness.node} had {was}, "
                f"{event.node} had {now}",
                events=[known.witness, event],
            ),
        )


def _text(record: tuple[Any, Any]) -> str:
    return f"{record[0]} {json.dumps(record[1], sort_keys=True)}"


def committed_never_lost(evidence: Evidence) -> Outcome:
    nodes = incarnations(evidence.events)
    ledger = Ledger()
    findings: list[Finding] = []
    for lives in nodes.values():
        findings += _collect(ledger, lives)
    findings += [conflict for _, conflict in sorted(ledger.conflicts.items())]
    ledger.entries = dict(sorted(ledger.entries.items()))
    elections = 0
    deadline = _settled_ns(evidence)
    for node, lives in nodes.items():
        log = LogFold()
        for event in (event for life in lives for event in life):
            if event.type == "elected":
                elections += 1
                findings += _leader_lacks(ledger, log, event)
            log.feed(event)
        # A workload's own processes may have ended long before.
        if deadline is not None and node in (evidence.plan.get("nodes") or nodes):
            findings += _end_lacks(ledger, log, node, deadline, lives[-1][-1])
    figures = {"committed": len(ledger.entries), "elections": elections}
    return concluded(ledger.observations, findings, figures)


def _collect(ledger: Ledger, lives: list[list[NodeEvent]]) -> Iterator[Finding]:
    """Add what one node knows of C; find what it dropped of its own."""
    log = LogFold()
    highest: NodeEvent | None = None
    flushed = 0
    for life in lives:
        checked = 0
        for event in life:
            if highest is not None:
                yield from _dropped(event, highest, flushed)
            log.feed(event)
            if event.type in ("append", "truncate"):
                kept = event.fields.get("base_offset", event.fields["end_offset"])
                checked = min(checked, kept)
            match event.type:
                case "hw":
                    offset = event.fields["offset"]
                    for at in range(checked, min(offset, log.end)):
                        entry = log.entries[at]
                        if entry is not None:
                            ledger.committed(at, entry, event)
                    checked = max(checked, offset)
                    if highest is None or offset > highest.fields["offset"]:
                        highest = event
                case "apply":
                    ledger.applied(event)
                case "flush":
                    flushed = max(flushed, event.fields["end_offset"])
                case "truncate":
                    flushed = min(flushed, event.fields["end_offset"])


def _dropped(event: NodeEvent, highest: NodeEvent, flushed: int) -> Iterator[Finding]:
    committed = highest.fields["offset"]
    if event.type == "truncate" and event.fields["end_offset"] < committed:
        yield finding(
            f"{event.node} truncated its log to {event.fields['end_offset']}, below its high "
            f"watermark {committed}",
            events=[highest, event],
        )
    if event.type == "append" and event.fields["base_offset"] < committed:
        yield finding(
            f"{event.node} wrote over offset {event.fields['base_offset']}, below its high "
            f"watermark {committed}",
            events=[highest, event],
        )
    end = event.fields.get("log_end")
    if event.type == "boot" and end is not None and end < min(flushed, committed):
        yield finding(
            f"{event.node} came back with a log that ends at {end}; it had flushed up to "
            f"{flushed} and reported the high watermark {committed}",
            events=[highest, event],
        )


def _leader_lacks(ledger: Ledger, log: LogFold, elected: NodeEvent) -> Iterator[Finding]:
    epoch = elected.fields["epoch"]
    for offset, entry in ledger.entries.items():
        if entry.by_epoch is None or entry.by_epoch >= epoch:
            continue
        held = _differs(log, offset, entry)
        if held is not None:
            yield finding(
                f"{elected.node} was elected in epoch {epoch} with {held} at offset {offset}, "
                f"where epoch {entry.epoch}, CRC {entry.crc} was committed in epoch "
                f"{entry.by_epoch}",
                events=[entry.witness, elected],
            )
            return


def _end_lacks(
    ledger: Ledger, log: LogFold, node: str, deadline: int, last: NodeEvent
) -> Iterator[Finding]:
    for offset, entry in ledger.entries.items():
        if entry.by_ns > deadline:
            continue
        held = _differs(log, offset, entry)
        if held is not None:
            yield finding(
                f"at the end the log of {node} has {held} at offset {offset}, where epoch "
                f"{entry.epoch}, CRC {entry.crc} was committed before the cluster settled",
                events=[entry.witness, last],
            )
            return


def _differs(log: LogFold, offset: int, entry: Committed) -> str | None:
    """What the log has instead; None: the entry, or something that is not known."""
    if offset >= log.end:
        return "nothing"
    held = log.entries[offset]
    if held is None or (held[0] == entry.epoch and entry.crc in (None, held[1])):
        return None
    return f"epoch {held[0]}, CRC {held[1]}"


def _settled_ns(evidence: Evidence) -> int | None:
    """When the wait began that ended with all nodes in agreement; None: it did not end so."""
    return mark_ns(evidence.marks, "settle") if settled(evidence.marks) is True else None
