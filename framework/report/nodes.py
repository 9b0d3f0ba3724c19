"""What nodes were over time, from their events (docs/events.md): role and epoch, broker state."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Lane = Literal["role", "broker"]

DOWN: Final = "down"
STARTING: Final = "starting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A node was something from start to end (s since the run began)."""

    node: str
    lane: Lane
    state: str
    """Raft role, broker state, "starting", or "down" between two processes."""
    epoch: int | None
    """Leader epoch of a role, broker epoch of a broker state."""
    start_s: float
    end_s: float


class _Track:
    """One lane of one node, as it goes along."""

    def __init__(self, node: str, lane: Lane) -> None:
        self.node, self.lane = node, lane
        self.now: tuple[str, int | None, float] | None = None

    def turn(self, state: str, epoch: int | None, time_s: float) -> Iterator[Span]:
        """The node turns into something else; what it was until now."""
        if self.now is not None and self.now[:2] == (state, epoch):
            return
        yield from self.end(time_s)
        self.now = (state, epoch, time_s)

    def end(self, time_s: float) -> Iterator[Span]:
        if self.now is None:
            return
        state, epoch, since = self.now
        self.now = None
        if time_s > since:
            yield Span(
                node=self.node,
                lane=self.lane,
                state=state,
                epoch=epoch,
                start_s=since,
                end_s=time_s,
            )


def spans(node: str, events: Iterable[Mapping[str, Any]], zero_ns: int) -> Iterator[Span]:
    """Spans of one node from its events in the order written. A killed process writes no `exit`:
    it is down from its last event to the next `boot`."""
    tracks: dict[Lane, _Track] = {}
    incarnation: object = None
    time_s = 0.0
    for event in events:
        kind, at_ns = event.get("type"), event.get("time_ns")
        if not isinstance(at_ns, int):
            continue
        if kind == "boot" or event.get("incarnation") != incarnation:
            incarnation = event.get("incarnation")
            for track in tracks.values():
                yield from track.turn(DOWN, None, time_s)
        time_s = (at_ns - zero_ns) / 1e9
        if kind == "exit":
            for track in tracks.values():
                yield from track.turn(DOWN, None, time_s)
        for lane, state, epoch in _changes(event):
            track = tracks.setdefault(lane, _Track(node, lane))
            yield from track.turn(state, epoch, time_s)
    for track in tracks.values():
        if track.now is None or track.now[0] != DOWN:
            yield from track.end(time_s)


def _changes(event: Mapping[str, Any]) -> Iterator[tuple[Lane, str, int | None]]:
    """What an event says the node has become."""
    kind = event.get("type")
    if kind == "boot":
        yield "role", STARTING, None
        if event.get("broker_id") is not None:
            yield "broker", STARTING, None
    elif kind == "role":
        yield "role", str(event.get("role")), _number(event.get("epoch"))
    elif kind == "bstate":
        yield "broker", str(event.get("after")), _number(event.get("broker_epoch"))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
