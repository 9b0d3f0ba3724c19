"""When no thread of a node's Java ran, as evidence: of which process, and when by the harness."""

import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from framework.evidence.clocks import UNKNOWN_NS, Clocks
from framework.evidence.kinds import disk_of
from framework.evidence.processes import ProcessEnded, Stalled
from nodes.disk_evidence.disk import TOLD_NS
from nodes.kafka import java, software
from nodes.kafka.disk import KEPT, METADATA, PAUSES, left_on_disk
from nodes.kafka.formatting import TOOL
from nodes.kafka.system import KafkaSystem
from nodes.kafka_files.java_pauses import read_pauses

S, MS = 10**9, 10**6
BEGAN_NS: Final = 7_000 * S
FIRST, SECOND = "java-2026-11-28_04-27-09", "java-2026-11-28_04-27-25"
ON_ONE_MACHINE: Final[Mapping[str, Any]] = {"time_zero_ns": BEGAN_NS + 5 * S, "hosts": "docker"}


def pause(at_s: float, ms: float, operation: str = "Cleanup") -> str:
    """Of a Java that began 5 s before the run did."""
    return (
        f"[2026-11-28T04:22:52.661+0000][{at_s:.3f}s][{BEGAN_NS + round(at_s * S)}ns][safepoint] "
        f'Safepoint "{operation}", Time since last: 1 ns, Total: {round(ms * MS)} ns\n'
    )


def home_of(folder: Path, name: str = "b1") -> Path:
    home = folder / "nodes" / name
    (home / METADATA).mkdir(parents=True)
    return home


def pauses(folder: Path, plan: Mapping[str, Any] = ON_ONE_MACHINE) -> list[Stalled]:
    return [each for each in left_on_disk(folder, Clocks.of(plan)) if isinstance(each, Stalled)]


def test_a_pause_has_a_time_of_the_harness(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    (home / f"{FIRST}.log").write_text(pause(6.5, 1_200, "GenCollectFull"))
    (found,) = pauses(tmp_path)
    assert (found.at_ns, found.within_ns, found.lasted_ns) == (1_500 * MS, 0, 1_200 * MS)
    assert (found.node, found.source, found.part) == ("b1", "disk", "Java (GenCollectFull)")
    assert found.ref == f"nodes/b1/{FIRST}.log:1"


def test_a_machine_of_its_own_has_a_clock_of_its_own(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    (home / f"{FIRST}.log").write_text(pause(6.5, 1_200))
    clock = {"b1": {"samples": [{"offset_ns": 2 * S, "within_ns": 3 * MS}]}}
    (found,) = pauses(tmp_path, {**ON_ONE_MACHINE, "clocks": clock})
    assert (found.at_ns, found.within_ns) == (-500 * MS, 3 * MS)
    (found,) = pauses(tmp_path, {**ON_ONE_MACHINE, "clocks": {}})
    assert found.within_ns == UNKNOWN_NS


def test_each_process_has_its_own(tmp_path: Path) -> None:
    """The files of the former one are still there when the next one has ended; what it wrote last
    was not whole when they were copied."""
    home = home_of(tmp_path)
    kept = home / "kept" / "1"
    (kept / METADATA).mkdir(parents=True)
    (kept / f"{FIRST}.log").write_text(pause(6, 20) + pause(7, 300)[:-9])
    shutil.copy(kept / f"{FIRST}.log", home)
    (home / f"{SECOND}.log").write_text(pause(30, 40))
    (home / f"{SECOND}.log.0").write_text(pause(20, 50) + pause(21, 60))
    (home / "process.json").write_text('{"exit_code": 0}')
    found = pauses(tmp_path)
    assert [(each.incarnation, each.lasted_ns // MS) for each in found] == [
        ("1", 20),
        ("2", 50),
        ("2", 60),
        ("2", 40),
    ]
    places = [each.place for each in left_on_disk(tmp_path)]
    assert places == sorted(places) and len({*places}) == len(places)
    assert [each.process for each in left_on_disk(tmp_path) if isinstance(each, ProcessEnded)] == [
        2
    ]


def test_short_pauses_are_not_told_but_the_longest_is(tmp_path: Path) -> None:
    """So that it is known of each process that it wrote them down."""
    home = home_of(tmp_path)
    (home / f"{FIRST}.log").write_text(pause(6, 1) + pause(7, 3) + pause(8, 2))
    assert [each.lasted_ns for each in pauses(tmp_path)] == [3 * MS]
    (home / f"{FIRST}.log").write_text(pause(6, 1) + pause(7, 10) + pause(8, 12) + pause(9, 9.9))
    assert [each.lasted_ns for each in pauses(tmp_path)] == [TOLD_NS, 12 * MS]


def test_a_broker_beside_the_clusters_own_is_told_by_its_own_name(tmp_path: Path) -> None:
    home = home_of(tmp_path, "b1/extra/301a")
    (home / f"{FIRST}.log").write_text(pause(6, 30))
    clock = {"b1": {"samples": [{"offset_ns": S, "within_ns": MS}]}}
    (found,) = pauses(tmp_path, {**ON_ONE_MACHINE, "clocks": clock})
    assert (found.node, found.at_ns, found.within_ns) == ("g301a", 0, MS), "its host's clock"


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"[1.000s][1ns] Safepoint"])
def test_a_log_that_is_none_is_of_no_pause(tmp_path: Path, data: bytes) -> None:
    (home_of(tmp_path) / f"{FIRST}.log").write_bytes(data)
    assert not pauses(tmp_path)


def test_nodes_leave_it_and_it_is_kept() -> None:
    assert PAUSES in KEPT
    system = KafkaSystem()
    for found in (system.capabilities, system.capabilities_with(system.layout("3"), {})):
        assert disk_of(Stalled) <= found


def test_a_java_writes_them_where_it_is_told_to(tmp_path: Path) -> None:
    """In a directory with all that the flag's own syntax has; by the clock of this machine."""
    folder = tmp_path / "a:b,c=d" / "+e f"
    folder.mkdir(parents=True)
    libs = software.asked_for({}).libs
    flags = ["-Xmx32m", "-Xmn1m", java.pauses(str(folder))]  # so little that much is collected
    argv = java.tool(java.command({}), libs, TOOL, "random-uuid", flags=flags)
    before_ns = time.monotonic_ns()
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob(PAUSES)
    found = read_pauses(path.read_bytes())
    assert sum("Collect" in name for name in found["operation"].to_pylist()) >= 3
    ended_ns = found["ended_ns"].to_pylist()
    assert before_ns < min(ended_ns) <= max(ended_ns) < time.monotonic_ns()
