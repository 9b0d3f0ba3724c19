"""Who follows without a vote, by answers: to the nanosecond, and to the order in which they ended
(`folds/quorum/told_voters.py`)."""

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.folds.quorum.told_voters import followers_told
from framework.history.pairing import Operation

S = 1_000_000_000
NODES = {"c1": {"ids": {"controller": 1}}, "b1": {"ids": {"broker": 4, "of": 5}}, "silent": {}}
PLAN = {"nodes": NODES}
STARTED, TWO_MINUTES_LATER = "2026-01-01T00:00:00+00:00", "2026-01-01T00:02:00+00:00"


def told(index: int, end: int, *observers: int, ended_ns: int = S) -> Operation:
    result = {
        "leader": 1,
        "leader_epoch": 1,
        "high_watermark": 1,
        "log_end": 1,
        "voters": [{"id": 1, "directory": "d"}],
        "observers": list(observers),
    }
    return Operation(
        index=index,
        f="describe-voters",
        type="ok",
        end=end,
        result=result,
        invoked_ns=0,
        completed_ns=ended_ns,
    )


def wrong(reads: Sequence[Operation], plan: Any = PLAN) -> list[str]:
    _, findings = followers_told(reads, plan)
    return [each.message for each in findings]


@pytest.mark.parametrize(
    ("times", "forgotten_ns"),
    [
        ({}, 300 * S),
        ({"started": STARTED}, 300 * S),
        ({"time_zero": TWO_MINUTES_LATER}, 300 * S),
        ({"started": STARTED, "time_zero": TWO_MINUTES_LATER}, 180 * S),
    ],
)
def test_until_a_silent_one_may_be_forgotten(times: dict[str, str], forgotten_ns: int) -> None:
    plan = {**PLAN, **times}
    assert wrong([told(0, 1, 4, 5), told(2, 3, 4, ended_ns=forgotten_ns - 1)], plan)
    assert not wrong([told(0, 1, 4, 5), told(2, 3, 4, ended_ns=forgotten_ns)], plan)


@pytest.mark.parametrize(("plan", "named"), [({}, "[]"), (PLAN, "[1, 4, 5]")])
def test_strangers_are_those_whom_the_plan_does_not_name(plan: Any, named: str) -> None:
    (message,) = wrong([told(0, 1, 6)], plan)
    assert f"tells that [6] follow, and {named} are those of the plan" in message


def test_answers_are_known_from_when_they_ended_whenever_they_were_asked_for() -> None:
    """The first question is the last to be answered."""
    (message,) = wrong([told(0, 5, 4, 5), told(1, 2, 4, 5), told(3, 4, 4)])
    assert "5 follows, as is told by leader 1 in epoch 1 (operation 1)" in message
