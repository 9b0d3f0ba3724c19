"""How quickly a report opens, and how smoothly it scrolls, in a headless browser.

    python -m benchmarks.report_page [REPORT...] [--seconds 600] [--times 3]

REPORT: report.html of a run; without one, that of a run that is made up, of so many seconds at 60
operations a second. The page is opened from its file, so many times in a browser of its own, and
scrolled from its top to its end, 100 pixels a frame, while figures are drawn as they come into
view; then once more, when all are drawn. `open_ms`: `performance.now()` as the document is
complete. A frame's time is the processor time of the page's main thread, which other work on the
machine does not change much; 16.7 ms and less is 60 frames a second. `processor_s`: of all of the
browser's processes.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.check_scale import processor_s, say, tree
from framework.report.render import render
from tests.framework.report.sample_runs import write_run
from tests.framework.serve.devtools import Browser

STEP_PX: Final = 100
_TOP: Final = "scrollTo({top: 0, behavior: 'instant'})"
_STEP: Final = f"""new Promise((done) => {{
  const before = scrollY;
  scrollBy({{top: {STEP_PX}, behavior: 'instant'}});
  requestAnimationFrame(() => setTimeout(() => done(scrollY > before)));
}})"""
_OPENED: Final = "performance.getEntriesByType('navigation')[0].domComplete"


def spent(browser: Browser) -> float:
    """Processor time of all processes of a browser, s."""
    return sum(map(processor_s, tree(browser.pid)))


def opened(page: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is measured of a page, in a browser that has seen none."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(Path(profile))
        try:
            began = spent(browser)
            browser.open(page.resolve().as_uri())
            browser.until(f"{_OPENED} > 0")
            took = round(spent(browser) - began, 2)
            open_ms, pixels = browser.evaluate(f"[{_OPENED}, document.body.scrollHeight]")
            yield "opened", {"open_ms": round(open_ms), "pixels": pixels, "processor_s": took}
            browser.call("Performance.enable", timeDomain="threadTicks")
            for what in ("scrolled, drawing", "scrolled again"):
                began = spent(browser)
                times = sorted(scrolled(browser))
                yield what, {**frames(times), "processor_s": round(spent(browser) - began, 2)}
            assert browser.errors == [], browser.errors
        finally:
            browser.close()


def scrolled(browser: Browser) -> Iterator[float]:
    """What each frame takes of the main thread, ms, from the page's top to its end."""
    browser.evaluate(_TOP)
    before = main_thread_ms(browser)
    while browser.evaluate(_STEP):
        after = main_thread_ms(browser)
        yield after - before
        before = after


def main_thread_ms(browser: Browser) -> float:
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return next(1e3 * float(each["value"]) for each in metrics if each["name"] == "TaskDuration")


def frames(times: Sequence[float]) -> dict[str, Any]:
    """Of frames' times in ms, in order."""
    return {
        "frames": len(times),
        "median_ms": round(median(times), 1),
        "p95_ms": round(times[len(times) * 95 // 100], 1),
        "longest_ms": round(times[-1], 1),
        "above_16_ms": sum(each > 16.7 for each in times),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        reports = given.reports or [
            render(write_run(Path(scratch, "made", "up"), seconds=given.seconds))
        ]
        for page in reports:
            say(str(page), bytes=page.stat().st_size)
            for _ in range(given.times):
                for what, figures in opened(page):
                    say(f"  {what}", **figures)


if __name__ == "__main__":
    main()
