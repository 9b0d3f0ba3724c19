"""Files of the results folder by names that a browser sends. Nothing outside it is opened,
whatever the names, and wherever links point."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from framework.serve.web import TEXT, Response, not_found

_SAMPLE: Final = 4096
_BINARY: Final = (b"PAR1", b"\x1f\x8b")
"""How Parquet and gzip begin."""


def inside(root: Path, names: Sequence[str]) -> Path:
    """The file or folder of that name below `root`. Raises `Refused` where it is elsewhere, or
    not there."""
    if any(name in ("", ".", "..") or "/" in name or "\0" in name for name in names):
        raise not_found("no such file")
    try:
        found = root.joinpath(*names).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise not_found(f"no {'/'.join(names)} here") from None
    if not found.is_relative_to(root.resolve()):
        raise not_found(f"no {'/'.join(names)} here")
    return found


def as_stored(path: Path) -> Response:
    """A file as text where it is text, else for download; never as a page of its own."""
    try:
        with path.open("rb") as file:
            sample = file.read(_SAMPLE)
    except OSError as error:
        raise not_found(f"{path.name} cannot be read: {error.strerror}") from None
    is_text = b"\0" not in sample and not sample.startswith(_BINARY)
    return Response(path, TEXT if is_text else "application/octet-stream")
