"""Spark's classes, made ready once a machine: a JVM that maps them into memory rather than unpacks,
parses and verifies each is up in half of the processor time.

`python -m framework.checking.class_archive` makes the file (HotSpot's class data sharing). Without
one, or with one of another Java or of other jars, a JVM does as it always did, and says nothing.
"""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from framework.caches import caches

_DUMP_S: Final = 300.0
"""A JVM may take so long to write its classes: it never does, beside whatever else there is."""


def archive() -> Path:
    """Where the classes are kept."""
    from pyspark import __version__

    return caches() / f"spark-{__version__}.jsa"


def sharing() -> str:
    """Options of a JVM that uses them; empty where there are none, or their path has a space, at
    which Spark would cut it."""
    kept = archive()
    if not kept.exists() or " " in str(kept):
        return ""
    return f"-XX:SharedArchiveFile={kept} -Xshare:auto"


def main() -> None:
    """Raises `OSError` where they cannot be kept, and what `start` raises."""
    from framework.checking.spark import start, stop, warm_up

    kept = archive()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        made = Path(scratch, kept.name)
        session = start("local[2]", java=f"-XX:ArchiveClassesAtExit={made}")
        warm_up(session)
        stop(session, patience_s=_DUMP_S)
        with suppress(FileNotFoundError):  # a JVM that cannot
            made.replace(kept)


if __name__ == "__main__":
    main()
