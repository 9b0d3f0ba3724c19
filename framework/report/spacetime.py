"""A space-time diagram: nodes as lanes, time to the right, messages as arrows between them, around
a finding. Inline SVG; colours are the page's own. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from framework.evidence.brokers import BrokerStateChanged
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Exited, Failed
from framework.evidence.quorum import Claimed, Elected, RoleTaken, Truncated
from framework.evidence.requests import Answered, Decided
from framework.history.pairing import Operation
from framework.report.colours import PLAIN, STATE_COLOUR
from framework.report.data import NS, Run
from framework.report.messages import RANK, Message, messages
from framework.report.nodes import Lane, Span
from framework.report.text import shorten
from framework.report.thinning import end_s, start_s

MAX_MESSAGES: Final = 90
MAX_MARKS: Final = 120
MAX_OPERATIONS: Final = 8
CLIENTS: Final = "clients"
_ROOM: Final = 0.25
"""Of the time of a finding, before it and after it; but at least and at most: """
_LEAST_S, _MOST_S = 0.05, 1.0
_LEFT, _RIGHT, _TOP, _LANE, _BAR, _BOTTOM = 92, 24, 30, 46, 15, 30
_STRIP: Final[Mapping[Lane, int]] = {"role": -3, "broker": 2, "stalls": 7}
"""Where what a node was is drawn, below the middle of its lane."""
_WIDTH: Final = 1240
_CHAR: Final = 6.3
_TICKS: Final = 9
LEGEND: Final = (
    ("vote", "vote"),
    ("refusal", "vote refused"),
    ("leader", "new leader known"),
    ("append", "records of the metadata log"),
    ("commit", "high watermark"),
    ("data", "records of a partition"),
    ("request", "request: when it was sent nobody wrote down"),
    ("answer", "answer"),
)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a finding names."""

    from_s: float
    to_s: float
    operations: Sequence[Operation] = ()
    events: Sequence[Mapping[str, Any]] = ()
    """As the page has them: `time_s`, `node`, `type`, and all fields in `all`."""

    def apart_s(self, time_s: float) -> float:
        """From the nearest moment that the finding names."""
        times = [at_s for op in self.operations for at_s in (start_s(op), end_s(op))]
        times += [each["time_s"] for each in self.events if each["time_s"] is not None]
        return min(abs(time_s - at_s) for at_s in (times or [self.from_s, self.to_s]))


@dataclass(frozen=True, slots=True)
class Mark:
    node: str
    time_s: float
    kind: str
    """election, state, log, request, or proof."""
    text: str
    label: str = ""
    """What is written beside it, where there is room."""


class SpaceTime:
    """Of one run, for any number of findings: messages are found once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._messages = messages(run.evidence, run.plan)
        self._marks = sorted(
            (mark for each in run.evidence if (mark := _mark(each)) is not None),
            key=lambda mark: mark.time_s,
        )

    def drawn(self, proof: Proof, room_s: float | None = None) -> str:
        """The diagram, with `room_s` before and after the proof, or as much as it takes to see
        where it stands; empty where nothing of a node is known in that time."""
        usual = min(max((proof.to_s - proof.from_s) * _ROOM, _LEAST_S), _MOST_S)
        room = usual if room_s is None else room_s
        begin, end = proof.from_s - room, proof.to_s + room
        near = [
            each
            for each in self._messages
            if each.received.time_s >= begin and each.sent.time_s <= end
        ]
        own = [_of_proof(event) for event in proof.events if event.get("time_s") is not None]
        named = {(mark.node, mark.time_s) for mark in own}
        first = bisect_left(self._marks, begin, key=lambda mark: mark.time_s)
        last = bisect_right(self._marks, end, key=lambda mark: mark.time_s)
        others = [each for each in self._marks[first:last] if (each.node, each.time_s) not in named]
        if not near and not own and not others:
            return ""
        shown = sorted(near, key=lambda each: _message_rank(each, named, proof, begin, end))
        shown = shown[:MAX_MESSAGES]
        shown.sort(key=lambda each: each.received.time_s)
        others.sort(key=lambda each: (each.kind != "election", proof.apart_s(each.time_s)))
        picture = _Picture(
            begin,
            end,
            _lanes(self._run, shown, own),
            proof.operations[:MAX_OPERATIONS],
        )
        left_out = len(near) - len(shown)
        return picture.svg(self._run, shown, [*others[:MAX_MARKS], *own], left_out)


def _message_rank(
    each: Message, named: set[tuple[str, float]], proof: Proof, begin: float, end: float
) -> tuple[bool, bool, int, float]:
    """What proves the finding first, then what is there from end to end, as a process that starts
    later reads the whole log; then by kind, then what is nearest to the proof."""
    ends = {(end.node, end.time_s) for end in (each.sent, each.received)}
    cut = each.sent.time_s < begin or each.received.time_s > end
    return not ends & named, cut, RANK[each.kind], proof.apart_s(each.received.time_s)


def _lanes(run: Run, shown: Iterable[Message], own: Iterable[Mark]) -> list[str]:
    """The plan's nodes, and others that have something to show."""
    nodes = run.plan.get("nodes")
    named = [*nodes] if isinstance(nodes, dict) else []
    more = {end.node for each in shown for end in (each.sent, each.received)}
    return [*dict.fromkeys([*named, *sorted(more | {mark.node for mark in own} - {""})])]


