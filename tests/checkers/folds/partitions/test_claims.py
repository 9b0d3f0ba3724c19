"""What produces of one partition promise."""

import pytest

from checkers.folds.partitions.claims import never_acknowledged
from framework.history.event import CompletionType
from framework.history.pairing import Operation


def produce(type: CompletionType, acks: str = "all") -> Operation:
    return Operation(index=0, f="produce", value={"acks": acks, "value": 1}, type=type, end=1)


@pytest.mark.parametrize(
    ("types", "never"),
    [
        (["info"], True),
        (["info", "info"], True),
        (["fail", "info"], True),
        (["fail"], False),
        ([], False),
        (["ok"], False),
        (["info", "ok"], False),
        (["ok", "fail"], False),
    ],
)
def test_one_that_is_acknowledged_is_enough(types: list[CompletionType], never: bool) -> None:
    """Refused alone is no occasion, and neither is what asked for less."""
    asked_less = produce("ok", acks="1")
    assert never_acknowledged([asked_less, *map(produce, types), asked_less]) is never
