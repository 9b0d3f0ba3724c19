"""What this node's snapshots may have in them, read apart from the node (D.16, D.0 principle 1).

Values of a snapshot's records begin with their type and version, unsigned varints; what of the rest
names the entity is known by type.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from nodes.kafka_files.varints import unsigned


def wrong_records(records: pa.Table) -> Iterator[str]:
    """What is wrong with a snapshot's records: one that is no entity, or an entity twice."""
    seen: set[tuple[int, bytes]] = set()
    for value in records["value"].to_pylist():
        try:
            kind, at = unsigned(value or b"", 0)
            _, at = unsigned(value, at)
            name = _NAMES.get(kind)
            key = None if name is None else (kind, name(value[at:]))
        except IndexError:
            yield "has a record that ends within its name"
            continue
        if key is None:
            yield f"has a record of type {kind}, which is no entity"
        elif key in seen:
            yield f"has two records of type {kind} for one entity ({key[1].hex()})"
        else:
            seen.add(key)


# --- what names an entity -----------------------------------------------------------------


def _text(body: bytes, at: int) -> int:
    """The end of a compact string that begins there."""
    size, at = unsigned(body, at)
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
