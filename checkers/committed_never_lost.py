"""Committed records are never lost (D.6; Raft's Leader Completeness and State Machine Safety).

C, what was committed: the records below a high watermark that a node reported, as that node's
log held them then, and the records that nodes applied. (a) C has one record an offset. (b) The
log of each leader, at its election, holds all that was committed in earlier epochs. (c) No node
truncates below a high watermark that it reported, nor starts without flushed records below it.
(d) Once the cluster has settled, the log of every node holds all that was committed before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.folds.node_log import KINDS, Entry, LogFold
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import Change
from framework.evidence.clocks import latest_ns
from framework.evidence.kinds import (
    Appended,
    Booted,
    Committed,
    Elected,
    Evidence,
    Flushed,
    Truncated,
    described,
    evidence_of,
    same_fact,
)
from framework.evidence.run_events import RunEvents, incarnations, phase_ns, settled
from framework.plugins.checker import Finding


@dataclass(slots=True)
class CommittedEntry:
    """What is known of one committed offset. `by_epoch`: an epoch in which it was committed
    already; `by_ns`: a time of the harness's clock at which it surely was."""

    epoch: int
    crc: int | None
    by_epoch: int | None
    by_ns: int
    witness: Evidence
    record: Change | None = None


@dataclass(slots=True)
class Ledger:
    """C, and where it contradicts itself."""

    entries: dict[int, CommittedEntry] = field(default_factory=dict)
    conflicts: dict[int, Finding] = field(default_factory=dict)
    observations: int = 0

    def committed(self, offset: int, entry: Entry, by: Committed) -> None:
        """A node whose log holds `entry` reported a high watermark above it."""
        self.observations += 1
        epoch, crc = entry
        known = self.entries.get(offset)
        if known is None:
            self.entries[offset] = CommittedEntry(epoch, crc, by.epoch, latest_ns(by), by)
        elif known.epoch != epoch or (known.crc is not None and known.crc != crc):
            was = f"epoch {known.epoch}, CRC {known.crc}"
            self._conflict(offset, was, f"epoch {epoch}, CRC {crc}", known, by)
        else:
            known.crc = crc
            by_epoch = by.epoch
            known.by_epoch = by_epoch if known.by_epoch is None else min(known.by_epoch, by_epoch)
            known.by_ns = min(known.by_ns, latest_ns(by))

    def applied(self, change: Change) -> None:
        """A node applied a record, so it was committed."""
        self.observations += 1
        offset, epoch = change.offset, change.epoch
        known = self.entries.get(offset)
        if known is None:
            made = CommittedEntry(epoch, None, None, latest_ns(change), change, change)
            self.entries[offset] = made
            return
        if known.record is None:
            known.record = change
        if known.epoch != epoch:
            self._conflict(offset, f"epoch {known.epoch}", f"epoch {epoch}", known, change)
        elif not same_fact(known.record, change):
            self._conflict(offset, described(known.record), described(change), known, change)

    def _conflict(
        self, offset: int, was: str, now: str, known: CommittedEntry, by: Evidence
    ) -> None:
        self.conflicts.setdefault(
            offset,
            finding(
                f"two records were committed at offset {offset}: {known.witness.node} had {was}, "
                f"{by.node} had {now}",
                evidence=[known.witness, by],
            ),
        )


def committed_never_lost(events: RunEvents) -> Outcome:
    nodes = incarnations(events.evidence)
    ledger = Ledger()
    findings: list[Finding] = []
    for lives in nodes.values():
        findings += _collect(ledger, lives)
    findings += [conflict for _, conflict in sorted(ledger.conflicts.items())]
    ledger.entries = dict(sorted(ledger.entries.items()))
    elections = 0
    deadline = _settled_ns(events)
    for node, lives in nodes.items():
        log = LogFold()
        for each in (each for life in lives for each in life):
            if isinstance(each, Elected):
                elections += 1
                findings += _leader_lacks(ledger, log, each)
            log.feed(each)
        # A workload's own processes may have ended long before.
        if deadline is not None and node in (events.plan.get("nodes") or nodes):
            findings += _end_lacks(ledger, log, node, deadline, lives[-1][-1])
    figures = {"committed": len(ledger.entries), "elections": elections}
    return concluded(ledger.observations, findings, figures)


