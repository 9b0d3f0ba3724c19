"""What happened around a finding: faults, what nodes became, and what they logged. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, TypedDict

from framework.report.data import Run
from framework.report.logs import LogLine

ROOM_S: Final = 0.5
"""Before and after a finding."""
MAX_MOMENTS: Final = 60


class Moment(TypedDict):
    time: float
    who: str
    what: str
    kind: str
    """fault, node or log."""


def around(run: Run, from_s: float, to_s: float) -> list[Moment]:
    """In order of time; of more than `MAX_MOMENTS`, those of the logs that are furthest from the
    middle are left out."""
    begin, end = from_s - ROOM_S, to_s + ROOM_S
    found = [each for each in (*_of_faults(run), *_of_nodes(run)) if begin <= each["time"] <= end]
    found = found[:MAX_MOMENTS]
    logs = _between(run.logs, begin, end)
    middle = (from_s + to_s) / 2
    nearest = sorted(logs, key=lambda line: abs(line.time_s - middle))
    found += [
        {"time": line.time_s, "who": line.node, "what": line.text, "kind": "log"}
        for line in nearest[: MAX_MOMENTS - len(found)]
    ]
    return sorted(found, key=lambda moment: moment["time"])


def _between(logs: Sequence[LogLine], begin: float, end: float) -> Sequence[LogLine]:
    first = bisect_left(logs, begin, key=lambda line: line.time_s)
    return logs[first : bisect_right(logs, end, key=lambda line: line.time_s)]


def _of_faults(run: Run) -> Iterable[Moment]:
    for each in run.injections:
        name = " ".join((each.fault, each.shape)).strip()
        for step, time_s in each.steps.items():
            if not step.startswith(("planned", "probed")):
                yield _moment(time_s, f"fault {each.id}", f"{name} {step}", "fault")


def _of_nodes(run: Run) -> Iterable[Moment]:
    for span in run.spans:
        epoch = "" if span.epoch is None else f", epoch {span.epoch}"
        lane = "" if span.lane in ("role", "stalls") else f"{span.lane} "
        yield _moment(span.start_s, span.node, f"{lane}{span.state}{epoch}", "node")


def _moment(time_s: float, who: str, what: str, kind: str) -> Moment:
    return {"time": round(time_s, 3), "who": who, "what": what, "kind": kind}
