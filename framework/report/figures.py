"""The page's figures, as plain Plotly dictionaries ({"data": [...], "layout": {...}}). Pure.

Every figure has time since the run began (s) on x, and the same range, so that the page can zoom
them together. Text of histories is escaped here: Plotly reads a little HTML in its labels.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from framework.history.event import Process
from framework.history.pairing import Operation
from framework.report.answers import OUTCOMES, Answers, OutcomeName
from framework.report.bands import (
    LABEL_PX,
    band_labels,
    bands,
    fault_colours,
    fault_end_s,
    fault_hover,
)
from framework.report.colours import OUTCOME_COLOUR, PLAIN, PROOF, STATE_COLOUR, ink_on
from framework.report.data import NS, Run
from framework.report.nodes import DOWN, Span
from framework.report.text import escaped, shorten
from framework.report.thinning import Bar, end_s, points, start_s
from framework.report.thinning import bars as bars_of

Figure = dict[str, Any]

MAX_DRAWN: Final = 40_000
"""Operations in the page at most, beside those of findings."""

OUTCOME_HEIGHT: Final = {"ok": 0.62, "fail": 0.4, "info": 0.24}
"""Of a bar; a row is 1."""
_OUTCOME_SYMBOL: Final = {"ok": "", "fail": "-open", "info": "-open-dot"}

_GRID: Final = "rgba(128,128,128,0.22)"
_BOTTOM_PX: Final = 74
"""Below the axes: their labels, and a legend of few."""
_LEGEND_PX: Final = 19
_A_ROW: Final = 5
"""Entries of a legend in a row, of a page as wide as most are. What a legend needs more than the
figure gives it is taken from what is drawn, however little that leaves."""
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x")


def drawn(operations: Sequence[Operation], keep: frozenset[int]) -> list[Operation]:
    """Those that are drawn: all in `keep` (indices), the others thinned evenly to
    `MAX_DRAWN`. Operations without times cannot be placed."""
    placed = [op for op in operations if op.invoked_ns is not None]
    others = sum(op.index not in keep for op in placed)
    step = max(1, -(-others // MAX_DRAWN))
    found, position = [], 0
    for op in placed:
        if op.index in keep:
            found.append(op)
        else:
            if position % step == 0:
                found.append(op)
            position += 1
    return found


def row_of(process: Process, threads: int | None) -> int:
    """The thread of a process: after an info, a thread goes on as process + threads. Processes
    with a name share a row; our own runs have none."""
    if isinstance(process, str):
        return -1
    return process % threads if threads else process


def _by_kind(process: Process) -> tuple[bool, Process]:
    """A sort key: numbers before names."""
    return isinstance(process, str), process


def timeline(
    run: Run, operations: Sequence[Operation], keep: frozenset[int], threads: int | None
) -> Figure:
    """A row a client thread, a bar an operation; an info goes on, faintly, to the end."""
    rows = sorted({row_of(op.process, threads) for op in operations})
    traces = [_tails(operations, threads, run.end_s)]
    for outcome in OUTCOMES:
        chosen = [op for op in operations if op.type == outcome]
        traces.append(_bars(outcome, chosen, threads, run.end_s))
    traces.append(_proof([op for op in operations if op.index in keep], threads))
    figure = _figure(run, traces, height=110 + 26 * max(len(rows), 3))
    figure["layout"]["yaxis"] |= {
        "tickvals": rows,
        "ticktext": [_row_label(row, operations, threads) for row in rows],
        "range": [(rows[-1] if rows else 0) + 0.7, (rows[0] if rows else 0) - 0.7],
        "zeroline": False,
    }
    figure["layout"]["barmode"] = "overlay"
    return figure


def _row_label(row: int, operations: Sequence[Operation], threads: int | None) -> str:
    processes = sorted(
        {op.process for op in operations if row_of(op.process, threads) == row}, key=_by_kind
    )
    names = ", ".join(map(str, processes[:3])) + (", …" if len(processes) > 3 else "")
    return f"p {names}"


def _bars(
    outcome: str, operations: Sequence[Operation], threads: int | None, length_s: float
) -> dict[str, Any]:
    found = bars_of(operations, lambda op: row_of(op.process, threads), length_s)
    colour = OUTCOME_COLOUR[outcome]
    return {
        "type": "bar",
        "orientation": "h",
        "name": outcome,
        "base": [bar.from_s for bar in found],
        "x": [bar.to_s - bar.from_s for bar in found],
        "y": [bar.row for bar in found],
        "width": OUTCOME_HEIGHT[outcome],
        "marker": {"color": colour, "line": {"color": colour, "width": 1}},
        "customdata": [bar.first.index for bar in found],
        "hovertext": [_bar_hover(bar) for bar in found],
        "hoverinfo": "text",
    }


def _bar_hover(bar: Bar) -> str:
    if bar.count == 1:
        return hover(bar.first)
    return (
        f"<b>{bar.count:,} operations</b>, {bar.outcome}<br>{bar.from_s:.3f} s to "
        f"{bar.to_s:.3f} s<br>zoom in to see each"
    )


def _tails(operations: Sequence[Operation], threads: int | None, length_s: float) -> dict[str, Any]:
    """From the completion of a row's first info to the end: it may take effect all that time.
    Later ones of the row would only cover it."""
    first: dict[int, float] = {}
    for op in operations:
        if op.type == "info":
            row = row_of(op.process, threads)
            first[row] = min(first.get(row, length_s), end_s(op))
    return {
        "type": "bar",
        "orientation": "h",
        "name": "an info may still take effect",
        "base": list(first.values()),
        "x": [length_s - since_s for since_s in first.values()],
        "y": list(first),
        "width": 0.16,
        "marker": {"color": OUTCOME_COLOUR["info"], "opacity": 0.3},
        "hoverinfo": "skip",
        "legendrank": 1001,
    }


def _proof(operations: Sequence[Operation], threads: int | None) -> dict[str, Any]:
    """Marks over the operations that findings name."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "proves a finding",
        "x": [(start_s(op) + end_s(op)) / 2 for op in operations],
        "y": [row_of(op.process, threads) - 0.42 for op in operations],
        "marker": {
            "symbol": "triangle-down",
            "size": 10,
            "color": PROOF,
            "line": {"color": "#ffffff", "width": 1},
        },
        "customdata": [op.index for op in operations],
        "hovertext": [hover(op) for op in operations],
        "hoverinfo": "text",
        "showlegend": bool(operations),
        "legendrank": 1002,
    }


