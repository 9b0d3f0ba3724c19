"""Snapshots of a metadata log: `<end offset>-<epoch>.checkpoint` (KIP-630).

Record batches between a control batch with a header record and one with a footer record. Behind the
header, as control records too, may stand who votes (KIP-853).
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from nodes.kafka_files.batches import scan
from nodes.kafka_files.reading import contents
from nodes.kafka_files.records import records

NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
HEADER_KEY: Final = struct.pack(">hh", 0, 3)
FOOTER_KEY: Final = struct.pack(">hh", 0, 4)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file. `records`: the table of those between header and footer, `control`: that of the
    control records there; `wrong`: what no snapshot may have."""

    path: Path
    end_offset: int
    epoch: int
    records: pa.Table
    control: pa.Table
    wrong: tuple[str, ...]


def read_snapshot(path: Path) -> Snapshot | None:
    """The snapshot in a file; None where it has not the name of one, or is gone."""
    match = NAME.fullmatch(path.name)
    if match is None or not path.exists():
        return None
    epoch = int(match[2])
    data, missing = contents(path)
    batches = scan(data)
    found = records(batches)
    wrong = [f"cannot be read: {why}" for why in (missing, batches.stop, *found.unreadable) if why]
    others = sorted(set(batches.sound["leader_epoch"].to_pylist()) - {epoch})
    wrong += [f"has a batch of epoch {other}" for other in others[:1]]
    if not wrong:
        wrong += _frame(found.table)
    plain = found.table.filter(pc.invert(found.table["control"]))
    inside = found.table.slice(1, max(0, len(found.table) - 2))
    control = inside.filter(inside["control"])
    return Snapshot(path, int(match[1]), epoch, plain, control, tuple(wrong))


def _frame(table: pa.Table) -> Iterator[str]:
    """What is wrong with the order of records: a header first and a footer last, and other control
    records next to the header alone."""
    keys = table["key"].to_pylist()
    control = table["control"].to_pylist()
    if not control or not control[0] or keys[0] != HEADER_KEY:
        yield "has no header"
    if not control or not control[-1] or keys[-1] != FOOTER_KEY:
        yield "has no footer"
    inside = control[1:-1]
    if any(behind and not before for before, behind in pairwise(inside)):
        yield "has a control record behind one that is none"
