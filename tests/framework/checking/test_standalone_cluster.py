"""A standalone cluster of Spark, a master and two workers on loopback: our code travels there.

The workers' Python has nothing of the project, but links to the libraries that it asks for.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution, requires
from pathlib import Path
from typing import Any

import pyspark
import pytest
from packaging.requirements import Requirement

from framework.checking import spark as spark_session
from framework.checking.class_archive import sharing
from framework.checking.engine import check_runs
from framework.checking.libraries import LIBRARIES
from framework.checking.shipping import package_zip
from framework.errors import UsageError
from framework.plugins import registry

ROOT = Path(__file__).parents[3]
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
SHORT_LIVED = {"JDK_JAVA_OPTIONS": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {sharing()}"}
"""For the JVMs of a cluster, seven and more on two cores: none lives long enough for more."""


BLIND = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
BLIND += ['mount -t tmpfs none "$0" && exec "$@"']


class Cluster:
    """Its processes, each ended by its id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "workers"
        self.scratch.mkdir()
        self.hidden = folder / "hidden"
        """From the second worker, which has another folder there."""
        self.hidden.mkdir()
        self.processes: list[subprocess.Popen[bytes]] = []
        log = self._start("master", "master.Master", "--port", "0")
        self.address = self._said(log, r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            work = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
            blind = [*BLIND, str(self.hidden)] if name == "two" else []
            log = self._start(name, "worker.Worker", *work, self.address, within=blind)
            self._said(log, r"(Successfully registered) with master")

    def _start(self, name: str, what: str, *arguments: str, within: Sequence[str] = ()) -> Path:
        log = self.folder / f"{name}.log"
        host = ("--host", "127.0.0.1", "--webui-port", "0")
        python_path = {"PYTHONPATH", "PYSPARK_PYTHON"}
        with log.open("wb") as file:
            self.processes.append(
                subprocess.Popen(
                    [*within, SPARK_CLASS, f"org.apache.spark.deploy.{what}", *host, *arguments],
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                    env={key: value for key, value in os.environ.items() if key not in python_path}
                    | SHORT_LIVED
                    | {
                        "SPARK_LOCAL_IP": "127.0.0.1",
                        "SPARK_DAEMON_MEMORY": "256m",
                        "TMPDIR": str(self.scratch),
                    },
                    start_new_session=True,
                )
            )
        return log

    def _said(self, log: Path, pattern: str) -> str:
        patience = time.monotonic() + 90
        while (found := re.search(pattern, log.read_text())) is None:
            assert time.monotonic() < patience, log.read_text()[-2_000:]
            assert self.processes[-1].poll() is None, log.read_text()[-2_000:]
            time.sleep(0.1)
        return found[1]

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def needed(*names: str) -> set[str]:
    """Distributions, and what they need."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for each in requires(name) or ():
            requirement = Requirement(each)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of this version with numpy, pyarrow, numba and pandas."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    [packages] = folder.glob("lib/python3*/site-packages")
    for name in needed(*LIBRARIES, "pandas"):
        tops = {file.parts[0] for file in distribution(name).files or () if ".." not in file.parts}
        for top in tops - {"__pycache__"}:
            (packages / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    python = folder / "bin" / "python"
    program = "import numba, pandas, pyarrow\nimport framework"
    tried = subprocess.run([python, "-c", program], capture_output=True, text=True, cwd=folder)
    assert "No module named 'framework'" in tried.stderr
    return python


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.end()


def write_history(path: Path, stale: bool) -> Path:
    """Registers of unique values, one after another; with `stale`, one reads an old value."""
    lines = []
    for number in range(300):
        key = f"k{number % 7}"
        for f, value in (
            ("write", number),
            ("read", number - 7 if stale and number == 250 else number),
        ):
            event = {"process": number % 3, "f": f, "key": key}
            lines.append({**event, "type": "invoke"} | ({"value": value} if f == "write" else {}))
            lines.append({**event, "type": "ok"} | ({"value": value} if f == "read" else {}))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def framework(
    *arguments: str | Path, python: str | Path, path: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """`python` is that of the workers, `path` where the caller has plugins of his own."""
    places = os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "framework", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        env={**os.environ, **SHORT_LIVED, "PYSPARK_PYTHON": str(python), "PYTHONPATH": places},
        check=False,
    )


def check(
    *arguments: str | Path, python: str | Path = sys.executable, path: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    model = ("--json", "--model", "register")
    return framework("check", *model, *arguments, python=python, path=path)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's package, installed: a checker that counts topics with a helper of its own."""
    folder = tmp_path_factory.mktemp("theirs")
    package = folder / "their_checks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "counting.py").write_text(COUNTING)
    (package / "least.txt").write_text("1")
    (package / "theirs.py").write_text(THEIRS)
    installed = folder / "their_checks-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: their-checks\nVersion: 1.0\n")
    points = "[framework.checkers]\ntheirs = their_checks.theirs:Theirs\n"
    (installed / "entry_points.txt").write_text(points)
    return folder


