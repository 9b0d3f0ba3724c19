"""Two values that would each have to come before the other, in words."""

import numpy as np
import pytest

from checkers.linearizability.evidence.clash import clash
from tests.checkers.linearizability.encoded_oracle import written

BACK_AND_FORTH = "0-20:w1 1-21:w2 2-3:r1 4-5:r2 6-7:r1 8-9:r2"


def said(operations: str, *members: int) -> str:
    rows = np.array(members, np.int64)
    return clash(written(operations), rows, lambda value: f"v{value}", lambda row: f"#{row}")


@pytest.mark.parametrize(
    ("operations", "members", "values", "order"),
    [
        # of each value what returned first, and what was invoked last
        (BACK_AND_FORTH, (2, 3, 4, 5), "v1 and v2", "#2 returned before #5, and #3 before #4"),
        (BACK_AND_FORTH, (3, 2, 4), "v2 and v1", "#3 returned before #4, and #2 before #3"),
        # the initial value is there once, if nobody writes it
        (
            "0-20:w1 2-3:r1 4-5:r0 6-7:r1",
            (1, 2, 3),
            "v1 and v0",
            "#1 returned before #2, and #2 before #3",
        ),
        # a cas has to do with the value that it leaves
        (
            "0-3:c7>1 1-30:w2 4-5:r2 6-7:r1",
            (0, 2, 3),
            "v1 and v2",
            "#0 returned before #2, and #2 before #3",
        ),
        (
            "0-40:w3 1-2:r3 3-23:w1 4-24:w2 5-6:r1 7-8:r2 9-10:r1",
            (1, 4, 5, 6),
            "v1 and v2",
            "#4 returned before #5, and #5 before #6",
        ),
    ],
)
def test_two_that_clash(operations: str, members: tuple[int], values: str, order: str) -> None:
    assert said(operations, *members) == (
        f"Each of {values} was written once at most, so one is over before the other begins. "
        f"But {order.replace(', and', ' was invoked, and')}."
    )


@pytest.mark.parametrize(
    ("operations", "members"),
    [
        ("0-20:w1 1-21:w2 2-3:r1 4-5:r2", (2, 3)),  # one after the other
        ("0-20:w1 1-21:w2 4-5:r2 6-7:r1", (2, 3)),
        ("0-20:w1 1-21:w2 2-9:r1 3-8:r2 4-7:r1", (2, 3, 4)),  # all at once
        (f"{BACK_AND_FORTH} 10-11:w1", (2, 3, 4)),  # a value comes twice
        (f"{BACK_AND_FORTH} 10-11:c7>1", (2, 3, 4)),
        (f"{BACK_AND_FORTH} 10-11:w2", (2, 3, 4)),
        ("1-21:w2 2-3:r1 4-5:r2 6-7:r1", (1, 2, 3)),  # nobody wrote it
        ("0-20:w1 2-3:r1 4-5:r0 6-7:r1 8-9:w0", (1, 2, 3)),
        (f"{BACK_AND_FORTH} 10-11:d1", (2, 3, 4)),  # there is more than writes and reads
        (f"{BACK_AND_FORTH} 10-11:x3>7", (2, 3, 4)),
    ],
)
def test_what_shows_none_of_that_form(operations: str, members: tuple[int]) -> None:
    assert said(operations, *members) == ""
