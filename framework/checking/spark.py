"""Starting Spark without a sound: its own noise never reaches the terminal.

The JVM is started here rather than by pyspark, so that its standard output and error go to a
file of ours (shown in part if it cannot start), and so that Ctrl-C reaches us and not the JVM.
"""

import atexit
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any, Final, TypeAlias

from framework.checking.blocks import last_line
from framework.checking.class_archive import sharing
from framework.checking.libraries import lacking
from framework.checking.shipping import package_zip
from framework.errors import EngineError, UsageError

LOCAL_MASTER: Final = "local[*]"
_MASTERS: Final = re.compile(
    r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[[\d, ]+\]|yarn|(spark|k8s)://.+"
)
_ANSWER_S: Final = 5.0
_WORKERS_S: Final = 60.0
_NEWS_S: Final = 10.0
_LEAVING_S: Final = 10.0
_AWAKE_S: Final = 20.0
"""So often workers have something to do: after a minute without, Spark ends them."""
_JVM_ENDS_S: Final = 5.0
_SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=2 -XX:+UseSerialGC "
"""Compiles less, and less of it: half a second of the ten that a small check takes."""
_JAVA_HINT: Final = "Spark needs a Java 17+ runtime: apt-get install openjdk-17-jre-headless"

Step: TypeAlias = tuple[str, Callable[[Any], None]]
"""What is done with a session, and how it is called by who waits for it."""