COUNTING = """
from pathlib import Path

LEAST = int((Path(__file__).parent / "least.txt").read_text())


def worth(events):
    return max(LEAST, len(events.operations))
"""
THEIRS = """
from their_checks.counting import worth

from framework.checking.keyed import judged
from framework.checking.run_checks import RunCheck, RunChecker


def rule(events):
    return judged(worth(events))


class Theirs(RunChecker):
    name = "theirs"
    summary = "There are operations"
    requires = frozenset()
    check_run = RunCheck(rule, fs=None)
"""


def test_a_run_is_checked_there(
    cluster: Cluster,
    libraries: Path,
    plugin: Path,
    tmp_path: Path,
    spark: Any,
) -> None:
    """`run`, and `check` of what it stored, with a checker of somebody else's: as here. A worker
    sees the run's folder the second time only."""
    short = ("--nemesis", "none", "--nodes", "1+1", "--workload", "topics", "--time-limit", "3")
    results = ("--results", cluster.hidden, "--hosts", "namespaces")
    where = (*results, "--spark-master", cluster.address)
    ran = framework("run", *short, *where, "--observe", "0", python=libraries, path=plugin)
    assert ran.returncode in (0, 2), ran.stderr + ran.stdout
    run = (cluster.hidden / "latest").resolve()
    recorded = judged_as(run)
    assert recorded["theirs"]["verdict"] == "VALID"
    assert not [each for each in recorded.values() if "the checker failed" in each["note"]]
    seen = tmp_path / "topics" / run.name
    shutil.copytree(run, seen)
    (seen / "verdict.json").unlink()
    done = framework(
        "check", seen, "--spark-master", cluster.address, python=libraries, path=plugin
    )
    assert done.returncode == ran.returncode, done.stderr
    assert judged_as(seen) == recorded
    sent = {path.parents[1] for path in cluster.folder.glob("*/app-*/*/run-*.zip")}
    assert len({application.name for application in sent}) == 1  # that of `run`
    del recorded["theirs"]  # which the workers of this process cannot import
    check_runs(spark, [seen], sorted(recorded))
    assert judged_as(seen) == recorded


def test_a_history_that_workers_do_not_see_is_named(cluster: Cluster, libraries: Path) -> None:
    history = write_history(cluster.hidden / "h.jsonl", stale=False)
    done = check(history, "--spark-master", cluster.address, python=libraries)
    assert done.returncode == 254
    assert f"a worker does not see {history} as it is here" in done.stderr
    assert done.stderr.count("\n") == 1


def judged_as(folder: Path) -> dict[str, Any]:
    """A stored run's checkers by name."""
    verdict = json.loads((folder / "verdict.json").read_text())
    return {each["name"]: each for each in verdict["checkers"]}


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("histories")
    return [
        write_history(folder / "good.jsonl", stale=False),
        write_history(folder / "stale.jsonl", stale=True),
    ]


@pytest.fixture(scope="module")
def here(histories: list[Path]) -> str:
    """What is said without Spark."""
    done = check(*histories)
    good, stale = map(json.loads, done.stdout.splitlines())
    assert (good["verdict"], stale["verdict"]) == ("VALID", "INVALID")
    assert stale["findings"]
    return done.stdout


