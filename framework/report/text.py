"""Values of histories as text for people."""

import html
import json
from typing import Final

from framework.history.event import Json

FULL: Final = 4000
"""Characters of a value that the page holds at most."""


def full(value: Json) -> str:
    """A string as it is, anything else as JSON; the rest of something very long is cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= FULL else f"{text[:FULL]}… ({len(text)} characters)"


def shorten(value: Json, length: int = 60) -> str:
    """The beginning of it, in one line."""
    text = " ".join(full(value).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def escaped(text: str) -> str:
    """Text for Plotly's labels, which read a little HTML. Quotes mean nothing there."""
    return html.escape(text, quote=False)
