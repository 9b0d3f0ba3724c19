"""Fault bands: shading while faults were active, their names, and the marks of phases. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from framework.report.colours import FAULT_COLOURS
from framework.report.data import Injection, Run
from framework.report.text import escaped, shorten

LABEL_PX: Final = 16
_LABEL_ROWS: Final = 4
_SEEN: Final = {True: "seen to bite", False: "did not bite", None: "not known to bite"}
_PLOT_PX: Final = 1050
"""A plot's usual width, by which the room of a label is judged."""


def fault_colours(injections: Iterable[Injection]) -> dict[str, str]:
    """A colour a kind of fault, in order of appearance."""
    kinds = dict.fromkeys(each.fault for each in injections)
    return {fault: FAULT_COLOURS[i % len(FAULT_COLOURS)] for i, fault in enumerate(kinds)}


def bands(run: Run) -> list[dict[str, Any]]:
    """Shading while faults were active, and a dotted line at each phase mark."""
    colours = fault_colours(run.injections)
    shapes: list[dict[str, Any]] = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": each.start_s,
            "x1": fault_end_s(each, run.end_s),
            "y0": 0,
            "y1": 1,
            "fillcolor": colours[each.fault],
            "opacity": 0.13,
            "line": {"width": 0},
            "layer": "below",
        }
        for each in run.injections
        if each.start_s is not None
    ]
    shapes += [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": time_s,
            "x1": time_s,
            "y0": 0,
            "y1": 1,
            "line": {"width": 1, "dash": "dot", "color": "rgba(128,128,128,0.8)"},
        }
        for _, time_s in run.phases
    ]
    return shapes


def band_labels(run: Run) -> list[dict[str, Any]]:
    """Names over the bands and phase marks, each in the lowest row above the plot where it
    covers no other; what fits in no row has its shading only."""
    colours = fault_colours(run.injections)
    wanted = [
        (each.start_s, f"{each.fault} {each.shape}".strip(), colours[each.fault], each)
        for each in run.injections
        if each.start_s is not None
    ]
    marks = [(time_s, name, None, None) for name, time_s in run.phases]
    free_from = [float("-inf")] * _LABEL_ROWS
    labels: list[dict[str, Any]] = []
    for time_s, text, colour, injection in sorted(
        [*wanted, *marks], key=lambda each: (each[0], each[1])
    ):
        until = time_s + run.end_s * (len(text) * 6.2 + 14) / _PLOT_PX
        row = next((i for i, free in enumerate(free_from) if free <= time_s), None)
        if row is None:
            continue
        free_from[row] = until
        labels.append(
            {
                "x": time_s,
                "y": 1,
                "xref": "x",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 1 + row * LABEL_PX,
                "showarrow": False,
                "text": escaped(text),
                "font": {"size": 11, **({"color": colour} if colour else {})},
                **({"hovertext": fault_hover(injection)} if injection else {}),
            }
        )
    return labels


def fault_hover(injection: Injection) -> str:
    seen = _SEEN[injection.bites("probed-during")]
    end = "never healed" if injection.end_s is None else f"{injection.end_s:.3f} s"
    return (
        f"<b>{escaped(injection.fault)} {escaped(injection.shape)}</b> "
        f"(id {injection.id}), {seen}<br>{injection.start_s:.3f} s to {end}<br>"
        f"{escaped(shorten(injection.victims, 120))}"
    )


def fault_end_s(injection: Injection, end_s: float) -> float:
    return end_s if injection.end_s is None else injection.end_s
