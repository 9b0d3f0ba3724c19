"""An event as one line of `history.jsonl`."""

import json
from json.encoder import encode_basestring as quoted
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
    line = "{"
    if event.index >= 0:
        line += f'"index":{event.index},'
    if event.time is not None:
        line += f'"time":{event.time},'
    line += f'"type":"{event.type}","process":{_short(event.process)},"f":{_short(event.f)}'
    if event.key is not None:
        line += f',"key":{_short(event.key)}'
    if event.value is not None:
        line += f',"value":{_short(event.value)}'
    if event.error is not None:
        line += f',"error":{compact(event.error)}'
    if event.node is not None:
        line += f',"node":{_short(event.node)}'
    if event.ext is not None:
        line += f',"ext":{compact(dict(event.ext))}'
    return f"{line}}}\n".encode()


def _short(value: Json) -> str:
    """As `compact`, which takes five times as long to begin with."""
    if isinstance(value, str):
        return quoted(value)
    return repr(value) if type(value) is int else compact(value)
