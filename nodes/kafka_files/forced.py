"""How much of a partition's log is surely on the disk.

Kafka forces a partition's log to the disk when a segment is full and the next one begins, and
before that only where it is told to (`flush.messages`, `flush.ms`: by default never); how far it
has done so is in `recovery-point-offset-checkpoint`, in the directory of all logs, which is written
once a minute and when a broker stops in good order (LogManager, UnifiedLog.flush). So of a log all
segments but the last are safe, and of the last what is below the recovery point. A checkpoint that
lags behind what was forced takes some of that for unforced in the last segment only: nothing is
forced in there by itself, but in a stop in good order, which writes the checkpoint.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nodes.kafka_files.batches import scan
from nodes.kafka_files.checkpoints import read_offsets

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
_FILE: Final = re.compile(r"(?P<log>(?P<topic>[^/]+)-(?P<partition>\d+))/(?P<base>\d{20})\.log")


@dataclass(frozen=True, slots=True)
class LastSegment:
    """The segment to which a partition's log is written. `path`: below the directory of all logs;
    `topic`: as the directory of the log names it."""

    path: str
    topic: str
    partition: int
    base_offset: int
    size: int


def last_segments(files: Iterable[tuple[str, int]]) -> Iterator[LastSegment]:
    """Of each log, by the path and the size of all files below the directory of logs, in any order.
    Directories that are about to be deleted, which have other names, are passed over."""
    found: dict[str, LastSegment] = {}
    for path, size in files:
        if (match := _FILE.fullmatch(path)) is None:
            continue
        base = int(match["base"])
        known = found.get(match["log"])
        if known is None or base > known.base_offset:
            number = int(match["partition"])
            found[match["log"]] = LastSegment(path, match["topic"], number, base, size)
    yield from (found[log] for log in sorted(found))


def recovery_points(checkpoint: bytes) -> Mapping[tuple[str, int], int]:
    """(topic, partition) -> the offset below which all was forced, by the checkpoint's content."""
    rows = read_offsets(checkpoint).table.to_pylist()
    return {(each["topic"], each["partition"]): each["offset"] for each in rows}


@dataclass(frozen=True, slots=True)
class Extent:
    """A batch in a segment. `end`: the byte behind it; offsets: its first, and the one behind."""

    end: int
    base_offset: int
    end_offset: int


def extents(data: bytes, base_offset: int) -> list[Extent]:
    """Of a segment's content, its sound batches in order."""
    sound = scan(data, base_offset).sound
    names = ("position", "size", "base_offset", "end_offset")
    batches = zip(*(sound[name].to_pylist() for name in names), strict=True)
    return [Extent(position + size, base, end) for position, size, base, end in batches]


def forced_bytes(batches: Iterable[Extent], recovery_point: int) -> int:
    """The bytes of a segment up to the last of its batches that has something below the point."""
    return max((each.end for each in batches if each.base_offset < recovery_point), default=0)
