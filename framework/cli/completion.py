"""Names on the command line: plugins, lists of them, and stored runs.

Completions take what has been typed of a word and return what it may become. Where one returns
nothing the shell completes names of files.
"""

from collections.abc import Callable
from pathlib import Path

from framework.plugins import registry

_RESULTS = Path("results")


def listed(group: str) -> str:
    """The names of all plugins of a group, for a text of help."""
    return ", ".join(registry.names(group))


def plugin(group: str, *more: str) -> Callable[[str], list[str]]:
    """The name of one plugin of a group, or one of `more`."""

    def complete(incomplete: str) -> list[str]:
        known = [*registry.names(group), *more]
        return [name for name in known if name.startswith(incomplete)]

    return complete


def plugins(group: str, *more: str) -> Callable[[str], list[str]]:
    """Names by commas: the last one is completed, by what was not named before."""
    one = plugin(group, *more)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        named = before.split(",")
        return [f"{before}{comma}{name}" for name in one(last) if name not in named]

    return complete


def run(incomplete: str) -> list[str]:
    """The folder of a run below `results`."""
    found = [_RESULTS / "latest", *sorted(_RESULTS.glob("*/*/"), reverse=True)]
    runs = [str(each) for each in found if (each / "plan.json").exists()]
    return [name for name in runs if name.startswith(incomplete)]
