"""Colours are told apart by those who do not see red, green or blue, on light pages and dark."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import pytest

import framework.report
from framework.report.colours import (
    FAULT_COLOURS,
    OUTCOME_COLOUR,
    SERIES_COLOURS,
    STATE_COLOUR,
    VERDICT_COLOUR,
    ink_on,
    linear,
    luminance,
)
from framework.report.nodes import DOWN, STARTING

Matrix = Sequence[Sequence[float]]
SIGHTS: Mapping[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Of linear red, green, blue what is left: Machado, Oliveira, Fernandes (2009), severity 1."""
XYZ: Matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
"""Of linear sRGB, as IEC 61966-2-1 has it, before the white point D65."""
WHITE = (0.9505, 1.0, 1.089)
FAR = 15.0
"""CIE 1976's distance, of which 2.3 can just be seen."""
READABLE = 4.5
"""WCAG 2.2's least contrast of text (success criterion 1.4.3)."""

BOTH = {STARTING, DOWN}
REPLICAS = {"leader", "candidate", "follower", "observer", "resigned", "unattached"} | BOTH
BROKERS = {"active", "fenced", "leaving", "unknown"} | BOTH
LEGENDS: Mapping[str, Iterable[str]] = {
    "outcomes": OUTCOME_COLOUR.values(),
    "replicas": [STATE_COLOUR[each] for each in REPLICAS],
    "brokers": [STATE_COLOUR[each] for each in BROKERS],
    "faults": FAULT_COLOURS,
    "series": SERIES_COLOURS,
    "verdicts": VERDICT_COLOUR.values(),
}
CSS = (Path(framework.report.__file__).parent / "static" / "report.css").read_text()


def times(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(colour: str, sight: str) -> tuple[float, float, float]:
    """CIELAB, as somebody of this sight has it."""
    seen = [min(1.0, max(0.0, each)) for each in times(SIGHTS[sight], linear(colour))]
    x, y, z = (
        share ** (1 / 3) if share > 216 / 24389 else (24389 / 27 * share + 16) / 116
        for share in (a / b for a, b in zip(times(XYZ, seen), WHITE, strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one: str, other: str) -> float:
    """To whom they are nearest."""
    return min(math.dist(lab(one, sight), lab(other, sight)) for sight in SIGHTS)


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def variables(mode: str) -> dict[str, str]:
    """Those of the page that are colours."""
    light, _, dark = CSS.partition("prefers-color-scheme: dark")
    found = re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", light if mode == "light" else dark)
    return dict(found)


def test_distances_are_those_that_are_known() -> None:
    assert lab("#ffffff", "normal") == pytest.approx((100, 0, 0), abs=0.1)
    assert lab("#ff0000", "normal") == pytest.approx((53.2, 80.1, 67.2), abs=0.2)
    assert (
        apart("#137a4b", "#c8442f")
        < FAR
        < math.dist(lab("#137a4b", "normal"), lab("#c8442f", "normal"))
    )  # a green and a red


@pytest.mark.parametrize("legend", LEGENDS)
def test_what_one_figure_has_is_told_apart(legend: str) -> None:
    near = {
        (one, other): apart(one, other)
        for one, other in combinations(LEGENDS[legend], 2)
        if apart(one, other) < FAR
    }
    assert not near


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_it_is_told_from_the_page(mode: str) -> None:
    page = variables(mode)
    for colours in LEGENDS.values():
        assert min(apart(each, page["card"]) for each in colours) > FAR


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("names", [("valid", "invalid", "unknown"), ("ok", "fail", "info")])
def test_words_are_told_apart_and_can_be_read(mode: str, names: Sequence[str]) -> None:
    page = variables(mode)
    assert min(apart(page[one], page[other]) for one, other in combinations(names, 2)) > FAR
    for name in names:
        behind = [page["card"], page.get(f"{name}-bg", page["bg"])]
        assert min(contrast(page[name], each) for each in behind) >= READABLE


def test_text_on_a_colour_is_the_one_that_can_be_read_better() -> None:
    for colour in {each for colours in LEGENDS.values() for each in colours}:
        chosen = ink_on(colour)
        (other,) = {"#ffffff", "#15202b"} - {chosen}
        assert contrast(colour, chosen) >= contrast(colour, other)
