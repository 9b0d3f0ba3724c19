"""A history as columns: what `history/part-*.parquet` holds, one row an event.

`process` is a string ("3", "nemesis"); `key`, `value` and `ext` are JSON strings; null where the
event has none.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framework.history.event import Json, Recorded
from framework.history.jsonl import compact

SCHEMA: Final = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("time", pa.int64()),
        pa.field("type", pa.string(), nullable=False),
        pa.field("process", pa.string(), nullable=False),
        pa.field("f", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("value", pa.string()),
        pa.field("error_code", pa.string()),
        pa.field("error_message", pa.string()),
        pa.field("node", pa.string()),
        pa.field("ext", pa.string()),
    ]
)
OPERATIONS: Final = pa.schema(
    {
        "run": pa.string(),
        "index": pa.int64(),
        "end": pa.int64(),
        "process": pa.string(),
        "f": pa.string(),
        "key": pa.string(),
        "value": pa.string(),
        "type": pa.string(),
        "result": pa.string(),
        "error_code": pa.string(),
        "error_message": pa.string(),
        "node": pa.string(),
        "ext": pa.string(),
        "invoked_ns": pa.int64(),
        "completed_ns": pa.int64(),
        "phase": pa.string(),
    }
)
"""Operations as checkers read them: `framework.plugins.checker.Tables` says what each is."""
BATCH_ROWS: Final = 16_384


def row(fields: Mapping[str, Recorded]) -> dict[str, Json]:
    """The row of an event's JSON object, as our own journal writes it."""
    code, message = fields.get("error") or (None, None)
    return {
        "index": fields["index"],
        "time": fields.get("time"),
        "type": fields["type"],
        "process": str(fields["process"]),
        "f": fields["f"],
        "key": _json(fields.get("key")),
        "value": _json(fields.get("value")),
        "error_code": code,
        "error_message": message,
        "node": fields.get("node"),
        "ext": _json(fields.get("ext")),
    }


def _json(value: Json) -> str | None:
    return None if value is None else compact(value)


def write_parquet(lines: Iterable[bytes], path: Path) -> int:
    """Write the rows of journal lines to `path`, in batches; how many. What is not a whole line
    at the end, a killed writer's, is left out."""
    rows = _rows(lines)
    written = 0
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        while batch := list(islice(rows, BATCH_ROWS)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, SCHEMA))
            written += len(batch)
    return written


def _rows(lines: Iterable[bytes]) -> Iterator[dict[str, Json]]:
    return (row(json.loads(line)) for line in lines if line.endswith(b"\n"))
