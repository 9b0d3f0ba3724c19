"""Finding plugins by name through entry points."""

from importlib.metadata import entry_points
from typing import Any

from framework.errors import UsageError


def names(group: str) -> list[str]:
    """All plugins of a group ("nemeses", "workloads", ...), sorted."""
    return sorted({point.name for point in entry_points(group=f"framework.{group}")})


def load(group: str, name: str) -> Any:
    """A new instance of a plugin. Raises `UsageError` that lists what there is."""
    for point in entry_points(group=f"framework.{group}", name=name):
        return point.load()()
    known = ", ".join(names(group)) or "none installed"
    raise UsageError(f"unknown {group}: {name!r} (known: {known})")
