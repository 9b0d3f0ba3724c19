"""Plug-ins found by name, and the one that is meant where nobody names any."""

import json
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from framework.errors import UsageError
from framework.plugins import registry


def installed(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str, str]) -> None:
    """Entry points: (group, name, value)."""
    found = EntryPoints(EntryPoint(name, value, f"framework.{at}") for at, name, value in points)
    monkeypatch.setattr(registry, "_installed", lambda group, _: found.select(group=group))


def test_the_only_one_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("systems", "shelf", "a:B"))
    assert registry.default("systems") == "shelf"


def test_of_several_the_one_that_metadata_name(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (("systems", "shelf", "a:B"), ("systems", "drawer", "c:D"))
    installed(monkeypatch, *both, ("defaults", "systems", "drawer"))
    assert registry.default("systems") == "drawer"


@pytest.mark.parametrize("more", [[], [("systems", "shelf", "a:B"), ("systems", "drawer", "c:D")]])
def test_where_none_is_meant_the_user_is_asked(
    monkeypatch: pytest.MonkeyPatch, more: list[tuple[str, str, str]]
) -> None:
    installed(monkeypatch, *more)
    known = "drawer, shelf" if more else "none installed"
    with pytest.raises(UsageError, match=rf"systems: which one\? name it \(known: {known}\)"):
        registry.default("systems")


def test_what_is_on_the_path_since_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "lately" not in registry.names("workloads")
    metadata = tmp_path / "lately-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lately\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[framework.workloads]\nlately = json:loads\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.find("workloads", "lately") is json.loads


def test_the_projects_own_default_is_installed() -> None:
    assert registry.default("systems") in registry.names("systems")


def test_an_unknown_name_is_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("hosts", "moon", "a:B"))
    with pytest.raises(UsageError, match=r"unknown hosts: 'mars' \(known: moon\)"):
        registry.find("hosts", "mars")
