"""Plug-ins found by name, and the one that is meant where nobody names any."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from framework.errors import UsageError
from framework.plugins import registry


def installed(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str, str]) -> None:
    """Entry points: (group, name, value)."""
    found = EntryPoints(EntryPoint(name, value, f"framework.{at}") for at, name, value in points)
    monkeypatch.setattr(registry, "entry_points", lambda group: found.select(group=group))


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


def test_the_projects_own_default_is_installed() -> None:
    assert registry.default("systems") in registry.names("systems")


def test_an_unknown_name_is_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("hosts", "moon", "a:B"))
    with pytest.raises(UsageError, match=r"unknown hosts: 'mars' \(known: moon\)"):
        registry.find("hosts", "mars")
