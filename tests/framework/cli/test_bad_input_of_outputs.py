"""Arguments that would only fail after a run, or start what cannot work: refused first."""

import json
from pathlib import Path

import pytest

from framework.cli.app import main


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 254
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    return line


def a_history(folder: Path) -> str:
    path = folder / "h.jsonl"
    path.write_text('{"type":"invoke","process":0,"f":"read","key":"x"}\n')
    return str(path)


@pytest.mark.parametrize("master", ["foo", "local[", "local[x]", ""])
def test_spark_master_that_is_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, master: str
) -> None:
    out = str(tmp_path / "results")
    assert "--spark-master" in refused(capsys, "run", "--results", out, "--spark-master", master)
    check = ("check", "--model", "register", a_history(tmp_path))
    assert "--spark-master" in refused(capsys, *check, "--spark-master", master)


def test_junit_file_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "results")
    check = ("check", "--model", "register", a_history(tmp_path))
    for target in (str(tmp_path), str(tmp_path / "h.jsonl" / "junit.xml")):
        assert "--junit" in refused(capsys, "run", "--results", out, "--junit", target)
        assert "--junit" in refused(capsys, *check, "--junit", target)


@pytest.mark.parametrize("asked", [["--live"], ["--fail-fast"], ["--junit", "junit.xml"]])
def test_what_needs_a_verdict_of_a_run_that_has_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, asked: list[str]
) -> None:
    out = ("--results", str(tmp_path / "results"))
    assert f"{asked[0]} needs a verdict" in refused(capsys, "run", *out, "--no-check", *asked)


def test_up_starts_nothing_for_what_it_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--bogus" in refused(capsys, "up", "--bogus")
    assert "no-such-command" in refused(capsys, "up", "--", "no-such-command", "--flag")


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 1, "rate": "fast"},
        {"seed": 1, "nemesis": None},
        {"seed": 1, "nemesis": ["kill"]},
        {"seed": "x"},
        {"seed": 1, "keep": 3},
        {"seed": True},
    ],
)
def test_replay_of_nonsense(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: dict[str, object]
) -> None:
    (tmp_path / "plan.json").write_text(json.dumps({"options": options}))
    assert str(tmp_path) in refused(capsys, "replay", str(tmp_path))


@pytest.mark.parametrize("zero", [None, "x", 1.5])
def test_run_that_never_began(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, zero: object
) -> None:
    plan = {"seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": zero}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "history.jsonl").write_text("")
    assert "time_zero_ns" in refused(capsys, "check", str(tmp_path))


def test_name_of_the_link_to_the_newest_run(tmp_path: Path) -> None:
    from framework.errors import UsageError
    from framework.run import store

    with pytest.raises(UsageError, match="latest"):
        store.create(tmp_path, "latest", 1)
    with pytest.raises(UsageError, match="outcomes"):
        store.create(tmp_path, "outcomes", 1)
