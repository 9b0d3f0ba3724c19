"""What operations of workloads say of themselves."""

from framework.history.pairing import Operation


def is_zombie(operation: Operation) -> bool:
    """Whether it was sent as a fenced incarnation of a broker would."""
    value = operation.value
    return isinstance(value, dict) and value.get("zombie") is not None
