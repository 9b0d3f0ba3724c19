"""What the members of a consumer group subscribe to, as their protocol's metadata says it.

That is Kafka's ConsumerProtocolSubscription: a version, the topics' names, then more that does not
matter here.
"""

from __future__ import annotations

import struct
from typing import Final

from nodes.kraft.group.state import Group

CONSUMER: Final = "consumer"
"""The type of groups whose members tell what they subscribe to."""


def subscribes(group: Group, topic: str) -> bool:
    """Whether a member of the group may be reading the topic: one whose metadata cannot be read, or
    is not agreed on yet, may read any."""
    return any(
        topics is None or topic in topics
        for topics in (
            _topics(member.metadata(group.protocol)) for member in group.members.values()
        )
    )


def _topics(metadata: bytes) -> frozenset[str] | None:
    """The topics of one member; None: it does not say."""
    try:
        _, count = struct.unpack_from(">hi", metadata)
        names, position = [], 6
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, position)
            name = metadata[position + 2 : position + 2 + length]
            if len(name) != length:
                return None
            names.append(name.decode())
            position += 2 + length
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(names)
