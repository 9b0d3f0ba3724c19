"""Packet-filter rules on a host, in a table of our own."""

from collections.abc import Iterable
from typing import Final

from framework.plugins.host import FILTER_TABLE, Host

# Adding an existing table changes nothing, so that deleting never fails.
_FORGET: Final = f"table inet {FILTER_TABLE}\ndelete table inet {FILTER_TABLE}\n"


def drop(host: Host, addresses: Iterable[str]) -> None:
    """Drop, and count, all packets that come from these addresses. Replaces earlier rules in one
    step. Before connection tracking, so that established connections are cut too."""
    rules = "".join(f"    ip saddr {address} counter drop\n" for address in addresses)
    host.run(
        ["nft", "-f", "-"],
        stdin=f"{_FORGET}table inet {FILTER_TABLE} {{\n  chain input {{\n"
        f"    type filter hook input priority -300; policy accept;\n{rules}  }}\n}}\n",
    )


def forget(host: Host) -> None:
    """Remove our table. Nothing happens where there is none."""
    host.run(["nft", "-f", "-"], stdin=_FORGET)
