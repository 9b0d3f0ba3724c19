"""Apache Kafka in containers, and on machines behind SSH that have nothing but Java."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.runs import ONE_WORKER, long_enough, verdict_of
from tests.framework.hosts.machines import machines

SURE = {
    "committed-never-lost",
    "faults-bit",
    "kafka-log",
    "log-matching",
    "node-tells-the-truth",
    "observed-cluster",
    "one-leader-per-epoch",
    "process-health",
}
"""Checkers that have enough to compare in a few seconds. Not partition-data, which wants every
replica in sync to give the last record: a follower that was cut off may hear of it many seconds
late, when its connection tries again (test_apache_kafka.py has it)."""
VALID = dict.fromkeys(SURE, "VALID")

WORKLOADS = "log:moves=false,isr"
"""Moves of partitions find something in Apache Kafka (docs/kafka.md)."""


def verdicts_of(results: Path, *more: str) -> dict[str, str]:
    """Checker -> its verdict, of a short run of three nodes that are broker and controller; of a
    longer one, where too little was done for what is sure."""

    def of(length_s: int) -> dict[str, str]:
        into = results / f"{length_s}s"
        asked = ("--nodes", "3", "--time-limit", str(length_s), "--seed", "7", *ONE_WORKER)
        argv = ["run", "--system", "kafka", "--results", str(into), "--workload", WORKLOADS, *asked]
        done = subprocess.run(
            [sys.executable, "-m", "framework", *argv, *more],
            capture_output=True,
            text=True,
            timeout=900,
        )
        folders = [path.parent for path in into.glob("*/*/verdict.json")]
        assert len(folders) == 1, done.stdout + done.stderr
        found: list[dict[str, Any]] = verdict_of(folders[0])["checkers"]
        verdicts = {each["name"]: each["verdict"] for each in found}
        assert "INVALID" not in verdicts.values(), done.stdout + done.stderr
        return {name: verdicts.get(name, "") for name in SURE}

    return long_enough(of, VALID.__eq__, 12, 30)


@pytest.mark.nightly
def test_in_containers_of_an_image_that_the_system_makes(tmp_path: Path) -> None:
    assert verdicts_of(tmp_path, "--hosts", "docker", "--nemesis", "pause") == VALID


def test_on_machines_behind_ssh_nothing_of_ours_is_needed_and_nothing_stays(tmp_path: Path) -> None:
    java = java_of_its_own(tmp_path / "java")
    with machines(tmp_path, {name: {} for name in ("x", "y", "z")}, having=[java]) as made:
        entries = (made.entry(name) for name in made.containers)
        asked = ("--hosts", "ssh", "--inventory", str(made.inventory(*entries)))
        more = (*asked, "--set", f"java_home={java}", "--nemesis", "partition")
        found = verdicts_of(tmp_path / "results", *more)
        left = {name: made.on(name, LEFT) for name in made.containers}
    assert found == VALID
    assert left == dict.fromkeys(left, "")


LEFT = "pgrep -a java; find / -xdev -name 'kafka*.jar' -o -xdev -name __cluster_metadata-0"


def java_of_its_own(folder: Path) -> Path:
    """This machine's Java, without links out of it: a system has some of its files elsewhere."""
    home = Path(str(shutil.which("java"))).resolve().parents[1]
    shutil.copytree(
        home,
        folder,
        ignore=shutil.ignore_patterns("legal", "man", "jmods", "include", "docs"),
        ignore_dangling_symlinks=True,
    )
    return folder