def lanes(run: Run) -> Figure:
    """A lane a fault on top, then one a node: its role with its epoch, its broker state."""
    names = [*dict.fromkeys(f"fault: {each.fault}" for each in run.injections)]
    names += [*dict.fromkeys(_lane_name(span) for span in run.spans)]
    row = {name: number for number, name in enumerate(names)}
    traces = [_fault_lane(run, row)]
    by_state: dict[str, list[Span]] = defaultdict(list)
    for span in run.spans:
        if span.end_s > 0:
            by_state[span.state].append(span)
    traces += [_state_lane(state, spans, row) for state, spans in by_state.items()]
    figure = _figure(run, traces, height=110 + 28 * max(len(names), 2), labels=False)
    figure["layout"]["yaxis"] |= {
        "tickvals": list(row.values()),
        "ticktext": [escaped(name) for name in names],
        "range": [len(names) - 0.4, -0.6],
        "zeroline": False,
    }
    figure["layout"] |= {
        "barmode": "overlay",
        "uniformtext": {"mode": "hide", "minsize": 9},
    }
    return figure


def _lane_name(span: Span) -> str:
    return span.node if span.lane == "role" else f"{span.node} {span.lane}"


def _fault_lane(run: Run, row: Mapping[str, int]) -> dict[str, Any]:
    shown = [each for each in run.injections if each.start_s is not None]
    colours = fault_colours(run.injections)
    return {
        "type": "bar",
        "orientation": "h",
        "name": "fault",
        "showlegend": False,
        "base": [each.start_s for each in shown],
        "x": [fault_end_s(each, run.end_s) - (each.start_s or 0.0) for each in shown],
        "y": [row[f"fault: {each.fault}"] for each in shown],
        "width": 0.7,
        "marker": {"color": [colours[each.fault] for each in shown]},
        "text": [escaped(each.shape) for each in shown],
        "textposition": "inside",
        "insidetextanchor": "start",
        "insidetextfont": {"color": [ink_on(colours[each.fault]) for each in shown]},
        "hovertext": [fault_hover(each) for each in shown],
        "hoverinfo": "text",
    }


def _state_lane(state: str, spans: Sequence[Span], row: Mapping[str, int]) -> dict[str, Any]:
    down = state == DOWN
    colour = STATE_COLOUR.get(state, PLAIN)
    return {
        "type": "bar",
        "orientation": "h",
        "name": escaped(state),
        "base": [max(span.start_s, 0.0) for span in spans],
        "x": [span.end_s - max(span.start_s, 0.0) for span in spans],
        "y": [row[_lane_name(span)] for span in spans],
        "width": 0.3 if down else 0.7,
        "marker": {"color": colour},
        "text": [_state_text(span) for span in spans],
        "textposition": "none" if down else "inside",
        "insidetextanchor": "start",
        "insidetextfont": {"color": ink_on(colour)},
        "hovertext": [
            f"<b>{escaped(_lane_name(span))}</b>: {_state_text(span)}<br>"
            f"{span.start_s:.3f} to {span.end_s:.3f} s"
            for span in spans
        ],
        "hoverinfo": "text",
    }


def _state_text(span: Span) -> str:
    epoch = "" if span.epoch is None else f" e{span.epoch}"
    return escaped(span.state) + epoch


def names_of(operations: Iterable[Operation]) -> dict[str, int]:
    """The place of each f among all, by name."""
    return {f: place for place, f in enumerate(sorted({op.f for op in operations}))}


