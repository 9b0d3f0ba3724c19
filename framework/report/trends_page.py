"""Trends as one page that works offline, as the report does."""

import re
from pathlib import Path
from typing import Any, Final

import pandas as pd

from framework.checking.outcomes_table import FOLDER, read_outcomes
from framework.errors import UsageError
from framework.report.colours import SERIES_COLOURS, VERDICT_COLOUR
from framework.report.figures import Figure
from framework.report.payload import packed, packed_plotly
from framework.report.render import template
from framework.report.text import escaped
from framework.report.trends import ORDER, Trends, trends

FILE: Final = "trends.html"
_PATTERN: Final = {"INVALID": "/", "UNKNOWN": ".", "VALID": ""}
_SYMBOL: Final = {"INVALID": "x", "UNKNOWN": "diamond", "VALID": "circle"}
_MARKS: Final = ("circle", "diamond", "triangle-up", "square", "cross", "star", "x")
_PERCENTILE: Final = re.compile(r" p\d+$")
_ACROSS: Final = 4
"""Panels beside each other."""
_PANEL_PX: Final = 150
_LABELS: Final = 10
"""Dates below a wide figure."""
_GRID: Final = "rgba(128,128,128,0.22)"


def trends_page(results: Path, series: str = "") -> str:
    """The page of all runs of a folder, or of one series of them. Raises `UsageError` where there
    is nothing to draw."""
    table = read_outcomes(results).to_pandas()
    if table.empty:
        raise UsageError(
            f"{results}: nothing to draw, {results / FOLDER} has no run; `run` writes it, and "
            f"`check {results}` for runs of before"
        )
    if series:
        known = sorted(table["name"].dropna().unique())
        table = table[table["name"] == series]
        if table.empty:
            raise UsageError(f"--series {series}: there is {', '.join(known)}")
    found = trends(table)
    if not found.nights:
        raise UsageError(f"{results}: nothing to draw, no run says when it began")
    figures = figures_of(found)
    return template("trends.html").render(
        results=str(results),
        series=series,
        found=found,
        heights={name: figure["layout"]["height"] for name, figure in figures.items()},
        payloads={name: packed(figure) for name, figure in figures.items()}
        | {"plotly": packed_plotly()},
    )


def figures_of(found: Trends) -> dict[str, Figure]:
    """Those that have something to show."""
    figures = {
        "verdicts": _verdicts(found),
        "clauses": _clauses(found),
        "rates": _rates(found.rates * 100),
        "latencies": _panels(found.latencies, " ms"),
        "times": _panels(found.times, " s"),
        "seen": _panels(found.seen, ""),
    }
    return {name: figure for name, figure in figures.items() if figure["data"]}


def _verdicts(found: Trends) -> Figure:
    data = [
        {
            "type": "bar",
            "name": verdict,
            "x": found.nights,
            "y": [int(count) for count in found.verdicts[verdict]],
            "marker": {
                "color": VERDICT_COLOUR[verdict],
                "pattern": {"shape": _PATTERN[verdict]},
            },
            "hovertemplate": f"%{{x}}: %{{y}} {verdict}<extra></extra>",
        }
        for verdict in reversed(ORDER)
    ]
    figure = _figure(data, 340, "runs", found.nights)
    figure["layout"]["barmode"] = "stack"
    return figure


def _clauses(found: Trends) -> Figure:
    """A row a clause, a mark a night: the worst that it was."""
    rows = sorted(found.clauses["clause"].unique(), reverse=True)
    data: list[dict[str, Any]] = []
    for verdict in ORDER:
        own = found.clauses[found.clauses["verdict"] == verdict]
        if own.empty:
            continue
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": verdict,
                "x": own["night"].tolist(),
                "y": [escaped(clause) for clause in own["clause"]],
                "marker": {
                    "symbol": _SYMBOL[verdict],
                    "size": 11 if verdict != "VALID" else 7,
                    "color": VERDICT_COLOUR[verdict],
                },
                "hovertext": [
                    f"{escaped(clause)}<br>{night}: {bad} of {of} runs not VALID"
                    for clause, night, bad, of in zip(
                        own["clause"], own["night"], own["bad"], own["of"], strict=True
                    )
                ],
                "hoverinfo": "text",
            }
        )
    figure = _figure(data, 120 + 22 * max(len(rows), 3), "", found.nights)
    figure["layout"]["yaxis"] |= {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [escaped(clause) for clause in rows],
        "automargin": True,
    }
    return figure


