"""The clock of budgets stands still while kernels are compiled."""

from time import monotonic

import numpy as np

from framework.compiled import compiled, working_s


@compiled
def _twice(number: int) -> int:
    return 2 * number


def test_the_clock_stands_still_while_a_kernel_is_compiled() -> None:
    _twice(1)
    stood = monotonic() - working_s()
    _twice.recompile()  # type: ignore[attr-defined]
    assert monotonic() - working_s() > stood


@compiled
def _called(number: int) -> int:
    return number + 1


@compiled
def _calls(small: int, numbers: object) -> int:
    return _called(small) + _called(numbers[0])  # type: ignore[index]


def test_a_kernel_is_compiled_for_one_width_of_whole_numbers() -> None:
    assert _calls(1, np.array([1], np.int8)) == 4
    _calls.recompile()  # type: ignore[attr-defined]  # it may have been kept, and what it calls
    assert len(_called.signatures) == 1  # type: ignore[attr-defined]
