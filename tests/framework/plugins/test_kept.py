"""What a process left is copied as it was, once, and within bounds."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from framework.plugins.host import CommandFailed, Completed
from framework.plugins.kept import conclude, keep
from framework.plugins.kept_there import keep as keep_there
from framework.plugins.system import Cluster, NodeSpec, System

PATTERNS: Final = ("data/*.log", "data/*")
MUCH: Final = 1 << 20


class Machine:
    """This one, as far as copies go."""

    name = "n1"
    python = sys.executable

    def __init__(self, home: Path, alive: bool = False) -> None:
        self.workdir = str(home)
        self._alive = alive

    def exit_code(self, pid: int) -> int | None:
        return -9

    def alive(self, pid: int) -> bool:
        return self._alive

    def run(self, argv: list[str]) -> Completed:
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise CommandFailed(done.stderr)
        return Completed(0, done.stdout, "")

    def write(self, path: str, data: bytes) -> None:
        Path(path).write_bytes(data)

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.log").write_text("aa")
    (tmp_path / "data" / "state").write_text("one")
    (tmp_path / "node.log").write_text("chatter")
    return tmp_path


def copied(home: Path, number: int) -> dict[str, str]:
    root = home / "kept" / str(number)
    found = (each for each in root.rglob("*") if each.is_file() and each.name != "process.json")
    return {str(each.relative_to(root)): each.read_text() for each in found}


def reported(home: Path, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "kept" / str(number) / "process.json").read_text())
    return found


def test_copy_is_what_was_there(home: Path) -> None:
    keep_there(str(home), "7", "-9", MUCH, PATTERNS)
    (home / "data" / "a.log").write_text("a")
    (home / "data" / "state").unlink()
    assert copied(home, 1) == {"data/a.log": "aa", "data/state": "one"}
    assert (
        reported(home, 1)["process"],
        reported(home, 1)["pid"],
        reported(home, 1)["exit_code"],
    ) == (
        1,
        7,
        -9,
    )


def test_each_process_has_a_copy_of_its_own(home: Path) -> None:
    keep_there(str(home), "7", "", MUCH, PATTERNS)
    (home / "data" / "a.log").write_text("other")
    keep_there(str(home), "8", "0", MUCH, PATTERNS)
    assert copied(home, 1)["data/a.log"] == "aa"
    assert copied(home, 2) == {"data/a.log": "other", "data/state": "one"}
    assert reported(home, 1)["exit_code"] is None and reported(home, 2)["exit_code"] == 0


def test_what_did_not_change_is_kept_once(home: Path) -> None:
    for _ in range(3):
        keep_there(str(home), "7", "", MUCH, PATTERNS)
    first, third = (home / "kept" / number / "data" / "state" for number in "13")
    assert first.stat().st_ino == third.stat().st_ino
    assert reported(home, 3)["spent_bytes"] == len("aa") + len("one")


def test_cost_is_bounded_and_said(home: Path) -> None:
    keep_there(str(home), "7", "", 4, PATTERNS)
    assert copied(home, 1) == {"data/a.log": "aa"}  # the first pattern's
    assert reported(home, 1)["left_out"] == ["data/state"]
    (home / "data" / "a.log").write_text("aab")
    keep_there(str(home), "8", "", 4, PATTERNS)
    assert reported(home, 2)["left_out"] == ["data/a.log", "data/state"]


def test_copy_that_was_cut_short_is_none(home: Path) -> None:
    (home / "kept" / ".unfinished").mkdir(parents=True)
    (home / "kept" / ".unfinished" / "half").write_text("x")
    keep_there(str(home), "7", "", MUCH, PATTERNS)
    assert set(copied(home, 1)) == {"data/a.log", "data/state"}
    assert not (home / "kept" / ".unfinished").exists()


def test_machine_does_it_by_itself(home: Path) -> None:
    machine: Any = Machine(home)
    keep(machine, str(home), PATTERNS, 7)
    assert copied(home, 1) == {"data/a.log": "aa", "data/state": "one"}
    assert reported(home, 1)["exit_code"] == -9


@pytest.mark.parametrize(
    ("pid", "alive", "expected"),
    [
        (7, False, {"pid": 7, "ended": True, "exit_code": -9}),
        (7, True, {"pid": 7, "ended": False, "exit_code": None}),
        (None, False, {"pid": None, "ended": False, "exit_code": None}),
    ],
)
def test_end_of_the_last_process(home: Path, pid: int, alive: bool, expected: object) -> None:
    machine: Any = Machine(home, alive=alive)
    conclude(machine, str(home), pid)
    assert json.loads((home / "process.json").read_text()) == expected


def test_no_node_stays_down_for_it(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "kept").write_text("no directory")
    machine: Any = Machine(home)
    keep(machine, str(home), PATTERNS, 7)
    assert "could not be kept" in caplog.text


class Storing(System):
    """Its nodes' processes write what they find, and one letter more."""

    name = "storing"

    def start(self, cluster: Cluster, node: str) -> int:
        path = Path(cluster.host(node).workdir) / "data" / "a.log"
        path.write_text(path.read_text() + "b")
        return 7

    def keeps(self, cluster: Cluster, node: str) -> tuple[str, ...]:
        return PATTERNS


def test_cluster_keeps_before_it_starts_again(home: Path) -> None:
    fleet: Any = SimpleNamespace(hosts={"n1": Machine(home)})
    node = NodeSpec(name="n1", roles=frozenset({"node"}), ports={})
    cluster = Cluster(system=Storing(), fleet=fleet, nodes={"n1": node}, seed=1)
    cluster.start("n1")
    assert not (home / "kept").exists(), "nothing ran before"
    cluster.start("n1")
    cluster.start("n1")
    assert [copied(home, number)["data/a.log"] for number in (1, 2)] == ["aab", "aabb"]
