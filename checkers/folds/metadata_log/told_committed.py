"""C, what was committed, by what nodes told: below their high watermarks, and what they applied."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from checkers.folds.metadata_log.node_log import Account, Entry, LogFold
from framework.checking.findings import finding
from framework.evidence.changes import Change
from framework.evidence.clocks import latest_ns
from framework.evidence.kinds import Evidence, described, same_fact
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, Committed, Flushed, Truncated
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

    def fits(self, held: Entry) -> bool:
        """Whether it may be this."""
        return held[0] == self.epoch and self.crc in (None, held[1])


@dataclass(slots=True)
class Ledger:
    """C, and where it contradicts itself: `conflicts`, by offset."""

    entries: dict[int, CommittedEntry] = field(default_factory=dict)
    conflicts: dict[int, Finding] = field(default_factory=dict)
    reporters: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    node: str = ""
    """Who tells now."""

    def committed(self, offset: int, entry: Entry, by: Committed) -> None:
        """A node whose log holds `entry` reported a high watermark above it."""
        self.reporters[offset].add(self.node)
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
        offset, epoch = change.offset, change.epoch
        self.reporters[offset].add(self.node)
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


def told_committed(
    reported: Sequence[Account],
) -> tuple[Ledger, list[Finding], Mapping[int, set[str]]]:
    """C by what nodes told, what they dropped of their own, and who told of each offset."""
    ledger = Ledger()
    findings: list[Finding] = []
    for account in reported:
        ledger.node = account.node
        findings += _collect(ledger, account.history)
    ledger.entries = dict(sorted(ledger.entries.items()))
    return ledger, findings, ledger.reporters


def _collect(ledger: Ledger, history: Sequence[Evidence]) -> Iterator[Finding]:
    """Add what one node knows of C; find what it dropped of its own."""
    log = LogFold()
    highest: Committed | None = None
    flushed = 0
    checked = 0
    for each in history:
        if highest is not None:
            yield from _dropped(each, highest, flushed)
        log.feed(each)
        match each:
            case Appended():
                checked = min(checked, each.base_offset)
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
