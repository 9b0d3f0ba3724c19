"""Checkpoint files: a version, how many lines follow, and those, in text.

`leader-epoch-checkpoint` lies in a log's directory; `recovery-point-offset-checkpoint`,
`replication-offset-checkpoint`, `log-start-offset-checkpoint` and the cleaner's one form lie in
the directory of all logs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from nodes.kafka_files.reading import text_lines

EPOCHS: Final = pa.schema([("epoch", pa.int64()), ("start_offset", pa.int64())])
"""A leader epoch and the first offset that was written in it."""
OFFSETS: Final = pa.schema(
    [("topic", pa.string()), ("partition", pa.int64()), ("offset", pa.int64())]
)
"""An offset of a partition. `topic`: its name, or what the system has instead."""
VERSION: Final = "0"
_MAX_INT64: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The lines that make sense; `wrong`: what does not, None where all does."""

    table: pa.Table
    wrong: str | None


def read_epochs(data: bytes) -> Checkpoint:
    """A `leader-epoch-checkpoint`; epochs and offsets rise."""
    found = _read(data, EPOCHS, _epoch)
    epochs, offsets = (found.table[name].to_pylist() for name in EPOCHS.names)
    rise = all(sorted(set(each)) == each for each in (epochs, offsets))
    if rise or found.wrong is not None:
        return found
    return Checkpoint(found.table, "epochs and their offsets do not rise")


def read_offsets(data: bytes) -> Checkpoint:
    """Any of the others."""
    return _read(data, OFFSETS, _offset)


def _epoch(line: str) -> tuple[int, int]:
    epoch, offset = line.split(" ")
    return _number(epoch), _number(offset)


def _offset(line: str) -> tuple[str, int, int]:
    topic, partition, offset = line.split(" ")
    return topic, _number(partition), _number(offset)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text[:20]) > _MAX_INT64:
        raise ValueError(f"{text!r} is no offset or epoch")
    return int(text)


def _read(data: bytes, schema: pa.Schema, parse: Callable[[str], Sequence[Any]]) -> Checkpoint:
    version, count, *lines = [*text_lines(data)[:2], "", ""][:2] + text_lines(data)[2:]
    if version != VERSION:
        return Checkpoint(schema.empty_table(), f"version {version[:20]!r}, expected {VERSION}")
    rows: list[Sequence[Any]] = []
    wrong = None
    for number, line in enumerate(lines, 3):
        try:
            rows.append(parse(line))
        except ValueError:
            wrong = f"line {number} is {line[:80]!r}"
            break
    if wrong is None and count != str(len(rows)):
        wrong = f"{len(rows)} lines, it says {count[:20]!r}"
    columns = [[row[at] for row in rows] for at in range(len(schema))]
    return Checkpoint(pa.table(columns, schema=schema), wrong)
