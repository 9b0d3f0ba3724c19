"""What nodes were over time, from the run's evidence: role and epoch, broker state, and when a part
of one stood still."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from framework.evidence.brokers import BrokerStateChanged
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.processes import Booted, Exited, Stalled
from framework.evidence.quorum import RoleTaken
from framework.evidence.run_events import incarnations

Lane = Literal["role", "broker", "stalls"]

IN_LANES: Final = (Booted, BrokerStateChanged, Exited, RoleTaken, Stalled)
"""What shows what nodes have become."""
DOWN: Final = "down"
STARTING: Final = "starting"
STILL: Final = "stood still"
STILL_NS: Final = 100_000_000
"""Stalls that are shorter are not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A node was something from start to end (s since the run began)."""

    node: str
    lane: Lane
    state: str
    """Raft role, broker state, "starting", "down" between two processes, or "stood still"."""
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


def spans(
    evidence: Iterable[Evidence], until_ns: Mapping[tuple[str, str], int] = {}
) -> Iterator[Span]:
    """Spans of all nodes of which there is evidence, each node's in the order in which it
    happened. A killed process does not say that it ends: it is down from the last that is known
    of it to the next one's begin. `until_ns`: (node, incarnation) -> when something is known of it
    that is not among the evidence."""
    for node, lives in incarnations(_own(evidence)).items():
        yield from _of_node(node, lives, until_ns)


def in_order(evidence: Iterable[Evidence], kinds: tuple[type[Evidence], ...]) -> list[Evidence]:
    """What nodes told of some kinds, of each node as it happened."""
    chosen = [each for each in _own(evidence) if isinstance(each, kinds)]
    return [each for lives in incarnations(chosen).values() for life in lives for each in life]


def _own(evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    return filter(is_timed, evidence)


def is_timed(each: Evidence) -> bool:
    """Whether its time is the node's own: it told it as it happened, or wrote down with its stalls
    when they were."""
    return each.source == "event" or (each.source == DISK and isinstance(each, Stalled))


def _of_node(
    node: str, lives: Iterable[Iterable[Evidence]], until_ns: Mapping[tuple[str, str], int]
) -> Iterator[Span]:
    tracks: dict[Lane, _Track] = {}
    known_s = 0.0
    for life in lives:
        for track in tracks.values():
            yield from track.turn(DOWN, None, known_s)
        for each in life:
            time_s = each.at_ns / 1e9
            if isinstance(each, Stalled):
                yield from _stall(each)
            if isinstance(each, Exited):
                for track in tracks.values():
                    yield from track.turn(DOWN, None, time_s)
            for lane, state, epoch in _changes(each):
                track = tracks.setdefault(lane, _Track(node, lane))
                yield from track.turn(state, epoch, time_s)
            known_s = max(known_s, time_s)
        known_s = max(known_s, until_ns.get((node, each.incarnation), 0) / 1e9)
    for track in tracks.values():
        if track.now is None or track.now[0] != DOWN:
            yield from track.end(known_s)


def _stall(stalled: Stalled) -> Iterator[Span]:
    if stalled.lasted_ns >= STILL_NS:
        yield Span(
            node=stalled.node,
            lane="stalls",
            state=STILL,
            epoch=None,
            start_s=(stalled.at_ns - stalled.lasted_ns) / 1e9,
            end_s=stalled.at_ns / 1e9,
        )


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
