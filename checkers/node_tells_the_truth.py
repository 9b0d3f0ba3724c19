"""What a node tells of its metadata log is what lies on its disk.

(a) What it told that it appended, and did not tell that it cut off or that a snapshot took the
place of, is on its disk, in the same epoch with the same CRC. (b) What is on its disk it told of.
(c) The log on its disk is whole.

A process that was killed, or gave up, may leave one thing undone or untold, its last: half a batch,
a batch that it did not get to tell of, a truncation, which is never below its high watermark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from checkers.folds.node_log import KINDS, Entry, LogFold
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import (
    DISK,
    Appended,
    Booted,
    Committed,
    Evidence,
    Exited,
    LogBegan,
    LogOnDisk,
    SnapshotFile,
    Truncated,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, incarnations
from framework.history.event import Recorded
from framework.plugins.checker import Finding
from framework.verdict import Verdict


@dataclass(slots=True)
class Disk:
    """What lies on a node's disk at the end. `snapshot_end`: of the newest snapshot."""

    log: LogOnDisk | None = None
    batches: list[Appended] = field(default_factory=list)
    snapshot_end: int = 0

    def feed(self, each: Evidence) -> None:
        """What became of it, in order."""
        match each:
            case LogBegan(dropped=True):
                self.batches = []
            case LogBegan(offset=start):
                self.batches = [batch for batch in self.batches if batch.base_offset >= start]
            case Truncated(end_offset=end):
                self.batches = [batch for batch in self.batches if batch.base_offset < end]
            case Appended():
                self.batches.append(each)
            case LogOnDisk():
                self.log = each
            case SnapshotFile():
                self.snapshot_end = max(self.snapshot_end, each.end_offset)

    def gone_below(self) -> int:
        """What is below this a snapshot may have taken the place of."""
        return max(self.snapshot_end, self.log.start_offset if self.log else 0)


@dataclass(slots=True)
class Account:
    """What a node told of its log, over all its processes.

    appends: offset -> what it ever told that it wrote there, and where it told it.
    untold_ends: where a batch ends that a killed process did not get to tell of, and that the next
        one found.
    found: below this it had a log before it told of anything.
    in_order: its last process said that it ended; or none told anything, not even that it began.
    running: its last process may have gone on while its disk was read.
    """

    log: LogFold = field(default_factory=LogFold)
    appends: dict[int, dict[Entry, Appended]] = field(default_factory=dict)
    untold_ends: set[int] = field(default_factory=set)
    found: int = 0
    high_watermark: int = 0
    in_order: bool = False
    running: bool = False

    def wrote(self, offset: int, entry: Entry) -> Appended | None:
        return self.appends.get(offset, {}).get(entry)

    def may_not_know(self, batch: Appended) -> bool:
        """Whether a process may have been killed between writing this batch and telling of it: one
        batch each, its last."""
        if batch.base_offset < self.log.end:
            return batch.end_offset in self.untold_ends
        return not self.in_order and batch.base_offset == self.log.end

    def now(self, offset: int) -> Entry | None:
        """What should be there; None: nothing, or that is not known."""
        return self.log.entries[offset] if offset < self.log.end else None


def node_tells_the_truth(events: RunEvents) -> Outcome:
    lives = incarnations(each for each in events.evidence if each.source != DISK)
    disks = _disks(each for each in events.evidence if each.source == DISK)
    tellers = {each.node for each in events.of(Appended) if each.source != DISK}
    findings: list[Finding] = []
    compared = 0
    for node, disk in sorted(disks.items()) if tellers else ():
        if disk.log is None:
            continue
        account = _account(lives.get(node, []), _may_run(events.plan, node))
        held, found = _compare(node, disk, disk.log, account)
        compared += held
        findings += found
    figures = {"compared": compared, "nodes": len(disks)}
    unread = sorted(tellers & set(events.plan.get("nodes") or tellers) - set(disks))
    if unread and not findings:
        note = f"no log of {', '.join(unread)} was collected: not held against what was told"
        return Outcome(verdict=Verdict.UNKNOWN, seen=compared, figures=figures, note=note)
    return concluded(compared, findings, figures)


def _disks(evidence: Iterable[Evidence]) -> dict[str, Disk]:
    """Over all processes of each node; `seq` goes on from one to the next."""
    disks: dict[str, Disk] = {}
    for each in sorted(evidence, key=lambda each: each.seq):
        disks.setdefault(each.node, Disk()).feed(each)
    return disks


def _may_run(plan: Mapping[str, Recorded], node: str) -> bool:
    """Whether a process may have been left running: what a workload started is not stopped."""
    kept = bool((plan.get("options") or {}).get("keep"))
    return kept or node not in (plan.get("nodes") or {node: None})


