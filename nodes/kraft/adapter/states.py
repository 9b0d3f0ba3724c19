"""The node's words for states of brokers, KIP-631's, and those of all systems."""

from collections.abc import Mapping
from typing import Final

from framework.evidence.brokers import BrokerState

STATES: Final[Mapping[str, BrokerState]] = {
    "UNKNOWN": "unknown",
    "INITIAL": "starting",
    "ACTIVE": "active",
    "FENCED": "fenced",
    "SHUTDOWN": "leaving",
}
NAMES: Final[Mapping[BrokerState, str]] = {state: name for name, state in STATES.items()}

LET_GO: Final = "controlled shutdown granted"
"""The reason with which a process ends that was granted its controlled shutdown."""


def let_go(reason: str | None) -> bool | None:
    """Whether a process that ended for this reason was; None: it told none."""
    return None if reason is None else reason == LET_GO
