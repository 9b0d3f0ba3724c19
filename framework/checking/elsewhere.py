"""Workers on other machines: what they see of this one's files, and what has to be sent there.

A worker needs nothing of ours but what `shipping` sends. Systems' adapters, which read what nodes
left, stay here; so runs are sealed here, and workers read them where they see them, on a disk that
is shared. Where they do not, sealed runs are sent along, to every executor: they are small beside
what they were made of. Histories of `check --model` may be large, and have to be where workers see
them.
"""

import hashlib
import shutil
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from framework.checking.reading import Place
from framework.checking.sealing import MANIFEST
from framework.checking.spark import is_local
from framework.errors import UsageError
from framework.plugins.checker import RunData, SparkSession

_LOOKED_AT: Final = 1 << 16
"""Bytes of a file, from its beginning, by which it is told from another."""


def are_here(spark: SparkSession) -> bool:
    """Whether a session's workers are processes of this machine, with this Python."""
    return is_local(spark.sparkContext.master)


def need_seen(spark: SparkSession, files: Sequence[Path]) -> None:
    """Raises `UsageError` for a file that some worker does not see as it is here."""
    if are_here(spark):
        return
    unseen = not_seen(spark, files)
    if unseen:
        raise UsageError(
            f"--spark-master {spark.sparkContext.master}: a worker does not see {unseen[0]} as it "
            "is here; workers read histories themselves: put it where all see it under this path"
        )


def not_seen(spark: SparkSession, files: Sequence[Path]) -> list[Path]:
    """Those of some files that some worker does not see as they are here."""
    marks = {str(file): _mark(file) for file in files}
    count = 2 * spark.sparkContext.defaultParallelism  # so that each has one
    asked = spark.sparkContext.parallelize(range(count), count)
    unseen = set().union(*asked.map(partial(_unlike, marks=marks)).collect())
    return [file for file in files if str(file) in unseen]


def _mark(file: Path) -> tuple[int, int] | None:
    """Its size, and a checksum of its beginning; None: it cannot be read."""
    try:
        with file.open("rb") as opened:
            return file.stat().st_size, zlib.crc32(opened.read(_LOOKED_AT))
    except OSError:
        return None


def _unlike(_: int, marks: Mapping[str, tuple[int, int] | None]) -> list[str]:
    """On a worker."""
    return [path for path, mark in marks.items() if mark is None or _mark(Path(path)) != mark]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A sealed run that was sent to the workers as an archive of Spark's."""

    place: Place
    archive: str

    def open(self) -> RunData:
        """On a worker."""
        from pyspark import SparkFiles

        return replace(self.place, sealed=SparkFiles.get(self.archive)).open()


def within_reach(spark: SparkSession, places: Sequence[Place]) -> Sequence[Place | Sent]:
    """Sealed runs as workers can open them: where they are, or, if some worker does not see them
    all, sent there."""
    manifests = sorted({Path(place.sealed, MANIFEST) for place in places})
    if are_here(spark) or not not_seen(spark, manifests):
        return places
    archives = {manifest.parent: _archive(spark, manifest) for manifest in manifests}
    return [Sent(place=place, archive=archives[Path(place.sealed)]) for place in places]


def _archive(spark: SparkSession, manifest: Path) -> str:
    """Sends a sealed run, once in a session; the name under which it is there."""
    mark = hashlib.sha256(str(manifest).encode() + b"\0" + manifest.read_bytes()).hexdigest()[:16]
    file = Path(spark.conf.get("spark.local.dir"), f"run-{mark}.zip")
    if not file.exists():
        shutil.make_archive(str(file.with_suffix("")), "zip", manifest.parent)
        spark.sparkContext.addArchive(str(file))
    return file.name
