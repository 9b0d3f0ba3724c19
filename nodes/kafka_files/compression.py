"""What Kafka's producers compress batches with, as they frame it.

gzip, zstd and the frame format of LZ4 are as everywhere. Snappy is in blocks behind a header, as
Java's library writes streams, or (from librdkafka) one bare block.
"""

import struct
from typing import Final

import pyarrow as pa

from nodes.kafka_files.varints import unsigned

MAX_BYTES: Final = 2**28
"""More comes out of no batch: a broker takes a few MB."""
_STREAMS: Final = frozenset({"gzip", "lz4", "zstd"})
_SNAPPY_STREAM: Final = b"\x82SNAPPY\x00"
_SNAPPY_HEADER: Final = len(_SNAPPY_STREAM) + 8  # and two versions
_BLOCK: Final = struct.Struct(">i")


class NotCompressed(ValueError):
    """The bytes are not what the codec makes."""


def decompressed(data: bytes, codec: str) -> bytes:
    """What was compressed. Raises `NotCompressed`."""
    if codec == "none":
        return data
    try:
        if codec in _STREAMS:
            found = _stream(data, codec)
        elif codec == "snappy":
            found = _snappy(data)
        else:
            raise NotCompressed(f"{codec} compression")
    except (pa.ArrowException, OSError, IndexError, struct.error) as error:
        raise NotCompressed(f"{codec}: {error}") from None
    if len(found) > MAX_BYTES:
        raise NotCompressed(f"{codec}: more than {MAX_BYTES} bytes")
    return found


def _stream(data: bytes, codec: str) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
        found: bytes = stream.read(MAX_BYTES + 1)
    return found


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_SNAPPY_STREAM):
        return _block(data, MAX_BYTES)
    at, blocks, size = _SNAPPY_HEADER, list[bytes](), 0
    while at < len(data):
        (length,) = _BLOCK.unpack_from(data, at)
        at += _BLOCK.size
        if not 0 < length <= len(data) - at:
            raise NotCompressed(f"snappy: a block of {length} bytes, {len(data) - at} are left")
        blocks.append(_block(data[at : at + length], MAX_BYTES - size))
        at, size = at + length, size + len(blocks[-1])
    return b"".join(blocks)


def _block(data: bytes, most: int) -> bytes:
    """A block begins with its size when decompressed."""
    size, _ = unsigned(data, 0)
    if size > most:
        raise NotCompressed(f"snappy: more than {most} bytes")
    found: bytes = pa.Codec("snappy").decompress(data, decompressed_size=size, asbytes=True)
    return found
