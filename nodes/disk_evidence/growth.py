"""What became of a log between two times at which it was read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, NamedTuple

from nodes.kafka_files.batches import Batches
from nodes.kafka_files.log_directory import Log, Segment


class Batch(NamedTuple):
    """A batch, as far as it tells two apart."""

    base_offset: int
    end_offset: int
    epoch: int
    crc: int


@dataclass(frozen=True, slots=True)
class Grown:
    """In this order: where the log begins now (None: as before), and whether nothing is left of
    what it held; where it was cut back to (None: it was not); what is left of what it held, and
    what is new, each in segments that hold no more than that."""

    began: int | None
    dropped: bool
    cut: int | None
    kept: Sequence[Segment]
    appended: Sequence[Segment]


@dataclass(slots=True)
class Growth:
    """A log by what it held when it was read last: at first nothing, from 0 on."""

    start: int = 0
    batches: list[Batch] = field(default_factory=list)

    def to(self, log: Log) -> Grown:
        """What became of it, by what it holds now."""
        readable = list(log.readable())
        now = [batch for segment in readable for batch in _batches(segment)]
        start = log.start_offset if log.segments else self.start
        began = None if start == self.start else start
        left = [each for each in self.batches if each.base_offset >= start]
        # Where it does not go on with the very batch that was there, nothing is sure to be left.
        dropped = began is not None and (not left or left[:1] != now[:1])
        if dropped:
            left = []
        same = sum(1 for _ in takewhile(_equal, zip(left, now, strict=False)))
        cut = left[same].base_offset if same < len(left) else None
        self.start, self.batches = start, now
        kept, appended = _split(readable, same)
        return Grown(began, dropped, cut, kept, appended)


def _equal(pair: tuple[Batch, Batch]) -> bool:
    return pair[0] == pair[1]


_COLUMNS: Final = ("base_offset", "end_offset", "leader_epoch", "crc")


def _batches(segment: Segment) -> list[Batch]:
    sound = segment.batches.sound
    columns = [sound[name].to_pylist() for name in _COLUMNS]
    return [Batch(*row) for row in zip(*columns, strict=True)]


def _split(segments: Sequence[Segment], known: int) -> tuple[Sequence[Segment], Sequence[Segment]]:
    """The first `known` batches, and what the segments hold behind them."""
    kept: list[Segment] = []
    new: list[Segment] = []
    for segment in segments:
        sound = segment.batches.sound
        for part, into in ((sound.slice(0, known), kept), (sound.slice(known), new)):
            if len(part):
                into.append(replace(segment, batches=Batches(segment.batches.data, part, None)))
        known = max(0, known - len(sound))
    return kept, new
