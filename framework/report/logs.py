"""What nodes logged, placed in the time of the run."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_MAX_BYTES: Final = 32 << 20
"""Of one log."""
_MAX_TEXT: Final = 240
_STAMP: Final = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{1,6})\d*(?:Z|[+-]\d\d:?\d\d)?\]?\s*"
)
"""As logging, log4j and most others write it at the start of a line."""
_ZONE_S: Final = 900
"""Time zones are apart by multiples of this."""


@dataclass(frozen=True, slots=True)
class LogLine:
    time_s: float
    node: str
    text: str


def read_logs(folder: Path, zero: datetime) -> list[LogLine]:
    """Lines of nodes/*/*.log that begin with a time, in order. `zero`: when the run began.

    A line without a time goes with the one before it. A log says its times in the zone of its
    machine; which one, its first line tells: nodes start shortly before the run.
    """
    found: list[LogLine] = []
    for path in sorted((folder / "nodes").glob("*/*.log")):
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode(errors="replace")
        found += placed(path.parent.name, text.splitlines(), zero)
    return sorted(found, key=lambda line: line.time_s)


def placed(node: str, lines: Iterable[str], zero: datetime) -> list[LogLine]:
    """Lines of one log with their times since the run began."""
    found: list[LogLine] = []
    shift_s: float | None = None
    time_s = 0.0
    for line in lines:
        stamp = _STAMP.match(line)
        if stamp is not None:
            date, clock, fraction = stamp.groups()
            try:
                at = datetime.fromisoformat(f"{date}T{clock}").replace(tzinfo=UTC)
            except ValueError:
                continue
            time_s = (at - zero).total_seconds() + float(f"0.{fraction}")
            if shift_s is None:
                shift_s = round(time_s / _ZONE_S) * _ZONE_S
            time_s -= shift_s
            line = line[stamp.end() :]
        if shift_s is not None and line.strip():
            found.append(LogLine(round(time_s, 3), node, line.rstrip()[:_MAX_TEXT]))
    return found


def zero_of(plan: Mapping[str, object]) -> datetime | None:
    """When the run began, as plan.json says it; None: an older run, or not a time."""
    try:
        found = datetime.fromisoformat(str(plan.get("time_zero")))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
