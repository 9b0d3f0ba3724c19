"""scripts/setup.sh against a machine made of stubs: what it installs, names, starts and skips."""

import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Every stub writes down how it was called. Files in $STATE say how the machine is.
LOG = 'echo "$(basename "$0") $*" >> "$STATE/calls"\n'
STUBS = {
    "id": 'cat "$STATE/uid"',
    "java": 'echo "openjdk version \\"$(cat "$STATE/java").0.1\\" 2025-01-01" >&2',
    "ip": "true",
    "nft": "true",
    "mmdebstrap": "true",
    "etcd": "true",
    "chromium": "true",
    "apt-cache": """if [[ "$2" == docker-cli || "$2" == "$(cat "$STATE/unknown")" ]]; then
    printf '%s:\\n  Candidate: (none)\\n' "$2"
else
    printf '%s:\\n  Candidate: 1.0\\n' "$2"
fi""",
    "apt-get": LOG
    + """if [[ "$1" == install && ! -e "$STATE/stuck" ]]; then echo 17 > "$STATE/java"; fi
if [[ "$*" == *"python3 "* ]]; then mv "$STATE/python3" "$(dirname "$0")"; fi""",
    "docker": '[[ -e "$STATE/engine" ]]',
    "service": LOG + "exit 1",
    "dockerd": LOG
    + 'if [[ -e "$STATE/broken" ]]; then echo "no cgroups"; else touch "$STATE/engine"; fi',
    "python3": LOG
    + """if [[ "$1" == -c && "$2" == *version_info* && -e "$STATE/old" ]]; then exit 1; fi
if [[ "$*" == *checkers.precompile* && -e "$STATE/uncompiled" ]]; then exit 1; fi
if [[ "$1 $2" == "-m venv" ]]; then
    mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
fi""",
}


@dataclass(frozen=True)
class Machine:
    project: Path
    state: Path
    path: str

    def have(self, **files: str) -> None:
        for name, text in files.items():
            (self.state / name).write_text(text)

    def setup(self, what: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": self.path,
            "STATE": str(self.state),
            "TMPDIR": str(self.state),
            "DOCKER_WAIT_S": "2",
        }
        command = [str(self.project / "scripts/setup.sh"), what]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    def calls(self) -> str:
        path = self.state / "calls"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine where nothing is missing but the virtual environment; its user is root."""
    project, state, stubs = tmp_path / "project", tmp_path / "state", tmp_path / "stubs"
    for folder in (project / "scripts", state, stubs):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/setup.sh", project / "scripts")
    (project / "pyproject.toml").write_text("[project]\n")
    os.utime(project / "pyproject.toml", (1_000_000_000, 1_000_000_000))
    for name, body in STUBS.items():
        (stubs / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (stubs / name).chmod(0o755)
    made = Machine(project, state, f"{stubs}:/usr/bin:/bin")
    made.have(uid="0", java="17", unknown="", engine="")
    return made


def test_installs_the_project_once(machine: Machine) -> None:
    first = machine.setup("run")
    assert first.returncode == 0, first.stderr
    assert "venv" in first.stderr
    assert "pip install -e '.'" in first.stderr
    assert "apt-get" not in machine.calls()
    second = machine.setup("run")
    assert (second.returncode, second.stderr) == (0, "")


def test_a_changed_pyproject_is_installed_again(machine: Machine) -> None:
    machine.setup("run")
    os.utime(machine.project / "pyproject.toml", (4_000_000_000, 4_000_000_000))
    assert "pip install" in machine.setup("run").stderr


def test_kernels_are_compiled_once_and_after_a_change(machine: Machine) -> None:
    sources = machine.project / "checkers/linearizability"
    sources.mkdir(parents=True)
    kernel = sources / "frontier.py"
    kernel.write_text("")
    os.utime(kernel, (1_000_000_000, 1_000_000_000))
    assert "compiling the checkers' kernels" in machine.setup("test").stderr
    assert "-m checkers.precompile --all" in machine.calls()
    assert "-m framework.checking.class_archive" in machine.calls()
    assert machine.setup("test").stderr == ""
    os.utime(kernel, (4_000_000_000, 4_000_000_000))
    again = machine.setup("test")
    assert "compiling" in again.stderr and "pip" not in again.stderr


def test_there_are_images_before_tests_and_they_are_made_once(machine: Machine) -> None:
    assert "images of containers" in machine.setup("test").stderr
    assert machine.calls().count("-m framework.hosts.docker kraft") == 1
    assert machine.setup("test").stderr == ""
    machine.setup("run")
    assert machine.calls().count("-m framework.hosts.docker kraft") == 1


def test_a_run_finds_the_kernels_that_it_needs(machine: Machine) -> None:
    """No more than those: compiling every method takes minutes. It is noted that they are."""
    kernel = machine.project / "checkers/frontier.py"
    kernel.parent.mkdir()
    kernel.write_text("")
    os.utime(kernel, (1_000_000_000, 1_000_000_000))
    assert "compiling the kernels of a run's check" in machine.setup("run").stderr
    calls = machine.calls().splitlines()
    compiled, noted = (
        calls.index(f"python -m {module}")
        for module in ("checkers.precompile", "framework.checking.precompile")
    )
    assert compiled < noted
    assert not [call for call in calls if "--all" in call or "class_archive" in call]
    assert machine.setup("run").stderr == ""
    os.utime(kernel, (4_000_000_000, 4_000_000_000))
    again = machine.setup("run")
    assert "compiling" in again.stderr and "pip" not in again.stderr


def test_a_run_without_compiled_kernels_goes_on(machine: Machine) -> None:
    machine.have(uncompiled="")
    done = machine.setup("run")
    assert done.returncode == 0
    assert "could not be compiled" in done.stderr
    assert "-m framework.checking.precompile" not in machine.calls(), "that it is done is not noted"
    assert "compiling" in machine.setup("run").stderr, "it is tried again"


def test_test_extras_do_for_run_but_not_the_other_way(machine: Machine) -> None:
    machine.setup("run")
    assert "'.[test]'" in machine.setup("test").stderr
    assert machine.setup("run").stderr == ""
    assert machine.setup("test").stderr == ""


def test_root_gets_missing_packages(machine: Machine) -> None:
    machine.have(java="11")
    done = machine.setup("run")
    assert done.returncode == 0, done.stderr
    assert "apt-get update" in machine.calls()
    assert "--no-install-recommends openjdk-17-jre-headless" in machine.calls()


def test_another_java_where_17_is_not_packaged(machine: Machine) -> None:
    machine.have(java="11", unknown="openjdk-17-jre-headless")
    assert machine.setup("run").returncode == 0
    assert "--no-install-recommends default-jre-headless" in machine.calls()


def test_ordinary_user_is_reported_what_is_missing(machine: Machine) -> None:
    machine.have(uid="1000", java="11")
    done = machine.setup("run")
    assert done.returncode != 0
    assert "As root: apt-get install openjdk-17-jre-headless" in done.stderr
    assert "apt-get" not in machine.calls()
    assert not (machine.project / ".venv").exists()


def test_tests_get_a_browser_where_there_is_none(machine: Machine) -> None:
    stubs = Path(machine.path.partition(":")[0])
    (stubs / "chromium").rename(stubs / "google-chrome")
    assert machine.setup("test").returncode == 0
    assert "apt-get" not in machine.calls()
    (stubs / "google-chrome").unlink()
    without = replace(machine, path=f"{stubs}:{tools_without(machine.state, 'chromium')}")
    assert without.setup("run").returncode == 0
    assert "apt-get" not in machine.calls()
    without.setup("test")  # the stub of apt-get installs none
    assert "--no-install-recommends chromium" in machine.calls()


def tools_without(folder: Path, missing: str) -> Path:
    """The machine's own tools, but for one."""
    tools = folder / "tools"
    tools.mkdir()
    for tool in (*Path("/usr/bin").iterdir(), *Path("/bin").iterdir()):
        if not tool.name.startswith(missing) and not (tools / tool.name).exists():
            (tools / tool.name).symlink_to(tool)
    return tools


