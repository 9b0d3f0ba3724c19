"""Finding plugins by name through entry points."""

import sys
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

from framework.errors import UsageError


def names(group: str) -> list[str]:
    """All plugins of a group ("nemeses", "workloads", ...), sorted."""
    return sorted({point.name for point in _points(group)})


def modules(group: str) -> list[str]:
    """The modules of all plugins of a group, sorted; nothing is loaded."""
    return sorted({point.module for point in _points(group)})


def find(group: str, name: str) -> Any:
    """A plugin, not built yet. Raises `UsageError` that lists what there is."""
    for point in _points(group).select(name=name):
        return point.load()
    known = ", ".join(names(group)) or "none installed"
    raise UsageError(f"unknown {group}: {name!r} (known: {known})")


def load(group: str, name: str) -> Any:
    """A new instance of a plugin, without arguments. Raises `UsageError`."""
    return find(group, name)()


def default(group: str) -> str:
    """The name that is meant where the user gives none: what the entry-point group
    `framework.defaults` says of the group, else the only plugin there is. Raises `UsageError`."""
    said = {point.value for point in _points("defaults").select(name=group)}
    found = said or set(names(group))
    if len(found) == 1:
        return found.pop()
    known = ", ".join(names(group)) or "none installed"
    raise UsageError(f"{group}: which one? name it (known: {known})")


def _points(group: str) -> EntryPoints:
    return _installed(f"framework.{group}", tuple(sys.path))


@lru_cache
def _installed(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Looked for once: metadata of all distributions on `path` are read, which takes 5 ms."""
    return entry_points(group=group)