def _mark(evidence: Evidence) -> Mark | None:
    """What is worth a mark by itself; ends of messages have theirs."""
    at_s = evidence.at_ns / NS
    match evidence:
        case Elected():
            text = f"elected, epoch {evidence.epoch}"
            return Mark(evidence.node, at_s, "election", text, f"elected e{evidence.epoch}")
        case RoleTaken():
            text = f"{evidence.role}, epoch {evidence.epoch}"
            return Mark(evidence.node, at_s, "election", text)
        case Claimed():
            text = f"active controller of epoch {evidence.epoch}"
            return Mark(evidence.node, at_s, "election", text)
        case Truncated():
            text = f"log cut back to {evidence.end_offset}"
            return Mark(evidence.node, at_s, "log", text, text)
        case Exited() | Failed():
            text = evidence.reason if isinstance(evidence, Exited) else evidence.message
            return Mark(evidence.node, at_s, "state", f"{evidence.kind}: {text}", evidence.kind)
        case BrokerStateChanged():
            return Mark(evidence.node, at_s, "state", f"broker {evidence.after}", evidence.after)
        case Decided():
            said = "accepted" if evidence.accepted else f"refused: {evidence.code}"
            wrote = f", offsets {list(evidence.records)}" if evidence.records else ""
            return Mark(evidence.node, at_s, "request", f"{evidence.api} {said}{wrote}")
        case Answered():
            said = "ok" if evidence.accepted else "not ok"
            text = f"{evidence.api} answered {said}, high watermark {evidence.high_watermark}"
            return Mark(evidence.node, at_s, "request", text)
    return None


def _of_proof(event: Mapping[str, Any]) -> Mark:
    text = f"{event.get('type')} {shorten(event.get('fields') or {}, 240)}"
    return Mark(
        str(event.get("node")), float(event["time_s"]), "proof", text, str(event.get("type"))
    )


