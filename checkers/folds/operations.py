"""What operations of workloads say of themselves."""

from checkers.folds.values import conditional
from framework.history.pairing import Operation


def is_zombie(operation: Operation) -> bool:
    """Whether it was sent as a fenced incarnation of a broker would."""
    return isinstance(operation.value, dict) and conditional(operation).get("zombie") is not None
