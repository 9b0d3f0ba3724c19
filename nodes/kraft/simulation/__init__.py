"""A whole cluster in one thread: the node's pure cores on simulated network, disks and clocks.

`scenario` plays what is written down by hand (scenario.py), `play(draw(seed))` what a seed makes
up, and `minimal` leaves out what a failure does not need. Each says which rule broke, if any did.
`python -m nodes.kraft.simulation` plays many seeds. docs/node.md has the rules.
"""

from nodes.kraft.simulation.scenario import Run, scenario
from nodes.kraft.simulation.schedule import (
    LEADER,
    Administer,
    Crash,
    Cut,
    Drain,
    IsrChange,
    Operation,
    Pause,
    Produce,
    Profile,
    Replace,
    Resign,
    Schedule,
    StaleHeartbeat,
    TakeSnapshot,
    draw,
)
from nodes.kraft.simulation.shrink import Execution, minimal, play
from nodes.kraft.simulation.violation import Violation

__all__ = [
    "LEADER",
    "Administer",
    "Crash",
    "Cut",
    "Drain",
    "Execution",
    "IsrChange",
    "Operation",
    "Pause",
    "Produce",
    "Profile",
    "Replace",
    "Resign",
    "Run",
    "Schedule",
    "StaleHeartbeat",
    "TakeSnapshot",
    "Violation",
    "draw",
    "minimal",
    "play",
    "scenario",
]
