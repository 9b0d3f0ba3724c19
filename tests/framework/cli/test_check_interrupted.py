"""A check of many runs: it tells how far it is, and what was judged when it ends early stays so."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from benchmarks.long_run import EVENTS, make
from framework.cli import check as checking
from framework.verdict import Verdict

RUNS = 40


def runs_in(folder: Path) -> Path:
    """Copies, none of which is sealed or judged."""
    first = folder / "0"
    first.mkdir(parents=True)
    make(first, 5 * EVENTS)
    for number in range(1, RUNS):
        shutil.copytree(first, folder / str(number))
    return folder


@retry(
    retry=retry_if_result(lambda count: not count),
    stop=stop_after_delay(120),
    wait=wait_fixed(0.02),
)
def judged(folder: Path) -> int:
    return len(list(folder.glob("*/verdict.json")))


def command(folder: Path, env: Mapping[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "framework", "check", str(folder), "--spark-master", "local[2]"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_is_judged_when_a_check_is_interrupted_is_not_judged_again(tmp_path: Path) -> None:
    folder = runs_in(tmp_path / "runs")
    process = command(folder, os.environ)
    try:
        first = judged(folder)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert "interrupted before all was judged" in told and "Traceback" not in told
    assert process.returncode == 255
    kept = judged(folder)
    assert 0 < first <= kept < RUNS
    out, told = command(folder, os.environ).communicate(timeout=300)
    assert f"{kept} of {RUNS} runs were judged before" in told
    assert judged(folder) == RUNS == sum(not line.startswith(" ") for line in out.splitlines())


def test_it_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(checking, "monotonic", lambda: now[0])
    news = checking._News(4)
    for at, verdict in ((105, Verdict.VALID), (111, Verdict.INVALID), (112, Verdict.VALID)):
        now[0] = at
        news.add(verdict)
    assert capsys.readouterr().err == ("framework: 2 of 4 runs are judged: 1 VALID, 1 INVALID\n")
    now[0] = 122
    news.add(Verdict.VALID)
    assert "4 of 4 runs are judged: 3 VALID, 1 INVALID" in capsys.readouterr().err
    alone = checking._News(1)
    now[0] = 200
    alone.add(Verdict.VALID)
    assert capsys.readouterr().err == ""
