"""The committed metadata log, put together from what nodes applied and what lies on their disks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from checkers.folds.metadata_log.disk_logs import CommittedOnDisks, committed_on_disks
from framework.checking.findings import finding
from framework.evidence.changes import Change, LeaderAnnounced
from framework.evidence.clocks import UNKNOWN_NS, earliest_ns, latest_ns
from framework.evidence.kinds import DISK, same_fact
from framework.evidence.run_events import RunEvents, firsts, folded, from_no_disk
from framework.plugins.checker import DISKS, EVENTS, Finding

AnyChange = TypeVar("AnyChange", bound=Change)


@dataclass(frozen=True, slots=True)
class CommittedLog:
    """`records` have the offsets 0.. without a gap; `gap` is the first offset of which nobody tells
    although later ones are told (None: there is none). For each of `records`, on the harness's
    clock: `not_before_ns`, before which nobody had applied it, and `by_ns`, when somebody had."""

    records: Sequence[Change]
    not_before_ns: Sequence[int]
    by_ns: Sequence[int]
    gap: int | None
    conflicts: Sequence[Finding]
    on_disk: int = 0
    """So many of `records` lie on disks as well, committed for good."""

    def at(self, offset: int) -> Change | None:
        return self.records[offset] if 0 <= offset < len(self.records) else None

    def of_epoch(self, offset: int, epoch: int) -> Change | None:
        """The record there, if a leader of that epoch appended it."""
        found = self.at(offset)
        return found if found is not None and found.epoch == epoch else None


def known_log(events: RunEvents) -> CommittedLog:
    """By disks, for a rule that asks for `disk_logs.DISK_KINDS` of them, and by what nodes told
    that they applied. Where both do, the disks have the last word, and that they differ is a
    finding; when, only nodes tell."""
    reported = committed_log(from_no_disk(events.of(Change)))
    sure = committed_on_disks(events)
    left: dict[int, Change] = {each.offset: each for each in sure.records}
    records = [left.get(offset, record) for offset, record in enumerate(reported.records)]
    not_before_ns, by_ns = list(reported.not_before_ns), list(reported.by_ns)
    while (following := left.get(len(records))) is not None:
        records.append(following)
        not_before_ns.append(-UNKNOWN_NS)
        by_ns.append(UNKNOWN_NS)
    beyond = reported.gap is not None and reported.gap >= len(records)
    beyond = beyond or any(offset >= len(records) for offset in left)
    return CommittedLog(
        records,
        not_before_ns,
        by_ns,
        len(records) if beyond else None,
        [*reported.conflicts, *_never_committed(reported.records, sure)],
        sum(1 for record in records if record.source == DISK),
    )


def surest(log: CommittedLog) -> tuple[Sequence[Change], str]:
    """By the disks, where they carry all of the log; else by what nodes told of it, if nothing is
    missing. And the contract that says so."""
    left = log.records[: log.on_disk]
    if left and all(each.source == DISK for each in left):
        return left, DISKS
    return (log.records if log.gap is None else []), EVENTS


def _never_committed(reported: Iterable[Change], sure: CommittedOnDisks) -> Iterator[Finding]:
    """What nodes applied, and the disks do not carry: of what is behind their end, the first."""
    left = {each.offset: each for each in sure.records}
    for record in reported:
        on_disk = left.get(record.offset)
        what = f"{record.node} applied {_named(record)} at offset {record.offset}"
        if on_disk is not None and not same_record(record, on_disk):
            yield finding(
                f"{what}, where the disks of all who could lead have {_named(on_disk)}",
                evidence=[record, on_disk],
            )
        elif record.offset >= sure.end and not sure.why:
            yield finding(
                f"{what}; the log that all who could lead have on their disks ends at {sure.end}",
                evidence=[record],
                by=[DISKS],
            )
            return


def same_record(reported: Change, left: Change) -> bool:
    """Whether a node told of what lies on a disk. Who voted for a leader its record says, and an
    event need not."""
    if isinstance(left, LeaderAnnounced) and isinstance(reported, LeaderAnnounced):
        reported = replace(reported, votes=left.votes, voters=left.voters)
    return same_fact(reported, left)


def once_each(sure: Iterable[AnyChange], applied: Sequence[AnyChange]) -> Sequence[AnyChange]:
    """What is committed for good by the disks (`committed_on_disks`) and what nodes applied: of
    each offset one record, in the order of the log, also where nobody tells what is between. Disks
    have the last word; of what was applied the first one's counts."""
    by_offset = {each.offset: each for each in firsts(applied, "offset")}
    by_offset |= {each.offset: each for each in sure}
    return [by_offset[offset] for offset in sorted(by_offset)]


def committed_log(changes: Iterable[Change]) -> CommittedLog:
    """Where nodes disagree on an offset, the first one's word counts, in the order of the
    evidence, and the disagreement is a finding."""
    return folded(_committed_log, changes)


def _committed_log(changes: Iterable[Change]) -> CommittedLog:
    by_offset: dict[int, Change] = {}
    not_before: dict[int, int] = {}
    by: dict[int, int] = {}
    conflicts: dict[int, Finding] = {}
    for each in changes:
        offset, earliest, latest = each.offset, earliest_ns(each), latest_ns(each)
        known = by_offset.setdefault(offset, each)
        not_before[offset] = min(earliest, not_before.get(offset, earliest))
        by[offset] = min(latest, by.get(offset, latest))
        if known is not each and offset not in conflicts and not same_fact(known, each):
            conflicts[offset] = finding(
                f"{known.node} and {each.node} applied different records at offset "
                f"{offset}: {_named(known)} and {_named(each)}",
                evidence=[known, each],
            )
    end = 0
    while end in by_offset:
        end += 1
    beyond = any(offset > end for offset in by_offset)
    return CommittedLog(
        [by_offset[offset] for offset in range(end)],
        [not_before[offset] for offset in range(end)],
        [by[offset] for offset in range(end)],
        end if beyond else None,
        [conflicts[offset] for offset in sorted(conflicts)],
    )


def _named(change: Change) -> str:
    return f"{change.kind} of epoch {change.epoch}"