def test_a_package_that_does_not_help_is_a_failure(machine: Machine) -> None:
    machine.have(java="11", stuck="")
    done = machine.setup("run")
    assert done.returncode != 0
    assert "still missing after apt-get install: openjdk-17-jre-headless" in done.stderr


def test_run_needs_no_docker(machine: Machine) -> None:
    (machine.state / "engine").unlink()
    assert machine.setup("run").returncode == 0
    assert "dockerd" not in machine.calls()


def test_docker_is_started_for_tests(machine: Machine) -> None:
    (machine.state / "engine").unlink()
    done = machine.setup("test")
    assert done.returncode == 0, done.stderr
    assert "service docker start" in machine.calls()
    assert "dockerd" in machine.calls()
    assert (machine.state / "kraft-proof-dockerd.log").exists()


def test_docker_that_does_not_start_is_a_failure(machine: Machine) -> None:
    (machine.state / "engine").unlink()
    machine.have(broken="")
    done = machine.setup("test")
    assert done.returncode != 0
    assert "dockerd does not answer" in done.stderr
    assert "no cgroups" in done.stderr


def test_ordinary_user_without_an_engine_is_reported(machine: Machine) -> None:
    (machine.state / "engine").unlink()
    machine.have(uid="1000")
    done = machine.setup("test")
    assert done.returncode != 0
    assert "no Docker engine answers" in done.stderr
    assert "dockerd" not in machine.calls()


def test_a_machine_without_python_gets_one(machine: Machine, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not tool.name.startswith("python"):
            (tools / tool.name).symlink_to(tool)
    stubs = Path(machine.path.partition(":")[0])
    (stubs / "python3").rename(machine.state / "python3")
    bare = replace(machine, path=f"{stubs}:{tools}")
    done = bare.setup("run")
    assert done.returncode == 0, done.stderr
    assert "--no-install-recommends python3 python3-venv" in machine.calls()
    assert "pip install -e '.'" in done.stderr


def test_old_python(machine: Machine) -> None:
    machine.have(old="")
    done = machine.setup("run")
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr


def test_usage(machine: Machine) -> None:
    assert "usage:" in machine.setup("nonsense").stderr
