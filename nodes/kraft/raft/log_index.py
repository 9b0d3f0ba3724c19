"""What the core knows of its log: where it begins, how far it reaches, where epochs begin."""

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TypeAlias

from nodes.kraft.ids import LOG_START, LeaderEpoch, Offset
from nodes.kraft.raft.messages import NO_SNAPSHOT, Batch, SnapshotId

Run: TypeAlias = tuple[LeaderEpoch, Offset]
"""An epoch's records, and where they begin."""


def _epoch_of(run: Run) -> LeaderEpoch:
    return run[0]


def _offset_of(run: Run) -> Offset:
    return run[1]


@dataclass(frozen=True, slots=True)
class LogIndex:
    """Offsets of a log; ends are exclusive. It begins where its newest snapshot ends (KIP-630).
    Records below `flushed` are durable. `runs` are (epoch, first offset), ascending in both,
    of the records that the log holds."""

    snapshot: SnapshotId = NO_SNAPSHOT
    end_offset: Offset = LOG_START
    flushed: Offset = LOG_START
    runs: tuple[Run, ...] = ()

    @property
    def start_offset(self) -> Offset:
        """The first offset that the log holds, or would."""
        return self.snapshot.end_offset

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The last record's epoch, be it in the snapshot; 0 where there is none."""
        return self.runs[-1][0] if self.runs else self.snapshot.epoch

    @property
    def last(self) -> tuple[LeaderEpoch, Offset]:
        """(last epoch, end offset): which of two logs is the newer, compared as tuples."""
        return self.last_epoch, self.end_offset

    def append(self, batch: Batch) -> "LogIndex":
        """With `batch` at the end. Raises `ValueError` where it does not fit there."""
        if batch.base_offset != self.end_offset or batch.epoch < self.last_epoch:
            raise ValueError(f"{batch.epoch, batch.base_offset} does not follow {self.last}")
        runs = self.runs
        if not runs or runs[-1][0] != batch.epoch:
            runs += ((batch.epoch, batch.base_offset),)
        return replace(self, end_offset=batch.end_offset, runs=runs)

    def truncate(self, end_offset: Offset) -> "LogIndex":
        """Without the records at `end_offset` and above. What a snapshot holds stays."""
        end = max(self.start_offset, min(self.end_offset, end_offset))
        return replace(
            self,
            end_offset=end,
            flushed=min(self.flushed, end),
            runs=tuple(run for run in self.runs if run[1] < end),
        )

    def flush(self, end_offset: Offset) -> "LogIndex":
        """With everything below `end_offset` durable."""
        return replace(self, flushed=max(self.flushed, min(end_offset, self.end_offset)))

    def epoch_at(self, offset: Offset) -> LeaderEpoch | None:
        """The epoch of the record at `offset`; None where the log does not hold it."""
        if offset == self.start_offset - 1:
            return self.snapshot.epoch
        if not self.start_offset <= offset < self.end_offset:
            return None
        return self.runs[bisect_right(self.runs, offset, key=_offset_of) - 1][0]

    def end_of_epoch(self, epoch: LeaderEpoch) -> tuple[LeaderEpoch, Offset]:
        """The largest epoch <= `epoch` in the log and its end offset; where there is none, the
        snapshot's epoch and end."""
        after = bisect_right(self.runs, epoch, key=_epoch_of)
        if after == 0:
            return self.snapshot.epoch, self.start_offset
        end = self.runs[after][1] if after < len(self.runs) else self.end_offset
        return self.runs[after - 1][0], end

    def holds(self, snapshot: SnapshotId) -> bool:
        """Whether the snapshot's last record is in this log: then all of it is."""
        return self.epoch_at(Offset(snapshot.end_offset - 1)) == snapshot.epoch

    def begin_at(self, snapshot: SnapshotId) -> "LogIndex":
        """The log with `snapshot` in place of all that lies below its end. A log that does not
        hold the snapshot's last record is another history, or too short: nothing of it stays."""
        start = snapshot.end_offset
        if not self.holds(snapshot):
            return restarted(snapshot)
        if start == self.start_offset:
            return self
        first = max(0, bisect_right(self.runs, start, key=_offset_of) - 1)
        runs = tuple((epoch, max(offset, start)) for epoch, offset in self.runs[first:])
        runs = runs if start < self.end_offset else ()
        return LogIndex(snapshot, self.end_offset, max(self.flushed, start), runs)


def restarted(snapshot: SnapshotId) -> LogIndex:
    """An empty log behind a snapshot, which is durable."""
    return LogIndex(snapshot, snapshot.end_offset, snapshot.end_offset)
