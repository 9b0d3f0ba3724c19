"""A rule over all operations of a run, alone: processor time and memory, by the run's length.

    python -m benchmarks.availability [--operations 100000 1000000] [--keep FOLDER]

A sealed run is made up, of 5,000 operations a second on topics and partitions, with a fault of five
seconds in every twenty, in which three of ten operations are in vain. `availability` judges it in a
process of its own, which has read nothing else.
"""

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.check_scale import measured
from checkers.availability import Availability
from framework.checking.reading import SealedRun
from framework.checking.run_checks import judged_run
from framework.checking.runs import FAULTS, NEMESIS
from framework.checking.sealing import PLANNED
from framework.evidence.run_events import WHOLE_RUN
from framework.history.columns import OPERATIONS

RATE: Final = 5_000
S: Final = 1_000_000_000
LASTS_S, EVERY_S = 5, 20
PIECE: Final = 1 << 17
"""Rows of a row group, as runs are sealed."""
NODES: Final = ("c1", "c2", "c3", "b1", "b2", "b3")
FS: Final = ("create", "delete", "describe", "produce", "fetch")


def make(folder: Path, operations: int) -> None:
    """What `SealedRun` reads of a run."""
    rng = np.random.default_rng(1)
    schema = pa.schema([each for each in OPERATIONS if each.name != "run"])
    with pq.ParquetWriter(folder / "operations.parquet", schema, compression="snappy") as writer:
        for first in range(0, operations, PIECE):
            count = min(PIECE, operations - first)
            writer.write_table(_operations(rng, first, count, schema), row_group_size=PIECE)
    faults = [_fault(at) for at in range(EVERY_S, operations // RATE - EVERY_S, EVERY_S)]
    tables = {
        "faults": pa.Table.from_pylist(faults, FAULTS),
        "nemesis": NEMESIS.empty_table(),
        "observations": schema.empty_table(),
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    nodes = {name: {"roles": ["broker"], "votes": name[0] == "c"} for name in NODES}
    (folder / PLANNED).write_text(json.dumps({"nodes": nodes, "recovery_s": 15}))


def _operations(rng: Any, first: int, count: int, schema: pa.Schema) -> pa.Table:
    number = np.arange(first, first + count)
    began_ns = number * (S // RATE)
    in_vain = (began_ns // S % EVERY_S < LASTS_S) & (rng.random(count) < 0.3)
    f = np.array(FS)[rng.integers(0, len(FS), count)]
    of_partition = np.isin(f, ("produce", "fetch"))
    key = np.char.add(
        np.where(of_partition, '"log-0/', '"t'), rng.integers(0, 40, count).astype(str)
    )
    texts = number.astype(str)
    ext = np.char.add(np.char.add('{"epoch":4,"offset":', texts), "}")
    result = np.char.add(np.char.add('{"topic_id":"', texts), '"}')
    columns = {
        "index": 2 * number,
        "end": 2 * number + 1,
        "process": (number % 10).astype(str),
        "f": f,
        "key": np.char.add(key, '"'),
        "value": np.where(
            f == "produce", np.char.add(np.char.add('{"value":', texts), "}"), "null"
        ),
        "type": np.where(in_vain, "info", "ok"),
        "result": pa.array(result, mask=in_vain),
        "error_code": pa.array(np.full(count, "REQUEST_TIMED_OUT"), mask=~in_vain),
        "error_message": pa.array(np.full(count, ""), mask=~in_vain),
        "node": np.array(NODES)[rng.integers(0, len(NODES), count)],
        "ext": pa.array(ext, mask=in_vain),
        "invoked_ns": began_ns,
        "completed_ns": began_ns + rng.integers(1_000_000, 40_000_000, count),
        "phase": np.full(count, "main"),
    }
    return pa.table({name: pa.array(columns[name]) for name in schema.names}).cast(schema)


def _fault(at_s: int) -> dict[str, Any]:
    return {
        "id": at_s,
        "fault": "pause",
        "victims": json.dumps({"b1": {}}),
        "injected_ns": at_s * S,
        "healed_ns": (at_s + LASTS_S) * S,
        "healed": True,
        "entries": json.dumps([{"step": "planned", "time": at_s * S}]),
    }


def judge(folder: Path) -> dict[str, Any]:
    """What was found; says what it took, in a line of JSON."""
    before, began = _peak_mib(), time.process_time()
    checks = {Availability.name: Availability().check_run}
    (rows,) = judged_run(SealedRun("long", folder), checks, WHOLE_RUN)
    took = {"processor_s": round(time.process_time() - began, 2), "peak_mib": _peak_mib()}
    row: dict[str, Any]
    (row,) = rows.to_pylist()
    said = {"verdict": row["verdict"], "seen": row["seen"], "note": row["note"]}
    print(json.dumps({**said, "before_mib": before, **took, "digest": _digest(row)}))
    return row


def _digest(row: dict[str, Any]) -> str:
    """Of all that was found."""
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:12]


def _peak_mib() -> int:
    """Of this process: what its parent had before it became this one is not counted."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) >> 10


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.judge:
        judge(given.judge)
        return
    with tempfile.TemporaryDirectory(prefix="availability-") as scratch:
        for operations in given.operations:
            folder = (given.keep or Path(scratch)) / str(operations)
            folder.mkdir(parents=True)
            make(folder, operations)
            print(operations, measured("-m", "benchmarks.availability", "--judge", folder)["text"])


if __name__ == "__main__":
    main()
