"""`clean`: remove what killed runs left."""

from pathlib import Path

from framework.hosts.choose import provider_of
from framework.plugins import registry
from framework.plugins.host import HostProvider, NeedsInventory


def clean(inventory: Path | None = None) -> int:
    """Remove leftovers of all kinds of hosts; print each. Runs that still go on are not touched.

    With an inventory its machines are looked at as well, whoever used them from here.
    """
    removed = 0
    for kind in registry.names("hosts"):
        provider: HostProvider = registry.load("hosts", kind)
        providers = [provider]
        if inventory is not None and isinstance(provider, NeedsInventory):
            providers.append(provider_of(kind, inventory))
        for line in (line for each in providers for line in each.clean()):
            print(f"removed {line}")
            removed += 1
    if not removed:
        print("nothing to clean")
    return 0
