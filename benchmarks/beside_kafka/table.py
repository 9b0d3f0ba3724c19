"""What came of all rounds: medians with their spread, and who is ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Final

from benchmarks.beside_kafka.measuring import Figure
from benchmarks.beside_kafka.systems import NAMES

ALIKE: Final = 1.05
"""Whose medians differ by less is not ahead."""
Values = Mapping[str, Sequence[float]]
"""System -> a value a round."""


@dataclass(slots=True)
class Results:
    """Of all rounds so far. `failures`: what could not be measured, a line each."""

    figures: dict[str, Figure] = field(default_factory=dict)
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Figure -> system -> a value a round."""
    failures: list[str] = field(default_factory=list)

    def expect(self, figures: Sequence[Figure], systems: Sequence[str]) -> None:
        """These will come, in this order."""
        for figure in figures:
            self.figures[figure.name] = figure
            self.values[figure.name] = {system: [] for system in systems}

    def add(self, system: str, found: Mapping[str, float]) -> None:
        """Of one round."""
        for name, value in found.items():
            self.values[name][system].append(value)

    def to_json(self) -> dict[str, Any]:
        """A list of figures, each with every value of every system, and its median."""
        figures = [
            {
                **asdict(self.figures[name]),
                "values": values,
                "medians": {system: median(each) for system, each in values.items() if each},
                "ahead": ahead(self.figures[name], values),
            }
            for name, values in self.values.items()
        ]
        return {"figures": figures, "failures": self.failures}


def table(results: Results, systems: Sequence[str]) -> str:
    """In Markdown."""
    rows = [
        ("", *(NAMES[system] for system in systems), "ahead"),
        ("---", *("---:" for _ in systems), "---"),
    ]
    for name, values in results.values.items():
        figure = results.figures[name]
        cells = (_cell(values[system]) for system in systems)
        rows.append((f"{name}, {figure.unit}", *cells, ahead(figure, values)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(values: Sequence[float]) -> str:
    """The median, and the least and the most."""
    if not values:
        return "-"
    if len(values) == 1:
        return _number(values[0])
    return f"{_number(median(values))} ({_number(min(values))} - {_number(max(values))})"


def _number(value: float) -> str:
    """Three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ahead(figure: Figure, values: Values) -> str:
    """Whose median is better, and by what ratio; empty where there is nothing to compare."""
    medians = {system: median(each) for system, each in values.items() if each}
    if len(medians) < 2 or min(medians.values()) <= 0:
        return ""
    ordered = sorted(medians, key=lambda system: medians[system], reverse=figure.better == "more")
    best, worst = ordered[0], ordered[-1]
    ratio = max(medians.values()) / min(medians.values())
    if ratio < ALIKE:
        return "alike"
    apart = min(values[best]) > max(values[worst]), max(values[best]) < min(values[worst])
    sure = any(apart) or min(map(len, values.values())) == 1
    return f"{NAMES[best]}, {ratio:.2g} times" + ("" if sure else " (rounds overlap)")
