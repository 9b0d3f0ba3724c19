"""A standalone cluster of Spark, a master and two workers on loopback: our code travels there."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from framework.checking import spark as spark_session
from framework.checking.shipping import package_zip
from framework.errors import UsageError

ROOT = Path(__file__).parents[3]
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
# The code is new to the workers, so that its kernels are compiled there: 25 s of a core.
pytestmark = pytest.mark.xdist_group("spark")
SHORT_LIVED = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For the JVMs of a cluster, seven and more on two cores: none lives long enough for more."""


class Cluster:
    """Its processes, each ended by its id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "workers"
        self.scratch.mkdir()
        self.processes: list[subprocess.Popen[bytes]] = []
        log = self._start("master", "master.Master", "--port", "0")
        self.address = self._said(log, r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            work = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
            log = self._start(name, "worker.Worker", *work, self.address)
            self._said(log, r"(Successfully registered) with master")

    def _start(self, name: str, what: str, *arguments: str) -> Path:
        log = self.folder / f"{name}.log"
        host = ("--host", "127.0.0.1", "--webui-port", "0")
        python_path = {"PYTHONPATH", "PYSPARK_PYTHON"}
        with log.open("wb") as file:
            self.processes.append(
                subprocess.Popen(
                    [SPARK_CLASS, f"org.apache.spark.deploy.{what}", *host, *arguments],
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


def check(
    *arguments: str | Path, python: str | Path = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "framework", "check", "--json", "--model", "register", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        env={**os.environ, **SHORT_LIVED, "PYSPARK_PYTHON": str(python)},
        check=False,
    )


def test_the_same_as_here(cluster: Cluster, tmp_path: Path) -> None:
    files = [
        write_history(tmp_path / "good.jsonl", stale=False),
        write_history(tmp_path / "stale.jsonl", stale=True),
    ]
    there = check(*files, "--spark-master", cluster.address)
    here = check(*files)
    assert (there.returncode, there.stdout) == (1, here.stdout), there.stderr
    good, stale = map(json.loads, here.stdout.splitlines())
    assert (good["verdict"], stale["verdict"]) == ("VALID", "INVALID")
    assert stale["findings"]
    # The code that judged came with the job, and is compiled for the next one.
    [code] = cluster.scratch.glob("kraft-proof-*-*")
    assert list(code.rglob("*.nbi"))


def test_a_python_that_lacks_our_libraries_is_named(cluster: Cluster, tmp_path: Path) -> None:
    """A virtual environment of the same version, with nothing in it."""
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


def test_code_in_a_zip_file_is_unpacked_once(tmp_path: Path) -> None:
    """Imports come from the unpacked copy, also where the project itself is installed."""
    archive = package_zip(tmp_path / "code.zip")
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import framework.checking.blocks as blocks, checkers.linearizability.encoded\n"
        "print(blocks.__file__)"
    )
    places = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        ).stdout.strip()
        for _ in range(2)
    }
    [place] = places
    assert Path(place).is_relative_to(tmp_path)
    assert package_zip(tmp_path / "again.zip").exists()
    assert len(list(tmp_path.glob("kraft-proof-*"))) == 1
