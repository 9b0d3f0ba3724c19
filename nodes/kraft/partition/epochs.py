"""Which leader epoch wrote from which offset on: what truncation goes by (KIP-101, KIP-279)."""

from bisect import bisect_right
from typing import Final, TypeAlias

from nodes.kraft.ids import LeaderEpoch, Offset

Epochs: TypeAlias = tuple[tuple[LeaderEpoch, Offset], ...]
"""(epoch, first offset), epochs rising, offsets never falling."""

NO_EPOCH: Final = LeaderEpoch(-1)


def last_epoch(epochs: Epochs) -> LeaderEpoch:
    """The newest epoch, or -1."""
    return epochs[-1][0] if epochs else NO_EPOCH


def assigned(epochs: Epochs, epoch: LeaderEpoch, start_offset: Offset) -> Epochs:
    """With `epoch` beginning at `start_offset`, unless it is there. One that wrote nothing, and
    begins where the new one does, is kept: it says that nobody else wrote in it."""
    return epochs if epoch <= last_epoch(epochs) else (*epochs, (epoch, start_offset))


def end_offset_for(
    epochs: Epochs, epoch: LeaderEpoch, log_end: Offset
) -> tuple[LeaderEpoch, Offset]:
    """(the largest epoch known that is not above `epoch`, where it ends). Where all are above,
    `epoch` itself, which ends where the first of them begins."""
    after = bisect_right(epochs, (epoch, 2**63))
    if after == 0:
        return epoch, epochs[0][1] if epochs else log_end
    end = epochs[after][1] if after < len(epochs) else log_end
    return epochs[after - 1][0], end


def epoch_at(epochs: Epochs, offset: Offset) -> LeaderEpoch:
    """The epoch of the record at `offset`, which is in the log; -1 where there is none."""
    found = NO_EPOCH
    for epoch, start in epochs:
        if start > offset:
            break
        found = epoch
    return found


def begun(epochs: Epochs, start_offset: Offset) -> Epochs:
    """Of a log that begins at `start_offset` now: the epoch that goes on there begins there."""
    after = bisect_right([start for _, start in epochs], start_offset)
    if after == 0:
        return epochs
    return (epochs[after - 1][0], start_offset), *epochs[after:]


def truncated(epochs: Epochs, end_offset: Offset) -> Epochs:
    """Without what begins at `end_offset` or above."""
    return tuple(each for each in epochs if each[1] < end_offset)
