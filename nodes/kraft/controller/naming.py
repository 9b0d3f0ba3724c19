"""Which names topics may have: Kafka's rules (org.apache.kafka.common.internals.Topic)."""

import re
from typing import Final

from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import Refusal
from nodes.kraft.metadata.image import Image, metric_name

MAX_NAME_CHARACTERS: Final = 249
INTERNAL: Final = frozenset({"__kafka_metadata", "__cluster_metadata"})
"""The metadata log by the draft's name and by the shipped one."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_legal(name: str) -> None:
    """Raises `Refusal` (17) for a name that no topic can have."""
    if not _LEGAL.fullmatch(name) or name in (".", ".."):
        raise _invalid(f"{name!r} is no topic name: letters, digits, '.', '_' and '-' make one")
    if len(name) > MAX_NAME_CHARACTERS:
        raise _invalid(f"the name has {len(name)} characters; {MAX_NAME_CHARACTERS} are allowed")
    if name in INTERNAL:
        raise _invalid(f"{name} is the cluster's own")


def check_name(image: Image, name: str) -> None:
    """Raises `Refusal` where no topic of that name can be made: 17 or 36."""
    check_legal(name)
    if name in image.topic_ids:
        raise Refusal(ErrorCode.topic_already_exists, f"topic {name} exists")
    # Metric names turn '.' into '_', so names that differ in these alone would collide.
    other = image.metric_names.get(metric_name(name))
    if other is not None:
        raise _invalid(f"{name} collides with topic {other}")


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_topic_exception, message)
