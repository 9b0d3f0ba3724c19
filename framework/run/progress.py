"""What the terminal shows while a test runs, and what it says at the end.

Where somebody watches: one live block, redrawn four times a second. Elsewhere, as in CI: a plain
line every five seconds. Nothing here can break a run: what cannot be drawn is not drawn.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from framework.history.event import Event
from framework.run.summary import OUTCOME_STYLE, summary

__all__ = ["Progress", "summary"]

log: Final = logging.getLogger(__name__)

REFRESH_HZ: Final = 4
PLAIN_INTERVAL_S: Final = 5.0
WINDOW_S: Final = 5.0
"""Throughput is of the last so many seconds."""
_BUCKET_S: Final = 0.25
_TIMED_PHASE: Final = "main"


@dataclass(slots=True)
class Throughput:
    """Completions a second over a sliding window, in buckets: cheap to count, cheap to read."""

    began_s: float
    buckets: deque[list[float]] = field(default_factory=deque)
    """[number of the bucket, count], the newest last."""

    def add(self, now_s: float) -> None:
        number = now_s // _BUCKET_S
        if self.buckets and self.buckets[-1][0] == number:
            self.buckets[-1][1] += 1
            return
        self.buckets.append([number, 1])
        self._forget(number)

    def rate(self, now_s: float) -> float:
        self._forget(now_s // _BUCKET_S)
        length = min(WINDOW_S, max(now_s - self.began_s, _BUCKET_S))
        return sum(count for _, count in self.buckets) / length

    def _forget(self, number: float) -> None:
        while self.buckets and self.buckets[0][0] <= number - WINDOW_S / _BUCKET_S:
            self.buckets.popleft()


def strip(active: list[tuple[float, float]], length_s: float, width: int) -> str:
    """The fault lane: a character for each part of the run, filled where a fault was active.
    `active`: from, to in s since the lane began."""
    cell = length_s / width
    return "".join(
        "█" if any(a < (i + 1) * cell and b > i * cell for a, b in active) else "·"
        for i in range(width)
    )


class Progress:
    """The live block. Methods may be called from any thread; none of them raises."""

    def __init__(
        self,
        *,
        time_limit_s: float | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console()
        self._limit_s = time_limit_s
        self._clock = clock
        # A signal's handler may print, and so draw, in a thread that is counting an event.
        self._lock = threading.RLock()
        self._drawn: RenderableType = Text("")
        self._live: Live | None = None
        self._ticker: threading.Thread | None = None
        self._ended = threading.Event()
        self._phase = ""
        self._since_s = self._lane_zero_s = clock()
        self._throughput = Throughput(self._since_s)
        self._counts = {"ok": 0, "fail": 0, "info": 0}
        self._open = 0
        self._fault: str | None = None
        self._faults: list[list[float | None]] = []
        """[from, to (None: still active)] on the clock."""

    # --- what the lifecycle says ------------------------------------------------------------

    def phase(self, name: str) -> None:
        """The run is in another phase now."""
        with self._lock:
            if name == self._phase:
                return
            self._phase, self._since_s = name, self._clock()
            if name == _TIMED_PHASE:
                self._lane_zero_s = self._since_s
                self._throughput = Throughput(self._since_s)
        if self._live is None:
            self._print_plain()

    def event(self, event: Event) -> None:
        """An event of the history. Those of clients are counted."""
        if isinstance(event.process, str):
            return
        with self._lock:
            if event.type == "invoke":
                self._open += 1
                return
            self._open -= 1
            self._counts[event.type] += 1
            self._throughput.add(self._clock())

    def fault(self, text: str | None) -> None:
        """The faults that are active now, in a few words; None: none is."""
        with self._lock:
            if text == self._fault:
                return
            now = self._clock()
            if self._fault is None:
                self._faults.append([now, None])
            elif text is None:
                self._faults[-1][1] = now
            self._fault = text
        if self._live is None:
            self.say(f"fault: {text}" if text else "fault: none, healed")

    def say(self, line: str) -> None:
        """A line that stays."""
        self._quietly(
            lambda: self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        )

    def print(self, renderable: RenderableType) -> None:
        """Something of rich's that stays."""
        self._quietly(lambda: self._console.print(renderable))

    # --- life -------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to draw. Does nothing the second time."""
        if self._live is not None or self._ticker is not None:
            return
        self._ended.clear()
        if self._console.is_terminal:
            self._quietly(self._start_live)
        else:
            self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
            self._ticker.start()

    def stop(self) -> None:
        """Take the block away. Does nothing the second time."""
        self._ended.set()
        live, self._live = self._live, None
        if live is not None:
            self._quietly(live.stop)
        ticker, self._ticker = self._ticker, None
        if ticker is not None and ticker is not threading.current_thread():
            ticker.join(timeout=1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start_live(self) -> None:
        live = Live(
            console=self._console,
            get_renderable=self._renderable,
            refresh_per_second=REFRESH_HZ,
            transient=True,
        )
        live.start()
        self._live = live

    def _tick(self) -> None:
        while not self._ended.wait(PLAIN_INTERVAL_S):
            self._print_plain()

    def _quietly(self, draw: Callable[[], object]) -> None:
        try:
            draw()
        except (Exception, SystemExit):  # rich would exit where the reader of a pipe is gone
            log.debug("progress could not be drawn", exc_info=True)

    # --- drawing ----------------------------------------------------------------------------

    def _print_plain(self) -> None:
        self._quietly(lambda: self.say(self.line()))

    def line(self) -> str:
        """Everything in one plain line."""
        with self._lock:
            now = self._clock()
            counts = " ".join(f"{name} {count}" for name, count in self._counts.items())
            fault = f" | fault: {self._fault}" if self._fault else ""
            rate = self._throughput.rate(now)
            return f"{self._phase} {self._elapsed(now)} | {rate:.1f} op/s | {counts}{fault}"

    def _elapsed(self, now: float) -> str:
        elapsed = f"{now - self._since_s:.0f} s"
        if self._phase == _TIMED_PHASE and self._limit_s is not None:
            return f"{elapsed} of {self._limit_s:g} s"
        return elapsed

    def _renderable(self) -> RenderableType:
        """The block, or the last one where it cannot be had at once: rich holds a lock of its
        own meanwhile, and whoever has ours may be waiting for that."""
        if self._lock.acquire(timeout=0.05):
            try:
                self._drawn = self.block(min(self._console.width, 100))
            except Exception:
                log.debug("progress could not be drawn", exc_info=True)
            finally:
                self._lock.release()
        return self._drawn

    def block(self, width: int) -> RenderableType:
        """The live block, so many characters wide."""
        with self._lock:
            now = self._clock()
            head = Table.grid(padding=(0, 2))
            timed = self._phase == _TIMED_PHASE and self._limit_s is not None
            row: list[RenderableType] = [Text(self._phase, "bold cyan"), Text(self._elapsed(now))]
            if timed:
                done = min(now - self._since_s, self._limit_s or 0.0)
                row.append(ProgressBar(total=self._limit_s, completed=done, width=width // 3))
            head.add_row(*row)
            counts = Text(f"{self._throughput.rate(now):6.1f} op/s", "bold")
            for name, count in self._counts.items():
                counts.append(f"   {name} {count:,}", OUTCOME_STYLE[name])
            counts.append(f"   open {self._open}", "dim")
            lines: list[RenderableType] = [head, counts]
            if self._faults:
                lines.append(self._fault_lane(now, width))
            return Group(*lines)

    def _fault_lane(self, now: float, width: int) -> Text:
        zero = self._lane_zero_s
        length = max(now - zero, self._limit_s or 0.0, 1.0)
        active = [
            ((start or 0.0) - zero, (now if end is None else end) - zero)
            for start, end in self._faults
        ]
        lane = Text("faults ", "dim")
        for cell in strip(active, length, max(10, width - 8)):
            lane.append(cell, "red" if cell == "█" else "dim")
        lane.append("\n")
        if self._fault:
            since = now - (self._faults[-1][0] or now)
            lane.append(f"       {self._fault}", "bold red").append(f" for {since:.0f} s", "red")
        else:
            lane.append("       none now", "dim")
        return lane
