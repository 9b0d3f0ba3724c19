"""What `check` found, as one page: for histories, which have no run's folder and so no report.

As with a run's report: works offline, decides nothing, and that it fails loses no verdict.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from framework.checking.results import RunResult, verdict_document
from framework.report.render import MEANING, checker_rows, template
from framework.verdict import Verdict, worst
from framework.whole_files import write_whole

log: Final = logging.getLogger(__name__)


def draw(results: Iterable[RunResult], target: Path) -> bool:
    """Write the page, whole or not at all; whether it was written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, to_html(results))
    except Exception:
        log.exception("%s could not be drawn", target)
        return False
    return True


def to_html(results: Iterable[RunResult]) -> str:
    """The page, histories that are not VALID first. Pure, but for the template."""
    rows = [_history(result) for result in results]
    verdict = worst(Verdict(row["verdict"]) for row in rows)
    order = {"INVALID": 0, "UNKNOWN": 1, "VALID": 2}
    rows.sort(key=lambda row: order[row["verdict"]])
    return template("histories.html").render(
        verdict=verdict.value,
        meaning=MEANING[verdict.value],
        histories=rows,
        findings=sum(each["total"] for row in rows for each in row["checkers"]),
        has_timeline=False,
    )


def _history(result: RunResult) -> dict[str, Any]:
    document = verdict_document(result)
    entries: Any = document["checkers"]
    by_index = {op.end: op for op in result.cited.values() if op.end is not None}
    by_index |= {op.index: op for op in result.cited.values()}
    return {
        "path": str(result.path),
        "verdict": result.verdict.value,
        "notes": list(result.notes),
        "checkers": checker_rows(entries, by_index),
    }
