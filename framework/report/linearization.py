"""A partial linearization as a picture: bars in time, an order through them. Inline SVG. Pure.

A picture is what a checker put into its finding (`Finding.picture`), JSON:

    {"bars": [{"index", "end", "from_ns", "to_ns", "process", "label", "outcome",
               "member", "place", "fails"}, ...], "state": text, "others": count}

A bar is an operation from its invocation (event `index`) to its return (`end`, null: never).
`place` is its number in the order; `fails` is why it cannot come next, though it has to; `member`:
it belongs to the few that show the violation. Events are as far apart as their names need: their
order counts, not the time between them. Colours are the page's own, so it suits light and dark.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, Final

NS_PER_MS: Final = 1e6
MAX_LANES: Final = 30
_LANE_PX: Final = 46
_BAR_PX: Final = 14
_TOP_PX: Final = 10
_AXIS_PX: Final = 26
_SLOT_PX: Final = 24
"""Room for a number of the order."""
_CHAR_PX: Final = 6.7
_LONGEST_LABEL: Final = 34
_WIDE_PX: Final = 700
"""Small pictures are widened to this, but not by more than `_MOST_STRETCH`."""
_MOST_STRETCH: Final = 2.2
_SMALLEST: Final = 0.7
"""How far a wide picture shrinks to fit the page, before it is scrolled."""
_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Bar:
    index: int
    end: float
    """Infinite: never."""
    from_ns: int | None
    to_ns: int | None
    process: str
    label: str
    outcome: str
    member: bool
    place: int | None
    fails: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is, in px."""

    lanes: Sequence[str]
    """Processes, from above."""
    x: Mapping[float, float]
    """By event; `inf` is the right edge."""
    points: Sequence[tuple[Bar, float]]
    """The order: bars with the x at which they take effect."""
    stuck: Sequence[tuple[Bar, float]]
    """Those that cannot come next."""
    width: float
    height: float

    def y(self, bar: Bar) -> float:
        """The middle of its bar."""
        return _TOP_PX + self.lanes.index(bar.process) * _LANE_PX + _LANE_PX - _BAR_PX / 2 - 6


def bars_of(picture: Mapping[str, Any]) -> list[Bar]:
    """Raises `KeyError`, `TypeError` or `ValueError` for what is no picture."""
    bars = [
        Bar(
            index=int(each["index"]),
            end=_NEVER if each["end"] is None else int(each["end"]),
            from_ns=each.get("from_ns"),
            to_ns=each.get("to_ns"),
            process=str(each["process"]),
            label=str(each["label"]),
            outcome=str(each.get("outcome", "")),
            member=bool(each["member"]),
            place=each["place"],
            fails=each["fails"],
        )
        for each in picture["bars"]
    ]
    return _in_few_lanes(sorted(bars, key=lambda bar: bar.index))


def svg(picture: Mapping[str, Any]) -> str:
    """The picture as an element for a page. Raises as `bars_of` does."""
    bars = bars_of(picture)
    if not bars:
        return ""
    layout = lay_out(bars)
    width, height = round(layout.width), round(layout.height)
    parts = [
        f'<svg class="linearization" role="img" width="{width}" viewBox="0 0 {width} {height}" '
        f'style="min-width:{_SMALLEST * width:.0f}px">',
        *_lanes(layout),
        *_axis(layout),
        # What never returned lies behind what its process did later.
        *(_bar(layout, bar) for bar in sorted(bars, key=lambda bar: bar.end != _NEVER)),
        *_line(layout),
        *(_label(layout, bar) for bar in bars),
        *_points(layout),
        "</svg>",
    ]
    return "\n".join(parts)


def lay_out(bars: Sequence[Bar]) -> Layout:
    """Room for every label and every number of the order; the events in their order."""
    lanes = list(dict.fromkeys(bar.process for bar in bars))
    events = sorted({float(bar.index) for bar in bars} | {bar.end for bar in bars} | {_NEVER})
    order = sorted((bar for bar in bars if bar.place is not None), key=lambda bar: bar.place or 0)
    stuck = [bar for bar in bars if bar.fails is not None]
    slots = _slots([*order, *stuck], events)
    digits = len(str(int(events[-2])))
    gaps = [
        max(_SLOT_PX * (slots.count(gap) + 0.5), 6.2 * digits + 6) for gap in range(len(events) - 1)
    ]
    place = {event: number for number, event in enumerate(events)}
    for lane in lanes:
        own = [bar for bar in bars if bar.process == lane]
        for bar, following in pairwise([*own, None]):
            assert bar is not None
            until = len(gaps) if following is None else place[following.index]
            _widen(gaps, place[bar.index], until, len(_shown(bar)) * _CHAR_PX + 12)
    left = 16 + max(len(_lane_name(lane)) for lane in lanes) * _CHAR_PX
    stretch = min(_MOST_STRETCH, max(1.0, (_WIDE_PX - left) / sum(gaps)))
    gaps = [gap * stretch for gap in gaps]
    x = {events[0]: left}
    for number, gap in enumerate(gaps):
        x[events[number + 1]] = x[events[number]] + gap
    at = _at(slots, [x[event] for event in events])
    return Layout(
        lanes=lanes,
        x=x,
        points=list(zip(order, at, strict=False)),
        stuck=list(zip(stuck, at[len(order) :], strict=True)),
        width=x[_NEVER] + 12,
        height=_TOP_PX + len(lanes) * _LANE_PX + _AXIS_PX,
    )


def _slots(order: Iterable[Bar], events: Sequence[float]) -> list[int]:
    """For each, the gap between events in which it takes effect: as early as can be."""
    earliest, found = float("-inf"), []
    for bar in order:
        earliest = max(earliest, bar.index)
        found.append(events.index(earliest))
    return found


