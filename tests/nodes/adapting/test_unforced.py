"""What a node may lose with its power, by what lies in its directory."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from framework.plugins.host import Completed
from framework.plugins.system import Unforced
from nodes.adapting.unforced import unforced
from tests.nodes.kafka_files.batch_bytes import Given, by_kio

FIRST, SECOND = f"{0:020d}.log", f"{2:020d}.log"


def here(home: Path) -> Any:
    """This machine as a host."""

    def run(argv: Sequence[str], **_: object) -> Completed:
        done = subprocess.run(argv, capture_output=True, text=True)
        return Completed(done.returncode, done.stdout, done.stderr)

    return SimpleNamespace(workdir=str(home), run=run, read=lambda path: Path(path).read_bytes())


def test_the_last_segment_behind_what_was_forced(tmp_path: Path) -> None:
    one, other = by_kio(Given(0), Given(1)), by_kio(Given(2))
    logs = tmp_path / "data"
    for name, data in {
        f"log-0/{FIRST}": one,
        f"log-0/{SECOND}": other,
        f"log-1/{FIRST}": one + other,
        f"log-2/{FIRST}": b"",
        f"__cluster_metadata-0/{FIRST}": one,
        "recovery-point-offset-checkpoint": b"0\n2\nlog-1 0 9\nlog 1 2\n",
    }.items():
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        (logs / name).write_bytes(data)
    found = unforced(here(tmp_path), "data", {"__cluster_metadata-0"})
    assert list(found) == [
        Unforced(f"data/log-0/{SECOND}", 0, len(other), "log/0", [(0, 2), (len(other), 3)]),
        Unforced(
            f"data/log-1/{FIRST}",
            len(one),
            len(one + other),
            "log/1",
            [(0, 0), (len(one), 2), (len(one + other), 3)],
        ),
        Unforced(f"data/log-2/{FIRST}", 0, 0, "log/2", [(0, 0)]),
    ]
    everything = unforced(here(tmp_path), "data")
    assert {each.path for each in everything} - {each.path for each in found} == {
        f"data/__cluster_metadata-0/{FIRST}"
    }


def test_up_to_where_what_is_left_of_a_file_holds_its_log() -> None:
    file = Unforced("log", 10, 40, "log/0", [(0, 5), (10, 6), (40, 9)])
    assert [file.holds(size) for size in (0, 9, 10, 39, 40)] == [5, 5, 6, 6, 9]


def test_a_node_that_never_began_has_nothing_to_lose(tmp_path: Path) -> None:
    assert list(unforced(here(tmp_path), "data")) == []
