"""Who is at the other end of a connection."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """Kafka's KafkaPrincipal: written `User:alice`."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS: Final = Principal("User", "ANONYMOUS")
"""Whoever comes over a listener that asks nobody who they are."""
