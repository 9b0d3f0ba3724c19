"""`--set [NODE-OR-ROLE:]KEY=VALUE`: which settings each node gets. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from framework.errors import UsageError
from framework.plugins.system import NodeSpec


def node_settings(
    items: Iterable[str], specs: Sequence[NodeSpec]
) -> Mapping[str, Mapping[str, str]]:
    """Node -> key -> value, for nodes that get any. Of two for one node and key the later one
    counts, so that more can be appended to a stored run's. Raises `UsageError`."""
    found: dict[str, dict[str, str]] = {}
    for item in items:
        target, key, value = _parts(item)
        nodes = [spec.name for spec in specs if target in (None, spec.name, *spec.roles)]
        if not nodes:
            roles = sorted(set().union(*(spec.roles for spec in specs)))
            known = ", ".join([*roles, *(spec.name for spec in specs)])
            raise UsageError(f"--set {item}: no node or role is called {target!r} (known: {known})")
        for node in nodes:
            found.setdefault(node, {})[key] = value
    return found


def _parts(item: str) -> tuple[str | None, str, str]:
    """Node or role, key, value. The key ends at the first =, so that values may have any form."""
    left, equals, value = item.partition("=")
    target, colon, key = left.rpartition(":")
    key, target = key.strip(), target.strip()
    if not equals or not key or (colon and not target):
        raise UsageError(f"--set {item!r}: it is KEY=VALUE, or NODE-OR-ROLE:KEY=VALUE")
    return target if colon else None, key, value.strip()