def start(
    master: str = LOCAL_MASTER, quiet: bool = True, *, large: bool = False, java: str | None = None
) -> Any:
    """A `SparkSession`. Raises `UsageError` without Java, or where a cluster cannot be used;
    `EngineError` if Spark fails to start.

    There is one session a process: a second start returns the first. With `quiet` False the
    JVM writes to our standard error. `large`: for jobs of minutes rather than seconds. `java`:
    options of a local JVM instead of those by which it shares classes.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    need_java()
    need_answer(master)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="pyspark.*")
    scratch = tempfile.mkdtemp(prefix="spark-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    conf = SparkConf().setAll(list(_settings(master, scratch, large, java).items()))
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        # Else it looks up this machine's own name, which a bare machine cannot resolve.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    interrupt = signal.getsignal(signal.SIGINT)
    log = tempfile.TemporaryFile() if quiet else sys.stderr.buffer  # noqa: SIM115
    try:
        with _home(master, scratch):
            gateway = launch_gateway(
                conf, {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}
            )
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise EngineError(f"Spark did not start: {_last_words(log) or error}") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupt)
    context.setLogLevel("OFF" if quiet else "WARN")
    session = SparkSession(context)
    if not is_local(master):
        try:
            context.addPyFile(str(package_zip(Path(scratch, "kraft-proof.zip"))))
            _need_workers(context, master)
        except BaseException:
            stop(session)
            raise
    return session


def stop(session: Any, patience_s: float = _JVM_ENDS_S) -> None:
    """Ends the session and its JVM, which is killed after `patience_s`, and removes its scratch
    files. Never raises."""
    from pyspark import SparkContext

    scratch = session.conf.get("spark.local.dir")
    gateway = SparkContext._gateway
    try:
        session.stop()
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()  # which ends the JVM
            gateway.proc.wait(timeout=patience_s)
    except Exception:
        if gateway is not None:
            gateway.proc.kill()
            gateway.proc.wait()
    finally:
        SparkContext._gateway = SparkContext._jvm = None
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def running(
    master: str = LOCAL_MASTER, quiet: bool = True, *, large: bool = False
) -> Iterator[Any]:
    """A session for a `with` block."""
    session = start(master, quiet, large=large)
    try:
        yield session
    finally:
        stop(session)


class Background:
    """A session that starts in a thread while something else happens.

    with Background() as spark:
        ...                     # the run
        check_runs(spark.session(), folders)
    """

    def __init__(self, master: str = LOCAL_MASTER, steps: Sequence[Step] | None = None) -> None:
        """`steps` are done before the session is ready, in order; their errors do not count. What
        workers have learnt by then they keep until the session is asked for."""
        self.doing = "Spark is starting"
        """What somebody who waits is waiting for."""
        self.future: Future[Any] = Future()
        self._left = threading.Event()
        self._taken = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(
            target=self._start,
            args=(master, _FIRST_STEPS if steps is None else steps),
            name="spark-start",
            daemon=True,
        )
        self._thread.start()

    def _start(self, master: str, steps: Sequence[Step]) -> None:
        try:
            session = start(master)
        except BaseException as error:
            self.future.set_exception(error)
            return
        for self.doing, step in steps:
            with suppress(Exception):  # what it would have said, the first real job says
                if not self._left.is_set():
                    step(session)
        with self._lock:
            if self._left.is_set():
                stop(session)
                return
            self.future.set_result(session)
        while not self._taken.wait(_AWAKE_S):
            with suppress(Exception):
                stay_awake(session)

    def session(self, say: Callable[[str], None] = lambda _: None, every_s: float = _NEWS_S) -> Any:
        """The session, however long it takes; `say` is told what is going on meanwhile. Raises
        what starting raised."""
        began = monotonic()
        while True:
            wait([self.future], every_s)
            if self.future.done():
                self._taken.set()
                return self.future.result()
            say(f"the check has to wait: {self.doing} ({monotonic() - began:.0f} s so far)")

    def close(self) -> None:
        """Ends it. One that still starts ends itself as soon as it has. Never raises."""
        with self._lock:
            self._left.set()
            self._taken.set()
        if not self.future.done():
            self._thread.join(_LEAVING_S)
        elif self.future.exception() is None:
            stop(self.future.result())

    def __enter__(self) -> "Background":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def _home(master: str, scratch: str) -> Iterator[None]:
    """Where a JVM that starts now believes Spark to be. Executors of `local-cluster` have their
    folders in it, named by the second, where two sessions may meet: so it has one of its own."""
    from pyspark.find_spark_home import _find_spark_home

    if not master.startswith("local-cluster"):
        yield
        return
    before = os.environ.get("SPARK_HOME")
    home = Path(scratch, "home")
    home.mkdir()
    for each in Path(_find_spark_home()).iterdir():
        if each.name != "work":
            (home / each.name).symlink_to(each)
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]
        if before is not None:
            os.environ["SPARK_HOME"] = before


def _settings(master: str, scratch: str, large: bool, java: str | None) -> dict[str, str]:
    settings = {
        "spark.master": master,
        "spark.app.name": "kraft-proof",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Workers are shared by what runs in the same environment, of which this is a part that
        # Spark gives to some kinds of work and not to others: there would be twice as many.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        # Passes over one run have one partition each, and their union would have one in all: a
        # single task would judge by all checkers, while other cores and executors idle.
        "spark.sql.unionOutputPartitioning": "false",
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
    }
    if is_local(master) or _is_loopback(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if is_local(master):
        settings |= {
            "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch} "
            + ("-XX:+UseParallelGC " if large else _SHORT_LIVED)
            + (sharing() if java is None else java),
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.shuffle.partitions": str(_cores(master)),
        }
    if is_local(master) and not large:
        # Such a job is small beside what Spark is made for, and the time goes into kernels in
        # Python: what prepares the JVM for long queries costs more here than it saves (half of
        # all processor time of a check).
        settings["spark.sql.codegen.wholeStage"] = "false"
    return settings


def _cores(master: str) -> int:
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if inside.isdigit():
        return int(inside)
    return os.cpu_count() or 2


def is_local(master: str) -> bool:
    """Whether its workers are processes of this machine."""
    return master.startswith("local")


def need_master(master: str) -> None:
    """Raises `UsageError` for what is no Spark master."""
    if not _MASTERS.fullmatch(master):
        raise UsageError(
            f"--spark-master {master!r}: it is local[*], local[N], local-cluster[N,cores,MiB], "
            "spark://host:port, k8s://host:port or yarn"
        )


def need_answer(master: str) -> None:
    """Raises `UsageError` where nobody listens at the address of a cluster's master: Spark itself
    would try for a minute."""
    if not master.startswith("spark://"):
        return
    why = ""
    for host, port in _addresses(master):
        try:
            with socket.create_connection((host, port), _ANSWER_S):
                return
        except OSError as error:
            why = f"{host}:{port}: {error.strerror or error}"
    raise UsageError(f"--spark-master {master}: no master answers ({why})")


def _addresses(master: str) -> list[tuple[str, int]]:
    """Of `spark://host:port,host:port`."""
    found = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            raise UsageError(f"--spark-master {master}: it must be spark://host:port")
        found.append((host.strip("[]"), int(port)))
    return found


def _is_loopback(master: str) -> bool:
    return master.startswith(("spark://127.", "spark://localhost:", "spark://[::1]:"))


def _need_workers(context: Any, master: str) -> None:
    """Raises `UsageError` where a cluster has no worker free, or one lacks what kernels need."""
    import tenacity  # here: this module travels to workers, which have no use for it

    status = context._jsc.sc()
    asked = tenacity.Retrying(  # Spark tells only those who ask
        retry=tenacity.retry_if_result(lambda there: there < 2),  # one is the driver
        stop=tenacity.stop_after_delay(_WORKERS_S),
        wait=tenacity.wait_fixed(0.2),
    )
    try:
        asked(lambda: status.getExecutorMemoryStatus().size())
    except tenacity.RetryError:
        raise UsageError(
            f"--spark-master {master}: no worker took the job within {_WORKERS_S:g} s; "
            "are there workers, and have they cores and memory to spare?"
        ) from None
    try:
        lacks = context.parallelize([0], 1).map(lacking).collect()[0]
    except Exception as error:
        raise UsageError(
            f"--spark-master {master}: its workers cannot run our code: {last_line(error)}; they "
            f"need the Python version that runs here, {sys.version_info[0]}.{sys.version_info[1]} "
            "(PYSPARK_PYTHON)"
        ) from None
    if lacks:
        raise UsageError(
            f"--spark-master {master}: its workers' Python lacks {', '.join(lacks)}; install "
            "them there, or name another with PYSPARK_PYTHON"
        )


def need_java() -> None:
    """Raises `UsageError` where Spark could not start for want of Java 17 or newer."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "no java on the PATH"
        raise UsageError(f"{where}. {_JAVA_HINT}")
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    major = version.stderr.partition('version "')[2].partition(".")[0].strip('"')
    if major.isdigit() and int(major) < 17:
        raise UsageError(f"{java} is Java {major}. {_JAVA_HINT}")


def _last_words(log: IO[bytes]) -> str:
    """The line of a JVM's output that is most likely to say why it ended."""
    if not log.readable():
        return ""
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line or "xception" in line]
    return (telling or lines or [""])[0].strip()


def warm_up(session: Any) -> None:
    """Has the first query and the first Python worker behind us before they are waited for."""
    from framework.checking.keyed import keyed

    one = session.createDataFrame([("", "")], "run string, key string")
    keyed(one, checker="", kernel=_nothing, by=["key"]).collect()


def stay_awake(session: Any) -> None:
    """Has every core's Python worker do something."""
    cores = session.sparkContext.defaultParallelism
    session.range(0, cores, 1, cores).mapInArrow(_as_it_is, "id long").collect()


def _as_it_is(batches: Iterator[Any]) -> Iterator[Any]:
    return batches


def _nothing(rows: list[dict[str, Any]]) -> Any:
    from framework.checking.keyed import judged

    return judged(len(rows))


_FIRST_STEPS: Final[Sequence[Step]] = (("Spark's first workers are starting", warm_up),)
