"""Java's properties files, as `meta.properties` (whose directory it is) and configurations are."""

import re
from typing import Final

from nodes.kafka_files.reading import text_lines

_ENTRY: Final = re.compile(r"((?:\\.|[^\\:=\s])*)\s*[:=\s]?\s*(.*)")
_ESCAPE: Final = re.compile(r"\\(.)")


def read_properties(data: bytes) -> dict[str, str]:
    """Name to value; of names that are there twice, the last. Lines that go on in the next one,
    which no node writes, are read as they are."""
    found: dict[str, str] = {}
    for line in text_lines(data):
        text = line.strip()
        match = _ENTRY.fullmatch(text)
        if match and match[1] and text[0] not in "#!":
            found[_plain(match[1])] = _plain(match[2])
    return found


def _plain(text: str) -> str:
    return _ESCAPE.sub(r"\1", text)