def _account(lives: Sequence[Sequence[Evidence]], running: bool) -> Account:
    told = Account(running=running)
    for each in (each for life in lives for each in life):
        told.log.feed(each)
        match each:
            case Appended():
                for offset, crc in enumerate(each.crcs, each.base_offset):
                    told.appends.setdefault(offset, {})[each.epoch, crc] = each
            case Committed():
                told.high_watermark = max(told.high_watermark, each.offset)
    told.found = (_log_end(lives[0]) or 0) if lives else 0
    told.in_order = not lives or _ended(lives[-1])
    for life, following in pairwise(lives):
        end = _log_end(following)
        if end is not None and not _ended(life):
            told.untold_ends.add(end)
    return told


def _ended(life: Iterable[Evidence]) -> bool:
    """In good order."""
    return any(isinstance(each, Exited) and not each.fatal for each in life)


def _log_end(life: Iterable[Evidence]) -> int | None:
    """Where the log ended that a process found."""
    return next((each.log_end for each in life if isinstance(each, Booted)), None)


def _compare(node: str, disk: Disk, log: LogOnDisk, told: Account) -> tuple[int, Iterator[Finding]]:
    """How many records are as they were told, and what is wrong; of each kind the first."""
    compared = sum(
        told.wrote(offset, (batch.epoch, crc)) is not None
        for batch in disk.batches
        for offset, crc in enumerate(batch.crcs, batch.base_offset)
    )
    first = (
        next(found, None)
        for found in (
            _damaged(node, log, told),
            _other_than_told(node, disk, told),
            _untold(node, disk, told),
            _missing(node, disk, log, told),
        )
    )
    return compared, (each for each in first if each is not None)


def _damaged(node: str, log: LogOnDisk, told: Account) -> Iterator[Finding]:
    if told.running:
        return
    if log.wrong:
        more = f" (and {len(log.wrong) - 1} more)" if log.wrong[1:] else ""
        yield finding(f"the metadata log of {node}: {log.wrong[0]}{more}", evidence=[log])
    elif log.torn and told.in_order:
        yield finding(
            f"the metadata log of {node} ends with half a batch, though the process ended in "
            "good order",
            evidence=[log],
        )


def _other_than_told(node: str, disk: Disk, told: Account) -> Iterator[Finding]:
    for batch, offset, entry in _entries(disk):
        now = told.now(offset)
        if now is None or now == entry or (told.running and told.wrote(offset, entry)):
            continue
        append = told.wrote(offset, now)
        yield finding(
            f"{node} told that it has epoch {now[0]}, CRC {now[1]} at offset {offset}; on its disk "
            f"is epoch {entry[0]}, CRC {entry[1]}",
            evidence=[*([append] if append else []), batch],
        )


def _untold(node: str, disk: Disk, told: Account) -> Iterator[Finding]:
    """Also what was told, and then that it was cut off."""
    for batch, offset, entry in _entries(disk):
        if told.now(offset) is not None or told.may_not_know(batch):
            continue
        if offset < told.found or (told.running and offset >= told.log.end):
            continue
        append = told.wrote(offset, entry)
        if append is None:
            yield finding(
                f"{node} has epoch {entry[0]}, CRC {entry[1]} at offset {offset} on its disk, and "
                "never told that it wrote it",
                evidence=[batch],
            )
        elif offset >= told.log.end:
            yield finding(
                f"{node} told that it cut its log back to {told.log.end}; on its disk is what "
                f"it had written at offset {offset}",
                evidence=[append, batch],
            )


def _missing(node: str, disk: Disk, log: LogOnDisk, told: Account) -> Iterator[Finding]:
    """Records at the log's beginning or its end."""
    if log.wrong or told.running:
        return
    if log.start_offset > max(told.log.start, disk.snapshot_end):
        yield finding(
            f"the log of {node} begins at {log.start_offset} on its disk, where no snapshot "
            f"reaches, and it told that it begins at {told.log.start}",
            evidence=[log],
        )
    for offset in range(max(log.end_offset, disk.gone_below()), told.log.end):
        entry = told.now(offset)
        if entry is None:
            continue
        if told.in_order or offset < told.high_watermark:
            append = told.wrote(offset, entry)
            yield finding(
                f"{node} told that it has epoch {entry[0]}, CRC {entry[1]} at offset {offset}; the "
                f"log on its disk ends at {log.end_offset}",
                evidence=[*([append] if append else []), log],
            )


def _entries(disk: Disk) -> Iterator[tuple[Appended, int, Entry]]:
    for batch in disk.batches:
        for offset, crc in enumerate(batch.crcs, batch.base_offset):
            yield batch, offset, (batch.epoch, crc)


class NodeTellsTheTruth(RunChecker):
    name = "node-tells-the-truth"
    summary = (
        "The metadata log on a node's disk is what the node told of it: nothing that it told is "
        "missing or other, nothing is there that it never told, and it is whole"
    )
    requires = evidence_of(Appended, LogOnDisk)
    check_run = RunCheck(
        node_tells_the_truth,
        evidence=(*KINDS, Committed, Exited),
        disk=(Appended, Truncated, LogBegan, LogOnDisk, SnapshotFile),
    )
