"""Colours of figures: those of Okabe and Ito, which stay apart for every kind of colour vision.

They stand out on a light page and on a dark one, and nothing is told by colour alone: bars have
heights, patterns or words, marks have symbols.
"""

from collections.abc import Mapping
from typing import Final

from framework.report.nodes import DOWN, STARTING, STILL

ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE = "#0072b2", "#d55e00", "#cc79a7"
"""Okabe and Ito, Color Universal Design (2008)."""
PALE, DARK = "#c9c9c9", "#5a5a60"

OUTCOME_COLOUR: Final = {"ok": BLUE, "fail": PURPLE, "info": ORANGE}
STATE_COLOUR: Final[Mapping[str, str]] = {
    "leader": BLUE,
    "candidate": ORANGE,
    "follower": SKY,
    "observer": GREEN,
    "resigned": PURPLE,
    "unattached": PALE,
    "active": BLUE,
    "fenced": VERMILION,
    "leaving": PURPLE,
    "unknown": PALE,
    STARTING: YELLOW,
    DOWN: DARK,
    STILL: VERMILION,
}
"""Of the states in `framework.evidence.kinds`, of which a lane has either a replica's or a
broker's; others are plain."""
PLAIN: Final = "#9a9aa5"
FAULT_COLOURS: Final = (VERMILION, BLUE, PURPLE, GREEN, ORANGE, SKY)
VERDICT_COLOUR: Final = {"INVALID": "#c8442f", "UNKNOWN": "#e5a000", "VALID": "#8fbfa6"}
SERIES_COLOURS: Final = (BLUE, PURPLE, ORANGE, GREEN, SKY, VERMILION, YELLOW)
PROOF: Final = VERMILION
"""Of what findings name."""


def ink_on(colour: str) -> str:
    """White or nearly black: what can be read better there."""
    return "#ffffff" if luminance(colour) < _DARK else "#15202b"


_DARK: Final = 0.19
"""Where white and nearly black are as easy to read."""


def luminance(colour: str) -> float:
    """Relative luminance of a colour `#rrggbb`, 0 to 1 (WCAG 2.2)."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of sRGB as shares of light, each 0 to 1."""
    red, green, blue = (_light(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return red, green, blue


def _light(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
