"""How many random cases a property is tried with: half as many by day as its number says, which
the night makes up for many times (`RANDOM_CASES=8 pytest -m hypothesis`)."""

import os
from typing import Final

TIMES: Final = float(os.environ.get("RANDOM_CASES", "0.5"))


def cases(count: int) -> int:
    return max(1, round(count * TIMES))
