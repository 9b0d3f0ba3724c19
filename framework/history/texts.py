"""The one JSON text of a value, by which values are compared and stored."""

import json

from framework.history.event import Json


def as_json(value: Json) -> str:
    """The one JSON text of a value: compact, names sorted, ASCII, whole numbers without a point.
    Values that are equal as JSON have one text: 1.0 has that of 1."""
    return json.dumps(whole(value), sort_keys=True, separators=(",", ":"))


def as_text(value: str | None) -> str | None:
    """A string that UTF-8 can hold: JSON allows lone surrogates, Arrow does not."""
    if value is None or value.isascii():
        return value
    return value.encode(errors="backslashreplace").decode()


def whole(value: Json) -> Json:
    """The value with every float that is a whole number as an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value
