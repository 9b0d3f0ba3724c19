"""`check` at scale: wall time, processor time and memory, each measurement in a process of its own.

    python -m benchmarks.check_scale                      # registers, a log and a hot key, to 10^7
    python -m benchmarks.check_scale --most 1000000       # smaller
    python -m benchmarks.check_scale --only register log transactions hot ingest fixed runs
    python -m benchmarks.check_scale --fixed-cost         # session start and first job only

One line each. Memory is the most that the whole tree of processes (driver, JVM, Python workers)
had at once, shared pages counted once (PSS), sampled five times a second. Files are made first,
in a folder that is removed (--keep FOLDER: kept, and used again); 10^7 operations need 3 GB of
disk, and making them 8 GB of memory. Time is that of `check` from its start, Python's and Spark's
included; "job" is the part that the files account for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import kafka_log, kafka_transactions
from benchmarks.histories import cell
from benchmarks.history_files import events_of, write_lines, write_parquet

KEYS: Final = 1_000
CLIENTS: Final = 5
HOT_CLIENTS: Final = 100
RUNS: Final = 2_000
RUN_OPERATIONS: Final = 50
_EVERY_S: Final = 0.2
_LOOKING: Final = 0.02
"""The most that looking at processes may take of the time: pages of gigabytes are counted long."""


def say(what: str, **figures: object) -> None:
    """One line of results."""
    print(f"{what}: " + ", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)


def tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def memory_kib(pid: int) -> int:
    """What a process tree has, shared pages once."""
    total = 0
    for each in tree(pid):
        with contextlib.suppress(OSError):
            found = re.search(
                r"^Pss:\s+(\d+)", Path(f"/proc/{each}/smaps_rollup").read_text(), re.M
            )
            total += int(found[1]) if found else 0
    return total


def of_driver(pid: int) -> dict[str, float]:
    """What a process that has Spark has used so far: its own processor time, what it has read of
    files, and the most memory (RSS) that it, and its JVM, had."""
    found = {}
    for each in tree(pid):
        with contextlib.suppress(OSError):
            java = Path(f"/proc/{each}/comm").read_text() == "java\n"
            if each != pid and not java:
                continue
            most = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{each}/status").read_text(), re.M)
            name = "jvm_mib" if java else "driver_mib"
            found[name] = float(int(most[1]) >> 10 if most else 0)
            if not java:
                found["driver_s"] = round(processor_s(pid), 1)
                found["driver_read_mib"] = round(read_bytes(pid) / 2**20, 1)
    return found


def read_bytes(pid: int) -> int:
    """What a process has read of files and pipes so far; of sockets nothing."""
    return int(re.findall(r"^rchar: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.M)[0])


def processor_s(pid: int) -> float:
    """Of one process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(*arguments: str | Path, environment: Mapping[str, str] = {}) -> dict[str, Any]:
    """Runs this Python with arguments; its wall and processor time, its memory, its output."""
    began, before = time.monotonic(), os.times()
    driver: dict[str, float] = {}
    used: dict[int, float] = {}  # of workers of Spark's, too, for whose end nobody waits
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=out, stderr=out, env={**os.environ, **environment}
        )
        peak, pause_s = 0, _EVERY_S
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause_s)
                break
            looked = time.process_time()
            peak = max(peak, memory_kib(process.pid))
            for each in tree(process.pid):
                with contextlib.suppress(OSError):
                    used[each] = max(used.get(each, 0.0), processor_s(each))
            for name, most in of_driver(process.pid).items():
                driver[name] = max(driver.get(name, 0), most)
            pause_s = max(_EVERY_S, (time.process_time() - looked) / _LOOKING)
        out.seek(0)
        text = out.read()
    after = os.times()
    waited = after.children_user + after.children_system
    waited -= before.children_user + before.children_system
    return {
        "wall_s": round(time.monotonic() - began, 1),
        "processor_s": round(max(waited, sum(used.values())), 1),
        "peak_mib": peak // 1024,
        **driver,
        "code": process.returncode,
        "text": text,
    }


