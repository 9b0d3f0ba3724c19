"""Files of the results folder by names that a browser sends. Nothing outside it is opened,
whatever the names, and wherever links point."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

_SAMPLE: Final = 4096
_BINARY: Final = (b"PAR1", b"\x1f\x8b")
"""How Parquet and gzip begin."""
_PART: Final = 1 << 18


def not_found(why: str) -> HTTPException:
    return HTTPException(404, why)


def inside(root: Path, names: Sequence[str]) -> Path:
    """The file or folder of that name below `root`. Raises `HTTPException` where it is elsewhere,
    or not there."""
    if any(name in ("", ".", "..") or "/" in name or "\0" in name for name in names):
        raise not_found("no such file")
    try:
        found = root.joinpath(*names).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise not_found(f"no {'/'.join(names)} here") from None
    if not found.is_relative_to(root.resolve()):
        raise not_found(f"no {'/'.join(names)} here")
    return found


def as_stored(
    path: Path, type: str | None = None, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """A file, of a type, or else as text where it is text and for download where it is not; never
    as a page of its own. As long as it is now: Starlette's FileResponse fails on one that grows
    while it is sent, as a history does. Raises `HTTPException`."""
    try:
        file = path.open("rb")
        length = os.fstat(file.fileno()).st_size
        sample = file.read(_SAMPLE)
        file.seek(0)
    except OSError as error:
        raise not_found(f"{path.name} cannot be read: {error.strerror}") from None
    is_text = b"\0" not in sample and not sample.startswith(_BINARY)
    return StreamingResponse(
        _parts(file, length),
        headers={"Content-Length": str(length), **(headers or {})},
        media_type=type or ("text/plain" if is_text else "application/octet-stream"),
    )


def _parts(file: BinaryIO, length: int) -> Iterator[bytes]:
    with file:
        while length > 0 and (part := file.read(min(length, _PART))):
            yield part
            length -= len(part)
