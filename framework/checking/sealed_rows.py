"""Tables of many sealed runs, read by Spark itself: by columns, with filters of its own, and split
among cores; the driver sees paths."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from framework.plugins.checker import DataFrame, SparkSession

_FOLDER: Final = "regexp_extract(url_decode(replace(_metadata.file_path, '+', '%2B')), {}, 1)"
"""Of a file its folder, without the first slash. Paths are URIs, in which a plus sign is itself."""
PROCESS_TEXT: Final = """case when process like '"%'
    then from_json(concat('[', process, ']'), 'array<string>')[0] else process end"""
"""Of a process as it is sealed, JSON, as `Tables` have it: a plain text."""


def sealed_rows(
    spark: SparkSession, sealed: Mapping[Path, str], pattern: str, columns: pa.Schema
) -> DataFrame:
    """The rows of those files of sealed runs whose names fit, each with its `run`. `sealed`: folder
    of a sealed form -> its run."""
    from pyspark.sql.functions import broadcast, expr, lit
    from pyspark.sql.pandas.types import from_arrow_schema

    own = pa.schema([each for each in columns if each.name != "run"])
    found = {path: run for at, run in sealed.items() for path in sorted(at.glob(pattern))}
    if not found:
        having = pa.schema([pa.field("run", pa.string()), *own])
        return spark.createDataFrame([], from_arrow_schema(having))
    read = spark.read.schema(from_arrow_schema(own)).parquet(*map(_literal, found))
    if len(runs := {*found.values()}) == 1:
        return read.select(lit(*runs).alias("run"), *own.names)
    folder = expr(_FOLDER.format("'^file:/+(.*)/[^/]+$'")).alias("folder")
    named = {str(path.parent).lstrip("/"): run for path, run in found.items()}
    names = pa.table({"folder": list(named), "run": list(named.values())})
    rows = read.select(folder, *own.names)
    both = rows.join(broadcast(spark.createDataFrame(names)), "folder")
    return both.select("run", *own.names)


def _literal(path: Path) -> str:
    """A path none of whose characters is a pattern to Spark."""
    return "".join(f"\\{each}" if each in "\\*?[]{}" else each for each in str(path))