def latency(run: Run, operations: Sequence[Operation]) -> Figure:
    """A point a completed operation: when it was invoked, how long it took (ms, log)."""
    groups: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for op in points(operations, run.end_s):
        groups[op.f, op.type].append(op)
    names = names_of(operations)
    traces = [
        _points(f, outcome, groups[f, outcome], number)
        for outcome in OUTCOMES
        for f, number in names.items()
        if (f, outcome) in groups
    ]
    figure = _figure(run, traces, height=420)
    figure["layout"]["yaxis"] |= {"type": "log", "title": {"text": "latency, ms"}, "dtick": 1}
    return figure


def _points(
    f: str, outcome: OutcomeName, operations: Sequence[Operation], number: int
) -> dict[str, Any]:
    symbol = _SYMBOLS[number % len(_SYMBOLS)] + _OUTCOME_SYMBOL[outcome]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{escaped(f)} {outcome}",
        "meta": {"f": number, "outcome": OUTCOMES.index(outcome)},
        "x": [start_s(op) for op in operations],
        "y": [max((end_s(op) - start_s(op)) * 1000, 0.001) for op in operations],
        "marker": {"symbol": symbol, "size": 5, "color": OUTCOME_COLOUR[outcome], "opacity": 0.75},
        "customdata": [op.index for op in operations],
        "hovertemplate": f"{escaped(f)} {outcome}, index %{{customdata}}<br>"
        "%{y:.3~f} ms at %{x:.3f} s<extra></extra>",
    }


def rate(run: Run) -> Figure:
    """Completions a second by outcome; of all operations, also of those not drawn elsewhere."""
    width_s = max(1.0, round(run.end_s / 600))
    buckets = range(int(run.end_s // width_s) + 1)
    counts = _completions(run.answers, width_s, len(buckets))
    traces = [
        {
            "type": "bar",
            "name": outcome,
            "x": [bucket * width_s for bucket in buckets],
            "y": [count / width_s for count in counts[outcome]],
            "width": width_s,
            "offset": 0,
            "marker": {"color": OUTCOME_COLOUR[outcome], "line": {"width": 0}},
            "hovertemplate": f"{outcome}: %{{y:.4~g}} /s from %{{x}} s<extra></extra>",
        }
        for outcome in OUTCOMES
    ]
    figure = _figure(run, traces, height=320)
    figure["layout"]["barmode"] = "stack"
    figure["layout"]["yaxis"] |= {"title": {"text": "completions a second"}, "rangemode": "tozero"}
    return figure


def _completions(answers: Answers, width_s: float, buckets: int) -> Mapping[OutcomeName, list[int]]:
    """How many operations completed in each bucket, by outcome."""
    completed = answers.answered_ns >= 0
    bucket = (answers.answered_ns[completed] / NS // width_s).astype(np.int64)
    outcome = answers.outcome[completed]
    return {
        name: np.bincount(bucket[outcome == place], minlength=buckets)[:buckets].tolist()
        for place, name in enumerate(OUTCOMES)
    }


def hover(op: Operation) -> str:
    """What an operation shows under the pointer."""
    until = "never completed" if op.completed_ns is None else f"{end_s(op):.4f} s"
    return f"{about(op)}<br>index {op.index}, {start_s(op):.4f} s to {until}"


def about(op: Operation) -> str:
    """The same, but for what the page has of each operation anyway: its index and times."""
    lines = [
        f"<b>{escaped(op.f)}</b> {op.type} · process {op.process}"
        + (f" · node {escaped(op.node)}" if op.node else "")
    ]
    fields = {"key": op.key, "value": op.value, "result": op.result, "ext": op.ext}
    for name, value in fields.items():
        if value is not None:
            lines.append(f"{name} {escaped(shorten(value, 110))}")
    if op.error is not None:
        lines.append(f"error {escaped(shorten(': '.join(op.error), 110))}")
    return "<br>".join(lines)


def _figure(
    run: Run, traces: Sequence[Mapping[str, Any]], *, height: int, labels: bool = True
) -> Figure:
    notes = band_labels(run) if labels else []
    rows = 1 + max((note["yshift"] // LABEL_PX for note in notes), default=-1)
    top = 14 + LABEL_PX * rows
    axis = {"gridcolor": _GRID, "zeroline": False, "automargin": True}
    entries = sum(trace.get("showlegend", True) for trace in traces)
    more = _LEGEND_PX * max(0, -(-entries // _A_ROW) - 2)
    return {
        "data": list(traces),
        "layout": {
            "height": height + top + more,
            "margin": {"l": 104, "r": 16, "t": top, "b": _BOTTOM_PX + more},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": "#808080"},
            "xaxis": {
                **axis,
                "range": [-run.end_s * 0.01, run.end_s * 1.01],
                "title": {"text": "time since the run began, s", "standoff": 6},
            },
            "yaxis": {**axis, "automargin": False},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": -44 / (height - _BOTTOM_PX),
                "yanchor": "top",
            },
            "hovermode": "closest",
            "hoverlabel": {"bgcolor": "#1d2430", "font": {"color": "#ffffff"}, "align": "left"},
            "shapes": bands(run),
            "annotations": notes,
            "dragmode": "zoom",
        },
    }
