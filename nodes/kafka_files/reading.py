"""Where reading ended."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Why: TypeAlias = Literal["torn", "damaged", "out of order", "unreadable"]
"""It is cut short; it is no batch, or not the one that was written; it does not follow what is
before it; it is whole, and its inside is not what it should be."""


@dataclass(frozen=True, slots=True)
class Stop:
    """What is at `position`, a byte of the file, is not read: why, and what was seen."""

    position: int
    why: Why
    detail: str

    def __str__(self) -> str:
        return f"{self.why} at byte {self.position}: {self.detail}"


def contents(path: Path) -> tuple[bytes, str | None]:
    """A file's bytes; or none, and why they cannot be had."""
    try:
        return path.read_bytes(), None
    except OSError as error:
        return b"", error.strerror or str(error)


def text_lines(data: bytes) -> list[str]:
    """Lines of what should be text; what is none of UTF-8 is replaced."""
    return data.decode(errors="replace").splitlines()