class _Picture:
    def __init__(
        self, begin: float, end: float, lanes: Sequence[str], operations: Sequence[Operation]
    ) -> None:
        self.begin, self.end = begin, end
        self.operations = operations
        top = _TOP + (len(operations) * _BAR + 16 if operations else 0)
        self.y = {name: top + _LANE * (row + 0.55) for row, name in enumerate(lanes)}
        self.bottom = top + _LANE * len(lanes)

    def x(self, time_s: float) -> float:
        """Times outside are at the edge."""
        return self.beyond(min(max(time_s, self.begin), self.end))

    def beyond(self, time_s: float) -> float:
        """Where a time is, also outside: what is there is clipped."""
        share = (time_s - self.begin) / (self.end - self.begin)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def svg(self, run: Run, shown: Sequence[Message], marks: Sequence[Mark], left_out: int) -> str:
        kinds = {each.kind for each in shown}
        legend = [(kind, text) for kind, text in LEGEND if kind in kinds]
        height = self.bottom + _BOTTOM + 20 * (1 + bool(left_out))
        parts = [
            f'<svg class="spacetime" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
            f'aria-label="Nodes and messages from {self.begin:.3f} s to {self.end:.3f} s">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="6.5" '
            'markerHeight="6.5" orient="auto-start-reverse" markerUnits="userSpaceOnUse">'
            '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker>'
            f'<clipPath id="within"><rect x="{_LEFT}" y="0" width="{_WIDTH - _LEFT - _RIGHT}" '
            f'height="{height:.0f}"/></clipPath></defs>',
            *self._bands(run),
            *self._axis(),
            *self._clients(),
            *self._nodes(run.spans),
            '<g clip-path="url(#within)">',
            *(self._arrow(each) for each in shown),
            "</g>",
            *self._states(run.spans),
            *self._marked(marks),
            *self._legend(legend, left_out),
            "</svg>",
        ]
        return "".join(parts)

    def _bands(self, run: Run) -> Iterable[str]:
        for each in run.injections:
            if each.start_s is None or each.start_s > self.end:
                continue
            to_s = self.end if each.end_s is None else each.end_s
            if to_s < self.begin:
                continue
            x, width = self.x(each.start_s), self.x(to_s) - self.x(each.start_s)
            name = escape(f"{each.fault} {each.shape} ({each.id})")
            yield (
                f'<rect class="fault" x="{x}" y="{_TOP - 8}" width="{max(width, 1):.1f}" '
                f'height="{self.bottom - _TOP + 8:.0f}"><title>{name}</title></rect>'
            )

    def _axis(self) -> Iterable[str]:
        step = _step((self.end - self.begin) / _TICKS)
        digits = max(0, len(f"{step:.6f}".rstrip("0").partition(".")[2]))
        tick = -(-self.begin // step) * step
        while tick <= self.end:
            x = self.x(tick)
            yield f'<line class="tick" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{self.bottom:.0f}"/>'
            at_s = round(tick, digits) + 0.0  # which is never -0.0
            yield f'<text class="time" x="{x}" y="{_TOP - 13}">{at_s:.{digits}f} s</text>'
            tick += step

    def _clients(self) -> Iterable[str]:
        """The finding's operations as bars, each with the node that it was sent to."""
        for row, op in enumerate(self.operations):
            y = _TOP + row * _BAR
            x, to = self.x(start_s(op)), self.x(end_s(op))
            if op.completed_ns is None:
                to = self.x(self.end)
            about = escape(shorten(f"{op.index} {op.f} {op.key or ''} {op.type}", 60))
            yield (
                f'<rect class="op {escape(op.type)}" x="{x}" y="{y}" width="{max(to - x, 2):.1f}" '
                f'height="{_BAR - 4}"><title>{about}</title></rect>'
            )
            width = len(about) * _CHAR
            beside = to + 5 + width < _WIDTH
            at, anchor = (to + 5, "start") if beside else (x - 5, "end")
            yield f'<text class="label" x="{at}" y="{y + 9}" text-anchor="{anchor}">{about}</text>'
            if op.node in self.y:
                yield from self._sent(op, y + _BAR - 4)
        if self.operations:
            yield f'<text class="lane" x="8" y="{_TOP + 10}">{CLIENTS}</text>'

    def _sent(self, op: Operation, y: float) -> Iterable[str]:
        node = self.y[op.node or ""]
        if op.invoked_ns is not None and self.begin <= start_s(op):
            x = self.x(start_s(op))
            yield f'<line class="message request" x1="{x}" y1="{y}" x2="{x}" y2="{node}"/>'
        if op.completed_ns is not None and end_s(op) <= self.end:
            x = self.x(end_s(op))
            yield f'<line class="message request" x1="{x}" y1="{node}" x2="{x}" y2="{y}"/>'

    def _nodes(self, spans: Sequence[Span]) -> Iterable[str]:
        for name, y in self.y.items():
            yield f'<line class="lane" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
            yield f'<text class="lane" x="8" y="{y + 4}">{escape(name)}</text>'
        for span in self._seen(spans):
            y = self.y[span.node] + _STRIP[span.lane]
            x, to = self.x(span.start_s), self.x(span.end_s)
            colour = STATE_COLOUR.get(span.state, PLAIN)
            yield (
                f'<rect class="state" x="{x}" y="{y}" width="{to - x:.1f}" height="4" '
                f'fill="{colour}"><title>{_state(span)}</title></rect>'
            )

    def _states(self, spans: Sequence[Span]) -> Iterable[str]:
        """Roles in words, where there is room."""
        for span in self._seen(spans):
            x, to = self.x(span.start_s), self.x(span.end_s)
            text = _state(span)
            if span.lane == "role" and to - x > len(text) * _CHAR + 4:
                y = self.y[span.node] + 14
                yield f'<text class="state" x="{x + 2}" y="{y}">{text}</text>'

    def _seen(self, spans: Sequence[Span]) -> Iterable[Span]:
        return (
            span
            for span in spans
            if span.node in self.y and span.end_s >= self.begin and span.start_s <= self.end
        )

    def _arrow(self, each: Message) -> str:
        if each.sent.node not in self.y or each.received.node not in self.y:
            return ""
        ends = (
            f'x1="{self.beyond(each.sent.time_s)}" y1="{self.y[each.sent.node]}" '
            f'x2="{self.beyond(each.received.time_s)}" y2="{self.y[each.received.node]}"'
        )
        took = (each.received.time_s - each.sent.time_s) * 1000
        said = f", {took:.1f} ms" if each.kind != "request" else ""
        route = f"{each.sent.node} → {each.received.node}"
        text = escape(f"{route}: {each.text}{said}, at {each.received.time_s:.4f} s")
        return f'<line class="message {each.kind}" {ends}><title>{text}</title></line>'

    def _marked(self, marks: Sequence[Mark]) -> Iterable[str]:
        free: dict[str, float] = {}
        for mark in sorted(marks, key=lambda each: (each.kind != "proof", each.time_s)):
            if mark.node not in self.y or not self.begin <= mark.time_s <= self.end:
                continue
            x, y = self.x(mark.time_s), self.y[mark.node]
            text = escape(f"{mark.node}, {mark.time_s:.4f} s: {mark.text}")
            size = 5.5 if mark.kind == "proof" else 3.2
            yield (
                f'<circle class="mark at-{mark.kind}" cx="{x}" cy="{y}" r="{size}">'
                f"<title>{text}</title></circle>"
            )
            width = len(mark.label) * _CHAR
            before = free.get(mark.node, -1e9)
            if mark.label and x + width < _WIDTH and x > before:
                free[mark.node] = x + width + 8
                label = escape(mark.label)
                yield f'<text class="label at-{mark.kind}" x="{x}" y="{y - 10}">{label}</text>'

    def _legend(self, legend: Sequence[tuple[str, str]], left_out: int) -> Iterable[str]:
        x, y = float(_LEFT), self.bottom + 20
        for kind, text in legend:
            yield f'<line class="message {kind}" x1="{x}" x2="{x + 26}" y1="{y}" y2="{y}"/>'
            yield f'<text class="legend" x="{x + 31}" y="{y + 4}">{text}</text>'
            x += 50 + len(text) * _CHAR
        if left_out:
            more = f"{left_out} more messages in this time are not drawn"
            yield f'<text class="legend" x="{_LEFT}" y="{y + 22}">{more}</text>'


def _state(span: Span) -> str:
    return escape(span.state + ("" if span.epoch is None else f" e{span.epoch}"))


def _step(least: float) -> float:
    """1, 2 or 5 times a power of ten, and no less."""
    power = 1e-6
    while True:
        for times in (1, 2, 5):
            if power * times >= least:
                return power * times
        power *= 10
