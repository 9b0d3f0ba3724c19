"""Settings of the group coordinator, and which partition a group's records are in."""

from dataclasses import dataclass
from typing import Final

OFFSETS_TOPIC: Final = "__consumer_offsets"
"""The internal topic that holds groups and their offsets."""
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC})
MAX_METADATA_CHARS: Final = 4096
"""Longest text that a client may store beside a committed offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """Kafka's settings of the same names. `replication_factor` None: 3, or as many as there are
    brokers. The initial delay lets the first members of a group come together."""

    partitions: int = 5
    replication_factor: int | None = None
    initial_delay_ms: int = 100
    min_session_ms: int = 500
    max_session_ms: int = 1_800_000
    max_size: int = 1000


def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 code units, in signed 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_of(group_id: str, partitions: int) -> int:
    """The partition of `OFFSETS_TOPIC` whose leader coordinates the group, as Kafka counts."""
    value = java_hash(group_id)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
