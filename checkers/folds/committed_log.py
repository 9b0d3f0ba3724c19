"""The committed metadata log, put together from what nodes applied."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from framework.checking.findings import finding
from framework.evidence.changes import Change
from framework.evidence.clocks import earliest_ns, latest_ns
from framework.evidence.kinds import same_fact
from framework.plugins.checker import Finding


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

    def at(self, offset: int) -> Change | None:
        return self.records[offset] if 0 <= offset < len(self.records) else None

    def of_epoch(self, offset: int, epoch: int) -> Change | None:
        """The record there, if a leader of that epoch appended it."""
        found = self.at(offset)
        return found if found is not None and found.epoch == epoch else None


def committed_log(changes: Iterable[Change]) -> CommittedLog:
    """Where nodes disagree on an offset, the first one's word counts, in the order of the
    evidence, and the disagreement is a finding."""
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
