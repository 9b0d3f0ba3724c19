"""How much those tell who had led (`folds/observed_quorum.py`)."""

import pytest

from checkers.folds.observed_quorum import NOBODY_DEPOSED, _heard_of
from checkers.folds.peace import Quiet
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
