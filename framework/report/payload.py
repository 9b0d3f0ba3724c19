"""What a page carries compressed: text for script elements that the browser does not run, but
unpacks itself (`DecompressionStream`, also from file://)."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any, Final

PLOTLY: Final = Path(__file__).parent / "vendor" / "plotly-basic-4.1.1.min.js.gz"
"""plotly.js with the charts that the report draws: scatter and bar. MIT, its LICENSE beside it."""


def packed(value: Any) -> str:
    """JSON, compressed, as base64: letters, digits, + / and =, so it can end no element."""
    text = json.dumps(value, separators=(",", ":"), default=str)
    return _base64(gzip.compress(text.encode(), 9, mtime=0))


def unpacked(text: str) -> Any:
    """What `packed` was given, as JSON has it."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def packed_plotly() -> str:
    """plotly.js as the page carries it."""
    return _base64(PLOTLY.read_bytes())


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
