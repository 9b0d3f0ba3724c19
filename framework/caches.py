"""Where things are kept that are made once a machine."""

import os
from pathlib import Path


def caches() -> Path:
    """The user's folder for them, as XDG has it; it need not be there yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kraft-proof"
