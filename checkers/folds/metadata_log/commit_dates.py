"""When records that lie on disks were committed, by what clients and observers were shown.

A record has no time that can be trusted. But who is shown the log beyond it is shown it after it
was committed; and who is shown all that is committed, and not it, asked before. Both are moments of
the history's own order, so no clock counts, and a machine that is late makes them wider.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.metadata_log.disk_logs import CommittedOnDisks, committed_on_disks
from checkers.folds.metadata_log.shown_ends import ShownEnd, all_ends, leaders_word
from framework.evidence.run_events import RunEvents


@dataclass(frozen=True, slots=True)
class CommitDates:
    """`showing`: what showed more than all that had ended before, in that order; `lacking`: of
    answers that show all that was committed, those that show less than all that were asked for
    later, the latest first."""

    showing: Sequence[ShownEnd]
    lacking: Sequence[ShownEnd]

    @classmethod
    def of(cls, shown: Iterable[ShownEnd], whole: Iterable[ShownEnd]) -> "CommitDates":
        """By what was shown, and by that of it of which it is known that no more was committed."""
        showing: list[ShownEnd] = []
        for each in sorted(shown, key=lambda each: each.operation.end or 0):
            if not showing or each.end > showing[-1].end:
                showing.append(each)
        lacking: list[ShownEnd] = []
        for each in sorted(whole, key=lambda each: -each.operation.index):
            if not lacking or each.end < lacking[-1].end:
                lacking.append(each)
        return cls(showing, lacking)

    def by(self, offset: int) -> ShownEnd | None:
        """The record was committed when this had ended. None: nobody was shown it."""
        at = bisect_right(self.showing, offset, key=lambda each: each.end)
        return self.showing[at] if at < len(self.showing) else None

    def after(self, offset: int) -> ShownEnd | None:
        """The record was committed after this was invoked. None: nothing shows that."""
        at = bisect_left(self.lacking, -offset, key=lambda each: -each.end)
        return self.lacking[at] if at < len(self.lacking) else None


def commit_dates(events: RunEvents, left: CommittedOnDisks) -> CommitDates:
    """Of the metadata log's records. A rule asks for `shown_ends.SHOWS`, for observations, and for
    `disk_logs.DISK_KINDS`."""
    shown = all_ends(events)
    reads = (each for each in shown if each.operation.f == "describe")  # linearizable
    return CommitDates.of(shown, [*reads, *leaders_word(events, left)])


def dated_log(events: RunEvents) -> CommittedLog:
    """`known_log`, with what it asks for and what `commit_dates` does: its times are of commits,
    and of records of which no node tells as well."""
    log = known_log(events)
    dates = commit_dates(events, committed_on_disks(events))
    not_before_ns, by_ns = list(log.not_before_ns), list(log.by_ns)
    for offset in range(len(log.records)):
        by, after = dates.by(offset), dates.after(offset)
        if by is not None and by.operation.completed_ns is not None:
            by_ns[offset] = min(by_ns[offset], by.operation.completed_ns)
        if after is not None:
            not_before_ns[offset] = max(not_before_ns[offset], after.operation.began_ns)
    return replace(log, not_before_ns=not_before_ns, by_ns=by_ns)
