"""How the storage tells what it did (docs/operating.md)."""

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

Emit: TypeAlias = Callable[..., None]
"""Called with an event's type and, by name, its fields, in whichever thread did the work."""


EmitMany: TypeAlias = Callable[[str, Sequence[str]], None]
"""Called with a type and, for each event of it, the JSON text of its fields without the braces."""


def one_by_one(emit: Emit) -> EmitMany:
    """For those who listen to single events."""

    def emit_many(type: str, texts: Sequence[str]) -> None:
        for text in texts:
            emit(type, **json.loads(f"{{{text}}}"))

    return emit_many


def emit_nothing(type: str, **fields: object) -> None:
    """For those who do not listen."""