def test_the_same_as_here(
    cluster: Cluster, libraries: Path, plugin: Path, histories: list[Path], here: str
) -> None:
    # With the same plug-in as above the same code travels, whose kernels are compiled there by now.
    there = check(*histories, "--spark-master", cluster.address, python=libraries, path=plugin)
    assert (there.returncode, there.stdout) == (1, here), there.stderr
    # The code that judged came with the job, and is compiled for the next one.
    assert [code for code in cluster.scratch.glob("kraft-proof-*-*") if any(code.rglob("*.nbi"))]


@pytest.mark.nightly
def test_executors_of_this_machine(
    histories: list[Path], here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session has a folder of its own for them, and takes it away: two at once do not meet."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    there = check(*histories, "--spark-master", "local-cluster[2,1,1024]")
    assert (there.returncode, there.stdout) == (1, here), there.stderr
    assert "checked on Spark local-cluster[2,1,1024]" in there.stderr
    assert not (Path(pyspark.__file__).parent / "work").exists()
    assert not list(tmp_path.glob("spark-*"))


@pytest.mark.nightly
def test_a_python_that_lacks_our_libraries_is_named(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment of the same version, with nothing in it, on one worker."""
    (tmp_path / "spark-defaults.conf").write_text("spark.cores.max 1\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True, timeout=60)
    history = write_history(tmp_path / "h.jsonl", stale=False)
    done = check(history, "--spark-master", cluster.address, python=bare / "bin" / "python")
    assert done.returncode == 254
    assert "lacks numpy, pyarrow, numba; install them there" in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_master_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    history = write_history(tmp_path / "h.jsonl", stale=False)
    done = check(history, "--spark-master", f"spark://127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (254, "")
    assert f"spark://127.0.0.1:{port}: no master answers" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_no_address() -> None:
    for master in ("spark://host", "spark://host:port", "spark://:77", "spark://h:99999"):
        with pytest.raises(UsageError, match="must be spark://host:port"):
            spark_session.need_answer(master)


def test_a_module_that_is_no_package_travels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lone.py").write_text("VALUE = 41")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "modules", lambda group: ["lone", "gone.since"])
    archive = package_zip(tmp_path / "code.zip")
    assert printed("import lone; print(lone.VALUE)", archive, cwd=tmp_path.parent) == "41"


def test_code_in_a_zip_file_is_unpacked_once(tmp_path: Path) -> None:
    """Imports come from the unpacked copy, also where the project itself is installed."""
    archive = package_zip(tmp_path / "code.zip")
    program = (
        "import framework.checking.blocks as blocks, checkers.linearizability.encoded\n"
        "print(blocks.__file__)"
    )
    places = {printed(program, archive, cwd=tmp_path, TMPDIR=str(tmp_path)) for _ in range(2)}
    [place] = places
    assert Path(place).is_relative_to(tmp_path)
    assert package_zip(tmp_path / "again.zip").exists()
    assert len(list(tmp_path.glob("kraft-proof-*"))) == 1


def test_compiled_kernels_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the sources as they are; older ones stay."""
    package = tmp_path / "here" / "theirs"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    use = "from theirs.numbers import twice; print(twice(4), sum(twice.stats.cache_hits.values()))"
    for factor in (3, 2):
        (package / "numbers.py").write_text(NUMBERS.format(factor=factor))
        assert printed(use, tmp_path / "here", cwd=ROOT) == f"{4 * factor} 0"
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr(registry, "modules", lambda group: ["theirs.numbers"])
    archive = package_zip(tmp_path / "code.zip")
    assert printed(use, archive, cwd=tmp_path, TMPDIR=str(tmp_path)) == "8 1"
    assert len(list(tmp_path.glob("kraft-proof-*/theirs/__pycache__/kernels/*"))) == 1


NUMBERS = """
from framework.compiled import compiled


@compiled
def twice(number: int) -> int:
    return {factor} * number
"""


def printed(program: str, path: Path, cwd: Path, **environment: str) -> str:
    """By a Python of its own, which imports from `path` first."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=cwd,
        env={**os.environ, **environment, "PYTHONPATH": str(path)},
    )
    return done.stdout.strip()
