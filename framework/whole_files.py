"""Files that are written whole, or not at all."""

from pathlib import Path


def write_whole(path: Path, text: str) -> Path:
    """Put `text` where `path` is, by a rename; its path. Who reads meanwhile finds the former file,
    and nothing half-written stays. What is no text, as a node may have written, becomes `?`.

    Raises `OSError`.
    """
    unfinished = path.with_name(f"{path.name}.tmp")
    try:
        unfinished.write_text(text, encoding="utf-8", errors="replace")
        return unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
