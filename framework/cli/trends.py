"""`trends`: the table of outcomes as a page."""

from pathlib import Path

from framework.checking.junit import need_target
from framework.errors import UsageError
from framework.report.trends_page import FILE, trends_page
from framework.whole_files import write_whole


def trends_command(results: Path, series: str, output: Path | None) -> int:
    """Write the page; say where. Raises `UsageError` where there is nothing to draw."""
    if not results.is_dir():
        raise UsageError(f"{results}: no such folder; name the one that `run` stores in")
    target = output or results / FILE
    need_target(target, "--output")
    text = trends_page(results, series)
    target.parent.mkdir(parents=True, exist_ok=True)
    print(write_whole(target, text))
    return 0
