"""`clean`: remove what killed runs left on this machine."""

from framework.plugins import registry
from framework.plugins.host import HostProvider


def clean() -> int:
    """Remove leftovers of all kinds of hosts; print each. Runs that still go on are not touched."""
    removed = 0
    for kind in registry.names("hosts"):
        provider: HostProvider = registry.load("hosts", kind)
        for line in provider.clean():
            print(f"removed {line}")
            removed += 1
    if not removed:
        print("nothing to clean")
    return 0
