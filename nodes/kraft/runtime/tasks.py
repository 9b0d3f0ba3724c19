"""Tasks that belong to a part of the node: none is lost, and none fails in silence."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Final

log: Final = logging.getLogger(__name__)


class Tasks:
    """Tasks under way on the running loop. Where one fails, whoever waits for what it was to do
    would wait for ever: the node stops."""

    def __init__(self, what: str, stop: Callable[[str], None]) -> None:
        """`what` the tasks are, for the log; `stop` ends the process, with a reason."""
        self._what = what
        self._stop = stop
        self._under_way: set[asyncio.Task[None]] = set()

    def spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", self._what, exc_info=error)
            self._stop(f"fatal: {type(error).__name__}: {error}")

    async def wait(self, timeout_s: float) -> None:
        """Wait until all that are under way have ended, or so long."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=timeout_s)

    def cancel(self) -> None:
        """End all of them, where they wait."""
        for task in self._under_way:
            task.cancel()
