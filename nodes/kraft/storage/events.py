"""How the storage tells what it did (docs/events.md)."""

from collections.abc import Callable
from typing import Any, TypeAlias

Emit: TypeAlias = Callable[..., None]
"""Called with an event's type and, by name, its fields, in whichever thread did the work."""


def emit_nothing(type: str, **fields: Any) -> None:
    """For those who do not listen."""
