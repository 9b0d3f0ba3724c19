"""What a broker's process logs of its life (`kafka.server.BrokerLifecycleManager`; 3.9 to 4.2).

Nobody else tells which process has an id: a broker shows no epoch of its own, and the metadata log
names processes by an incarnation id that the log of the process alone connects with it.
"""

import base64
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from framework.evidence.brokers import BrokerState
from nodes.adapting.slot import Description

LOGGER: Final = "BrokerLifecycleManager"
NO_EPOCH: Final = -1
LET_GO: Final = "controlled shutdown granted"
_BEGAN: Final = re.compile(r"Incarnation (\S{22}) of broker \d+ in cluster \S+ is now STARTING")
_REGISTERED: Final = re.compile(r"Successfully registered broker \d+ with broker epoch (\d+)")
_REFUSED: Final = re.compile(r"Unable to register broker \d+ because .* DUPLICATE_BROKER_REGIST")
_TURNED: Final = re.compile(r"Transitioning from \w+ to (\w+)")
_LEAVES: Final = "Beginning controlled shutdown"
_LET_GO: Final = "The controller has asked us to exit controlled shutdown"
_STATES: Final[dict[str, BrokerState]] = {
    "RECOVERY": "fenced",
    "RUNNING": "active",
    "PENDING_CONTROLLED_SHUTDOWN": "leaving",
    "SHUTTING_DOWN": "leaving",
}


@dataclass(slots=True)
class Life:
    """Of one process, as far as it told. `refused`: the last that it heard of its registration is
    that another process has its id."""

    incarnation: str = ""
    state: BrokerState = "starting"
    epoch: int = NO_EPOCH
    refused: bool = False
    let_go: bool = False

    def described(self) -> Description | None:
        """None: it has not begun."""
        return Description(self.incarnation, self.state, self.epoch) if self.incarnation else None

    def reason(self) -> str | None:
        """Why it ended, if it has; None: it told nothing."""
        if not self.incarnation:
            return None
        return LET_GO if self.let_go else f"ended {self.state}, without a grant"


def life(lines: Iterable[str]) -> Life:
    """By the lines that one process logged so far."""
    found = Life()
    for line in lines:
        if (began := _BEGAN.search(line)) is not None:
            found = Life(_uuid(began[1]))
        elif (registered := _REGISTERED.search(line)) is not None:
            found.epoch, found.refused = int(registered[1]), False
        elif _REFUSED.search(line) is not None:
            found.refused = True
        elif (turned := _TURNED.search(line)) is not None:
            found.state = _STATES.get(turned[1], found.state)
        elif _LEAVES in line:
            found.state = "leaving"
        elif _LET_GO in line:
            found.let_go = True
    return found


def _uuid(short: str) -> str:
    """As the metadata log has it."""
    return str(uuid.UUID(bytes=base64.urlsafe_b64decode(short + "==")))
