"""How long it takes to read a segment: s of processor time on one core.

python -m benchmarks.segments [MB]
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nodes.kafka_files.batches import scan
from nodes.kafka_files.records import records
from nodes.kraft.ids import LeaderEpoch, Offset
from nodes.kraft.raft.messages import Batch
from nodes.kraft.wire.batches import encode_batch

SHAPES: Final = {"1 record of 100 bytes": (1, 100), "100 records of 100 bytes": (100, 100)}
"""What a batch holds: how many records, of so many bytes."""


def segment(megabytes: int, count: int, size: int) -> bytes:
    parts: list[bytes] = []
    offset = written = 0
    while written < megabytes * 2**20:
        batch = Batch(Offset(offset), LeaderEpoch(1), (b"x" * size,) * count)
        parts.append(encode_batch(batch, timestamp_ms=1_700_000_000_000))
        written, offset = written + len(parts[-1]), offset + count
    return b"".join(parts)


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = act()
    return time.process_time() - began, result


def main() -> None:
    megabytes = int(sys.argv[1]) if sys.argv[1:] else 100
    for name, shape in SHAPES.items():
        data = segment(megabytes, *shape)
        headers_s, found = timed(partial(scan, data))
        records_s, reported = timed(partial(records, found))
        print(
            f"{megabytes} MB, batches of {name}: {len(found.table)} headers in {headers_s:.2f} s, "
            f"{len(reported.table)} records in {records_s:.2f} s"
        )


if __name__ == "__main__":
    main()
