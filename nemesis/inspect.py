"""Looking at a node from its own machine: processes and packet-filter rules, by testinfra.

A testinfra backend over `Host.run` gives its modules to every kind of host.
"""

import json
from typing import Any

import testinfra.host
from testinfra.backend.base import BaseBackend, CommandResult

from framework.plugins.host import FILTER_TABLE, Host


class HostBackend(BaseBackend):  # type: ignore[misc]
    """Runs testinfra's commands on a host of ours."""

    NAME = "kraft-proof"

    def __init__(self, host: Host) -> None:
        super().__init__(host.name)
        self._on = host

    def run(self, command: str, *args: str, **kwargs: Any) -> CommandResult:
        line = self.get_command(command, *args)
        done = self._on.run(["sh", "-c", line], check=False)
        return self.result(done.code, line.encode(), done.out.encode(), done.err.encode())


def inspect(host: Host) -> Any:
    """The host as a `testinfra.host.Host`."""
    return testinfra.host.Host(HostBackend(host))


def process_state(host: Host, pid: int) -> str | None:
    """The letter that `ps` gives (R, S, D, T, ...). None: there is no such process, or only the
    zombie of one."""
    found = inspect(host).process.filter(pid=pid)
    if not found:
        return None
    try:
        state = str(found[0].state)
    except (AssertionError, IndexError, RuntimeError):  # it ended between two looks
        return None
    return None if state in "ZX" else state


def dropped(host: Host) -> dict[str, int]:
    """Our drop rules on a host: source address -> packets dropped so far."""
    listing = inspect(host).run("nft -j list table inet %s", FILTER_TABLE)
    if listing.rc != 0:  # there is no such table
        return {}
    found = {}
    for entry in json.loads(listing.stdout)["nftables"]:
        parts: dict[str, Any] = {}
        for part in entry.get("rule", {}).get("expr", ()):
            parts |= part
        if "drop" in parts and "match" in parts and "counter" in parts:
            found[str(parts["match"]["right"])] = int(parts["counter"]["packets"])
    return found
