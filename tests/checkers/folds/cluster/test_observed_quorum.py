"""How much those tell who had led (`folds/cluster/observed_quorum.py`)."""

from dataclasses import replace

import pytest

from checkers.folds.cluster.observed_quorum import NOBODY_DEPOSED, _heard_of, no_way_back
from checkers.folds.history.lives import Lives
from checkers.folds.history.peace import Quiet
from checkers.folds.history.quorum_views import View
from framework.history.pairing import Operation
from framework.plugins.outcomes import CLIENT_TIMED_OUT

PEACE = Quiet(0, 50), Quiet(60, 100)


def asked(*at_ns: int, answers: bool = False) -> list[Operation]:
    return [
        Operation(
            index=moment,
            f="describe-node",
            end=moment + 1,
            type="ok" if answers else "fail",
            error=None if answers else (CLIENT_TIMED_OUT, ""),
            invoked_ns=moment,
            completed_ns=moment,
        )
        for moment in at_ns
    ]


@pytest.mark.parametrize(
    ("former", "told"),
    [
        ([], NOBODY_DEPOSED),
        ([asked(1, 2)], NOBODY_DEPOSED),  # too few questions to be owed an answer
        ([asked(1, 2, 55)], NOBODY_DEPOSED),
        ([asked(1, 2, 3)], (0, 2)),
        ([asked(1, 2, 70)], (0, 2)),
        ([asked(1, 2), asked(3, answers=True)], NOBODY_DEPOSED),
        ([asked(1, 2, answers=True)], 2),
        ([asked(1, 2, answers=True) + asked(3)], 2),
        ([asked(1, 2, answers=True) + asked(3), asked(4, 5, 6)], (2, 4)),
        ([asked(1, 2, 3, answers=True), asked(4, 5) + asked(6, answers=True)], (3, 4)),
    ],
)
def test_who_was_asked_three_times_in_peace_owes_two_answers(
    former: list[list[Operation]], told: object
) -> None:
    assert _heard_of(former, PEACE) == told


@pytest.mark.parametrize(("its_own", "whose"), [(True, "c1, though"), (False, "leader 1 in epoch")])
@pytest.mark.parametrize(
    ("first", "second", "falls"),
    [(5, -1, False), (-1, 5, False), (1, 0, True), (0, 0, False), (0, 1, False)],
)
def test_a_high_watermark_is_told_from_0_on(
    first: int, second: int, falls: bool, its_own: bool, whose: str
) -> None:
    """Who tells of none has told of none that went back."""
    views = [
        View(
            operation=operation,
            leader=1,
            epoch=1,
            high_watermark=high_watermark,
            its_own=its_own,
            of_leader=not its_own,
        )
        for operation, high_watermark in zip(
            (replace(each, node="c1") for each in asked(1, 3, answers=True)),
            (first, second),
            strict=True,
        )
    ]
    compared, findings = no_way_back(views, Lives([]))
    told = [each.message for each in findings]
    assert [f"the high watermark of {whose}" in each for each in told] == [True] * falls
    assert compared == its_own + (min(first, second) >= 0)
