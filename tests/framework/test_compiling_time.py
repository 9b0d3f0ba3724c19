"""The clock of budgets stands still while kernels are compiled."""

import threading
from time import monotonic

import numpy as np
import pytest

from framework import compiled as compiled_module
from framework.compiled import compiled, working_s


@compiled
def _twice(number: int) -> int:
    return 2 * number


def test_the_clock_stands_still_while_a_kernel_is_compiled() -> None:
    _twice(1)
    stood = monotonic() - working_s()
    _twice.recompile()  # type: ignore[attr-defined]
    assert monotonic() - working_s() > stood


def test_threads_that_compile_at_once_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([1.0, 4.0])
    monkeypatch.setattr(compiled_module, "monotonic", lambda: next(now))
    watch = compiled_module._Stopwatch()
    with watch:
        thread = threading.Thread(target=lambda: watch.__enter__() or watch.__exit__())
        thread.start()
        thread.join()
    assert watch.total_s == 3.0


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
