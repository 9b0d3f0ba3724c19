"""Nodes from `--nodes`: controllers and brokers apart, or both in one."""

import re
from collections.abc import Sequence
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import NodeSpec

CLIENT_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
DEFAULT: Final = "3+3"


def layout(nodes: str | None, *, one_id: bool) -> Sequence[NodeSpec]:
    """`3+3`: controllers + brokers; `3`: nodes that are both. `one_id`: those have one id for
    both roles, else brokers' ids go on behind those of controllers. Raises `UsageError`."""
    text = nodes or DEFAULT
    match = re.fullmatch(r"([1-9])(?:\+([1-9]\d?))?", text)
    if match is None:
        raise UsageError(
            f"--nodes {text!r}: it is CONTROLLERS+BROKERS, as in 3+3, or the number of nodes "
            "that are both, as in 3 (1 to 9 controllers, 1 to 99 brokers)"
        )
    voters = int(match[1])
    if match[2] is None:
        behind = 0 if one_id else voters
        return [both(number, number + behind) for number in range(1, voters + 1)]
    return [
        *(controller(number) for number in range(1, voters + 1)),
        *(broker(number, voters + number) for number in range(1, int(match[2]) + 1)),
    ]


def both(number: int, broker_id: int) -> NodeSpec:
    """A node that is controller and broker."""
    return NodeSpec(
        name=f"n{number}",
        roles=frozenset({"broker", "controller"}),
        ports={"client": CLIENT_PORT, "controller": CONTROLLER_PORT},
        ids={"controller": number, "broker": broker_id},
        votes=True,
    )


def controller(number: int) -> NodeSpec:
    """One that votes, and nothing else."""
    return NodeSpec(
        name=f"c{number}",
        roles=frozenset({"controller"}),
        ports={"controller": CONTROLLER_PORT},
        ids={"controller": number},
        votes=True,
    )


def broker(number: int, broker_id: int) -> NodeSpec:
    """One that holds data, and nothing else."""
    return NodeSpec(
        name=f"b{number}",
        roles=frozenset({"broker"}),
        ports={"client": CLIENT_PORT},
        ids={"broker": broker_id},
    )