def check(what: str, path: Path, model: str, cores: int, **figures: object) -> None:
    """`check` of a history, as a user calls it."""
    master = () if cores == 0 else ("--spark-master", f"local[{cores}]")
    found = measured("-m", "framework", "check", "--json", "--model", model, path, *master)
    verdict = re.search(r'"verdict": "(\w+)"', found["text"])
    job = re.search(r"checked .*, ([\d.]+) s", found["text"])
    say(
        what,
        **figures,
        verdict=verdict[1] if verdict else found["text"][-300:],
        wall_s=found["wall_s"],
        job_s=job[1] if job else "?",
        processor_s=found["processor_s"],
        peak_mib=found["peak_mib"],
    )


class Files:
    """Histories of a folder, made when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def registers(self, operations: int, keys: int, clients: int, suffix: str) -> Path:
        path = self.folder / f"register-{operations}-{keys}-{clients}{suffix}"
        if not path.exists():
            made = [cell(operations // keys, clients, seed=key, info=0.01) for key in range(keys)]
            events = events_of(made)
            write_parquet(events, path.with_suffix(".parquet"))
            write_lines(events, path.with_suffix(".jsonl"))
        return path

    def log(self, operations: int) -> Path:
        path = self.folder / f"log-{operations}.parquet"
        if not path.exists():
            kafka_log.write(path, operations)
        return path

    def transactions(self, operations: int, plant: kafka_transactions.Plant) -> Path:
        path = self.folder / f"transactions-{operations}-{plant}.parquet"
        if not path.exists():
            kafka_transactions.write(path, operations, plant=plant)
        return path

    def runs(self, count: int, operations: int) -> Path:
        """Run folders of one workload, of topics that are created, described and deleted."""
        root = self.folder / f"runs-{count}-{operations}"
        for run in range(0 if root.exists() else count):
            folder = root / "many" / f"{run:06}"
            folder.mkdir(parents=True)
            checkers = ["topic-linearizability", "availability", "faults-bit"]
            plan: dict[str, object] = {
                "seed": run,
                "workloads": ["topics"],
                "nodes": {},
                "time_zero_ns": 0,
            }
            (folder / "plan.json").write_text(json.dumps(plan | {"checkers": checkers}))
            (folder / "history.jsonl").write_text("".join(_lives(run, operations)))
        return root


def _lives(run: int, operations: int) -> Iterator[str]:
    for number in range(operations):
        life, topic = divmod(number, 10)
        topic_id = {"topic_id": f"{run}-{life // 3}-{topic}"}
        f = ("create", "describe", "delete")[life % 3]
        event: dict[str, object] = {"process": number % 5, "f": f, "key": f"t{topic}", "node": "c1"}
        ends: tuple[dict[str, object], ...] = (
            {"type": "invoke"},
            {"type": "ok", "value": topic_id},
        )
        for index, more in enumerate(ends):
            at = {"index": 2 * number + index, "time": 1_000 * (2 * number + index)}
            yield json.dumps(at | event | more) + "\n"


def sizes(most: int) -> list[int]:
    return [size for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= most]


def register(files: Files, most: int, cores: int) -> None:
    """Growth with the number of operations, 1,000 keys."""
    for size in sizes(most):
        for suffix in (".jsonl", ".parquet"):
            path = files.registers(size, min(KEYS, size // 10), CLIENTS, suffix)
            check("register, 1,000 keys", path, "register", cores, operations=size, form=suffix)


def log(files: Files, most: int, cores: int) -> None:
    """Growth with the number of operations, 100 partitions."""
    for size in sizes(most):
        check("log, 100 partitions", files.log(size), "kafka", cores, operations=size)


def transactions(files: Files, most: int, cores: int) -> None:
    """The same growth, of transactions: clean ones, and with a cycle planted."""
    for size in sizes(most):
        plants: tuple[kafka_transactions.Plant, ...] = ("none", "G1c")
        for plant in plants:
            path = files.transactions(size, plant)
            check("transactions", path, "kafka", cores, operations=size, plant=plant)


def hot(files: Files, most: int, cores: int) -> None:
    """One key."""
    path = files.registers(min(most, 1_000_000), 1, HOT_CLIENTS, ".parquet")
    check("one key, 100 clients", path, "register", cores, operations=min(most, 1_000_000))


_INGEST: Final = """
import sys, time
from pathlib import Path
from framework.history.reader import read
path = Path(sys.argv[1])
read([Path(sys.argv[2])])
began, cpu = time.perf_counter(), time.process_time()
table = read([path]).operations
print(table.num_rows, round(time.perf_counter() - began, 2), round(time.process_time() - cpu, 2))
"""


def ingest(files: Files, most: int, cores: int) -> None:
    """Reading alone, on one core."""
    size = min(most, 1_000_000)
    for suffix in (".jsonl", ".parquet"):
        small = files.registers(10_000, 1_000, CLIENTS, suffix)
        path = files.registers(size, min(KEYS, size // 10), CLIENTS, suffix)
        found = measured("-c", _INGEST, path, small)
        rows, wall, cpu = found["text"].split()
        mib = round(path.stat().st_size / 2**20)
        say("reading", form=suffix, operations=rows, file_mib=mib, wall_s=wall, processor_s=cpu)


def runs(files: Files, most: int, cores: int) -> None:
    """Many small runs beside one of as many operations."""
    count = min(RUNS, most // RUN_OPERATIONS)
    for many, operations in ((count, RUN_OPERATIONS), (1, count * RUN_OPERATIONS)):
        folder = files.runs(many, operations)
        for path in folder.rglob("verdict.json"):
            path.unlink()
        found = measured("-c", _RUNS, folder, f"local[{cores or 2}]")
        say(
            f"{many} runs of {operations} operations",
            **_figures(found),
            wall_s=found["wall_s"],
            processor_s=found["processor_s"],
            peak_mib=found["peak_mib"],
        )


_RUNS: Final = """
import sys, time
from pathlib import Path
from framework.checking import spark
from framework.checking.engine import check_stored
from framework.checking.runs import find_runs, read_runs
began = time.monotonic()
read = read_runs(find_runs([Path(sys.argv[1])]))
print(f"read_s={time.monotonic() - began:.1f}")
with spark.running(sys.argv[2]) as session:
    began = time.monotonic()
    results = check_stored(session, read)
    print(f"check_s={time.monotonic() - began:.1f}")
