"""Three-valued verdicts and the exit codes that they become."""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NoReturn


class Verdict(Enum):
    """What a check concluded. Compare with `is`; a verdict has no truth value."""

    VALID = "VALID"
    INVALID = "INVALID"
    UNKNOWN = "UNKNOWN"

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is not a truth value: compare with `is Verdict.VALID`")


_SEVERITY: Final = {Verdict.VALID: 0, Verdict.UNKNOWN: 1, Verdict.INVALID: 2}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """INVALID beats UNKNOWN beats VALID. No verdict at all is UNKNOWN: nothing was checked."""
    return max(verdicts, key=_SEVERITY.__getitem__, default=Verdict.UNKNOWN)


EXIT_CODE: Final = {Verdict.VALID: 0, Verdict.INVALID: 1, Verdict.UNKNOWN: 2}
EXIT_USAGE: Final = 254
EXIT_ENGINE: Final = 255
