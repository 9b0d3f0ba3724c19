"""An event as one line of `history.jsonl`."""

import json
from typing import Final

from framework.history.event import Event, Json

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)


def compact(value: Json) -> str:
    """JSON without spaces. Raises `TypeError`, `ValueError` or `RecursionError` for what is not
    JSON (NaN is not)."""
    return _ENCODER.encode(value)


def encode(event: Event) -> bytes:
    """The line, newline included: only the fields that are set, in the order of the format's
    description. Raises as `compact` does."""
    fields: dict[str, Json] = {}
    if event.index >= 0:
        fields["index"] = event.index
    if event.time is not None:
        fields["time"] = event.time
    fields["type"] = event.type
    fields["process"] = event.process
    fields["f"] = event.f
    if event.key is not None:
        fields["key"] = event.key
    if event.value is not None:
        fields["value"] = event.value
    if event.error is not None:
        fields["error"] = event.error
    if event.node is not None:
        fields["node"] = event.node
    if event.ext is not None:
        fields["ext"] = dict(event.ext)
    return f"{_ENCODER.encode(fields)}\n".encode()