print("verdicts=" + "/".join(sorted({each.verdict.value for each in results})))
"""

_FIXED: Final = """
import sys, time
began = time.monotonic()
from framework.checking import spark
from framework.checking.blocks import exchange
from framework.checking.keys import as_it_is
from benchmarks.check_scale import nothing
print(f"imports_s={time.monotonic() - began:.1f}")
began = time.monotonic()
with spark.running(sys.argv[1], large=sys.argv[2] == "large") as session:
    print(f"session_s={time.monotonic() - began:.1f}")
    for name in ("first_job_s", "second_job_s"):
        began = time.monotonic()
        exchange(session, [0, 1], nothing, {"": as_it_is})
        print(f"{name}={time.monotonic() - began:.1f}")
    began = time.monotonic()
print(f"end_s={time.monotonic() - began:.1f}")
"""


def _figures(found: dict[str, Any]) -> dict[str, str]:
    """What a program of ours printed, as name=figure."""
    if found["code"]:
        return {"failed": found["text"][-500:]}
    return dict(line.split("=", 1) for line in found["text"].split() if "=" in line)


def nothing(source: int) -> Iterator[tuple[str, int, Any]]:
    """A job of two rows."""
    import pyarrow as pa

    yield "", source, pa.table({"source": [source]})


def fixed(files: Files, most: int, cores: int) -> None:
    """What Spark costs before it does anything; and a small history without it."""
    for kind in ("small", "large"):
        found = measured("-c", _FIXED, f"local[{cores or 2}]", kind)
        say(f"Spark, for {kind} jobs", **_figures(found), processor_s=found["processor_s"])
    path = files.registers(10_000, 1_000, CLIENTS, ".jsonl")
    check("without Spark", path, "register", 0, operations=10_000)


PARTS: Final = {
    "fixed": fixed,
    "ingest": ingest,
    "register": register,
    "hot": hot,
    "log": log,
    "transactions": transactions,
    "runs": runs,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="check at scale")
    parser.add_argument("--most", type=int, default=10_000_000, help="operations of the largest")
    parser.add_argument("--cores", type=int, default=2, help="cores that Spark uses")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--fixed-cost", action="store_true", help="the same as --only fixed")
    parser.add_argument("--keep", type=Path, help="a folder for the histories")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="check-scale-") as scratch:
        folder = chosen.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ["fixed"] if chosen.fixed_cost else chosen.only:
            PARTS[name](Files(folder), chosen.most, chosen.cores)


if __name__ == "__main__":
    main()
