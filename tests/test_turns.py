"""Who needs the machine alone has it alone."""

import threading
from pathlib import Path
from subprocess import PIPE, Popen
from sys import executable
from tempfile import gettempdir

import pytest

from tests.turns import Turns

TURN = """
import sys
from tests.turns import Turns
turns = Turns.of(sys.argv[2])
with turns.shared():
    print("shared", flush=True)
    if sys.argv[1] == "alone":
        with turns.alone():
            print("alone", flush=True)
            sys.stdin.readline()
    sys.stdin.readline()
"""


def worker(run: str, how: str) -> "Popen[str]":
    return Popen(
        [executable, "-c", TURN, how, run],
        stdin=PIPE,
        stdout=PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )


def says(process: "Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: "Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("others", [1, 2])
def test_who_needs_the_machine_alone_waits_for_others_and_lets_nobody_in(
    others: int, tmp_path: Path
) -> None:
    run = f"{tmp_path.name}-{others}"
    sharing = [worker(run, "shared") for _ in range(others)]
    assert [says(each) for each in sharing] == ["shared"] * others, "beside each other"
    one = worker(run, "alone")
    assert says(one) == "shared"
    heard: list[str] = []
    waiting = threading.Thread(target=lambda: heard.append(says(one)))
    waiting.start()
    for each in sharing:
        assert not heard
        go(each)
        each.wait()
    waiting.join()
    assert heard == ["alone"]
    late = worker(run, "shared")
    coming = threading.Thread(target=lambda: heard.append(says(late)))
    coming.start()
    assert heard == ["alone"], "nobody comes in"
    go(one)
    coming.join()
    assert heard == ["alone", "shared"]
    for each in (one, late):
        go(each)
        assert each.wait() == 0
    Turns.of(run).leave()
    assert not list(Path(gettempdir()).glob(f"*turns-{run}"))
