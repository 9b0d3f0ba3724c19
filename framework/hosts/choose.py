"""Which kind of hosts a run takes."""

from pathlib import Path

from framework.errors import UsageError
from framework.plugins import registry
from framework.plugins.host import Ability, HostProvider, Image, NeedsInventory

AUTO = "auto"
PREFERENCE = ("docker", "namespaces")
"""What `auto` tries, in this order."""


def choose(
    name: str, image: Image, nodes: int, inventory: Path | None = None
) -> tuple[HostProvider, str]:
    """The provider for `--hosts NAME` and so many nodes of this software, and the line that says
    which and why.

    Raises `UsageError` that names what this machine, or those of the inventory, lack.
    """
    if name != AUTO:
        provider = provider_of(name, inventory)
        missing = lacks(provider) or lacks(provider, image, nodes)
        if missing:
            raise UsageError(f"--hosts {name} does not work here: {_summary(missing)}")
        return provider, f"hosts: {name}, as asked for"
    if inventory is not None:
        raise UsageError("--inventory names machines: say which kind of --hosts they are, as ssh")
    reasons: list[str] = []
    for candidate in PREFERENCE:
        provider = registry.load("hosts", candidate)
        missing = lacks(provider) or lacks(provider, image, nodes)
        if not missing:
            why = f" ({'; '.join(reasons)})" if reasons else " (an engine answers)"
            return provider, f"hosts: {candidate}{why}"
        reasons.append(f"no {candidate}: {missing[0].name}: {missing[0].detail}")
    raise UsageError(f"no kind of hosts works here: {'; '.join(reasons)}; see `doctor`")


def provider_of(name: str, inventory: Path | None) -> HostProvider:
    """The provider of this name, which knows its machines where it needs an inventory."""
    provider: HostProvider = registry.load("hosts", name)
    if isinstance(provider, NeedsInventory):
        if inventory is None:
            raise UsageError(f"--hosts {name} needs the file of your machines: --inventory FILE")
        return provider.with_inventory(inventory)
    if inventory is not None:
        raise UsageError(f"--inventory: --hosts {name} takes none")
    return provider


def lacks(provider: HostProvider, image: Image | None = None, nodes: int = 1) -> list[Ability]:
    """What a provider needs and there is not: to work at all, or for nodes of this software."""
    asked = provider.abilities() if image is None else provider.carries(image, nodes)
    return [ability for ability in asked if not ability.works]


def _summary(missing: list[Ability]) -> str:
    return "; ".join(
        f"{one.name}: {one.detail}" + (f" (to get it: {one.remedy})" if one.remedy else "")
        for one in missing
    )
