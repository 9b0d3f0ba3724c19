"""An event loop whose time goes on only where nothing else does: at once to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Jumping(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        assert ready or timeout is not None, "everybody waits, and nobody for a timer"
        if not ready and timeout:
            self.now_s += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


def run_virtually(main: Coroutine[Any, Any, None]) -> None:
    """`asyncio.run` in virtual time, which begins at 0 s."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        runner.run(main)
