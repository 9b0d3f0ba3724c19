"""A log's directory: segments in order, and what is missing in them, or there twice. Of logs that
are never compacted, which leaves gaps by right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa

from nodes.kafka_files.batches import BATCHES, Batches, scan
from nodes.kafka_files.reading import contents

SEGMENT: Final = re.compile(r"(\d{20})\.log")
GIVEN_UP: Final = re.compile(r"(\d{20})\.log\.deleted")
"""A segment that its node dropped, and that lies there until its files are deleted in earnest."""
SEGMENT_BATCHES: Final = pa.schema([pa.field("segment", pa.int64()), *BATCHES])
"""`BATCHES`, with the base offset of the segment that a batch is in."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A file, named after the offset with which it begins. `missing`: why it cannot be opened."""

    path: Path
    base_offset: int
    batches: Batches
    missing: str | None = None

    @property
    def end_offset(self) -> int:
        """Behind the last record of a sound batch."""
        sound = self.batches.sound
        return int(sound["end_offset"][-1].as_py()) if len(sound) else self.base_offset

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Offsets, end exclusive, that are in no sound batch between others."""
        sound = self.batches.sound
        ends = [self.base_offset, *sound["end_offset"].to_pylist()]
        for end, base in zip(ends, sound["base_offset"].to_pylist(), strict=False):
            if base > end:
                yield end, base


@dataclass(frozen=True, slots=True)
class Log:
    """The segments of a directory, in the order of their offsets."""

    segments: tuple[Segment, ...]

    @property
    def start_offset(self) -> int:
        return self.segments[0].base_offset if self.segments else 0

    @property
    def end_offset(self) -> int:
        """Where the log ends, as far as it can be read without a gap."""
        readable = list(self.readable())
        return readable[-1].end_offset if readable else 0

    def readable(self) -> Iterator[Segment]:
        """The segments up to the first one that is damaged, or that another does not follow."""
        for number, segment in enumerate(self.segments, 1):
            yield segment
            following = self.segments[number : number + 1]
            goes_on = all(each.base_offset == segment.end_offset for each in following)
            if _broken(segment) or not goes_on:
                return

    def wrong(self) -> Iterator[str]:
        """What no log has, for people: a file that cannot be read to its end, gaps, overlaps."""
        for segment in self.segments:
            name = segment.path.name
            if segment.missing is not None:
                yield f"{name} cannot be read: {segment.missing}"
            if segment.batches.stop is not None:
                yield f"{name} is {segment.batches.stop}"
            for end, base in segment.gaps():
                yield f"nothing from {end} to {base}"
        for one, other in pairwise(self.segments):
            if other.base_offset > one.end_offset:
                yield f"nothing from {one.end_offset} to {other.base_offset}"
            if other.base_offset < one.end_offset:
                yield f"two segments from {other.base_offset} to {one.end_offset}"

    def table(self) -> pa.Table:
        """All sound batches."""
        parts = [_with_segment(each) for each in self.segments]
        return pa.concat_tables(parts) if parts else SEGMENT_BATCHES.empty_table()


def read_log(directory: Path, segment: re.Pattern[str] = SEGMENT) -> Log:
    """The log in a directory, of files that are named so; one without segments where there is
    none."""
    try:
        names = sorted(each.name for each in directory.iterdir())
    except OSError:
        names = []
    matches = [match for match in map(segment.fullmatch, names) if match]
    return Log(tuple(_segment(directory / each[0], int(each[1])) for each in matches))


def _segment(path: Path, base_offset: int) -> Segment:
    data, missing = contents(path)
    return Segment(path, base_offset, scan(data, base_offset), missing)


def _broken(segment: Segment) -> bool:
    return segment.missing is not None or segment.batches.stop is not None


def _with_segment(segment: Segment) -> pa.Table:
    sound = segment.batches.sound
    base = pa.array([segment.base_offset] * len(sound), pa.int64())
    return sound.add_column(0, SEGMENT_BATCHES.field("segment"), base)