def _rates(table: pd.DataFrame) -> Figure:
    """A line a rate; what was not measured in a night is a gap."""
    data = [
        _line(table[name], name, " %", place)
        for place, name in enumerate(table.columns)
        if table[name].notna().any()
    ]
    figure = _figure(data, 340 + 19 * (len(data) // 4), "per cent", list(table.index))
    figure["layout"]["yaxis"] |= {"range": [-2, 103]}
    return figure


def _line(values: pd.Series, name: str, unit: str, place: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": escaped(name),
        "x": list(values.index),
        "y": [None if pd.isna(value) else round(float(value), 6) for value in values],
        "marker": {"size": 5, "symbol": _MARKS[place % len(_MARKS)]},
        "line": {"color": SERIES_COLOURS[place % len(SERIES_COLOURS)], "width": 1.6},
        "hovertemplate": f"%{{x}} {escaped(name)}: %{{y:.4~g}}{unit}<extra></extra>",
    }


def _panels(table: pd.DataFrame, unit: str) -> Figure:
    """A small figure a name, from 0, with a line for each percentile where there are some. What
    was never but 0 is left out."""
    panels: dict[str, list[str]] = {}
    for name in table.columns:
        if (table[name] != 0).where(table[name].notna(), False).any():
            panels.setdefault(_PERCENTILE.sub("", name), []).append(name)
    nights = list(table.index)
    rows = -(-len(panels) // _ACROSS)
    height = 30 + _PANEL_PX * max(rows, 1)
    data: list[dict[str, Any]] = []
    figure = _figure(data, height, "", nights)
    layout = figure["layout"]
    layout |= {
        "showlegend": False,
        "annotations": [],
        "margin": {"l": 44, "r": 10, "t": 24, "b": 6},
    }
    plain_x, plain_y = layout.pop("xaxis"), layout.pop("yaxis")
    for number, (title, names) in enumerate(panels.items()):
        axis = str(number + 1) if number else ""
        across = _domain(number % _ACROSS, _ACROSS, 0.045)
        down = [1 - edge for edge in _domain(number // _ACROSS, rows, 52 / height)][::-1]
        ends = [nights[0], nights[-1]] if len(nights) > 1 else nights
        short = [night[5:] for night in ends]
        layout[f"xaxis{axis}"] = plain_x | {
            "domain": across,
            "anchor": f"y{axis}",
            "tickvals": ends,
            "ticktext": short,
        }
        layout[f"yaxis{axis}"] = plain_y | {
            "domain": down,
            "anchor": f"x{axis}",
            "rangemode": "tozero",
            "nticks": 4,
            "title": {"text": ""},
        }
        layout["annotations"].append(_title(title, across[0], down[1]))
        for place, name in enumerate(names):
            line = _line(table[name], name, unit, place)
            figure["data"].append(line | {"xaxis": f"x{axis}", "yaxis": f"y{axis}"})
    return figure


def _domain(place: int, of: int, between: float) -> list[float]:
    """From where to where a place reaches, of so many from 0 to 1."""
    width = (1 - between * (of - 1)) / of
    begin = place * (width + between)
    return [round(begin, 4), round(min(begin + width, 1.0), 4)]


def _title(text: str, x: float, y: float) -> dict[str, Any]:
    return {
        "text": escaped(text),
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _figure(data: list[dict[str, Any]], height: int, unit: str, nights: list[str]) -> Figure:
    axis = {"gridcolor": _GRID, "zeroline": False, "automargin": True}
    return {
        "data": data,
        "layout": {
            "height": height,
            "margin": {"l": 64, "r": 16, "t": 14, "b": 40},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": "#808080"},
            "xaxis": {
                **axis,
                "type": "category",
                "categoryorder": "array",
                "categoryarray": nights,
                "range": [-0.5, len(nights) - 0.5],
                "tickvals": nights[:: -(-len(nights) // _LABELS)],
            },
            "yaxis": {**axis, "title": {"text": unit}},
            "legend": {"orientation": "h", "x": 0, "y": -0.14, "yanchor": "top"},
            "hovermode": "closest",
            "hoverlabel": {"bgcolor": "#1d2430", "font": {"color": "#ffffff"}, "align": "left"},
        },
    }
