"""Snapshot files as runs leave them behind, read apart from the node (D.16, D.0 principle 1).

A snapshot is record batches (Kafka's format, magic 2) between a control batch with a header
record (type 3) and one with a footer record (type 4). Values of the other records begin with
their type and version, unsigned varints; what of the rest names the entity is known by type.
"""

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BATCH: Final = struct.Struct(">qiibIhiqqqhii")
_CONTROL: Final = 0x20
_HEADER, _FOOTER = b"\x00\x00\x00\x03", b"\x00\x00\x00\x04"


class Damaged(ValueError):
    """The bytes are no snapshot."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is in a file; `wrong`: what no snapshot may have."""

    node: str
    file: str
    end_offset: int
    epoch: int
    records: int
    wrong: tuple[str, ...]


def snapshot_files(folder: Path) -> Iterator[Snapshot]:
    """The snapshots below a run's folder."""
    for path in sorted(folder.glob("nodes/*/**/*.checkpoint")):
        match = NAME.fullmatch(path.name)
        if match is None:
            continue
        where = path.relative_to(folder)
        end_offset, epoch = int(match[1]), int(match[2])
        try:
            records, wrong = _contents(path.read_bytes(), epoch)
        except FileNotFoundError:
            continue  # removed by its node meanwhile
        except (Damaged, struct.error, IndexError) as error:
            records, wrong = 0, [f"cannot be read: {error}"]
        yield Snapshot(where.parts[1], str(where), end_offset, epoch, records, tuple(wrong))


def _contents(data: bytes, epoch: int) -> tuple[int, list[str]]:
    """How many records there are, and what is wrong."""
    batches = list(_batches(data))
    wrong = [f"has a batch of epoch {each.epoch}" for each in batches if each.epoch != epoch][:1]
    ends = [batch.control and batch.records[0][0] for batch in (*batches[:1], *batches[-1:])]
    if ends[:1] != [_HEADER]:
        wrong.append("has no header")
    if ends[-1:] != [_FOOTER]:
        wrong.append("has no footer")
    seen: set[tuple[int, bytes]] = set()
    values = [value for batch in batches if not batch.control for _, value in batch.records]
    for value in values:
        kind, at = _varint(value, 0)
        _, at = _varint(value, at)
        name = _NAMES.get(kind)
        if name is None:
            wrong.append(f"has a record of type {kind}, which is no entity")
            continue
        key = (kind, name(value[at:]))
        if key in seen:
            wrong.append(f"has two records of type {kind} for one entity ({key[1].hex()})")
        seen.add(key)
    return len(values), wrong


# --- batches ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """`records`: (key, value)."""

    epoch: int
    control: bool
    records: list[tuple[bytes, bytes]]


def _batches(data: bytes) -> Iterator[Batch]:
    at = 0
    while at < len(data):
        _, size, epoch, magic, _, attributes, *_, count = _BATCH.unpack_from(data, at)
        end = at + 12 + size
        if magic != 2 or size <= 0 or end > len(data):
            raise Damaged(f"no whole batch at byte {at}")
        records = list(_records(data[at + _BATCH.size : end], count))
        if not records:
            raise Damaged(f"an empty batch at byte {at}")
        yield Batch(epoch, bool(attributes & _CONTROL), records)
        at = end


def _records(data: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    for _ in range(count):
        size, at = _signed(data, at)
        end = at + size
        _, at = _signed(data, at + 1)  # after the attributes: the timestamp's delta
        _, at = _signed(data, at)  # the offset's
        key, at = _bytes(data, at)
        value, _ = _bytes(data, at)
        yield key, value
        at = end


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _signed(data, at)
    return (b"", at) if size < 0 else (data[at : at + size], at + size)


def _signed(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


# --- what names an entity -----------------------------------------------------------------


def _text(body: bytes, at: int) -> int:
    """The end of a compact string that begins there."""
    size, at = _varint(body, at)
    return at + size - 1


def _config(body: bytes) -> bytes:
    return body[: _text(body, _text(body, 1))]


def _topic(body: bytes) -> bytes:
    at = _text(body, 0)
    return body[at : at + 16]


_NAMES: Final[dict[int, Callable[[bytes], bytes]]] = {
    0: lambda body: body[:4],  # broker id
    1: _topic,
    2: lambda body: body[:20],  # partition, topic id
    3: _config,
    5: lambda body: body,  # an access rule is its own name
    12: lambda body: body[: _text(body, 0)],  # feature
    15: lambda body: b"",  # producer ids: there is one
    100: lambda body: body[:16],  # request id
}
