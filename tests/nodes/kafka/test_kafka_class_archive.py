"""The archive of classes that nodes of Apache Kafka start with: made once, or gone without."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from framework.plugins.host import Host
from nodes.kafka import archive, formatting
from nodes.kafka.software import Software

BEGINNING = """#!/bin/sh
case "$*" in
    *-version*) echo 'openjdk version "17.0.1"' >&2; exit 0;;
    *StorageTool*) exit 0;;
esac
for each in "$@"; do case "$each" in -XX:ArchiveClassesAtExit=*) into="${each#*=}";; esac; done
echo started >> "$(dirname "$0")/starts"
"""
SERVES = """
trap 'echo classes > "$into"; exit 143' TERM
echo '[KafkaRaftServer nodeId=1] Kafka Server started'
while :; do sleep 0.05; done
"""
NEEDS = """
home="$(dirname "$into")"
grep -q '^listeners=CLIENT://127.0.0.1:.*,CONTROLLER:' "$home/server.properties" || exit 1
test -f "$home/data/meta.properties" || exit 1
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A Java that does as it is told, and a cache of its own."""
    for module in (archive, formatting):
        monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    archive.archive.cache_clear()
    script = tmp_path / "java"

    def made(does: str) -> str:
        script.write_text(BEGINNING + does)
        script.chmod(0o755)
        return str(script)

    return made


@pytest.fixture
def found(tmp_path: Path) -> Software:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka-clients-9.9.9.jar").touch()
    return Software("9.9.9", tmp_path)


def host(software: str = "") -> Host:
    return cast(Host, SimpleNamespace(software=software))


def starts(tmp_path: Path) -> int:
    path = tmp_path / "starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def kept(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache" / "kafka" / "archives").iterdir()]


def test_it_is_made_once_by_a_node_of_its_own(
    java: Callable[[str], str], found: Software, tmp_path: Path
) -> None:
    command = java(NEEDS + SERVES)
    (flag,) = archive.flags(host(), found, command)
    assert Path(flag.removeprefix("-XX:SharedArchiveFile=")).read_text() == "classes\n"
    archive.archive.cache_clear()  # another run
    assert [*archive.flags(host(), found, command)] == [flag]
    assert starts(tmp_path) == 1
    (name,) = kept(tmp_path)
    assert name.startswith(found.key) and name.endswith("-java17.jsa")


def test_a_copy_of_the_same_jars_has_an_archive_of_its_own(
    java: Callable[[str], str], found: Software, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java takes it of jars at their very places alone. The release's own is named as ever."""
    monkeypatch.setattr(archive, "home_of", lambda version: tmp_path)
    copy = Software(found.version, tmp_path / "copy")
    shutil.copytree(found.libs, copy.libs)
    command = java(SERVES)
    flags = [archive.flags(host(), each, command) for each in (found, copy)]
    assert found.key == copy.key and flags[0] != flags[1]
    assert f"{found.key}-java17.jsa" in kept(tmp_path) and len(kept(tmp_path)) == 2


@pytest.mark.parametrize("does", ["exit 1", SERVES.replace('echo classes > "$into"', "true")])
def test_a_java_that_makes_none_is_asked_once_a_run(
    java: Callable[[str], str], found: Software, tmp_path: Path, does: str
) -> None:
    command = java(does)
    asked: list[Any] = [archive.flags(host(), found, command) for _ in range(3)]
    assert asked == [(), (), ()]
    assert starts(tmp_path) == 1
    assert kept(tmp_path) == []


def test_machines_with_jars_of_their_own_go_without(
    java: Callable[[str], str], found: Software, tmp_path: Path
) -> None:
    assert archive.flags(host("/opt/software"), found, java(SERVES)) == ()
    assert starts(tmp_path) == 0
