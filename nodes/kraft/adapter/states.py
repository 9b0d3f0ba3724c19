"""The node's words for states of brokers, KIP-631's, and those of all systems."""

from collections.abc import Mapping
from typing import Final

from framework.evidence.kinds import BrokerState

STATES: Final[Mapping[str, BrokerState]] = {
    "UNKNOWN": "unknown",
    "INITIAL": "starting",
    "ACTIVE": "active",
    "FENCED": "fenced",
    "SHUTDOWN": "leaving",
}
NAMES: Final[Mapping[BrokerState, str]] = {state: name for name, state in STATES.items()}