def _at(slots: Sequence[int], edges: Sequence[float]) -> list[float]:
    """Those of one gap share it evenly."""
    found = []
    for number, gap in enumerate(slots):
        nth = sum(slot == gap for slot in slots[:number]) + 1
        found.append(edges[gap] + (edges[gap + 1] - edges[gap]) * nth / (slots.count(gap) + 1))
    return found


def _widen(gaps: list[float], first: int, until: int, needed: float) -> None:
    missing = needed - sum(gaps[first:until])
    if missing > 0:
        for gap in range(first, until):
            gaps[gap] += missing / (until - first)


def _in_few_lanes(bars: list[Bar]) -> list[Bar]:
    """Without lanes that nobody could read any more: those without a member go first, then the
    oldest."""
    lanes = dict.fromkeys(bar.process for bar in bars)
    if len(lanes) <= MAX_LANES:
        return bars
    members = dict.fromkeys(bar.process for bar in bars if bar.member)
    kept = set([*(lane for lane in lanes if lane not in members), *members][-MAX_LANES:])
    return [bar for bar in bars if bar.process in kept]


def _shown(bar: Bar) -> str:
    """What was asked and what came of it, each as far as there is room."""
    if len(bar.label) <= _LONGEST_LABEL:
        return bar.label
    asked, arrow, outcome = bar.label.rpartition(" -> ")
    if not arrow:
        return _cut(outcome, _LONGEST_LABEL)
    outcome = _cut(outcome, _LONGEST_LABEL - min(len(asked), _LONGEST_LABEL // 2) - len(arrow))
    return _cut(asked, _LONGEST_LABEL - len(outcome) - len(arrow)) + arrow + outcome


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _lane_name(process: str) -> str:
    return _cut(f"process {process}", 20)


def _kind(bar: Bar) -> str:
    if bar.fails is not None:
        return "fails"
    if bar.place is None:
        return "beside"
    return "member" if bar.member else "other"


def _title(bar: Bar) -> str:
    until = "never returned" if bar.end == _NEVER else f"to {bar.end:.0f}"
    lines = [f"{bar.label}", f"index {bar.index} {until}, process {bar.process}"]
    if bar.from_ns is not None:
        to = "" if bar.to_ns is None else f" to {bar.to_ns / NS_PER_MS:.3f} ms"
        lines.append(f"{bar.from_ns / NS_PER_MS:.3f} ms{to} since the run began")
    if bar.place is not None:
        lines.append(f"number {bar.place} of the order")
    if bar.fails is not None:
        lines.append(f"cannot come next: {bar.fails}")
    return f"<title>{escape(chr(10).join(lines))}</title>"


def _lanes(layout: Layout) -> Iterable[str]:
    for number, lane in enumerate(layout.lanes):
        y = _TOP_PX + number * _LANE_PX
        yield f'<line class="lane" x1="0" x2="{layout.width:.0f}" y1="{y + 46}" y2="{y + 46}"/>'
        yield f'<text class="process" x="4" y="{y + 37}">{escape(_lane_name(lane))}</text>'


def _axis(layout: Layout) -> Iterable[str]:
    bottom = layout.height - _AXIS_PX
    for event, x in layout.x.items():
        if event != _NEVER:
            yield f'<line class="event" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP_PX}" y2="{bottom}"/>'
            yield f'<text class="index" x="{x:.1f}" y="{bottom + 15}">{event:.0f}</text>'


def _bar(layout: Layout, bar: Bar) -> str:
    left, right = layout.x[bar.index], layout.x[bar.end]
    top = layout.y(bar) - _BAR_PX / 2
    if bar.end == _NEVER:
        shape = (
            f'<path d="M{right:.1f} {top:.1f}H{left + 3:.1f}q-3 0 -3 3v{_BAR_PX - 6}q0 3 3 3'
            f'H{right:.1f}"/><text class="open" x="{right - 2:.1f}" y="{top + 11:.1f}">▸</text>'
        )
    else:
        shape = (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{_BAR_PX}" '
            f'rx="3"/>'
        )
    return f'<g class="bar {_kind(bar)}">{_title(bar)}{shape}</g>'


def _label(layout: Layout, bar: Bar) -> str:
    x, y = layout.x[bar.index] + 2, layout.y(bar) - _BAR_PX / 2 - 5
    return (
        f'<text class="label {_kind(bar)}" x="{x:.1f}" y="{y:.1f}">{_title(bar)}'
        f"{escape(_shown(bar))}</text>"
    )


def _line(layout: Layout) -> Iterable[str]:
    points = [(x, layout.y(bar)) for bar, x in layout.points]
    if len(points) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="order" points="{path}"/>'
    for bar, x in layout.stuck if points else ():
        (from_x, from_y), y = points[-1], layout.y(bar)
        yield (
            f'<line class="next" x1="{from_x:.1f}" y1="{from_y:.1f}" x2="{x:.1f}" y2="{y:.1f}"/>'
        )


def _points(layout: Layout) -> Iterable[str]:
    for bar, x in layout.points:
        y = layout.y(bar)
        yield (
            f'<g class="point {_kind(bar)}">{_title(bar)}<circle cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text x="{x:.1f}" y="{y + 3.6:.1f}">{bar.place}</text></g>'
        )
    for bar, x in layout.stuck:
        y = layout.y(bar)
        yield (
            f'<g class="point fails">{_title(bar)}<circle cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text x="{x:.1f}" y="{y + 3.8:.1f}">✕</text></g>'
        )
