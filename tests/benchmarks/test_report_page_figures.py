"""What `benchmarks.report_page` says of a page that somebody opens and scrolls."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "framework" / "report"))
from sample_runs import write_run

from benchmarks.report_page import STEP_PX, frames, opened
from framework.report.render import render


def test_a_page_is_opened_and_scrolled_to_its_end(tmp_path: Path) -> None:
    page = render(write_run(tmp_path / "made" / "up", seconds=10))
    measured = dict(opened(page))
    assert list(measured) == ["opened", "scrolled, drawing", "scrolled again"]
    assert measured["opened"]["open_ms"] > 0
    rows = measured["opened"]["pixels"] // STEP_PX
    for what in ("scrolled, drawing", "scrolled again"):
        assert rows / 2 < measured[what]["frames"] <= rows + 1
        assert 0 < measured[what]["median_ms"] <= measured[what]["longest_ms"]


def test_frames_are_told_by_their_middle_and_their_worst() -> None:
    times = [1.0] * 90 + [20.0] * 9 + [300.0]
    assert frames(times) == {
        "frames": 100,
        "median_ms": 1.0,
        "p95_ms": 20.0,
        "longest_ms": 300.0,
        "above_16_ms": 10,
    }
