"""The front door: the version, and what a shell may complete."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NoReturn

import pytest

from framework.cli import completion
from framework.cli.app import main
from framework.plugins import registry

ROOT = Path(__file__).parents[3]


def completed(where: Path, *words: str) -> list[str]:
    """How the last word may go on, as bash asks it of `kraft-proof`."""
    done = subprocess.run(
        [sys.executable, "-m", "framework"],
        cwd=where,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "COMP_WORDS": " ".join(["kraft-proof", *words]),
            "COMP_CWORD": str(len(words)),
            "_KRAFT_PROOF_COMPLETE": "complete_bash",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def stored_run(where: Path, name: str) -> None:
    folder = where / "results" / name
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{}")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kraft-proof {project['version']}\n"


class Unwritable(Exception):
    """As an error of Spark's whose session has ended."""

    def __str__(self) -> str:
        raise AssertionError


@pytest.mark.parametrize(
    ("error", "says"),
    [(ValueError("what was wrong"), "what was wrong"), (Unwritable(), "it ca")],
)
def test_what_fails_within_is_one_line(
    error: Exception,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("framework.cli.app.version_of", fail)
    assert main(["--version"]) == 255
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"framework: the framework failed: {type(error).__name__}: {says}")


def test_a_shell_completes_commands_options_and_runs(tmp_path: Path) -> None:
    stored_run(tmp_path, "topics/20260101T000000.000000Z-7")
    assert completed(tmp_path, "re") == ["replay"]
    assert completed(tmp_path, "run", "--nem") == ["--nemesis"]
    assert completed(tmp_path, "run", "--nemesis", "kill,par") == ["kill,partition"]
    assert completed(tmp_path, "check", "res") == [
        "results/topics/20260101T000000.000000Z-7",
    ]


def test_help_names_the_faults_that_are_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever packaged them: the engine knows none."""
    assert completion.listed("nemeses") == ", ".join(registry.names("nemeses"))
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["run", "--help"]) == 0
    assert f"Faults, by commas: {completion.listed('nemeses')}, all" in capsys.readouterr().out


def test_names_of_files_are_left_to_the_shell(tmp_path: Path) -> None:
    (tmp_path / "theirs.jsonl").write_text("")
    assert completed(tmp_path, "check", "the") == []


def test_what_was_named_before_is_not_offered_again() -> None:
    nemeses = completion.plugins("nemeses", "all")
    assert nemeses("p") == ["partition", "pause", "power"]
    assert nemeses("pause,p") == ["pause,partition", "pause,power"]
    assert nemeses("x") == []


def test_the_newest_run_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert completion.run("") == []
    for run in ("a/1", "a/2"):
        stored_run(tmp_path, run)
    (tmp_path / "results/latest").symlink_to(tmp_path / "results/a/2")
    assert completion.run("") == ["results/latest", "results/a/2", "results/a/1"]
    assert completion.run("other") == []


def interrupt(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


def test_who_presses_ctrl_c_in_a_check_is_told_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("framework.cli.check._check_runs", interrupt)
    assert main(["check", "."]) == 255
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("framework: interrupted before all was judged; ")
    assert line.endswith("and the same command goes on")