def _collect(ledger: Ledger, lives: list[list[Evidence]]) -> Iterator[Finding]:
    """Add what one node knows of C; find what it dropped of its own."""
    log = LogFold()
    highest: Committed | None = None
    flushed = 0
    for life in lives:
        checked = 0
        for each in life:
            if highest is not None:
                yield from _dropped(each, highest, flushed)
            log.feed(each)
            match each:
                case Appended():
                    checked = min(checked, each.base_offset)
                case Truncated():
                    checked = min(checked, each.end_offset)
                    flushed = min(flushed, each.end_offset)
                case Flushed():
                    flushed = max(flushed, each.end_offset)
                case Committed():
                    for at in range(checked, min(each.offset, log.end)):
                        entry = log.entries[at]
                        if entry is not None:
                            ledger.committed(at, entry, each)
                    checked = max(checked, each.offset)
                    if highest is None or each.offset > highest.offset:
                        highest = each
                case Change():
                    ledger.applied(each)


def _dropped(each: Evidence, highest: Committed, flushed: int) -> Iterator[Finding]:
    committed = highest.offset
    if isinstance(each, Truncated) and each.end_offset < committed:
        yield finding(
            f"{each.node} truncated its log to {each.end_offset}, below its high "
            f"watermark {committed}",
            evidence=[highest, each],
        )
    if isinstance(each, Appended) and each.base_offset < committed:
        yield finding(
            f"{each.node} wrote over offset {each.base_offset}, below its high "
            f"watermark {committed}",
            evidence=[highest, each],
        )
    end = each.log_end if isinstance(each, Booted) else None
    if end is not None and end < min(flushed, committed):
        yield finding(
            f"{each.node} came back with a log that ends at {end}; it had flushed up to "
            f"{flushed} and reported the high watermark {committed}",
            evidence=[highest, each],
        )


def _leader_lacks(ledger: Ledger, log: LogFold, elected: Elected) -> Iterator[Finding]:
    for offset, entry in ledger.entries.items():
        if entry.by_epoch is None or entry.by_epoch >= elected.epoch:
            continue
        held = _differs(log, offset, entry)
        if held is not None:
            yield finding(
                f"{elected.node} was elected in epoch {elected.epoch} with {held} at offset "
                f"{offset}, where epoch {entry.epoch}, CRC {entry.crc} was committed in epoch "
                f"{entry.by_epoch}",
                evidence=[entry.witness, elected],
            )
            return


def _end_lacks(
    ledger: Ledger, log: LogFold, node: str, deadline: int, last: Evidence
) -> Iterator[Finding]:
    for offset, entry in ledger.entries.items():
        if entry.by_ns > deadline:
            continue
        held = _differs(log, offset, entry)
        if held is not None:
            yield finding(
                f"at the end the log of {node} has {held} at offset {offset}, where epoch "
                f"{entry.epoch}, CRC {entry.crc} was committed before the cluster settled",
                evidence=[entry.witness, last],
            )
            return


def _differs(log: LogFold, offset: int, entry: CommittedEntry) -> str | None:
    """What the log has instead; None: the entry, or something that is not known."""
    if offset >= log.end:
        return "nothing"
    held = log.entries[offset]
    if held is None or (held[0] == entry.epoch and entry.crc in (None, held[1])):
        return None
    return f"epoch {held[0]}, CRC {held[1]}"


def _settled_ns(events: RunEvents) -> int | None:
    """When the wait began that ended with all nodes in agreement; None: it did not end so."""
    return phase_ns(events.nemesis, "settle") if settled(events.nemesis) is True else None


class CommittedNeverLost(RunChecker):
    name = "committed-never-lost"
    summary = (
        "A record below a high watermark is the only one ever at its offset, is in the log of "
        "every later leader at its election, and in every node's log once the cluster has "
        "settled"
    )
    requires = evidence_of(Appended, Committed, Truncated)
    check_run = RunCheck(
        committed_never_lost,
        evidence=(*KINDS, Flushed, Committed, Change, Elected),
        nemesis=True,
    )
