"""A run against Apache Kafka, as it was released."""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from crc32c import crc32c

from nodes.kafka.releases import newest
from nodes.kafka_files.batches import scan
from tests.end_to_end.runs import verdict_of

BY_CLIENTS = {"availability", "groups", "kafka-log", "observed-cluster", "partition-data"}
BY_DISKS = {
    "committed-never-lost",
    "identity-uniqueness",
    "isr-chain",
    "log-matching",
    "metadata-cache",
    "node-tells-the-truth",
    "one-leader-per-epoch",
    "replica-matching",
    "uncommitted-never-visible",
    "voter-durability",
}
METADATA_LOG = "nodes/c2/data/__cluster_metadata-0/00000000000000000000.log"


def run(results: Path, *more: str) -> dict[str, Any]:
    """The verdict, and beside it the exit code and what was said."""
    argv = ["run", "--system", "kafka", "--hosts", "namespaces", "--results", str(results), *more]
    done = subprocess.run(
        [sys.executable, "-m", "framework", *argv], capture_output=True, text=True, timeout=900
    )
    (folder,) = (path.parent for path in results.glob("*/*/verdict.json"))
    return verdict_of(folder) | {"code": done.returncode, "said": done.stdout + done.stderr}


def test_a_healthy_cluster_is_valid_by_clients_and_by_its_disks(tmp_path: Path) -> None:
    """Logs and groups, without the topics workload: that finds something in Apache Kafka."""
    asked = ("--nemesis", "partition", "--workload", "log,groups", "--time-limit", "20")
    found = run(tmp_path, *asked, "--seed", "3")
    assert found["code"] == 0, found["said"]
    verdicts = {each["name"]: each["verdict"] for each in found["checkers"]}
    assert {name: verdicts.get(name) for name in BY_CLIENTS | BY_DISKS} == dict.fromkeys(
        BY_CLIENTS | BY_DISKS, "VALID"
    )
    (folder,) = (path.parent for path in tmp_path.glob("*/*/plan.json"))
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["system"] == "kafka"
    assert plan["versions"]["Apache Kafka"] == newest()
    controls(folder, tmp_path)


def controls(folder: Path, into: Path) -> None:
    """An answer, a record and the end of a log that are not what they were, each in a copy."""
    copies = {
        another_offset: {"kafka-log", "partition-data"},
        another_record: {"log-matching", "identity-uniqueness"},
        half_a_log: {"voter-durability"},
    }
    paths = []
    for falsify in copies:
        paths.append(into / falsify.__name__)
        shutil.copytree(folder, paths[-1], ignore=shutil.ignore_patterns("sealed", "verdict.json"))
        falsify(paths[-1])
    argv = [sys.executable, "-m", "framework", "check", "--again", *map(str, paths)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=900)
    assert done.returncode == 1, done.stdout + done.stderr
    for path, expected in zip(paths, copies.values(), strict=True):
        found = verdict_of(path)["checkers"]
        wrong = {each["name"] for each in found if each["verdict"] == "INVALID"}
        assert expected <= wrong, (path.name, wrong)


def another_offset(folder: Path) -> None:
    """An acknowledged record is said to be where the one before it is."""
    path, before = folder / "history.jsonl", dict[str, int]()
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        event = json.loads(line)
        if event["type"] != "ok" or event["f"] != "produce" or event["value"]["acks"] != "all":
            continue
        if event["key"] in before:
            event["value"]["offset"] = before[event["key"]]
            lines[number] = json.dumps(event)
            break
        before[event["key"]] = event["value"]["offset"]
    else:
        raise AssertionError("no partition was produced to twice")
    path.write_text("\n".join(lines) + "\n")


def another_record(folder: Path) -> None:
    """A batch of a controller's log has another last byte, and the checksum of that."""
    path = folder / METADATA_LOG
    data = bytearray(path.read_bytes())
    batch = middle(data)
    start, end = batch["position"], batch["position"] + batch["size"]
    data[end - 2] ^= 1
    data[start + 17 : start + 21] = struct.pack(">I", crc32c(bytes(data[start + 21 : end])))
    path.write_bytes(bytes(data))


def half_a_log(folder: Path) -> None:
    """A controller's log ends in the middle of what it had."""
    path = folder / METADATA_LOG
    data = path.read_bytes()
    path.write_bytes(data[: middle(data)["position"]])
    for snapshot in path.parent.glob("*.checkpoint"):
        snapshot.unlink()


def middle(data: bytes | bytearray) -> dict[str, Any]:
    batches: list[dict[str, Any]] = scan(bytes(data)).sound.to_pylist()
    return next(each for each in batches[len(batches) // 2 :] if not each["control"])
