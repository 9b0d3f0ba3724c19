"""What nodes were over time, from the run's evidence: role and epoch, broker state."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from framework.evidence.kinds import Booted, BrokerStateChanged, Evidence, Exited, RoleTaken

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


def spans(evidence: Iterable[Evidence]) -> Iterator[Span]:
    """Spans of all nodes of which there is evidence, each node's in the order in which it
    happened. A killed process does not say that it ends: it is down from the last that is known
    of it to the next one's begin."""
    by_node: dict[str, list[Evidence]] = {}
    for each in evidence:
        if each.source == "event":  # of the others the time is not the node's
            by_node.setdefault(each.node, []).append(each)
    for node, own in by_node.items():
        yield from _of_node(node, own)


def _of_node(node: str, evidence: Iterable[Evidence]) -> Iterator[Span]:
    tracks: dict[Lane, _Track] = {}
    incarnation: str | None = None
    time_s = 0.0
    for each in evidence:
        if each.incarnation != incarnation:
            incarnation = each.incarnation
            for track in tracks.values():
                yield from track.turn(DOWN, None, time_s)
        time_s = each.at_ns / 1e9
        if isinstance(each, Exited):
            for track in tracks.values():
                yield from track.turn(DOWN, None, time_s)
        for lane, state, epoch in _changes(each):
            track = tracks.setdefault(lane, _Track(node, lane))
            yield from track.turn(state, epoch, time_s)
    for track in tracks.values():
        if track.now is None or track.now[0] != DOWN:
            yield from track.end(time_s)


def _changes(evidence: Evidence) -> Iterator[tuple[Lane, str, int | None]]:
    """What the node has become, as this shows."""
    match evidence:
        case Booted():
            yield "role", STARTING, None
            if evidence.broker_id is not None:
                yield "broker", STARTING, None
        case RoleTaken():
            yield "role", evidence.role, evidence.epoch
        case BrokerStateChanged():
            yield "broker", evidence.after, evidence.broker_epoch
