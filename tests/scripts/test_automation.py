"""The Makefile, .ci/run and the workflows: they parse, and they agree with each other."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github/workflows"


def workflow(name: str) -> dict[str, Any]:
    found = yaml.safe_load((WORKFLOWS / name).read_text())
    found["on"] = found.pop(True)  # YAML 1.1 reads `on` as true
    return dict(found)


def steps(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in found["jobs"].values() for step in job["steps"]]


def dry_run(*arguments: str) -> str:
    command = ["make", "--dry-run", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout


def test_ci_runs_what_a_newcomer_runs() -> None:
    found = workflow("ci.yml")
    assert {"push", "pull_request"} <= set(found["on"])
    assert any(step.get("run") == ".ci/run" for step in steps(found))
    assert "make test" in (ROOT / ".ci/run").read_text()


def test_what_runs_a_cluster_prepares_its_machine_by_the_one_action() -> None:
    """A machine is described in one place; what only simulates needs Python alone."""
    action = yaml.safe_load((ROOT / ".github/actions/machine/action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert "uses" in step or step["shell"] == "bash", "a composite action's command needs one"
    commands = "".join(step.get("run", "") for step in action["runs"]["steps"])
    assert {"iproute2", "nftables", "mmdebstrap"} <= set(commands.split())
    prepared = {
        name
        for file in ("ci.yml", "nightly.yml")
        for name, job in workflow(file)["jobs"].items()
        if any(step.get("uses") == "./.github/actions/machine" for step in job["steps"])
    }
    assert prepared == {"test", "run", "tests"}


def test_nightly_covers_nemeses_hosts_and_seeds() -> None:
    found = workflow("nightly.yml")
    assert {"schedule", "workflow_dispatch"} <= set(found["on"])
    strategy = found["jobs"]["run"]["strategy"]
    assert strategy["fail-fast"] is False
    matrix = strategy["matrix"]
    assert set(matrix["nemesis"]) == {"partition", "pause", "kill", "partition,pause,kill"}
    assert set(matrix["hosts"]) == {"docker", "namespaces"}
    assert len(matrix["round"]) > 1


def test_nightly_keeps_what_it_finds_also_when_it_fails() -> None:
    (run,) = [step for step in steps(workflow("nightly.yml")) if step.get("name") == "Run"]
    for option in ("--nemesis", "--hosts", "--seed", "--junit junit.xml", "--results results"):
        assert option in run["run"]
    assert "continue-on-error" not in run
    uploads = [step for step in steps(workflow("nightly.yml")) if "upload" in step.get("uses", "")]
    (upload,) = uploads
    assert upload["if"] == "always()"
    assert {"junit.xml", "results"} <= set(upload["with"]["path"].split())


def test_nightly_simulates_seeds_that_no_night_had_before() -> None:
    (step,) = [each for each in steps(workflow("nightly.yml")) if each.get("name") == "Simulate"]
    assert "-m nodes.kraft.simulation" in step["run"] and "GITHUB_RUN_NUMBER" in step["run"]


def test_a_night_runs_the_tests_that_a_day_leaves_out() -> None:
    """By the mark; without one on the command line pytest takes all others."""
    commands = [each.get("run", "") for each in steps(workflow("nightly.yml"))]
    assert any("make test" in each and "-m nightly" in each for each in commands)
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert "-m 'not nightly'" in options["addopts"]


def test_make_run_has_a_default_and_takes_arguments() -> None:
    assert "-m framework run --nemesis partition\n" in dry_run("run")
    assert "-m framework run --nemesis kill --seed 3\n" in dry_run(
        "run", "ARGS=--nemesis kill --seed 3"
    )


def test_make_test_runs_everything() -> None:
    commands = dry_run("test")
    assert "scripts/setup.sh test" in commands
    for tool in ("ruff check .", "ruff format --check .", "mypy", "pytest"):
        assert tool in commands


@pytest.mark.parametrize("code", [0, 2])
def test_ci_prints_the_closing_line_last(tmp_path: Path, code: int) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci/run").write_text((ROOT / ".ci/run").read_text())
    closing = "===== 2 failed, 310 passed in 92.41s (0:01:32) ====="
    (tmp_path / "Makefile").write_text(
        f"test:\n\t@echo '===== test session starts ====='\n\t@echo '{closing}'\n"
        f"\t@echo 'something later'\n\t@exit {code}\n"
    )
    done = subprocess.run(
        ["bash", str(tmp_path / ".ci/run")], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == closing
