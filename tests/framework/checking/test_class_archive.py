"""Spark's classes that are kept: who makes them, who uses them, and that nobody needs them."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from framework.checking import class_archive
from framework.checking import spark as spark_session
from framework.checking.class_archive import archive, sharing


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they would be kept; nothing is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return archive()


def options(*, large: bool = False, java: str | None = None) -> list[str]:
    settings = spark_session._settings("local[2]", "/somewhere", large, java)
    return settings["spark.driver.extraJavaOptions"].split()


@pytest.mark.parametrize("large", [False, True])
def test_a_local_jvm_uses_them_where_there_are_some(kept: Path, large: bool) -> None:
    before = options(large=large)
    assert not any("Share" in each for each in before)
    kept.parent.mkdir()
    kept.touch()
    assert options(large=large) == [*before, f"-XX:SharedArchiveFile={kept}", "-Xshare:auto"]
    assert options(large=large, java="-Dmine") == [*before, "-Dmine"]


def test_a_path_that_spark_would_cut_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a b"))
    archive().parent.mkdir(parents=True)
    archive().touch()
    assert sharing() == ""


class Jvm:
    """A session whose JVM writes what it is told to when it ends, or cannot."""

    def __init__(self, can: bool) -> None:
        self.can = can
        self.to: Path | None = None

    def start(self, master: str, *, java: str) -> "Jvm":
        option, _, path = java.partition("=")
        assert option == "-XX:ArchiveClassesAtExit"
        self.to = Path(path)
        return self

    def stop(self, session: "Jvm", patience_s: float) -> None:
        assert self.to is not None and patience_s > 60
        if self.can:
            self.to.write_text("classes")


@pytest.mark.parametrize("can", [True, False])
def test_what_a_jvm_leaves_takes_the_place_of_what_was_there(
    kept: Path, monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    kept.parent.mkdir()
    kept.write_text("of another Java")
    jvm, warmed = Jvm(can), list[object]()
    monkeypatch.setattr(spark_session, "start", jvm.start)
    monkeypatch.setattr(spark_session, "stop", jvm.stop)
    monkeypatch.setattr(spark_session, "warm_up", warmed.append)
    class_archive.main()
    assert warmed == [jvm], "what no query loads is not kept"
    assert kept.read_text() == ("classes" if can else "of another Java")
    assert list(kept.parent.iterdir()) == [kept]


def test_a_jvm_starts_with_what_it_cannot_use(kept: Path) -> None:
    kept.parent.mkdir()
    kept.write_text("no classes")
    java = shutil.which("java")
    assert java is not None
    done = subprocess.run([java, *sharing().split(), "-version"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_session_of_these_tests_was_reported_of_them(spark: Any) -> None:
    machine = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
    assert set(sharing().split()) <= set(machine.getInputArguments())
