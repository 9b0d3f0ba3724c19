"""What operations of workloads say of themselves."""

from typing import Final

from framework.history.event import Recorded
from framework.history.pairing import Operation

ACKS: Final = ("all", "1", "0")
"""What a produce may ask for, as workloads spell it."""


def produce_with(acks: str) -> str:
    """The name of the kind of operation that a produce with these acks is."""
    return f"produce with acks={acks}"


UNANSWERED: Final = produce_with("0")
"""Nobody answers those, as the protocol has it: none can succeed."""

JOIN: Final = "join"
WAITS_ON: Final = "assignment"
"""Who joins a group is told what to read; a member that was not yet asks on."""


def end_of(operation: Operation) -> float:
    """Where it ended in the history; behind all, where it did not."""
    return float("inf") if operation.end is None else operation.end


def is_zombie(operation: Operation) -> bool:
    """Whether it was sent as a fenced incarnation of a broker would."""
    return of_a_zombie(operation.value)


def on_demand(value: Recorded) -> bool:
    """Whether a create with that value is not asked for, but looked for."""
    return isinstance(value, dict) and value.get("on_demand") is True


def of_a_zombie(value: Recorded) -> bool:
    """Whether an operation with that value was."""
    return isinstance(value, dict) and value.get("zombie") is not None
