"""What the core knows of its log: how far it reaches, and where each leader epoch begins."""

from bisect import bisect_right
from dataclasses import dataclass, replace

from nodes.kraft.raft.messages import Batch


def _epoch_of(run: tuple[int, int]) -> int:
    return run[0]


@dataclass(frozen=True, slots=True)
class LogIndex:
    """Offsets of a log; ends are exclusive. Records below `flushed` are durable. `runs` are
    (epoch, first offset), ascending in both."""

    start_offset: int = 0
    end_offset: int = 0
    flushed: int = 0
    runs: tuple[tuple[int, int], ...] = ()

    @property
    def last_epoch(self) -> int:
        """The last record's epoch; 0 where there is none."""
        return self.runs[-1][0] if self.runs else 0

    @property
    def last(self) -> tuple[int, int]:
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

    def truncate(self, end_offset: int) -> "LogIndex":
        """Without the records at `end_offset` and above."""
        return replace(
            self,
            end_offset=min(self.end_offset, end_offset),
            flushed=min(self.flushed, end_offset),
            runs=tuple(run for run in self.runs if run[1] < end_offset),
        )

    def flush(self, end_offset: int) -> "LogIndex":
        """With everything below `end_offset` durable."""
        return replace(self, flushed=max(self.flushed, min(end_offset, self.end_offset)))

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch <= `epoch` in the log and its end offset; (0, log start) if none."""
        after = bisect_right(self.runs, epoch, key=_epoch_of)
        if after == 0:
            return 0, self.start_offset
        end = self.runs[after][1] if after < len(self.runs) else self.end_offset
        return self.runs[after - 1][0], end
