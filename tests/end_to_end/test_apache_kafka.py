"""A run against Apache Kafka, as it was released."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.end_to_end.runs import verdict_of

BY_CLIENTS = {"availability", "groups", "kafka-log", "observed-cluster", "partition-data"}
BY_DISKS = {
    "committed-never-lost",
    "identity-uniqueness",
    "isr-chain",
    "log-matching",
    "node-tells-the-truth",
    "one-leader-per-epoch",
    "replica-matching",
    "uncommitted-never-visible",
}


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
    plan = json.loads((next(tmp_path.glob("*/*/plan.json"))).read_text())
    assert plan["system"] == "kafka"
