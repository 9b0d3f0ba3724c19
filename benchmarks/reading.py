"""What reading costs, form by form: processor time on one core, in microseconds an operation.

    python -m benchmarks.reading [OPERATIONS]

The best of several times, with kernels compiled. To hold another checkout against this one, name it
in PYTHONPATH, and run this file in turn with both.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa

from benchmarks import kafka_log
from benchmarks.histories import cell
from benchmarks.history_files import events_of, write_lines, write_parquet
from checkers.linearizability.encoding import texts
from checkers.logs.rows import rows
from framework.history.columns import OPERATIONS
from framework.history.jepsen import read_jepsen
from framework.history.reader import read

TIMES: Final = 7
KEYS: Final = 100


def cost(what: str, operations: int, act: Callable[[], object]) -> None:
    act()
    best = float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        act()
        best = min(best, time.process_time() - began)
    print(f"{what:40} {1e6 * best / operations:8.3f} us/operation", flush=True)


def as_edn(lines: Path, path: Path) -> None:
    """The same history in Jepsen's hand: of one key, or with keys beside values."""
    with lines.open() as file, path.open("w") as made:
        for line in file:
            event = json.loads(line)
            value = json.dumps(event.get("value")).replace("null", "nil").replace(",", "")
            fields = {"index": event["index"] or 0, "type": f":{event['type']}"}
            fields |= {"process": event["process"], "f": f":{event['f']}", "value": value}
            shown = ", ".join(f":{name} {each}" for name, each in fields.items())
            made.write(f"#jepsen.history.Op{{{shown}}}\n")


def transactions(operations: int) -> pa.Table:
    """Transactions that send a record and poll three, of Jepsen's form."""
    polled = [[[number + n, number * n] for n in range(3)] for number in range(operations)]
    results = [
        json.dumps([["send", 1, [n, n]], ["poll", {"2": each}]], separators=(",", ":"))
        for n, each in enumerate(polled)
    ]
    columns = {
        "run": pa.repeat("r", operations),
        "index": pa.array(range(0, 2 * operations, 2)),
        "end": pa.array(range(1, 2 * operations, 2)),
        "process": pa.repeat("0", operations),
        "f": pa.repeat("txn", operations),
        "value": pa.repeat('[["poll"],["send",1,1]]', operations),
        "type": pa.repeat("ok", operations),
        "result": pa.array(results),
        "invoked_ns": pa.array(range(operations)),
        "completed_ns": pa.array(range(operations)),
    }
    nothing = pa.nulls(operations, pa.string())
    return pa.table(
        [pa.array(columns.get(field.name, nothing)).cast(field.type) for field in OPERATIONS],
        schema=OPERATIONS,
    )


def main(operations: int) -> None:
    made = [cell(operations // KEYS, 5, seed=key, info=0.01) for key in range(KEYS)]
    log = kafka_log.table(operations)
    sent = transactions(operations)
    pairs = pa.array([f"[{n},{n % 7}]" for n in range(operations)])
    shown = pa.array([f'{{"topic_id":"{n}"}}' for n in range(operations)])
    ext = pa.array([f'{{"epoch":{n // 9},"offset":{n}}}' for n in range(operations)])
    with tempfile.TemporaryDirectory() as folder:
        lines, parquet, edn = (Path(folder) / f"h.{form}" for form in ("jsonl", "parquet", "edn"))
        events = events_of(made)
        write_lines(events, lines)
        write_parquet(events, parquet)
        as_edn(lines, edn)
        cost("register, JSON Lines", operations, lambda: read([lines]))
        cost("register, Parquet", operations, lambda: read([parquet]))
        cost("register, Jepsen's EDN", operations, lambda: read_jepsen(edn, "cas-register"))
    cost("Kafka log, produces and fetches", log.num_rows, lambda: rows(log))
    cost("Kafka log, transactions", operations, lambda: rows(sent))
    cost("pairs of a cas", operations, lambda: texts.pairs(pairs))
    cost("ids of topics", operations, lambda: texts.shown_ids(shown))
    every = [True] * operations
    cost("places in a log", operations, lambda: texts.places(ext, pa.array(every).to_numpy(False)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
